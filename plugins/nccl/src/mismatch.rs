//! Collective mismatch. At one number of one group all ranks must be in the same collective of the same size; the few that
//! are not took another way through the program.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_plugin::{Amendment, Derived, Facts, View, get};

use crate::timeouts::Timeout;

const SYMPTOM: &str = "nccl.collective_mismatch";

/// Most ranks that are named at one number.
const MOST: usize = 16;

/// Most time-outs that one of them cites, its own included.
const CITED: usize = 8;

/// Operations between two ranks or of several at once: their numbers say nothing about others.
const NOT_COLLECTIVE: &[&str] = &["SEND", "RECV", "RECVANYSOURCE", "COALESCED", "UNKNOWN"];

/// Collectives in which all ranks give equally many elements. In the others (a gather, an all-to-all) they may differ.
const EQUAL_SIZES: &[&str] = &[
    "ALLREDUCE",
    "ALLREDUCE_COALESCED",
    "REDUCE",
    "BROADCAST",
    "BARRIER",
    "_ALLGATHER_BASE",
    "_REDUCE_SCATTER_BASE",
    "ALLREDUCE_SPARSE",
];

/// What a rank is in: the operation, and the elements that it gives where these must agree.
type Collective<'a> = (&'a str, Option<u64>);

/// Who is in which collective at one number.
type At<'a> = BTreeMap<Collective<'a>, Vec<&'a Timeout>>;

/// A derived event for each rank of the minority at a number where ranks disagree.
#[must_use]
pub fn derive(view: &dyn View, timeouts: &[Timeout]) -> Vec<Amendment> {
    let mut numbers: BTreeMap<(Option<&str>, u64), At<'_>> = BTreeMap::new();
    for timeout in timeouts {
        if let (Some(seq), Some(collective)) = (timeout.seq, collective(timeout)) {
            let at = numbers.entry((timeout.group.as_deref(), seq)).or_default();
            at.entry(collective).or_default().push(timeout);
        }
    }
    let known = known(view);
    numbers.iter().flat_map(|((_, seq), at)| at_number(*seq, at, &known)).collect()
}

fn collective(timeout: &Timeout) -> Option<Collective<'_>> {
    let op = timeout.op.as_deref().filter(|op| !NOT_COLLECTIVE.contains(op))?;
    Some((op, timeout.numel_in.filter(|_| EQUAL_SIZES.contains(&op))))
}

fn at_number(seq: u64, at: &At<'_>, known: &BTreeSet<(u32, u64)>) -> Vec<Amendment> {
    let sides: BTreeMap<Collective<'_>, BTreeSet<u32>> = at
        .iter()
        .map(|(collective, of)| (*collective, of.iter().map(|timeout| timeout.rank).collect()))
        .collect();
    let Some(right) = majority(&sides) else { return Vec::new() };
    let mut minority: BTreeMap<u32, (&Timeout, Collective<'_>)> = BTreeMap::new();
    for (collective, of) in at.iter().filter(|(collective, _)| **collective != right) {
        for timeout in of {
            minority.entry(timeout.rank).or_insert((timeout, *collective));
        }
    }
    let majority = sides.get(&right).map_or(0, BTreeSet::len);
    if minority.len() > MOST {
        return Vec::new();
    }
    let mut others: Vec<&Timeout> = at.get(&right).cloned().unwrap_or_default();
    others.sort_by_key(|timeout| timeout.by_onset());
    others.truncate(CITED - 1);
    minority
        .into_iter()
        .filter(|(rank, _)| !known.contains(&(*rank, seq)))
        .map(|(rank, (own, collective))| event(seq, rank, own, collective, right, majority, &others))
        .collect()
}

/// The collective of most ranks. A tie of two ranks goes against the one with a single element (a flag, a loss, a barrier): the
/// other is in the bulk of a step. A rank on both sides means that numbers of several groups are mixed, and nothing follows.
fn majority<'a>(sides: &BTreeMap<Collective<'a>, BTreeSet<u32>>) -> Option<Collective<'a>> {
    let ranks: usize = sides.values().map(BTreeSet::len).sum();
    let distinct: BTreeSet<u32> = sides.values().flatten().copied().collect();
    if sides.len() < 2 || distinct.len() < ranks {
        return None;
    }
    let most = sides.values().map(BTreeSet::len).max()?;
    if most.saturating_mul(2) > ranks {
        return sides.iter().find(|(_, of)| of.len() == most).map(|(collective, _)| *collective);
    }
    let mut bulk = sides.keys().filter(|(_, numel)| *numel != Some(1));
    match (ranks, bulk.next(), bulk.next()) {
        (2, Some(bulk), None) => Some(*bulk),
        _ => None,
    }
}

fn event(
    seq: u64,
    rank: u32,
    own: &Timeout,
    collective: Collective<'_>,
    right: Collective<'_>,
    majority: usize,
    others: &[&Timeout],
) -> Amendment {
    let (mut place, mut facts) = (Facts::new(), Facts::new());
    place.set("rank", rank.to_string());
    place.set_some("node", own.node.clone());
    facts.set("seq", seq.to_string());
    facts.set("op", collective.0);
    facts.set_some("numel_in", own.numel_in.map(|number| number.to_string()));
    facts.set("others_op", right.0);
    facts.set_some(
        "others_numel_in",
        others.first().and_then(|other| other.numel_in).map(|number| number.to_string()),
    );
    let (here, there) = (named(collective), named(right));
    facts.set(
        "note",
        format!("at collective {seq} rank {rank} is in {here} and {majority} others are in {there}"),
    );
    let cites: Vec<u32> = std::iter::once(own.id).chain(others.iter().map(|other| other.id)).collect();
    Amendment::Derived(Derived {
        cites,
        symptom: SYMPTOM.to_owned(),
        place: place.into(),
        facts: facts.into(),
        onset_from: None,
        onset_to: None,
    })
}

fn named((op, numel): Collective<'_>) -> String {
    match numel {
        Some(1) => format!("{op} of 1 element"),
        Some(number) => format!("{op} of {number} elements"),
        None => op.to_owned(),
    }
}

/// Ranks and numbers that an earlier round named.
fn known(view: &dyn View) -> BTreeSet<(u32, u64)> {
    let groups = view.groups(SYMPTOM);
    let events = groups.iter().flat_map(|group| view.events(group.id));
    events
        .filter_map(|event| {
            Some((get(&event.place, "rank")?.parse().ok()?, get(&event.facts, "seq")?.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use firstfault_plugin::testing::MemoryView;

    use super::*;
    use crate::timeouts;

    fn waits(view: MemoryView, rank: u32, op: &str, numel: u64, group: Option<&str>) -> MemoryView {
        let (rank, numel) = (rank.to_string(), numel.to_string());
        let mut facts = vec![("seq", "34"), ("op", op), ("numel_in", numel.as_str())];
        facts.extend(group.map(|group| ("group", group)));
        let at = 1000 - rank.parse::<i64>().unwrap();
        view.event("nccl.watchdog_timeout", &[("node", "a"), ("rank", &rank)], &facts, Some((at, at)))
    }

    fn named(view: &MemoryView) -> Vec<Option<String>> {
        derive(view, &timeouts::of(view))
            .iter()
            .map(|amendment| match amendment {
                Amendment::Derived(derived) => get(&derived.place, "rank").map(str::to_owned),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn job(ranks: u32, odd: &[u32], op: &str, numel: u64) -> MemoryView {
        (0..ranks).fold(MemoryView::new(), |view, rank| match odd.contains(&rank) {
            true => waits(view, rank, op, numel, None),
            false => waits(view, rank, "ALLREDUCE", 4_311_252, None),
        })
    }

    #[test]
    fn the_rank_in_another_collective_is_named_and_its_own_time_out_comes_first() {
        let view = job(32, &[27], "ALLREDUCE", 1);
        let amendments = derive(&view, &timeouts::of(&view));
        let [Amendment::Derived(found)] = amendments.as_slice() else { panic!("{amendments:?}") };
        assert_eq!(found.symptom, "nccl.collective_mismatch");
        assert_eq!((get(&found.place, "rank"), get(&found.place, "node")), (Some("27"), Some("a")));
        assert_eq!(found.cites, [27, 31, 30, 29, 28, 26, 25, 24]);
        let note = "at collective 34 rank 27 is in ALLREDUCE of 1 element and 31 others are in ALLREDUCE of 4311252 elements";
        assert_eq!(get(&found.facts, "note"), Some(note));
        assert_eq!(named(&job(8, &[2, 5], "BROADCAST", 8)), [Some("2".to_owned()), Some("5".to_owned())]);
    }

    #[test]
    fn a_tie_names_nobody_but_the_one_element_of_two_ranks() {
        assert_eq!(named(&job(8, &[0, 1, 2, 3], "BROADCAST", 8)), []);
        assert_eq!(named(&job(2, &[1], "BROADCAST", 8)), []);
        assert_eq!(named(&job(2, &[1], "ALLREDUCE", 1)), [Some("1".to_owned())]);
        assert_eq!(named(&job(64, &(0..17).collect::<Vec<_>>(), "BROADCAST", 8)), [], "more than sixteen");
    }

    #[test]
    fn what_may_differ_does_not_count() {
        let gather = |numel: u64| {
            (0..8).fold(MemoryView::new(), |view, rank| {
                waits(view, rank, "ALLTOALL_BASE", numel + u64::from(rank), None)
            })
        };
        assert_eq!(named(&gather(100)), []);
        assert_eq!(named(&job(8, &[3], "SEND", 1)), []);
        assert_eq!(named(&job(8, &[], "", 0)), []);
    }

    #[test]
    fn groups_are_not_mixed() {
        let apart = (0..8).fold(MemoryView::new(), |view, rank| match rank {
            7 => waits(view, rank, "BROADCAST", 1, Some("19")),
            _ => waits(view, rank, "ALLREDUCE", 64, Some("0")),
        });
        assert_eq!(named(&apart), []);
        let both = waits(job(8, &[3], "BROADCAST", 1), 3, "ALLREDUCE", 4_311_252, None);
        assert_eq!(named(&both), []);
    }

    #[test]
    fn nobody_is_named_twice() {
        let view = job(8, &[3], "BROADCAST", 1).event(
            "nccl.collective_mismatch",
            &[("rank", "3")],
            &[("seq", "34")],
            None,
        );
        assert_eq!(named(&view), []);
    }
}
