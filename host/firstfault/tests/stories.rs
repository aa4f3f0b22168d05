//! Stories of whole incidents, and what must not change when they are told otherwise or when something is missing.
//!
//! `FIRSTFAULT_STORY=app/oom` runs one incident and keeps the files of what goes wrong; `FIRSTFAULT_KIND=line` one kind of change,
//! `FIRSTFAULT_LINES=5000` removes that many lines besides those that are cited. Those who write packs give the folders of theirs as
//! `FIRSTFAULT_RULES` and `FIRSTFAULT_STORIES`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/logs.rs"]
mod logs;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/mutation.rs"]
mod mutation;
#[path = "support/one_place.rs"]
mod one_place;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/program.rs"]
mod program;
#[path = "support/removal.rs"]
mod removal;
#[allow(dead_code, reason = "not every test uses all of it")]
#[path = "support/schema.rs"]
mod schema;
#[path = "support/stamps.rs"]
mod stamps;
#[path = "support/story.rs"]
mod story;
#[path = "support/variation.rs"]
mod variation;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use firstfault::arguments::RuleOptions;
use firstfault::generation::Generation;
use firstfault::pipeline::{self, Asked, timing::Timing};
use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::{Finding, PlaceFields, RootCause, Suspect, Verdict};
use firstfault_render::TextOptions;
use logs::Numbers;
use mutation::Files;
use rayon::prelude::*;
use removal::Removal;
use serde_json::{Value, json};
use story::Story;
use variation::{Renaming, Variation, Varied};

/// What goes wrong as yet, by kind of change and incident (`*`: in some). What does not any more has to go from here.
const OPEN: &[(&str, &[&str])] = &[
    // What is over, less than a quarter of an hour before the end.
    ("file_server_that_came_back", &["gpu_lost_before_start"]),
    ("port_that_came_back", &["gpu_lost_before_start"]),
];

/// Lines that are taken away one by one besides those that the diagnosis cites, by incident.
const OTHER_LINES: usize = 40;

static GENERATION: LazyLock<Generation> = LazyLock::new(|| {
    let rules = asked("FIRSTFAULT_RULES").map(PathBuf::from);
    Generation::load(&RuleOptions { rules, ..RuleOptions::default() }).unwrap()
});

/// An incident, and what is said of it as it is.
struct Incident {
    name: String,
    files: Files,
    context: ExecutionContext,
    nodes: BTreeSet<String>,
    finding: Finding,
    /// What differs from what is to be said.
    wrong: Vec<String>,
}

impl Incident {
    fn new(name: String, files: Files, expect: Option<&story::Expected>) -> Self {
        let context = files.get("context.json").map_or_else(ExecutionContext::default, |json| {
            ExecutionContext::parse(std::str::from_utf8(json).unwrap()).unwrap()
        });
        let finding = diagnose(&files, &files.keys().cloned().collect::<Vec<_>>(), None).unwrap();
        let wrong = expect.map_or_else(Vec::new, |expect| expect.differences(&finding));
        let mut nodes: BTreeSet<String> = context.nodes.iter().map(|node| node.name.clone()).collect();
        nodes.extend(
            files.keys().filter_map(|path| Some(path.strip_prefix("logs/")?.split_once('/')?.0.to_owned())),
        );
        nodes.extend(finding.evidence.iter().filter_map(|evidence| evidence.node.clone()));
        Self { name, files, context, nodes, finding, wrong }
    }
}

/// All stories and samples, or the one that is asked for.
fn incidents() -> Vec<Incident> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
    let stories = asked("FIRSTFAULT_STORIES").map_or(own, PathBuf::from);
    let asked = asked("FIRSTFAULT_STORY");
    let mut told: Vec<(String, Option<PathBuf>)> =
        story::all(&stories).into_iter().map(|(name, path)| (name, Some(path))).collect();
    told.extend(program::sample_names().into_iter().map(|name| (name, None)));
    told.retain(|(name, _)| asked.as_ref().is_none_or(|asked| asked == name));
    assert!(!told.is_empty(), "there is no such story");
    let read = |(name, path): (String, Option<PathBuf>)| match path {
        None => Incident::new(name.clone(), sample(&name), None),
        Some(path) => {
            let story = Story::read(&path).unwrap_or_else(|error| panic!("{error}"));
            Incident::new(name, story.files(), Some(&story.expect))
        }
    };
    told.into_par_iter().map(read).collect()
}

/// Context and logs of a sample, without what people read in it.
fn sample(name: &str) -> Files {
    let mut files = mutation::read(&program::samples().join(name));
    files.retain(|path, _| path == "context.json" || path.starts_with("logs/"));
    files
}

fn asked(variable: &str) -> Option<String> {
    Some(std::env::var_os(variable)?.to_str().expect("a name or a path in UTF-8").to_owned())
}

/// Diagnoses files that are written in this order. With a `keep` their folder stays.
fn diagnose(files: &Files, order: &[String], keep: Option<&mut PathBuf>) -> Result<Finding, String> {
    let folder = tempfile::tempdir().unwrap();
    for path in order {
        mutation::write(&Files::from([(path.clone(), files[path].clone())]), folder.path());
    }
    let paths = [folder.path().to_owned()];
    let diagnosis = pipeline::diagnose(&GENERATION, &paths, &Asked::default(), &mut Timing::default());
    if let Some(keep) = keep {
        *keep = folder.keep();
    }
    let diagnosis = diagnosis.map_err(|error| format!("{error:#}"))?;
    assert!(!firstfault_render::text(&diagnosis, &TextOptions::default()).is_empty());
    if let Some(plugin) = diagnosis.provenance.plugins.iter().find(|plugin| plugin.status != "ok") {
        return Err(format!("{plugin:?}"));
    }
    let finding = diagnosis.finding;
    if (finding.verdict == Verdict::Attributed) == finding.root_causes.is_empty() {
        return Err(format!("{:?} with {} root causes", finding.verdict, finding.root_causes.len()));
    }
    Ok(finding)
}

/// A change to an incident.
#[derive(Debug, Clone)]
enum Change {
    Varied(Variation, u64),
    Removed(Removal),
    /// All that shows the first root cause is gone.
    Evidence,
}

impl Change {
    fn name(&self) -> &'static str {
        match self {
            Self::Varied(variation, seed) => variation.name(*seed),
            Self::Removed(removal) => removal.name(),
            Self::Evidence => "evidence",
        }
    }

    /// All that are tried on an incident.
    fn all(incident: &Incident) -> Vec<Self> {
        let mut numbers = Numbers::new(17);
        let variations = variation::ALL.into_iter();
        let mut out: Vec<Self> =
            variations.flat_map(|of| (0..of.seeds()).map(move |seed| Self::Varied(of, seed))).collect();
        let removals =
            removal::all(&incident.files, &incident.finding, OTHER_LINES, |end| numbers.below(end));
        out.extend(removals.into_iter().map(Self::Removed));
        out.extend((!incident.finding.root_causes.is_empty()).then_some(Self::Evidence));
        out
    }

    /// What goes wrong with it, if anything does.
    fn wrong(&self, incident: &Incident) -> Option<String> {
        let mut folder = PathBuf::new();
        let kept = asked("FIRSTFAULT_STORY").map(|_| &mut folder);
        let wrong = self.tried(incident, kept).unwrap_or_else(Some);
        if wrong.is_none() && !folder.as_os_str().is_empty() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        let wrong = wrong?;
        let kept =
            if folder.as_os_str().is_empty() { String::new() } else { format!("\n  {}", folder.display()) };
        Some(format!("{} {self:?}: {wrong}{kept}", incident.name))
    }

    fn tried(&self, incident: &Incident, keep: Option<&mut PathBuf>) -> Result<Option<String>, String> {
        let Incident { files, context, finding: whole, .. } = incident;
        let in_order = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
        match self {
            Self::Varied(variation, seed) => {
                let Some(varied) = variation.of(files, &incident.nodes, *seed) else {
                    return Ok(None);
                };
                let Varied { files, order, names, ranks } = varied;
                let sure = variation.is_exact();
                let found = said(&diagnose(&files, &order, keep)?, sure);
                let wanted = said(&renamed(whole, &names, &ranks), sure);
                Ok((found != wanted).then(|| format!("it says\n  {found}\nand not\n  {wanted}")))
            }
            Self::Removed(removal) => {
                let shown = removal.shows_root(files, whole);
                let files = removal.apply(files);
                let less = diagnose(&files, &in_order(&files), keep)?;
                Ok(match removal {
                    Removal::Silent { node, .. } => {
                        removal::wrong_without_the_silent(context, whole, &less, node)
                    }
                    _ => removal::wrong(context, whole, &less, shown),
                })
            }
            Self::Evidence => without_evidence(incident, keep),
        }
    }
}

/// Takes away what shows the first root cause until nothing does.
fn without_evidence(incident: &Incident, mut keep: Option<&mut PathBuf>) -> Result<Option<String>, String> {
    let Incident { files, context, finding: whole, .. } = incident;
    let root = &whole.root_causes[0];
    let (mut files, mut finding) = (files.clone(), whole.clone());
    // What is cited is bounded, and a fact may be written in several forms.
    for _ in 0..16 {
        let same =
            |other: &&RootCause| other.symptom == root.symptom && removal::is_same(context, root, other);
        let Some(shown) = finding.root_causes.iter().find(same) else {
            return Ok(removal::wrong(context, whole, &finding, true));
        };
        let left = removal::without_evidence(&files, &finding, shown);
        if left == files {
            return Ok(Some(format!("no line shows {}", shown.symptom)));
        }
        files = left;
        finding = diagnose(&files, &files.keys().cloned().collect::<Vec<_>>(), keep.as_deref_mut())?;
    }
    Ok(Some(format!("{} is still blamed", root.symptom)))
}

/// What has to stay: the verdict, the root causes and where they are, and how sure they are unless that is not asked for; who is
/// suspected if there are none.
fn said(finding: &Finding, sure: bool) -> Value {
    let root = |root: &RootCause| {
        let sure = sure.then(|| json!([root.confidence, root.relation]));
        json!([root.symptom, root.domain, root.sub_domain, root.place, sure])
    };
    let first = finding.root_causes.first().map(root);
    let others = sorted(finding.root_causes.iter().skip(1).map(root).collect());
    let suspect = |suspect: &Suspect| json!([suspect.symptom, suspect.sub_domain, suspect.place]);
    let suspects = sorted(finding.suspects.iter().map(suspect).collect());
    json!([finding.verdict, first, others, suspects])
}

/// The order says nothing: equals are in that of their names.
fn sorted(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_by_key(Value::to_string);
    values
}

/// The same of nodes and ranks of other names.
fn renamed(finding: &Finding, names: &Renaming, ranks: &BTreeMap<u32, u32>) -> Finding {
    let of = |place: &PlaceFields| -> PlaceFields {
        let json = names.text(&serde_json::to_vec(place).unwrap());
        let mut place: PlaceFields = serde_json::from_slice(&json).unwrap();
        place.ranks.iter_mut().for_each(|rank| *rank = *ranks.get(rank).unwrap_or(rank));
        place.ranks.sort_unstable();
        place
    };
    let mut finding = finding.clone();
    finding.root_causes.iter_mut().for_each(|root| root.place = of(&root.place));
    finding.suspects.iter_mut().for_each(|suspect| suspect.place = of(&suspect.place));
    finding
}

/// Compares what went wrong, by incident and kind of change, with what is known to.
fn settle(wrong: &BTreeMap<(String, &'static str), Vec<String>>, tried: impl Fn(&str) -> bool) {
    let is_open = |name: &str, kind: &str| {
        OPEN.iter().any(|(of, names)| *of == kind && names.iter().any(|open| *open == "*" || *open == name))
    };
    let new: Vec<String> = wrong
        .iter()
        .filter(|((name, kind), _)| !is_open(name, kind))
        .map(|((name, kind), all)| {
            format!("{name}, {kind}: {} times, first\n  {}", all.len(), all[..all.len().min(3)].join("\n  "))
        })
        .collect();
    assert!(new.is_empty(), "{} go wrong:\n{}", new.len(), new.join("\n"));
    if asked("FIRSTFAULT_STORY").is_none() && asked("FIRSTFAULT_KIND").is_none() {
        let goes_wrong = |open: &str, of: &str| {
            wrong.keys().any(|(name, kind)| *kind == of && (open == "*" || open == name))
        };
        let mended: Vec<_> = OPEN
            .iter()
            .filter(|(kind, _)| tried(kind))
            .flat_map(|(kind, names)| names.iter().map(move |name| (*kind, *name)))
            .filter(|(kind, name)| !goes_wrong(name, kind))
            .collect();
        assert!(mended.is_empty(), "these are right now, and have to go from OPEN: {mended:?}");
    }
}

#[test]
fn stories_are_told_as_they_happened() {
    let incidents = incidents();
    let wrong = incidents.into_iter().filter(|incident| !incident.wrong.is_empty());
    settle(&wrong.map(|incident| ((incident.name, "told"), incident.wrong)).collect(), |kind| kind == "told");
}

#[test]
fn told_otherwise_or_in_part_they_blame_nobody_else() {
    let kind = asked("FIRSTFAULT_KIND");
    let incidents = incidents();
    let changes: Vec<(&Incident, Change)> = incidents
        .iter()
        .filter(|incident| incident.wrong.is_empty())
        .flat_map(|incident| Change::all(incident).into_iter().map(move |change| (incident, change)))
        .filter(|(_, change)| kind.as_ref().is_none_or(|kind| kind == change.name()))
        .collect();
    eprintln!("{} changes to {} incidents", changes.len(), incidents.len());
    let all: Vec<((String, &'static str), String)> = changes
        .into_par_iter()
        .filter_map(|(incident, change)| {
            Some(((incident.name.clone(), change.name()), change.wrong(incident)?))
        })
        .collect();
    let mut wrong: BTreeMap<(String, &'static str), Vec<String>> = BTreeMap::new();
    for (of, what) in all {
        wrong.entry(of).or_default().push(what);
    }
    settle(&wrong, |kind| kind != "told");
}

/// A change that nothing can be told by would show nothing.
#[test]
fn each_way_to_tell_them_otherwise_changes_a_sample() {
    let nodes = (61..=64).map(|number| format!("vega-2{number:02}")).collect();
    let files = sample("cuda_oom");
    for variation in variation::ALL {
        let nodes = match variation {
            // Its scheduler's log has a list of hosts.
            Variation::Reversed => continue,
            _ => &nodes,
        };
        assert!(variation.of(&files, nodes, 1).is_some(), "{variation:?}");
    }
}
