//! What a firstfault plugin in Rust is written with.
//!
//! A plugin is a type that implements one of three traits and is exported by the macro of the same name:
//!
//! | trait | macro | the plugin |
//! |---|---|---|
//! | [`Connector`] | [`export_connector!`] | says what ran |
//! | [`Collector`] | [`export_collector!`] | brings what is known of it |
//! | [`RuleModule`] | [`export_rule_module!`] | turns matched lines into events |
//!
//! ```
//! use firstfault_plugin::{Error, Event, Hit, RuleModule, Tables, export_rule_module};
//!
//! #[derive(Debug)]
//! pub struct Pump;
//!
//! impl RuleModule for Pump {
//!     fn describe() -> String {
//!         String::from("[pack]\nname = \"pump\"\nversion = \"0.1.0\"\n")
//!     }
//!
//!     fn extract(_hits: Vec<Hit>, _tables: &dyn Tables) -> Result<Vec<Event>, Error> {
//!         Ok(Vec::new())
//!     }
//! }
//!
//! export_rule_module!(Pump);
//! # fn main() {}
//! ```
//!
//! Build it with `crate-type = ["cdylib"]` for `wasm32-unknown-unknown`, then wrap the module into a component. The same crate
//! builds for the machine at hand, so its logic is tested like any other: what the host offers is reached through the traits
//! [`Files`], [`View`] and [`Tables`], for which [`testing`] has doubles. Outside a component the host's functions
//! themselves do not exist, and calling one aborts.
//!
//! A plugin that panics loses all that it contributed to the diagnosis at hand, so return an [`Error`] instead.

pub mod attributes;
pub mod bindings;
pub mod error;
pub mod files;
pub mod log;
pub mod ranks;
pub mod testing;
pub mod view;

mod collector;
mod connector;
mod rule_module;

pub use attributes::{Attributes, Facts, get};
pub use bindings::collector::exports::firstfault::plugin::collector::{Focus, Interest, Report, ReportEntry};
pub use bindings::host::firstfault::plugin::context::ExecutionContext;
pub use bindings::host::firstfault::plugin::sink::Observation;
pub use bindings::host::firstfault::plugin::types::{Error, RankRange};
pub use bindings::host::firstfault::plugin::{http, process, sink};
pub use bindings::rules::exports::firstfault::plugin::rules::{Amendment, Derived, Edge, Event, Hit, Note};
pub use collector::{Collector, CollectorAdapter};
pub use connector::{Connector, ConnectorAdapter};
pub use files::{Entry, Files};
pub use ranks::RankSet;
pub use rule_module::{RuleModule, RuleModuleAdapter};
pub use view::{Coverage, Group, SeenEvent, Tables, View};

/// The version of this crate, for a plugin that shares it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
