//! One fault behind many: when the links of several nodes fail at once, and those nodes are the ones that hang on one switch, it is the
//! switch.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::event::Basis;
use firstfault_model::place::Place;
use firstfault_model::time::SECOND;
use firstfault_rules::ruleset::RuleSet;

use crate::case::Case;
use crate::edges::Edge;
use crate::event::{Event, Onset, Scope};
use crate::order::CLOCK_BOUND;

/// The symptom of a switch that failed.
pub const SWITCH: &str = "net.switch";
/// The rule, as the provenance names it.
const RULE: &str = "engine/switch";
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
    let Some(definition) = rules.symptom(SWITCH).map(|d| &d.symptom) else { return (derived, edges) };
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
    let links = links(events, &switch_of, rules);
    let switches = together(&links).into_iter().filter_map(|cluster| {
        // Links that fail on several switches at once have another cause.
        let switch = cluster.first()?.switch;
        let nodes: BTreeSet<&str> = cluster.iter().map(|link| link.node).collect();
        let all = nodes_of.get(switch).map_or(0, BTreeSet::len);
        let alone = cluster.iter().all(|link| link.switch == switch);
        (alone && nodes.len() >= LEAST_NODES && nodes.len() * 2 >= all).then_some((switch, nodes, cluster))
    });
    for (switch, nodes, cluster) in switches {
        let Some(lead) = cluster.first().and_then(|link| events.get(link.event as usize)) else { continue };
        let number = next.saturating_add(u32::try_from(derived.len()).unwrap_or(u32::MAX));
        // What the same nodes say of their links without a time of its own belongs to the last of such moments.
        let last = links.dated.iter().filter(|l| l.switch == switch).map(|l| l.from).max();
        let is_last = cluster.iter().any(|l| Some(l.from) == last);
        let undated = links.undated.iter().filter(|l| is_last && nodes.contains(l.node));
        let members: BTreeSet<u32> = cluster.iter().chain(undated).map(|link| link.event).collect();
        let apart = cluster
            .iter()
            .map(|l| l.from)
            .max()
            .unwrap_or(0)
            .saturating_sub(cluster.first().map_or(0, |l| l.from));
        let all = nodes_of.get(switch).map_or(0, BTreeSet::len);
        let others = switch_of.len() - all;
        let of = |i: &u32| events.get(*i as usize);
        let mut event = lead.clone();
        event.symptom = SWITCH.to_owned();
        event.role = definition.role;
        event.rank = definition.rank;
        event.place = Place { component: Some(switch.to_owned()), ..Place::default() };
        event.ranks = Vec::new();
        event.facts = BTreeMap::new();
        event.hits =
            members.iter().filter_map(of).filter_map(|e| e.hits.first().copied()).take(MOST_HITS).collect();
        event.count = nodes.len() as u64;
        event.notes = vec![format!(
            "{} of its {all} nodes in this attempt lost their links within {} s of one another; none of the {others} on other switches did",
            nodes.len(),
            apart / SECOND + 1
        )];
        event.demoted = None;
        event.unproven = false;
        event.rule = RULE.to_owned();
        derived.push(event);
        edges.extend(members.iter().map(|link| Edge {
            effect: *link,
            basis: Basis::Place,
            unordered: false,
            cause: number,
            rule: RULE.to_owned(),
        }));
    }
    (derived, edges)
}

/// A link of a node that failed.
#[derive(Debug, Clone, Copy)]
struct Link<'a> {
    /// When, by the common clock, in nanoseconds.
    from: i64,
    event: u32,
    node: &'a str,
    switch: &'a str,
}

/// Links that failed.
struct Links<'a> {
    /// By time.
    dated: Vec<Link<'a>>,
    /// Those whose lines have no time of their own.
    undated: Vec<Link<'a>>,
}

/// The links that failed. Of a node whose switch the context does not tell, nothing follows.
fn links<'a>(events: &'a [Event], switch_of: &BTreeMap<&'a str, &'a str>, rules: &RuleSet) -> Links<'a> {
    let mut links = Links { dated: Vec::new(), undated: Vec::new() };
    for (number, event) in (0_u32..).zip(events) {
        let is_link =
            event.definition(rules).is_some_and(|d| d.shared) && event.scope == Scope::In && !event.quoted;
        let Some(node) = event.place.node.as_deref().filter(|_| is_link) else { continue };
        let Some(switch) = switch_of.get(node).copied() else { continue };
        match event.common_onset().filter(Onset::is_decisive) {
            Some(onset) => links.dated.push(Link { from: onset.from.0, event: number, node, switch }),
            None => links.undated.push(Link { from: 0, event: number, node, switch }),
        }
    }
    links.dated.sort_by_key(|link| (link.from, link.event));
    links
}

/// Links that failed at one moment.
fn together<'l, 'a>(links: &'l Links<'a>) -> Vec<&'l [Link<'a>]> {
    links.dated.chunk_by(|a, b| b.from.saturating_sub(a.from) <= TOGETHER + CLOCK_BOUND).collect()
}
