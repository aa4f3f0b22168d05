//! Goes through the granted folders, folder by folder in byte order, and attaches what is a log.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_plugin::{Attributes, Entry, Facts, Files, Report};

use crate::layout::{Meaning, meaning};
use crate::name::{Age, parse};
use crate::report::Tally;
use crate::skip;

/// How deep folders are entered.
const DEEPEST: usize = 16;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Nodes of the context.
    pub nodes: BTreeSet<String>,
    /// If not empty: files of other nodes are not wanted. A file of no known node may hold any.
    pub focus: BTreeSet<String>,
    /// Sources that some rule reads.
    pub sources: BTreeSet<String>,
}

/// Attaches every log below every root.
#[must_use]
pub fn collect(files: &dyn Files, wanted: &Wanted) -> Report {
    let roots = files.roots();
    let mut walk = Walk {
        files,
        wanted,
        several: roots.len() > 1,
        streams: BTreeSet::new(),
        tally: Tally::default(),
        full: None,
    };
    for root in &roots {
        walk.root(root);
    }
    walk.tally.report()
}

struct Walk<'a> {
    files: &'a dyn Files,
    wanted: &'a Wanted,
    /// Streams of several roots could go by one name.
    several: bool,
    streams: BTreeSet<Meaning>,
    tally: Tally,
    /// The host takes no more files, and why.
    full: Option<String>,
}

impl Walk<'_> {
    fn root(&mut self, root: &str) {
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let below = self.folder(root, &folder);
            // The last is taken first.
            folders.extend(below.into_iter().rev());
        }
    }

    /// Attaches the files of a folder and says which folders to enter.
    fn folder(&mut self, root: &str, folder: &str) -> Vec<String> {
        let entries = match self.files.list(root, folder) {
            Ok(entries) => entries,
            Err(error) => {
                self.skip(root, folder, &error.message);
                self.tally.failed(
                    if folder.is_empty() { root.to_owned() } else { folder.to_owned() },
                    error.message,
                );
                return Vec::new();
            }
        };
        let mut below = Vec::new();
        let mut streams: BTreeMap<String, Vec<(Age, Entry)>> = BTreeMap::new();
        for entry in entries {
            let name = entry.path.rsplit('/').next().unwrap_or_default();
            if entry.kind == "file" && skip::is_context(name, folder.is_empty()) {
                continue;
            }
            let reason = match entry.kind.as_str() {
                "folder" => skip::folder_reason(name, folder.is_empty())
                    .or_else(|| (depth(&entry.path) > DEEPEST).then_some("too deep: more than 16 folders")),
                "file" => skip::reason(name),
                "link" => Some("a link: give what it points to instead"),
                _ => Some("not a regular file"),
            };
            match reason {
                Some(reason) => self.skip(root, &entry.path, reason),
                None if entry.kind == "folder" => below.push(entry.path),
                None => {
                    let parsed = parse(name);
                    streams.entry(parsed.base.to_owned()).or_default().push((parsed.age, entry));
                }
            }
        }
        for (base, mut siblings) in streams {
            siblings.sort_by(|(age, entry), (other_age, other)| {
                (age, &entry.path).cmp(&(other_age, &other.path))
            });
            self.stream(root, folder, &base, &siblings);
        }
        below
    }

    /// Attaches the files of one stream, the oldest first.
    fn stream(&mut self, root: &str, folder: &str, base: &str, siblings: &[(Age, Entry)]) {
        let mut what = meaning(folder, base, &self.wanted.nodes, &self.wanted.sources);
        let unwanted = |node: &String| !self.wanted.focus.is_empty() && !self.wanted.focus.contains(node);
        if what.node.as_ref().is_some_and(unwanted) {
            return;
        }
        if self.several && !self.streams.insert(what.clone()) {
            what.stream = format!("{root}/{}", what.stream);
        }
        let missing = missing(siblings);
        for (part, (_, entry)) in siblings.iter().enumerate() {
            if let Some(why) = self.full.clone() {
                self.refuse(root, entry, &what, &why);
                continue;
            }
            match self.files.attach(root, &entry.path, &labels(&what, part, siblings.len(), missing)) {
                Ok(()) => self.tally.attached(&what.source, what.node.as_deref(), entry.size),
                Err(error) => {
                    self.refuse(root, entry, &what, &error.message);
                    if error.code == "limit" {
                        self.full = Some(error.message);
                    }
                }
            }
        }
    }

    fn refuse(&mut self, root: &str, entry: &Entry, what: &Meaning, why: &str) {
        self.files.skip(root, &entry.path, why);
        self.tally.refused(&what.source, what.node.as_deref(), why);
    }

    fn skip(&mut self, root: &str, path: &str, reason: &str) {
        self.files.skip(root, path, reason);
        self.tally.skipped();
    }
}

/// How many files the numbers of rotated siblings leave out: `x.log` and `x.log.2` without `x.log.1`.
fn missing(siblings: &[(Age, Entry)]) -> u32 {
    let number = |age: &Age| match age {
        Age::Numbered(age) => Some(u32::MAX - age),
        Age::Current => Some(0),
        Age::Dated(_) => None,
    };
    let numbers: BTreeSet<u32> = siblings.iter().filter_map(|(age, _)| number(age)).collect();
    let between = |(low, high): (&u32, &u32)| high - low - 1;
    numbers.iter().zip(numbers.iter().skip(1)).map(between).fold(0, u32::saturating_add)
}

fn labels(what: &Meaning, part: usize, of: usize, missing: u32) -> Attributes {
    let mut labels = Facts::new();
    labels.set("source", what.source.clone());
    labels.set("stream", what.stream.clone());
    labels.set_some("node", what.node.clone());
    labels.set_some("rank", what.rank.map(|rank| rank.to_string()));
    if of > 1 {
        labels.set("part", part.to_string());
        labels.set_some("missing", (part == 0 && missing > 0).then(|| missing.to_string()));
    }
    labels.into()
}

/// How many components a path has.
fn depth(path: &str) -> usize {
    path.split('/').count()
}

#[cfg(test)]
mod tests {
    use firstfault_plugin::get;
    use firstfault_plugin::testing::MemoryFiles;

    use super::*;

    /// What was attached, as `root path source node rank stream part`.
    fn attached(files: &MemoryFiles, wanted: &Wanted) -> (Vec<String>, Report) {
        let report = collect(files, wanted);
        let line = |(root, path, labels): (String, String, Attributes)| {
            let label = |key| get(&labels, key).unwrap_or("-").to_owned();
            let labels = ["source", "node", "rank", "stream", "part"].map(label).join(" ");
            format!("{root} {path} {labels}")
        };
        (files.attached().into_iter().map(line).collect(), report)
    }

    #[test]
    fn numbers_that_are_left_out_are_missing() {
        let of = |names: &[&str]| {
            let entry = |name: &&str| Entry { path: (*name).to_owned(), kind: "file".to_owned(), size: 1 };
            missing(&names.iter().map(|name| (parse(name).age, entry(name))).collect::<Vec<_>>())
        };
        assert_eq!(of(&["a.log", "a.log.1", "a.log.2.gz"]), 0);
        assert_eq!(of(&["a.log", "a.log.2", "a.log.5"]), 3);
        assert_eq!(of(&["a.log.4", "a.log.5"]), 0);
        assert_eq!(of(&["a.log", "a.log-20261101", "a.log-20261130"]), 0);
    }

    #[test]
    fn an_incident_folder() {
        let files = MemoryFiles::new()
            .file("given-0", "context.json", "{}")
            .file("given-0", "expect.json", "{}")
            .file("given-0", "logs/gpu-1/app.3.log", "x")
            .file("given-0", "logs/gpu-1/kernel.log", "xy")
            .file("given-0", "logs/gpu-1/kernel.log.1", "abc")
            .file("given-0", "logs/gpu-1/kernel.log.2.gz", "abc")
            .file("given-0", "logs/gpu-2/kernel.log", "")
            .file("given-0", "logs/scheduler.log", "x")
            .file("given-0", "metrics/power.json", "[]")
            .link("given-0", "logs/gpu-1/latest.log");
        let (lines, report) = attached(&files, &Wanted::default());
        assert_eq!(
            lines,
            [
                "given-0 logs/scheduler.log scheduler - - scheduler.log -",
                "given-0 logs/gpu-1/app.3.log app gpu-1 3 app.3.log -",
                "given-0 logs/gpu-1/kernel.log.2.gz kernel gpu-1 - kernel.log 0",
                "given-0 logs/gpu-1/kernel.log.1 kernel gpu-1 - kernel.log 1",
                "given-0 logs/gpu-1/kernel.log kernel gpu-1 - kernel.log 2",
                "given-0 logs/gpu-2/kernel.log kernel gpu-2 - kernel.log -",
            ]
        );
        let skipped: Vec<String> = files.skipped().into_iter().map(|(_, path, _)| path).collect();
        assert_eq!(skipped, ["expect.json", "metrics", "logs/gpu-1/latest.log"]);
        let entries: Vec<(&str, Option<&str>, &str, Option<&str>)> = report
            .entries
            .iter()
            .map(|entry| {
                (
                    entry.source.as_str(),
                    entry.node.as_deref(),
                    entry.status.as_str(),
                    get(&entry.facts, "bytes"),
                )
            })
            .collect();
        assert_eq!(
            entries,
            [
                ("app", Some("gpu-1"), "ok", Some("1")),
                ("kernel", Some("gpu-1"), "ok", Some("8")),
                ("kernel", Some("gpu-2"), "empty", Some("0")),
                ("scheduler", None, "ok", Some("1")),
            ]
        );
        assert_eq!(get(&report.extra, "skipped"), Some("3"));
    }

    #[test]
    fn only_the_nodes_in_focus_and_what_may_hold_them() {
        let files = MemoryFiles::new()
            .file("r", "logs/a/app.log", "x")
            .file("r", "logs/b/app.log", "x")
            .file("r", "logs/scheduler.log", "x");
        let wanted = Wanted { focus: ["b".to_owned()].into(), ..Wanted::default() };
        let (lines, _) = attached(&files, &wanted);
        assert_eq!(
            lines,
            ["r logs/scheduler.log scheduler - - scheduler.log -", "r logs/b/app.log app b - app.log -"]
        );
    }

    #[test]
    fn streams_of_two_roots_are_kept_apart() {
        let files = MemoryFiles::new().file("given-0", "job.log", "x").file("given-1", "job.log", "x").file(
            "given-1",
            "job.log.1",
            "x",
        );
        let (lines, _) = attached(&files, &Wanted::default());
        assert_eq!(
            lines,
            [
                "given-0 job.log unstated - - job.log -",
                "given-1 job.log.1 unstated - - given-1/job.log 0",
                "given-1 job.log unstated - - given-1/job.log 1",
            ]
        );
    }

    #[test]
    fn what_is_too_deep_or_cannot_be_listed_is_said() {
        let deep = |levels: usize| format!("{}a.log", "d/".repeat(levels));
        let files = MemoryFiles::new()
            .file("r", &deep(16), "x")
            .file("r", &format!("e/{}", deep(16)), "x")
            .root("empty");
        let (lines, report) = attached(&files, &Wanted::default());
        assert_eq!(lines.len(), 1);
        assert_eq!(files.skipped().len(), 1);
        assert_eq!(report.entries.len(), 1);
    }
}
