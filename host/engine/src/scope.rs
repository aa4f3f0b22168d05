//! Whether an event belongs to the attempt: its nodes, its GPUs, its window.

use firstfault_model::time::{MINUTE, SECOND};
use firstfault_rules::ruleset::RuleSet;
use rayon::prelude::*;

use crate::case::Case;
use crate::event::{Event, Scope};
use crate::order::CLOCK_BOUND;

/// How long after the end something may still belong to it.
const AFTER_END: i64 = 15 * MINUTE;

/// Sets the scope of all events.
pub fn assign(events: &mut [Event], case: &Case, rules: &RuleSet) {
    let scopes: Vec<Scope> =
        events.par_iter().with_min_len(1024).map(|e| scope_of(e, events, case, rules)).collect();
    for (event, scope) in events.iter_mut().zip(scopes) {
        event.scope = scope;
    }
}

fn scope_of(event: &Event, all: &[Event], case: &Case, rules: &RuleSet) -> Scope {
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
    let Some(onset) = event.onset else { return Scope::In };
    let lasting = event.definition(rules).is_some_and(|d| d.lasting);
    if let Some(start) = context.document.start
        && onset.to < start.shifted(-CLOCK_BOUND)
        && event.last_seen.is_none_or(|seen| seen < start.shifted(-CLOCK_BOUND))
    {
        if !lasting {
            return Scope::Out;
        }
        if cleared(event, all, start.0) {
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

/// Whether a recovery advice of "none" for the same GPU follows before the attempt starts.
fn cleared(event: &Event, all: &[Event], start: i64) -> bool {
    all.iter().any(|other| {
        other.place.node == event.place.node
            && other.gpu() == event.gpu()
            && other.facts.get("action_code").is_some_and(|code| code == "0" || code == "0x0")
            && matches!((other.onset, event.onset), (Some(o), Some(e)) if o.from >= e.from && o.from.0 < start)
    })
}
