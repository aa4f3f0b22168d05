//! Silent ranks. When most ranks wait for one collective and a few say nothing at all, the few are the ones waited for.

use std::collections::BTreeMap;

use firstfault_plugin::{Amendment, Derived, Facts, RankSet, SeenEvent, View};

use crate::timeouts::{self, Waiting};

/// What is derived here.
pub const SYMPTOM: &str = "nccl.silent_rank";

/// Most ranks that are called silent; more have no common reason.
const MOST: u64 = 16;

/// Most time-outs that one of them cites.
const CITED: usize = 8;

/// A derived event for each rank that no time-out comes from, if one collective has most of the others waiting.
#[must_use]
pub fn derive(view: &dyn View, waiting: &[Waiting]) -> Vec<Amendment> {
    let all: RankSet = view.all_ranks().into_iter().collect();
    let Some((crowd, ranks)) = widest(waiting, all.len()) else { return Vec::new() };
    let heard: RankSet = waiting.iter().flat_map(|of| of.ranks.ranges().iter().copied()).collect();
    let silent = all.minus(&heard);
    if silent.is_empty() || silent.len() > MOST || silent.len().saturating_mul(4) >= all.len() {
        return Vec::new();
    }
    let coverage: BTreeMap<String, String> =
        view.coverage_of("app").into_iter().map(|of| (of.node, of.status)).collect();
    let cited = timeouts::cited(view, &crowd, CITED);
    let onset = earliest(&crowd, &cited);

    let event = |rank: u32| {
        let (mut place, mut facts) = (Facts::new(), Facts::new());
        let node = view.node_of(rank);
        let covered = node.as_ref().and_then(|node| coverage.get(node)).map_or("missing", String::as_str);
        place.set("rank", rank.to_string());
        place.set_some("node", node);
        facts.set("coverage", covered);
        facts.set("waiting_ranks", ranks.to_string());
        let first = crowd.first();
        facts.set_some("seq", first.and_then(|first| first.seq).map(|seq| seq.to_string()));
        facts.set_some("op", first.and_then(|first| first.op.clone()));
        let note = match covered {
            "missing" => format!("rank {rank} reported no time-out, but its output is not at hand"),
            _ => format!("rank {rank} did not report the time-out that the others did"),
        };
        facts.set("note", note);
        Amendment::Derived(Derived {
            cites: cited.iter().map(|event| event.id).collect(),
            symptom: SYMPTOM.to_owned(),
            place: place.into(),
            facts: facts.into(),
            onset_from: onset.map(|(from, _)| from),
            onset_to: onset.map(|(_, to)| to),
        })
    };
    silent.iter().map(event).collect()
}

/// Those who wait at the number of the process group that most ranks wait at, and how many they are, if they are at least two and
/// half of all.
fn widest(waiting: &[Waiting], all: u64) -> Option<(Vec<&Waiting>, u64)> {
    let mut numbers: BTreeMap<(Option<&str>, Option<u64>), Vec<&Waiting>> = BTreeMap::new();
    for of in waiting {
        numbers.entry((of.group.as_deref(), of.seq)).or_default().push(of);
    }
    let counted = numbers.into_values().map(|crowd| {
        let ranks: RankSet = crowd.iter().flat_map(|of| of.ranks.ranges().iter().copied()).collect();
        (crowd, ranks.len())
    });
    // Of equals the first in order: the last that is not less, from behind.
    let (crowd, ranks) = counted.rev().max_by_key(|(_, ranks)| *ranks)?;
    (ranks >= 2 && ranks.saturating_mul(2) >= all).then_some((crowd, ranks))
}

/// The earliest onset of a crowd. Its uncertainty is that of the event itself if that is cited, else the largest of those that are.
fn earliest(crowd: &[&Waiting], cited: &[SeenEvent]) -> Option<(i64, i64)> {
    let from = crowd.iter().filter_map(|of| of.first).min()?;
    let width =
        |event: &SeenEvent| Some((event.onset_from?, event.onset_to?.saturating_sub(event.onset_from?)));
    let widths: Vec<(i64, i64)> = cited.iter().filter_map(width).collect();
    let own = widths.iter().find(|(begin, _)| *begin == from).map(|(_, width)| *width);
    let width = own.or_else(|| widths.iter().map(|(_, width)| *width).max()).unwrap_or(0);
    Some((from, from.saturating_add(width)))
}

#[cfg(test)]
mod tests {
    use firstfault_plugin::get;
    use firstfault_plugin::testing::MemoryView;

    use super::*;

    fn waits(view: MemoryView, rank: u32, seq: &str, at: i64) -> MemoryView {
        let rank = rank.to_string();
        let place = [("node", "a"), ("rank", rank.as_str())];
        // As it is reported: each rank waited a little longer or shorter than the next.
        let facts = [("seq", seq), ("op", "ALLREDUCE"), ("before_ms", rank.as_str())];
        view.event("nccl.watchdog_timeout", &place, &facts, Some((at, at + 10)))
    }

    fn job(ranks: u32, silent: &[u32]) -> MemoryView {
        let mut view = MemoryView::new().ranks_on("a", 0..ranks / 2).ranks_on("b", ranks / 2..ranks);
        for rank in (0..ranks).filter(|rank| !silent.contains(rank)) {
            view = waits(view, rank, "7", 1000 - i64::from(rank));
        }
        view
    }

    fn derived(view: &MemoryView) -> Vec<Derived> {
        let event = |amendment| match amendment {
            Amendment::Derived(derived) => derived,
            other => panic!("{other:?}"),
        };
        derive(view, &timeouts::of(view)).into_iter().map(event).collect()
    }

    #[test]
    fn the_one_that_did_not_wait_is_named_with_the_earliest_that_did() {
        let view = job(16, &[12]).covered("app", "a", "complete").covered("app", "b", "partial");
        let found = derived(&view);
        assert_eq!(found.len(), 1);
        let found = &found[0];
        assert_eq!(found.symptom, "nccl.silent_rank");
        assert_eq!((get(&found.place, "rank"), get(&found.place, "node")), (Some("12"), Some("b")));
        assert_eq!(
            (get(&found.facts, "coverage"), get(&found.facts, "waiting_ranks")),
            (Some("partial"), Some("15"))
        );
        // The first in canonical order are cited, the earliest of all (rank 15) dates it.
        assert_eq!(found.cites, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((found.onset_from, found.onset_to), (Some(985), Some(995)));
    }

    #[test]
    fn missing_output_is_said() {
        assert_eq!(get(&derived(&job(8, &[7]))[0].facts, "coverage"), Some("missing"));
        let covered = job(8, &[7]).covered("app", "b", "missing");
        assert_eq!(get(&derived(&covered)[0].facts, "coverage"), Some("missing"));
    }

    #[test]
    fn nobody_is_silent_without_a_crowd_that_waits() {
        assert_eq!(derived(&job(8, &[])), []);
        assert_eq!(derived(&job(8, &[1, 2])), [], "a quarter is too many");
        assert_eq!(derived(&job(4, &[1])), []);
        assert_eq!(derived(&job(2, &[1])), []);
        assert_eq!(derived(&job(100, &(0..17).collect::<Vec<_>>())), [], "more than sixteen");
        assert_eq!(derived(&job(100, &(0..16).collect::<Vec<_>>())).len(), 16);
        let unknown = waits(waits(MemoryView::new(), 0, "7", 1), 1, "7", 1);
        assert_eq!(derived(&unknown), []);
    }

    #[test]
    fn one_that_waits_for_something_else_is_not_silent() {
        let mut view = waits(job(8, &[6, 7]), 6, "3", 5);
        assert_eq!(derived(&view).iter().map(|d| get(&d.place, "rank")).collect::<Vec<_>>(), [Some("7")]);
        view = waits(view, 7, "3", 5);
        assert_eq!(derived(&view), []);
    }
}
