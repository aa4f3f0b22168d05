//! A plugin that fails, in whichever way, changes nothing but what the diagnosis says of the plugin.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "support/guest.rs"]
mod guest;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/program.rs"]
mod program;
#[path = "support/schema.rs"]
mod schema;

use std::path::Path;
use std::sync::LazyLock;

use firstfault::arguments::RuleOptions;
use firstfault::generation::Generation;
use firstfault::pipeline::{self, Asked, timing::Timing};
use firstfault_runtime::Limits;
use guest::{
    Guest, TRAP, answering, armed, collector, connector, failures, idle, module, observing, with_event,
};
use serde_json::Value;
use tempfile::TempDir;

const SAMPLE: &str = "nvlink_xid149";
const WORLDS: [&str; 3] = ["rule-module", "telemetry-collector", "context-connector"];
/// A fault on a node of the sample that has none.
const FAULT: &str = "2026-09-14T04:00:00.000000+00:00 lyra-044 kernel: [1767000.000000] NVRM: Xid (PCI:0000:c4:00): 79, pid=1, name=python3, GPU has fallen off the bus.";

static WITHOUT: LazyLock<Value> = LazyLock::new(|| program::diagnose([SAMPLE]));

/// A plugin: the name of its file and its bytes.
type Named<'a> = (&'a str, Vec<u8>);

fn folder(plugins: &[Named<'_>]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, wasm) in plugins {
        std::fs::write(folder.path().join(name).with_extension("wasm"), wasm).unwrap();
    }
    folder
}

/// The command with these files as plugins, of which each call may take ten million instructions.
fn command(subject: &[&str], folder: &Path, plugins: &[Named<'_>]) -> assert_cmd::Command {
    let mut command = program::firstfault();
    command.args(subject).args(["--plugin-fuel", "10"]);
    for (name, _) in plugins {
        command.arg("--plugin").arg(folder.join(name).with_extension("wasm"));
    }
    command
}

/// The diagnosis of the sample with these plugins.
fn diagnose_with(plugins: &[Named<'_>]) -> Value {
    let folder = folder(plugins);
    let text =
        program::output(&mut command(&["diagnose", SAMPLE, "--format", "json"], folder.path(), plugins));
    let document = serde_json::from_str(&text).unwrap();
    schema::assert_valid("diagnosis", &document);
    document
}

/// What a diagnosis says of a plugin.
fn plugin<'a>(diagnosis: &'a Value, name: &str) -> &'a Value {
    let plugins = diagnosis["provenance"]["plugins"].as_array().unwrap();
    let named: Vec<&Value> = plugins.iter().filter(|p| p["name"] == name).collect();
    assert_eq!(named.len(), 1, "{name} is named once: {plugins:?}");
    named[0]
}

/// Fails unless the finding is the one without plugins of the site.
fn assert_same_finding(diagnosis: &Value) {
    for part in [
        "verdict",
        "summary",
        "root_causes",
        "suspects",
        "symptoms",
        "ruled_out",
        "context",
        "affected",
        "decision",
        "coverage",
    ] {
        assert_eq!(diagnosis[part], WITHOUT[part], "{part}");
    }
    let texts = |document: &Value| -> Vec<String> {
        document["evidence"].as_array().unwrap().iter().map(|e| e["text"].to_string()).collect()
    };
    assert_eq!(texts(diagnosis), texts(&WITHOUT));
}

/// Each of the plugins ends with its status, and nothing else is different.
fn assert_fail_alone(plugins: &[(&str, Vec<u8>, &str)]) {
    let plugins: Vec<_> =
        plugins.iter().map(|(name, wasm, status)| (*name, wasm.clone(), [*status])).collect();
    let plugins: Vec<_> =
        plugins.iter().map(|(name, wasm, status)| (*name, wasm.clone(), &status[..])).collect();
    assert_all_fail_alone(&plugins);
}

/// The same where one of several statuses is right.
fn assert_all_fail_alone(plugins: &[(&str, Vec<u8>, &[&str])]) {
    let named: Vec<Named<'_>> = plugins.iter().map(|(name, wasm, _)| (*name, wasm.clone())).collect();
    let diagnosis = diagnose_with(&named);
    for (name, _, statuses) in plugins {
        let plugin = plugin(&diagnosis, name);
        let status = plugin["status"].as_str().unwrap();
        assert!(statuses.contains(&status), "{plugin} instead of {statuses:?}");
        assert!(plugin["detail"].as_str().is_some_and(|d| d.len() > 10), "the detail says why: {plugin}");
        assert!(plugin["digest"].as_str().is_some_and(|d| d.starts_with("sha256:")), "{plugin}");
    }
    assert_same_finding(&diagnosis);
}

/// Each failure in this call.
fn assert_each_failure(make: impl Fn(&str, &str) -> Guest, refused: bool) {
    let failures = failures();
    let plugins: Vec<_> = failures
        .iter()
        .map(|(name, code, status)| {
            (*name, armed(make(name, code)).build(), if refused { &["refused"][..] } else { *status })
        })
        .collect();
    assert_all_fail_alone(&plugins);
}

#[test]
fn extract_may_fail_in_every_way() {
    assert_each_failure(|name, code| module(name, Some(code), None, |_| {}), false);
}

/// What the module made before is taken back.
#[test]
fn refine_may_fail_in_every_way() {
    assert_each_failure(|name, code| with_event(name, 0, "nccl.watchdog_timeout", Some(code)), false);
}

#[test]
fn collect_may_fail_in_every_way() {
    assert_each_failure(|name, code| collector(name, Some(code)), false);
}

/// What the collector brought before is taken back.
#[test]
fn collect_may_fail_behind_its_first_lines() {
    assert_each_failure(|name, code| observing(name, "lyra-044", FAULT, Some(code), &[]), false);
}

#[test]
fn describe_may_fail_in_every_way() {
    for world in WORLDS {
        assert_each_failure(|name, code| idle(world, name).describe(code), true);
    }
}

#[test]
fn a_component_may_fail_as_it_starts() {
    let start = |code: &str| idle("telemetry-collector", "x").start(code).build();
    assert_fail_alone(&[
        ("loops", start("(loop $again (br $again))"), "refused"),
        ("traps", start("unreachable"), "refused"),
        (
            "grows",
            start("(if (i32.eq (memory.grow (i32.const 65535)) (i32.const -1)) (then unreachable))"),
            "refused",
        ),
    ]);
}

#[test]
fn idle_plugins_change_nothing() {
    let plugins = ["rule-module", "telemetry-collector"].map(|world| (world, idle(world, world).build()));
    let diagnosis = diagnose_with(&plugins);
    for (name, _) in &plugins {
        assert_eq!(plugin(&diagnosis, name)["status"], "ok");
    }
    let coverage = |document: &Value| {
        let mut coverage = document["coverage"].clone();
        for source in coverage.as_array_mut().unwrap() {
            source["collector"] = Value::Null;
        }
        coverage
    };
    assert_eq!(coverage(&diagnosis), coverage(&WITHOUT));
    assert_eq!(diagnosis["root_causes"], WITHOUT["root_causes"]);
}

/// The calls under test really happen: plugins that answer well are heard.
#[test]
fn honest_plugins_are_heard() {
    let diagnosis = diagnose_with(&[
        ("counts", with_event("counts", 0, "nccl.counters", None).build()),
        ("observes", observing("observes", "lyra-044", FAULT, None, &[]).build()),
    ]);
    assert_eq!(plugin(&diagnosis, "counts")["status"], "ok");
    let counters = |document: &Value| {
        let context = document["context"].as_array().unwrap();
        context.iter().find(|c| c["symptom"] == "nccl.counters").map(|c| c["count"].as_u64().unwrap())
    };
    assert!(counters(&diagnosis) > counters(&WITHOUT));
    let evidence = diagnosis["evidence"].as_array().unwrap();
    assert!(evidence.iter().any(|e| e["text"] == FAULT), "{evidence:?}");
}

#[test]
fn answers_that_break_a_rule() {
    let text = |name: &str, bytes: &[u8]| {
        answering(name, None, |image| {
            let mut event = [image.list(&[vec![0; 4]]), image.text("ab"), vec![0; 16]].concat();
            let at = image.put(bytes);
            event[8..12].copy_from_slice(&at.to_le_bytes());
            let list = image.list(&[event]);
            image.ok(&list)
        })
        .build()
    };
    let many = answering("many", None, |image| {
        let event = [image.list(&[vec![0; 4]]), image.text("nccl.counters"), vec![0; 16]].concat();
        let list = image.list(&vec![event; 2_000]);
        image.ok(&list)
    });
    let note = |image: &mut guest::Image| {
        let text = image.text("x");
        let mut note = [&[2, 0, 0, 0, 0, 0, 0, 0][..], &999_999_u32.to_le_bytes(), &text].concat();
        note.resize(72, 0);
        let list = image.list(&[note]);
        image.ok(&list)
    };
    let mut laid = guest::Image::default();
    let at = note(&mut laid);
    let notes = module("notes", None, Some(&format!("(i32.const {at})")), |image| *image = laid);
    assert_fail_alone(&[
        ("hit", with_event("hit", 9_999, "nccl.watchdog_timeout", None).build(), "malformed"),
        ("symptom", with_event("symptom", 0, "no.such_symptom", None).build(), "malformed"),
        ("bytes", text("bytes", &[0xff, 0xfe]), "malformed"),
        ("many", many.build(), "malformed"),
        ("notes", notes.build(), "malformed"),
    ]);
}

#[test]
fn a_context_that_was_lent_is_given_back() {
    let mut keeping =
        Guest::new("telemetry-collector").manifest("[plugin]\nname = \"keeps\"\nversion = \"0.1.0\"\n");
    let empty = format!("(i32.const {})", keeping.image.ok(&[0; 16]));
    let keeping = keeping.function("collector", "collect", "(param $at i32) (result i32)", &empty);
    assert_fail_alone(&[("keeps", keeping.build(), "malformed")]);
}

#[test]
fn what_is_no_plugin_is_refused() {
    let whole = idle("rule-module", "whole").build();
    let imports = |world, guest: fn(Guest) -> Guest| {
        guest(Guest::new(world)).extract("unreachable").refine("unreachable").build()
    };
    let call = "(param i32)";
    assert_fail_alone(&[
        ("garbage", b"garbage".to_vec(), "refused"),
        ("empty", Vec::new(), "refused"),
        ("half", whole[..whole.len() / 2].to_vec(), "refused"),
        ("core-module", wat::parse_str("(module)").unwrap(), "refused"),
        ("no-exports", wat::parse_str("(component)").unwrap(), "refused"),
        (
            "two-worlds",
            Guest::new("both").extract("unreachable").refine("unreachable").resolve("unreachable").build(),
            "refused",
        ),
        ("no-description", imports("undescribed", |guest| guest), "refused"),
        (
            "wants-files",
            Guest::new("with-files")
                .own_import("files", "roots", call)
                .extract("(call $roots (i32.const 0)) unreachable")
                .refine("unreachable")
                .build(),
            "refused",
        ),
        (
            "sockets",
            Guest::new("with-sockets")
                .import("wasi:sockets/network@0.2.0", "[resource-drop]network", call)
                .extract("(call $drop-network (i32.const 0)) unreachable")
                .refine("unreachable")
                .build(),
            "refused",
        ),
        (
            "stranger",
            Guest::new("with-stranger")
                .import("test:guests/stranger", "ask", "")
                .extract("(call $ask) unreachable")
                .refine("unreachable")
                .build(),
            "refused",
        ),
    ]);
}

#[test]
fn descriptions_that_do_not_fit_are_refused() {
    let packs = |body: &str| module("x", None, None, |_| {}).manifest(body).build();
    let pack =
        |name: &str, body: &str| packs(&format!("[pack]\nname = \"{name}\"\nversion = \"0.1.0\"\n{body}"));
    let mut bytes = idle("rule-module", "x");
    let at = bytes.image.put(&[0xff, 0xfe, 0, 0]);
    let text = bytes.image.put(&[at.to_le_bytes(), 2_u32.to_le_bytes()].concat());
    let long = "(drop (memory.grow (i32.const 1800))) (i32.store (i32.const 1048576) (i32.const 2097152))
        (i32.store (i32.const 1048580) (i32.const 110000000)) (i32.const 1048576)";
    assert_fail_alone(&[
        ("no-toml", packs("not = [toml"), "refused"),
        ("long", idle("context-connector", "x").describe(long).build(), "refused"),
        ("no-text", bytes.describe(&format!("(i32.const {text})")).build(), "refused"),
        (
            "too-short",
            pack("too-short", "[[signature]]\nmodule = \"self\"\nsources = [\"app\"]\npattern = 'a.b'\n"),
            "refused",
        ),
        (
            "unknown",
            pack(
                "unknown",
                "[[signature]]\nsymptom = \"no.such_symptom\"\nsources = [\"app\"]\npattern = 'Watchdog caught'\n",
            ),
            "refused",
        ),
        (
            "twice",
            pack("twice", "[[symptom]]\nid = \"xid.149\"\nrole = \"benign\"\ntitle = \"nothing to see\"\n"),
            "refused",
        ),
    ]);
}

#[test]
fn text_names_the_plugins_that_failed() {
    let plugins = [
        ("judge", module("judge", Some(TRAP), None, |_| {}).build()),
        ("bringer", collector("bringer", Some(TRAP)).build()),
        ("knower", connector("knower", Some(TRAP)).build()),
        ("garbage", b"garbage".to_vec()),
    ];
    let folder = folder(&plugins);
    let output = command(&["diagnose", SAMPLE], folder.path(), &plugins).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for named in ["judge failed: trap", "bringer failed: trap", "plugin knower", "plugin garbage"] {
        assert!(text.contains(named), "{named}: {text}");
    }
    let complaint = String::from_utf8(output.stderr).unwrap();
    for (name, _) in &plugins {
        assert!(complaint.contains(name), "{name}: {complaint}");
    }
    assert!(!complaint.contains('\u{1b}'), "colours where there is no terminal: {complaint:?}");
}

/// A plugin cannot take the place of what is shipped by taking its name, nor be there twice.
#[test]
fn a_name_that_is_taken_is_refused() {
    for (name, count) in [("xid", 1), ("xid-lines", 2)] {
        let pack = format!("[pack]\nname = \"{name}\"\nversion = \"9.9.9\"\n");
        let wasm = module("x", None, None, |_| {}).manifest(&pack).build();
        let diagnosis = diagnose_with(&[("guest", wasm)]);
        let plugins = diagnosis["provenance"]["plugins"].as_array().unwrap();
        let named: Vec<&Value> = plugins.iter().filter(|p| p["name"] == name).collect();
        assert_eq!(named.len(), count, "{plugins:?}");
        assert!(named.iter().any(|p| p["status"] == "refused" && p["version"] == "9.9.9"), "{named:?}");
        assert_same_finding(&diagnosis);
    }
    for world in ["rule-module", "telemetry-collector"] {
        let wasm = idle(world, "twin").build();
        let diagnosis = diagnose_with(&[("a", wasm.clone()), ("b", wasm)]);
        let plugins = diagnosis["provenance"]["plugins"].as_array().unwrap();
        let mut statuses: Vec<&str> =
            plugins.iter().filter(|p| p["name"] == "twin").map(|p| p["status"].as_str().unwrap()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, ["ok", "refused"], "{world}");
        let other = idle(world, if world == "rule-module" { "nccl-lines" } else { "files" }).build();
        let diagnosis = diagnose_with(&[("guest", other)]);
        let plugins = diagnosis["provenance"]["plugins"].as_array().unwrap();
        assert!(plugins.iter().any(|p| p["status"] == "refused" && p["version"] == "0.1.0"), "{plugins:?}");
        assert_same_finding(&diagnosis);
    }
}

/// What would be left aside is not left aside in silence.
#[test]
fn plugins_that_would_not_be_asked_are_refused() {
    let shipped = |name| firstfault_bundle::plugins().iter().find(|p| p.name == name).unwrap().wasm.to_vec();
    for (name, wasm, wants) in [
        ("mine", connector("mine", None).build(), "not asked about paths"),
        ("static", shipped("static"), "another plugin of the name"),
        ("files", shipped("files"), "another plugin of the name"),
    ] {
        let diagnosis = diagnose_with(&[(name, wasm)]);
        let plugins = diagnosis["provenance"]["plugins"].as_array().unwrap();
        let refused: Vec<&Value> = plugins.iter().filter(|p| p["status"] == "refused").collect();
        assert_eq!(refused.len(), 1, "{plugins:?}");
        assert!(refused[0]["detail"].as_str().unwrap().contains(wants), "{refused:?}");
        assert_same_finding(&diagnosis);
    }
}

#[test]
fn a_plugin_that_is_refused_does_not_pass_the_check() {
    for (name, wasm) in [
        ("garbage", b"garbage".to_vec()),
        (
            "twice",
            module("x", None, None, |_| {}).manifest("[pack]\nname = \"xid\"\nversion = \"0.1.0\"\n").build(),
        ),
    ] {
        let plugins = [(name, wasm)];
        let folder = folder(&plugins);
        for action in ["check", "test"] {
            let output = command(&["rules", action], folder.path(), &plugins).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{name} {action}");
            assert!(String::from_utf8_lossy(&output.stderr).contains("firstfault: plugin '"), "{output:?}");
        }
    }
    let plugins = [("idle", idle("rule-module", "idle").build())];
    let folder = folder(&plugins);
    program::output(&mut command(&["rules", "check"], folder.path(), &plugins));
}

/// The diagnosis of the sample, in this process, with limits of its own for the plugin.
fn diagnose_within(limits: Limits, wasm: Vec<u8>) -> Value {
    let plugins = [("guest", wasm)];
    let folder = folder(&plugins);
    let options = RuleOptions { plugins: vec![folder.path().join("guest.wasm")], ..RuleOptions::default() };
    let generation = Generation::with_limits(&options, limits).unwrap();
    let path = program::samples().join(SAMPLE);
    let diagnosis =
        pipeline::diagnose(&generation, &[path], &Asked::default(), &mut Timing::default()).unwrap();
    serde_json::to_value(diagnosis).unwrap()
}

fn covered<'a>(diagnosis: &'a Value, source: &str) -> &'a Value {
    diagnosis["coverage"].as_array().unwrap().iter().find(|c| c["source"] == source).unwrap()
}

/// What a collector says that it did not get is part of what is not known.
#[test]
fn reports_reach_the_coverage() {
    let reporting = |report: &[(&str, &str)]| observing("guest", "lyra-041", "nothing", None, report).build();
    let failed =
        diagnose_within(Limits::default(), reporting(&[("fabric_manager", "failed"), ("app", "partial")]));
    assert_eq!(covered(&failed, "fabric_manager")["status"], "failed");
    let errors = covered(&failed, "fabric_manager")["errors"].to_string();
    assert!(errors.contains("guest report: not collected: test"), "{errors}");
    assert_eq!(covered(&failed, "app")["status"], "partial");
    assert_eq!(covered(&failed, "kernel")["status"], "ok");
    let unseen = diagnose_within(Limits::default(), reporting(&[("metric", "not_observable")]));
    let errors = covered(&unseen, "metric")["errors"].to_string();
    assert!(errors.contains("cannot be seen from here"), "{errors}");
    assert_eq!(covered(&unseen, "app")["status"], "ok");
}

#[test]
fn refused_lines_reach_the_coverage() {
    let limits = Limits { spool_bytes: 8, ..Limits::default() };
    let diagnosis = diagnose_within(limits, observing("guest", "lyra-044", FAULT, None, &[]).build());
    let limit = diagnosis["limits"]
        .as_array()
        .unwrap()
        .iter()
        .find(|l| l["what"].as_str().unwrap().contains("guest"));
    let limit = limit.unwrap_or_else(|| panic!("{}", diagnosis["limits"]));
    assert_eq!((limit["cap"].as_u64(), limit["dropped"].as_u64()), (Some(8), Some(1)));
    assert_eq!(diagnosis["root_causes"], WITHOUT["root_causes"]);
}

/// A file that two collectors attach is read once.
#[test]
fn a_file_that_is_attached_twice_is_read_once() {
    let mut guest =
        Guest::new("telemetry-collector").manifest("[plugin]\nname = \"guest\"\nversion = \"0.1.0\"\n");
    let image = &mut guest.image;
    let (root, path) = (image.put(b"given-0"), "logs/lyra-047/kernel.log");
    let at = image.put(path.as_bytes());
    let labels = image.pairs(&[("source", "kernel"), ("node", "lyra-047")]);
    let labels = u32::from_le_bytes(labels[..4].try_into().unwrap());
    let answer = image.put(&[0; 64]);
    let empty = image.ok(&[0; 16]);
    let wasm = guest
        .own_import("files", "attach", "(param i32 i32 i32 i32 i32 i32 i32)")
        .collect(&format!(
            "(call $attach (i32.const {root}) (i32.const 7) (i32.const {at}) (i32.const {}) (i32.const {labels}) (i32.const 2) (i32.const {answer}))
             (if (i32.load8_u (i32.const {answer})) (then unreachable))
             (i32.const {empty})",
            path.len()
        ))
        .build();
    let diagnosis = diagnose_within(Limits::default(), wasm);
    assert_eq!(plugin(&diagnosis, "guest")["status"], "ok");
    assert_eq!(covered(&diagnosis, "kernel")["lines"], covered(&WITHOUT, "kernel")["lines"]);
    assert_eq!(diagnosis["root_causes"], WITHOUT["root_causes"]);
}
