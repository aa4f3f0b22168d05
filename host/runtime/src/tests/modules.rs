//! Rule modules.

use std::sync::Arc;

use firstfault_model::event::{Amendment, Basis};

use super::guests::{Guest, Image, LOOP, MEMORY_BOMB, extracting, module};
use super::load;
use crate::{
    Capabilities, FileGrants, NoTables, PluginFailure, RuleHit, Tables, View, ViewCoverage, ViewEvent,
    ViewGroup,
};

fn hit() -> RuleHit {
    RuleHit {
        signature: "xid".into(),
        text: "NVRM: Xid (PCI:0000:b5:00): 149, pid=4242".into(),
        captures: vec![("code".into(), "149".into())],
        place: vec![("node".into(), "gpu-1".into())],
        source: "kernel".into(),
        count: 1,
        first: Some(1),
        last: None,
    }
}

fn failure(wasm: &[u8]) -> PluginFailure {
    load(wasm).extract(&[hit(), hit()], Arc::new(NoTables)).unwrap_err()
}

/// Two events, 10 and 11, in one group.
struct Two;

impl View for Two {
    fn groups(&self, _: &str, _: u32, _: u32) -> Vec<ViewGroup> {
        vec![ViewGroup { id: 1, symptom: "xid.149".into(), events: 2, ..ViewGroup::default() }]
    }
    fn events(&self, group: u32, _: u32, limit: u32) -> Vec<ViewEvent> {
        assert!(limit <= 1024);
        let event = |id| ViewEvent { id, symptom: "xid.149".into(), count: 1, ..ViewEvent::default() };
        if group == 1 { vec![event(10), event(11)] } else { Vec::new() }
    }
    fn ranks(&self, _: u32) -> Vec<(u32, u32)> {
        vec![(0, 7)]
    }
    fn all_ranks(&self) -> Vec<(u32, u32)> {
        vec![(0, 15)]
    }
    fn node_of(&self, _: u32) -> Option<String> {
        None
    }
    fn coverage_of(&self, _: &str, _: u32, _: u32) -> Vec<ViewCoverage> {
        Vec::new()
    }
    fn context(&self, _: &str) -> Option<String> {
        None
    }
}

/// A module whose `refine` looks at group `group` and returns what `build` lays out.
fn refining(group: u32, build: impl FnOnce(&mut Image) -> u32) -> Vec<u8> {
    let mut guest = Guest::new("rule-module");
    let answer = build(&mut guest.image);
    let room = guest.image.put(&[0; 8]);
    let look = format!("(call $events (i32.const {group}) (i32.const 0) (i32.const -1) (i32.const {room}))");
    guest
        .own_import("view", "events", "(param i32 i32 i32 i32)")
        .extract("unreachable")
        .refine(&format!("{look} (i32.const {answer})"))
        .build()
}

fn refine(wasm: &[u8]) -> Result<Vec<Amendment>, PluginFailure> {
    load(wasm).refine(Arc::new(Two), Arc::new(NoTables))
}

#[test]
fn a_good_one() {
    let wasm = extracting(|image| {
        let events =
            [image.event(&[0], "xid.149", &[]), image.event(&[1, 0], "xid.154", &[("action", "reboot")])];
        let list = image.list(&events);
        image.ok(&list)
    });
    let plugin = load(&wasm);
    let events = plugin.extract(&[hit(), hit()], Arc::new(NoTables)).unwrap();
    assert_eq!(events.len(), 2);
    assert_eq!((events[1].hits.as_slice(), events[1].symptom.as_str()), (&[0, 1][..], "xid.154"));
    assert_eq!(events[0].place.node.as_deref(), Some("gpu-1"));
    assert_eq!(events[1].facts["action"], "reboot");

    let empty = load(&module().build());
    assert!(empty.extract(&[], Arc::new(NoTables)).unwrap().is_empty());
    assert!(empty.refine(Arc::new(Two), Arc::new(NoTables)).unwrap().is_empty());
}

#[test]
fn the_same_call_takes_the_same_fuel() {
    let guest = Guest::new("rule-module");
    let mut image = guest.image.clone();
    let empty = image.ok(&[0; 8]);
    let mut guest = guest;
    guest.image = image;
    let count = "(local $i i32) (loop $again (local.set $i (i32.add (local.get $i) (i32.const 1)))
                 (br_if $again (i32.lt_u (local.get $i) (i32.mul (local.get $len) (i32.const 1000)))))";
    let wasm = guest.extract(&format!("{count} (i32.const {empty})")).refine("unreachable").build();
    let plugin = load(&wasm);
    let run = |n| plugin.extract_counted(&vec![hit(); n], Arc::new(NoTables)).unwrap().1;
    let first = run(3);
    assert!(first > 3000, "{first}");
    assert_eq!(first, run(3));
    assert!(run(4) > first);
    assert_eq!(first, load(&wasm).extract_counted(&vec![hit(); 3], Arc::new(NoTables)).unwrap().1);
}

#[test]
fn calls_that_do_not_end_well() {
    for (code, status) in [
        (LOOP, "out_of_fuel"),
        ("unreachable", "trap"),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0))) (i32.const 0)", "trap"),
        ("(i32.load (i32.const -4))", "trap"),
        (MEMORY_BOMB, "limit"),
        // An answer outside of memory, one that is not aligned, and one of an unknown case.
        ("(i32.const -8)", "malformed"),
        ("(i32.const 1025)", "malformed"),
    ] {
        let failure = failure(&Guest::new("rule-module").extract(code).refine("unreachable").build());
        assert_eq!(failure.status(), status, "{code}: {failure}");
        assert!(
            failure.to_string().contains("'guest'") && failure.to_string().contains("`extract`"),
            "{failure}"
        );
    }
}

#[test]
fn endless_recursion_is_a_limit() {
    let wasm = Guest::new("rule-module")
        .extract("(call $deep (i32.const 1))")
        .refine("unreachable")
        .also("(func $deep (param i32) (result i32) (i32.add (call $deep (local.get 0)) (i32.const 1)))")
        .build();
    assert_eq!(failure(&wasm).status(), "limit");
}

#[test]
fn malformed_answers() {
    let answer = |build: fn(&mut Image) -> Vec<u8>| {
        failure(&extracting(|image| {
            let event = build(image);
            let list = image.list(&[event]);
            image.ok(&list)
        }))
    };
    for (failure, wants) in [
        (answer(|i| i.event(&[2], "xid.149", &[])), "event 0: it cites 2 of the hits"),
        (answer(|i| i.event(&[], "xid.149", &[])), "0 hits"),
        (answer(|i| i.event(&[0], &"x".repeat(200), &[])), "200 bytes"),
        (answer(|i| i.event(&[0], "Xid 149", &[])), "dotted lower-case"),
        (answer(|i| i.event(&[0], "xid.149", &[("Note", "x")])), "'Note'"),
        (answer(|i| i.event(&[0], "xid.149", &[("note", &"x".repeat(9000))])), "9000 bytes"),
        (answer(|i| i.event(&[0], "xid.149", &[("before_ms", "soon")])), "'before_ms'"),
    ] {
        assert_eq!(failure.status(), "malformed");
        assert!(failure.to_string().contains(wants), "{failure}");
    }
    // A list that claims to have more entries than there is memory, and bytes that are no text.
    let long = failure(&extracting(|image| image.ok(&[[0, 4, 0, 0], [0xff, 0xff, 0xff, 0x7f]].concat())));
    assert!(matches!(long.status(), "malformed" | "limit"), "{long}");
    let bytes = failure(&extracting(|image| {
        let mut event = image.event(&[0], "ab", &[]);
        let bad = image.put(&[0xff, 0xfe]);
        event[8..12].copy_from_slice(&bad.to_le_bytes());
        let list = image.list(&[event]);
        image.ok(&list)
    }));
    assert_eq!(bytes.status(), "malformed", "{bytes}");
}

#[test]
fn too_much_at_once_is_a_limit() {
    let failure = failure(&extracting(|image| {
        let facts = [("a", "x".repeat(8000)), ("b", "y".repeat(8000)), ("c", "z".repeat(8000))];
        let facts: Vec<_> = facts.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let event = image.event(&[0], "xid.1", &facts);
        let list = image.list(&vec![event; 1024]);
        image.ok(&list)
    }));
    assert_eq!(failure.status(), "limit", "{failure}");
}

#[test]
fn errors_are_told() {
    let failed = failure(&extracting(|image| image.error("no-such-table", "the table is\nempty")));
    assert_eq!(failed.status(), "error");
    assert!(failed.to_string().contains("the table is\\nempty (no-such-table)"), "{failed}");
    let failed = failure(&extracting(|image| image.error("No Such", "")));
    assert_eq!(failed.status(), "malformed");
}

#[test]
fn amendments() {
    let edge = |cause, effect, basis: &'static str| {
        refine(&refining(1, move |image| {
            let edge = image.edge(cause, effect, basis);
            let list = image.list(&[edge]);
            image.ok(&list)
        }))
    };
    let good = edge(10, 11, "place").unwrap();
    assert_eq!(good, [Amendment::Edge { cause: 10, effect: 11, basis: Basis::Place, why: "because".into() }]);
    assert_eq!(edge(10, 12, "place").unwrap_err().status(), "malformed");
    assert_eq!(edge(10, 11, "hunch").unwrap_err().status(), "malformed");
    // An event that exists and was not looked at cannot be cited.
    let unseen = refine(&refining(2, |image| {
        let edge = image.edge(10, 11, "place");
        let list = image.list(&[edge]);
        image.ok(&list)
    }));
    assert!(unseen.unwrap_err().to_string().contains("not shown"));
}

#[test]
fn host_calls_are_counted() {
    let mut guest = Guest::new("rule-module");
    let room = guest.image.put(&[0; 8]);
    let wasm = guest
        .own_import("view", "all-ranks", "(param i32)")
        .extract("unreachable")
        .refine(&format!("(loop $again (call $all-ranks (i32.const {room})) (br $again)) unreachable"))
        .build();
    let failure = refine(&wasm).unwrap_err();
    assert_eq!(failure.status(), "limit", "{failure}");
    assert!(failure.to_string().contains("100000 units"), "{failure}");
}

#[test]
fn a_flood_of_messages_is_bounded() {
    let log = |code: &str| {
        let mut guest = Guest::new("rule-module");
        let empty = guest.image.ok(&[0; 8]);
        let wasm = guest
            .own_import("log", "write", "(param i32 i32 i32)")
            .extract(&format!("(local $i i32) {code} (i32.const {empty})"))
            .refine("unreachable")
            .build();
        load(&wasm).extract(&[], Arc::new(NoTables))
    };
    log("(loop $again (call $write (i32.const 2) (i32.const 0) (i32.const 2000))
           (local.set $i (i32.add (local.get $i) (i32.const 1)))
           (br_if $again (i32.lt_u (local.get $i) (i32.const 1000))))")
    .unwrap();
    let endless = "(loop $again (call $write (i32.const 2) (i32.const 0) (i32.const 100000)) (br $again))";
    assert_eq!(log(endless).unwrap_err().status(), "limit");
    // A level that there is not.
    assert_eq!(
        log("(call $write (i32.const 9) (i32.const 0) (i32.const 0))").unwrap_err().status(),
        "malformed"
    );
}

#[test]
fn tables_are_asked() {
    struct One;
    impl Tables for One {
        fn lookup(&self, table: &str, key: &str) -> Option<Vec<(String, String)>> {
            (table == "t" && key == "k").then(|| vec![("meaning".into(), "x".into())])
        }
    }
    let mut guest = Guest::new("rule-module");
    let (t, k) = (guest.image.put(b"t"), guest.image.put(b"k"));
    let (empty, room) = (guest.image.ok(&[0; 8]), guest.image.put(&[0; 16]));
    // Traps unless the row is there.
    let wasm = guest
        .own_import("tables", "lookup", "(param i32 i32 i32 i32 i32)")
        .extract(&format!(
            "(call $lookup (i32.const {t}) (i32.const 1) (i32.const {k}) (i32.const 1) (i32.const {room}))
             (if (i32.eqz (i32.load8_u (i32.const {room}))) (then unreachable)) (i32.const {empty})"
        ))
        .refine("unreachable")
        .build();
    let plugin = load(&wasm);
    plugin.extract(&[hit()], Arc::new(One)).unwrap();
    assert_eq!(plugin.extract(&[hit()], Arc::new(NoTables)).unwrap_err().status(), "trap");
}

#[test]
fn a_panic_of_the_host_is_contained() {
    struct Broken;
    impl Tables for Broken {
        fn lookup(&self, _: &str, _: &str) -> Option<Vec<(String, String)>> {
            panic!("on purpose")
        }
    }
    let mut guest = Guest::new("rule-module");
    let room = guest.image.put(&[0; 16]);
    let wasm = guest
        .own_import("tables", "lookup", "(param i32 i32 i32 i32 i32)")
        .extract(&format!(
            "(call $lookup (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const {room})) unreachable"
        ))
        .refine("unreachable")
        .build();
    let plugin = load(&wasm);
    let failure = plugin.extract(&[hit()], Arc::new(Broken)).unwrap_err();
    assert!(matches!(failure, PluginFailure::Host { .. }), "{failure}");
    // The plugin and the pool are as good as before.
    assert_eq!(plugin.extract(&[hit()], Arc::new(NoTables)).unwrap_err().status(), "trap");
}

#[test]
fn many_at_once_do_not_exhaust_the_pool() {
    let plugin = load(&module().build());
    std::thread::scope(|scope| {
        for _ in 0..100 {
            let plugin = plugin.clone();
            scope.spawn(move || {
                for _ in 0..20 {
                    plugin.extract(&[hit()], Arc::new(NoTables)).unwrap();
                }
            });
        }
    });
}

#[test]
fn other_functions_are_not_there() {
    let plugin = load(&module().build());
    let nothing = Capabilities { files: FileGrants::default(), deadline: std::time::Duration::from_secs(1) };
    let failure = plugin.resolve(&[], &nothing).unwrap_err();
    assert!(matches!(failure, PluginFailure::Unsupported { .. }), "{failure}");
}
