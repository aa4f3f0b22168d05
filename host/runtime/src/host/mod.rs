//! What a plugin's imports are answered from. One [`Host`] per call: nothing outlives it but what the call returns.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::ResourceTable;

use crate::evidence::{Tables, View};
use crate::limits::{Limiter, Limits};

pub(crate) mod context;
pub(crate) mod evidence;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod sink;

/// Why a host function ended the call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// The deadline passed.
    #[error("the deadline passed")]
    Deadline,
    /// A limit was exceeded.
    #[error("{0}")]
    Limit(String),
    /// The plugin broke a rule where no error can be returned to it.
    #[error("{0}")]
    Malformed(String),
    /// The plugin did what ends the call.
    #[error("{0}")]
    Trap(String),
    /// The host cannot go on.
    #[error("{0}")]
    Host(String),
}

/// Counts the work of host functions, and looks at the clock where a deadline is set.
///
/// Host functions take no fuel, so they are counted on their own: one unit for a call, one for each entry that it answers
/// with, and one for each 4 KiB.
#[derive(Debug)]
pub(crate) struct Meter {
    left: u64,
    allowed: u64,
    deadline: Option<Instant>,
}

impl Meter {
    /// To be called first in every host function that takes nothing long.
    fn tick(&mut self) -> wasmtime::Result<()> {
        self.tick_for(0)
    }

    /// To be called first in every host function that takes so many bytes of text.
    fn tick_for(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.spend(1 + bytes / UNIT)?;
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Stop::Deadline.into());
        }
        Ok(())
    }

    /// Counts what an answer costs.
    fn spend(&mut self, units: usize) -> wasmtime::Result<()> {
        match self.left.checked_sub(units as u64) {
            Some(left) => self.left = left,
            None => {
                return Err(
                    Stop::Limit(format!("more than {} units of work by the host", self.allowed)).into()
                );
            }
        }
        Ok(())
    }
}

/// Bytes that count as one unit of work.
const UNIT: usize = 4096;

/// What attributes cost to answer with.
fn weight(pairs: &[(String, String)]) -> usize {
    length(pairs) / UNIT
}

/// Bytes of attributes.
fn length(pairs: &[(String, String)]) -> usize {
    pairs.iter().map(|(key, value)| key.len() + value.len()).sum()
}

/// The state of one call.
pub(crate) struct Host {
    pub(crate) limiter: Limiter,
    pub(crate) meter: Meter,
    pub(crate) resources: ResourceTable,
    pub(crate) log: log::Log,
    pub(crate) contexts: context::Contexts,
    pub(crate) files: files::Files,
    pub(crate) sink: sink::Sink,
    pub(crate) evidence: evidence::Evidence,
    pub(crate) wasi: Option<crate::wasi::Wasi>,
}

impl Host {
    /// A host that grants nothing.
    pub(crate) fn new(plugin: &Arc<str>, limits: &Limits) -> Self {
        let mut resources = ResourceTable::new();
        resources.set_max_capacity(limits.handles);
        Self {
            limiter: Limiter::new(limits),
            meter: Meter { left: limits.host_work, allowed: limits.host_work, deadline: None },
            resources,
            log: log::Log::new(Arc::clone(plugin)),
            contexts: context::Contexts::new(limits.context_bytes),
            files: files::Files::default(),
            sink: sink::Sink::new(limits),
            evidence: evidence::Evidence::default(),
            wasi: None,
        }
    }

    /// Sets the time at which host functions end the call.
    pub(crate) fn until(&mut self, deadline: Option<Instant>) {
        self.meter.deadline = deadline;
    }

    /// Counts work that is done outside of this module.
    pub(crate) fn work(&mut self, units: usize) -> wasmtime::Result<()> {
        self.meter.spend(units)
    }

    /// Gives a rule module its evidence.
    pub(crate) fn with_evidence(mut self, tables: Arc<dyn Tables>, view: Option<Arc<dyn View>>) -> Self {
        self.evidence = evidence::Evidence { tables: Some(tables), view, handed: BTreeSet::new() };
        self
    }
}

/// An error for a plugin.
pub(crate) fn error(code: &str, message: impl Into<String>) -> crate::bindings::types::Error {
    crate::bindings::types::Error {
        code: code.to_owned(),
        message: message.into(),
        retry_after_ms: None,
        details: Vec::new(),
    }
}

impl crate::bindings::types::Host for Host {}
