//! Rule packs: their grammar, their checks, and the compiled form that the reader and the engine work from.
//!
//! [`pack`] is what is written in TOML, [`load`] reads and checks one pack, [`ruleset`] joins the active packs into one
//! [`RuleSet`](ruleset::RuleSet), [`matcher`] compiles its signatures,
//! [`conflicts`] says where packs contradict each other, [`redact`] knows the shapes of secrets.

pub mod conflicts;
pub mod duration;
pub mod literals;
pub mod load;
pub mod matcher;
pub mod pack;
pub mod redact;
pub mod ruleset;
pub mod wildcard;
