//! Whatever the captures hold, what is made of them keeps the rules of the interface: one breach would void all that the module found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "../../../host/model/tests/support/edited.rs"]
mod edited;
#[path = "../../rules_of_events.rs"]
mod rules_of_events;

use std::collections::BTreeSet;

use edited::edited;
use firstfault_plugin::testing::MemoryView;
use firstfault_plugin::{Amendment, Hit, get};
use firstfault_plugin_nccl::{extract, refine};
use proptest::prelude::*;
use proptest::sample::select;
use rules_of_events::assert_kept;

const SIGNATURES: &[&str] =
    &["watchdog_timeout", "counters", "ib_completion", "ib_async", "peer_closed", "none"];
const NAMES: &[&str] = &[
    "seq",
    "op",
    "numel_in",
    "numel_out",
    "timeout_ms",
    "ran_ms",
    "group",
    "enqueued",
    "completed",
    "peer",
    "status",
    "vendor",
    "port",
    "what",
    "fatal",
];
const VALUES: &[&str] = &[
    "7",
    "-1",
    "600000",
    "ALLREDUCE",
    "mlx5_0:1",
    "gpu-0659",
    "[fe80::ce1%ib0]",
    "12",
    "port error",
    "local access violation work queue error",
];

fn hit() -> impl Strategy<Value = Hit> {
    (select(SIGNATURES), prop::collection::btree_map(select(NAMES), edited(VALUES), 0..8)).prop_map(
        |(signature, captures)| Hit {
            signature: signature.to_owned(),
            text: String::new(),
            captures: captures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            place: Vec::new(),
            source: "app".to_owned(),
            count: 1,
            first: None,
            last: None,
        },
    )
}

/// A time-out: its rank, and what it waited for.
type Wait = (u32, &'static str, &'static str, String, Option<i64>);

fn wait() -> impl Strategy<Value = Wait> {
    let op = select(&["ALLREDUCE", "BROADCAST", "SEND", "_ALLGATHER_BASE", "ALLTOALL", "X"][..]);
    (0..24_u32, select(&["7", "8", "x", ""][..]), op, edited(&["64", "1"]), prop::option::of(-5..5_i64))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hits_make_events(hits in prop::collection::vec(hit(), 0..6)) {
        assert_kept(&extract::events(&hits), hits.len());
    }

    /// As long as a line may be.
    #[test]
    fn long_captures(mut hit in hit(), filler in "[ -~]{1,3}", times in 0..20_000_usize) {
        for (_, value) in &mut hit.captures {
            value.push_str(&filler.repeat(times));
        }
        assert_kept(&extract::events(&[hit]), 1);
    }

    /// Only ranks of the attempt are named, and only events are cited that are there.
    #[test]
    fn waiting_ranks_make_amendments(waits in prop::collection::vec(wait(), 0..40), ranks in 0..24_u32) {
        let mut view = MemoryView::new();
        for node in 0..3 {
            view = view.ranks_on(&format!("n{node}"), node * 8..(node * 8 + 8).min(ranks));
        }
        for (rank, seq, op, numel, at) in &waits {
            let (rank, at) = (rank.to_string(), at.map(|at| (at, at)));
            let facts = [("seq", *seq), ("op", *op), ("numel_in", numel.as_str())];
            view = view.event("nccl.watchdog_timeout", &[("node", "n0"), ("rank", &rank)], &facts, at);
        }
        let seen: BTreeSet<String> = waits.iter().map(|wait| wait.0.to_string()).collect();
        let amendments = refine::amendments(&view);
        prop_assert!(amendments.len() <= 4096);
        for amendment in amendments {
            let Amendment::Derived(derived) = amendment else { continue };
            prop_assert!((1..=64).contains(&derived.cites.len()));
            prop_assert!(derived.onset_from.is_some() == derived.onset_to.is_some());
            prop_assert!(derived.onset_from <= derived.onset_to);
            let rank = get(&derived.place, "rank").unwrap_or_default();
            let known = seen.contains(rank) || rank.parse::<u32>().is_ok_and(|rank| rank < ranks);
            prop_assert!(rank.is_empty() || known, "{:?}", derived);
        }
    }
}
