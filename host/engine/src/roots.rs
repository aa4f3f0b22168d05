//! The verdict: which unexplained events are the cause.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::diagnosis::{Relation, RuledOut, TerminalState, Verdict};
use firstfault_model::event::Basis;
use firstfault_model::source::Source;
use firstfault_model::taxonomy::Domain;
use firstfault_model::time::{MINUTE, SECOND};
use firstfault_rules::matcher::CompiledSignature;
use firstfault_rules::pack::Role;
use firstfault_rules::ruleset::RuleSet;

use crate::case::{Case, NodeCoverage};
use crate::edges::may_explain;
use crate::event::{Event, Onset, Scope};
use crate::graph::Graph;
use crate::order;
use crate::progress::Seen;
use crate::recovery;

/// How long before the end a fault without visible effects may lie.
const NEAR_THE_END: i64 = 30 * MINUTE;
/// How far stamps that the kernel's log counts from the boot may be off on a machine that ran for long.
const DRIFT: i64 = 30 * SECOND;
/// Most root causes; the rest are counted.
pub const MAX_ROOTS: usize = 64;

/// Events of one fault at one place (or, for faults of the program, in many ranks at once).
#[derive(Debug, Clone)]
pub struct Root {
    /// Event numbers; the first is the earliest.
    pub events: Vec<u32>,
    /// All events that they explain.
    pub effects: BTreeSet<u32>,
    /// How it stands to the others.
    pub relation: Relation,
}

/// What the graph says.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// How it ended.
    pub state: TerminalState,
    /// Who says so: `context`, `log`, `none`.
    pub state_source: &'static str,
    /// The line that says so.
    pub state_event: Option<u32>,
    /// Root causes, the most responsible first.
    pub roots: Vec<Root>,
    /// What is not the cause, and why; by event number.
    pub ruled_out: BTreeMap<u32, (RuledOut, Option<u32>)>,
    /// What neither caused nor followed from the end.
    pub context: BTreeSet<u32>,
}

/// Judges.
#[must_use]
pub fn judge(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    seen: &Seen,
    dismissed: &BTreeMap<u32, RuledOut>,
) -> Judgement {
    let (state, state_source, state_event) = terminal(graph, case, rules, seen);
    let mut out = Judgement {
        verdict: Verdict::NoFault,
        state,
        state_source,
        state_event,
        roots: Vec::new(),
        ruled_out: BTreeMap::new(),
        context: BTreeSet::new(),
    };
    for (i, event) in numbered(&graph.events) {
        match (event.scope, event.role) {
            (Scope::Out, _) => _ = out.ruled_out.insert(i, (RuledOut::OutOfScope, None)),
            (Scope::Cleared, _) => _ = out.ruled_out.insert(i, (RuledOut::Cleared, None)),
            (Scope::In, Role::Benign) => _ = out.ruled_out.insert(i, (RuledOut::Benign, None)),
            _ => {}
        }
    }
    if state == TerminalState::Completed {
        for (i, event) in numbered(&graph.events) {
            if event.scope == Scope::In && event.role != Role::Benign {
                out.context.insert(i);
            }
        }
        return out;
    }
    let effects = graph.effects_by_cause();
    let candidates = candidates(graph, case, rules, seen, dismissed, &effects, &mut out);
    out.roots = arrange(graph, case, rules, candidates, &effects, &mut out.ruled_out);
    let evident = graph.events.iter().enumerate().any(|(i, e)| {
        let number = u32::try_from(i).unwrap_or(u32::MAX);
        e.scope == Scope::In
            && matches!(e.role, Role::Cause | Role::Effect | Role::Either)
            && !out.ruled_out.contains_key(&number)
            && !out.context.contains(&number)
    });
    let nothing_read = case.streams.iter().all(|s| s.stats.lines == 0) && state == TerminalState::Unknown;
    out.verdict = if !out.roots.is_empty() {
        Verdict::Attributed
    } else if evident || is_failure(state) || nothing_read {
        Verdict::Undetermined
    } else {
        Verdict::NoFault
    };
    out
}

/// Events that explain nothing after all: what the workload merely quoted, and what it survived. Their edges go before anything
/// is concluded from them.
#[must_use]
pub fn dismissed(graph: &Graph, case: &Case, rules: &RuleSet, seen: &Seen) -> BTreeMap<u32, RuledOut> {
    // Logs that are kept by node could have had it; in a single log of a whole job kernel lines may be what somebody put together.
    let parted =
        !case.context.nodes.is_empty() || case.streams.iter().any(|stream| stream.name.node.is_some());
    numbered(&graph.events)
        .filter(|(_, e)| may_explain(e))
        .filter_map(|(i, event)| {
            // Hearsay of a device convicts nobody, also where its node's own log is missing: that log is then what to fetch.
            let of_device = event.domain(rules) == Domain::Hardware && parted;
            if event.quoted && (of_device || is_contradicted(event, case, rules)) {
                return Some((i, RuledOut::Quoted));
            }
            let definition = event.definition(rules);
            let survived = if definition.is_some_and(|d| d.terminal.is_some()) {
                false
            } else if definition.is_some_and(|d| d.fatal)
                && !(of_no_rank(event, rules) && event.place.process.is_some())
            {
                // What the job outlived by far was not fatal to it, whatever it reads like.
                seen.outlived(event)
            } else {
                seen.survived(event)
            };
            survived.then_some((i, RuledOut::Survived))
        })
        .collect()
}

/// Events with their numbers.
pub fn numbered(events: &[Event]) -> impl Iterator<Item = (u32, &Event)> {
    (0_u32..).zip(events)
}

/// Whether a state is one of failure.
#[must_use]
pub const fn is_failure(state: TerminalState) -> bool {
    !matches!(
        state,
        TerminalState::Completed | TerminalState::Running | TerminalState::Unknown | TerminalState::Suspended
    )
}

fn terminal(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    seen: &Seen,
) -> (TerminalState, &'static str, Option<u32>) {
    // Of several attempts the last one says how it ended.
    let last = case.attempt.unwrap_or(graph.attempts.count());
    let is_earlier = |e: &Event| graph.attempts.of(e).is_some_and(|attempt| attempt < last);
    let stated = numbered(&graph.events)
        .filter(|(_, e)| e.scope == Scope::In && !e.quoted && !is_earlier(e))
        .find_map(|(i, e)| Some((i, e.definition(rules)?.terminal?)));
    if let Some(state) = case.context.terminal_state().filter(|s| *s != TerminalState::Unknown) {
        return (state, "context", stated.filter(|(_, s)| *s == state).map(|(i, _)| i));
    }
    if let Some((i, state)) = stated {
        return (state, "log", Some(i));
    }
    let ended_well = |e: &&Event| !is_earlier(e) || seen.completions.is_empty();
    let faults: Vec<&Event> = graph
        .events
        .iter()
        .filter(ended_well)
        .filter(|e| e.scope == Scope::In && matches!(e.role, Role::Cause | Role::Effect | Role::Either))
        .collect();
    let went_wrong_after = |e: &Event| e.role.explains() && e.definition(rules).is_some_and(|d| d.fatal);
    if !seen.completions.is_empty() && faults.iter().all(|e| seen.after_completion(e) && !went_wrong_after(e))
    {
        return (TerminalState::Completed, "log", None);
    }
    if faults.is_empty() {
        (TerminalState::Unknown, "none", None)
    } else {
        (TerminalState::Failed, "log", None)
    }
}

/// Unexplained events that may be the cause.
fn candidates(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    seen: &Seen,
    dismissed: &BTreeMap<u32, RuledOut>,
    effects: &BTreeMap<u32, Vec<u32>>,
    out: &mut Judgement,
) -> Vec<u32> {
    let mut found = Vec::new();
    for (i, event) in numbered(&graph.events) {
        if event.scope != Scope::In || out.ruled_out.contains_key(&i) {
            continue;
        }
        if !event.role.explains() || event.demoted.is_some() {
            if event.role == Role::Advice {
                out.context.insert(i);
            }
            continue;
        }
        if let Some(edge) = graph.causes_of(i).first() {
            out.ruled_out.insert(i, (RuledOut::Explained, Some(edge.cause)));
            continue;
        }
        if let Some(why) = dismissed.get(&i) {
            out.ruled_out.insert(i, (*why, None));
            if *why == RuledOut::Survived {
                out.context.insert(i);
            }
            continue;
        }
        // A time limit or a cancellation after a stall ended what was already standing still.
        let domain = event.domain(rules);
        let by_clock = event.definition(rules).and_then(|d| d.terminal);
        let ends_what_stood = matches!(
            by_clock,
            Some(TerminalState::Timeout | TerminalState::Cancelled | TerminalState::Deadline)
        );
        // Nor is an ending of that kind an answer where what would show progress was not collected.
        let unseen = seen.last_time.is_none()
            && case
                .context
                .nodes
                .iter()
                .any(|n| case.coverage_of(&Source::App, &n.name).0 == NodeCoverage::Missing);
        if domain == Domain::Scheduler && ends_what_stood && unseen {
            out.context.insert(i);
            continue;
        }
        if domain == Domain::Scheduler && ends_what_stood && seen.stalled() {
            out.ruled_out.insert(i, (RuledOut::Later, None));
            continue;
        }
        if came_too_late(event, graph, case, rules) {
            out.context.insert(i);
        } else if leads_to_the_end(i, event, graph, case, rules, effects) {
            found.push(i);
        } else {
            out.context.insert(i);
        }
    }
    without_the_undated(graph, case, rules, found, effects, out)
}

/// What cannot be placed in time says nothing beside what can, unless something follows from it.
fn without_the_undated(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    mut found: Vec<u32>,
    effects: &BTreeMap<u32, Vec<u32>>,
    out: &mut Judgement,
) -> Vec<u32> {
    let event = |i: &u32| graph.events.get(*i as usize);
    let dated = |i: &u32| event(i).is_some_and(|e| e.onset.is_some());
    let streams: BTreeSet<u32> =
        found.iter().filter(|i| dated(i)).filter_map(event).map(|e| e.first.stream).collect();
    if streams.is_empty() || case.context.nodes.is_empty() {
        return found;
    }
    found.retain(|i| {
        let comparable =
            |e: &Event| streams.contains(&e.first.stream) || e.definition(rules).is_some_and(|d| d.fatal);
        let keep = dated(i) || effects.contains_key(i) || event(i).is_some_and(comparable);
        if !keep {
            out.context.insert(*i);
        }
        keep
    });
    found
}

/// Whether an event has a way to the end of the attempt: it cannot be gone on from, it lasts, it came shortly before, or something
/// that did follows from it.
fn leads_to_the_end(
    i: u32,
    event: &Event,
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    effects: &BTreeMap<u32, Vec<u32>>,
) -> bool {
    let definition = event.definition(rules);
    if definition.is_some_and(|d| d.fatal || d.lasting || d.terminal.is_some()) {
        return true;
    }
    // Without a record of the end, the last that the workload wrote is near it.
    let written = case.streams.iter().filter(|s| s.name.source == Source::App).filter_map(|s| s.stats.last);
    let Some(end) = case.context.document.end.or(written.max()) else { return true };
    let is_near = |event: &Event| {
        let seen = event.last_seen.or(event.onset.map(|o| o.nominal()));
        seen.is_none_or(|seen| end.since(event.common_time(seen)) <= NEAR_THE_END)
    };
    let follows = |i: &u32| graph.events.get(*i as usize).is_some_and(is_near);
    let was_over = event.over.is_some_and(|over| end.since(over) > recovery::GRACE);
    (is_near(event) && !was_over) || Graph::reached_from(i, effects).iter().any(follows)
}

/// Whether an event began when all was over: after the end, or after the last word of what failed on its own node.
fn came_too_late(event: &Event, graph: &Graph, case: &Case, rules: &RuleSet) -> bool {
    let Some(onset) = event.common_onset().filter(Onset::is_decisive) else { return false };
    // The end is the scheduler's record, and so are its lines.
    let stream = case.streams.get(event.first.stream as usize);
    let slack = if stream.is_some_and(|s| s.name.source == Source::Scheduler) {
        5 * SECOND
    } else {
        order::CLOCK_BOUND
    };
    if case.context.document.end.is_some_and(|end| onset.from > end.shifted(slack)) {
        return true;
    }
    let definition = event.definition(rules);
    let (Some(node), false) = (&event.place.node, definition.is_some_and(|d| d.terminal.is_some())) else {
        return false;
    };
    // A wait that began before says nothing: it may well be a wait for this.
    let last_words = graph.events.iter().filter(|e| {
        e.place.node.as_ref() == Some(node)
            && e.role == Role::Effect
            && e.scope == Scope::In
            && e.onset.is_some_and(|o| o.is_decisive() && o.reported.is_none())
    });
    let last = last_words.map(|e| e.last_seen.or(e.onset.map(|o| o.to))).max().flatten();
    let own = event.onset.map(|o| o.from);
    matches!((last, own), (Some(last), Some(own)) if own > last.shifted(DRIFT))
}

/// Whether the log of whom a quoted line speaks was read: it would have the line.
fn is_contradicted(event: &Event, case: &Case, rules: &RuleSet) -> bool {
    let sources: Vec<&Source> = event
        .hits
        .iter()
        .filter_map(|h| rules.matcher().signature(case.hits.get(*h as usize)?.signature))
        .flat_map(|s: &CompiledSignature| &s.sources)
        .collect();
    let Some(node) = event.place.node.as_deref() else { return false };
    sources.iter().any(|source| case.coverage_of(source, node).0 != NodeCoverage::Missing)
}

/// Joins candidates into roots, orders them, and says how they stand to each other.
fn arrange(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    candidates: Vec<u32>,
    effects: &BTreeMap<u32, Vec<u32>>,
    ruled_out: &mut BTreeMap<u32, (RuledOut, Option<u32>)>,
) -> Vec<Root> {
    let mut roots = join(graph, rules, candidates, effects);
    if roots.is_empty() {
        return roots;
    }
    // The best one, by pairs, from a canonical start.
    let mut best = 0;
    for i in 1..roots.len() {
        if let (Some(a), Some(b)) = (roots.get(i), roots.get(best))
            && better(graph, case, rules, a, b)
        {
            best = i;
        }
    }
    let main = roots.remove(best);
    let mut kept = vec![main];
    for mut root in roots {
        let (Some(main), Some(&lead)) = (kept.first(), root.events.first()) else { continue };
        let Some(&main_lead) = main.events.first() else { continue };
        // What the two could both explain belongs to the one that is linked to it more strongly, or that lies nearer.
        let node = |n: u32| graph.events.get(n as usize).and_then(|e| e.place.node.as_deref());
        let link = |root: &Root, effect: u32| {
            let edges = graph.causes_of(effect).iter().filter(|e| root.events.contains(&e.cause));
            edges.map(|e| (e.basis, e.unordered, node(e.cause) != node(effect))).min()
        };
        let owned = |effect: &u32| match (link(&root, *effect), link(main, *effect)) {
            (Some(mine), Some(other)) => mine < other,
            _ => !main.effects.contains(effect),
        };
        let own: BTreeSet<u32> = root.effects.iter().copied().filter(owned).collect();
        let overlap = root.effects.intersection(&main.effects).next().is_some();
        let (Some(a), Some(b)) = (graph.events.get(main_lead as usize), graph.events.get(lead as usize))
        else {
            continue;
        };
        let main_first = order::compare(a, b) == Some(Ordering::Less);
        let weaker = b.quoted || b.doubted || (b.trust < a.trust);
        // Hearsay convicts nobody beside a fault that was seen.
        if b.quoted && !a.quoted {
            for event in &root.events {
                ruled_out.insert(*event, (RuledOut::Quoted, None));
            }
            continue;
        }
        // What had followed from the one before the other began is not the other's.
        let main_before = main.effects.iter().any(|effect| {
            link(main, *effect).is_some_and(|(basis, unordered, _)| basis <= Basis::Place && !unordered)
                && graph.events.get(*effect as usize).and_then(|e| order::compare(e, b))
                    == Some(Ordering::Less)
        });
        let told = told_of(graph, main, b)
            && told_of_none(graph, &root)
            && (passes(b, rules) || of_no_rank(b, rules));
        if told || (own.is_empty() && (main_first || main_before || weaker)) || is_scheduler_act(b, rules) {
            for event in &root.events {
                ruled_out.insert(*event, (RuledOut::Later, Some(main_lead)));
            }
            continue;
        }
        // Two devices that each ended what ran on them failed both, whichever of them the rest then waited for.
        let device = |e: &Event| {
            matches!(e.domain(rules), Domain::Hardware | Domain::Node | Domain::Software)
                && !e.quoted
                && !e.unproven
        };
        let local = |mine: &Root, other: &Root| {
            mine.effects.difference(&other.effects).any(|effect| {
                link(mine, *effect).is_some_and(|(basis, unordered, elsewhere)| {
                    basis <= Basis::Place && !unordered && !elsewhere
                })
            })
        };
        // And what each of two is named for, or said to be the cause of, the other did not do.
        let named = |mine: &Root, other: &Root| {
            mine.effects.iter().any(|effect| {
                link(mine, *effect).is_some_and(|(basis, ..)| basis <= Basis::NamedPeer)
                    && link(other, *effect).is_none_or(|(basis, ..)| basis > Basis::NamedPeer)
            })
        };
        let both = (device(a) && device(b) && local(&root, main) && local(main, &root))
            || (named(&root, main) && named(main, &root));
        let alternative = own.is_empty() || (overlap && !main_first && !main_before && !both);
        root.relation = if alternative { Relation::Alternative } else { Relation::Independent };
        kept.push(root);
    }
    // Alternatives go both ways.
    if kept.iter().skip(1).any(|r| r.relation == Relation::Alternative)
        && let Some(main) = kept.first_mut()
    {
        main.relation = Relation::Alternative;
    }
    kept
}

/// Whether a fault leaves what it met able to go on.
fn passes(event: &Event, rules: &RuleSet) -> bool {
    event.definition(rules).is_none_or(|d| !d.fatal && !d.lasting && d.terminal.is_none())
}

/// Whether it ended a process of which nothing tells that it was a rank.
fn of_no_rank(event: &Event, rules: &RuleSet) -> bool {
    event.ranks.is_empty() && matches!(event.domain(rules), Domain::Application | Domain::Resource)
}

/// Whether the node of an event reports that it lost the place of a root: it was still alive then.
fn told_of(graph: &Graph, root: &Root, event: &Event) -> bool {
    let Some(node) = &event.place.node else { return false };
    root.effects.iter().any(|effect| {
        graph.events.get(*effect as usize).is_some_and(|e| e.place.node.as_ref() == Some(node))
            && graph
                .causes_of(*effect)
                .iter()
                .any(|e| e.basis == Basis::NamedPeer && root.events.contains(&e.cause))
    })
}

/// Whether nobody names the place of a root as the partner that was lost.
fn told_of_none(graph: &Graph, root: &Root) -> bool {
    !graph.edges.iter().any(|e| e.basis <= Basis::NamedPeer && root.events.contains(&e.cause))
}

fn is_scheduler_act(event: &Event, rules: &RuleSet) -> bool {
    event.domain(rules) == Domain::Scheduler
}

/// The same fault in many ranks at once is one root; at many devices or nodes it is many.
fn join(
    graph: &Graph,
    rules: &RuleSet,
    candidates: Vec<u32>,
    effects_by_cause: &BTreeMap<u32, Vec<u32>>,
) -> Vec<Root> {
    let mut roots: Vec<Root> = Vec::new();
    let mut by_key: BTreeMap<(String, String), usize> = BTreeMap::new();
    for index in candidates {
        let Some(event) = graph.events.get(index as usize) else { continue };
        let place = match event.domain(rules) {
            Domain::Hardware | Domain::Node | Domain::Network | Domain::Software => format!(
                "{:?}",
                (&event.place.node, &event.place.gpu, &event.place.port, &event.place.component)
            ),
            _ => String::new(),
        };
        let effects = Graph::reached_from(index, effects_by_cause);
        match by_key.get(&(event.symptom.clone(), place.clone())).and_then(|i| roots.get_mut(*i)) {
            Some(root) => {
                root.events.push(index);
                root.effects.extend(effects);
            }
            None => {
                by_key.insert((event.symptom.clone(), place), roots.len());
                roots.push(Root { events: vec![index], effects, relation: Relation::Independent });
            }
        }
    }
    without_a_place(&mut roots, graph);
    for root in &mut roots {
        lead_first(&mut root.events, graph);
        let events: BTreeSet<u32> = root.events.iter().copied().collect();
        root.effects = root.effects.difference(&events).copied().collect();
    }
    roots
}

/// What has no place is what the same kind of fault has elsewhere, if it has one place.
fn without_a_place(roots: &mut Vec<Root>, graph: &Graph) {
    let lead = |root: &Root| root.events.first().and_then(|i| graph.events.get(*i as usize));
    let placed = |root: &Root| {
        lead(root).is_some_and(|e| {
            e.place.node.is_some()
                || e.place.gpu.is_some()
                || e.place.port.is_some()
                || e.place.component.is_some()
        })
    };
    let symptom = |root: &Root| lead(root).map(|e| e.symptom.clone());
    let (with, without): (Vec<Root>, Vec<Root>) = std::mem::take(roots).into_iter().partition(placed);
    *roots = with;
    for root in without {
        let mut same = roots.iter_mut().filter(|other| placed(other) && symptom(other) == symptom(&root));
        match (same.next(), same.next()) {
            (Some(one), None) => {
                one.events.extend(root.events);
                one.effects.extend(root.effects);
            }
            _ => roots.push(root),
        }
    }
}

/// Puts the event first that tells best when it began: the earliest with a time of its own, unless another lies wholly before it.
fn lead_first(events: &mut [u32], graph: &Graph) {
    let event = |i: u32| graph.events.get(i as usize);
    let key = |i: u32| event(i).map(|e| (e.onset.map_or(i64::MAX, |o| o.from.0), e.first, i));
    let dated = |i: u32| event(i).and_then(Event::common_onset).filter(Onset::is_decisive);
    let first = events.iter().filter_map(|i| dated(*i)).map(|o| o.from).min();
    let vague = |i: u32| {
        let onset = event(i).and_then(Event::common_onset);
        dated(i).is_none() && first.is_some_and(|first| onset.is_none_or(|o| o.to >= first))
    };
    events.sort_by_key(|i| (vague(*i), key(*i)));
}

/// Whether `a` is the more responsible one.
fn better(graph: &Graph, case: &Case, rules: &RuleSet, a: &Root, b: &Root) -> bool {
    let lead = |root: &Root| root.events.first().and_then(|i| graph.events.get(*i as usize));
    let (Some(x), Some(y)) = (lead(a), lead(b)) else { return false };
    // First-hand evidence before quoted, and before what the log that should have it does not have.
    let disputed = |e: &Event| e.quoted || e.doubted;
    if disputed(x) != disputed(y) {
        return disputed(y);
    }
    // What the workload or its node shows comes before what the scheduler did about it, unless the order says otherwise.
    let tied = |x: &Event, y: &Event| {
        x.place.node == y.place.node
            && matches!((x.onset, y.onset), (Some(o), Some(p)) if o.from.since(p.from).abs() <= order::TIE)
    };
    if tied(x, y) && x.rank != y.rank {
        return x.rank < y.rank;
    }
    match order::compare(x, y) {
        Some(Ordering::Less) => return true,
        Some(Ordering::Greater) => return false,
        _ => {}
    }
    // Whom others name as lost was lost before those that say so.
    let first = |a: &Root, b: &Root, y: &Event| told_of(graph, a, y) && told_of_none(graph, b);
    if first(a, b, y) != first(b, a, x) {
        return first(a, b, y);
    }
    // The state that the scheduler gives tells an act of its own from a fault.
    let names_end = |e: &Event| {
        e.definition(rules).and_then(|d| d.terminal).is_some_and(|t| Some(t) == case.context.terminal_state())
    };
    if names_end(x) != names_end(y) {
        return names_end(x);
    }
    let fatal = |e: &Event| e.definition(rules).is_some_and(|d| d.fatal);
    let key = |root: &Root, e: &Event| (!fatal(e), std::cmp::Reverse(root.effects.len()), e.rank, e.first);
    key(a, x) < key(b, y)
}
