//! Where ranks ran, as the lines themselves tell it, where no context does.
//!
//! A line may name its host and its rank in its prefixes, or say which member of a communicator it is and on which device. Names of
//! different kinds (a communicator's member, a global rank) meet only where the communicator is as large as the largest that was
//! seen: that one has all ranks.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::place::PciBusId;

use crate::case::Case;
use crate::event::Event;

/// Where a rank ran.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spot {
    node: String,
    gpu_index: Option<u32>,
    gpu: Option<PciBusId>,
}

/// Where ranks ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankMap {
    stated: BTreeMap<u32, Spot>,
    /// First rank of each node, where its ranks are numbered as its devices are.
    blocks: BTreeMap<u32, String>,
    /// Ranks of each node that are numbered so.
    block: u32,
}

impl RankMap {
    /// Learns from events, where the context knows no nodes.
    #[must_use]
    pub fn learn(events: &[Event], case: &Case) -> Self {
        if !case.context.nodes.is_empty() {
            return Self::default();
        }
        let number = |event: &Event, fact: &str| event.facts.get(fact).and_then(|v| v.parse::<u32>().ok());
        let world = events.iter().filter_map(|e| number(e, "world")).max();
        let mut told: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
        let mut spots: BTreeMap<u32, Spot> = BTreeMap::new();
        for event in events {
            let Some(node) = event.place.node.as_deref() else { continue };
            let member = number(event, "of_rank").filter(|_| number(event, "world") == world);
            let Some(rank) = member.or(event.place.rank.filter(|_| !event.facts.contains_key("of_rank")))
            else {
                continue;
            };
            told.entry(rank).or_default().insert(node);
            let spot = spots.entry(rank).or_insert_with(|| Spot {
                node: node.to_owned(),
                gpu_index: None,
                gpu: None,
            });
            if member.is_some() {
                spot.gpu_index = spot.gpu_index.or_else(|| number(event, "device"));
                spot.gpu = spot.gpu.take().or_else(|| PciBusId::parse_packed(event.facts.get("bus")?));
            }
        }
        for event in events {
            for (node, ranks) in event.facts.get("rank_table").into_iter().flat_map(|text| table(text)) {
                for (index, rank) in (0_u32..).zip(ranks) {
                    told.entry(rank).or_default().insert(node);
                    let spot = Spot { node: node.to_owned(), gpu_index: Some(index), gpu: None };
                    spots.entry(rank).or_insert(spot);
                }
            }
        }
        // A rank that is told to be in two places is in none.
        spots.retain(|rank, _| told.get(rank).is_some_and(|nodes| nodes.len() == 1));
        let (blocks, block) = blocks(&spots, world);
        Self { stated: spots, blocks, block }
    }

    /// Whether nothing was learned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stated.is_empty()
    }

    /// Adds the node and the GPU of an event's rank.
    pub fn complete(&self, event: &mut Event) {
        let Some(rank) = event.place.rank else { return };
        let block = || {
            let (first, node) = self.blocks.range(..=rank).next_back()?;
            (rank - first < self.block).then_some(node)
        };
        let spot = self.stated.get(&rank);
        if event.place.node.is_none() {
            event.place.node = spot.map(|s| s.node.clone()).or_else(|| block().cloned());
        }
        if let Some(spot) = spot.filter(|s| event.place.node.as_ref() == Some(&s.node))
            && event.place.gpu.is_none()
            && event.place.gpu_index.is_none_or(|index| spot.gpu_index == Some(index))
        {
            event.place.gpu.clone_from(&spot.gpu);
            event.place.gpu_index = spot.gpu_index;
        }
    }
}

/// `{'node-a': [0, 1], 'node-b': [2, 3]}`: the ranks of each node. What does not read so is left out, such as the end of a table that
/// was cut.
fn table(text: &str) -> Vec<(&str, Vec<u32>)> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once(['\'', '"']) {
        let Some((node, behind)) = behind.split_once(['\'', '"']) else { break };
        rest = behind;
        let list = behind.trim_start().strip_prefix(':').and_then(|l| l.trim_start().strip_prefix('['));
        let Some((list, behind)) = list.and_then(|l| l.split_once(']')) else { continue };
        rest = behind;
        let ranks: Option<Vec<u32>> = list.split(',').map(|rank| rank.trim().parse().ok()).collect();
        out.extend(ranks.filter(|_| !node.is_empty()).map(|ranks| (node, ranks)));
    }
    out
}

/// Nodes whose ranks are numbered as their devices are, from a multiple of the nodes' size on.
fn blocks(spots: &BTreeMap<u32, Spot>, world: Option<u32>) -> (BTreeMap<u32, String>, u32) {
    let none = (BTreeMap::new(), 0);
    let Some(world) = world else { return none };
    let mut firsts: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for (rank, spot) in spots {
        let Some(first) = spot.gpu_index.and_then(|index| rank.checked_sub(index)) else { continue };
        firsts.entry(&spot.node).or_default().insert(first);
    }
    let mut by_first: BTreeMap<u32, String> = BTreeMap::new();
    for (node, firsts) in &firsts {
        let (Some(first), 1) = (firsts.first(), firsts.len()) else { return none };
        if by_first.insert(*first, (*node).to_owned()).is_some() {
            return none;
        }
    }
    // All ranks are spread evenly over as many nodes as there are steps between the first ranks that are known.
    let steps = by_first.keys().zip(by_first.keys().skip(1)).map(|(a, b)| b - a);
    let Some(size) = steps.min().filter(|size| *size > 0) else { return none };
    let even = world.is_multiple_of(size) && by_first.keys().all(|first| first.is_multiple_of(size));
    let fits = spots.values().filter_map(|s| s.gpu_index).all(|index| index < size);
    if even && fits { (by_first, size) } else { none }
}

/// Whether an event only says where a rank ran.
#[must_use]
pub fn is_map(event: &Event) -> bool {
    event.facts.contains_key("rank_table")
        || (event.facts.contains_key("of_rank") && event.facts.contains_key("world"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Small;
    use firstfault_model::source::Source;

    /// `(node, rank, world, device)`
    fn learned(told: &[(&str, &str, &str, &str)]) -> RankMap {
        let mut small = Small::new();
        small.case.context = firstfault_model::context::ExecutionContext::default();
        for (node, rank, world, device) in told {
            let facts = [("of_rank", *rank), ("world", *world), ("device", *device), ("bus", "b5000")];
            small = small.with_facts("comm.peer_lost", &Source::App, node, &[], 10, &facts);
        }
        RankMap::learn(&small.events(), &small.case)
    }

    fn node_of(map: &RankMap, rank: u32) -> Option<String> {
        let mut event = Small::new().untimed("app.exception", &Source::App, "n0", &[]).events().remove(0);
        event.place = firstfault_model::place::Place { rank: Some(rank), ..Default::default() };
        map.complete(&mut event);
        event.place.node
    }

    #[test]
    fn members_of_the_largest_communicator_are_ranks() {
        let map = learned(&[("n0", "1", "4", "1"), ("n1", "3", "4", "1"), ("n1", "0", "2", "0")]);
        assert_eq!(node_of(&map, 1).as_deref(), Some("n0"));
        assert_eq!(node_of(&map, 3).as_deref(), Some("n1"));
        // The nodes' ranks are numbered as their devices are, two on each.
        assert_eq!(node_of(&map, 0).as_deref(), Some("n0"));
        assert_eq!(node_of(&map, 2).as_deref(), Some("n1"));
        assert_eq!(node_of(&map, 4), None);
    }

    #[test]
    fn tables_of_launchers_tell_the_ranks_of_nodes() {
        let all = [("a-1", vec![0, 1]), ("b", vec![2, 3])];
        assert_eq!(table("{'a-1': [0, 1], 'b': [2, 3]}"), all);
        assert_eq!(table("defaultdict(<class 'list'>, {\"a-1\":[0,1],\"b\": [2, 3], 'c': [4, "), all);
        assert!(table("{'a': 1, 'b': [x]}, '': [1] '").is_empty());
        let mut small = Small::new();
        small.case.context = firstfault_model::context::ExecutionContext::default();
        let told = [("rank_table", "{'n0': [0, 1], 'n7': [2, 3]}")];
        let small = small.with_facts("comm.peer_lost", &Source::App, "n0", &[], 10, &told);
        let map = RankMap::learn(&small.events(), &small.case);
        assert_eq!(node_of(&map, 3).as_deref(), Some("n7"));
        assert_eq!(node_of(&map, 4), None);
    }

    #[test]
    fn what_does_not_fit_together_says_nothing() {
        // One rank in two places.
        assert_eq!(node_of(&learned(&[("n0", "1", "4", "1"), ("n1", "1", "4", "1")]), 1), None);
        // Ranks dealt out by turns: those that are told are known, the others are not.
        let map = learned(&[
            ("n0", "0", "4", "0"),
            ("n1", "1", "4", "0"),
            ("n0", "2", "4", "1"),
            ("n1", "3", "4", "1"),
        ]);
        assert_eq!(node_of(&map, 2).as_deref(), Some("n0"));
        let map = learned(&[("n0", "0", "6", "0"), ("n1", "1", "6", "0"), ("n0", "2", "6", "1")]);
        assert_eq!(node_of(&map, 3), None);
        // One node alone does not tell how many ranks it has.
        assert_eq!(node_of(&learned(&[("n0", "1", "16", "1")]), 0), None);
    }
}
