//! What may be said of an incident of which something is missing.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::{
    Evidence, Finding, Missing, RootCause, RuledOut, RuledOutEntry, TerminalState, Verdict,
};

use crate::mutation::Files;
use crate::one_place::may_be_one;

/// Something that is taken away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Removal {
    /// A line, from 0.
    Line { path: String, number: usize },
    /// A file, or all of a node.
    Source { path: String },
    /// All files of this name.
    Kind { name: String },
    /// The output of a node with a rank that is said to be silent.
    Silent { node: String, path: String },
}

impl Removal {
    /// The name by which its kind is asked for.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Line { .. } => "line",
            Self::Source { .. } => "source",
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
            Self::Source { path } | Self::Silent { path, .. } => {
                files.retain(|name, _| {
                    name != path && !(path.ends_with('/') && name.starts_with(path.as_str()))
                });
            }
        }
        files
    }
}

impl Removal {
    /// Whether what is gone showed a root cause, or who is suspected.
    pub(crate) fn shows_root(&self, files: &Files, found: &Finding) -> bool {
        let roots = found.root_causes.iter().map(|root| &root.evidence);
        let evidence = roots.chain(found.suspects.iter().map(|suspect| &suspect.evidence));
        let lines = evidence.flat_map(|ids| cited(files, found, ids));
        let left = self.apply(files);
        lines.into_iter().any(|(path, number)| match self {
            Self::Line { path: of, number: gone } => *of == path && *gone == number,
            _ => !left.contains_key(&path),
        })
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
    let mut out = sources(files);
    for group in found.symptoms.iter().filter(|group| group.symptom == "nccl.silent_rank") {
        let path = format!("logs/{}/app.log", group.nodes);
        if files.contains_key(&path) {
            out.push(Removal::Silent { node: group.nodes.clone(), path });
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

/// Each file, each node of several files, and all files of each name.
fn sources(files: &Files) -> Vec<Removal> {
    let mut nodes: BTreeMap<String, usize> = BTreeMap::new();
    let mut out = Vec::new();
    for path in files.keys().filter(|path| *path != "context.json") {
        out.push(Removal::Source { path: path.clone() });
        if let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| folder.starts_with("logs/")) {
            *nodes.entry(format!("{folder}/")).or_default() += 1;
        }
    }
    let several = nodes.into_iter().filter(|(_, files)| *files > 1);
    out.extend(several.map(|(path, _)| Removal::Source { path }));
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

/// What is wrong with what is said of less.
///
/// If all is there that showed a root cause, right is the same root cause, no surer than before, or none; somebody else, or something
/// else, only if that is less sure. If some of that is gone, something else may be as sure as the root cause was, but at its place.
pub(crate) fn wrong(
    context: &ExecutionContext,
    whole: &Finding,
    less: &Finding,
    shown: bool,
) -> Option<String> {
    let ended_badly = !matches!(
        less.terminal_state,
        TerminalState::Completed | TerminalState::Unknown | TerminalState::Running
    );
    match (whole.verdict, less.verdict) {
        (_, Verdict::Undetermined) | (Verdict::NoFault, Verdict::NoFault) => return None,
        (_, Verdict::NoFault) if shown && !ended_badly => return None,
        (_, Verdict::NoFault) => return Some(format!("it is said to be no fault\n  {}", less.summary)),
        (Verdict::Undetermined | Verdict::NoFault, Verdict::Attributed) => {
            return Some(format!("it was {:?}, and is {}", whole.verdict, less.summary));
        }
        (Verdict::Attributed, Verdict::Attributed) => {}
    }
    less.root_causes.iter().find_map(|root| wrong_root(context, whole, less, root, shown))
}

fn wrong_root(
    context: &ExecutionContext,
    whole: &Finding,
    less: &Finding,
    root: &RootCause,
    shown: bool,
) -> Option<String> {
    let first = whole.root_causes.first()?;
    let is_gone = |before: &RootCause| !less.root_causes.iter().any(|root| is_same(context, before, root));
    let (what, sure) = (&root.symptom, root.confidence);
    if root.evidence.is_empty() {
        return Some(format!("nothing shows {what}"));
    }
    if let Some(before) = whole.root_causes.iter().find(|before| is_same(context, before, root)) {
        // One of two that would explain the same is surer without the other, but not for that it is told but once.
        let rival_gone =
            shown && whole.root_causes.iter().any(|rival| rival.symptom != *what && is_gone(rival));
        return (sure > before.confidence && !rival_gone)
            .then(|| format!("{what} is {sure:?}, and was {:?}", before.confidence));
    }
    let there = shown && is_gone(first) && may_stand_for(context, whole, first, root);
    (sure >= first.confidence && !there).then(|| {
        format!(
            "{what} is blamed ({sure:?}), and was not; {} was ({:?})\n  {}",
            first.symptom, first.confidence, less.summary
        )
    })
}

/// Whether a root cause blames nobody who was not known to be struck: it is at the place of the one that stood before it, at none, or
/// the whole logs have it as explained by something else.
fn may_stand_for(context: &ExecutionContext, whole: &Finding, before: &RootCause, root: &RootCause) -> bool {
    let nowhere = |root: &RootCause| root.place.node.is_none() && root.place.ranks.is_empty();
    let explained = |entry: &RuledOutEntry| {
        entry.symptom == root.symptom
            && entry.why == RuledOut::Explained
            && entry.place.node == root.place.node
            && may_be_one(context, &entry.place, &root.place)
    };
    nowhere(root)
        || (!nowhere(before) && may_be_one(context, &before.place, &root.place))
        || whole.ruled_out.iter().any(explained)
}

/// What is wrong with what is said without the output of a rank that is said to be silent: nothing is known and the output is asked for,
/// or the root cause was shown elsewhere.
pub(crate) fn wrong_without_the_silent(
    context: &ExecutionContext,
    whole: &Finding,
    less: &Finding,
    node: &str,
) -> Option<String> {
    let silent = less.symptoms.iter().filter(|group| group.symptom == "nccl.silent_rank");
    if silent.flat_map(|group| &group.notes).any(|note| note.contains("did not report")) {
        return Some("a rank is said not to have reported whose output is not at hand".to_owned());
    }
    let shown = |root: &RootCause| less.root_causes.iter().any(|other| is_same(context, root, other));
    if less.verdict != Verdict::Undetermined && !whole.root_causes.first().is_some_and(shown) {
        return Some(format!("it is {:?}: {}", less.verdict, less.summary));
    }
    let asked = |missing: &Missing| missing.node.as_deref() == Some(node) && missing.source == "app";
    if less.verdict == Verdict::Undetermined && !less.could_change_the_verdict.iter().any(asked) {
        return Some(format!("the output of {node} is not asked for: {:?}", less.could_change_the_verdict));
    }
    wrong(context, whole, less, true)
}
