//! What can go wrong: with the runtime itself, with loading a plugin, and with a call of one.

use std::sync::Arc;
use std::time::Duration;

/// The runtime could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// No engine.
    #[error("cannot set up the WebAssembly engine: {reason}")]
    Engine {
        /// What the engine says.
        reason: String,
    },
    /// A folder or file that was to be granted.
    #[error("cannot grant '{path}': {reason}")]
    Grant {
        /// The path as it was given.
        path: String,
        /// Why not, and what to do.
        reason: String,
    },
}

impl RuntimeError {
    pub(crate) fn engine(error: wasmtime::Error) -> Self {
        Self::Engine { reason: one_line(&error) }
    }
}

/// A plugin cannot be loaded. Every text begins with where it came from.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is larger than a component may be.
    #[error(
        "{origin}: {size} bytes, where a component may have {limit}; build it with optimisation for size"
    )]
    TooLarge {
        /// Where it came from.
        origin: String,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// Not WebAssembly, or a core module.
    #[error("{origin}: not a WebAssembly component: {reason}")]
    NotAComponent {
        /// Where it came from.
        origin: String,
        /// What it is instead, and what to do.
        reason: String,
    },
    /// It ends too early.
    #[error("{origin}: the file is truncated: {reason}; copy it again")]
    Truncated {
        /// Where it came from.
        origin: String,
        /// Where it ends.
        reason: String,
    },
    /// It exports no world of firstfault.
    #[error("{origin}: not a plugin of firstfault:plugin@0.1: {reason}")]
    WrongWorld {
        /// Where it came from.
        origin: String,
        /// Which exports are missing or too many.
        reason: String,
        /// The exports that its world requires and it lacks.
        missing: Vec<String>,
    },
    /// It imports what its world does not offer.
    #[error("{origin}: a {world} cannot import {}: build it without them", imports.join(", "))]
    ImportsBeyondWorld {
        /// Where it came from.
        origin: String,
        /// Its world.
        world: &'static str,
        /// The imports in excess.
        imports: Vec<String>,
    },
    /// The interfaces have the right names and other types.
    #[error(
        "{origin}: its interfaces do not fit firstfault:plugin@0.1: {reason}; build it against the published interfaces"
    )]
    Link {
        /// Where it came from.
        origin: String,
        /// What does not fit.
        reason: String,
    },
    /// It cannot be compiled.
    #[error("{origin}: cannot be compiled: {reason}")]
    Compile {
        /// Where it came from.
        origin: String,
        /// What the compiler says.
        reason: String,
    },
    /// `describe` failed.
    #[error("{origin}: its description could not be read: {failure}")]
    Describe {
        /// Where it came from.
        origin: String,
        /// How the call failed.
        failure: Box<PluginFailure>,
    },
    /// The description is longer than 1 MiB.
    #[error("{origin}: its description has {size} bytes, where 1048576 are allowed")]
    ManifestTooLarge {
        /// Where it came from.
        origin: String,
        /// Its size.
        size: usize,
    },
    /// The description is not what its world requires.
    #[error("{origin}: its description is wrong: {reason}")]
    Manifest {
        /// Where it came from.
        origin: String,
        /// What, where, and what is allowed.
        reason: String,
    },
}

/// A call of a plugin failed, and with it everything that the plugin contributed to this diagnosis is void.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PluginFailure {
    /// The code trapped.
    #[error("plugin '{plugin}' trapped in `{call}`: {reason}; this is a defect of the plugin")]
    Trap {
        /// The plugin's name.
        plugin: Arc<str>,
        /// The function.
        call: &'static str,
        /// Which trap.
        reason: String,
    },
    /// The fuel budget was used up.
    #[error(
        "plugin '{plugin}' used up its {fuel} units of fuel in `{call}`; it loops, or does too much in one call"
    )]
    OutOfFuel {
        /// The plugin's name.
        plugin: Arc<str>,
        /// The function.
        call: &'static str,
        /// The budget.
        fuel: u64,
    },
    /// The deadline passed.
    #[error("plugin '{plugin}' did not finish `{call}` within {} ms; allow more time, or see its log for what it waited for",
        after.as_millis())]
    Deadline {
        /// The plugin's name.
        plugin: Arc<str>,
        /// The function.
        call: &'static str,
        /// The deadline.
        after: Duration,
    },
    /// Some other limit was exceeded.
    #[error("plugin '{plugin}' exceeded a limit in `{call}`: {what}")]
    Limit {
        /// The plugin's name.
        plugin: Arc<str>,
        /// The function.
        call: &'static str,
        /// Which one.
        what: String,
    },
    /// The answer breaks a rule of the interface.
    #[error("plugin '{plugin}' gave a malformed answer to `{call}`: {what}; this is a defect of the plugin")]
    Malformed {
        /// The plugin's name.
        plugin: Arc<str>,
        /// The function.
        call: &'static str,
        /// What, and where.
        what: String,
    },
    /// The plugin reported an error.
    #[error("plugin '{plugin}' could not do `{call}`: {message} ({code})")]
    Error {
        /// The plugin's name.
        plugin: Arc<str>,
        /// The function.
        call: &'static str,
        /// Stable and machine-readable.
        code: String,
        /// For people; control characters are escaped.
        message: String,
        /// Milliseconds after which a retry may succeed.
        retry_after_ms: Option<u64>,
        /// More facts.
        details: Vec<(String, String)>,
    },
    /// The plugin's world has no such function.
    #[error("plugin '{plugin}' is a {world} and has no `{call}`")]
    Unsupported {
        /// The plugin's name.
        plugin: Arc<str>,
        /// The function.
        call: &'static str,
        /// Its world.
        world: &'static str,
    },
    /// The host failed while it served the plugin.
    #[error(
        "plugin '{plugin}' could not be run in `{call}`: {reason}; this is a defect of firstfault or of this machine"
    )]
    Host {
        /// The plugin's name.
        plugin: Arc<str>,
        /// The function.
        call: &'static str,
        /// What happened.
        reason: String,
    },
}

impl PluginFailure {
    /// The status in the provenance of a diagnosis.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Trap { .. } | Self::Host { .. } => "trap",
            Self::OutOfFuel { .. } => "out_of_fuel",
            Self::Deadline { .. } => "deadline",
            Self::Limit { .. } => "limit",
            Self::Malformed { .. } => "malformed",
            Self::Error { .. } | Self::Unsupported { .. } => "error",
        }
    }
}

/// An engine's error with its causes in one line, without the backtrace of the guest.
pub(crate) fn one_line(error: &wasmtime::Error) -> String {
    let parts: Vec<String> = error
        .chain()
        .map(ToString::to_string)
        .filter(|text| !text.starts_with("error while executing at wasm backtrace"))
        .collect();
    crate::text::printable(&parts.join(": "), 2048)
}
