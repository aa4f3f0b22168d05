//! Runs the tests that packs carry, through the same reader, rule modules and engine as a diagnosis.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;

use firstfault_engine::Case;
use firstfault_engine::event::Event;
use firstfault_model::context::ExecutionContext;
use firstfault_model::hit::Position;
use firstfault_model::source::{Source, Trust};
use firstfault_model::stream::StreamName;
use firstfault_model::time::parse_offset;
use firstfault_reader::{Input, Part, ReaderLimits};
use firstfault_rules::pack::{Expect, Role, Symptom, Test};

use crate::generation::Generation;
use crate::pipeline::attribute::{Attributed, attribute};

/// What the tests gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many passed.
    pub passed: usize,
    /// What failed: pack, test, and what was expected and seen.
    pub failures: Vec<String>,
}

/// Runs all tests of a generation.
#[must_use]
pub fn run_all(generation: &Generation) -> Outcome {
    let mut outcome = Outcome::default();
    for (pack, test) in generation.rules.tests() {
        match run(generation, test) {
            Ok(()) => outcome.passed += 1,
            Err(why) => outcome.failures.push(format!("{pack}: {}: {why}", test.name)),
        }
    }
    outcome
}

/// Lines of the packs' tests of which two packs say what cannot both be so: that it is harmless and that it is a fault, or that it is
/// two different faults.
#[must_use]
pub fn disagreements(generation: &Generation) -> Vec<String> {
    let rules = &generation.rules;
    let mut found = BTreeSet::new();
    for (_, test) in rules.tests() {
        let Ok(attributed) = events_of(generation, test) else { continue };
        let mut by_line: BTreeMap<Position, Vec<&Event>> = BTreeMap::new();
        for event in attributed.graph.events.iter().filter(|e| !e.implied) {
            by_line.entry(event.first).or_default().push(event);
        }
        for events in by_line.values() {
            for (i, a) in events.iter().enumerate() {
                for b in events.iter().skip(i + 1) {
                    let (Some(x), Some(y)) = (rules.symptom(&a.symptom), rules.symptom(&b.symptom)) else {
                        continue;
                    };
                    let line = || attributed.case.hits.get(*a.hits.first()? as usize).map(|h| h.text.clone());
                    if x.pack != y.pack && contradict(&x.symptom, &y.symptom) {
                        found.insert(format!(
                            "'{}' of pack {} and '{}' of pack {} are both made of: {}",
                            a.symptom,
                            x.pack,
                            b.symptom,
                            y.pack,
                            line().unwrap_or_default()
                        ));
                    }
                }
            }
        }
    }
    found.into_iter().collect()
}

fn contradict(a: &Symptom, b: &Symptom) -> bool {
    let harmless = |s: &Symptom| s.role == Role::Benign;
    match (a.role.explains(), b.role.explains()) {
        (true, true) => (a.domain, &a.sub_domain) != (b.domain, &b.sub_domain),
        (true, false) => harmless(b),
        (false, true) => harmless(a),
        (false, false) => false,
    }
}

struct Lines(File);

impl Part for Lines {
    fn open(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

fn run(generation: &Generation, test: &Test) -> Result<(), String> {
    let attributed = events_of(generation, test)?;
    // Implied events are the engine's inference, not the pack's.
    let mut left: Vec<&Event> = attributed.graph.events.iter().filter(|e| !e.implied).collect();
    for expect in &test.expect {
        match left.iter().position(|event| fits(event, expect)) {
            Some(i) => _ = left.remove(i),
            None => return Err(format!("no event is {}; seen: {}", wanted(expect), list(&left))),
        }
    }
    if left.is_empty() { Ok(()) } else { Err(format!("events that are not expected: {}", list(&left))) }
}

/// What the lines of a test become.
fn events_of(generation: &Generation, test: &Test) -> Result<Attributed, String> {
    let context = match &test.context.document {
        Some(document) => ExecutionContext::new(document.clone()).map_err(|e| format!("context: {e}"))?,
        None => ExecutionContext::default(),
    };
    let mut file = tempfile::tempfile().map_err(|e| e.to_string())?;
    for line in &test.lines {
        writeln!(file, "{line}").map_err(|e| e.to_string())?;
    }
    let zone = match &test.context.zone {
        Some(text) => Some(
            parse_offset(text)
                .ok_or_else(|| format!("zone '{text}' is not an offset such as UTC or +01:00"))?,
        ),
        None => None,
    };
    let name = StreamName {
        source: Source::parse(test.source.as_deref().unwrap_or("app")),
        node: test.node.clone(),
        name: "test".into(),
        rank: None,
    };
    let input = Input { name, trust: Trust::Unverified, parts: vec![Arc::new(Lines(file))], missing: 0 };
    let limits = ReaderLimits { year: test.context.year, zone, ..ReaderLimits::default() };
    let reading = firstfault_reader::read(vec![input], generation.rules.matcher(), &context, &limits);
    let case = Case {
        context,
        streams: reading.streams,
        hits: reading.hits,
        marks: reading.marks,
        ..Case::default()
    };
    Ok(attribute(generation, case))
}

fn fits(event: &Event, expect: &Expect) -> bool {
    let place = &event.place;
    let text = |want: &Option<String>, have: Option<&str>| want.as_deref().is_none_or(|w| Some(w) == have);
    event.symptom == expect.symptom
        && text(&expect.node, place.node.as_deref())
        && expect.rank.is_none_or(|r| event.ranks == [r])
        && text(&expect.gpu, place.gpu.as_ref().map(firstfault_model::place::PciBusId::as_str))
        && text(&expect.link, place.link.as_deref())
        && text(&expect.process, place.process.as_deref())
        && text(&expect.port, place.port.as_deref())
        && expect.count.is_none_or(|c| c == event.count)
        && expect.onset.is_none_or(|want| event.onset.is_some_and(|o| o.from == want.from && o.to == want.to))
        && expect.facts.iter().all(|(k, v)| event.facts.get(k) == Some(v))
}

fn wanted(expect: &Expect) -> String {
    let mut out = expect.symptom.clone();
    for (name, value) in [
        ("node", expect.node.clone()),
        ("rank", expect.rank.map(|r| r.to_string())),
        ("gpu", expect.gpu.clone()),
        ("link", expect.link.clone()),
        ("process", expect.process.clone()),
        ("port", expect.port.clone()),
        ("count", expect.count.map(|c| c.to_string())),
        ("onset", expect.onset.map(|o| format!("{}..{}", o.from, o.to))),
    ] {
        if let Some(value) = value {
            out.push_str(&format!(" {name}={value}"));
        }
    }
    for (key, value) in &expect.facts {
        out.push_str(&format!(" {key}={value}"));
    }
    out
}

fn list(events: &[&Event]) -> String {
    if events.is_empty() {
        return "none".into();
    }
    let one = |event: &&Event| {
        let mut out = event.symptom.clone();
        for (key, value) in event
            .place
            .attributes()
            .iter()
            .chain(event.facts.iter().map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>().iter())
        {
            out.push_str(&format!(" {key}={value}"));
        }
        if let Some(onset) = event.onset {
            out.push_str(&format!(" onset={}..{}", onset.from, onset.to));
        }
        out
    };
    events.iter().map(one).collect::<Vec<_>>().join("; ")
}
