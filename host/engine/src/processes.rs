//! Which process was which rank, as launchers and their reports tell it.
//!
//! The kernel names processes by their host pid and knows no ranks. A launcher that runs outside of a container's own numbering names
//! both. Numbers of different namespaces do not meet, but then no rank is told; a wrong one would need two processes of one number.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::source::Source;

use crate::case::Case;
use crate::event::Event;
use crate::scope;

/// Processes of the attempt by node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Processes {
    /// Ranks by node and pid; empty where only the process is told.
    known: BTreeMap<String, BTreeMap<String, BTreeSet<u32>>>,
    /// Processes of other jobs, as the kernel's lines about control groups tell them, by node and pid.
    others: BTreeSet<(String, String)>,
}

impl Processes {
    /// Learns from what the workload and its launcher wrote.
    #[must_use]
    pub fn learn(events: &[Event], case: &Case) -> Self {
        let mut known: BTreeMap<String, BTreeMap<String, BTreeSet<u32>>> = BTreeMap::new();
        for event in events.iter().filter(|e| !e.quoted && !e.facts.contains_key("id")) {
            let source = case.streams.get(event.first.stream as usize).map(|s| &s.name.source);
            if !matches!(source, Some(Source::App)) {
                continue;
            }
            let (Some(node), Some(process)) = (&event.place.node, &event.place.process) else { continue };
            let ranks = known.entry(node.clone()).or_default().entry(process.clone()).or_default();
            ranks.extend(event.place.rank);
        }
        let others = events
            .iter()
            .filter(|e| !e.quoted && scope::names_another_job(e, case.context.document.id.as_deref()))
            .filter_map(|e| Some((e.place.node.clone()?, e.place.process.clone()?)))
            .collect();
        Self { known, others }
    }

    /// Adds the rank of an event's process, where exactly one is told.
    pub fn complete(&self, event: &mut Event) {
        if !event.ranks.is_empty() || event.place.rank.is_some() {
            return;
        }
        let (Some(node), Some(process)) = (&event.place.node, &event.place.process) else { return };
        let ranks = self.known.get(node).and_then(|processes| processes.get(process));
        if let Some(ranks) = ranks.filter(|ranks| ranks.len() == 1) {
            event.ranks = ranks.iter().copied().collect();
            event.place.rank = event.ranks.first().copied();
        }
    }

    /// Whether an event names a process that is told to be another job's.
    #[must_use]
    pub fn is_of_another_job(&self, event: &Event) -> bool {
        match (&event.place.node, &event.place.process) {
            (Some(node), Some(process)) => self.others.contains(&(node.clone(), process.clone())),
            _ => false,
        }
    }

    /// Whether an event names a process that is none of those which the attempt is known to have had on that node.
    #[must_use]
    pub fn is_stranger(&self, event: &Event) -> bool {
        let (Some(node), Some(process)) = (&event.place.node, &event.place.process) else { return false };
        self.known.get(node).is_some_and(|processes| !processes.contains_key(process))
    }
}
