//! The same evidence gives the same bytes, however it is given and whatever it is read with.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "support/logs.rs"]
mod logs;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/program.rs"]
mod program;
#[path = "support/schema.rs"]
mod schema;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use firstfault::arguments::RuleOptions;
use firstfault::generation::Generation;
use firstfault_engine::Case;
use firstfault_engine::digest::evidence_digest;
use firstfault_model::context::ExecutionContext;
use firstfault_model::hit::Hit;
use firstfault_model::source::{Source, Trust};
use firstfault_model::stream::StreamName;
use firstfault_reader::{Input, Part, ReaderLimits, Reading};
use logs::Numbers;
use program::{copy_folder, diagnose, diagnose_text, firstfault, output, samples};
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

const SAMPLE: &str = "nvlink_xid149";

static GENERATION: LazyLock<Generation> =
    LazyLock::new(|| Generation::load(&RuleOptions::default()).unwrap());
static DOCUMENT: LazyLock<String> = LazyLock::new(|| diagnose_text([SAMPLE]));

#[test]
fn threads_do_not_matter() {
    for threads in ["1", "2", "8"] {
        assert_eq!(diagnose_text([SAMPLE, "--threads", threads]), *DOCUMENT, "{threads} threads");
    }
}

#[test]
fn zone_and_language_of_the_machine_do_not_matter() {
    for (zone, language) in [("America/New_York", "de_DE.UTF-8"), ("Asia/Kolkata", "C"), ("nowhere", "tr_TR")]
    {
        let mut command = firstfault();
        command.env("TZ", zone).env("LC_ALL", language).env("LANG", language);
        let text = output(command.args(["diagnose", SAMPLE, "--format", "json"]));
        assert_eq!(text, *DOCUMENT, "{zone} {language}");
    }
}

#[test]
fn the_place_of_the_folder_does_not_matter() {
    let folder = TempDir::new().unwrap();
    let copy = folder.path().join("elsewhere").join("kept under another name");
    copy_folder(&samples().join(SAMPLE), &copy);
    assert_eq!(diagnose_text([&copy]), *DOCUMENT);
    let around = samples().join("cuda_oom/..").join(SAMPLE);
    assert_eq!(diagnose_text([&around]), *DOCUMENT, "by a detour");
}

#[test]
fn the_order_of_paths_does_not_matter() {
    let logs = Path::new(SAMPLE).join("logs");
    let mut paths: Vec<PathBuf> =
        ["lyra-047/kernel.log", "lyra-047/app.log", "lyra-041/app.log", "scheduler.log", "lyra-042"]
            .map(|p| logs.join(p))
            .into();
    let first = diagnose_text(&paths);
    for _ in 1..paths.len() {
        paths.rotate_left(1);
        assert_eq!(diagnose_text(&paths), first, "{paths:?}");
    }
    paths.reverse();
    paths.push(logs.join("scheduler.log"));
    assert_eq!(diagnose_text(&paths), first, "backwards, and one of them twice");
}

/// What a finding says, without the names of the files that show it.
fn told(diagnosis: &Value) -> Vec<Value> {
    let mut told: Vec<Value> =
        ["verdict", "summary", "root_causes", "suspects", "symptoms", "decision", "affected"]
            .iter()
            .map(|part| diagnosis[part].clone())
            .collect();
    let evidence = diagnosis["evidence"].as_array().unwrap();
    told.extend(
        evidence
            .iter()
            .map(|e| serde_json::json!([e["text"], e["line_number"], e["byte_offset"], e["node"]])),
    );
    told
}

#[test]
fn compression_does_not_matter() {
    let plain: Value = serde_json::from_str(&DOCUMENT).unwrap();
    for ending in ["gz", "zst"] {
        let folder = TempDir::new().unwrap();
        copy_folder(&samples().join(SAMPLE), folder.path());
        for node in ["lyra-041", "lyra-047"] {
            for file in ["app.log", "kernel.log"] {
                let path = folder.path().join("logs").join(node).join(file);
                let bytes = std::fs::read(&path).unwrap();
                std::fs::write(path.with_extension(format!("log.{ending}")), compressed(&bytes, ending))
                    .unwrap();
                std::fs::remove_file(path).unwrap();
            }
        }
        assert_eq!(told(&diagnose([folder.path()])), told(&plain), "{ending}");
    }
}

fn compressed(bytes: &[u8], ending: &str) -> Vec<u8> {
    if ending == "zst" {
        return zstd::encode_all(bytes, 1).unwrap();
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Streams on disk: an app's log and a syslog, and a log in two parts.
struct Streams {
    _folder: TempDir,
    inputs: Vec<Input>,
}

impl Streams {
    fn new(seed: u64, length: usize, chunk: usize, rarity: usize, ending: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let mut file = 0;
        let mut part = |length: usize| -> Arc<dyn Part> {
            file += 1;
            let path = folder.path().join(file.to_string());
            let bytes = logs::log(seed.wrapping_add(file), length, chunk, rarity);
            let bytes = if ending.is_empty() { bytes } else { compressed(&bytes, ending) };
            std::fs::write(&path, bytes).unwrap();
            Arc::new(path)
        };
        let parts = [
            (Source::App, "lyra-041", vec![part(length)]),
            (Source::Syslog, "lyra-047", vec![part(length / 2)]),
            (Source::App, "lyra-042", vec![part(length / 2), part(length / 3)]),
        ];
        let inputs = parts
            .into_iter()
            .map(|(source, node, parts)| {
                let name = StreamName { source, node: Some(node.into()), name: "x.log".into(), rank: None };
                Input { name, trust: Trust::Unverified, parts, missing: 0 }
            })
            .collect();
        Self { _folder: folder, inputs }
    }

    fn read(&self, limits: &ReaderLimits, order: &mut Numbers) -> Reading {
        let mut inputs = self.inputs.clone();
        for i in (1..inputs.len()).rev() {
            inputs.swap(i, order.below(i + 1));
        }
        firstfault_reader::read(inputs, GENERATION.rules.matcher(), &context(), limits)
    }
}

fn context() -> ExecutionContext {
    let document = r#"{"start": "2026-09-14T03:00:00Z", "end": "2026-09-14T09:00:00Z", "nodes": [
        {"name": "lyra-041", "ranks": "0-63"}, {"name": "lyra-042", "ranks": "64-127"}, {"name": "lyra-047"}]}"#;
    ExecutionContext::parse(document).unwrap()
}

fn digest(reading: Reading) -> String {
    let Reading { streams, hits, marks, limits, .. } = reading;
    evidence_digest(&Case { context: context(), streams, hits, marks, limits, ..Case::default() })
}

fn assert_same(a: &Reading, b: &Reading) {
    for (i, (a, b)) in a.hits.iter().zip(&b.hits).enumerate() {
        assert_eq!(a, b, "hit {i}");
    }
    assert_eq!(a.hits.len(), b.hits.len());
    for (a, b) in a.streams.iter().zip(&b.streams) {
        assert_eq!(a, b);
    }
    assert_eq!(a.marks, b.marks);
    assert_eq!(a.limits, b.limits);
}

const WHOLE: usize = 64 << 20;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// All that is read is the same however the streams are cut into chunks, and in whichever order they are given.
    #[test]
    fn chunks_and_order_do_not_matter(seed: u64, chunk in (64_usize << 10)..(400 << 10), packed in 0..3_usize) {
        let streams = Streams::new(seed, 1 << 20, chunk, 120, ["", "gz", "zst"][packed]);
        let order = &mut Numbers::new(seed);
        let whole = streams.read(&ReaderLimits { chunk: WHOLE, ..ReaderLimits::default() }, order);
        prop_assert!(whole.hits.len() > 20 && !whole.marks.is_empty() && whole.limits.is_empty());
        let cut = streams.read(&ReaderLimits { chunk, ..ReaderLimits::default() }, order);
        assert_same(&whole, &cut);
        prop_assert_eq!(digest(whole), digest(cut));
    }

    /// So are those that are kept when there are more than the limit allows, and how many there were in all.
    #[test]
    fn limits_do_not_depend_on_chunks(seed: u64, chunk in (64_usize << 10)..(200 << 10)) {
        let streams = Streams::new(seed, 1 << 20, chunk, 4, "");
        let order = &mut Numbers::new(seed);
        let limits = ReaderLimits { hits: 1, chunk: WHOLE, ..ReaderLimits::default() };
        let whole = streams.read(&limits, order);
        let cut = streams.read(&ReaderLimits { chunk, ..limits }, order);
        prop_assert_eq!(kept(&whole), kept(&cut));
        prop_assert!(whole.limits.iter().any(|limit| limit.dropped > 0));
    }
}

/// The hits without their counts, and how many lines of each stream were counted in all.
fn kept(reading: &Reading) -> (Vec<Hit>, Vec<u64>) {
    let without_count = |hit: &Hit| Hit { count: 0, last: hit.first, last_time: None, ..hit.clone() };
    let of_stream = |i: usize| {
        reading.hits.iter().filter(move |h| h.first.stream as usize == i).map(|h| h.count).sum::<u64>()
    };
    let seen = reading.streams.iter().enumerate().map(|(i, s)| of_stream(i) + s.stats.dropped).collect();
    (reading.hits.iter().map(without_count).collect(), seen)
}

/// Up to the size that is in use, and with nothing but a border between two lines.
#[test]
fn large_chunks_and_exact_borders() {
    let order = &mut Numbers::new(1);
    for chunk in [(1 << 20) - 1, 1 << 20, 4 << 20] {
        let streams = Streams::new(chunk as u64, (4 << 20) + (1 << 19), chunk, 120, "");
        let whole = streams.read(&ReaderLimits { chunk: WHOLE, ..ReaderLimits::default() }, order);
        let cut = streams.read(&ReaderLimits { chunk, ..ReaderLimits::default() }, order);
        assert_same(&whole, &cut);
    }
}
