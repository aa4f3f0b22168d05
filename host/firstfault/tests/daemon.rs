//! The daemon as its clients see it: a process, its sockets, its folders.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "support/daemon.rs"]
mod daemon;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/program.rs"]
mod program;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/schema.rs"]
mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};

use daemon::{Daemon, TOKEN, json};
use program::{diagnose_text, samples};
use serde_json::{Value, json};

fn digest(document: &Value) -> &str {
    document["provenance"]["diagnosis_digest"].as_str().unwrap()
}

/// What the command line finds in a sample.
fn undisturbed(sample: &str) -> String {
    let text = diagnose_text([samples().join(sample)]);
    digest(&serde_json::from_str(&text).unwrap()).to_owned()
}

#[test]
fn a_folder_is_diagnosed_as_on_the_command_line() {
    let daemon = Daemon::start("");
    let path = daemon.put("nvlink_xid149", "nvlink_xid149");
    let answer = daemon.post("/v1/diagnoses?wait=60", &json!({"paths": [path]}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let document = json(&answer);
    assert_eq!(digest(&document), undisturbed("nvlink_xid149"));
    assert_eq!(
        (&document["revision"]["number"], &document["revision"]["status"]),
        (&json!(1), &json!("final"))
    );

    let id = document["id"].as_str().unwrap();
    let at = format!("/v1/diagnoses/{id}");
    let tag = answer.tag.unwrap();
    assert_eq!(daemon.ask("GET", &at, &[("if-none-match", &tag)], b"").status, 304);
    let text = daemon.ask("GET", &at, &[("accept", "text/plain")], b"");
    assert!(text.text().contains("ROOT CAUSE") || text.text().contains("XID 149"), "{}", text.text());
    let page = daemon.ask("GET", &at, &[("accept", "text/html")], b"");
    assert!(page.text().contains("<pre>") && !page.text().contains("<script"));
    assert_eq!(json(&daemon.get(&format!("{at}/revisions/1"))), document);
    assert_eq!(daemon.get(&format!("{at}/revisions/2")).status, 404);
    let places = json(&daemon.get(&format!("{at}/symptoms/nccl.watchdog_timeout/places")));
    assert!(!places["groups"].as_array().unwrap().is_empty());
    let history = json(&daemon.get("/v1/nodes/lyra-047"));
    assert_eq!(history["events"][0]["symptom"], "xid.149");
    assert_eq!(json(&daemon.get("/v1/nodes/lyra-041"))["events"], json!([]), "who suffered is not blamed");
}

#[test]
fn reports_of_one_attempt_are_one_diagnosis() {
    let daemon = Daemon::start("");
    let report = |start: &str, node: &str| {
        let answer = daemon.post(
            "/v1/diagnoses",
            &json!({"workload": {"scheduler": "slurm", "id": "7", "start": start}, "hook": {"kind": "slurm", "node": node}}),
        );
        assert_eq!(answer.status, 202, "{}", answer.text());
        json(&answer)["id"].as_str().unwrap().to_owned()
    };
    let ids: BTreeSet<String> = (0..20).map(|n| report("2026-11-02T20:14:07Z", &format!("n{n}"))).collect();
    assert_eq!(ids.len(), 1);
    assert!(!ids.contains(&report("2026-11-02T21:14:07Z", "n1")), "another attempt");
    assert_eq!(json(&daemon.get("/v1/diagnoses"))["items"].as_array().unwrap().len(), 2);
}

#[test]
fn a_provisional_revision_is_followed_by_the_last() {
    let daemon = Daemon::start(
        "[revisions]\nafter = [\"1500ms\"]\n[[root]]\npath = \"@/by-job\"\njob = \"{id}\"\ntrust = \"host\"\n",
    );
    let report =
        json!({"workload": {"id": "cuda_oom", "start": "2026-10-06T10:51:12Z"}, "hook": {"kind": "generic"}});
    let first = daemon.post("/v1/diagnoses?wait=60", &report);
    let first = json(&first);
    assert_eq!(first["revision"]["status"], "provisional");
    // The logs arrive late.
    std::fs::create_dir(daemon.path("by-job")).unwrap();
    daemon.put("cuda_oom", "../by-job/cuda_oom");
    let at = format!("/v1/diagnoses/{}", first["id"].as_str().unwrap());
    let last = json(&daemon.until(&at, |a| json(a)["revision"]["number"] == 2));
    assert_ne!(last["revision"]["status"], "provisional");
    assert_eq!(last["verdict"], "attributed");
    assert!(last["revision"]["changed"].to_string().contains("the verdict was"), "{}", last["revision"]);
}

#[test]
fn whatever_is_accepted_outlives_the_daemon() {
    let mut daemon = Daemon::start("");
    let wanted: Vec<(String, String)> =
        ["cuda_oom", "gpu_off_bus", "time_limit"].iter().map(|s| ((*s).to_owned(), undisturbed(s))).collect();
    let mut accepted = BTreeMap::new();
    // A step of a generator that is the same each time, and looks like none.
    let mut chance = 12_345_u64;
    for number in 0..45 {
        let (sample, _) = &wanted[number % wanted.len()];
        let path = daemon.put(sample, &format!("{sample}-{number}"));
        let answer = daemon.post("/v1/diagnoses", &json!({"paths": [path]}));
        assert_eq!(answer.status, 202, "{}", answer.text());
        accepted.insert(json(&answer)["id"].as_str().unwrap().to_owned(), number % wanted.len());
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if chance >> 61 == 0 {
            // At whatever it is at by then.
            std::thread::park_timeout(std::time::Duration::from_millis(chance >> 40 & 31));
            daemon.kill();
            daemon.restart();
        }
    }
    daemon.kill();
    daemon.restart();
    for (id, which) in &accepted {
        let at = format!("/v1/diagnoses/{id}?wait=60");
        // One that was cut off three times is parked, and can be run again.
        if daemon.get(&at).status == 409 {
            assert_eq!(daemon.post(&format!("/v1/diagnoses/{id}/retry"), &json!({})).status, 202);
        }
        let document = json(&daemon.until(&at, |a| a.status == 200));
        assert_eq!(document["revision"], json!({"number": 1, "status": "final"}), "exactly once");
        assert_eq!(digest(&document), wanted[*which].1, "{}", wanted[*which].0);
    }
    assert_eq!(accepted.len(), 45);
    let items = json(&daemon.get("/v1/diagnoses"))["items"].as_array().unwrap().len();
    assert_eq!(items, accepted.len());
    assert!(daemon.stop(), "a graceful stop ends well");
}

#[test]
fn only_who_may_is_answered() {
    let mut daemon = Daemon::start("");
    let path = daemon.put("cuda_oom", "cuda_oom");
    let request = |headers: &str, target: &str, body: &str| {
        format!(
            "{target} HTTP/1.1\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let host = "host: localhost\r\n";
    let token = format!("{host}authorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n");
    let status = |text: String| daemon.raw(text.as_bytes()).split(' ').nth(1).unwrap_or("none").to_owned();
    assert_eq!(status(request(host, "GET /v1/diagnoses", "")), "401");
    assert_eq!(
        status(request("host: localhost\r\nauthorization: Bearer no\r\n", "GET /v1/diagnoses", "")),
        "401"
    );
    assert_eq!(status(request(&token, "GET /v1/diagnoses", "")), "200");
    assert_eq!(status(request(&token.replace("localhost", "evil.example"), "GET /v1/diagnoses", "")), "421");
    assert_eq!(
        status(request(&format!("{token}origin: http://evil.example\r\n"), "GET /v1/diagnoses", "")),
        "403"
    );
    assert_eq!(status(request(&token, "POST /v1/reload", "")), "403");
    assert_eq!(status(request(&token, "GET /v1/nodes/n1", "")), "403");
    assert_eq!(status(request(host, "GET /healthz", "")), "200");
    // What is somebody else's is as if it were not there.
    let other = json(
        &daemon.post("/v1/diagnoses?wait=60", &json!({"workload": {"user": "ada"}, "paths": [path.clone()]})),
    );
    let at = format!("GET /v1/diagnoses/{}", other["id"].as_str().unwrap());
    assert_eq!(status(request(&token, &at, "")), "404");
    let body = json!({"workload": {"id": "1", "user": "ada"}, "paths": [path.clone()]}).to_string();
    assert_eq!(status(request(&token, "POST /v1/diagnoses", &body)), "403");
    let body = json!({"workload": {"id": "1"}, "paths": [path]}).to_string();
    assert_eq!(status(request(&token, "POST /v1/diagnoses?wait=60", &body)), "200");
    assert!(daemon.stop());
}

#[test]
fn hostile_requests_harm_nobody() {
    let daemon = Daemon::start("[limits]\nbody = \"64KiB\"\nrequest = \"300ms\"\n");
    daemon.put("cuda_oom", "cuda_oom");
    std::os::unix::fs::symlink("/etc", daemon.path("jobs/link")).unwrap();
    // Half-open ones first: they are there while all else happens.
    let mut half: Vec<TcpStream> =
        (0..50).map(|_| TcpStream::connect(daemon.address.unwrap()).unwrap()).collect();
    for stream in &mut half {
        stream.write_all(b"POST /v1/diagnoses HTTP/1.1\r\nhost: localho").unwrap();
    }
    let post =
        |body: &[u8]| daemon.ask("POST", "/v1/diagnoses", &[("content-type", "application/json")], body);
    let deep = format!("{{\"workload\":{}", "[".repeat(60_000));
    let jobs = daemon.path("jobs").display().to_string();
    let bad: &[&[u8]] = &[
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{\"workload\": 7}",
        b"{\"colour\": 1}",
        deep.as_bytes(),
        b"{\"workload\": {\"id\": \"1\", \"attempt\": -1}}",
        b"{\"workload\": {}}",
        b"{\"workload\": {\"start\": \"yesterday\"}}",
    ];
    for body in bad {
        let answer = post(body);
        assert!((400..500).contains(&answer.status), "{}: {}", String::from_utf8_lossy(body), answer.text());
        assert!(answer.text().contains("urn:firstfault:problem:"), "{}", answer.text());
    }
    for path in [
        "/etc/passwd",
        "relative",
        "",
        "/",
        &jobs,
        &format!("{jobs}/../state"),
        &format!("{jobs}/link/passwd"),
        &format!("{jobs}/none"),
        &format!("{jobs}//cuda_oom"),
        &format!("{jobs}/cuda_oom\u{0}"),
    ] {
        let answer = post(json!({"paths": [path]}).to_string().as_bytes());
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.text());
        assert_eq!(json(&answer)["at"], "paths[0]", "{path}");
    }
    assert_eq!(post(&vec![b' '; 100_000]).status, 413);
    let encoded = |encoding: &str| {
        daemon
            .ask(
                "POST",
                "/v1/diagnoses",
                &[("content-type", "application/json"), ("content-encoding", encoding)],
                b"x",
            )
            .status
    };
    assert_eq!((encoded("gzip"), encoded("br")), (400, 415));
    assert_eq!(daemon.ask("POST", "/v1/diagnoses", &[("content-type", "text/plain")], b"{}").status, 415);
    assert_eq!(daemon.ask("DELETE", "/v1/diagnoses", &[], b"").status, 405);
    assert_eq!(daemon.get("/v1/none").status, 404);
    assert_eq!(daemon.get("/v1/diagnoses?limit=0").status, 400);
    assert_eq!(daemon.get("/v1/diagnoses?cursor=zz").status, 400);
    assert_eq!(daemon.get("/v1/diagnoses?colour=red").status, 400);
    assert_eq!(daemon.get("/v1/diagnoses/%ff/state").status, 400);
    let many: String = (0..500).map(|n| format!("x-{n}: {n}\r\n")).collect();
    let large = format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    for raw in [
        format!("GET / HTTP/1.1\r\n{many}\r\n"),
        large,
        "\u{0}\u{1}\r\n\r\n".into(),
        "GET / HTTP/9.9\r\n\r\n".into(),
        "GET http://evil.example/ HTTP/1.1\r\nhost: localhost\r\n\r\n".into(),
    ] {
        let answer = daemon.raw(raw.as_bytes());
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    // A body that never comes is not waited for.
    let slow = daemon.raw(format!("POST /v1/diagnoses HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n").as_bytes());
    assert!(slow.starts_with("HTTP/1.1 408"), "{slow}");
    let path = daemon.path("jobs/cuda_oom");
    assert_eq!(daemon.post("/v1/diagnoses?wait=60", &json!({"paths": [path]})).status, 200);
}

fn notify(daemon: &Daemon, socket: &str, arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_firstfault"))
        .arg("notify")
        .args(["--within", "20000", "--socket"])
        .arg(daemon.path(socket))
        .arg("--spool")
        .arg(daemon.path("spool"))
        .args(arguments)
        .env_clear()
        .env("SLURM_JOB_ID", "48213")
        .env("SLURM_JOB_START_TIME", "1793650447")
        .env("SLURM_JOB_NODELIST", "gpu-[01-04]")
        .env("SLURM_JOB_EXIT_CODE2", "1:0")
        .env("SLURMD_NODENAME", "gpu-01")
        .output()
        .unwrap()
}

#[test]
fn hooks_hand_over_or_leave_it_for_later() {
    let daemon = Daemon::start("");
    // Nobody listens there: it is left in the folder, which the daemon looks into.
    let left = notify(&daemon, "nobody.sock", &["slurm"]);
    assert!(left.status.success(), "{left:?}");
    let find = "/v1/diagnoses?workload=48213";
    daemon.until(find, |a| !json(a)["items"].as_array().unwrap().is_empty());
    let over = notify(&daemon, "ff.sock", &["slurm"]);
    assert!(over.status.success() && over.stderr.is_empty(), "{over:?}");
    let items = json(&daemon.get(find))["items"].as_array().unwrap().clone();
    assert_eq!(items.len(), 1, "the same report twice is one");
    assert_eq!(items[0]["start"], "2026-11-02T20:14:07.000Z");
    // What is refused is told, and still not the job's trouble.
    let refused = notify(&daemon, "ff.sock", &["generic", "--id", "1", "--logs", "/etc"]);
    assert!(refused.status.success() && !refused.stderr.is_empty());
    assert!(
        !notify(&daemon, "ff.sock", &["--strict", "generic", "--id", "1", "--logs", "/etc"]).status.success()
    );
}

#[test]
fn the_evidence_of_the_node_comes_with_its_epilog() {
    let daemon = Daemon::start("");
    let log = daemon.path("slurmd.log");
    std::fs::write(&log, format!("{}\n", LINES[0].2)).unwrap();
    let source = format!("kernel={}", log.display());
    let taken = notify(&daemon, "ff.sock", &["slurm", "--capture", "--log", &source]);
    assert!(taken.status.success() && taken.stderr.is_empty(), "{taken:?}");
    let seen =
        |answer: &firstfault::notify::client::Answer| json(answer)["items"][0]["verdict"] == "attributed";
    let found = json(&daemon.until("/v1/diagnoses?workload=48213", seen));
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    // Where nobody listens it is left, and handed over by the next that finds the daemon.
    let left = notify(&daemon, "nobody.sock", &["slurm", "--capture", "--log", &source]);
    assert!(left.status.success());
    let began = std::time::Instant::now();
    let pushes = || {
        std::fs::read_dir(daemon.path("spool")).map_or(0, |all| {
            all.flatten().filter(|e| e.path().extension().is_some_and(|e| e == "push")).count()
        })
    };
    while pushes() == 0 {
        assert!(began.elapsed().as_secs() < 60, "nothing was left");
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    let drained = Command::new(env!("CARGO_BIN_EXE_firstfault"))
        .args(["drain", "--socket"])
        .arg(daemon.socket())
        .arg("--spool")
        .arg(daemon.path("spool"))
        .output()
        .unwrap();
    assert!(drained.status.success() && pushes() == 0, "{drained:?}");
}

#[test]
fn a_command_runs_as_it_would_without() {
    let daemon = Daemon::start("");
    let run = |script: &str| {
        Command::new(env!("CARGO_BIN_EXE_firstfault"))
            .args(["run", "--id", script, "--socket"])
            .arg(daemon.socket())
            .arg("--spool")
            .arg(daemon.path("spool"))
            .args(["--", "sh", "-c", script])
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let ended = run("echo out; echo err >&2; exit 7");
    assert_eq!(
        (ended.status.code(), ended.stdout.as_slice(), ended.stderr.as_slice()),
        (Some(7), &b"out\n"[..], &b"err\n"[..])
    );
    assert_eq!(run("kill -9 $$").status.code(), Some(137));
    assert_eq!(run("kill -TERM $PPID; exec sleep 60").status.code(), Some(143), "signals are handed on");
    assert_eq!(run("true").status.code(), Some(0));
    let items = json(&daemon.get("/v1/diagnoses"))["items"].as_array().unwrap().len();
    assert_eq!(items, 3, "what ended well is not reported");
}

const LINES: &[(&str, &str, &str)] = &[
    ("n1", "kernel", "NVRM: Xid (PCI:0000:c4:00): 79, pid=4242, name=python3, GPU has fallen off the bus."),
    ("n1", "kernel", "NVRM: GPU 0000:c4:00.0: GPU has fallen off the bus."),
    ("n2", "app", "step 100 loss 2.5"),
];

fn push(daemon: &Daemon, id: &str, order: &[usize]) -> Value {
    let workload = json!({"workload": {"scheduler": "slurm", "id": id, "start": "2026-11-02T20:14:07Z", "nodes": [{"name": "n1"}, {"name": "n2"}], "terminal": {"state": "failed"}}});
    let opened = daemon.post("/v1/sessions", &workload);
    assert_eq!(opened.status, 201, "{}", opened.text());
    let session = json(&opened)["id"].as_str().unwrap().to_owned();
    for (step, which) in order.iter().enumerate() {
        let (node, source, line) = LINES[*which];
        let time = format!("2026-11-02T22:29:{:02}Z", 10 + which);
        let body = json!({"node": node, "source": source, "time": time, "line": line}).to_string();
        let at = format!("/v1/sessions/{session}/observations?id=o{which}");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(body.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        // Sent twice, as a client does that did not hear the answer.
        for known in [false, true] {
            let kept = daemon.ask("POST", &at, &[("content-encoding", "gzip")], &packed);
            assert_eq!(kept.status, 200, "{}", kept.text());
            assert_eq!(json(&kept)["known"], known || order[..step].contains(which));
        }
    }
    let answer = daemon.get(&format!("/v1/sessions/{session}/diagnosis?wait=60"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    json(&answer)
}

#[test]
fn what_is_pushed_is_seen_whatever_the_order() {
    let (one, other) = (Daemon::start(""), Daemon::start(""));
    let first = push(&one, "7", &[0]);
    assert_eq!(first["root_causes"][0]["symptom"], "xid.79", "{first}");
    let all = push(&one, "7", &[1, 2]);
    assert_eq!(all["revision"]["number"], 2);
    assert_eq!(all["id"], first["id"]);
    let reversed = push(&other, "7", &[2, 1, 0]);
    assert_eq!(digest(&all), digest(&reversed));
    assert_eq!(all["evidence"][0]["trust"], "host", "who pushes decides the trust");
    assert_eq!(one.post("/v1/sessions/s-none/observations", &json!({})).status, 404);
}

#[test]
fn agents_of_launchers_are_served() {
    let daemon = Daemon::start(
        "[[listen]]\naddress = \"127.0.0.1:0\"\nwithout_credentials = { roles = [\"submit\", \"read_own\"], trust = \"host\" }\n",
    );
    for base in ["", "/latest"] {
        let made = daemon.post(
            &format!("{base}/attributor"),
            &json!({"workload": {"id": format!("55:cycle1:{}", base.len()), "type": "slurm", "job_start_time": "2026-11-02T20:14:07", "status": "FAILED", "nodes": ["n1", "n2"], "name": "unknown", "exit_code_signal": 6}, "metadata": {"cluster": "alpha", "ruleset": "default"}}),
        );
        let id = json(&made)["attributor_id"].as_str().unwrap().to_owned();
        let line = json!({"body": LINES[0].2, "severity": "err", "attributes": {"hostname": "n1", "appname": "kernel"}, "resources": {}});
        let body = json!([{"stream": {"job": "node", "app": "agent", "hostname": "n1"}, "values": [["1793651399000000000", line.to_string()]]}]);
        let seen = daemon.post(
            &format!("{base}/attributor/{id}/observation"),
            &json!({"context": {"source": "syslog", "format": "raw_loki_streams"}, "body": body.to_string()}),
        );
        assert!(json(&seen)["observation_id"].is_string(), "{}", seen.text());
        let answer = json(&daemon.get(&format!("{base}/attributor/{id}/attribution")));
        let nodes: Vec<&str> =
            answer["attributions"].as_array().unwrap().iter().map(|a| a["node"].as_str().unwrap()).collect();
        assert_eq!(nodes, ["n1"], "{answer}");
    }
    let path = daemon.put("cuda_oom", "cuda_oom") + "/logs";
    let asked =
        daemon.post("/logs", &json!({"log_path": path, "user": "ada", "analysis_intent": "terminal"}));
    assert_eq!(json(&asked)["status"], "pending", "{}", asked.text());
    let done = json(&daemon.until(&format!("/logs?log_path={path}"), |a| json(a)["status"] == "completed"));
    assert!(
        ["STOP", "RESTART", "CONTINUE", "UNKNOWN"]
            .contains(&done["recommendation"]["action"].as_str().unwrap())
    );
    assert_eq!(daemon.get("/v2/healthz").status, 200);
    assert_eq!(daemon.get("/logs?log_path=/etc/passwd").status, 403);
}

const PACK: &str = r#"
[pack]
name = "site"
version = "VERSION"
[[symptom]]
id = "site.cooling"
role = "cause"
domain = "hardware"
sub_domain = "gpu"
title = "cooling failed"
explain = "The rack's cooling failed."
action = "call the facility"
[[signature]]
symptom = "site.cooling"
sources = ["kernel"]
pattern = 'rack cooling lost'
[[test]]
name = "it is seen"
lines = ['rack cooling lost']
expect = [{ symptom = "EXPECTED" }]
"#;

#[test]
fn rules_change_while_it_runs() {
    let daemon = Daemon::start("[rules]\npacks = \"@/packs\"\nplugins = \"@/plugins\"\n");
    std::fs::create_dir(daemon.path("packs")).unwrap();
    let pack = |version: &str, expected: &str| PACK.replace("VERSION", version).replace("EXPECTED", expected);
    let file = daemon.path("packs/site.toml");
    let versions = |a: &firstfault::notify::client::Answer| {
        let packs = json(a)["packs"].as_array().unwrap().clone();
        packs.iter().find(|p| p["name"] == "site").map(|p| p["version"].as_str().unwrap().to_owned())
    };
    std::fs::write(&file, pack("1.0.0", "site.cooling")).unwrap();
    let reason = daemon.post("/v1/reload", &json!({}));
    assert!(reason.status == 200, "{}", reason.text());
    daemon.until("/v1/rules", |a| versions(a).as_deref() == Some("1.0.0"));
    // Swapped by a rename, as an editor does.
    std::fs::write(daemon.path("packs/.new"), pack("1.1.0", "site.cooling")).unwrap();
    std::fs::rename(daemon.path("packs/.new"), &file).unwrap();
    daemon.until("/v1/rules", |a| versions(a).as_deref() == Some("1.1.0"));
    // A pack that is wrong leaves the running ones in place, and says why.
    for wrong in [pack("2.0.0", "site.other"), "[pack".to_owned()] {
        std::fs::write(&file, &wrong).unwrap();
        daemon.until("/v1/generations", |a| json(a)["generations"][0]["outcome"] == "refused");
        assert_eq!(versions(&daemon.get("/v1/rules")).as_deref(), Some("1.1.0"));
        let reasons = json(&daemon.get("/v1/generations"))["generations"][0]["reasons"].to_string();
        assert!(reasons.contains("site"), "{reasons}");
    }
    std::fs::remove_file(&file).unwrap();
    daemon.until("/v1/rules", |a| versions(a).is_none());
}

#[test]
fn the_interface_is_described() {
    let daemon = Daemon::start("");
    let document = json(&daemon.get("/openapi.json"));
    for path in ["/v1/diagnoses", "/v1/diagnoses/{id}", "/v1/sessions", "/v1/reload", "/metrics", "/readyz"] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    let metrics = daemon.get("/metrics").body;
    let metrics = String::from_utf8_lossy(&metrics);
    for name in ["firstfault_http_requests_total", "firstfault_queue_diagnoses", "firstfault_store_bytes"] {
        assert!(metrics.contains(name), "{name} in {metrics}");
    }
    assert_eq!(daemon.get("/readyz").status, 200);
}

/// `pip install schemathesis`, then `cargo nextest run ... --run-ignored only -E 'test(as_it_is_described)'`.
#[test]
#[ignore = "needs schemathesis, from PyPI, on the PATH"]
fn the_interface_is_as_it_is_described() {
    let daemon = Daemon::start("");
    let tested = Command::new("schemathesis")
        .arg("run")
        .arg(format!("http://{}/openapi.json", daemon.address.unwrap()))
        .args(["-H", &format!("Authorization: Bearer {TOKEN}")])
        // A schema cannot say all that makes a workload sound.
        .args(["--max-examples", "40", "--seed", "1", "--exclude-checks", "positive_data_acceptance"])
        .output()
        .unwrap();
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stdout));
}

#[test]
fn the_configuration_is_checked_by_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ff.toml");
    std::fs::write(&file, "state = \"here\"\n[limits]\nworkers = 1000\n").unwrap();
    let checked =
        Command::new(env!("CARGO_BIN_EXE_firstfault")).args(["config", "check"]).arg(&file).output().unwrap();
    let told = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert_eq!(checked.status.code(), Some(1));
    assert!(told.contains("ff.toml:1:") && told.contains("ff.toml:3:"), "{told}");
}
