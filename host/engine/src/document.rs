//! The parts of the finding that are made of events.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::diagnosis::{
    Affected, CausedBy, Confidence, ContextEntry, GpuRef, LinkRef, Onset, PlaceFields, PortRef, Reported,
    RootCause, RuledOutEntry, Suspect, SymptomGroup, Unrecognised,
};
use firstfault_model::event::Basis;
use firstfault_model::ranges::{format_nodes, format_ranks};
use firstfault_model::taxonomy::Domain;
use firstfault_model::time::{MINUTE, Timestamp};
use firstfault_rules::pack::Role;
use firstfault_rules::ruleset::RuleSet;

use crate::case::Case;
use crate::event::{Event, Scope};
use crate::evidence::Ledger;
use crate::graph::Graph;
use crate::roots::{Judgement, Root, numbered};
use crate::suspects::Accused;

/// How wide the interval may be in which a line without a stamp was written, to be shown as a time.
const NARROW: i64 = 2 * MINUTE;
/// Lines cited for one root cause or group.
const CITED: usize = 8;
/// Entries of `ruled_out` and `context`.
const MAX_ENTRIES: usize = 200;

/// The place of several events, as far as they agree.
#[must_use]
pub fn place_fields(events: &[&Event], case: &Case, domain: Domain) -> PlaceFields {
    let nodes: BTreeSet<&str> = events.iter().filter_map(|e| e.place.node.as_deref()).collect();
    let node = match (nodes.len(), nodes.first()) {
        (1, Some(node)) => Some((*node).to_owned()),
        _ => None,
    };
    let ranks: BTreeSet<u32> = events.iter().flat_map(|e| e.ranks.iter().copied()).collect();
    let mut gpus: Vec<GpuRef> = Vec::new();
    for event in events {
        if event.place.gpu.is_none() && event.place.gpu_index.is_none() {
            continue;
        }
        let known = event
            .place
            .node
            .as_deref()
            .and_then(|n| case.context.node(n))
            .and_then(|n| n.gpus.iter().find(|g| g.bus_id.is_some() && g.bus_id == event.place.gpu));
        let gpu = GpuRef {
            index: event.place.gpu_index,
            pci_bus_id: event.place.gpu.clone(),
            uuid: known.and_then(|g| g.uuid.clone()),
            serial: known.and_then(|g| g.serial.clone()),
            mig: event.facts.get("mig").cloned(),
            model: known.and_then(|g| g.model.clone()),
        };
        if !gpus.contains(&gpu) {
            gpus.push(gpu);
        }
    }
    let first = events.first();
    let same = |of: fn(&Event) -> Option<&String>| {
        let all: BTreeSet<Option<&String>> = events.iter().map(|e| of(e)).collect();
        if all.len() == 1 { first.and_then(|e| of(e)).cloned() } else { None }
    };
    let link =
        same(|e| e.place.link.as_ref()).map(|local| LinkRef { kind: "nvlink".into(), local, remote: None });
    let port = same(|e| e.place.port.as_ref()).map(|port| {
        let (device, number) = port.split_once(':').unwrap_or((&port, ""));
        PortRef { device: device.to_owned(), number: number.trim().parse().ok(), ..PortRef::default() }
    });
    PlaceFields {
        node,
        gpus: if matches!(domain, Domain::Scheduler | Domain::External | Domain::Node) {
            Vec::new()
        } else {
            gpus
        },
        ranks: ranks.into_iter().collect(),
        process: same(|e| e.place.process.as_ref()),
        component: same(|e| e.place.component.as_ref()),
        link,
        port,
    }
}

/// When an event began, by the clock that most nodes share. What followed from a line without a time of its own bounds it as well.
fn onset(event: &Event, effects: &[&Event]) -> Option<Onset> {
    let onset = event.common_onset()?;
    let mut to = (onset.to.0 != i64::MAX).then_some(onset.to);
    if onset.source.is_neighbour() {
        let dated = effects.iter().filter_map(|e| e.common_onset()).filter(crate::event::Onset::is_decisive);
        let first = dated.map(|o| o.to).min().filter(|first| *first >= onset.from);
        to = [to, first].into_iter().flatten().min();
    }
    Some(Onset {
        from: onset.from,
        to,
        time_source: onset.source.name().to_owned(),
        reported_at: onset.reported.map(|t| event.common_time(t)),
    })
}

/// Effects of a root that are known to have come after it.
fn ordered_effects<'g>(graph: &'g Graph, root: &Root) -> Vec<&'g Event> {
    let follows = |effect: u32| {
        let mut edges = graph.causes_of(effect).iter().filter(|e| root.events.contains(&e.cause));
        edges.any(|e| !e.unordered)
    };
    let effects = root.effects.iter().filter(|i| follows(**i));
    effects.filter_map(|i| graph.events.get(*i as usize)).collect()
}

/// The root causes with their ids.
#[must_use]
pub fn root_causes(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    roots: &[Root],
    confidences: &[(Confidence, String)],
    ledger: &mut Ledger,
) -> Vec<RootCause> {
    let mut out = Vec::new();
    for (i, (root, (confidence, reason))) in roots.iter().zip(confidences).enumerate() {
        let events: Vec<&Event> = root.events.iter().filter_map(|i| graph.events.get(*i as usize)).collect();
        let Some(lead) = events.first() else { continue };
        let Some(definition) = lead.definition(rules) else { continue };
        let domain = lead.domain(rules);
        let lossy = events.iter().any(|e| {
            case.streams
                .get(e.first.stream as usize)
                .is_some_and(|s| s.stats.loss_markers + s.stats.dropped > 0)
        });
        let mut explanation = definition.explain.clone();
        for note in lead.notes.iter().take(4) {
            if !explanation.is_empty() {
                explanation.push(' ');
            }
            explanation.push_str(&sentence(note));
        }
        out.push(RootCause {
            id: root_id(i),
            symptom: lead.symptom.clone(),
            title: definition.title.clone(),
            domain,
            sub_domain: definition.sub_domain.clone().unwrap_or_default(),
            confidence: *confidence,
            confidence_reason: reason.clone(),
            relation: root.relation,
            place: place_fields(&events, case, domain),
            onset: onset(lead, &ordered_effects(graph, root)),
            count: events.iter().map(|e| e.count).sum(),
            count_is: if lossy { "lower_bound" } else { "exact" }.to_owned(),
            explanation,
            recommended_action: definition.action.clone(),
            // The same kind of line in other ranks shows the same; another kind is a repeat of it.
            evidence: ledger.cite_all(
                events.iter().filter(|e| e.rule == lead.rule).flat_map(|e| e.hits.iter().copied()),
                CITED,
                case,
            ),
            rule: lead.rule.clone(),
            explains: Vec::new(),
        });
    }
    out
}

fn sentence(text: &str) -> String {
    let mut chars = text.trim().chars();
    let mut out: String = chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect());
    if !out.ends_with(['.', '!', '?']) {
        out.push('.');
    }
    out
}

/// The suspects with their ids.
#[must_use]
pub fn suspects(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    accused: &[Accused],
    decided_by: impl Fn(&Accused) -> Vec<String>,
    ledger: &mut Ledger,
) -> Vec<Suspect> {
    let mut out = Vec::new();
    for (i, suspect) in accused.iter().enumerate() {
        let mut place = PlaceFields {
            node: suspect.event_place.node.clone(),
            ranks: suspect.ranks.clone(),
            ..PlaceFields::default()
        };
        if suspect.event_place.gpu.is_some() || suspect.event_place.gpu_index.is_some() {
            place.gpus.push(GpuRef {
                index: suspect.event_place.gpu_index,
                pci_bus_id: suspect.event_place.gpu.clone(),
                ..GpuRef::default()
            });
        }
        let hits = suspect
            .events
            .iter()
            .filter_map(|i| graph.events.get(*i as usize))
            .flat_map(|e| e.hits.iter().copied());
        out.push(Suspect {
            id: format!("s{}", i + 1),
            symptom: suspect.symptom.clone(),
            title: rules.symptom(&suspect.symptom).map(|d| d.symptom.title.clone()).unwrap_or_default(),
            domain: Domain::Undetermined,
            sub_domain: suspect.sub_domain.clone(),
            place,
            why: suspect.why.clone(),
            decided_by: decided_by(suspect),
            evidence: ledger.cite_all(hits, 4, case),
        });
    }
    out
}

/// Id of the root cause of that index.
fn root_id(index: usize) -> String {
    format!("r{}", index + 1)
}

/// What explains a group: a root cause by its index, or another symptom.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Explainer {
    Root(usize),
    Symptom(String),
}

/// Effects by (symptom, cause, basis), and which groups each root explains.
#[must_use]
pub fn symptom_groups(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    judgement: &Judgement,
    ledger: &mut Ledger,
) -> (Vec<SymptomGroup>, BTreeMap<String, Vec<String>>) {
    // Whose effect an event is: the root itself, or the direct cause.
    let mut root_of: BTreeMap<u32, usize> = BTreeMap::new();
    for (r, root) in judgement.roots.iter().enumerate() {
        for event in &root.events {
            root_of.insert(*event, r);
        }
    }
    type Key = (String, Option<(Explainer, Basis, String)>);
    let mut groups: BTreeMap<Key, Vec<u32>> = BTreeMap::new();
    for (i, event) in numbered(&graph.events) {
        let skipped = root_of.contains_key(&i)
            || event.scope != Scope::In
            || event.role == Role::Benign
            || (event.implied && graph.causes_of(i).is_empty());
        if skipped {
            continue;
        }
        let shown = matches!(event.role, Role::Effect | Role::Advice) || !graph.causes_of(i).is_empty();
        if !shown || judgement.state == firstfault_model::diagnosis::TerminalState::Completed {
            continue;
        }
        let edge = graph
            .causes_of(i)
            .iter()
            .min_by_key(|e| (e.basis, e.unordered, !root_of.contains_key(&e.cause), e.cause));
        let cause = edge.map(|e| {
            let by = match root_of.get(&e.cause) {
                Some(root) => Explainer::Root(*root),
                None => Explainer::Symptom(
                    graph.events.get(e.cause as usize).map_or_else(String::new, |c| c.symptom.clone()),
                ),
            };
            (by, e.basis, e.rule.clone())
        });
        groups.entry((event.symptom.clone(), cause)).or_default().push(i);
    }
    let mut list: Vec<(Key, Vec<u32>)> = groups.into_iter().collect();
    // In the order in which they began; what has no time keeps its canonical place behind.
    list.sort_by_key(|(key, events)| {
        let time =
            |e: &Event| e.common_onset().map_or((true, i64::MAX), |o| (o.source.is_neighbour(), o.from.0));
        let first =
            events.iter().filter_map(|i| graph.events.get(*i as usize)).map(|e| (time(e), e.first)).min();
        let first = first.map(|((_, time), position)| (time, position));
        (first, key.clone())
    });
    let mut ids: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (n, ((symptom, _), _)) in list.iter().enumerate() {
        ids.entry(symptom.clone()).or_default().push(format!("y{}", n + 1));
    }
    let mut explains: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut out = Vec::new();
    for (n, ((symptom, cause), events)) in list.into_iter().enumerate() {
        let id = format!("y{}", n + 1);
        let events: Vec<&Event> = events.iter().filter_map(|i| graph.events.get(*i as usize)).collect();
        let Some(definition) = rules.symptom(&symptom).map(|d| &d.symptom) else { continue };
        let caused_by: Vec<CausedBy> = cause
            .into_iter()
            .map(|(by, basis, edge)| {
                let by = match by {
                    Explainer::Root(root) => {
                        let root = root_id(root);
                        explains.entry(root.clone()).or_default().push(id.clone());
                        root
                    }
                    Explainer::Symptom(symptom) => {
                        ids.get(&symptom).and_then(|l| l.first()).cloned().unwrap_or(symptom)
                    }
                };
                CausedBy { id: by, edge, basis }
            })
            .collect();
        let nodes: BTreeSet<&str> = events.iter().filter_map(|e| e.place.node.as_deref()).collect();
        let ranks: BTreeSet<u32> = events.iter().flat_map(|e| e.ranks.iter().copied()).collect();
        // A time of its own says more than that of a line before it.
        let own = events.iter().any(|e| e.onset.is_some_and(|o| !o.source.is_neighbour()));
        let onsets =
            || events.iter().filter_map(|e| e.common_onset()).filter(|o| !own || !o.source.is_neighbour());
        // A line that was written at some time within many minutes has none that could be shown. At the end of a log the stamp before it
        // is near enough.
        let is_told = |o: &crate::event::Onset| {
            !o.source.is_neighbour() || o.to.0 == i64::MAX || o.to.since(o.from) <= NARROW
        };
        let reported: Vec<Timestamp> =
            events.iter().filter_map(|e| Some(e.common_time(e.onset?.reported?))).collect();
        let notes: BTreeSet<&String> = events.iter().flat_map(|e| &e.notes).collect();
        out.push(SymptomGroup {
            id,
            symptom,
            title: definition.title.clone(),
            role: definition.role.name().to_owned(),
            caused_by,
            node_count: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
            nodes: format_nodes(nodes),
            rank_count: u32::try_from(ranks.len()).unwrap_or(u32::MAX),
            ranks: format_ranks(&ranks),
            count: events.iter().map(|e| e.count).sum(),
            first: onsets().filter(is_told).map(|o| o.nominal()).min(),
            last: onsets().filter(is_told).map(|o| o.nominal()).max(),
            reported: reported
                .iter()
                .min()
                .zip(reported.iter().max())
                .map(|(a, b)| Reported { first: *a, last: *b }),
            notes: notes.into_iter().take(4).cloned().collect(),
            evidence: ledger.cite_all(
                events.iter().flat_map(|e| e.hits.iter().copied()),
                if n < 40 { CITED } else { 1 },
                case,
            ),
        });
    }
    (out, explains)
}

/// Error-like lines that no rule knows.
#[must_use]
pub fn unrecognised(case: &Case, ledger: &mut Ledger) -> Vec<Unrecognised> {
    let cite = |line| {
        let (evidence, cited) = ledger.cite_unknown(line, case)?;
        Some(Unrecognised { evidence, node: cited.node.clone(), source: cited.source.clone() })
    };
    case.unknown.iter().filter_map(cite).collect()
}

/// Who suffered: places of effects, less what a root blames.
#[must_use]
pub fn affected(graph: &Graph, rules: &RuleSet, judgement: &Judgement) -> Affected {
    let roots: BTreeSet<u32> = judgement.roots.iter().flat_map(|r| r.events.iter().copied()).collect();
    let root_ranks: BTreeSet<u32> = roots
        .iter()
        .filter_map(|i| graph.events.get(*i as usize))
        .flat_map(|e| e.ranks.iter().copied())
        .collect();
    let mut nodes: BTreeSet<&str> = BTreeSet::new();
    let mut ranks: BTreeSet<u32> = BTreeSet::new();
    for (i, event) in numbered(&graph.events) {
        let suffers = event.scope == Scope::In
            && matches!(event.role, Role::Effect | Role::Either)
            && event.domain(rules) != Domain::Scheduler
            && !roots.contains(&i);
        if suffers && !event.symptom.ends_with(".silent_rank") {
            nodes.extend(event.place.node.as_deref());
            ranks.extend(event.ranks.iter().filter(|r| !root_ranks.contains(r)));
        }
    }
    Affected {
        node_count: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
        rank_count: u32::try_from(ranks.len()).unwrap_or(u32::MAX),
        nodes: format_nodes(nodes),
        ranks: format_ranks(&ranks),
    }
}

/// What is not the cause, and what was merely seen.
#[must_use]
pub fn the_rest(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    judgement: &Judgement,
    ledger: &mut Ledger,
) -> (Vec<RuledOutEntry>, Vec<ContextEntry>) {
    let mut ruled_out = Vec::new();
    let root_of = |event: u32| judgement.roots.iter().position(|r| r.events.contains(&event)).map(root_id);
    for (index, (why, by)) in &judgement.ruled_out {
        let Some(event) = graph.events.get(*index as usize) else { continue };
        if ruled_out.len() >= MAX_ENTRIES {
            break;
        }
        ruled_out.push(RuledOutEntry {
            id: format!("x{}", ruled_out.len() + 1),
            symptom: event.symptom.clone(),
            why: *why,
            by: by
                .and_then(|b| root_of(b).or_else(|| graph.events.get(b as usize).map(|e| e.symptom.clone()))),
            place: place_fields(&[event], case, event.domain(rules)),
            first: event.onset.map(|o| o.from),
            count: event.count,
            evidence: ledger.cite_all(event.hits.iter().copied(), 1, case),
        });
    }
    let mut seen: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in judgement.context.iter().filter_map(|i| graph.events.get(*i as usize)) {
        seen.entry(&event.symptom).or_default().push(event);
    }
    let context = seen
        .into_iter()
        .take(MAX_ENTRIES)
        .enumerate()
        .map(|(n, (symptom, events))| ContextEntry {
            id: format!("c{}", n + 1),
            symptom: symptom.to_owned(),
            title: rules.symptom(symptom).map(|d| d.symptom.title.clone()).unwrap_or_default(),
            nodes: format_nodes(events.iter().filter_map(|e| e.place.node.as_deref())),
            count: events.iter().map(|e| e.count).sum(),
            first: events.iter().filter_map(|e| e.onset).map(|o| o.from).min(),
        })
        .collect();
    (ruled_out, context)
}
