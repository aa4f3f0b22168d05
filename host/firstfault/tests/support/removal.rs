//! What may be said of an incident of which something is missing.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::{Evidence, Finding, RootCause, TerminalState, Verdict};

use crate::mutation::Files;
use crate::one_place::may_be_one;

/// Something that is taken away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Removal {
    /// A line, from 0.
    Line { path: String, number: usize },
    /// A file that shows nothing of the root cause, or all of a node.
    Source { path: String },
    /// A file, or all of a node, with what shows the root cause.
    RootSource { path: String },
    /// All files of this name.
    Kind { name: String },
    /// The output of a node with a rank that is said to be silent.
    Silent { path: String },
}

impl Removal {
    /// The name by which its kind is asked for.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Line { .. } => "line",
            Self::Source { .. } => "source",
            Self::RootSource { .. } => "root_source",
            Self::Kind { .. } => "kind",
            Self::Silent { .. } => "silent",
        }
    }

    /// What is left.
    pub(crate) fn apply(&self, files: &Files) -> Files {
        let mut files = files.clone();
        match self {
            Self::Kind { name } => files.retain(|path, _| path.rsplit('/').next() != Some(name)),
            Self::Line { path, number } => {
                let text = files.get_mut(path).unwrap();
                *text = without(text, |i, _| i == *number);
            }
            Self::Source { path } | Self::RootSource { path } | Self::Silent { path } => {
                files.retain(|name, _| {
                    name != path && !(path.ends_with('/') && name.starts_with(path.as_str()))
                });
            }
        }
        files
    }
}

/// A text without some of its lines.
fn without(text: &[u8], mut gone: impl FnMut(usize, &[u8]) -> bool) -> Vec<u8> {
    let lines = text.split_inclusive(|b| *b == b'\n').enumerate();
    lines.filter(|(i, line)| !gone(*i, line)).flat_map(|(_, line)| line.iter().copied()).collect()
}

/// All removals that are tried on an incident: each source, and of the lines all that the document cites and `others` more.
pub(crate) fn all(
    files: &Files,
    found: &Finding,
    others: usize,
    mut below: impl FnMut(usize) -> usize,
) -> Vec<Removal> {
    let of_root: BTreeSet<String> = found
        .root_causes
        .iter()
        .flat_map(|root| cited(files, found, &root.evidence))
        .map(|(path, _)| path)
        .collect();
    let mut out = sources(files, &of_root);
    for group in found.symptoms.iter().filter(|group| group.symptom == "nccl.silent_rank") {
        let path = format!("logs/{}/app.log", group.nodes);
        if files.contains_key(&path) {
            out.push(Removal::Silent { path });
        }
    }
    let all: Vec<String> = found.evidence.iter().map(|evidence| evidence.id.clone()).collect();
    let mut lines = cited(files, found, &all);
    let candidates: Vec<(String, usize)> = files
        .iter()
        .filter(|(path, _)| *path != "context.json" && !path.ends_with(".gz") && !path.ends_with(".zst"))
        .flat_map(|(path, text)| {
            (0..text.split_inclusive(|b| *b == b'\n').count()).map(|i| (path.clone(), i))
        })
        .collect();
    for _ in 0..others {
        lines.extend(candidates.get(below(candidates.len())).cloned());
    }
    out.extend(lines.into_iter().map(|(path, number)| Removal::Line { path, number }));
    out
}

/// Each file, and each node of several files.
fn sources(files: &Files, of_root: &BTreeSet<String>) -> Vec<Removal> {
    let mut nodes: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    let mut out = Vec::new();
    let removal = |path: String, shows: bool| match shows {
        true => Removal::RootSource { path },
        false => Removal::Source { path },
    };
    for path in files.keys().filter(|path| *path != "context.json") {
        out.push(removal(path.clone(), of_root.contains(path)));
        if let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| folder.starts_with("logs/")) {
            nodes.entry(format!("{folder}/")).or_default().push(path);
        }
    }
    let several = nodes.into_iter().filter(|(_, paths)| paths.len() > 1);
    out.extend(
        several.map(|(folder, paths)| removal(folder, paths.iter().any(|path| of_root.contains(*path)))),
    );
    let names: BTreeSet<&str> = files.keys().filter_map(|path| path.rsplit('/').next()).collect();
    let kinds = names.into_iter().filter(|name| *name != "context.json");
    out.extend(kinds.map(|name| Removal::Kind { name: name.to_owned() }));
    out.retain(|removal| !removal.apply(files).keys().all(|path| path == "context.json"));
    out
}

/// Where the evidence of these ids lies: file and line, from 0.
fn cited(files: &Files, found: &Finding, ids: &[String]) -> BTreeSet<(String, usize)> {
    let of = |evidence: &Evidence| {
        let number = usize::try_from(evidence.line_number).unwrap().checked_sub(1)?;
        let path = files.keys().find(|path| is_stream(path, evidence))?;
        // A block may be of several lines: each of them shows it.
        let lines = evidence.text.split('\n').count();
        Some((number..number + lines).map(|number| (path.clone(), number)).collect::<Vec<_>>())
    };
    found.evidence.iter().filter(|evidence| ids.contains(&evidence.id)).filter_map(of).flatten().collect()
}

/// Whether a stream's evidence comes from a file.
fn is_stream(path: &str, evidence: &Evidence) -> bool {
    let in_folder = |node: &String| path == format!("logs/{node}/{}", evidence.stream);
    path == evidence.stream
        || path == format!("logs/{}", evidence.stream)
        || evidence.node.as_ref().is_some_and(in_folder)
        || (path.ends_with(&format!("/{}", evidence.stream)) && evidence.node.is_none())
}

/// The files without any line that shows a root cause, and without those that equal one but for numbers.
pub(crate) fn without_evidence(files: &Files, found: &Finding, root: &RootCause) -> Files {
    let lines = cited(files, found, &root.evidence);
    let shape =
        |line: &[u8]| -> Vec<u8> { line.iter().filter(|b| !b.is_ascii_hexdigit()).copied().collect() };
    let mut shapes: BTreeMap<&String, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for (path, number) in &lines {
        let line = files[path].split_inclusive(|b| *b == b'\n').nth(*number);
        shapes.entry(path).or_default().extend(line.map(shape));
    }
    let mut left = files.clone();
    for (path, shapes) in shapes {
        let text = left.get_mut(path).unwrap();
        *text = without(text, |_, line| shapes.contains(&shape(line)));
    }
    left
}

/// Whether two root causes are one: of one category, at what may be one place.
pub(crate) fn is_same(context: &ExecutionContext, a: &RootCause, b: &RootCause) -> bool {
    a.domain == b.domain && a.sub_domain == b.sub_domain && may_be_one(context, &a.place, &b.place)
}

/// What is wrong with what is said without a line or a source. Right is the same root cause, no surer than before, or none; somebody
/// else, or something else, only if that is less sure.
pub(crate) fn wrong_with_less(context: &ExecutionContext, whole: &Finding, less: &Finding) -> Option<String> {
    let first = whole.root_causes.first();
    match (whole.verdict, less.verdict) {
        (_, Verdict::Undetermined) | (Verdict::NoFault, Verdict::NoFault) => return None,
        (_, Verdict::NoFault) => return Some("it is said to be no fault".to_owned()),
        (Verdict::Undetermined | Verdict::NoFault, Verdict::Attributed) => {
            return Some(format!("it was {:?}, and is {}", whole.verdict, less.summary));
        }
        (Verdict::Attributed, Verdict::Attributed) => {}
    }
    let first = first?;
    less.root_causes.iter().find_map(|root| {
        match whole.root_causes.iter().find(|before| is_same(context, before, root)) {
            Some(before) if root.confidence > before.confidence => {
                Some(format!("{} is {:?}, and was {:?}", root.symptom, root.confidence, before.confidence))
            }
            None if root.confidence >= first.confidence => Some(format!(
                "{} is blamed ({:?}), and was not; {} was ({:?})\n  {}",
                root.symptom, root.confidence, first.symptom, first.confidence, less.summary
            )),
            _ => None,
        }
    })
}

/// What is wrong with what is said once nothing shows the root cause any more. Right is that nothing is known, or something else that is
/// shown at the same place; another place only if that is less sure than the root cause was.
pub(crate) fn wrong_without_evidence(
    context: &ExecutionContext,
    whole: &Finding,
    root: &RootCause,
    less: &Finding,
) -> Option<String> {
    let failed = !matches!(
        whole.terminal_state,
        TerminalState::Completed | TerminalState::Unknown | TerminalState::Running
    );
    match less.verdict {
        Verdict::Undetermined => return None,
        Verdict::NoFault => return failed.then(|| "it is said to be no fault".to_owned()),
        Verdict::Attributed => {}
    }
    less.root_causes.iter().find_map(|other| {
        let known = whole.root_causes.iter().any(|before| is_same(context, before, other));
        let there = may_be_one(context, &root.place, &other.place) && root.place.node.is_some();
        if other.evidence.is_empty() {
            return Some(format!("nothing shows {}", other.symptom));
        }
        (!known && !there && other.confidence >= root.confidence).then(|| {
            format!(
                "{} is blamed ({:?}) instead of {} ({:?})\n  {}",
                other.symptom, other.confidence, root.symptom, root.confidence, less.summary
            )
        })
    })
}

/// What is wrong with what is said without the output of a rank that is said to be silent: nothing is known, or the root cause was
/// shown elsewhere.
pub(crate) fn wrong_without_the_silent(
    context: &ExecutionContext,
    whole: &Finding,
    less: &Finding,
) -> Option<String> {
    let claims = |finding: &Finding| {
        let silent = finding.symptoms.iter().filter(|group| group.symptom == "nccl.silent_rank");
        silent.flat_map(|group| group.notes.clone()).any(|note| note.contains("did not report"))
    };
    if claims(less) {
        return Some("a rank is said not to have reported whose output is not at hand".to_owned());
    }
    wrong_with_less(context, whole, less)
}
