//! Edges of the cause graph: what the packs declare, what lines state, what rule modules add.

use std::collections::BTreeMap;

use firstfault_model::event::Basis;
use firstfault_rules::pack::{Role, Where};
use firstfault_rules::ruleset::{DeclaredCause, RuleSet, has_cause, has_effect};

use crate::event::{Event, Scope};
use crate::order;

/// Most causes that are tried for one effect under one rule; the earliest come first.
const MAX_TRIED: usize = 64;
/// Most edges into one effect; the strongest are kept.
const MAX_EDGES: usize = 8;

/// `cause` explains `effect`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Event number.
    pub effect: u32,
    /// How it is known.
    pub basis: Basis,
    /// Whether the order of the two is not known.
    pub unordered: bool,
    /// Event number.
    pub cause: u32,
    /// `pack/cause#n`, `stated`, or the module that asked for it.
    pub rule: String,
}

/// Whether an event may explain others.
#[must_use]
pub fn may_explain(event: &Event) -> bool {
    event.role.explains() && event.scope == Scope::In && event.demoted.is_none()
}

/// All edges that the packs declare and the lines state, sorted.
#[must_use]
pub fn build(events: &[Event], rules: &RuleSet) -> Vec<Edge> {
    let mut by_symptom: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (i, event) in events.iter().enumerate() {
        if let Ok(index) = u32::try_from(i) {
            by_symptom.entry(&event.symptom).or_default().push(index);
        }
    }
    let mut edges: BTreeMap<u32, Vec<Edge>> = BTreeMap::new();
    for declared in rules.causes() {
        let mut causes: Vec<u32> = by_symptom
            .iter()
            .filter(|(id, _)| has_cause(&declared.cause, id))
            .flat_map(|(_, list)| list.iter().copied())
            .filter(|i| events.get(*i as usize).is_some_and(may_explain))
            .collect();
        if causes.is_empty() {
            continue;
        }
        causes.sort_by_key(|i| {
            events.get(*i as usize).map(|e| (e.onset.map_or(i64::MAX, |o| o.from.0), e.first, *i))
        });
        let places = Places::of(declared.cause.place, &causes, events);
        for (id, effects) in by_symptom.iter().filter(|(id, _)| has_effect(&declared.cause, id)) {
            for &effect in effects {
                let Some(event) = events.get(effect as usize) else { continue };
                if matches!(event.role, Role::Benign) || event.scope != Scope::In {
                    continue;
                }
                let found = places.candidates(event).iter().take(MAX_TRIED).filter_map(|&cause| {
                    let other = events.get(cause as usize)?;
                    (cause != effect && !(other.symptom == **id && same_spot(other, event)))
                        .then(|| judge(other, event, declared, cause, effect, rules))
                        .flatten()
                });
                edges.entry(effect).or_default().extend(found);
            }
        }
    }
    stated(events, &by_symptom, &mut edges);
    let mut all = Vec::new();
    for (_, mut list) in edges {
        list.sort();
        list.dedup_by_key(|e| e.cause);
        // One edge for each cause, the strongest; then the strongest of all.
        let mut seen = std::collections::BTreeSet::new();
        list.retain(|e| seen.insert(e.cause));
        list.truncate(MAX_EDGES);
        all.extend(list);
    }
    all
}

/// Causes by the place that a rule asks for.
enum Places<'a> {
    All(&'a [u32]),
    Keyed(Where, BTreeMap<String, Vec<u32>>),
}

impl<'a> Places<'a> {
    fn of(place: Where, causes: &'a [u32], events: &[Event]) -> Self {
        if place == Where::AnyRankOfJob {
            return Self::All(causes);
        }
        let mut map: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for &cause in causes {
            let Some(event) = events.get(cause as usize) else { continue };
            for key in cause_keys(place, event) {
                map.entry(key).or_default().push(cause);
            }
        }
        Self::Keyed(place, map)
    }

    fn candidates(&self, effect: &Event) -> &[u32] {
        match self {
            Self::All(all) => all,
            Self::Keyed(place, map) => {
                effect_keys(*place, effect).iter().find_map(|k| map.get(k)).map_or(&[], Vec::as_slice)
            }
        }
    }
}

/// A place without a node is a place in its stream.
fn node_key(event: &Event) -> String {
    event.place.node.clone().unwrap_or_else(|| format!("\0stream {}", event.first.stream))
}

fn cause_keys(place: Where, event: &Event) -> Vec<String> {
    match place {
        Where::SameGpu => event.place.gpu.iter().map(|g| format!("{} {g}", node_key(event))).collect(),
        Where::SameRank if !event.ranks.is_empty() => event.ranks.iter().map(u32::to_string).collect(),
        Where::SameRank => {
            let process = event.place.process.iter().map(|p| format!("{} pid {p}", node_key(event)));
            process.chain([format!("\0unknown {}", event.first.stream)]).collect()
        }
        Where::SameNode => vec![node_key(event)],
        Where::NamedPeer => {
            let ranks = event.ranks.iter().map(|r| format!("\0rank {r}"));
            event.place.node.iter().cloned().chain(ranks).collect()
        }
        Where::AnyRankOfJob => Vec::new(),
    }
}

fn effect_keys(place: Where, event: &Event) -> Vec<String> {
    match place {
        Where::NamedPeer => {
            let rank = event.facts.get("peer_rank").map(|r| format!("\0rank {r}"));
            event.facts.get("peer_node").cloned().into_iter().chain(rank).collect()
        }
        _ => cause_keys(place, event),
    }
}

fn same_spot(a: &Event, b: &Event) -> bool {
    a.place.node == b.place.node
        && a.place.gpu == b.place.gpu
        && a.ranks == b.ranks
        && a.place.process == b.place.process
}

fn judge(
    cause: &Event,
    effect: &Event,
    declared: &DeclaredCause,
    c: u32,
    e: u32,
    rules: &RuleSet,
) -> Option<Edge> {
    let window = declared.cause.within;
    let lasting = cause.definition(rules).is_some_and(|d| d.lasting);
    // What the workload quotes explains nothing outside of its own output.
    if cause.quoted && cause.place.node != effect.place.node {
        return None;
    }
    let mut unordered = false;
    match order::within(cause, effect, window.before.0, window.after.0, lasting) {
        Some(true) => {
            // Lines of one writer's stream without time of their own are in the order of writing.
            if order::compare(cause, effect) == Some(std::cmp::Ordering::Greater)
                && effect.role == Role::Either
            {
                let close = matches!((cause.onset, effect.onset), (Some(x), Some(y)) if x.is_decisive() && y.is_decisive());
                if !close {
                    return None;
                }
            }
        }
        Some(false) => return None,
        None => {
            let same_stream = cause.first.stream == effect.first.stream;
            let later = same_stream && cause.first > effect.first;
            // Without times only what can be nothing but an effect is explained by what stands after it.
            if later && effect.role != Role::Effect {
                return None;
            }
            unordered = later || !same_stream;
        }
    }
    let basis = match declared.cause.place {
        Where::NamedPeer => Basis::NamedPeer,
        Where::SameGpu | Where::SameRank | Where::SameNode => Basis::Place,
        Where::AnyRankOfJob => Basis::Order,
    };
    Some(Edge { effect: e, basis, unordered, cause: c, rule: declared.id.clone() })
}

/// Edges that lines state: "caused by previous Xid 149".
fn stated(events: &[Event], by_symptom: &BTreeMap<&str, Vec<u32>>, edges: &mut BTreeMap<u32, Vec<Edge>>) {
    for (i, effect) in events.iter().enumerate() {
        let Some(named) = effect.facts.get("caused_by") else { continue };
        let Ok(index) = u32::try_from(i) else { break };
        let causes = by_symptom.get(named.as_str()).map_or(&[][..], Vec::as_slice);
        let at_place = causes.iter().copied().filter(|c| {
            events.get(*c as usize).is_some_and(|cause| {
                *c != index
                    && node_key(cause) == node_key(effect)
                    && cause.place.gpu == effect.place.gpu
                    && cause.scope == Scope::In
            })
        });
        // The nearest one before it, else the nearest after it.
        let nearest = at_place.min_by_key(|c| {
            events
                .get(*c as usize)
                .map(|cause| (cause.first > effect.first, cause.first.offset.abs_diff(effect.first.offset)))
        });
        if let Some(cause) = nearest {
            let edge =
                Edge { effect: index, basis: Basis::Stated, unordered: false, cause, rule: "stated".into() };
            edges.entry(index).or_default().push(edge);
        }
    }
}
