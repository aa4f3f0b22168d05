//! One fault behind many: when the links of several nodes fail at once, and those nodes are the ones that hang on one switch, it is the
//! switch.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::event::Basis;
use firstfault_model::place::Place;
use firstfault_model::time::SECOND;
use firstfault_rules::ruleset::RuleSet;

use crate::case::Case;
use crate::edges::Edge;
use crate::event::{Event, Scope};
use crate::order::CLOCK_BOUND;

/// The symptom of a switch that failed.
pub const SWITCH: &str = "net.switch";
/// Nodes that must fail together.
const LEAST_NODES: usize = 2;
/// How far apart links fail that fail together.
const TOGETHER: i64 = 60 * SECOND;
/// Lines that are cited.
const MOST_HITS: usize = 64;

/// A switch, and the events of its nodes that follow from it. `next` is the number of the first derived event.
#[must_use]
pub fn switches(events: &[Event], next: u32, case: &Case, rules: &RuleSet) -> (Vec<Event>, Vec<Edge>) {
    let mut derived = Vec::new();
    let mut edges = Vec::new();
    let Some(definition) = rules.symptom(SWITCH) else { return (derived, edges) };
    let switch_of: BTreeMap<&str, &str> = case
        .context
        .nodes
        .iter()
        .filter_map(|node| Some((node.name.as_str(), node.switch.as_deref()?)))
        .collect();
    let mut nodes_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (node, switch) in &switch_of {
        nodes_of.entry(switch).or_default().insert(node);
    }
    // Where all hang on one switch nothing tells it from what else they share.
    if nodes_of.len() < 2 {
        return (derived, edges);
    }
    let mut failed: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (i, event) in (0_u32..).zip(events) {
        let is_link =
            event.definition(rules).is_some_and(|d| d.shared) && event.scope == Scope::In && !event.quoted;
        let Some(node) = event.place.node.as_deref().filter(|_| is_link) else { continue };
        let Some(switch) = switch_of.get(node) else { return (derived, edges) };
        failed.entry(switch).or_default().push(i);
    }
    // Links that fail on several switches have another cause.
    let [(switch, links)] = failed.iter().collect::<Vec<_>>()[..] else { return (derived, edges) };
    let of = |i: &u32| events.get(*i as usize);
    let nodes: BTreeSet<&str> = links.iter().filter_map(of).filter_map(|e| e.place.node.as_deref()).collect();
    let all = nodes_of.get(switch).map_or(0, BTreeSet::len);
    let firsts: Vec<i64> = nodes
        .iter()
        .filter_map(|node| {
            let own = links.iter().filter_map(of).filter(|e| e.place.node.as_deref() == Some(node));
            own.filter_map(Event::common_onset)
                .filter(crate::event::Onset::is_decisive)
                .map(|o| o.from.0)
                .min()
        })
        .collect();
    let (Some(first), Some(last)) = (firsts.iter().min(), firsts.iter().max()) else {
        return (derived, edges);
    };
    let together = firsts.len() == nodes.len() && last.saturating_sub(*first) <= TOGETHER + CLOCK_BOUND;
    if nodes.len() < LEAST_NODES || nodes.len() * 2 < all || !together {
        return (derived, edges);
    }
    let lead = links.iter().filter_map(of).min_by_key(|e| {
        let onset = e.common_onset();
        (!onset.is_some_and(|o| o.is_decisive()), onset.map(|o| o.from), e.first)
    });
    let Some(mut event) = lead.cloned() else { return (derived, edges) };
    let others = switch_of.len() - all;
    event.symptom = SWITCH.to_owned();
    event.role = definition.symptom.role;
    event.rank = definition.symptom.rank;
    event.place = Place { component: Some((*switch).to_owned()), ..Place::default() };
    event.ranks = Vec::new();
    event.facts = BTreeMap::new();
    event.hits =
        links.iter().filter_map(of).filter_map(|e| e.hits.first().copied()).take(MOST_HITS).collect();
    event.count = nodes.len() as u64;
    event.notes = vec![format!(
        "{} of its {all} nodes in this attempt lost their links within {} s of one another; none of the {others} on other switches did",
        nodes.len(),
        last.saturating_sub(*first) / SECOND + 1
    )];
    event.demoted = None;
    event.unproven = false;
    event.rule = "engine/switch".to_owned();
    derived.push(event);
    edges.extend(links.iter().map(|link| Edge {
        effect: *link,
        basis: Basis::Place,
        unordered: false,
        cause: next,
        rule: "engine/switch".to_owned(),
    }));
    (derived, edges)
}
