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
    let told = ["slurm.", "job.", "node.", "kernel."].iter().any(|family| event.symptom.starts_with(family));
    let named = event.facts.get("id").filter(|_| told).and_then(|id| JobId::parse(id));
    match (named, own.and_then(JobId::parse)) {
        (Some(named), Some(own)) => !named.may_be(&own),
        _ => false,
    }
}

/// A job's number as Slurm writes it: `60251`, `60251.0` (a step), `19_2` or `19_2(25)` (a task of an array, which has a number of its
/// own as well), `20+1(21)` (a part of a heterogeneous job).
struct JobId<'a> {
    base: &'a str,
    task: Option<&'a str>,
    raw: Option<&'a str>,
}

impl<'a> JobId<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let digits = |text: &'a str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text.split_at_checked(end).filter(|(number, _)| !number.is_empty())
        };
        let (base, rest) = digits(text)?;
        let (task, rest) = match rest.strip_prefix('_').and_then(digits) {
            Some((task, rest)) => (Some(task), rest),
            None => (None, rest),
        };
        let raw = rest.split_once('(').and_then(|(_, rest)| digits(rest)).map(|(raw, _)| raw);
        Some(Self { base, task, raw })
    }

    /// Whether both may mean one job: a number of its own, or the same task of an array.
    fn may_be(&self, other: &Self) -> bool {
        let is = |a: Option<&str>, b: &Self| {
            a.is_some() && (a == b.raw || (b.task.is_none() && a == Some(b.base)))
        };
        let same_task = self.base == other.base
            && (self.task == other.task || self.task.is_none() || other.task.is_none());
        same_task || is(self.raw, other) || is(other.raw, self)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_one_job_in_all_ways_that_slurm_writes_them() {
        let same = |a: &str, b: &str| {
            let (a, b) = (JobId::parse(a).unwrap(), JobId::parse(b).unwrap());
            assert_eq!(a.may_be(&b), b.may_be(&a));
            a.may_be(&b)
        };
        for (a, b) in [
            ("60251", "60251"),
            ("60251.0", "60251"),
            ("60251.batch", "60251.3"),
            ("19_2(25)", "25"),
            ("19_2(25)", "19_2"),
            ("19_2", "19"),
            ("20+1(21)", "21"),
            ("20+1(21)", "20"),
        ] {
            assert!(same(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("60251", "60252"),
            ("60251", "6025"),
            ("19_2", "19_3"),
            ("19_2(25)", "19_3"),
            ("19_2(25)", "2"),
            ("19_2", "2"),
            ("19_2(25)", "26"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
        assert!(JobId::parse("batch").is_none() && JobId::parse("").is_none());
    }
}
