//! Whatever files are named, each is attached once or left out with a reason.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "../../../host/model/tests/support/edited.rs"]
mod edited;

use std::collections::BTreeSet;

use edited::edited;
use firstfault_plugin::testing::MemoryFiles;
use firstfault_plugin_files::name::{self, Name};
use firstfault_plugin_files::walk::{Wanted, collect};
use proptest::prelude::*;

const PATHS: &[&str] = &[
    "logs/gpu-1/app.log",
    "logs/gpu-1/app.27.log.2.gz",
    "logs/gpu-1/kernel.log-20261102",
    "logs/scheduler.log",
    "var/log/messages.1",
    "gpu-1/dmesg.txt",
    "kern-gpu-1.log.gz",
    "slurmctld.log",
    "job.out",
    "rank_3.err",
    "context.json",
    "README.md",
    "core.1234",
    "a/b/c/d/e.zst",
];

/// A path as a folder may hold it: no empty part, no dots alone, no NUL.
fn path() -> impl Strategy<Value = String> {
    edited(PATHS).prop_map(|text| {
        let parts = text.split('/').map(|part| part.replace(['\0', '\n'], "_"));
        parts.filter(|part| !matches!(part.as_str(), "" | "." | "..")).collect::<Vec<_>>().join("/")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn names(text in edited(PATHS)) {
        let Name { base, .. } = name::parse(&text);
        prop_assert!(text.starts_with(base));
        let stem = name::stem(base);
        prop_assert!(base.starts_with(stem));
        _ = (name::source(stem), name::leading_source(stem), name::trailing_source(stem));
    }

    #[test]
    fn trees(paths in prop::collection::btree_set(path(), 0..20), context in any::<bool>()) {
        let paths: BTreeSet<String> = paths.into_iter().filter(|path| !path.is_empty()).collect();
        // None is a folder and a file.
        let folder = |path: &String| paths.iter().any(|other| other.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/')));
        let paths: BTreeSet<&String> = paths.iter().filter(|path| !folder(path)).collect();
        let files = paths.iter().fold(MemoryFiles::new(), |files, path| files.file("given-0", path, "a line\n"));
        let nodes: BTreeSet<String> = if context { ["gpu-1".to_owned()].into() } else { BTreeSet::new() };
        _ = collect(&files, &Wanted { nodes, ..Wanted::default() });
        let attached: Vec<String> = files.attached().into_iter().map(|(_, path, _)| path).collect();
        let skipped: Vec<String> = files.skipped().into_iter().map(|(_, path, _)| path).collect();
        let once: BTreeSet<&String> = attached.iter().collect();
        prop_assert_eq!(once.len(), attached.len(), "attached once");
        for path in &paths {
            let below = |skipped: &String| path.strip_prefix(skipped.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let left_out = skipped.iter().any(below);
            let is_context = ["context.json", "context.toml"].contains(&path.as_str());
            prop_assert!(once.contains(*path) != left_out || is_context, "{}: attached {:?}, skipped {:?}", path, attached, skipped);
        }
    }
}
