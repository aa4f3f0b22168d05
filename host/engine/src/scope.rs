//! Whether an event belongs to the attempt: its nodes, its GPUs, its window.

use firstfault_model::ranges::parse_nodes;
use firstfault_model::time::{HOUR, MINUTE, SECOND};
use firstfault_rules::ruleset::RuleSet;
use rayon::prelude::*;

use crate::attempts::Attempts;
use crate::case::Case;
use crate::event::{Event, Scope};
use crate::order::CLOCK_BOUND;

/// How long after the end something may still belong to it.
const AFTER_END: i64 = 15 * MINUTE;
/// How long before the start a fault with lasting state may lie.
const BEFORE_START: i64 = 24 * HOUR;

/// Most nodes of a list that are looked at.
const MOST_NODES: usize = 100_000;

/// Sets the scope of all events.
pub fn assign(events: &mut [Event], attempts: &Attempts, case: &Case, rules: &RuleSet) {
    let clearing: Vec<&Event> = events.iter().filter(|e| clears(e)).collect();
    let scopes: Vec<Scope> =
        events.par_iter().with_min_len(1024).map(|e| scope_of(e, &clearing, case, rules)).collect();
    // Of several attempts in the logs the one that was asked for.
    let other = |event: &Event| {
        case.attempt.is_some_and(|wanted| attempts.of(event).is_some_and(|attempt| attempt != wanted))
    };
    for (event, scope) in events.iter_mut().zip(scopes) {
        event.scope = if other(event) { Scope::Out } else { scope };
    }
}

fn scope_of(event: &Event, clearing: &[&Event], case: &Case, rules: &RuleSet) -> Scope {
    let context = &case.context;
    if let Some(name) = event.place.node.as_deref()
        && !context.nodes.is_empty()
    {
        let Some(node) = context.node(name) else { return Scope::Out };
        let known: Vec<_> = node.gpus.iter().filter_map(|g| g.bus_id.as_ref()).collect();
        // On a shared node a GPU that is not the attempt's says nothing about it.
        if let Some(gpu) = &event.place.gpu
            && !known.is_empty()
            && known.len() == node.gpus.len()
            && !known.contains(&gpu)
        {
            return Scope::Out;
        }
    }
    if event.of_another_job
        || names_another_job(event, context.document.id.as_deref())
        || names_other_nodes(event, case)
    {
        return Scope::Out;
    }
    let Some(onset) = event.common_onset() else { return Scope::In };
    // Just before the start the clocks of two machines leave it open to whom a passing fault belongs, but its process may tell.
    if event.stranger
        && !event.definition(rules).is_some_and(|d| d.lasting)
        && context.document.start.is_some_and(|start| {
            onset.to < start && event.last_seen.is_none_or(|seen| event.common_time(seen) < start)
        })
    {
        return Scope::Out;
    }
    if let Some(start) = context.document.start
        && onset.to < start.shifted(-CLOCK_BOUND)
        && event.last_seen.is_none_or(|seen| seen < start.shifted(-CLOCK_BOUND))
    {
        let lasting = event.definition(rules).is_some_and(|d| d.lasting);
        if !lasting || onset.to < start.shifted(-BEFORE_START) {
            return Scope::Out;
        }
        if clearing.iter().any(|other| cleared_by(event, other)) {
            return Scope::Cleared;
        }
    }
    if let Some(end) = context.document.end
        && onset.from > end.shifted(AFTER_END + SECOND)
    {
        return Scope::Out;
    }
    Scope::In
}

/// Whether a line of the scheduler, or of the kernel about a control group, names a job that is not this one: their logs are those
/// of the whole cluster and of the whole node.
pub fn names_another_job(event: &Event, own: Option<&str>) -> bool {
    let base = |id: &str| {
        let end = id.find(|c: char| !c.is_ascii_digit()).unwrap_or(id.len());
        id.get(..end).filter(|base| !base.is_empty()).map(str::to_owned)
    };
    let scheduler =
        ["slurm.", "job.", "node.", "kernel."].iter().any(|family| event.symptom.starts_with(family));
    let named = event.facts.get("id").filter(|_| scheduler).and_then(|id| base(id));
    match (named, own.and_then(base)) {
        // Of an array each task has a number of its own besides the array's: either may be written.
        (Some(named), Some(base_of_own)) => {
            let own = own.unwrap_or_default();
            named != base_of_own && !own.split(|c: char| !c.is_ascii_digit()).any(|part| part == named)
        }
        _ => false,
    }
}

/// Whether a line of the scheduler is about a list of nodes of which none is the attempt's.
fn names_other_nodes(event: &Event, case: &Case) -> bool {
    let context = &case.context;
    let Some(list) = event.facts.get("nodes").filter(|_| !context.nodes.is_empty()) else { return false };
    parse_nodes(list, MOST_NODES)
        .is_some_and(|nodes| !nodes.is_empty() && nodes.iter().all(|node| context.node_named(node).is_none()))
}

/// Whether an event says that what was wrong is no longer: the driver needs nothing any more, or the node booted.
fn clears(event: &Event) -> bool {
    !event.quoted
        && (event.symptom == BOOTED
            || event.facts.get("action_code").is_some_and(|code| code == "0" || code == "0x0"))
}

/// A node that booted has forgotten the state of its devices.
const BOOTED: &str = "kernel.booted";

fn cleared_by(event: &Event, other: &Event) -> bool {
    let same_place =
        other.place.node == event.place.node && (other.symptom == BOOTED || other.gpu() == event.gpu());
    let since = match (
        other.last_seen.or(other.onset.map(|o| o.to)),
        event.last_seen.or(event.onset.map(|o| o.from)),
    ) {
        (Some(other), Some(event)) => other >= event,
        _ => other.first.stream == event.first.stream && other.last > event.last,
    };
    same_place && since && other.trust >= event.trust
}
