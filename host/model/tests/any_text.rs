//! Whatever text is given as a context, a time, a set of ranks or a place, it is read or refused, and what is read holds together.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "support/edited.rs"]
mod edited;

use std::collections::BTreeSet;

use edited::edited;
use firstfault_model::context::ExecutionContext;
use firstfault_model::place::{PciBusId, Place};
use firstfault_model::ranges::{format_nodes, format_ranks, parse_ranks, rank_ranges};
use firstfault_model::time::{Timestamp, parse_offset};
use proptest::prelude::*;

const CONTEXTS: &[&str] = &[
    r#"{"schema": "firstfault.context/v1", "scheduler": "slurm", "cluster": "c", "id": "7", "attempt": 1, "name": "n", "user": "u",
 "account": "a", "partition": "p", "start": "2026-11-02T20:00:00Z", "end": "2026-11-02T21:00:00.5+01:00",
 "zones": {"default": "UTC", "app": "+01:00"}, "rank_count": 4, "extra": {"k": "v"},
 "terminal": {"state": "failed", "raw": "FAILED", "reason": "r", "requeued": false, "exit_code": 1, "signal": null},
 "nodes": [{"name": "gpu-1.site", "ranks": [0, 1], "switch": "leaf", "boot_id": "b",
            "gpus": [{"index": 0, "pci_bus_id": "0000:1A:00", "uuid": "GPU-1", "serial": "2", "model": "m", "ranks": [0]}]},
           {"name": "gpu-2.site", "ranks": "2-3", "aliases": ["10.0.0.2"], "gpus": [{"ranks": "2,3"}]}]}"#,
    r#"{"nodes": [{"name": "a", "ranks": "0-7,12,16-127"}, {"name": "b"}]}"#,
    r#"{"id": "1"}"#,
    "{}",
];

/// A host list, written out.
fn expand(list: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut rest = list;
    while !rest.is_empty() {
        let end = rest.find([',', '[']).unwrap_or(rest.len());
        let (prefix, behind) = rest.split_at(end);
        let Some(inner) = behind.strip_prefix('[') else {
            out.insert(prefix.to_owned());
            rest = behind.strip_prefix(',').unwrap_or(behind);
            continue;
        };
        let (inner, behind) = inner.split_once(']').unwrap();
        for part in inner.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let width = first.len();
            for number in first.parse::<u64>().unwrap()..=last.parse().unwrap() {
                out.insert(format!("{prefix}{number:0width$}"));
            }
        }
        rest = behind.strip_prefix(',').unwrap_or(behind);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn contexts(text in edited(CONTEXTS)) {
        match ExecutionContext::parse(&text) {
            Ok(context) => {
                for rank in context.ranks() {
                    prop_assert!(context.node_of_rank(rank).is_some());
                    _ = context.gpu_of_rank(rank);
                }
                for node in &context.nodes {
                    prop_assert!(context.node(&node.name).is_some());
                    prop_assert_eq!(context.node_named(&node.name), Some(node.name.as_str()));
                }
                let again = serde_json::to_string(&context.document).unwrap();
                prop_assert_eq!(ExecutionContext::parse(&again).unwrap(), context);
            }
            Err(error) => {
                let error = error.to_string();
                prop_assert!(error.starts_with("field `") || error.starts_with("not a context document: "), "{}", error);
            }
        }
    }

    #[test]
    fn ranks(text in edited(&["0-7,12,16-127", "0", "3-3", "4294967290-4294967295", " 1 - 2 , 5"]), limit in 0..200_usize) {
        if let Some(ranks) = parse_ranks(&text, limit) {
            prop_assert!(ranks.len() <= limit);
            prop_assert_eq!(parse_ranks(&format_ranks(&ranks), limit), Some(ranks));
        }
    }

    #[test]
    fn ranks_round_trip(few in prop::collection::btree_set(any::<u32>(), 0..20), near in prop::collection::btree_set(0..60_u32, 0..40)) {
        let ranks: BTreeSet<u32> = few.into_iter().chain(near).collect();
        prop_assert_eq!(&parse_ranks(&format_ranks(&ranks), ranks.len()).unwrap(), &ranks);
        let written_out: BTreeSet<u32> = rank_ranges(&ranks).into_iter().flat_map(|(first, last)| first..=last).collect();
        prop_assert_eq!(written_out, ranks);
    }

    #[test]
    fn host_lists(names in prop::collection::btree_set("[a-z]{0,2}-?[0-9]{0,3}(\\.[a-z])?|[0-9]{18,22}|n[0-9]{1,2}", 0..12)) {
        let names: BTreeSet<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
        prop_assert_eq!(expand(&format_nodes(names.iter().map(String::as_str))), names);
    }

    #[test]
    fn any_names_make_a_host_list(names in prop::collection::vec(edited(&["gpu-0001", "10.0.0.2", "a[1-2],b"]), 0..6)) {
        _ = format_nodes(names.iter().map(String::as_str));
    }

    #[test]
    fn times(text in edited(&["2026-11-02T22:29:58.100Z", "2026-11-02T22:29:58+01:00", "1677-09-21T00:12:44Z"]), nanos: i64) {
        if let Some(time) = Timestamp::parse(&text) {
            let whole = Timestamp(time.0 - time.0.rem_euclid(1_000_000));
            prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(whole));
        }
        let time = Timestamp(nanos);
        _ = (time.to_string(), time.clock(true), time.shifted(nanos), time.since(Timestamp(i64::MIN)));
    }

    #[test]
    fn offsets(text in edited(&["+01:00", "-0400", "+08", "Z", "UTC"])) {
        if let Some(seconds) = parse_offset(&text) {
            prop_assert!(seconds.abs() < 16 * 3600 && seconds % 60 == 0, "{}", seconds);
        }
    }

    #[test]
    fn places(address in edited(&["0000:1a:00.0", "00000000:1A:00", "1a:00.0"]), key in edited(&["node", "rank", "gpu", "port", "link"]), value in edited(&["7", "0000:1a:00", "mlx5_0:1"])) {
        if let Some(id) = PciBusId::parse(&address) {
            prop_assert_eq!(PciBusId::parse(id.as_str()), Some(id.clone()));
            prop_assert!(id.as_str().len() >= 10);
        }
        _ = PciBusId::parse_packed(&address);
        let mut place = Place::default();
        if place.set(&key, &value).is_ok() {
            let mut again = Place::default();
            for (key, value) in place.attributes() {
                again.set(&key, &value).unwrap();
            }
            prop_assert_eq!(again, place);
        }
    }
}
