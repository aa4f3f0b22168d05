//! Which parts of which streams may hold what no rule knows: around the faults that were found, on the nodes that are suspected,
//! and, where there is neither, at the ends.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::diagnosis::{TerminalState, Verdict};
use firstfault_model::focus::{Focus, Spot};
use firstfault_model::source::Source;
use firstfault_model::time::{MINUTE, Timestamp};

use crate::case::Case;
use crate::conclude::Judged;
use crate::graph::Graph;

/// How far around an onset.
const AROUND: i64 = 2 * MINUTE;
/// Streams that are looked at.
const MOST_STREAMS: usize = 24;
/// Root causes and suspects around which it is looked.
const MOST_PLACES: usize = 4;

/// The parts, one for each stream, in canonical order.
#[must_use]
pub fn focus(judged: &Judged, graph: &Graph, case: &Case) -> Vec<Focus> {
    let judgement = &judged.judgement;
    if judgement.state == TerminalState::Completed {
        return Vec::new();
    }
    let mut spots: BTreeMap<u32, Spot> = BTreeMap::new();
    let leads = judgement.roots.iter().filter_map(|r| r.events.first());
    let accused = judged.accused.iter().filter_map(|a| a.events.first());
    let mut windows: BTreeMap<&str, (Timestamp, Timestamp)> = BTreeMap::new();
    for event in leads.chain(accused).take(MOST_PLACES).filter_map(|i| graph.events.get(*i as usize)) {
        spots.entry(event.first.stream).or_insert(Spot::Around(event.first.offset));
        if let (Some(node), Some(onset)) = (event.place.node.as_deref(), event.onset) {
            let to = if onset.to.0 == i64::MAX { onset.from } else { onset.to };
            // Of a wide interval its end: what was written there was written last before the fault showed.
            let from = onset.from.max(to.shifted(-2 * AROUND));
            windows.entry(node).or_insert((from.shifted(-AROUND), to.shifted(AROUND)));
        }
    }
    // What is suspected need not be where the line that points at it was written.
    let at = windows.values().copied().min();
    let suspected = judged.accused.iter().take(MOST_PLACES).filter_map(|a| a.event_place.node.as_deref());
    for node in suspected {
        if let Some(window) = at {
            windows.entry(node).or_insert(window);
        }
    }
    for (i, stream) in (0_u32..).zip(&case.streams) {
        let window = stream.name.node.as_deref().and_then(|node| windows.get(node));
        if let Some((from, to)) = window.filter(|_| stream.stats.lines > 0) {
            spots.entry(i).or_insert(Spot::Between(*from, *to));
        }
    }
    if spots.is_empty() && judgement.verdict != Verdict::Attributed {
        spots.extend(ends(case).into_iter().map(|i| (i, Spot::End)));
    }
    spots.into_iter().take(MOST_STREAMS).map(|(stream, spot)| Focus { stream, spot }).collect()
}

/// The streams whose ends tell the most: one of each source and node before the next of any, the workload's first.
fn ends(case: &Case) -> Vec<u32> {
    let mut seen: BTreeMap<(&Source, Option<&str>), usize> = BTreeMap::new();
    let mut ranked = BTreeSet::new();
    for (i, stream) in (0_u32..).zip(&case.streams).filter(|(_, s)| s.stats.lines > 0) {
        let nth = seen.entry((&stream.name.source, stream.name.node.as_deref())).or_default();
        let workload = matches!(stream.name.source, Source::App | Source::Unstated);
        ranked.insert((*nth, !workload, i));
        *nth += 1;
    }
    ranked.into_iter().take(MOST_STREAMS).map(|(.., i)| i).collect()
}
