//! What a path means. In the `logs` of an incident folder the place says it (`logs/<node>/<source>[.<rank>].log`); elsewhere
//! names that are known say it, and a file that nothing is known of may hold anything.

use std::collections::BTreeSet;

use crate::name::{leading_source, source, stem, trailing_source};

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Meaning {
    /// Its source.
    pub source: String,
    /// Its node.
    pub node: Option<String>,
    /// The global rank that wrote all of it.
    pub rank: Option<u32>,
    /// Its name among the streams of its node.
    pub stream: String,
}

/// Folders that are never named for a node.
const COMMON_FOLDERS: &[&str] = &[
    "log", "logs", "var", "tmp", "out", "output", "outputs", "run", "runs", "results", "data", "files",
    "stdout", "stderr",
];

/// What a file is, by its folder, its name without the marks of rotation, the nodes of the context, and the sources that some
/// rule reads.
#[must_use]
pub fn meaning(folder: &str, base: &str, nodes: &BTreeSet<String>, sources: &BTreeSet<String>) -> Meaning {
    let stem = stem(base);
    let mut folders = folder.split('/').filter(|part| !part.is_empty());
    if folders.next() == Some("logs") {
        return match folders.next() {
            None => Meaning { stream: base.to_owned(), ..by_name(folder, base, stem, nodes) },
            Some(node) => {
                let rest: Vec<&str> = folders.chain([base]).collect();
                let (name, rank) = ranked(stem);
                let source = source(name).or_else(|| leading_source(name).map(|(source, _)| source));
                let source = source.or_else(|| sources.get(name).map(String::as_str)).unwrap_or("unstated");
                Meaning {
                    source: source.to_owned(),
                    node: Some(node.to_owned()),
                    rank,
                    stream: rest.join("/"),
                }
            }
        };
    }
    by_name(folder, base, stem, nodes)
}

fn by_name(folder: &str, base: &str, stem: &str, nodes: &BTreeSet<String>) -> Meaning {
    let stream = if folder.is_empty() { base.to_owned() } else { format!("{folder}/{base}") };
    let (name, rank) = ranked(stem);
    let exact = source(name);
    // `<source>-<node>` and `<node>-<source>`, for nodes that the context names; a node alone.
    let beside = leading_source(stem).or_else(|| trailing_source(stem));
    let in_name = beside.map_or(stem, |(_, rest)| rest);
    let mut node = nodes.get(in_name).cloned();
    // The nearest folder that is named for a node; else any, for a log that is named for a source.
    node = node.or_else(|| folder.rsplit('/').find(|part| nodes.contains(*part)).map(str::to_owned));
    if node.is_none() && exact.is_some() && stem.len() < base.len() {
        let last =
            folder.rsplit('/').next().filter(|last| !last.is_empty() && !COMMON_FOLDERS.contains(last));
        node = last.filter(|_| nodes.is_empty() || is_host_name(folder)).map(str::to_owned);
    }
    let found = exact.or_else(|| leading_source(stem).map(|(source, _)| source));
    let found = found.or_else(|| {
        trailing_source(stem).filter(|(_, rest)| nodes.contains(*rest)).map(|(source, _)| source)
    });
    Meaning {
        source: found.unwrap_or("unstated").to_owned(),
        node,
        rank: rank.filter(|_| exact.is_some()),
        stream,
    }
}

/// Where the context names nodes and this folder is none of them, it may still be another name of one: if it stands at the top and
/// has the characters of a host's name.
fn is_host_name(folder: &str) -> bool {
    folder.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
}

/// `app.27` is the source `app` of rank 27.
fn ranked(stem: &str) -> (&str, Option<u32>) {
    match stem.rsplit_once('.').and_then(|(name, rank)| Some((name, digits(rank)?))) {
        Some((name, rank)) => (name, Some(rank)),
        None => (stem, None),
    }
}

fn digits(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn check(folder: &str, base: &str, source: &str, node: Option<&str>, rank: Option<u32>, stream: &str) {
        let found = meaning(folder, base, &set(&["gpu-1", "gpu-2"]), &set(&["ipmi", "app"]));
        let expected = Meaning {
            source: source.to_owned(),
            node: node.map(str::to_owned),
            rank,
            stream: stream.to_owned(),
        };
        assert_eq!(found, expected, "{folder} {base}");
    }

    #[test]
    fn an_incident_folder_says_it_by_place() {
        check("logs/gpu-1", "app.log", "app", Some("gpu-1"), None, "app.log");
        check("logs/gpu-1", "app.27.log", "app", Some("gpu-1"), Some(27), "app.27.log");
        check("logs/other", "kernel.log", "kernel", Some("other"), None, "kernel.log");
        check("logs/gpu-1", "ipmi.log", "ipmi", Some("gpu-1"), None, "ipmi.log");
        check("logs/gpu-1", "train.log", "unstated", Some("gpu-1"), None, "train.log");
        check("logs/gpu-1", "syslog", "syslog", Some("gpu-1"), None, "syslog");
        check("logs/gpu-1/deep", "dmesg.log", "kernel", Some("gpu-1"), None, "deep/dmesg.log");
        check("logs", "scheduler.log", "scheduler", None, None, "scheduler.log");
        check("logs", "train.log", "unstated", None, None, "train.log");
    }

    #[test]
    fn elsewhere_known_names_say_it() {
        check("", "job.log", "unstated", None, None, "job.log");
        check("", "slurm-48213.out", "unstated", None, None, "slurm-48213.out");
        check("", "app.log", "app", None, None, "app.log");
        check("", "dmesg", "kernel", None, None, "dmesg");
        check("", "kern.log", "kernel", None, None, "kern.log");
        check("", "slurmctld.log", "scheduler", None, None, "slurmctld.log");
        check("", "fabricmanager.log", "fabric_manager", None, None, "fabricmanager.log");
        check("var/log", "messages", "syslog", None, None, "var/log/messages");
        check("", "dmesg-gpu-2.log", "kernel", Some("gpu-2"), None, "dmesg-gpu-2.log");
        check("", "gpu-2.kernel.log", "kernel", Some("gpu-2"), None, "gpu-2.kernel.log");
        check("", "gpu-2.log", "unstated", Some("gpu-2"), None, "gpu-2.log");
        check("", "kernel-old.log", "kernel", None, None, "kernel-old.log");
        check("", "notes-kernel.log", "unstated", None, None, "notes-kernel.log");
    }

    #[test]
    fn folders_name_nodes_if_the_context_or_the_files_name_says_so() {
        check("gpu-1", "train.log", "unstated", Some("gpu-1"), None, "gpu-1/train.log");
        check("gpu-1/torch", "stderr.log", "unstated", Some("gpu-1"), None, "gpu-1/torch/stderr.log");
        check("gpu-9", "kernel.log", "kernel", Some("gpu-9"), None, "gpu-9/kernel.log");
        check("gpu-9", "app.3.log", "app", Some("gpu-9"), Some(3), "gpu-9/app.3.log");
        check("gpu-9", "train.log", "unstated", None, None, "gpu-9/train.log");
        check("var/log", "kernel.log", "kernel", None, None, "var/log/kernel.log");
        check("gpu-9", "syslog", "syslog", None, None, "gpu-9/syslog");
        let unknown = meaning("a_b", "kernel.log", &set(&[]), &set(&[]));
        assert_eq!(unknown.node.as_deref(), Some("a_b"));
    }
}
