//! Whole plugins: good ones of every world, and every way to be bad.

mod collectors;
mod connectors;
mod guests;
mod loading;
mod modules;
mod stored_code;
mod virtual_system;

use std::sync::LazyLock;

use crate::{LoadError, Plugin, Runtime, RuntimeOptions};

/// Limits small enough that endless loops end soon.
fn options() -> RuntimeOptions {
    let mut options = RuntimeOptions::default();
    options.limits.start_fuel = 1_000_000;
    options.limits.describe_fuel = 1_000_000;
    options.limits.extract_fuel = 10_000_000;
    options.limits.refine_fuel = 10_000_000;
    options.limits.memory_bytes = 16 << 20;
    options.limits.host_work = 100_000;
    options
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new(options()).unwrap());

fn try_load(wasm: &[u8]) -> Result<Plugin, LoadError> {
    RUNTIME.load("test.wasm", wasm, None)
}

fn load(wasm: &[u8]) -> Plugin {
    try_load(wasm).unwrap()
}
