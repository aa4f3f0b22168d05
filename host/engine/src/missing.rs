//! What was not seen, and which verdict it could change.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::diagnosis::{Missing, Verdict};
use firstfault_model::ranges::format_nodes;
use firstfault_model::source::Source;
use firstfault_model::taxonomy::Domain;
use firstfault_model::time::{MINUTE, Timestamp};
use firstfault_rules::ruleset::RuleSet;

use crate::case::{Case, NodeCoverage};
use crate::graph::Graph;
use crate::roots::{Judgement, Root};
use crate::suspects::Accused;

/// How far around the onset a missing log is wanted.
const AROUND: i64 = 5 * MINUTE;

/// Something that was not collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// For people: "the kernel log of gpu-0773".
    pub what: String,
    /// Which verdict it could change, and how.
    pub why: String,
    /// What kind of record.
    pub source: Source,
    /// Node.
    pub node: Option<String>,
    /// Window.
    pub window: Option<(Timestamp, Timestamp)>,
    /// Whether it could contradict the root cause that was found.
    pub could_contradict: bool,
}

/// What is missing, most decisive first.
#[must_use]
pub fn gaps(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    judgement: &Judgement,
    accused: &[Accused],
) -> Vec<Gap> {
    let mut out: Vec<Gap> = Vec::new();
    let around = window(graph, case, judgement);
    match judgement.verdict {
        Verdict::NoFault => return out,
        Verdict::Undetermined => undetermined(case, accused, around, &mut out),
        Verdict::Attributed => {
            for root in &judgement.roots {
                attributed(graph, case, rules, root, around, &mut out);
            }
        }
    }
    let mut seen = BTreeSet::new();
    out.retain(|g| seen.insert((g.source.clone(), g.node.clone())));
    out.truncate(16);
    out
}

fn window(graph: &Graph, case: &Case, judgement: &Judgement) -> Option<(Timestamp, Timestamp)> {
    let of_roots =
        judgement.roots.iter().flat_map(|r| &r.events).filter_map(|i| graph.events.get(*i as usize)?.onset);
    let known = |o: &crate::event::Onset| o.to.0 != i64::MAX;
    let in_scope = graph.events.iter().filter(|e| e.scope == crate::event::Scope::In).filter_map(|e| e.onset);
    let onset = of_roots.filter(known).map(|o| (o.from, o.to)).min().or_else(|| {
        let first = in_scope.filter(known).map(|o| (o.from, o.to)).min()?;
        // Faults before the attempt are no guide to when it broke.
        Some((first.0.max(case.context.document.start.unwrap_or(first.0)), first.1))
    });
    match (onset, case.context.document.end) {
        (Some((from, to)), _) => Some((from.shifted(-AROUND), to.shifted(AROUND))),
        (None, Some(end)) => Some((end.shifted(-3 * AROUND), end.shifted(AROUND))),
        (None, None) => None,
    }
}

fn undetermined(
    case: &Case,
    accused: &[Accused],
    around: Option<(Timestamp, Timestamp)>,
    out: &mut Vec<Gap>,
) {
    for suspect in accused {
        let Some(node) = suspect.event_place.node.as_deref() else { continue };
        for source in [Source::Kernel, Source::App] {
            let coverage = case.coverage_of(&source, node).0;
            if coverage == NodeCoverage::Complete {
                continue;
            }
            let why = match source {
                Source::Kernel => {
                    "a GPU, link, memory or kernel fault there would be the cause; a clean one rules them out"
                }
                _ => "its own last lines tell whether it failed first, and how",
            };
            out.push(gap(case, source, Some(node), why, around, false));
        }
    }
    if out.is_empty() {
        // Nobody is suspected, or the suspects' logs are there: what is missing anywhere.
        for source in [Source::Kernel, Source::App] {
            let missing = missing_nodes(case, &source);
            match missing.as_slice() {
                [] if case.node_names().is_empty() || !case.has_source(&source) => {
                    let why = match source {
                        Source::Kernel => {
                            "a GPU, link, memory or kernel fault on one of the nodes would be the cause"
                        }
                        _ => "the ranks' own output tells which of them failed first",
                    };
                    if source == Source::Kernel
                        || !case.streams.iter().any(|s| s.name.source == Source::Unstated)
                    {
                        out.push(gap(case, source, None, why, around, false));
                    }
                }
                [] => {}
                nodes => {
                    let listed = format_nodes(nodes.iter().map(String::as_str));
                    let mut gap =
                        gap(case, source, None, "what failed first may be recorded there", around, false);
                    gap.what = format!("{} of {listed}", noun(&gap.source));
                    if let [one] = nodes {
                        gap.node = Some(one.clone());
                    }
                    out.push(gap);
                }
            }
        }
    }
    if !case.has_source(&Source::Scheduler) {
        out.push(gap(
            case,
            Source::Scheduler,
            None,
            "it tells whether something outside ended the attempt",
            around,
            false,
        ));
    }
    let suspect = accused.iter().find_map(|a| a.event_place.node.as_deref());
    let who = suspect.map_or_else(String::new, |node| format!(" of the suspect on {node}"));
    let mut dump = gap(
        case,
        Source::FlightRecorder,
        suspect,
        "they show which rank did not enter the collective, and where its program stood",
        None,
        false,
    );
    dump.what = format!("collective flight-recorder dumps, or stack traces{who}");
    dump.node = None;
    out.push(dump);
}

fn attributed(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    root: &Root,
    around: Option<(Timestamp, Timestamp)>,
    out: &mut Vec<Gap>,
) {
    let Some(event) = root.events.first().and_then(|i| graph.events.get(*i as usize)) else { return };
    let domain = event.domain(rules);
    let node = event.place.node.as_deref();
    // A fault that the program reports may have its cause below it, on its own node.
    if let Some(node) = node
        && matches!(
            domain,
            Domain::Application | Domain::Hardware | Domain::Resource | Domain::Network | Domain::Software
        )
        && case.coverage_of(&Source::Kernel, node).0 != NodeCoverage::Complete
    {
        // What the program says of a device is second-hand; some faults of its own look like a device's.
        let second_hand = matches!(domain, Domain::Hardware | Domain::Software)
            && case.streams.get(event.first.stream as usize).is_some_and(|s| s.name.source == Source::App);
        let ambiguous = matches!(domain, Domain::Application)
            && is_ambiguous(event.definition(rules).and_then(|d| d.sub_domain.as_deref()));
        let contradicts =
            (second_hand || ambiguous) && case.coverage_of(&Source::Kernel, node).0 == NodeCoverage::Missing;
        let why = "an earlier GPU or kernel fault on that node would be the cause instead";
        out.push(gap(case, Source::Kernel, Some(node), why, around, contradicts));
    }
    if domain == Domain::Hardware
        && event.symptom.starts_with("xid.")
        && !case.has_source(&Source::FabricManager)
    {
        let why = "whether the switch's end of the link failed first";
        let links = event
            .definition(rules)
            .is_some_and(|d| matches!(d.sub_domain.as_deref(), Some("nvlink" | "nvswitch")));
        if links {
            out.push(gap(case, Source::FabricManager, node, why, around, false));
        }
    }
    for source in [Source::Kernel, Source::App] {
        if !case.has_source(&source) {
            continue;
        }
        let missing: Vec<String> =
            missing_nodes(case, &source).into_iter().filter(|n| Some(n.as_str()) != node).collect();
        if !missing.is_empty() && domain != Domain::Scheduler {
            let listed = format_nodes(missing.iter().map(String::as_str));
            let mut gap =
                gap(case, source, None, "an earlier fault there would be the cause instead", around, false);
            gap.what = format!("{} of {listed}", noun(&gap.source));
            if let [one] = missing.as_slice() {
                gap.node = Some(one.clone());
            }
            out.push(gap);
        }
    }
}

/// Faults of the program that a fault of the device can look like.
fn is_ambiguous(sub_domain: Option<&str>) -> bool {
    matches!(sub_domain, Some("gpu_memory_access" | "crash"))
}

fn missing_nodes(case: &Case, source: &Source) -> Vec<String> {
    let nodes = case.context.nodes.iter().map(|n| &n.name);
    nodes.filter(|n| case.coverage_of(source, n).0 == NodeCoverage::Missing).cloned().collect()
}

fn noun(source: &Source) -> String {
    match source {
        Source::Kernel => "the kernel log".into(),
        Source::App => "the job output".into(),
        Source::Scheduler => "the scheduler's record".into(),
        Source::FabricManager => "the fabric manager log".into(),
        other => format!("the {} record", other.name().replace('_', " ")),
    }
}

fn gap(
    case: &Case,
    source: Source,
    node: Option<&str>,
    why: &str,
    window: Option<(Timestamp, Timestamp)>,
    contradicts: bool,
) -> Gap {
    let incomplete = node.is_some_and(|n| case.coverage_of(&source, n).0 == NodeCoverage::Partial);
    let of = node.map_or_else(
        || if source == Source::Kernel { " of the attempt's nodes".to_owned() } else { String::new() },
        |n| format!(" of {n}"),
    );
    let what = format!("{}{}{of}", if incomplete { "the rest of " } else { "" }, noun(&source));
    Gap {
        what,
        why: why.to_owned(),
        source,
        node: node.map(str::to_owned),
        window,
        could_contradict: contradicts,
    }
}

/// The gaps as the document lists them.
#[must_use]
pub fn listed(gaps: &[Gap], case: &Case) -> (Vec<Missing>, BTreeMap<usize, String>) {
    let mut ids = BTreeMap::new();
    let list = gaps
        .iter()
        .enumerate()
        .map(|(i, gap)| {
            let id = format!("m{}", i + 1);
            ids.insert(i, id.clone());
            Missing {
                id,
                missing: gap.what.clone(),
                why: gap.why.clone(),
                source: gap.source.name().to_owned(),
                node: gap.node.clone(),
                from: gap.window.map(|w| w.0),
                to: gap.window.map(|w| w.1),
                command: command(gap, case),
            }
        })
        .collect();
    (list, ids)
}

fn command(gap: &Gap, case: &Case) -> Option<String> {
    let at = |t: Timestamp| t.to_string().replace('T', " ").chars().take(19).collect::<String>();
    match gap.source {
        Source::Kernel => {
            let node = gap.node.as_deref()?;
            Some(match gap.window {
                Some((from, to)) => {
                    format!(
                        "ssh {node} journalctl -k -o short-iso-precise --utc --since '\"{} UTC\"' --until '\"{} UTC\"'",
                        at(from),
                        at(to)
                    )
                }
                None => format!("ssh {node} dmesg --time-format iso"),
            })
        }
        Source::Scheduler if case.context.document.scheduler.as_deref() == Some("slurm") => {
            let id = case.context.document.id.as_deref()?;
            Some(format!(
                "sacct -j {id} -D -o jobid,state,exitcode,derivedexitcode,reason,start,end,nodelist"
            ))
        }
        _ => None,
    }
}
