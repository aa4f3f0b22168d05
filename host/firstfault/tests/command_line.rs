//! What is typed, what is answered, and how it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/program.rs"]
mod program;
#[path = "support/schema.rs"]
mod schema;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use program::{diagnose, firstfault, output, workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What a run that does not end well says, and its status.
fn failure<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> (i32, String) {
    let output = firstfault().args(arguments).output().unwrap();
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(!complaint.contains("panicked"), "{complaint}");
    (output.status.code().expect("it ends by itself"), complaint)
}

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

#[test]
fn wrong_usage() {
    let wrong: [&[&str]; 9] = [
        &[],
        &["diagnose"],
        &["diagnose", "x", "--format", "yaml"],
        &["diagnose", "x", "--threads", "many"],
        &["explain", "xid"],
        &["explain", "xid", "-1"],
        &["rules"],
        &["schema", "verdict"],
        &["no-such-command"],
    ];
    for arguments in wrong {
        let (status, complaint) = failure(arguments);
        assert_eq!(status, 2, "{arguments:?}: {complaint}");
        assert!(complaint.contains("Usage") || complaint.contains("--help"), "{arguments:?}: {complaint}");
    }
}

#[test]
fn help_and_version() {
    for arguments in [["--help"], ["--version"], ["help"]] {
        assert!(
            output(firstfault().args(arguments)).starts_with("firstfault ") || arguments != ["--version"]
        );
    }
    for command in ["diagnose", "explain", "rules", "schema"] {
        let help = output(firstfault().args([command, "--help"]));
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn a_path_that_does_not_exist_is_named() {
    for paths in [vec!["no/such/folder"], vec!["cuda_oom", "no/such/folder"]] {
        let (status, complaint) = failure([&["diagnose"], paths.as_slice()].concat());
        assert_eq!(status, 1);
        assert!(complaint.contains("no/such/folder"), "{complaint}");
    }
    for (option, text) in [("--rules", "no/rules"), ("--plugin", "no/plugin.wasm")] {
        let (status, complaint) = failure(["diagnose", "cuda_oom", option, text]);
        assert_eq!(status, 1);
        assert!(complaint.contains(text), "{complaint}");
    }
}

#[test]
fn an_empty_folder_is_no_proof_of_health() {
    let folder = folder(&[]);
    let document = diagnose([folder.path()]);
    assert_eq!(document["verdict"], "undetermined");
    let summary = document["summary"].as_str().unwrap();
    assert!(summary.starts_with("Nothing was read"), "{summary}");
    let text = output(firstfault().arg("diagnose").arg(folder.path()));
    assert!(text.starts_with("Nothing was read"), "{text}");
}

#[test]
fn a_malformed_context_is_named_with_its_field() {
    let wrong = [
        (r#"{"nodes": [{"name": "n1"}, {"name": "n1"}]}"#, "nodes[1].name"),
        (r#"{"zones": {"default": "Europe/Berlin"}}"#, "zones.default"),
        (r#"{"start": "2026-09-14T04:00:00Z", "end": "2026-09-14T03:00:00Z"}"#, "end"),
        (r#"{"schema": "firstfault.context/v9"}"#, "schema"),
        (r#"{"no_such_field": 1}"#, "no_such_field"),
        (r#"{"attempt": "first"}"#, "field `attempt`: invalid type: string \"first\", expected u32"),
        (
            "{\n\"nodes\": [\n{\"name\": [1]}]}",
            "field `nodes[0].name`: invalid type: sequence, expected a string (line 3)",
        ),
        (
            r#"{"nodes": [{"name": "n1"}, {"name": "n2", "gpus": [{"index": "x"}]}]}"#,
            "nodes[1].gpus[0].index",
        ),
        ("{\n  \"nodes\": [,]\n}", "line 2 column 13"),
        ("not json", "line 1 column"),
        ("", "context.json"),
    ];
    for (context, named) in wrong {
        let folder = folder(&[("context.json", context.as_bytes()), ("logs/n1/app.log", b"hello\n")]);
        let (status, complaint) = failure([OsStr::new("diagnose"), folder.path().as_os_str()]);
        assert_eq!(status, 1, "{context}");
        assert!(complaint.starts_with("firstfault: context.json: "), "{context}: {complaint}");
        assert!(complaint.contains(named), "{context}: {complaint}");
        for plumbing in ["plugin", "connector", "resolve", "(malformed)"] {
            assert!(!complaint.contains(plumbing), "{context}: {complaint}");
        }
    }
}

#[test]
fn exit_codes_say_the_class_of_the_fault() {
    for (sample, code) in [
        ("completed_with_noise", 0),
        ("nvlink_xid149", 10),
        ("cuda_oom", 11),
        ("peers_only", 20),
        ("nvlink_no_kernel_log", 20),
    ] {
        let asked = firstfault().args(["diagnose", sample, "--exit-code"]).output().unwrap();
        assert_eq!(asked.status.code(), Some(code), "{sample}");
        let plain = firstfault().args(["diagnose", sample]).output().unwrap();
        assert_eq!(plain.status.code(), Some(0), "{sample}");
        assert_eq!(asked.stdout, plain.stdout, "{sample}");
    }
}

#[test]
fn codes_are_explained() {
    let text = output(firstfault().args(["explain", "xid", "149"]));
    assert!(text.starts_with("XID 149") && text.contains("hardware / nvlink"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for arguments in [["explain", "xid", "9999"], ["explain", "sxid", "1"]] {
        let (status, complaint) = failure(arguments);
        assert_eq!(status, 1);
        assert!(complaint.contains(&format!("{} {}", arguments[1], arguments[2])), "{complaint}");
    }
}

#[test]
fn shipped_rules_are_sound() {
    let checked = output(firstfault().args(["rules", "check"]));
    for pack in ["cuda", "fabric", "kernel", "kubernetes", "nccl", "python", "slurm", "xid"] {
        assert!(checked.lines().any(|line| line.starts_with(&format!("{pack} "))), "{pack}: {checked}");
    }
    let tested = output(firstfault().args(["rules", "test"]));
    let (passed, rest) = tested.trim().split_once(" passed, ").expect("a count");
    assert!(passed.parse::<u32>().unwrap() > 100 && rest == "0 failed", "{tested}");
}

#[test]
fn rules_of_a_site() {
    let pack = r#"
        [pack]
        name = "site"
        version = "1.0.0"
        [[symptom]]
        id = "site.coolant_low"
        role = "cause"
        domain = "hardware"
        sub_domain = "thermal"
        title = "coolant is low"
        [[signature]]
        symptom = "site.coolant_low"
        sources = ["kernel"]
        pattern = 'coolant level (?P<level>\d+) below limit'
        [[test]]
        name = "the line of the site's driver"
        source = "kernel"
        lines = ["2026-09-14T03:00:00+00:00 n1 kernel: coolant level 3 below limit"]
        expect = [{ symptom = "site.coolant_low", node = "n1" }]
    "#;
    let good = folder(&[("site.toml", pack.as_bytes())]);
    let rules = |action: &str, folder: &TempDir| {
        firstfault().args(["rules", action, "--rules"]).arg(folder.path()).output().unwrap()
    };
    let tested = rules("test", &good);
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stdout));
    let wrong = folder(&[("site.toml", pack.replace("node = \"n1\"", "node = \"n2\"").as_bytes())]);
    let tested = rules("test", &wrong);
    assert_eq!(tested.status.code(), Some(1));
    let said = String::from_utf8(tested.stdout).unwrap();
    assert!(
        said.contains("FAILED site: the line of the site's driver") && said.contains("node=n2"),
        "{said}"
    );
    let broken = folder(&[("site.toml", pack.replace("sources", "source").as_bytes())]);
    let checked = rules("check", &broken);
    assert_eq!(checked.status.code(), Some(1));
    let said = String::from_utf8(checked.stderr).unwrap();
    assert!(said.contains("site.toml") && said.contains("source"), "{said}");
}

/// The schemas in the repository are those that the program prints.
#[test]
fn schemas_are_checked_in() {
    for name in ["diagnosis", "context"] {
        let file = workspace().join("schemas").join(format!("firstfault.{name}.v1.json"));
        program::assert_is_file(&output(firstfault().args(["schema", name])), &file);
    }
}

/// The validator of these tests does find what is wrong.
#[test]
fn the_schema_refuses_what_is_wrong() {
    let good = diagnose(["cuda_oom"]);
    let cases: [(&str, Value); 4] = [
        ("/verdict", json!("guilty")),
        ("/evidence/0/line_number", json!("1")),
        ("/root_causes/0/confidence", json!(0.9)),
        ("/provenance", json!({})),
    ];
    for (pointer, value) in cases {
        let mut wrong = good.clone();
        *wrong.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = value;
        assert!(!schema::problems("diagnosis", &wrong).is_empty(), "{pointer}");
    }
    assert!(!schema::problems("context", &json!({"no_such_field": 1})).is_empty());
}

/// Every way in which a text can take over a terminal or read as what it is not.
const NASTY: &[u8] = b"\x1b[2J\x1b[31m[rank3]: \x1b]0;owned\x07RuntimeError: CUDA error: \x9b31m out of memory \xe2\x80\xaeexe.txt\xe2\x81\xa6 \
    \x00\x08\x08\x7f\xe2\x80\x8b\r\n\x1b[rank4]: Traceback (most recent call last):\x1b\n\xc2\x9b2J NCCL WARN \xe2\x80\xa8 timeout\r\r\n\
    [rank3]:[E914 04:47:22.374913434 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: \
    WorkNCCL(SeqNum=\x1b[7m39390, OpType=ALL\xe2\x80\xaeREDUCE, Timeout(ms)=600000) ran for 600091 milliseconds before timing out.\n";

#[test]
fn nothing_of_a_log_reaches_the_terminal_raw() {
    let folder = folder(&[
        ("logs/n1/app.log", NASTY),
        ("logs/n1/a\u{202e}b\u{1b}[31m.log", NASTY),
        ("logs/n1/kernel.log", b"2026-09-14T04:37:21+00:00 n1 kernel: NVRM: Xid (PCI:0000:c4:00): 79, pid='\x1b[31m\xe2\x80\xae', GPU has fallen\n"),
    ]);
    let document = diagnose([folder.path()]);
    assert!(!document["evidence"].as_array().unwrap().is_empty(), "some line is shown");
    let text = output(firstfault().args(["diagnose", "--color", "never"]).arg(folder.path()));
    let deceptive = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    for line in text.lines() {
        assert!(!line.chars().any(|c| c.is_control() || deceptive(c)), "{line:?}");
        assert!(line.chars().count() <= 80, "{line:?}");
    }
}

#[test]
fn files_that_are_no_logs() {
    let noise: Vec<u8> = (0..300_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut long = b"2026-09-14T04:37:21+00:00 n1 app: ".to_vec();
    long.resize(10 << 20, b'x');
    let with_fault = b"\r\n\r\n2026-09-14T04:37:21+00:00 n1 kernel: NVRM: Xid (PCI:0000:c4:00): 79, pid=1, name=x, GPU has fallen off the bus.\r\n";
    let nul = vec![0; 200_000];
    let cases: [(&str, &[u8]); 9] = [
        ("random bytes", &noise),
        ("nothing", b""),
        ("one line of 10 MB", &long),
        ("invalid UTF-8", b"\xff\xfe\xc3\x28 [rank\xff]: \xf0\x28\x8c\x28\n"),
        ("NULs", &nul),
        ("CRLF", with_fault),
        ("one byte", b"\n"),
        ("a gzip that is cut off", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c"),
        ("a zstd that is none", b"\x28\xb5\x2f\xfd\xff\xff\xff\xff"),
    ];
    for (what, bytes) in cases {
        for name in ["logs/n1/kernel.log", "app.log", "core.bin"] {
            let folder = folder(&[(name, bytes)]);
            let document = diagnose([folder.path()]);
            if what == "CRLF" && name == "logs/n1/kernel.log" {
                assert_eq!(document["root_causes"][0]["symptom"], "xid.79", "{name}");
                let shown = document["evidence"][0]["text"].as_str().unwrap();
                assert!(shown.ends_with("bus."), "{shown:?}");
            }
            let file: PathBuf = folder.path().join(name);
            diagnose([&file as &Path]);
            output(firstfault().arg("diagnose").arg(&file));
        }
    }
}

#[test]
fn a_log_that_ends_with_an_error_that_no_rule_knows_is_undetermined_and_shows_it() {
    let log = "2026-11-02 20:00:00 INFO starting\n2026-11-02 20:00:05 step 1 loss 3.2\n\
               2026-11-02 20:00:10 blobfetch: request failed after 3 tries: shard 17\n2026-11-02 20:00:11 giving up\n";
    let ended = folder(&[("job.log", log.as_bytes())]);
    let document = diagnose([ended.path()]);
    assert_eq!(document["verdict"], "undetermined");
    let id = document["unrecognised"][0]["evidence"].as_str().unwrap();
    let cited = document["evidence"].as_array().unwrap().iter().find(|e| e["id"] == id).unwrap();
    assert_eq!((cited["line_number"].as_u64(), cited["stream"].as_str()), (Some(3), Some("job.log")));
    assert!(cited["text"].as_str().unwrap().contains("shard 17"));
    assert_eq!(cited["byte_offset"].as_u64().unwrap() as usize, log.find("2026-11-02 20:00:10").unwrap());
    // What the job went on after did not end it.
    let on: String = (2..40).map(|n| format!("2026-11-02 20:01:{n:02} step {n} loss 3.1\n")).collect();
    let went_on = folder(&[("job.log", (log.to_owned() + &on).as_bytes())]);
    assert_eq!(diagnose([went_on.path()])["verdict"], "no_fault");
}

#[test]
fn lines_that_no_rule_knows_are_found_around_the_onset_in_the_node_s_other_logs() {
    // Two hours of a driver's chatter, compressed, with one line of its own near the fault.
    let mut kernel = String::new();
    for n in 0..7200 {
        let (h, m, s) = (2 + n / 3600, n / 60 % 60, n % 60);
        kernel.push_str(&format!(
            "2026-11-02T0{h}:{m:02}:{s:02}.000000+00:00 n1 kernel: frob0: {} kicks\n",
            n * 7
        ));
        if n == 5400 {
            kernel.push_str("2026-11-02T03:30:00.500000+00:00 n1 kernel: frob0: engine failed to start\n");
        }
    }
    let app = "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"train.py\", line 7, in step\n\
               [rank0]: ValueError: bad frob\n2026-11-02 03:30:01 done for\n";
    let context = r#"{"start": "2026-11-02T02:00:00Z", "end": "2026-11-02T03:30:01Z", "terminal": {"state": "failed"},
        "nodes": [{"name": "n1", "ranks": [0]}]}"#;
    let compressed = {
        use std::io::Write as _;
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(kernel.as_bytes()).unwrap();
        gz.finish().unwrap()
    };
    for (name, bytes) in [("logs/n1/kernel.log", kernel.as_bytes()), ("logs/n1/kernel.log.gz", &compressed)] {
        let incident = folder(&[
            ("context.json", context.as_bytes()),
            ("logs/n1/app.log", app.as_bytes()),
            (name, bytes),
        ]);
        let document = diagnose([incident.path()]);
        let texts: Vec<&str> = document["unrecognised"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|u| {
                document["evidence"].as_array().unwrap().iter().find(|e| e["id"] == u["evidence"])?["text"]
                    .as_str()
            })
            .collect();
        assert!(texts.iter().any(|t| t.contains("engine failed to start")), "{name}: {texts:?}");
    }
}

#[test]
fn zones_and_years_that_are_typed() {
    let log =
        "Jul  1 02:00:00 n1 kernel: NVRM: Xid (PCI:0000:b5:00): 79, pid=4242, GPU has fallen off the bus.\n";
    let incident = folder(&[("logs/n1/kernel.log", log.as_bytes())]);
    let path = incident.path().to_str().unwrap();
    let onset = |options: &[&str]| {
        diagnose([&[path], options].concat())["evidence"][0]["time"].as_str().map(str::to_owned)
    };
    assert_eq!(onset(&["--zone", "+02:00", "--year", "2026"]).as_deref(), Some("2026-07-01T00:00:00.000Z"));
    assert_eq!(onset(&["--zone", "-0500", "--year", "2025"]).as_deref(), Some("2025-07-01T07:00:00.000Z"));
    assert_eq!(onset(&[]), None, "nothing tells the year");
    let text = output(firstfault().args(["diagnose", path, "--zone", "-0500", "--year", "2025"]));
    assert!(text.contains("--zone -05:00 --year 2025"), "{text}");
    for wrong in [["--zone", "Europe/Berlin"], ["--year", "26"]] {
        assert_eq!(failure([&["diagnose", path], wrong.as_slice()].concat()).0, 2);
    }
}

#[test]
fn secrets_are_nowhere_in_the_answer() {
    let log = "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"train.py\", line 7, in step\n\
               [rank0]: ValueError: cannot open s3://bob:hunter2hunter2@store/x?sig=c2lnbmVkCg with password=hunter3\n\
               2026-11-02 03:30:01 blobfetch: request failed, Authorization: Bearer hunter4.hunter4\n";
    let incident = folder(&[("job.log", log.as_bytes())]);
    for format in ["text", "json"] {
        let text = output(firstfault().arg("diagnose").arg(incident.path()).args(["--format", format]));
        assert!(text.contains("[redacted:password]") && !text.contains("hunter"), "{text}");
    }
}

#[test]
fn several_attempts_in_one_log() {
    let attempt = |hour: u32, exception: &str| {
        let step = |n: u32| format!("2026-11-02 {hour}:{n:02}:00,000 INFO step {n} loss 2.1\n");
        let steps: String = (1..30).map(step).collect();
        format!(
            "{steps}[rank0]: Traceback (most recent call last):\n[rank0]:   File \"train.py\", line 7, in step\n[rank0]: {exception}\n"
        )
    };
    let restart = |hour: u32, left: u32| {
        format!(
            "INFO 2026-11-02 {hour}:30:00,123 torch.distributed.elastic.agent.server.api: [default] Worker group FAILED. {left}/2 attempts left; will restart worker group\n"
        )
    };
    let log = [
        attempt(20, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        restart(20, 1),
        attempt(21, "ValueError: bad shard"),
        restart(21, 0),
        attempt(22, "IndexError: list index out of range"),
    ]
    .concat();
    let folder = folder(&[("job.log", log.as_bytes())]);
    let path = folder.path().to_str().unwrap();
    let document = diagnose([path]);
    assert_eq!(document["lineage"]["found"], 3);
    let previous: Vec<(u64, &str)> = document["lineage"]["previous"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["attempt"].as_u64().unwrap(), p["root"].as_str().unwrap()))
        .collect();
    assert_eq!(previous, [(2, "python.exception"), (1, "cuda.out_of_memory")]);
    assert_eq!(document["root_causes"][0]["symptom"], "cuda.out_of_memory", "what began it");
    for (n, text) in [("1", "out of memory"), ("2", "bad shard"), ("3", "out of range")] {
        let document = diagnose([path, "--attempt", n]);
        let roots = document["root_causes"].as_array().unwrap();
        assert_eq!(roots.len(), 1, "{n}: {}", document["summary"]);
        let id = &roots[0]["evidence"][0];
        let line = document["evidence"].as_array().unwrap().iter().find(|e| e["id"] == *id).unwrap();
        assert!(line["text"].as_str().unwrap().contains(text), "{n}: {line}");
    }
    let (status, complaint) = failure(["diagnose", path, "--attempt", "4"]);
    assert_eq!(status, 1);
    assert!(complaint.contains("no attempt 4") && complaint.contains("holds 3"), "{complaint}");
    let text = output(firstfault().args(["diagnose", path]));
    assert!(text.contains("attempts    3 in these logs"), "{text}");
}
