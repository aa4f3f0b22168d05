//! What cannot be loaded, and what the error says.

use super::guests::{Guest, LOOP, MEMORY_BOMB, PACK, PLUGIN, module};
use super::{load, options, try_load};
use crate::{LoadError, Runtime, World};

fn refusal(wasm: &[u8]) -> LoadError {
    try_load(wasm).unwrap_err()
}

#[test]
fn a_plugin_tells_who_it_is() {
    let wasm = module().build();
    let plugin = load(&wasm);
    assert_eq!((plugin.name(), plugin.version()), ("guest", "0.1.0"));
    assert_eq!(plugin.world(), World::RuleModule);
    assert_eq!(plugin.manifest(), PACK);
    assert!(plugin.digest().starts_with("sha256:") && plugin.digest().len() == 71);
    assert!(format!("{plugin:?}").contains("guest"));
}

#[test]
fn garbage_and_truncated_files() {
    assert!(matches!(refusal(b"garbage"), LoadError::NotAComponent { .. }));
    let wasm = module().build();
    for cut in [3, 7, 9, wasm.len() / 2, wasm.len() - 1] {
        let error = refusal(&wasm[..cut]);
        assert!(
            matches!(
                error,
                LoadError::Truncated { .. } | LoadError::Compile { .. } | LoadError::WrongWorld { .. }
            ),
            "{cut}: {error}"
        );
    }
    let core = wat::parse_str("(module)").unwrap();
    assert!(refusal(&core).to_string().contains("core module"));
}

#[test]
fn damaged_files_never_panic() {
    let wasm = module().build();
    for at in (8..wasm.len()).step_by(37) {
        let mut damaged = wasm.clone();
        damaged[at] ^= 0x55;
        // A plugin that still loads is as good as any other.
        drop(try_load(&damaged));
    }
}

#[test]
fn too_large_a_file() {
    let mut small = options();
    small.limits.component_bytes = 100;
    let error = Runtime::new(small).unwrap().load("big.wasm", &module().build(), None).unwrap_err();
    assert!(error.to_string().starts_with("big.wasm: "), "{error}");
    assert!(matches!(error, LoadError::TooLarge { .. }));
}

#[test]
fn wrong_worlds() {
    let empty = wat::parse_str("(component)").unwrap();
    assert!(refusal(&empty).to_string().contains("exports nothing"));

    let error = refusal(&Guest::new("undescribed").extract("unreachable").refine("unreachable").build());
    let LoadError::WrongWorld { missing, .. } = &error else { panic!("{error}") };
    assert_eq!(missing, &["firstfault:plugin/manifest@0.1.0"]);

    let both = Guest::new("both").extract("unreachable").refine("unreachable").resolve("unreachable").build();
    let error = refusal(&both).to_string();
    assert!(error.contains("context-connector and a rule-module at once"), "{error}");
}

#[test]
fn imports_beyond_the_world() {
    let roots = "(param i32)";
    let wasm = Guest::new("with-files")
        .own_import("files", "roots", roots)
        .extract("(call $roots (i32.const 0)) unreachable")
        .refine("unreachable")
        .build();
    let error = refusal(&wasm).to_string();
    assert!(error.contains("a rule-module cannot import firstfault:plugin/files@0.1.0"), "{error}");

    let wasm = Guest::new("with-sockets")
        .import("wasi:sockets/network@0.2.0", "[resource-drop]network", "(param i32)")
        .extract("(call $drop-network (i32.const 0)) unreachable")
        .refine("unreachable")
        .build();
    let error = refusal(&wasm).to_string();
    assert!(error.contains("wasi:sockets/network@0.2.0"), "{error}");

    let wasm = Guest::new("with-sink")
        .own_import("sink", "observe", "(param i32 i32 i32 i32 i32)")
        .resolve("(call $observe (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) unreachable")
        .build();
    let error = refusal(&wasm).to_string();
    assert!(error.contains("firstfault:plugin/sink@0.1.0"), "{error}");
}

#[test]
fn functions_of_other_types() {
    let wasm = wat::parse_str(
        r#"(component
            (core module $m
                (memory (export "memory") 1)
                (func (export "text") (result i32) (i32.const 8))
                (func (export "number") (result i32) (i32.const 8)))
            (core instance $i (instantiate $m))
            (func $describe (result string)
                (canon lift (core func $i "text") (memory (core memory $i "memory"))))
            (func $number (result u32) (canon lift (core func $i "number")))
            (instance $manifest (export "describe" (func $describe)))
            (instance $rules (export "extract" (func $number)) (export "refine" (func $number)))
            (export "firstfault:plugin/manifest@0.1.0" (instance $manifest))
            (export "firstfault:plugin/rules@0.1.0" (instance $rules)))"#,
    )
    .unwrap();
    let error = refusal(&wasm);
    assert!(matches!(error, LoadError::Link { .. }), "{error}");
}

#[test]
fn descriptions_that_do_not_fit() {
    for (text, wants) in [
        (PLUGIN, "[pack] is missing"),
        ("", "[pack] is missing"),
        ("[pack]\nname = 'NAME'\nversion = '1.0.0'", "'NAME'"),
        ("[pack", "not the TOML"),
    ] {
        let error = refusal(&module().manifest(text).build()).to_string();
        assert!(error.contains(wants), "{error}");
    }
    let long = format!("{PACK}# {}", "x".repeat(1 << 20));
    let error = refusal(&module().manifest(&long).build());
    assert!(matches!(error, LoadError::ManifestTooLarge { .. }), "{error}");
}

#[test]
fn plugins_that_do_not_start() {
    for (code, status) in [(LOOP, "out_of_fuel"), ("unreachable", "trap"), (MEMORY_BOMB, "limit")] {
        for wasm in [module().start(code).build(), module().describe(&format!("{code} unreachable")).build()]
        {
            let error = refusal(&wasm);
            let LoadError::Describe { failure, .. } = &error else { panic!("{error}") };
            assert_eq!(failure.status(), status, "{error}");
        }
    }
}
