//! Edges of the cause graph: what the packs declare, what lines state, what rule modules add.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::event::Basis;
use firstfault_model::place::PciBusId;
use firstfault_model::taxonomy::Domain;
use firstfault_rules::pack::{Role, Where};
use firstfault_rules::ruleset::{DeclaredCause, RuleSet, has_cause, has_effect};

use crate::case::Case;
use crate::event::{Event, Scope};
use crate::order::{self, Reach};

/// Most causes that are tried for one effect under one rule: the earliest and the latest within its window.
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

/// Nodes that others name as the partner they lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named(BTreeSet<String>);

impl Named {
    /// Collects them.
    #[must_use]
    pub fn of(events: &[Event], case: &Case) -> Self {
        let by_rank = |e: &Event| {
            let rank = e.facts.get("peer_rank")?.parse().ok()?;
            case.context.node_of_rank(rank).map(|n| n.name.clone())
        };
        let reports = events.iter().filter(|e| e.role == Role::Effect && e.scope == Scope::In && !e.quoted);
        let named = reports.filter_map(|e| {
            let peer = e.facts.get("peer_node").cloned().or_else(|| by_rank(e))?;
            (e.place.node.as_ref() != Some(&peer)).then_some(peer)
        });
        Self(named.collect())
    }

    /// Whether what others say points at the place of `effect` and not at that of `cause`: then something that passed there is not
    /// behind what failed here.
    fn clears(&self, cause: &Event, effect: &Event) -> bool {
        match (&cause.place.node, &effect.place.node) {
            (Some(there), Some(here)) => there != here && self.0.contains(here) && !self.0.contains(there),
            _ => false,
        }
    }
}

/// All edges that the packs declare and the lines state, sorted.
#[must_use]
pub fn build(events: &[Event], named: &Named, rules: &RuleSet) -> Vec<Edge> {
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
            events.get(*i as usize).map(|e| (e.common_onset().map_or(i64::MAX, |o| o.from.0), e.first, *i))
        });
        let places = Places::of(declared, &causes, events, rules);
        for (id, effects) in by_symptom.iter().filter(|(id, _)| has_effect(&declared.cause, id)) {
            for &effect in effects {
                let Some(event) = events.get(effect as usize) else { continue };
                if matches!(event.role, Role::Benign) || event.scope != Scope::In {
                    continue;
                }
                let found = places.candidates(event).into_iter().filter_map(|cause| {
                    let other = events.get(cause as usize)?;
                    (cause != effect && !(other.symptom == **id && same_spot(other, event)))
                        .then(|| judge(other, event, declared, named, cause, effect, rules))
                        .flatten()
                });
                edges.entry(effect).or_default().extend(found);
            }
        }
    }
    stated(events, &mut edges);
    let mut all = Vec::new();
    for (_, mut list) in edges {
        list.sort();
        // One edge for each cause, the strongest; then the strongest of all.
        let mut seen = BTreeSet::new();
        list.retain(|e| seen.insert(e.cause));
        list.truncate(MAX_EDGES);
        all.extend(list);
    }
    all
}

/// Causes by the place that a rule asks for.
struct Places {
    place: Where,
    before: i64,
    after: i64,
    by_key: BTreeMap<String, Shelf>,
}

/// Causes at one place.
#[derive(Default)]
struct Shelf {
    /// By the start of their onset.
    timed: Vec<(i64, u32)>,
    /// Those that any later effect may follow from.
    lasting: Vec<u32>,
    /// Those without a time.
    untimed: Vec<u32>,
}

impl Places {
    fn of(declared: &DeclaredCause, causes: &[u32], events: &[Event], rules: &RuleSet) -> Self {
        let place = declared.cause.place;
        let mut by_key: BTreeMap<String, Shelf> = BTreeMap::new();
        for &cause in causes {
            let Some(event) = events.get(cause as usize) else { continue };
            let keys =
                if place == Where::AnyRankOfJob { vec![String::new()] } else { cause_keys(place, event) };
            for key in keys {
                let shelf = by_key.entry(key).or_default();
                match event.common_onset() {
                    None => shelf.untimed.push(cause),
                    Some(_) if outlasts(event, place, rules) => shelf.lasting.push(cause),
                    Some(onset) => shelf.timed.push((onset.from.0, cause)),
                }
            }
        }
        let window = declared.cause.within;
        Self { place, before: window.before.0, after: window.after.0, by_key }
    }

    /// Causes that may lie within the window of an effect: of many the earliest and the latest.
    fn candidates(&self, effect: &Event) -> Vec<u32> {
        let keys = if self.place == Where::AnyRankOfJob {
            vec![String::new()]
        } else {
            effect_keys(self.place, effect)
        };
        let Some(shelf) = keys.iter().find_map(|k| self.by_key.get(k)) else { return Vec::new() };
        let mut out: Vec<u32> = Vec::new();
        let mut few = |list: &mut dyn DoubleEndedIterator<Item = u32>, count: usize| {
            let mut taken: Vec<u32> = Vec::new();
            if count > MAX_TRIED {
                taken.extend(list.take(MAX_TRIED / 2));
                taken.extend(list.rev().take(MAX_TRIED / 2));
            } else {
                taken.extend(list);
            }
            out.extend(taken);
        };
        let timed = match effect.common_onset() {
            // Causes whose own interval is wide are few; those begin before the window and still reach into it.
            Some(onset) => {
                let reach = order::WIDEST;
                let first = onset.from.0.saturating_sub(self.before).saturating_sub(reach);
                let last = onset.to.0.saturating_add(self.after).saturating_add(reach);
                let start = shelf.timed.partition_point(|(t, _)| *t < first);
                let end = shelf.timed.partition_point(|(t, _)| *t <= last);
                shelf.timed.get(start..end).unwrap_or(&[])
            }
            None => shelf.timed.as_slice(),
        };
        few(&mut timed.iter().map(|(_, i)| *i), timed.len());
        few(&mut shelf.lasting.iter().copied(), shelf.lasting.len());
        few(&mut shelf.untimed.iter().copied(), shelf.untimed.len());
        out
    }
}

/// Whether a cause may explain what comes long after it: its state lasts, and the effect is at its place.
fn outlasts(cause: &Event, place: Where, rules: &RuleSet) -> bool {
    place != Where::AnyRankOfJob && cause.definition(rules).is_some_and(|d| d.lasting)
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
    named: &Named,
    c: u32,
    e: u32,
    rules: &RuleSet,
) -> Option<Edge> {
    let window = declared.cause.within;
    let ends = cause.definition(rules).is_some_and(|d| d.fatal || d.lasting || d.terminal.is_some());
    let reach = if outlasts(cause, declared.cause.place, rules) {
        Reach::Lasting
    } else if ends {
        Reach::Ending
    } else if declared.cause.place == Where::AnyRankOfJob {
        Reach::Passing
    } else {
        Reach::Local
    };
    // What the workload quotes explains nothing outside of its own output, and no fault of the program that was seen first-hand.
    let of_program =
        !matches!(effect.domain(rules), Domain::Hardware | Domain::Software | Domain::Undetermined);
    let elsewhere = cause.place.node != effect.place.node;
    let disputed = (cause.quoted || cause.doubted) && effect.role == Role::Either && of_program;
    if (cause.quoted && elsewhere) || disputed {
        return None;
    }
    if declared.cause.place == Where::AnyRankOfJob
        && effect.role == Role::Either
        && !cause.definition(rules).is_some_and(|d| d.lasting)
        && named.clears(cause, effect)
    {
        return None;
    }
    let mut unordered = false;
    match order::within(cause, effect, window.before.0, window.after.0, reach) {
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
            // Without times only what can be nothing but an effect is explained by what stands after it or elsewhere.
            if (later || !same_stream) && effect.role != Role::Effect {
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
fn stated(events: &[Event], edges: &mut BTreeMap<u32, Vec<Edge>>) {
    type Spot<'a> = (&'a str, String, Option<&'a PciBusId>);
    let mut by_spot: BTreeMap<Spot<'_>, Vec<u32>> = BTreeMap::new();
    let named: BTreeSet<&str> =
        events.iter().filter_map(|e| e.facts.get("caused_by").map(String::as_str)).collect();
    for (i, event) in (0_u32..).zip(events) {
        if event.scope == Scope::In && named.contains(event.symptom.as_str()) {
            by_spot.entry((&event.symptom, node_key(event), event.place.gpu.as_ref())).or_default().push(i);
        }
    }
    for (index, effect) in (0_u32..).zip(events) {
        let Some(named) = effect.facts.get("caused_by") else { continue };
        let Some(causes) = by_spot.get(&(named.as_str(), node_key(effect), effect.place.gpu.as_ref())) else {
            continue;
        };
        // Numbers are in canonical order: the nearest one before it, else the nearest after it.
        let at = causes.partition_point(|c| *c < index);
        let before = at.checked_sub(1).and_then(|i| causes.get(i));
        if let Some(&cause) =
            before.or_else(|| causes.get(at..).and_then(|rest| rest.iter().find(|c| **c != index)))
        {
            let edge =
                Edge { effect: index, basis: Basis::Stated, unordered: false, cause, rule: "stated".into() };
            edges.entry(index).or_default().push(edge);
        }
    }
}
