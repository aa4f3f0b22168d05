//! The one engine. Every plugin is compiled, stored and run with exactly these settings: a second constructor would
//! silently turn stored code into code that must be compiled again.

use std::hash::{Hash, Hasher};

use sha2::{Digest, Sha256};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, Strategy,
};

use crate::error::RuntimeError;
use crate::limits::{MAX_CONCURRENT_CALLS, MAX_MEMORY_BYTES, MAX_TABLE_ELEMENTS};

/// Core instances of one component. Components linked of shared libraries have dozens.
pub(crate) const MAX_CORE_INSTANCES: u32 = 64;
/// Tables of one component.
pub(crate) const MAX_TABLES: u32 = 8;
/// Linear memories of one component: its own, and one of an adapter.
pub(crate) const MAX_MEMORIES: u32 = 2;

/// Stack of WebAssembly code. Host functions get the rest of an asynchronous stack.
const WASM_STACK: usize = 512 << 10;
const ASYNC_STACK: usize = 2 << 20;

/// Calls at one time where each instance reserves its own 4 GiB of addresses, because a pool of them did not fit.
const CALLS_WITHOUT_POOL: u32 = 2;

/// Makes the engine, and says how many calls may run at one time: with pooled instances as many as the pool holds, and
/// where the address space does not suffice for the pool, few.
pub(crate) fn new_engine() -> Result<(Engine, u32), RuntimeError> {
    let mut config = settings().map_err(RuntimeError::engine)?;
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
    match Engine::new(&config) {
        Ok(engine) => Ok((engine, MAX_CONCURRENT_CALLS)),
        Err(pooled) => {
            tracing::warn!(error = %pooled, "no pool of plugin instances: each instance is allocated by itself");
            config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
            Ok((Engine::new(&config).map_err(RuntimeError::engine)?, CALLS_WITHOUT_POOL))
        }
    }
}

/// Everything that decides what code looks like and what it does.
fn settings() -> wasmtime::Result<Config> {
    let mut config = Config::new();
    if let Some(target) = target() {
        config.target(target)?;
        crate::trusted::enable_x86_64_v2(&mut config);
    }
    config.strategy(Strategy::Cranelift).cranelift_opt_level(OptLevel::Speed);

    // Fuel alone bounds a call. An epoch counter beside it would more than double the cost of a loop, and is no measure
    // that two machines agree on.
    config.consume_fuel(true).epoch_interruption(false);
    config.max_wasm_stack(WASM_STACK).async_stack_size(ASYNC_STACK);

    // The same bits on every machine.
    config.cranelift_nan_canonicalization(true).wasm_relaxed_simd(false);

    // What is not offered need not be kept working, and cannot be attacked.
    config
        .concurrency_support(false)
        .shared_memory(false)
        .gc_support(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(true)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false);

    // One layout of linear memories whether pooled or not, because compiled code depends on it.
    config.memory_reservation(4 << 30).memory_guard_size(32 << 20).memory_init_cow(true);
    Ok(config)
}

/// The host's triple where it is spelt out, so that nothing of the machine at hand flows into compiled code.
const fn target() -> Option<&'static str> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    match (cfg!(target_arch = "x86_64"), cfg!(target_arch = "aarch64"), cfg!(target_env = "musl")) {
        (true, _, false) => Some("x86_64-unknown-linux-gnu"),
        (true, _, true) => Some("x86_64-unknown-linux-musl"),
        (_, true, false) => Some("aarch64-unknown-linux-gnu"),
        (_, true, true) => Some("aarch64-unknown-linux-musl"),
        _ => None,
    }
}

/// Room for as many components as may run at once, each at its largest, so that the pool is never the limit.
fn pool() -> PoolingAllocationConfig {
    let slots = MAX_CONCURRENT_CALLS;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .total_core_instances(slots * MAX_CORE_INSTANCES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_memories_per_module(1)
        .total_memories(slots * MAX_MEMORIES)
        .max_memory_size(MAX_MEMORY_BYTES)
        .max_tables_per_component(MAX_TABLES)
        .max_tables_per_module(MAX_TABLES)
        .total_tables(slots * MAX_TABLES)
        .table_elements(MAX_TABLE_ELEMENTS)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .total_stacks(slots)
        // Emptying a slot by asking the kernel which pages were touched; kernels that cannot tell are told apart.
        .pagemap_scan(Enabled::Auto);
    pool
}

/// The settings in 64 hexadecimal digits: compiled code can be used again exactly where they are equal.
pub(crate) fn compatibility(engine: &Engine) -> String {
    /// Hands what is hashed to SHA-256, because the standard library's hasher may change with its version.
    struct Sha(Sha256);
    impl Hasher for Sha {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut hasher = Sha(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    crate::digest::hex(&hasher.0.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_engines_have_equal_settings() {
        let (a, b) = (new_engine().unwrap().0, new_engine().unwrap().0);
        assert_eq!(compatibility(&a), compatibility(&b));
        assert_eq!(compatibility(&a).len(), 64);
    }

    #[test]
    fn settings_do_not_depend_on_the_allocator() {
        let mut config = settings().unwrap();
        config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
        let on_demand = Engine::new(&config).unwrap();
        assert_eq!(compatibility(&on_demand), compatibility(&new_engine().unwrap().0));
    }

    #[test]
    fn settings_count() {
        let mut config = settings().unwrap();
        config.cranelift_nan_canonicalization(false);
        let other = Engine::new(&config).unwrap();
        assert_ne!(compatibility(&other), compatibility(&new_engine().unwrap().0));
    }
}
