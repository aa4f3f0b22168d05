//! Events with their place, onset and standing resolved.

use std::collections::BTreeMap;

use firstfault_model::event::EventDraft;
use firstfault_model::hit::{Hit, Position, TimeSource};
use firstfault_model::place::{PciBusId, Place};
use firstfault_model::source::{Source, Trust};
use firstfault_model::taxonomy::Domain;
use firstfault_model::time::{HOUR, MILLI, Timestamp};
use firstfault_rules::matcher::Consumer;
use firstfault_rules::pack::{Role, Symptom};
use firstfault_rules::ruleset::RuleSet;

use crate::case::Case;
use crate::clocks::Offset;

/// When something began, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Onset {
    /// Earliest.
    pub from: Timestamp,
    /// Latest.
    pub to: Timestamp,
    /// How it is known.
    pub source: TimeSource,
    /// Time of the line itself, where the onset was dated back from it.
    pub reported: Option<Timestamp>,
}

impl Onset {
    /// The best single time: the middle of the interval, or its start where it has no end.
    #[must_use]
    pub fn nominal(&self) -> Timestamp {
        if self.to.0 == i64::MAX { self.from } else { self.from.shifted(self.to.since(self.from) / 2) }
    }

    /// Whether it is good enough to order events of different streams.
    #[must_use]
    pub fn is_decisive(&self) -> bool {
        !self.source.is_assumed() && !self.source.is_neighbour()
    }
}

/// Whether an event belongs to the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// It does.
    In,
    /// Another node, GPU or time.
    Out,
    /// It was there before, and something cleared it.
    Cleared,
}

/// An event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Symptom id.
    pub symptom: String,
    /// What it can be.
    pub role: Role,
    /// Where, with what the context adds (the GPU of a rank, the rank of a GPU).
    pub place: Place,
    /// Ranks at its place, if the GPU is shared or the rank is not stated.
    pub ranks: Vec<u32>,
    /// Facts.
    pub facts: BTreeMap<String, String>,
    /// Hits that it rests on, ascending.
    pub hits: Vec<u32>,
    /// Position of the first.
    pub first: Position,
    /// Position of the last.
    pub last: Position,
    /// How many lines.
    pub count: u64,
    /// When it began, by the clock that stamped it.
    pub onset: Option<Onset>,
    /// When the attempt ended, if it is known: nothing of it was written long after.
    pub attempt_end: Option<Timestamp>,
    /// How far that clock is off, if it is known.
    pub clock: Option<Offset>,
    /// Latest time at which it was seen.
    pub last_seen: Option<Timestamp>,
    /// How far its evidence can be believed.
    pub trust: Trust,
    /// Whether the workload printed what another source should have.
    pub quoted: bool,
    /// Whether it is the kernel's word without the kernel's prefix: somebody else may have printed it.
    pub unproven: bool,
    /// When it was over, by the clock that most nodes share, if a line at its place says so.
    pub over: Option<Timestamp>,
    /// Whether only the workload tells this fault of a device, and the kernel's whole log has nothing of it.
    pub doubted: bool,
    /// Whether it names a process that is told to be another job's.
    pub of_another_job: bool,
    /// Whether it names a process that is none of those which the attempt is known to have had on that node.
    pub stranger: bool,
    /// Whether it stands for an event that another one states and that has no record of its own.
    pub implied: bool,
    /// Sentences of rule modules.
    pub notes: Vec<String>,
    /// A rule module says that it cannot be a cause.
    pub demoted: Option<String>,
    /// Whether it belongs to the attempt.
    pub scope: Scope,
    /// Order among events of one place whose stamps tie.
    pub rank: u32,
    /// `pack/signature` or the module that made it.
    pub rule: String,
}

impl Event {
    /// Resolves a draft; `None` if it cites nothing that exists or no pack defines its symptom.
    #[must_use]
    pub fn resolve(draft: &EventDraft, case: &Case, rules: &RuleSet) -> Option<Self> {
        let definition = &rules.symptom(&draft.symptom)?.symptom;
        let hits: Vec<&Hit> = draft.hits.iter().filter_map(|i| case.hits.get(*i as usize)).collect();
        let first = hits.iter().min_by_key(|h| h.first)?;
        let last = hits.iter().max_by_key(|h| h.last)?;
        let stream = case.streams.get(first.first.stream as usize)?;
        let signature = rules.matcher().signature(first.signature)?;
        let mut place = first.place.clone();
        overlay(&mut place, &draft.place);
        let mut event = Self {
            symptom: draft.symptom.clone(),
            role: definition.role,
            ranks: Vec::new(),
            place,
            facts: draft.facts.clone(),
            hits: draft.hits.clone(),
            first: first.first,
            last: last.last,
            count: hits.iter().map(|h| h.count).sum(),
            onset: None,
            attempt_end: case.context.document.end,
            clock: None,
            last_seen: hits.iter().filter_map(|h| h.last_time).map(|s| s.time).max(),
            trust: stream.trust,
            quoted: !signature.first_hand_in(&stream.name.source),
            unproven: stream.name.source == Source::Unstated
                && signature.sources.iter().all(|s| *s == Source::Kernel)
                && !hits.iter().any(|h| h.kernel),
            over: None,
            doubted: false,
            of_another_job: false,
            stranger: false,
            implied: false,
            notes: draft.facts.get("note").cloned().into_iter().collect(),
            demoted: None,
            scope: Scope::In,
            rank: draft.facts.get("rank_of").and_then(|r| r.parse().ok()).unwrap_or(definition.rank),
            rule: signature.id.clone(),
        };
        event.onset = onset(&hits, &event.facts, case.context.document.start);
        // Whose log has a line about an act of the scheduler, or about a list of nodes, says nothing of where it took place.
        let told = match &signature.consumer {
            Consumer::Symptom(_) => signature.spec.place.contains_key("node"),
            Consumer::Module(_) => draft.place.node.is_some(),
        };
        let of_a_list = event.facts.contains_key("nodes");
        if (definition.domain == Some(Domain::Scheduler) || of_a_list) && !told {
            event.place = Place { component: event.place.component.take(), ..Place::default() };
        }
        event.complete_place(case);
        Some(event)
    }

    /// Adds what the context knows: the scheduler's name of the node, the GPU of the rank, the ranks of the GPU.
    pub fn complete_place(&mut self, case: &Case) {
        let context = &case.context;
        if let Some(name) = self.place.node.as_deref().and_then(|n| context.node_named(n)) {
            self.place.node = Some(name.to_owned());
        }
        if let Some(peer) = self.facts.get("peer_node").and_then(|n| context.node_named(n)).map(str::to_owned)
        {
            self.facts.insert("peer_node".into(), peer);
        }
        if let Some(rank) = self.place.rank {
            self.ranks = vec![rank];
            if self.place.node.is_none() {
                self.place.node = context.node_of_rank(rank).map(|n| n.name.clone());
            }
            if self.place.gpu.is_none()
                && let Some(gpu) = context.gpu_of_rank(rank)
            {
                self.place.gpu.clone_from(&gpu.bus_id);
                self.place.gpu_index = gpu.index;
            }
        }
        let node = self.place.node.as_deref().and_then(|n| context.node(n));
        let gpu = node.and_then(|node| {
            node.gpus.iter().find(|g| {
                (self.place.gpu.is_some() && g.bus_id == self.place.gpu)
                    || (self.place.gpu.is_none()
                        && self.place.gpu_index.is_some()
                        && g.index == self.place.gpu_index)
            })
        });
        if let Some(gpu) = gpu {
            if self.place.gpu.is_none() {
                self.place.gpu.clone_from(&gpu.bus_id);
            }
            self.place.gpu_index = gpu.index.or(self.place.gpu_index);
            if self.ranks.is_empty() {
                self.ranks = gpu.ranks.iter().copied().collect();
            }
        }
    }

    /// When it began by the clock that most nodes share, as far as that of its node is known.
    #[must_use]
    pub fn common_onset(&self) -> Option<Onset> {
        let onset = self.onset?;
        Some(Onset { from: self.common_time(onset.from), to: self.common_time(onset.to), ..onset })
    }

    /// A time of its clock by the clock that most nodes share.
    #[must_use]
    pub fn common_time(&self, time: Timestamp) -> Timestamp {
        let by = self.clock.filter(Offset::is_marked).map_or(0, |c| c.by);
        if time.0 == i64::MAX { time } else { time.shifted(-by) }
    }

    /// Its definition.
    #[must_use]
    pub fn definition<'r>(&self, rules: &'r RuleSet) -> Option<&'r Symptom> {
        rules.symptom(&self.symptom).map(|d| &d.symptom)
    }

    /// Domain of its symptom.
    #[must_use]
    pub fn domain(&self, rules: &RuleSet) -> Domain {
        self.definition(rules).and_then(|d| d.domain).unwrap_or(Domain::Undetermined)
    }

    /// The GPU as (node, bus id).
    #[must_use]
    pub fn gpu(&self) -> Option<(Option<&str>, &PciBusId)> {
        self.place.gpu.as_ref().map(|g| (self.place.node.as_deref(), g))
    }

    /// Canonical order.
    #[must_use]
    pub fn canonical_key(&self) -> (Position, &str, &Place) {
        (self.first, &self.symptom, &self.place)
    }
}

/// Takes over what `from` knows.
pub fn overlay(place: &mut Place, from: &Place) {
    macro_rules! take {
        ($($field:ident),*) => { $(if from.$field.is_some() { place.$field.clone_from(&from.$field); })* };
    }
    take!(node, rank, gpu, gpu_index, process, component, link, port);
}

fn onset(hits: &[&Hit], facts: &BTreeMap<String, String>, start: Option<Timestamp>) -> Option<Onset> {
    let Some(stamp) = hits.iter().filter_map(|h| h.first_time).min() else {
        // Nothing before it has a time, but something after it does.
        let next = hits.iter().filter_map(|h| h.not_after).max()?;
        let (to, assumed) = (next.time, next.source.is_assumed());
        let since = start.unwrap_or(to.shifted(-HOUR)).min(to);
        let source = if assumed { TimeSource::NeighbourAssumed } else { TimeSource::Neighbour };
        return Some(Onset { from: since, to, source, reported: None });
    };
    let before =
        facts.get("before_ms").and_then(|v| v.parse::<i64>().ok()).unwrap_or(0).clamp(0, i64::MAX / MILLI);
    // A stamp of whole seconds may lie up to a second before what it stamps, and a mixed clock on either side.
    let (mut from, mut to) = (stamp.time.shifted(-stamp.uncertainty), stamp.time.shifted(stamp.uncertainty));
    let mut source = stamp.source;
    // The line came at some time after its neighbour, and before the next line that has a time.
    if source.is_neighbour() {
        to = hits.iter().filter_map(|h| h.not_after).max().map_or(Timestamp(i64::MAX), |s| s.time).max(from);
    }
    let reported = (before > 0).then_some(stamp.time);
    if before > 0 {
        from = from.shifted(-before * MILLI);
        if to.0 != i64::MAX {
            to = to.shifted(-before * MILLI);
        }
        if source == TimeSource::Line || source == TimeSource::LineAndContext {
            source = TimeSource::BackDated;
        }
    }
    Some(Onset { from, to, source, reported })
}
