//! Compiled code, embedded and cached.

use super::guests::module;
use super::{RUNTIME, options};
use crate::precompiled::seal;
use crate::{Precompiled, Runtime};

/// Embedded bytes live as long as the program.
fn embedded(bytes: Vec<u8>) -> Precompiled<'static> {
    Precompiled::embedded(Box::leak(bytes.into_boxed_slice()))
}

#[test]
fn embedded_code_of_this_component_is_used() {
    let wasm = module().build();
    let code = RUNTIME.precompile("guest.wasm", &wasm).unwrap();
    let digest = crate::digest::digest(&wasm);
    assert!(RUNTIME.stored("guest", &digest, Some(embedded(code.clone()))).is_some());
    let plugin = RUNTIME.load("guest", &wasm, Some(embedded(code))).unwrap();
    assert_eq!(plugin.digest(), digest);
}

#[test]
fn other_code_is_refused_and_compiled_anew() {
    let wasm = module().build();
    let digest = crate::digest::digest(&wasm);
    let good = RUNTIME.precompile("guest.wasm", &wasm).unwrap();
    let other = RUNTIME.precompile("other.wasm", &module().manifest("# other").build()).unwrap();
    for bytes in [
        other,
        good[..100].to_vec(),
        Vec::new(),
        seal(&digest, "0000", b"code for another engine"),
        // The record is right and the code is none: the engine itself refuses it.
        seal(&digest, RUNTIME.compatibility(), b"no code at all"),
    ] {
        assert!(RUNTIME.stored("guest", &digest, Some(embedded(bytes.clone()))).is_none());
        assert_eq!(RUNTIME.load("guest", &wasm, Some(embedded(bytes))).unwrap().name(), "guest");
    }
}

#[test]
fn a_site_plugin_is_compiled_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut with_cache = options();
    with_cache.cache_dir = Some(dir.path().join("cache"));
    let wasm = module().build();
    let digest = crate::digest::digest(&wasm);

    let first = Runtime::new(with_cache.clone()).unwrap();
    assert!(first.stored("guest", &digest, None).is_none());
    first.load("guest", &wasm, None).unwrap();
    let second = Runtime::new(with_cache.clone()).unwrap();
    assert!(second.stored("guest", &digest, None).is_some());

    // A file that was damaged is replaced.
    let path = std::fs::read_dir(dir.path().join("cache")).unwrap().next().unwrap().unwrap().path();
    let size = std::fs::metadata(&path).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(size - 10).unwrap();
    assert!(second.stored("guest", &digest, None).is_none());
    second.load("guest", &wasm, None).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
}

#[test]
fn a_cache_that_cannot_be_used_is_done_without() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut with_cache = options();
    with_cache.cache_dir = Some(file);
    Runtime::new(with_cache).unwrap().load("guest", &module().build(), None).unwrap();
}
