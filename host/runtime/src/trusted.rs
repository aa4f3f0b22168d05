//! The only two unsafe calls of the project, each behind a function whose callers cannot break its contract.

#![allow(unsafe_code, reason = "wasmtime marks both calls unsafe; each block states why its contract holds")]

use wasmtime::component::Component;
use wasmtime::{Config, Engine};

/// Lets generated code use the instructions of x86-64-v2, and no others.
#[cfg(target_arch = "x86_64")]
pub(crate) fn enable_x86_64_v2(config: &mut Config) {
    for flag in ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt", "has_cmpxchg16b"] {
        // SAFETY: the flags name instructions and change nothing else of what the compiler assumes. Before any code is
        // run, the engine compares each of them with the processor and refuses when one is missing.
        unsafe { config.cranelift_flag_enable(flag) };
    }
}

/// On other processors the baseline of the architecture is used.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn enable_x86_64_v2(_: &mut Config) {}

/// Reads back code that this engine, or one of equal settings, has compiled.
///
/// `code` is what [`crate::precompiled::Code`] lets through: bytes that are embedded in this program, or that lie in the
/// private folder of compiled code and have the digest that was recorded when they were written.
pub(crate) fn deserialize(
    engine: &Engine,
    code: &crate::precompiled::Code<'_>,
) -> wasmtime::Result<Component> {
    // SAFETY: `Code` is made only from bytes that this engine's compiler wrote and that are unchanged since: they are a part
    // of this program itself, or come from a folder that only its user can write and their digest was checked. Their
    // engine settings are those of `engine`. The bytes are copied, so that nobody can change them later.
    unsafe { Component::deserialize(engine, code.bytes()) }
}
