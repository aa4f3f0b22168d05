//! Context connectors.

use std::time::Duration;

use firstfault_model::context::ExecutionContext;

use super::guests::{Guest, Image, LOOP, MEMORY_BOMB, armed, failures};
use super::{load, options};
use crate::{Capabilities, FileGrants, PluginFailure, Runtime};

fn nothing(deadline: Duration) -> Capabilities {
    Capabilities { files: FileGrants::default(), deadline }
}

fn resolve(wasm: &[u8]) -> Result<Vec<ExecutionContext>, PluginFailure> {
    load(wasm).resolve(&[("id".into(), "48213".into())], &nothing(Duration::from_secs(60)))
}

/// Parses `document`; returns it as the one attempt, or passes the host's error on.
fn parsing(document: &str) -> Vec<u8> {
    let mut guest = Guest::new("context-connector");
    let at = guest.image.put(document.as_bytes());
    let (parsed, list) = (guest.image.put(&[0; 64]), guest.image.put(&[0; 4]));
    let ok = guest.image.put(&[[0, 0, 0, 0], [0, 0, 0, 0], list.to_le_bytes(), 1u32.to_le_bytes()].concat());
    guest
        .own_import("context", "[static]execution-context.parse", "(param i32 i32 i32)")
        .resolve(&format!(
            "(call $-static-execution-context-parse (i32.const {at}) (i32.const {len}) (i32.const {parsed}))
             (if (i32.load8_u (i32.const {parsed})) (then (return (i32.const {parsed}))))
             (i32.store (i32.const {list}) (i32.load (i32.const {handle})))
             (i32.const {ok})",
            len = document.len(),
            handle = parsed + 8,
        ))
        .build()
}

#[test]
fn a_good_one() {
    let contexts =
        resolve(&parsing(r#"{"id": "48213", "nodes": [{"name": "gpu-1", "ranks": "0-7"}]}"#)).unwrap();
    assert_eq!(contexts.len(), 1);
    assert_eq!(contexts[0].get("id").as_deref(), Some("48213"));
    assert_eq!(contexts[0].node_of_rank(7).unwrap().name, "gpu-1");
}

#[test]
fn handles_that_are_hoarded_are_a_limit() {
    let mut guest = Guest::new("context-connector");
    let (at, room) = (guest.image.put(b"{}"), guest.image.put(&[0; 64]));
    let parse = format!(
        "(loop $again
            (call $-static-execution-context-parse (i32.const {at}) (i32.const 2) (i32.const {room}))
            (br $again))
         unreachable"
    );
    let wasm = guest
        .own_import("context", "[static]execution-context.parse", "(param i32 i32 i32)")
        .resolve(&parse)
        .build();
    let failure = resolve(&wasm).unwrap_err();
    assert!(failure.status() == "limit" && failure.to_string().contains("4096 handles"), "{failure}");
}

#[test]
fn a_bad_document_is_named() {
    let failure = resolve(&parsing(r#"{"nodes": [{"ranks": [1]}]}"#)).unwrap_err();
    let PluginFailure::Error { code, message, .. } = &failure else { panic!("{failure}") };
    assert_eq!(code, "malformed");
    assert!(message.contains("nodes[0].name"), "{message}");
}

#[test]
fn calls_that_do_not_end_well() {
    for (code, status) in [("unreachable", "trap"), (MEMORY_BOMB, "limit"), ("(i32.const -8)", "malformed")] {
        let failure = resolve(&Guest::new("context-connector").resolve(code).build()).unwrap_err();
        assert_eq!(failure.status(), status, "{failure}");
    }
    let mut little = options();
    little.limits.collect_fuel = 10_000_000;
    little.limits.collect_transfer_bytes = 96 << 20;
    little.limits.memory_bytes = 256 << 20;
    let runtime = Runtime::new(little).unwrap();
    for (name, code, statuses) in failures() {
        let wasm = armed(Guest::new("context-connector").resolve(&code)).build();
        let plugin = runtime.load(name, &wasm, None).unwrap();
        let failure = plugin.resolve(&[], &nothing(Duration::from_secs(60))).unwrap_err();
        assert!(statuses.contains(&failure.status()), "{name}: {failure}");
    }
    let endless = load(&Guest::new("context-connector").resolve(LOOP).build());
    let failure = endless.resolve(&[], &nothing(Duration::from_millis(50))).unwrap_err();
    assert_eq!(failure.status(), "deadline", "{failure}");
    assert!(failure.to_string().contains("50 ms"), "{failure}");
}

#[test]
fn handles_that_are_not_its_own() {
    let wasm = |handle: u32| {
        let mut guest = Guest::new("context-connector");
        let answer = |image: &mut Image| {
            let list = image.list(&[handle.to_le_bytes().to_vec()]);
            image.ok(&list)
        };
        let at = answer(&mut guest.image);
        guest.resolve(&format!("(i32.const {at})")).build()
    };
    for handle in [0, 1, 7, u32::MAX] {
        let failure = resolve(&wasm(handle)).unwrap_err();
        assert_eq!(failure.status(), "malformed", "{failure}");
    }
}

/// A guest that passes the host's error on as its own.
fn refused_by(interface: &str, function: &str, parameters: &str, name: &str, rest: &str) -> PluginFailure {
    let mut guest = Guest::new("context-connector");
    let at = guest.image.put(name.as_bytes());
    let answer = guest.image.put(&[0; 64]);
    let wasm = guest
        .own_import(interface, function, parameters)
        .resolve(&format!(
            "(call ${function} (i32.const {at}) (i32.const {}) {rest} (i32.const {answer}))
             (if (i32.eqz (i32.load8_u (i32.const {answer}))) (then unreachable))
             (i32.const {answer})",
            name.len()
        ))
        .build();
    resolve(&wasm).unwrap_err()
}

#[test]
fn nothing_can_be_requested_or_run() {
    let long = "x".repeat(100_000);
    let names = [
        "api",
        "",
        "localhost",
        "169.254.169.254",
        "http://169.254.169.254/latest",
        "https://user@host",
        "unix:/run/docker.sock",
        "[::1]:80",
        "../../bin/sh",
        "/bin/sh",
        "sh -c id",
        "api\0",
        "api\r\nHost: x",
        "\u{202e}",
        &long,
    ];
    // No arguments.
    let run = |name| {
        refused_by("process", "run", "(param i32 i32 i32 i32 i32)", name, "(i32.const 0) (i32.const 0)")
    };
    // A request without anything in it: addresses and lengths of method, path, query, headers, body.
    const REQUEST: usize = 10;
    let parameters = format!("(param i32 i32 {} i32)", "i32 ".repeat(REQUEST));
    let rest = "(i32.const 0) ".repeat(REQUEST);
    let start = |name| refused_by("http", "start", &parameters, name, &rest);
    for name in names {
        for failure in [run(name), start(name)] {
            assert!(
                matches!(&failure, PluginFailure::Error { code, .. } if code == "not-granted" || code == "malformed"),
                "{failure}"
            );
            // What the guest wrote stays one short line.
            assert!(
                failure.to_string().len() < 1000 && !failure.to_string().contains(char::is_control),
                "{failure}"
            );
        }
    }
    assert!(run("api").to_string().contains("'api'") && start("api").to_string().contains("'api'"));
}
