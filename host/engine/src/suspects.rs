//! Who may be at fault when nothing shows the cause.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::context::Node;
use firstfault_model::diagnosis::RuledOut;
use firstfault_model::place::Place;
use firstfault_model::source::Source;
use firstfault_model::taxonomy::Domain;
use firstfault_rules::pack::Role;
use firstfault_rules::ruleset::RuleSet;

use crate::case::{Case, NodeCoverage};
use crate::event::{Event, Scope};
use crate::graph::Graph;
use crate::progress::Seen;
use crate::roots::{Judgement, numbered};

/// Most suspects.
const MAX_SUSPECTS: usize = 8;

/// A suspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accused {
    /// Events that point at it.
    pub events: Vec<u32>,
    /// Where.
    pub event_place: Place,
    /// Ranks there.
    pub ranks: Vec<u32>,
    /// Symptom of the events.
    pub symptom: String,
    /// Sub-domain of `undetermined`.
    pub sub_domain: String,
    /// Why it is suspected.
    pub why: String,
}

/// Suspects, the strongest first: silent ranks, peers that others name, and, if there are none, who reports first.
#[must_use]
pub fn accused(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    judgement: &Judgement,
    seen: &Seen,
) -> Vec<Accused> {
    let reports = |i: u32, event: &Event| {
        event.scope == Scope::In
            && event.role == Role::Effect
            && graph.causes_of(i).is_empty()
            && !judgement.ruled_out.contains_key(&i)
    };
    let accuse = |i: u32, event: &Event, why: String| Accused {
        events: vec![i],
        event_place: event.place.clone(),
        ranks: event.ranks.clone(),
        symptom: event.symptom.clone(),
        sub_domain: sub_domain(event.definition(rules).and_then(|d| d.sub_domain.as_deref())),
        why,
    };
    let at_node = |node: &str| Place { node: Some(node.to_owned()), ..Place::default() };
    let mut out: Vec<Accused> = Vec::new();
    // Peers that others name, by how many name them.
    let mut named: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (i, event) in numbered(&graph.events) {
        if !reports(i, event) {
            continue;
        }
        if event.symptom.ends_with(".silent_rank") {
            let silent = event.facts.get("coverage").is_some_and(|c| c == "missing");
            let rank = event.place.rank.map_or_else(|| "a rank".to_owned(), |r| format!("rank {r}"));
            let why = if silent {
                format!("{rank} is the only one that reports no time-out, and its output was not collected")
            } else {
                format!("{rank} reports no time-out while the others waited for it")
            };
            out.push(accuse(i, event, why));
        } else if let Some(peer) = event.facts.get("peer_node") {
            named.entry(peer.clone()).or_default().push(i);
        }
    }
    let mut peers: Vec<(String, Vec<u32>)> = named.into_iter().collect();
    peers.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
    // Whoever reports a lost peer is itself alive at that time: it comes after those that report nothing.
    let reporters: BTreeSet<&str> = graph
        .events
        .iter()
        .filter(|e| e.facts.contains_key("peer_node"))
        .filter_map(|e| e.place.node.as_deref())
        .collect();
    peers.sort_by_key(|(node, _)| reporters.contains(node.as_str()));
    for (peer, events) in peers {
        let Some((&i, first)) = events.first().and_then(|i| Some((i, graph.events.get(*i as usize)?))) else {
            continue;
        };
        let ranks: usize =
            events.iter().filter_map(|i| graph.events.get(*i as usize)).map(|e| e.ranks.len().max(1)).sum();
        let who = if ranks == 1 { "one process lost".to_owned() } else { format!("{ranks} processes lost") };
        let why = format!("{who} their connection to it");
        // Which of its processes was killed says more than that the others lost it.
        let killed = numbered(&graph.events).find(|(i, e)| {
            reports(*i, e)
                && e.place.node.as_deref() == Some(peer.as_str())
                && e.definition(rules).is_some_and(|d| d.sub_domain.as_deref() == Some("killed"))
                && (!e.ranks.is_empty() || e.place.process.is_some())
        });
        out.push(match killed {
            Some((i, event)) => {
                let which = match event.ranks.as_slice() {
                    [rank] => format!("rank {rank}"),
                    _ => "a process of it".to_owned(),
                };
                let why = format!("{which} was killed, and {who} their connection to its node");
                let events = std::iter::once(i).chain(events).collect();
                Accused { events, ..accuse(i, event, why) }
            }
            None => {
                Accused { event_place: at_node(&peer), ranks: Vec::new(), events, ..accuse(i, first, why) }
            }
        });
    }
    // What ended an attempt that had long stood still points at the stall.
    if out.is_empty()
        && let Some(since) = seen.hang.as_ref().and_then(|h| h.since)
        && let Some((i, event)) = numbered(&graph.events).find(|(i, e)| {
            matches!(judgement.ruled_out.get(i), Some((RuledOut::Later, None))) && e.scope == Scope::In
        })
    {
        let why = format!(
            "nothing was reported after {} UTC; this only ended what already stood still",
            since.clock(false)
        );
        out.push(Accused {
            event_place: Place::default(),
            ranks: Vec::new(),
            sub_domain: "hang".into(),
            ..accuse(i, event, why)
        });
    }
    if out.is_empty()
        && let Some((i, event)) = numbered(&graph.events).find(|(i, e)| reports(*i, e))
    {
        // A node whose output is missing while others' is there may be where it began.
        let missing = |n: &&Node| case.coverage_of(&Source::App, &n.name).0 == NodeCoverage::Missing;
        let silent: Vec<&Node> = case.context.nodes.iter().filter(missing).take(MAX_SUSPECTS).collect();
        if silent.len() < case.context.nodes.len() {
            out.extend(silent.into_iter().map(|node| Accused {
                event_place: at_node(&node.name),
                ranks: Vec::new(),
                ..accuse(i, event, "its output was not collected, and the others only report effects".into())
            }));
        }
        if out.is_empty() {
            out.push(accuse(i, event, "it reports a failure, which can only be an effect".into()));
        }
    }
    out.truncate(MAX_SUSPECTS);
    out
}

/// A sub-domain of `undetermined`.
fn sub_domain(name: Option<&str>) -> String {
    let known =
        name.and_then(firstfault_model::taxonomy::sub_domain).filter(|s| s.domain == Domain::Undetermined);
    known.map_or("insufficient_evidence", |s| s.name).to_owned()
}
