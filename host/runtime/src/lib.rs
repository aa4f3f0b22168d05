//! Plugins in their sandbox: everything that firstfault does with wasmtime.
//!
//! [`Runtime::load`] takes the bytes of a component and gives a [`Plugin`]; each of its calls runs on a fresh instance and
//! takes plain types. What a plugin returns is checked against the rules of its interface: a trap, an exhausted limit or a
//! malformed answer voids the whole call and is told by a [`PluginFailure`], never by a panic.
//!
//! What decides the result of a rule module is its bytes and its input alone: fuel counts instructions, memory has a fixed
//! bound, and there is no clock, no randomness and no order of arrival.

mod attributes;
#[allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unsafe_code,
    dead_code,
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::let_underscore_must_use,
    reason = "generated from the plugin interfaces"
)]
mod bindings;
mod cache;
mod call;
mod collect;
mod describe;
mod digest;
mod engine;
mod error;
mod evidence;
mod format;
mod gate;
mod grants;
mod host;
mod labels;
mod limits;
mod plugin;
mod precompiled;
mod rules;
mod runtime;
mod spool;
mod text;
mod trusted;
mod wasi;
mod worlds;

#[cfg(test)]
mod tests;

use firstfault_beneath as beneath;

pub use collect::{Collected, Focus, Interest, Report, ReportEntry};
pub use error::{LoadError, PluginFailure, RuntimeError};
pub use evidence::{NoTables, Tables, View, ViewCoverage, ViewEvent, ViewGroup};
pub use grants::{Attachment, Capabilities, FileGrants, Granted};
pub use host::files::Skipped;
pub use limits::Limits;
pub use plugin::Plugin;
pub use precompiled::Precompiled;
pub use rules::RuleHit;
pub use runtime::{Runtime, RuntimeOptions};
pub use spool::{Labels, SpooledBytes, SpooledLine, SpooledLines, SpooledStream};
pub use worlds::World;
