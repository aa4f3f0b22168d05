//! Whatever happens to the logs of an incident, nobody is blamed whom the whole logs clear.
//!
//! A thousand incidents are spoiled in ways that follow from a seed; `FIRSTFAULT_MUTATIONS=20000` makes it more, `FIRSTFAULT_MUTATION=17` runs one and
//! leaves its files in place.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/logs.rs"]
mod logs;
#[path = "support/mutation.rs"]
mod mutation;
#[path = "support/one_place.rs"]
mod one_place;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/program.rs"]
mod program;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/schema.rs"]
mod schema;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/stamps.rs"]
mod stamps;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use firstfault::arguments::RuleOptions;
use firstfault::generation::Generation;
use firstfault::pipeline::{self, Asked, timing::Timing};
use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::{Confidence, Diagnosis, PlaceFields, Relation, RootCause, Verdict};
use firstfault_render::TextOptions;
use mutation::Files;
use one_place::may_be_one;
use rayon::prelude::*;

/// A sample, what is in it, and what it says when it is whole.
struct Sample {
    name: String,
    files: Files,
    context: ExecutionContext,
    accused: Vec<PlaceFields>,
}

impl Sample {
    fn read(name: String, generation: &Generation) -> Self {
        let folder = program::samples().join(&name);
        let files = mutation::read(&folder);
        let context = ExecutionContext::parse(std::str::from_utf8(&files["context.json"]).unwrap()).unwrap();
        let finding = diagnose(generation, &folder).finding;
        let roots = finding.root_causes.into_iter().map(|root| root.place);
        let accused = roots.chain(finding.suspects.into_iter().map(|suspect| suspect.place)).collect();
        Self { name, files, context, accused }
    }

    /// Whether somebody at this place, or at a place that it may be part of, is accused by the whole logs.
    fn accuses(&self, place: &PlaceFields) -> bool {
        place == &PlaceFields::default()
            || self.accused.iter().any(|accused| may_be_one(&self.context, place, accused))
    }
}

fn diagnose(generation: &Generation, folder: &Path) -> Diagnosis {
    pipeline::diagnose(generation, &[folder.to_owned()], &Asked::default(), &mut Timing::default()).unwrap()
}

/// What is wrong with the diagnosis of a spoiled sample, if anything is.
fn wrong(sample: &Sample, generation: &Generation, seed: u64) -> Option<String> {
    let mut files = sample.files.clone();
    let kinds = mutation::spoil(&mut files, seed);
    let folder = tempfile::tempdir().unwrap();
    mutation::write(&files, folder.path());
    let complain = |what: String| Some(format!("seed {seed}, {} {kinds:?}: {what}", sample.name));
    let diagnosis = catch_unwind(AssertUnwindSafe(|| {
        let diagnosis = diagnose(generation, folder.path());
        assert!(!firstfault_render::text(&diagnosis, &TextOptions::default()).is_empty());
        diagnosis
    }));
    if std::env::var_os("FIRSTFAULT_MUTATION").is_some() {
        eprintln!("{} {kinds:?}: {}", sample.name, folder.keep().display());
    }
    let Ok(Diagnosis { finding, provenance, .. }) = diagnosis else {
        return complain("it panics".to_owned());
    };
    if let Some(plugin) = provenance.plugins.iter().find(|plugin| plugin.status != "ok") {
        return complain(format!("{plugin:?}"));
    }
    if (finding.verdict == Verdict::Attributed) == finding.root_causes.is_empty() {
        return complain(format!("{:?} with {} root causes", finding.verdict, finding.root_causes.len()));
    }
    // Without the lines that clear it a place may come into question, if it is no more than that.
    let lost = kinds.iter().any(|kind| kind.loses_lines());
    let known = finding.root_causes.iter().any(|root| sample.accuses(&root.place));
    let in_question = |root: &&RootCause| {
        lost && known && root.confidence == Confidence::Suspected && root.relation == Relation::Alternative
    };
    let mut innocents = finding.root_causes.iter().filter(|root| !sample.accuses(&root.place));
    let innocent = innocents.find(|root| !in_question(root))?;
    complain(format!("{} is blamed ({:?})\n  {}", innocent.symptom, innocent.confidence, finding.summary))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var_os(variable)?;
    Some(text.to_str().and_then(|text| text.parse().ok()).expect("the number of a mutation, or how many"))
}

#[test]
fn spoiled_logs_blame_nobody_whom_the_whole_ones_clear() {
    let generation = Generation::load(&RuleOptions::default()).unwrap();
    let samples: Vec<Sample> =
        program::sample_names().into_iter().map(|name| Sample::read(name, &generation)).collect();
    let seeds = number("FIRSTFAULT_MUTATION")
        .map_or(0..number("FIRSTFAULT_MUTATIONS").unwrap_or(1_000), |one| one..one + 1);
    let wrong: Vec<String> = seeds
        .into_par_iter()
        .filter_map(|seed| {
            let sample = &samples[usize::try_from(seed).unwrap() % samples.len()];
            wrong(sample, &generation, seed)
        })
        .collect();
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}
