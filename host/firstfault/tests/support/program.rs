//! Runs the built program on samples, away from the settings of whoever runs the tests.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

use crate::schema;

/// The program, in the folder of the samples. Compiled plugins go to a folder of the tests.
pub(crate) fn firstfault() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstfault"));
    command
        .current_dir(samples())
        .env_remove("FIRSTFAULT_LOG")
        .env("NO_COLOR", "1")
        .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command
}

/// The workspace's folder.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the samples.
pub(crate) fn samples() -> PathBuf {
    workspace().join("examples/incidents")
}

/// Names of the samples, sorted.
pub(crate) fn sample_names() -> Vec<String> {
    let entries = std::fs::read_dir(samples()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(!names.is_empty(), "there are samples");
    names
}

/// What a run printed; it must have ended well.
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}: {complaint}", output.status);
    assert!(!complaint.contains("panicked"), "{complaint}");
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}

/// The document of `diagnose --format json` with these arguments, as text. It is held against the schema.
pub(crate) fn diagnose_text<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let mut command = firstfault();
    command.arg("diagnose").args(["--format", "json"]).args(arguments);
    let text = output(&mut command);
    parse(&text);
    text
}

/// The document of `diagnose --format json` with these arguments.
pub(crate) fn diagnose<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Value {
    parse(&diagnose_text(arguments))
}

fn parse(text: &str) -> Value {
    let document = serde_json::from_str(text).expect("the document is JSON");
    schema::assert_valid("diagnosis", &document);
    document
}

/// Compares a text with a file of the sources; with `BLESS=1` in the environment it rewrites the file instead.
pub(crate) fn assert_is_file(text: &str, file: &Path) {
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(file).unwrap_or_default();
    let number = wanted.lines().zip(text.lines()).position(|(a, b)| a != b);
    let number = number.unwrap_or_else(|| wanted.lines().count().min(text.lines().count()));
    let line = |text: &str| text.lines().nth(number).unwrap_or("(the end)").to_owned();
    assert!(
        wanted == text,
        "{} is not what the program prints, from line {}:\n- {}\n+ {}\nrun with BLESS=1 to take over what it prints",
        file.display(),
        number + 1,
        line(&wanted),
        line(text)
    );
}

/// The text with the digits of each digest as `-`: they change with every build of a plugin.
pub(crate) fn without_digests(text: &str) -> String {
    let mut parts = text.split("sha256:");
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        out.push_str("sha256:-");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    out
}

/// Copies a folder and all that is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
