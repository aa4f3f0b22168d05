//! The cause graph: events, and edges from causes to effects.

use std::collections::BTreeMap;

use firstfault_model::event::{Amendment, EventDraft};
use firstfault_model::hit::TimeSource;
use firstfault_model::place::Place;
use firstfault_model::time::Timestamp;
use firstfault_rules::ruleset::RuleSet;
use rayon::prelude::*;

use crate::attempts::Attempts;
use crate::case::Case;
use crate::clocks::{self, Offsets};
use crate::edges::{self, Edge, Named};
use crate::event::{Event, Onset, overlay};
use crate::processes::Processes;
use crate::ranks::{self, RankMap};
use crate::{cycles, doubts, recovery, scope, shared};

/// Most events of a graph.
pub const MAX_EVENTS: usize = 400_000;

/// The cause graph of a case.
#[derive(Debug, Clone)]
pub struct Graph {
    /// The events in canonical order; derived ones behind them.
    pub events: Vec<Event>,
    /// Edges by effect, strongest first.
    pub edges: Vec<Edge>,
    /// Edges that rule modules asked for.
    added: Vec<Edge>,
    /// Events beyond [`MAX_EVENTS`].
    pub dropped: u64,
    /// How far the clocks of nodes are off.
    pub clocks: Offsets,
    /// Where attempts part, if only the lines tell.
    pub attempts: Attempts,
    /// Where ranks ran, if only the lines tell.
    ranks: RankMap,
    /// Nodes that others name as the partner they lost.
    named: Named,
}

impl Graph {
    /// Resolves events: places, onsets, scope.
    #[must_use]
    pub fn new<'d>(drafts: impl IntoIterator<Item = &'d EventDraft>, case: &Case, rules: &RuleSet) -> Self {
        let drafts: Vec<&EventDraft> = drafts.into_iter().collect();
        let mut events: Vec<Event> =
            drafts.par_iter().with_min_len(256).filter_map(|d| Event::resolve(d, case, rules)).collect();
        let ranks = RankMap::learn(&events, case);
        events.retain(|event| !ranks::is_map(event));
        if !ranks.is_empty() {
            events.iter_mut().for_each(|event| ranks.complete(event));
        }
        let processes = Processes::learn(&events, case);
        events.iter_mut().for_each(|event| {
            processes.complete(event);
            event.stranger = processes.is_stranger(event);
            event.of_another_job = processes.is_of_another_job(event);
        });
        events.sort_by(|a, b| a.canonical_key().cmp(&b.canonical_key()).then_with(|| a.facts.cmp(&b.facts)));
        let dropped = events.len().saturating_sub(MAX_EVENTS) as u64;
        events.truncate(MAX_EVENTS);
        imply_stated(&mut events, rules);
        let clocks = clocks::estimate(&events, case);
        clocks::assign(&mut events, &clocks, case);
        let attempts = Attempts::find(&events, case, rules);
        scope::assign(&mut events, &attempts, case, rules);
        doubts::assign(&mut events, case, rules);
        recovery::assign(&mut events, rules);
        let named = Named::of(&events, case);
        let next = u32::try_from(events.len()).unwrap_or(u32::MAX);
        let (switches, added) = shared::switches(&events, next, case, rules);
        events.extend(switches);
        Self { events, edges: Vec::new(), added, dropped, clocks, attempts, ranks, named }
    }

    /// Builds the edges, once all events and amendments are there.
    #[must_use]
    pub fn finish(mut self, rules: &RuleSet) -> Self {
        let mut all = edges::build(&self.events, &self.named, rules);
        let explains = |i: u32| self.events.get(i as usize).is_some_and(edges::may_explain);
        all.extend(self.added.iter().filter(|e| explains(e.cause)).cloned());
        all.sort();
        all.dedup();
        cycles::cut(&mut all, &self.events);
        self.edges = all;
        self
    }

    /// Applies what a module asked for in one round. Returns how many of them changed anything; an amendment that names what does not
    /// exist is an error, and none of the module's are applied.
    ///
    /// # Errors
    /// Which amendment names what does not exist.
    pub fn amend(
        &mut self,
        module: &str,
        amendments: &[Amendment],
        case: &Case,
        rules: &RuleSet,
    ) -> Result<usize, String> {
        let count = self.events.len();
        let exists = |i: &u32| (*i as usize) < count;
        for (n, amendment) in amendments.iter().enumerate() {
            let fine = match amendment {
                Amendment::Edge { cause, effect, .. } => exists(cause) && exists(effect),
                Amendment::Derived { cites, symptom, .. } => {
                    if rules.symptom(symptom).is_none() {
                        return Err(format!("amendment {n} derives '{symptom}', which no pack defines"));
                    }
                    !cites.is_empty() && cites.iter().all(exists)
                }
                Amendment::Note { event, .. } | Amendment::Demotion { event, .. } => exists(event),
            };
            if !fine {
                return Err(format!("amendment {n} names an event that does not exist"));
            }
        }
        let mut changed = 0;
        for amendment in amendments {
            changed += usize::from(self.apply(module, amendment, case, rules));
        }
        if changed > 0 {
            scope::assign(&mut self.events, &self.attempts, case, rules);
        }
        Ok(changed)
    }

    fn apply(&mut self, module: &str, amendment: &Amendment, case: &Case, rules: &RuleSet) -> bool {
        match amendment {
            Amendment::Edge { cause, effect, basis, .. } => {
                let edge = Edge {
                    effect: *effect,
                    basis: *basis,
                    unordered: false,
                    cause: *cause,
                    rule: module.to_owned(),
                };
                let new = cause != effect && !self.added.contains(&edge);
                if new {
                    self.added.push(edge);
                    self.note_contradiction(*cause);
                }
                new
            }
            Amendment::Note { event, text } => self.event_mut(*event).is_some_and(|e| {
                let new = !e.notes.contains(text);
                if new {
                    e.notes.push(text.clone());
                }
                new
            }),
            Amendment::Demotion { event, why } => {
                self.event_mut(*event).is_some_and(|e| {
                    let new = e.demoted.is_none();
                    if new {
                        e.demoted = Some(format!("{module}: {why}"));
                    }
                    new
                }) && {
                    self.note_contradiction(*event);
                    true
                }
            }
            Amendment::Derived { cites, symptom, place, facts, onset } => {
                self.derive(module, cites, symptom, place, facts, *onset, case, rules)
            }
        }
    }

    /// Says of an event that one module takes it for a cause and another one does not.
    fn note_contradiction(&mut self, event: u32) {
        let taken_by = self.added.iter().find(|e| e.cause == event).map(|e| e.rule.clone());
        let Some(event) = self.event_mut(event) else { return };
        if let (Some(module), Some(why)) = (taken_by, &event.demoted) {
            let note = format!("{module} takes it for a cause, but not {why}");
            if !event.notes.contains(&note) {
                event.notes.push(note);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one amendment")]
    fn derive(
        &mut self,
        module: &str,
        cites: &[u32],
        symptom: &str,
        place: &Place,
        facts: &BTreeMap<String, String>,
        onset: Option<(i64, i64)>,
        case: &Case,
        rules: &RuleSet,
    ) -> bool {
        let cited: Vec<Event> = cites.iter().filter_map(|i| self.events.get(*i as usize)).cloned().collect();
        let (Some(first), Some(definition)) = (cited.iter().min_by_key(|e| e.first), rules.symptom(symptom))
        else {
            return false;
        };
        let mut event = first.clone();
        event.symptom = symptom.to_owned();
        event.role = definition.symptom.role;
        event.rank = definition.symptom.rank;
        event.place = Place::default();
        overlay(&mut event.place, place);
        event.ranks = Vec::new();
        event.facts = facts.clone();
        event.hits = cited
            .iter()
            .flat_map(|e| e.hits.iter().copied())
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        event.count = 1;
        event.notes = facts.get("note").cloned().into_iter().collect();
        event.demoted = None;
        event.rule = module.to_owned();
        event.onset = match onset {
            Some((from, to)) => Some(Onset {
                from: Timestamp(from),
                to: Timestamp(to.max(from)),
                source: first.onset.map_or(TimeSource::BackDated, |o| o.source),
                reported: None,
            }),
            None => cited.iter().filter_map(|e| e.onset).min_by_key(|o| o.from),
        };
        event.complete_place(case);
        self.ranks.complete(&mut event);
        let known = self.events.iter().any(|e| {
            e.symptom == event.symptom
                && e.place == event.place
                && e.facts == event.facts
                && e.rule == event.rule
        });
        if known || self.events.len() >= MAX_EVENTS {
            return false;
        }
        self.events.push(event);
        true
    }

    fn event_mut(&mut self, index: u32) -> Option<&mut Event> {
        self.events.get_mut(index as usize)
    }

    /// Edges into an event, strongest first.
    #[must_use]
    pub fn causes_of(&self, effect: u32) -> &[Edge] {
        let start = self.edges.partition_point(|e| e.effect < effect);
        let end = self.edges.partition_point(|e| e.effect <= effect);
        self.edges.get(start..end).unwrap_or(&[])
    }

    /// Takes away all edges from events that explain nothing after all.
    pub fn dismiss(&mut self, causes: impl Fn(u32) -> bool) {
        self.edges.retain(|e| !causes(e.cause));
    }

    /// Effects by their causes.
    #[must_use]
    pub fn effects_by_cause(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut by_cause: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for edge in &self.edges {
            by_cause.entry(edge.cause).or_default().push(edge.effect);
        }
        by_cause
    }

    /// All events that an event explains, directly or through others.
    #[must_use]
    pub fn reached_from(cause: u32, by_cause: &BTreeMap<u32, Vec<u32>>) -> std::collections::BTreeSet<u32> {
        let mut seen = std::collections::BTreeSet::new();
        let mut stack = vec![cause];
        while let Some(node) = stack.pop() {
            for &effect in by_cause.get(&node).map_or(&[][..], Vec::as_slice) {
                if seen.insert(effect) {
                    stack.push(effect);
                }
            }
        }
        seen
    }
}

/// A line that states its cause stands for that cause where it has no record of its own ("caused by previous Xid 149" with the
/// record of the Xid 149 lost).
fn imply_stated(events: &mut Vec<Event>, rules: &RuleSet) {
    // A place without a node is a place in its stream.
    let spot = |symptom: &str, e: &Event| {
        let stream = if e.place.node.is_some() { None } else { Some(e.first.stream) };
        (symptom.to_owned(), e.place.node.clone(), e.place.gpu.clone(), stream)
    };
    let seen: std::collections::BTreeSet<_> = events.iter().map(|e| spot(&e.symptom, e)).collect();
    let mut implied: BTreeMap<_, Event> = BTreeMap::new();
    for effect in events.iter() {
        let Some(named) = effect.facts.get("caused_by") else { continue };
        let Some(definition) = rules.symptom(named) else { continue };
        let key = spot(named, effect);
        if seen.contains(&key) {
            continue;
        }
        let known = implied.entry(key).or_insert_with(|| {
            let mut cause = effect.clone();
            cause.symptom.clone_from(named);
            cause.role = definition.symptom.role;
            cause.rank = definition.symptom.rank;
            cause.implied = true;
            cause.facts = BTreeMap::new();
            cause.notes = vec!["stated by the lines that follow from it; its own record was not seen".into()];
            cause.hits = Vec::new();
            cause.count = 1;
            cause
        });
        known.hits = known
            .hits
            .iter()
            .chain(&effect.hits)
            .copied()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        known.last = known.last.max(effect.last);
    }
    let implied: Vec<Event> = implied.into_values().collect();
    events.extend(implied);
    events.sort_by(|a, b| a.canonical_key().cmp(&b.canonical_key()).then_with(|| a.facts.cmp(&b.facts)));
}
