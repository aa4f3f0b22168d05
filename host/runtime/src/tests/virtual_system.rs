//! Components that import WASI.

use std::sync::Arc;

use super::guests::Guest;
use super::load;
use crate::{NoTables, PluginFailure, RuleHit};

/// Returns one event with the fact `r`: the low digit of a random number, and `t`: that of the clock's seconds.
fn random_and_clock() -> Vec<u8> {
    let mut guest = Guest::new("virtual");
    let image = &mut guest.image;
    let facts = [("r", "________________"), ("t", "_")];
    let mut event = image.event(&[0], "xid.1", &[]);
    let (random, clock, room) = (image.put(facts[0].1.as_bytes()), image.put(b"_"), image.put(&[0; 16]));
    let word = |w: u32| w.to_le_bytes();
    let (r, t) = (image.put(b"r"), image.put(b"t"));
    let pairs = image
        .put(&[word(r), word(1), word(random), word(16), word(t), word(1), word(clock), word(1)].concat());
    event[24..].copy_from_slice(&[word(pairs), word(2)].concat());
    let list = image.list(&[event]);
    let ok = image.ok(&list);
    // Sixteen digits, four bits each.
    let digit = "(i32.store8 (i32.add (local.get $i) (local.get $to))
                    (i32.add (i32.const 97) (i32.wrap_i64 (i64.and (local.get $n) (i64.const 15)))))";
    let code = format!(
        "(local $i i32) (local $to i32) (local $n i64)
         (local.set $to (i32.const {random})) (local.set $n (call $get-random-u64))
         (loop $again {digit}
            (local.set $n (i64.shr_u (local.get $n) (i64.const 4)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $i) (i32.const 16))))
         (call $now (i32.const {room}))
         (i32.store8 (i32.const {clock})
            (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (i64.load (i32.const {room})) (i64.const 10)))))
         (i32.const {ok})"
    );
    guest
        .import("wasi:random/random@0.2.0", "get-random-u64", "(result i64)")
        .import("wasi:clocks/wall-clock@0.2.0", "now", "(param i32)")
        .extract(&code)
        .refine("unreachable")
        .build()
}

#[test]
fn randomness_follows_from_the_input_and_the_clock_stands_still() {
    let plugin = load(&random_and_clock());
    let run = |text: &str| {
        let hit = RuleHit { text: text.into(), ..RuleHit::default() };
        let facts = plugin.extract(&[hit], Arc::new(NoTables)).unwrap().remove(0).facts;
        (facts["r"].clone(), facts["t"].clone())
    };
    let (random, clock) = run("a");
    assert_eq!(clock, "0");
    assert_eq!(run("a").0, random);
    assert_ne!(run("b").0, random);
}

#[test]
fn waiting_for_the_clock_ends_the_call() {
    let wasm = Guest::new("waiting")
        .import("wasi:clocks/monotonic-clock@0.2.0", "subscribe-duration", "(param i64) (result i32)")
        .extract("(call $subscribe-duration (i64.const 1000000000)) unreachable")
        .refine("unreachable")
        .build();
    let failure = load(&wasm).extract(&[], Arc::new(NoTables)).unwrap_err();
    assert!(matches!(failure, PluginFailure::Trap { .. }), "{failure}");
    assert!(failure.to_string().contains("stands still"), "{failure}");
}
