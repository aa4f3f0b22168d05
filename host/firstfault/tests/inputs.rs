//! What can be given: standard input, pipes, archives, exports and reports; and what is said of the rest.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/program.rs"]
mod program;
#[path = "support/schema.rs"]
mod schema;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use program::{diagnose, diagnose_text, firstfault, output, samples};
use serde_json::{Value, json};
use tempfile::TempDir;

const SAMPLE: &str = "nvlink_xid149";
const XID: &str = "NVRM: Xid (PCI:0000:c4:00): 79, pid=675990, name=python3, GPU has fallen off the bus.";

/// A file of these bytes in a folder of its own.
fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// The sample as an archive below a folder of the archive.
fn archive(top: &str) -> Vec<u8> {
    let mut out = tar::Builder::new(Vec::new());
    out.append_dir_all(top, samples().join(SAMPLE)).unwrap();
    out.into_inner().unwrap()
}

/// Runs `diagnose -` on these bytes.
fn piped(bytes: &[u8]) -> String {
    let run = firstfault().args(["diagnose", "-", "--format", "json"]).write_stdin(bytes).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

/// The first line of the evidence of the first root cause.
fn shown(document: &Value) -> (String, u64, String, String) {
    let root = &document["root_causes"][0];
    assert_eq!(root["symptom"], "xid.79", "{}", document["summary"]);
    let id = root["evidence"][0].as_str().expect("the root has evidence");
    let line = document["evidence"].as_array().unwrap().iter().find(|e| e["id"] == id).unwrap();
    (
        root["node"].as_str().unwrap_or_default().to_owned(),
        line["line_number"].as_u64().unwrap(),
        line["time"].as_str().unwrap_or_default().to_owned(),
        line["text"].as_str().unwrap().to_owned(),
    )
}

fn not_read(document: &Value) -> Vec<(String, String)> {
    let list = document["not_read"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    list.iter().map(|entry| (text(&entry["path"]), text(&entry["reason"]))).collect()
}

#[test]
fn an_archive_is_its_folder() {
    let folder = diagnose_text([SAMPLE]);
    for (name, bytes) in [
        ("nvlink_xid149.tar", archive(SAMPLE)),
        ("other name.tar.gz", gzip(&archive("./nvlink_xid149"))),
        ("a.tgz", gzip(&archive("."))),
        ("a.tar.zst", zstd(&archive("renamed"))),
        ("no_ending", archive(SAMPLE)),
    ] {
        let (_folder, path) = file(name, &bytes);
        assert_eq!(diagnose_text([&path]), folder, "{name}");
        assert_eq!(piped(&bytes), folder, "{name} by standard input");
    }
}

#[test]
fn several_archives_are_named_like_their_folders() {
    let kept = TempDir::new().unwrap();
    for name in [SAMPLE, "cuda_oom"] {
        let mut out =
            tar::Builder::new(std::fs::File::create(kept.path().join(format!("{name}.tar"))).unwrap());
        out.append_dir_all(format!("{name}/logs"), samples().join(name).join("logs")).unwrap();
        out.finish().unwrap();
        program::copy_folder(&samples().join(name).join("logs"), &kept.path().join(name).join("logs"));
    }
    let folders = diagnose_text([kept.path().join(SAMPLE), kept.path().join("cuda_oom")]);
    let archives = diagnose_text([kept.path().join("cuda_oom.tar"), kept.path().join("nvlink_xid149.tar")]);
    assert_eq!(folders, archives);
}

#[test]
fn temporary_folders_go() {
    let kept = TempDir::new().unwrap();
    let (_folder, good) = file("a.tar", &archive(SAMPLE));
    let mut out = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(3);
    out.append_data(&mut header, "x/context.json", &b"no!"[..]).unwrap();
    let (_folder2, bad) = file("b.tar", &out.into_inner().unwrap());
    for (path, status) in [(good, 0), (bad, 1)] {
        let run = firstfault().arg("diagnose").arg(&path).env("TMPDIR", kept.path()).output().unwrap();
        assert_eq!(run.status.code(), Some(status), "{}", String::from_utf8_lossy(&run.stderr));
        assert_eq!(std::fs::read_dir(kept.path()).unwrap().count(), 0, "{}", path.display());
    }
}

#[test]
fn what_an_archive_holds_besides_files_is_listed() {
    let mut out = tar::Builder::new(Vec::new());
    let mut add = |kind: tar::EntryType, name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        header.set_link_name("/etc/passwd").unwrap();
        header.set_cksum();
        out.append(&header, bytes).unwrap();
    };
    let line = format!("2026-09-14T04:37:21+00:00 n1 kernel: {XID}\n");
    add(tar::EntryType::Regular, "case/logs/n1/kernel.log", line.as_bytes());
    add(tar::EntryType::Symlink, "case/logs/n1/app.log", b"");
    add(tar::EntryType::Regular, "case/../../up.log", b"x");
    let bytes = out.into_inner().unwrap();
    let (_folder, path) = file("case.tar", &bytes[..bytes.len() - 1024]);
    let document = diagnose([&path]);
    assert_eq!(shown(&document).0, "n1");
    let told = not_read(&document);
    assert!(
        told.iter().any(|(path, why)| path == "logs/n1/app.log" && why.starts_with("a link")),
        "{told:?}"
    );
    assert!(told.iter().any(|(_, why)| why == "leads out of the archive"), "{told:?}");
    let (_folder, cut) = file("cut.tar.gz", &gzip(&archive(SAMPLE))[..9000]);
    let told = not_read(&diagnose([&cut]));
    assert!(told.iter().any(|(path, why)| path == "cut.tar.gz" && why.contains("cut off")), "{told:?}");
}

#[test]
fn standard_input_and_pipes() {
    let log = std::fs::read(samples().join(SAMPLE).join("logs/lyra-047/kernel.log")).unwrap();
    for bytes in [log.clone(), gzip(&log), zstd(&log)] {
        let document: Value = serde_json::from_str(&piped(&bytes)).unwrap();
        assert_eq!(document["root_causes"][0]["symptom"], "xid.149");
    }
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("kernel.log");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_firstfault"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    command
        .args(["diagnose", "--format", "json"])
        .arg(&pipe)
        .env("XDG_CACHE_HOME", cache)
        .stdout(Stdio::piped());
    let run = command.spawn().unwrap();
    std::fs::write(&pipe, &log).unwrap();
    let printed = run.wait_with_output().unwrap().stdout;
    let document: Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(document["root_causes"][0]["symptom"], "xid.149");
    for (path, word) in [("/dev/null", "device"), ("/dev/zero", "device")] {
        let run = firstfault().args(["diagnose", path]).output().unwrap();
        let complaint = String::from_utf8(run.stderr).unwrap();
        assert!(
            run.status.code() == Some(1) && complaint.contains(word) && complaint.contains(path),
            "{complaint}"
        );
    }
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let run = firstfault().arg("diagnose").arg(&socket).output().unwrap();
    assert!(run.status.code() == Some(1) && String::from_utf8(run.stderr).unwrap().contains("socket"));
}

/// Entries of a journal: of the kernel, of a service, and of the job.
fn journal_json() -> String {
    let entry = |micros: u64, transport: &str, identifier: &str, message: Value| {
        let entry = json!({
            "__REALTIME_TIMESTAMP": micros.to_string(), "_HOSTNAME": "n1", "_TRANSPORT": transport, "_PID": "12",
            "SYSLOG_IDENTIFIER": identifier, "MESSAGE": message, "_BOOT_ID": "0", "PRIORITY": "3",
        });
        format!("{entry}\n")
    };
    let bytes: Vec<u8> = XID.bytes().collect();
    [
        entry(1_789_360_641_000_000, "syslog", "sshd", json!("two\nlines")),
        entry(1_789_360_641_400_000, "kernel", "kernel", json!("usb 1-1: new device")),
        entry(1_789_360_641_418_203, "kernel", "kernel", json!(bytes)),
        "not an entry\n".to_owned(),
    ]
    .concat()
}

#[test]
fn journals_as_json_and_export() {
    let json = journal_json();
    let line = format!("2026-09-14T04:37:21.418203Z n1 kernel: {XID}");
    for (name, bytes) in [
        ("journal.json", json.clone().into_bytes()),
        ("x", gzip(json.as_bytes())),
        ("kern.log", json.clone().into_bytes()),
    ] {
        let (_folder, path) = file(name, &bytes);
        let document = diagnose([&path]);
        let (node, number, time, text) = shown(&document);
        assert_eq!((node.as_str(), number, text.as_str()), ("n1", 3, line.as_str()), "{name}");
        assert!(time.starts_with("2026-09-14T04:37:21.418"), "{time}");
        let told = not_read(&document);
        assert!(told.len() == 1 && told[0].1.starts_with("1 of its entries"), "{told:?}");
    }
    let export = format!(
        "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1789360641400000\n_HOSTNAME=n1\n_TRANSPORT=syslog\nMESSAGE=x\n\n\
         __CURSOR=s=2\n__REALTIME_TIMESTAMP=1789360641418203\n_HOSTNAME=n1\n_TRANSPORT=kernel\nMESSAGE={XID}\n\n"
    );
    let (_folder, path) = file("journal.export", export.as_bytes());
    let (node, number, _, text) = shown(&diagnose([&path]));
    let wanted = export.lines().position(|l| l.contains(XID)).unwrap() as u64 + 1;
    assert_eq!((node.as_str(), number, text), ("n1", wanted, line));
    assert_eq!(shown(&serde_json::from_str(&piped(export.as_bytes())).unwrap()).1, wanted);
}

#[test]
fn bug_reports() {
    let line = "____________________________________________\n\n";
    let report = [
        "Start of NVIDIA bug report log file.  Please include this file, along\n\nDate: Mon Sep 14 04:50:01 UTC 2026\n\
         uname: Linux n1 5.15.0 #1 SMP x86_64 GNU/Linux\n\n",
        "*** /etc/issue\n*** ls: -rw-r--r-- 1 root root 26 2024-02-14 /etc/issue\nUbuntu\n\n",
        "Scanning kernel log files for NVIDIA kernel messages:\n\n  journalctl -b -0:\n",
        &format!("Sep 14 04:37:21 n1 kernel: {XID}\n\n"),
        "*** /proc/cmdline\nroot=/dev/sda\n\n",
    ];
    let text: String =
        [line, report[0], line, report[1], line, report[2], report[3], line, report[4]].concat();
    let wanted = text.lines().position(|l| l.contains(XID)).unwrap() as u64 + 1;
    for (name, bytes) in [
        ("nvidia-bug-report.log", text.clone().into_bytes()),
        ("nvidia-bug-report.log.gz", gzip(text.as_bytes())),
    ] {
        let (_folder, path) = file(name, &bytes);
        let document = diagnose([&path]);
        let (node, number, time, _) = shown(&document);
        assert_eq!((node.as_str(), number), ("n1", wanted), "{name}");
        assert!(time.starts_with("2026-09-14T04:37:21"), "{time}");
        let told = not_read(&document);
        assert!(told.len() == 1 && told[0].1.starts_with("2 of its sections"), "{told:?}");
    }
}

#[test]
fn every_style_of_dmesg() {
    let styles = [
        format!("[1770873.331098] {XID}"),
        format!("[Mon Sep 14 04:37:21 2026] {XID}"),
        format!("kern  :err   : [1770873.331098] {XID}"),
        format!("[1770873.331098 <    0.000123>] {XID}"),
        format!("[Sep14 04:37] {XID}"),
        format!("[  +0.000844] {XID}"),
        format!("<3>[1770873.331098] {XID}"),
        format!("2026-09-14T04:37:21,418203+00:00 {XID}"),
        format!("kern  :err   : 2026-09-14T04:37:21,418203+00:00 {XID}"),
    ];
    for style in styles {
        let text = format!("{}\n{style}\n", style.replace(XID, "usb 1-1: new device"));
        let (_folder, path) = file("dmesg", text.as_bytes());
        let (_, number, _, shown) = shown(&diagnose([&path]));
        assert_eq!((number, shown), (2, style));
    }
}

#[test]
fn what_cannot_be_read_is_said_first() {
    let mut core = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0".to_vec();
    core.resize(9000, 0);
    let noise: Vec<u8> = (0..9000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let cases: [(&str, &[u8], &str); 9] = [
        ("job.log.xz", b"\xfd7zXZ\0\0\x04", "xz -d"),
        ("job.log", b"BZh91AY&SY", "bzip2 -d"),
        ("job.lz4", b"\x04\x22\x4d\x18zz", "lz4 -d"),
        ("logs.zip", b"PK\x03\x04\x14\0", "unzip"),
        ("core.4711", &core, "core dump"),
        ("app.log", &noise, "binary"),
        ("app.log", b"-----BEGIN PGP MESSAGE-----\n", "decrypt it first"),
        ("app.log", b"", "empty"),
        ("logs.tar", b"no archive\n", "is none"),
    ];
    for (name, bytes, word) in cases {
        let (folder, path) = file(name, bytes);
        let document = diagnose([&path]);
        assert_eq!(document["verdict"], "undetermined", "{name}");
        let text = output(firstfault().arg("diagnose").arg(&path));
        let start: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        let start = start.join(" ");
        assert!(
            start.starts_with("Nothing was read") && start.contains(name) && start.contains(word),
            "{start}"
        );
        let status = firstfault().args(["diagnose", "--exit-code"]).arg(&path).output().unwrap().status;
        assert_eq!(status.code(), Some(20), "{name}");
        // In a folder it says so as well.
        let document = diagnose([folder.path()]);
        assert_eq!(document["verdict"], "undetermined", "{name}");
        assert!(document["summary"].as_str().unwrap().starts_with("Nothing was read"), "{name}");
    }
}

#[test]
fn one_line_for_each_reason() {
    let folder = TempDir::new().unwrap();
    for i in 0..9 {
        std::fs::write(folder.path().join(format!("weights-{i}.pt")), "x").unwrap();
    }
    std::fs::write(folder.path().join("README.md"), "x").unwrap();
    std::fs::write(folder.path().join("notes.md"), "x").unwrap();
    let text = output(firstfault().arg("diagnose").arg(folder.path()));
    let (_, rest) = text.split_once("NOT READ").expect("something is left out");
    let section = rest.split("\n\n").next().unwrap();
    assert_eq!(section.matches("- ").count(), 2, "{section}");
    assert!(section.contains("README.md, notes.md: not a log by its name"), "{section}");
    assert!(section.contains("9 files: not a log: binary (weights-0.pt,"), "{section}");
}

#[test]
fn logs_of_containers_are_the_programs_lines() {
    let time = |s: u32| format!("2026-11-02T20:00:{s:02}.123456789Z");
    // The line of the fault is in two pieces, parted within what tells it.
    let (head, tail) = XID.split_at(XID.len() - 20);
    let docker = |text: &str, s: u32| json!({ "log": text, "stream": "stderr", "time": time(s) }).to_string();
    let logs = [
        format!(
            "{}\n{}\n{}\n{}\n",
            docker("\"start\"\n", 1),
            docker(head, 2),
            docker(&format!("{tail}\n"), 2),
            docker("end\n", 3)
        ),
        format!(
            "{} stderr F start\n{} stderr P {head}\n{} stderr F {tail}\n{} stderr F end\n",
            time(1),
            time(2),
            time(2),
            time(3)
        ),
    ];
    for log in logs {
        let (_folder, path) = file("job.log", log.as_bytes());
        let document = diagnose([&path]);
        let line = &document["evidence"][0];
        assert_eq!(document["root_causes"][0]["symptom"], "xid.79", "{log}");
        assert_eq!(
            (line["line_number"].as_u64(), line["time"].as_str()),
            (Some(2), Some("2026-11-02T20:00:02.123Z")),
            "{log}"
        );
        assert!(line["text"].as_str().unwrap().ends_with(XID), "{line}");
    }
}

#[test]
fn a_rotated_file_that_is_missing_makes_the_coverage_partial() {
    let folder = TempDir::new().unwrap();
    let logs = folder.path().join("logs/n1");
    std::fs::create_dir_all(&logs).unwrap();
    for name in ["kernel.log", "kernel.log.1", "kernel.log.2"] {
        std::fs::write(logs.join(name), "2026-11-02T20:00:00+00:00 n1 kernel: all is well\n").unwrap();
    }
    let kernel = || {
        let document = diagnose([folder.path()]);
        document["coverage"].as_array().unwrap().iter().find(|c| c["source"] == "kernel").cloned().unwrap()
    };
    assert_eq!((kernel()["status"].as_str(), kernel()["loss_markers"].as_u64()), (Some("ok"), Some(0)));
    std::fs::remove_file(logs.join("kernel.log.1")).unwrap();
    assert_eq!((kernel()["status"].as_str(), kernel()["loss_markers"].as_u64()), (Some("partial"), Some(1)));
    // So do the NULs that a crash leaves where lines were.
    std::fs::write(
        logs.join("kernel.log.1"),
        [&[0; 300], &b"\n2026-11-02T20:00:00+00:00 n1 kernel: up\n"[..]].concat(),
    )
    .unwrap();
    assert_eq!((kernel()["status"].as_str(), kernel()["loss_markers"].as_u64()), (Some("partial"), Some(1)));
}
