//! Runs the tests that packs carry, through the same reader, rule modules and engine as a diagnosis.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;

use firstfault_engine::Case;
use firstfault_engine::event::Event;
use firstfault_model::context::ExecutionContext;
use firstfault_model::source::{Source, Trust};
use firstfault_model::stream::StreamName;
use firstfault_model::time::parse_offset;
use firstfault_reader::{Input, Part, ReaderLimits};
use firstfault_rules::pack::{Expect, Test};

use crate::generation::Generation;
use crate::pipeline::attribute::attribute;

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

struct Lines(File);

impl Part for Lines {
    fn open(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

fn run(generation: &Generation, test: &Test) -> Result<(), String> {
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
    let attributed = attribute(generation, case);
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
