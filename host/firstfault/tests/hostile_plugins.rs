//! A plugin that fails, in whichever way, changes nothing but what the diagnosis says of the plugin.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "support/guest.rs"]
mod guest;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/program.rs"]
mod program;
#[path = "support/schema.rs"]
mod schema;

use std::sync::LazyLock;

use guest::{Guest, LOOP, MEMORY_BOMB, NAME, TRAP};
use serde_json::Value;

const SAMPLE: &str = "nvlink_xid149";

static WITHOUT: LazyLock<Value> = LazyLock::new(|| program::diagnose([SAMPLE]));

/// The diagnosis of the sample with this file as a plugin.
fn diagnose_with(wasm: &[u8]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(NAME).with_extension("wasm");
    std::fs::write(&file, wasm).unwrap();
    program::diagnose([SAMPLE.as_ref(), "--plugin".as_ref(), file.as_os_str()])
}

/// What a diagnosis says of the plugin.
fn plugin(diagnosis: &Value) -> &Value {
    let plugins = diagnosis["provenance"]["plugins"].as_array().unwrap();
    let named: Vec<&Value> = plugins.iter().filter(|p| p["name"] == NAME).collect();
    assert_eq!(named.len(), 1, "the plugin is named once: {plugins:?}");
    named[0]
}

/// Fails unless the finding is the one without the plugin.
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
    ] {
        assert_eq!(diagnosis[part], WITHOUT[part], "{part}");
    }
    let texts = |document: &Value| -> Vec<String> {
        document["evidence"].as_array().unwrap().iter().map(|e| e["text"].to_string()).collect()
    };
    assert_eq!(texts(diagnosis), texts(&WITHOUT));
}

fn assert_fails_alone(wasm: &[u8], status: &str) {
    let diagnosis = diagnose_with(wasm);
    let plugin = plugin(&diagnosis);
    assert_eq!(plugin["status"], status, "{plugin}");
    assert!(plugin["detail"].as_str().is_some_and(|d| d.len() > 10), "the detail says why: {plugin}");
    assert!(plugin["digest"].as_str().is_some_and(|d| d.starts_with("sha256:")), "{plugin}");
    assert_same_finding(&diagnosis);
}

#[test]
fn an_idle_module_changes_nothing() {
    let diagnosis = diagnose_with(&Guest::new().build());
    assert_eq!(plugin(&diagnosis)["status"], "ok");
    assert_same_finding(&diagnosis);
}

/// The calls under test really happen: a module that answers well is heard.
#[test]
fn an_honest_module_is_heard() {
    let diagnosis = diagnose_with(&Guest::new().with_event(0, "nccl.counters").build());
    assert_eq!(plugin(&diagnosis)["status"], "ok", "{}", plugin(&diagnosis));
    assert_eq!(diagnosis["verdict"], WITHOUT["verdict"]);
    let counters = |document: &Value| {
        let context = document["context"].as_array().unwrap();
        context.iter().find(|c| c["symptom"] == "nccl.counters").map(|c| c["count"].as_u64().unwrap())
    };
    assert!(counters(&diagnosis) > counters(&WITHOUT));
}

#[test]
fn an_endless_loop_in_extract() {
    assert_fails_alone(&Guest::new().extracting(LOOP).build(), "out_of_fuel");
}

#[test]
fn an_endless_loop_in_refine() {
    assert_fails_alone(&Guest::new().refining(LOOP).build(), "out_of_fuel");
}

#[test]
fn a_trap_in_extract() {
    assert_fails_alone(&Guest::new().extracting(TRAP).build(), "trap");
}

/// Its events were made already and are taken back.
#[test]
fn a_trap_in_refine() {
    assert_fails_alone(&Guest::new().with_event(0, "nccl.watchdog_timeout").refining(TRAP).build(), "trap");
}

#[test]
fn a_memory_bomb_in_extract() {
    assert_fails_alone(&Guest::new().extracting(MEMORY_BOMB).build(), "limit");
}

#[test]
fn an_event_of_a_hit_that_does_not_exist() {
    assert_fails_alone(&Guest::new().with_event(9_999, "nccl.watchdog_timeout").build(), "malformed");
}

#[test]
fn an_event_of_a_symptom_that_does_not_exist() {
    assert_fails_alone(&Guest::new().with_event(0, "no.such_symptom").build(), "malformed");
}

#[test]
fn a_note_on_an_event_that_does_not_exist() {
    assert_fails_alone(
        &Guest::new().with_event(0, "nccl.watchdog_timeout").with_note(999_999, "x").build(),
        "malformed",
    );
}

#[test]
fn an_answer_that_lies_beyond_memory() {
    assert_fails_alone(&Guest::new().extracting("(i32.const -64)").build(), "malformed");
}

#[test]
fn what_is_no_plugin_is_refused() {
    let whole = Guest::new().build();
    assert_fails_alone(b"garbage", "refused");
    assert_fails_alone(b"", "refused");
    assert_fails_alone(&whole[..whole.len() / 2], "refused");
    assert_fails_alone(&wat::parse_str("(module)").unwrap(), "refused");
    assert_fails_alone(&wat::parse_str("(component)").unwrap(), "refused");
    assert_fails_alone(&Guest::new().of_two_worlds().build(), "refused");
}

#[test]
fn a_pack_that_does_not_fit_is_refused() {
    let header = "[pack]\nname = \"guest\"\nversion = \"0.1.0\"\n";
    assert_fails_alone(&Guest::new().describing("not = [toml").build(), "refused");
    let too_short =
        format!("{header}[[signature]]\nmodule = \"self\"\nsources = [\"app\"]\npattern = 'a.b'\n");
    assert_fails_alone(&Guest::new().describing(&too_short).build(), "refused");
    let unknown = format!(
        "{header}[[signature]]\nsymptom = \"no.such_symptom\"\nsources = [\"app\"]\npattern = 'Watchdog caught'\n"
    );
    assert_fails_alone(&Guest::new().describing(&unknown).build(), "refused");
    let twice =
        format!("{header}[[symptom]]\nid = \"xid.149\"\nrole = \"benign\"\ntitle = \"nothing to see\"\n");
    assert_fails_alone(&Guest::new().describing(&twice).build(), "refused");
}

#[test]
fn text_names_the_plugin_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guest.wasm");
    std::fs::write(&file, Guest::new().extracting(TRAP).build()).unwrap();
    let text = program::output(program::firstfault().args(["diagnose", SAMPLE, "--plugin"]).arg(&file));
    assert!(text.contains("plugin guest failed: trap"), "{text}");
}

/// A module cannot take the place of what is shipped by taking its name.
#[test]
fn a_name_that_is_taken_is_refused() {
    for (name, count) in [("xid", 1), ("xid-lines", 2)] {
        let pack = format!("[pack]\nname = \"{name}\"\nversion = \"9.9.9\"\n");
        let diagnosis = diagnose_with(&Guest::new().describing(&pack).build());
        let plugins = diagnosis["provenance"]["plugins"].as_array().unwrap();
        let named: Vec<&Value> = plugins.iter().filter(|p| p["name"] == name).collect();
        assert_eq!(named.len(), count, "{plugins:?}");
        assert!(named.iter().any(|p| p["status"] == "refused" && p["version"] == "9.9.9"), "{named:?}");
        assert_same_finding(&diagnosis);
    }
}

/// What would be left aside is not left aside in silence.
#[test]
fn plugins_that_would_not_be_asked_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (shipped, file, word) in
        [("static", "mine.wasm", "not asked about paths"), ("files", "files.wasm", "another collector")]
    {
        let wasm = firstfault_bundle::plugins().iter().find(|p| p.name == shipped).unwrap().wasm;
        let path = folder.path().join(file);
        std::fs::write(&path, wasm).unwrap();
        let diagnosis = program::diagnose([SAMPLE.as_ref(), "--plugin".as_ref(), path.as_os_str()]);
        assert_same_finding(&diagnosis);
        let plugins = diagnosis["provenance"]["plugins"].as_array().unwrap();
        let refused: Vec<&Value> = plugins.iter().filter(|p| p["status"] == "refused").collect();
        assert_eq!(refused.len(), 1, "{plugins:?}");
        assert!(refused[0]["detail"].as_str().unwrap().contains(word), "{refused:?}");
    }
}

#[test]
fn a_check_of_the_rules_fails_with_a_plugin_that_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guest.wasm");
    for (wasm, fine) in [(Guest::new().build(), true), (b"garbage".to_vec(), false)] {
        std::fs::write(&path, wasm).unwrap();
        for action in ["check", "test"] {
            let run = program::firstfault().args(["rules", action, "--plugin"]).arg(&path).output().unwrap();
            let complaint = String::from_utf8(run.stderr).unwrap();
            assert_eq!(run.status.success(), fine, "{action}: {complaint}");
            assert!(fine || (complaint.contains("guest") && !complaint.contains('\u{1b}')), "{complaint}");
        }
    }
}
