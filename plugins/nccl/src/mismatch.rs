//! Collective mismatch. At one number of one group all ranks must be in the same collective of the same size; the few that
//! are not took another way through the program.

use std::collections::BTreeMap;

use firstfault_plugin::{Amendment, Derived, Facts, RankSet, SeenEvent, View, get};

use crate::timeouts::Waiting;

/// What is derived here.
pub const SYMPTOM: &str = "nccl.collective_mismatch";

/// Most ranks that are named at one number.
const MOST: u64 = 16;

/// Collectives by the names that PyTorch gives them (its `OpType`). Operations between two ranks or of several at once are not among
/// them, for their numbers say nothing about others; and a name that is none of these is more likely a damaged line than a mismatch.
const COLLECTIVES: &[&str] = &[
    "BROADCAST",
    "ALLREDUCE",
    "ALLREDUCE_COALESCED",
    "REDUCE",
    "ALLGATHER",
    "_ALLGATHER_BASE",
    "ALLGATHER_COALESCED",
    "GATHER",
    "SCATTER",
    "REDUCE_SCATTER",
    "_REDUCE_SCATTER_BASE",
    "ALLTOALL",
    "ALLTOALL_BASE",
    "BARRIER",
    "ALLREDUCE_SPARSE",
    "_ALLREDUCE_SPARSE",
];

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
type At<'a> = BTreeMap<Collective<'a>, Side<'a>>;

/// Ranks in one collective.
#[derive(Debug, Default)]
struct Side<'a> {
    ranks: RankSet,
    waiting: Vec<&'a Waiting>,
}

/// A derived event for each rank of the minority at a number where ranks disagree.
#[must_use]
pub fn derive(view: &dyn View, waiting: &[Waiting]) -> Vec<Amendment> {
    let mut numbers: BTreeMap<(Option<&str>, u64), At<'_>> = BTreeMap::new();
    for of in waiting {
        if let (Some(seq), Some(collective)) = (of.seq, collective(of)) {
            let side = numbers.entry((of.group.as_deref(), seq)).or_default().entry(collective).or_default();
            side.ranks.add(of.ranks.ranges().iter().copied());
            side.waiting.push(of);
        }
    }
    numbers.iter().flat_map(|((_, seq), at)| at_number(view, *seq, at)).collect()
}

fn collective(of: &Waiting) -> Option<Collective<'_>> {
    let op = of.op.as_deref().filter(|op| COLLECTIVES.contains(op))?;
    Some((op, of.numel_in.filter(|_| EQUAL_SIZES.contains(&op))))
}

fn at_number(view: &dyn View, seq: u64, at: &At<'_>) -> Vec<Amendment> {
    let Some((right, most)) = majority(at) else { return Vec::new() };
    let minority = || at.iter().filter(|(collective, _)| **collective != right);
    if minority().map(|(_, side)| side.ranks.len()).sum::<u64>() > MOST {
        return Vec::new();
    }
    // The first time-out of each rank.
    let mut own: BTreeMap<u32, (SeenEvent, &Waiting, Collective<'_>)> = BTreeMap::new();
    for (collective, side) in minority() {
        for of in &side.waiting {
            for event in view.events(of.id) {
                if let Some(rank) = get(&event.place, "rank").and_then(|rank| rank.parse().ok()) {
                    own.entry(rank).or_insert((event, of, *collective));
                }
            }
        }
    }
    let rest = Rest { seq, collective: right, side: most };
    own.into_iter().map(|(rank, (own, of, collective))| event(rank, &own, of, collective, &rest)).collect()
}

/// The collective of most ranks. A tie of two ranks goes against the one with a single element (a flag, a loss, a barrier): the
/// other is in the bulk of a step. A rank on both sides means that numbers of several groups are mixed, and nothing follows.
fn majority<'a, 'b>(at: &'b At<'a>) -> Option<(Collective<'a>, &'b Side<'a>)> {
    let ranks: u64 = at.values().map(|side| side.ranks.len()).sum();
    let distinct: RankSet = at.values().flat_map(|side| side.ranks.ranges().iter().copied()).collect();
    if at.len() < 2 || distinct.len() < ranks {
        return None;
    }
    let found = |(collective, side): (&Collective<'a>, &'b Side<'a>)| (*collective, side);
    let most = at.iter().find(|(_, side)| side.ranks.len().saturating_mul(2) > ranks);
    if most.is_some() {
        return most.map(found);
    }
    let mut bulk = at.iter().filter(|((_, numel), _)| *numel != Some(1));
    match (ranks, bulk.next(), bulk.next()) {
        (2, Some(bulk), None) => Some(found(bulk)),
        _ => None,
    }
}

/// What the others are in.
struct Rest<'a, 'b> {
    seq: u64,
    collective: Collective<'a>,
    side: &'b Side<'a>,
}

fn event(
    rank: u32,
    own: &SeenEvent,
    of: &Waiting,
    collective: Collective<'_>,
    rest: &Rest<'_, '_>,
) -> Amendment {
    let (mut place, mut facts) = (Facts::new(), Facts::new());
    place.set("rank", rank.to_string());
    place.set_some("node", get(&own.place, "node"));
    facts.set("seq", rest.seq.to_string());
    facts.set("op", collective.0);
    facts.set_some("numel_in", of.numel_in.map(|number| number.to_string()));
    facts.set("others_op", rest.collective.0);
    let numel = rest.side.waiting.first().and_then(|other| other.numel_in);
    facts.set_some("others_numel_in", numel.map(|number| number.to_string()));
    let (seq, count, here, there) =
        (rest.seq, rest.side.ranks.len(), named(collective), named(rest.collective));
    let others = if count == 1 { "the other is in".to_owned() } else { format!("{count} others are in") };
    facts.set("note", format!("at collective {seq} rank {rank} is in {here} and {others} {there}"));
    Amendment::Derived(Derived {
        // The others' time-outs are effects of it, and are shown as such.
        cites: vec![own.id],
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
    fn the_rank_in_another_collective_is_named_by_its_own_time_out() {
        let view = job(32, &[27], "ALLREDUCE", 1);
        let amendments = derive(&view, &timeouts::of(&view));
        let [Amendment::Derived(found)] = amendments.as_slice() else { panic!("{amendments:?}") };
        assert_eq!(found.symptom, "nccl.collective_mismatch");
        assert_eq!((get(&found.place, "rank"), get(&found.place, "node")), (Some("27"), Some("a")));
        assert_eq!(found.cites, [27]);
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
}
