//! How far the clocks of nodes are apart, as far as the evidence tells.
//!
//! Ranks that wait for one collective begin to wait at nearly the same moment. A time-out that is dated back to when its rank began to
//! wait therefore reads the clock of its node at a moment that all nodes share.

use std::collections::BTreeMap;

use firstfault_model::diagnosis::Clock;
use firstfault_model::event::Basis;
use firstfault_model::hit::TimeSource;
use firstfault_model::source::Source;
use firstfault_model::time::{MILLI, SECOND};

use crate::case::Case;
use crate::event::Event;
use crate::graph::Graph;
use crate::roots::Root;

/// Readings of one node's clock that an estimate needs.
const LEAST_READINGS: usize = 2;
/// Time-outs are written within this of each other, and ranks reach a collective within it.
const LEAST_UNCERTAINTY: i64 = SECOND;
/// A cause that is stamped later than its effects by less is within what stamps are known to.
const LEAST_LEAD: i64 = 2 * SECOND;
/// Most nodes that the diagnosis lists.
pub const MAX_LISTED: usize = 64;

/// The clock of a node against the one that most nodes share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// Its time less the common time, in nanoseconds.
    pub by: i64,
    /// The offset lies within this many nanoseconds on either side.
    pub uncertainty: i64,
}

impl Offset {
    /// Whether the clock is off by more than the estimate may be.
    #[must_use]
    pub const fn is_marked(&self) -> bool {
        self.by.saturating_abs() > self.uncertainty
    }
}

/// Estimates by node.
pub type Offsets = BTreeMap<String, Offset>;

/// The node whose clock stamped an event; `None` where several nodes or no node of the attempt wrote it.
#[must_use]
pub fn writer<'e>(event: &'e Event, case: &'e Case) -> Option<&'e str> {
    let stream = &case.streams.get(event.first.stream as usize)?.name;
    match stream.source {
        Source::Scheduler | Source::History => None,
        _ => stream.node.as_deref().or(event.place.node.as_deref()),
    }
}

/// Estimates the offsets from time-outs of one collective on two or more nodes.
#[must_use]
pub fn estimate(events: &[Event], case: &Case) -> Offsets {
    type Collective<'e> = (&'e str, Option<&'e String>, &'e String, Option<&'e String>);
    let mut shared: BTreeMap<Collective<'_>, BTreeMap<&str, Vec<i64>>> = BTreeMap::new();
    for event in events {
        let Some(onset) = event.onset.filter(|o| o.source == TimeSource::BackDated) else { continue };
        let (Some(seq), Some(node)) = (event.facts.get("seq"), writer(event, case)) else { continue };
        let collective = (event.symptom.as_str(), event.facts.get("group"), seq, event.facts.get("op"));
        shared.entry(collective).or_default().entry(node).or_default().push(onset.nominal().0);
    }
    let mut readings: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for nodes in shared.into_values().filter(|nodes| nodes.len() > 1) {
        let common = median(nodes.values().filter_map(|times| median(times.iter().copied())));
        let Some(common) = common else { continue };
        for (node, times) in nodes {
            readings.entry(node).or_default().extend(times.into_iter().map(|t| t.saturating_sub(common)));
        }
    }
    let offset = |(node, differences): (&str, Vec<i64>)| {
        if differences.len() < LEAST_READINGS {
            return None;
        }
        let by = median(differences.iter().copied())?;
        let spread = differences.iter().max()?.saturating_sub(*differences.iter().min()?);
        Some((node.to_owned(), Offset { by, uncertainty: spread.saturating_add(LEAST_UNCERTAINTY) }))
    };
    readings.into_iter().filter_map(offset).collect()
}

/// Clocks that tell a root cause later than what others saw of it: they are ahead by that much at least.
#[must_use]
pub fn implied(graph: &Graph, roots: &[Root], case: &Case) -> Vec<Clock> {
    let dated = |e: &Event| e.common_onset().filter(|o| o.is_decisive() && o.reported.is_none());
    let mut least: BTreeMap<String, i64> = BTreeMap::new();
    for root in roots {
        let Some(lead) = root.events.first().and_then(|i| graph.events.get(*i as usize)) else { continue };
        let (Some(node), Some(began)) = (writer(lead, case), dated(lead)) else { continue };
        if graph.clocks.contains_key(node) {
            continue;
        }
        let others = root.effects.iter().filter(|effect| {
            let mut edges = graph.causes_of(**effect).iter();
            edges.any(|e| e.basis <= Basis::NamedPeer && root.events.contains(&e.cause))
        });
        let seen = others
            .filter_map(|i| graph.events.get(*i as usize))
            .filter(|e| writer(e, case).is_some_and(|other| other != node))
            .filter_map(dated)
            .map(|o| o.to)
            .min();
        if let Some(ahead) = seen.map(|seen| began.from.since(seen)).filter(|ahead| *ahead > LEAST_LEAD) {
            least.entry(node.to_owned()).and_modify(|known| *known = ahead.max(*known)).or_insert(ahead);
        }
    }
    let clock = |(node, ahead): (String, i64)| Clock {
        node,
        offset_ms: ahead / MILLI,
        uncertainty_ms: 0,
        method: "order_of_cause_and_effect".into(),
    };
    least.into_iter().map(clock).collect()
}

/// Gives each event the offset of the clock that stamped it.
pub fn assign(events: &mut [Event], offsets: &Offsets, case: &Case) {
    if offsets.is_empty() {
        return;
    }
    for event in events {
        event.clock = writer(event, case).and_then(|node| offsets.get(node)).copied();
    }
}

/// The lower one of two middles, so that it is always a value that was read.
fn median(values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// Clocks that are off by more than the estimate may be, the furthest first; and how many more there are.
#[must_use]
pub fn listed(offsets: &Offsets) -> (Vec<Clock>, usize) {
    let mut marked: Vec<(&String, &Offset)> = offsets.iter().filter(|(_, o)| o.is_marked()).collect();
    marked.sort_by_key(|(node, o)| (std::cmp::Reverse(o.by.saturating_abs()), *node));
    let more = marked.len().saturating_sub(MAX_LISTED);
    let list = marked.into_iter().take(MAX_LISTED).map(|(node, o)| Clock {
        node: node.clone(),
        offset_ms: o.by / MILLI,
        uncertainty_ms: u64::try_from(o.uncertainty / MILLI).unwrap_or(u64::MAX),
        method: "shared_timeouts".into(),
    });
    (list.collect(), more)
}
