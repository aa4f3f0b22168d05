//! Every sample is diagnosed as it is meant to be, and word for word as it was before.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/program.rs"]
mod program;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/schema.rs"]
mod schema;

use std::path::{Path, PathBuf};

use program::{diagnose, firstfault, output, sample_names, samples};
use serde::Deserialize;
use serde_json::{Value, json};

/// `expect.json` of a sample. What is null is not expected to be known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    verdict: String,
    symptom: Option<String>,
    domain: Option<String>,
    sub_domain: Option<String>,
    node: Option<String>,
    ranks: Option<Vec<u32>>,
    gpu: Option<u32>,
    missing: Option<Missing>,
    /// All root causes, where there are several that have nothing to do with each other.
    #[serde(default)]
    and: Vec<Fault>,
    /// Events that are not the cause, and why.
    #[serde(default)]
    ruled_out: Vec<RuledOut>,
    /// Whether it stood still before it ended.
    hang: Option<bool>,
    /// Nothing is to be excluded.
    #[serde(default)]
    not_excluded: bool,
    /// A clock that is off.
    clock: Option<Clock>,
    /// The switch that is responsible, and nothing else.
    switch: Option<String>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    symptom: String,
    node: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuledOut {
    symptom: String,
    why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clock {
    node: String,
    ahead: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Missing {
    node: String,
    source: String,
}

/// Compares a diagnosis with what is expected of it; says what differs.
fn differences(expected: &Expected, found: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let mut compare = |what: &str, wanted: Value, found: &Value| {
        if !wanted.is_null() && wanted != *found {
            out.push(format!("{what} is {found}, expected {wanted}"));
        }
    };
    let accused = &found[if expected.verdict == "attributed" { "root_causes" } else { "suspects" }][0];
    compare("verdict", json!(expected.verdict), &found["verdict"]);
    for (what, wanted) in [
        ("symptom", json!(expected.symptom)),
        ("domain", json!(expected.domain)),
        ("sub_domain", json!(expected.sub_domain)),
        ("node", json!(expected.node)),
        ("ranks", json!(expected.ranks)),
    ] {
        compare(what, wanted, &accused[what]);
    }
    compare("gpu", json!(expected.gpu), &accused["gpus"][0]["index"]);
    if let Some(hang) = expected.hang {
        compare("hang", json!(hang), &found["hang"]["detected"]);
    }
    if expected.not_excluded {
        compare("what is excluded", json!([]), &found["decision"]["exclude"]);
    }
    if let Some(switch) = &expected.switch {
        let only = json!({ "nodes": [], "gpus": [], "ports": [], "switches": [switch] });
        compare("what is responsible", only, &found["responsible"]);
    }
    if let Some(clock) = &expected.clock {
        let off = &found["clocks"][0];
        compare("the clock that is off", json!(clock.node), &off["node"]);
        compare(
            "whether it is ahead",
            json!(clock.ahead),
            &json!(off["offset_ms"].as_i64().unwrap_or(0) > 0),
        );
    }
    if !expected.and.is_empty() {
        let roots = found["root_causes"].as_array().unwrap();
        let mut blamed: Vec<Fault> = roots
            .iter()
            .map(|r| serde_json::from_value(json!({ "symptom": r["symptom"], "node": r["node"] })).unwrap())
            .collect();
        blamed.sort();
        if blamed != expected.and || roots.iter().any(|r| r["relation"] != "independent") {
            out.push(format!("root causes are {blamed:?}, expected {:?}, independent", expected.and));
        }
    }
    for wanted in &expected.ruled_out {
        let listed = found["ruled_out"].as_array().unwrap();
        if !listed.iter().any(|r| r["symptom"] == wanted.symptom && r["why"] == wanted.why) {
            out.push(format!("{wanted:?} is not ruled out: {listed:?}"));
        }
    }
    if let Some(missing) = &expected.missing {
        let listed = found["could_change_the_verdict"].as_array().unwrap();
        if !listed.iter().any(|m| m["node"] == missing.node && m["source"] == missing.source) {
            out.push(format!("{missing:?} is not asked for: {listed:?}"));
        }
    }
    out
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The document without what changes with every build of a plugin.
fn lasting(mut document: Value) -> String {
    document["id"] = json!("-");
    document["provenance"] =
        serde_json::from_str(&program::without_digests(&document["provenance"].to_string())).unwrap();
    serde_json::to_string_pretty(&document).unwrap() + "\n"
}

#[test]
fn samples_are_diagnosed_as_expected() {
    let mut wrong = Vec::new();
    for name in sample_names() {
        let text = std::fs::read_to_string(samples().join(&name).join("expect.json")).unwrap();
        let expected: Expected = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        wrong.extend(differences(&expected, &diagnose([&name])).into_iter().map(|d| format!("{name}: {d}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn documents_are_word_for_word_as_before() {
    for name in sample_names() {
        program::assert_is_file(&lasting(diagnose([&name])), &golden(&format!("{name}.json")));
    }
}

#[test]
fn texts_are_word_for_word_as_before_and_at_most_80_wide() {
    for name in sample_names() {
        let text = output(firstfault().args(["diagnose", "--color", "never", &name]));
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{name}: wider than 80: {line}");
        }
        program::assert_is_file(&program::without_digests(&text), &golden(&format!("{name}.txt")));
    }
}

#[test]
fn color_changes_nothing_but_color() {
    let plain = output(firstfault().args(["diagnose", "--color", "never", "nvlink_xid149"]));
    let colored = output(firstfault().args(["diagnose", "--color", "always", "nvlink_xid149"]));
    assert!(colored.contains('\u{1b}') && !plain.contains('\u{1b}'));
    let mut parts = colored.split("\u{1b}[");
    let mut stripped = parts.next().unwrap().to_owned();
    for part in parts {
        stripped.push_str(part.split_once('m').expect("a sequence that sets colours").1);
    }
    assert_eq!(stripped, plain);
}

/// Contexts of samples are of the schema as well.
#[test]
fn contexts_are_of_their_schema() {
    for name in sample_names() {
        let text = std::fs::read_to_string(samples().join(&name).join("context.json")).unwrap();
        schema::assert_valid("context", &serde_json::from_str(&text).unwrap());
    }
}
