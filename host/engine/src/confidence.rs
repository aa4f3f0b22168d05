//! How sure a root cause is. A rule decides, so that it can be argued with.

use firstfault_model::diagnosis::{Confidence, Relation};
use firstfault_model::event::Basis;
use firstfault_model::source::Source;
use firstfault_rules::ruleset::RuleSet;

use crate::case::{Case, NodeCoverage};
use crate::graph::Graph;
use crate::missing::Gap;
use crate::progress::Seen;
use crate::roots::Root;

/// The confidence in a root and the reason for it.
#[must_use]
pub fn confidence(
    root: &Root,
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    seen: &Seen,
    gaps: &[Gap],
) -> (Confidence, String) {
    let Some(event) = root.events.first().and_then(|i| graph.events.get(*i as usize)) else {
        return (Confidence::Suspected, "nothing shows it".into());
    };
    if root.relation == Relation::Alternative {
        return (Confidence::Suspected, "another root cause would explain the same effects".into());
    }
    if event.quoted {
        return (
            Confidence::Suspected,
            "the workload printed it; the log that should have it was not collected".into(),
        );
    }
    if event.doubted {
        let node = event.place.node.as_deref().unwrap_or("the node");
        let why = format!(
            "only the workload tells it; the complete kernel log of {node} shows no fault of a device"
        );
        return (Confidence::Suspected, why);
    }
    if event.unproven {
        return (
            Confidence::Suspected,
            "the line has no prefix of the kernel: the workload may have printed it".into(),
        );
    }
    if event.onset.is_none() && !case.context.nodes.is_empty() {
        return (
            Confidence::Suspected,
            "its lines carry no time that could be compared with the others".into(),
        );
    }
    let ends_by_clock = event.definition(rules).and_then(|d| d.terminal).is_some();
    if ends_by_clock
        && event.domain(rules) == firstfault_model::taxonomy::Domain::Scheduler
        && seen.last_time.is_none()
    {
        let why = "the scheduler ended it, and no progress is visible that would show whether it had stood still before";
        return (Confidence::Suspected, why.into());
    }
    let stated = graph.edges.iter().any(|e| e.basis == Basis::Stated && root.events.contains(&e.cause));
    let source = case.streams.get(event.first.stream as usize).map(|s| s.name.source.clone());
    let nodes = case.context.nodes.len();
    let covered = source.as_ref().map_or(0, |source| {
        case.context
            .nodes
            .iter()
            .filter(|n| case.coverage_of(source, &n.name).0 == NodeCoverage::Complete)
            .count()
    });
    if stated && !event.implied {
        return (Confidence::Established, "the lines that follow from it say so".into());
    }
    if event.implied {
        return (
            Confidence::Probable,
            "the lines that follow from it say so; its own record was not seen".into(),
        );
    }
    if nodes == 0 {
        return match source {
            Some(Source::Unstated | Source::App) | None => (
                Confidence::Probable,
                "first-hand in what was given; what other nodes and sources show is not known".into(),
            ),
            Some(source) => (
                Confidence::Probable,
                format!("first-hand in the {source} log; the attempt's other nodes are not known"),
            ),
        };
    }
    if let Some(gap) = gaps.iter().find(|g| g.could_contradict) {
        return (Confidence::Suspected, format!("{} was not collected and could contradict it", gap.what));
    }
    if root.effects.is_empty() && !event.definition(rules).is_some_and(|d| d.fatal || d.terminal.is_some()) {
        return (Confidence::Probable, "first-hand, but nothing that was seen follows from it".into());
    }
    // Whoever acts knows what it did; of a node that it lost it knows no more than that.
    let acts = event.domain(rules) == firstfault_model::taxonomy::Domain::Scheduler;
    let own_record = !matches!(source, Some(Source::App | Source::Unstated) | None);
    if acts && own_record && event.onset.is_some_and(|o| o.is_decisive()) {
        return (Confidence::Established, "the own record of whoever did it".into());
    }
    if source == Some(Source::Scheduler) {
        return (
            Confidence::Probable,
            "the scheduler's record; what happened on the node is not in it".into(),
        );
    }
    if covered == nodes && event.onset.is_some_and(|o| o.is_decisive()) {
        let source = source.map_or_else(String::new, |s| s.name().replace('_', " "));
        return (
            Confidence::Established,
            format!("first-hand, and the {source} log of every other node is complete"),
        );
    }
    if covered == nodes {
        return (
            Confidence::Probable,
            "first-hand, and every other node was seen; its own time is not stamped".into(),
        );
    }
    (Confidence::Probable, format!("first-hand; the same source is complete on {covered} of {nodes} nodes"))
}
