//! Faults of a device that only the workload tells, while the log that would have them is whole and has nothing.

use std::collections::BTreeSet;

use firstfault_model::source::Source;
use firstfault_model::taxonomy::Domain;
use firstfault_rules::pack::Role;
use firstfault_rules::ruleset::RuleSet;

use crate::case::{Case, NodeCoverage};
use crate::event::{Event, Scope};

/// Marks them. A driver that gives an error to a process writes what happened to the kernel's log as well.
pub fn assign(events: &mut [Event], case: &Case, rules: &RuleSet) {
    let source = |e: &Event| case.streams.get(e.first.stream as usize).map(|s| &s.name.source);
    let of_device = |e: &Event| matches!(e.domain(rules), Domain::Hardware | Domain::Software);
    // Any word of the kernel about a device of the node, also of one that a note of its own calls harmless.
    let spoken: BTreeSet<String> = events
        .iter()
        .filter(|e| !e.quoted && e.scope != Scope::Out && e.role != Role::Benign)
        .filter(|e| matches!(source(e), Some(Source::Kernel | Source::Syslog | Source::FabricManager)))
        .filter(|e| of_device(e) || e.role == Role::Advice)
        .filter_map(|e| e.place.node.clone())
        .collect();
    for event in events {
        let told_by_workload = matches!(
            case.streams.get(event.first.stream as usize).map(|s| &s.name.source),
            Some(Source::App)
        );
        let Some(node) = event.place.node.as_deref() else { continue };
        event.doubted = told_by_workload
            && event.domain(rules) == Domain::Hardware
            && !spoken.contains(node)
            && case.coverage_of(&Source::Kernel, node).0 == NodeCoverage::Complete;
    }
}
