//! What a plugin may use up, and what counts it.

use wasmtime::ResourceLimiter;

use crate::engine::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLES};

/// Calls that run at one time in one runtime; further ones wait.
pub(crate) const MAX_CONCURRENT_CALLS: u32 = 64;
/// The largest linear memory that can be granted.
pub(crate) const MAX_MEMORY_BYTES: usize = 256 << 20;
/// The largest table that can be granted.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 100_000;

/// Limits of every plugin call. One unit of fuel is about one instruction; a second is roughly a thousand million.
///
/// None of them is a time except the deadline of a collector's or connector's call, which its capabilities carry: the same
/// call on the same input ends the same way on every machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Size of a component file. Bounds the time that compiling takes.
    pub component_bytes: usize,
    /// Linear memory of one call, at most 256 MiB.
    pub memory_bytes: usize,
    /// Elements of one table, at most 100,000.
    pub table_elements: usize,
    /// Handles of host resources (contexts, exchanges) that one call holds at a time.
    pub handles: usize,
    /// Work of host functions in one call: a unit for each call of one, each entry that it answers with, and each 4 KiB.
    pub host_work: u64,
    /// Bytes that one host call, or the answer, may carry out of a rule module.
    pub rule_transfer_bytes: usize,
    /// The same for connectors and collectors; a context document may have 64 MiB.
    pub collect_transfer_bytes: usize,
    /// Fuel to start an instance. Not part of the other budgets: how much it takes depends on how memory is initialised.
    pub start_fuel: u64,
    /// Fuel of `describe`.
    pub describe_fuel: u64,
    /// Fuel of `extract` on one batch.
    pub extract_fuel: u64,
    /// Fuel of one `refine`.
    pub refine_fuel: u64,
    /// Fuel of one `resolve` or `collect`.
    pub collect_fuel: u64,
    /// Observations that are kept in memory before they are written to a temporary file.
    pub spool_memory_bytes: usize,
    /// Observations in all; what comes later is refused and counted.
    pub spool_bytes: u64,
    /// Bytes of all context documents that one call parses.
    pub context_bytes: usize,
    /// Calls at one time, 1 to 64.
    pub concurrent_calls: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            component_bytes: 64 << 20,
            memory_bytes: MAX_MEMORY_BYTES,
            table_elements: MAX_TABLE_ELEMENTS,
            handles: 4096,
            host_work: 5_000_000,
            rule_transfer_bytes: 16 << 20,
            collect_transfer_bytes: 96 << 20,
            start_fuel: 1_000_000_000,
            describe_fuel: 500_000_000,
            extract_fuel: 2_000_000_000,
            refine_fuel: 10_000_000_000,
            collect_fuel: 200_000_000_000,
            spool_memory_bytes: 32 << 20,
            spool_bytes: 4 << 30,
            context_bytes: 256 << 20,
            concurrent_calls: MAX_CONCURRENT_CALLS,
        }
    }
}

impl Limits {
    /// With at most so much fuel for each call of a plugin.
    #[must_use]
    pub fn with_fuel(mut self, most: u64) -> Self {
        for fuel in [
            &mut self.start_fuel,
            &mut self.describe_fuel,
            &mut self.extract_fuel,
            &mut self.refine_fuel,
            &mut self.collect_fuel,
        ] {
            *fuel = most.min(*fuel);
        }
        self
    }
}

/// Refuses growth beyond the limits of one call and remembers that it did: a guest that is refused memory usually
/// aborts, and the trap alone would not say why.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_bytes: usize,
    table_elements: usize,
    /// What was refused first.
    pub(crate) refused: Option<String>,
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory_bytes: limits.memory_bytes.min(MAX_MEMORY_BYTES),
            table_elements: limits.table_elements.min(MAX_TABLE_ELEMENTS),
            refused: None,
        }
    }

    fn refuse(&mut self, what: String) {
        self.refused.get_or_insert(what);
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, _: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = desired <= self.memory_bytes && maximum.is_none_or(|m| desired <= m);
        if desired > self.memory_bytes {
            self.refuse(format!("memory of {desired} bytes where {} are allowed", self.memory_bytes));
        }
        Ok(allowed)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        // A machine that is out of memory must not change an answer: the call ends instead.
        if error.downcast_ref::<std::io::Error>().is_some() {
            self.refuse(format!("memory that this machine does not have ({error})"));
            return Err(error);
        }
        self.refuse("memory beyond what its type allows".to_owned());
        Ok(())
    }

    fn table_growing(&mut self, _: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = desired <= self.table_elements && maximum.is_none_or(|m| desired <= m);
        if desired > self.table_elements {
            self.refuse(format!("a table of {desired} elements where {} are allowed", self.table_elements));
        }
        Ok(allowed)
    }

    fn instances(&self) -> usize {
        MAX_CORE_INSTANCES as usize
    }

    fn tables(&self) -> usize {
        MAX_TABLES as usize
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES as usize
    }
}
