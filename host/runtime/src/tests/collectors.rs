//! Telemetry collectors.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use firstfault_model::context::ExecutionContext;

use super::guests::{Guest, Image, LOOP, MEMORY_BOMB};
use super::{load, options};
use crate::{Capabilities, Collected, FileGrants, Focus, Interest, PluginFailure, Runtime};

fn granted(folder: &Path, deadline: Duration) -> Capabilities {
    Capabilities { files: FileGrants::new(vec![("logs".into(), folder.into())]).unwrap(), deadline }
}

fn collect_in(folder: &Path, wasm: &[u8]) -> Result<Collected, PluginFailure> {
    let context = Arc::new(ExecutionContext::parse(r#"{"id": "7", "nodes": [{"name": "gpu-1"}]}"#).unwrap());
    let interest = Interest { literals: vec!["NVRM: ".into()], ..Interest::default() };
    let focus = Focus { ranks: vec![(0, 7)], from: Some(1), ..Focus::default() };
    load(wasm).collect(context, &focus, &interest, &granted(folder, Duration::from_secs(60)))
}

fn collect(wasm: &[u8]) -> Result<Collected, PluginFailure> {
    collect_in(tempfile::tempdir().unwrap().path(), wasm)
}

/// A report with one entry.
fn report(image: &mut Image, source: &str, status: &str) -> u32 {
    let entry = image.entry(source, status);
    let entries = image.list(&[entry]);
    image.ok(&[entries, vec![0; 8]].concat())
}

/// Attaches `path`, skips another file, and traps unless attaching was (`attached`) or was not possible.
fn attaching(path: &str, labels: &[(&str, &str)], attached: bool) -> Vec<u8> {
    let mut guest = Guest::new("telemetry-collector");
    let image = &mut guest.image;
    let (root, at) = (image.put(b"logs"), image.put(path.as_bytes()));
    let pairs = image.pairs(labels);
    let pairs_at = u32::from_le_bytes(pairs[..4].try_into().unwrap());
    let (answer, ok) = (image.put(&[0; 64]), report(image, "app", "ok"));
    let unless = if attached { "" } else { "(i32.eqz" };
    let close = if attached { "" } else { ")" };
    guest
        .own_import("files", "attach", "(param i32 i32 i32 i32 i32 i32 i32)")
        .own_import("files", "skip", "(param i32 i32 i32 i32 i32 i32)")
        .collect(&format!(
            "(call $attach (i32.const {root}) (i32.const 4) (i32.const {at}) (i32.const {len})
                           (i32.const {pairs_at}) (i32.const {count}) (i32.const {answer}))
             (if {unless} (i32.load8_u (i32.const {answer})) {close} (then unreachable))
             (call $skip (i32.const {root}) (i32.const 4) (i32.const {root}) (i32.const 4)
                         (i32.const {root}) (i32.const 4))
             (i32.const {ok})",
            len = path.len(),
            count = labels.len(),
        ))
        .build()
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("root/gpu-1")).unwrap();
    std::fs::write(dir.path().join("root/gpu-1/app.log"), "line\n").unwrap();
    std::fs::write(dir.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../../secret", dir.path().join("root/gpu-1/link")).unwrap();
    let fifo = dir.path().join("root/fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    dir
}

#[test]
fn a_good_one() {
    let dir = folder();
    let labels = [("source", "app"), ("node", "gpu-1"), ("rank", "3")];
    let collected = collect_in(&dir.path().join("root"), &attaching("gpu-1/app.log", &labels, true)).unwrap();
    let [attachment] = collected.attachments.as_slice() else { panic!("{collected:?}") };
    assert_eq!(
        (attachment.root.as_str(), attachment.path.as_str(), attachment.size),
        ("logs", "gpu-1/app.log", 5)
    );
    assert_eq!(attachment.labels["rank"], "3");
    assert_eq!(std::io::read_to_string(attachment.open().unwrap()).unwrap(), "line\n");
    assert_eq!(collected.skipped[0].reason, "logs");
    assert_eq!(collected.report.entries[0].status, "ok");
    assert!(collected.spooled.is_empty());

    // What was a file when it was attached may be a link when it is read.
    let path = dir.path().join("root/gpu-1/app.log");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("../../secret", &path).unwrap();
    attachment.open().unwrap_err();
}

#[test]
fn files_that_cannot_be_attached() {
    let dir = folder();
    let app = [("source", "app")];
    for (path, labels) in [
        ("../secret", &app[..]),
        ("gpu-1/../../secret", &app),
        ("/etc/passwd", &app),
        ("gpu-1/link", &app),
        ("fifo", &app),
        ("gpu-1", &app),
        ("none", &app),
        ("", &app),
        ("gpu-1/app.log\0", &app),
        (&"gpu-1/".repeat(1000), &app),
        ("gpu-1/app.log", &[]),
        ("gpu-1/app.log", &[("source", "app"), ("rank", "x")]),
    ] {
        let collected = collect_in(&dir.path().join("root"), &attaching(path, labels, false)).unwrap();
        assert!(collected.attachments.is_empty(), "{path}");
    }
}

/// Calls `files.read` or `files.list` for a path, and traps unless there was an answer (`answered`) or none.
fn asking(function: &str, root: &str, path: &str, answered: bool) -> Vec<u8> {
    let mut guest = Guest::new("telemetry-collector");
    let image = &mut guest.image;
    let (root_at, at) = (image.put(root.as_bytes()), image.put(path.as_bytes()));
    let (answer, ok) = (image.put(&[0; 64]), report(image, "app", "ok"));
    let (parameters, rest) = match function {
        "read" => ("(param i32 i32 i32 i32 i64 i32)", "(i64.const 1000)"),
        _ => ("(param i32 i32 i32 i32 i32 i32 i32)", "(i32.const 0) (i32.const 10)"),
    };
    let failed = format!("(i32.load8_u (i32.const {answer}))");
    let wrong = if answered { failed } else { format!("(i32.eqz {failed})") };
    guest
        .own_import("files", function, parameters)
        .collect(&format!(
            "(call ${function} (i32.const {root_at}) (i32.const {}) (i32.const {at}) (i32.const {}) {rest} (i32.const {answer}))
             (if {wrong} (then unreachable)) (i32.const {ok})",
            root.len(),
            path.len(),
        ))
        .build()
}

#[test]
fn nothing_beyond_the_folder_is_read_or_listed() {
    let dir = folder();
    let root = dir.path().join("root");
    std::os::unix::fs::symlink("gpu-1", root.join("alias")).unwrap();
    std::os::unix::fs::symlink("/", root.join("all")).unwrap();
    // Whoever can make a hard link can read the file as well: it is a file of the folder as any other.
    std::fs::hard_link(dir.path().join("secret"), root.join("hard")).unwrap();
    let ask = |function: &str, root_name: &str, path: &str, answered: bool| {
        collect_in(&root, &asking(function, root_name, path, answered))
            .unwrap_or_else(|failure| panic!("{function} '{path}': {failure}"));
    };
    for path in ["gpu-1/app.log", "hard"] {
        ask("read", "logs", path, true);
    }
    for path in ["", "gpu-1"] {
        ask("list", "logs", path, true);
    }
    let long = "x/".repeat(5000) + "x";
    let name = "x".repeat(300);
    for path in [
        "..",
        "../secret",
        "gpu-1/../../secret",
        "/etc/passwd",
        "/",
        "//",
        ".",
        "./gpu-1",
        "gpu-1/",
        "gpu-1\0",
        "gpu-1/link",
        "alias",
        "alias/app.log",
        "all",
        "all/etc/passwd",
        "fifo",
        "none",
        "gpu-1/app.log/x",
        "\u{202e}",
        &long,
        &name,
    ] {
        ask("read", "logs", path, false);
        ask("list", "logs", path, false);
    }
    for root_name in ["", "other", "logs/gpu-1", "..", "/"] {
        ask("read", root_name, "gpu-1/app.log", false);
        ask("list", root_name, "", false);
    }
}

#[test]
fn observations_are_ordered() {
    let mut guest = Guest::new("telemetry-collector");
    let image = &mut guest.image;
    let line = |image: &mut Image, time: i64, text: &str| {
        let text = image.text(text);
        [&1u64.to_le_bytes()[..], &time.to_le_bytes(), &text]
            .concat()
            .into_iter()
            .chain([0; 0])
            .collect::<Vec<u8>>()
    };
    let lines: Vec<Vec<u8>> = [(2, "b"), (1, "z"), (2, "a")]
        .into_iter()
        .map(|(time, text)| {
            let mut bytes = line(image, time, text);
            bytes.resize(24, 0);
            bytes
        })
        .collect();
    let list = image.list(&lines);
    let lines_at = u32::from_le_bytes(list[..4].try_into().unwrap());
    let pairs = image.pairs(&[("source", "app"), ("node", "gpu-1")]);
    let pairs_at = u32::from_le_bytes(pairs[..4].try_into().unwrap());
    let (answer, ok) = (image.put(&[0; 64]), report(image, "app", "ok"));
    let wasm = guest
        .own_import("sink", "observe", "(param i32 i32 i32 i32 i32)")
        .collect(&format!(
            "(call $observe (i32.const {pairs_at}) (i32.const 2) (i32.const {lines_at}) (i32.const 3)
                            (i32.const {answer}))
             (if (i32.load8_u (i32.const {answer})) (then unreachable))
             (i32.const {ok})"
        ))
        .build();
    let collected = collect(&wasm).unwrap();
    let [stream] = collected.spooled.as_slice() else { panic!("{collected:?}") };
    assert_eq!(stream.labels["node"], "gpu-1");
    assert_eq!(std::io::read_to_string(stream.read_bytes().unwrap()).unwrap(), "z\na\nb\n");
}

#[test]
fn calls_that_do_not_end_well() {
    for (code, status) in [("unreachable", "trap"), (MEMORY_BOMB, "limit"), ("(i32.const -8)", "malformed")] {
        let failure = collect(&Guest::new("telemetry-collector").collect(code).build()).unwrap_err();
        assert_eq!(failure.status(), status, "{failure}");
    }
}

#[test]
fn an_endless_loop_ends_at_the_deadline_or_without_fuel() {
    let dir = tempfile::tempdir().unwrap();
    let wasm = Guest::new("telemetry-collector").collect(LOOP).build();
    let call = |plugin: &crate::Plugin, deadline| {
        let grants = granted(dir.path(), deadline);
        plugin.collect(Arc::default(), &Focus::default(), &Interest::default(), &grants).unwrap_err()
    };
    let failure = call(&load(&wasm), Duration::from_millis(50));
    assert_eq!(failure.status(), "deadline", "{failure}");

    let mut small = options();
    small.limits.collect_fuel = 10_000_000;
    let plugin = Runtime::new(small).unwrap().load("test.wasm", &wasm, None).unwrap();
    let failure = call(&plugin, Duration::from_secs(60));
    assert_eq!(failure.status(), "out_of_fuel", "{failure}");
}

#[test]
fn a_loop_of_host_calls_ends_at_the_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let mut guest = Guest::new("telemetry-collector");
    let room = guest.image.put(&[0; 8]);
    let wasm = guest
        .own_import("files", "roots", "(param i32)")
        .collect(&format!("(loop $again (call $roots (i32.const {room})) (br $again)) unreachable"))
        .build();
    let mut generous = options();
    generous.limits.host_work = u64::MAX;
    generous.limits.memory_bytes = 256 << 20;
    let plugin = Runtime::new(generous).unwrap().load("test.wasm", &wasm, None).unwrap();
    let grants = granted(dir.path(), Duration::from_millis(20));
    let failure =
        plugin.collect(Arc::default(), &Focus::default(), &Interest::default(), &grants).unwrap_err();
    assert_eq!(failure.status(), "deadline", "{failure}");
}

#[test]
fn malformed_reports() {
    for (source, status, wants) in [("app", "fine", "'fine'"), ("App", "ok", "'App'"), ("", "ok", "source")] {
        let mut guest = Guest::new("telemetry-collector");
        let at = report(&mut guest.image, source, status);
        let failure = collect(&guest.collect(&format!("(i32.const {at})")).build()).unwrap_err();
        assert_eq!(failure.status(), "malformed");
        assert!(failure.to_string().contains(wants), "{failure}");
    }
}

#[test]
fn skipping_below_a_root_that_is_not_granted_voids_the_call() {
    let mut guest = Guest::new("telemetry-collector");
    let root = guest.image.put(b"other");
    let skip = format!(
        "(call $skip (i32.const {root}) (i32.const 5) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
         unreachable"
    );
    let wasm = guest.own_import("files", "skip", "(param i32 i32 i32 i32 i32 i32)").collect(&skip).build();
    let failure = collect(&wasm).unwrap_err();
    assert!(failure.status() == "malformed" && failure.to_string().contains("'other'"), "{failure}");
}

#[test]
fn a_caller_may_itself_be_asynchronous() {
    let mut guest = Guest::new("telemetry-collector");
    let at = report(&mut guest.image, "app", "ok");
    let wasm = guest.collect(&format!("(i32.const {at})")).build();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { collect(&wasm) }).unwrap();
}
