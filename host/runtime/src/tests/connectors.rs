//! Context connectors.

use std::time::Duration;

use firstfault_model::context::ExecutionContext;

use super::guests::{Guest, Image, LOOP, MEMORY_BOMB};
use super::load;
use crate::{Capabilities, FileGrants, PluginFailure};

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

#[test]
fn nothing_can_be_requested_or_run() {
    let mut guest = Guest::new("context-connector");
    let name = guest.image.put(b"api");
    let answer = guest.image.put(&[0; 64]);
    let wasm = guest
        .own_import("process", "run", "(param i32 i32 i32 i32 i32)")
        .resolve(&format!(
            "(call $run (i32.const {name}) (i32.const 3) (i32.const 0) (i32.const 0) (i32.const {answer}))
             (if (i32.eqz (i32.load8_u (i32.const {answer}))) (then unreachable))
             (i32.const {answer})"
        ))
        .build();
    // The host's error is passed on as the plugin's own.
    let failure = resolve(&wasm).unwrap_err();
    assert!(matches!(&failure, PluginFailure::Error { code, .. } if code == "not-granted"), "{failure}");
    assert!(failure.to_string().contains("'api'"), "{failure}");
}
