//! From the graph to the finding.

use firstfault_model::diagnosis::{
    Confidence, Exit, Finding, LimitReached, Lineage, PreviousAttempt, RootCause, Terminal, TerminalState,
    Verdict, Workload,
};
use firstfault_model::ranges::format_nodes;
use firstfault_rules::pack::Role;
use firstfault_rules::ruleset::RuleSet;

use crate::case::Case;
use crate::event::Event;
use crate::evidence::Ledger;
use crate::graph::{Graph, MAX_EVENTS};
use crate::progress::Seen;
use crate::roots::{self, Judgement};
use crate::suspects::Accused;
use crate::{clocks, confidence, coverage, decision, document, missing, summary, suspects};

/// Most earlier attempts that are listed.
const MAX_PREVIOUS: usize = 64;
/// Lines behind an error with which a log may still end because of it; what writes on for longer went on.
const LAST_WORDS: u32 = 5;

/// What the graph says, before it is written down.
#[derive(Debug)]
pub struct Judged {
    /// Verdict and roots.
    pub judgement: Judgement,
    /// Suspects.
    pub accused: Vec<Accused>,
    /// How far the attempt came.
    seen: Seen,
    /// Root causes beyond the limit.
    beyond: u64,
}

/// Judges. The result depends on the case and the rules alone.
#[must_use]
pub fn judge(graph: &mut Graph, case: &Case, rules: &RuleSet) -> Judged {
    let seen = Seen::of(case, &graph.attempts);
    let dismissed = roots::dismissed(graph, case, rules, &seen);
    graph.dismiss(|cause| dismissed.contains_key(&cause));
    let mut judgement = roots::judge(graph, case, rules, &seen, &dismissed);
    let beyond = judgement.roots.len().saturating_sub(roots::MAX_ROOTS) as u64;
    judgement.roots.truncate(roots::MAX_ROOTS);
    let accused = if judgement.verdict == Verdict::Undetermined {
        suspects::accused(graph, case, rules, &judgement, &seen)
    } else {
        Vec::new()
    };
    Judged { judgement, accused, seen, beyond }
}

/// Concludes. The finding depends on the case and the rules alone.
#[must_use]
pub fn conclude(judged: Judged, graph: &Graph, case: &Case, rules: &RuleSet) -> Finding {
    let Judged { mut judgement, accused, seen, beyond } = judged;
    // What no rule knows may well be the fault, if the log ends with it and nothing says that the attempt ended well.
    if judgement.verdict == Verdict::NoFault
        && judgement.state == TerminalState::Unknown
        && case.unknown.iter().any(|line| line.behind.is_some_and(|lines| lines <= LAST_WORDS))
    {
        judgement.verdict = Verdict::Undetermined;
    }
    let gaps = missing::gaps(graph, case, rules, &judgement, &accused);
    let (could_change, gap_ids) = missing::listed(&gaps, case);
    let confidences: Vec<(Confidence, String)> =
        judgement.roots.iter().map(|r| confidence::confidence(r, graph, case, rules, &seen, &gaps)).collect();
    let mut ledger = Ledger::default();
    let mut root_causes =
        document::root_causes(graph, case, rules, &judgement.roots, &confidences, &mut ledger);
    let decided_by = |suspect: &suspects::Accused| {
        let node = suspect.event_place.node.as_deref();
        gaps.iter()
            .enumerate()
            .filter(|(_, g)| g.node.is_none() || g.node.as_deref() == node)
            .filter_map(|(i, _)| gap_ids.get(&i).cloned())
            .collect()
    };
    let suspects = document::suspects(graph, case, rules, &accused, decided_by, &mut ledger);
    let (symptoms, explains) = document::symptom_groups(graph, case, rules, &judgement, &mut ledger);
    for root in &mut root_causes {
        root.explains = explains.get(&root.id).cloned().unwrap_or_default();
    }
    let (ruled_out, context) = document::the_rest(graph, case, rules, &judgement, &mut ledger);
    let unrecognised = document::unrecognised(case, &mut ledger);
    let affected = document::affected(graph, rules, &judgement);
    let levels: Vec<Confidence> = confidences.iter().map(|(c, _)| *c).collect();
    let main_effect = symptoms
        .iter()
        .filter(|s| s.role == Role::Effect.name() || s.role == Role::Either.name())
        .filter(|s| !s.symptom.ends_with(".silent_rank"))
        .filter(|s| root_causes.is_empty() || !s.caused_by.is_empty())
        .max_by_key(|s| (s.rank_count, s.node_count, std::cmp::Reverse(s.first), s.count))
        .map(|s| s.title.as_str());
    let summary = summary::summary(&summary::Parts {
        verdict: judgement.verdict,
        state: judgement.state,
        roots: &root_causes,
        suspects: &suspects,
        affected: &affected,
        main_effect,
        gaps: &gaps,
        still_since: seen.hang.as_ref().and_then(|h| h.since),
        unrecognised: unrecognised.len(),
        unread: summary::unread(case),
    });
    let mut limits = case.limits.clone();
    if beyond > 0 {
        limits.push(LimitReached {
            what: "root causes".into(),
            cap: roots::MAX_ROOTS as u64,
            dropped: beyond,
        });
    }
    if graph.dropped > 0 {
        limits.push(LimitReached { what: "events".into(), cap: MAX_EVENTS as u64, dropped: graph.dropped });
    }
    let (mut clocks, more) = clocks::listed(&graph.clocks);
    clocks.extend(clocks::implied(graph, &judgement.roots, case));
    if more > 0 {
        limits.push(LimitReached {
            what: "clocks".into(),
            cap: clocks::MAX_LISTED as u64,
            dropped: more as u64,
        });
    }
    Finding {
        verdict: judgement.verdict,
        summary,
        workload: workload(case),
        lineage: lineage(graph, case, &root_causes),
        terminal_state: judgement.state,
        terminal: terminal(case, &judgement, graph),
        decision: decision::decide(graph, case, rules, &judgement, &levels),
        responsible: decision::responsible(graph, rules, &judgement),
        progress: seen.progress,
        hang: seen.hang,
        root_causes,
        suspects,
        symptoms,
        ruled_out,
        context,
        affected,
        evidence: ledger.into_list(),
        coverage: coverage::coverage(case),
        could_change_the_verdict: could_change,
        unrecognised,
        limits,
        clocks,
        not_read: case.not_read.clone(),
    }
}

/// The attempts before the one that is judged, as the logs show them: before the one that was asked for, else before the last.
fn lineage(graph: &Graph, case: &Case, roots: &[RootCause]) -> Lineage {
    let found = graph.attempts.count();
    if found < 2 {
        return Lineage::default();
    }
    let until = case.attempt.unwrap_or(found);
    let previous = (1..until).rev().take(MAX_PREVIOUS).map(|attempt| {
        let events = graph.events.iter().filter(|e| graph.attempts.of(e) == Some(attempt));
        let explains =
            |e: &&Event| matches!(e.role, Role::Cause | Role::Either) && e.demoted.is_none() && !e.quoted;
        // A root cause of the diagnosis, else what came first and may be one.
        let root = events.filter(explains).min_by_key(|e| {
            (!roots.iter().any(|r| r.symptom == e.symptom), e.onset.map(|o| o.from), e.first)
        });
        PreviousAttempt {
            attempt,
            diagnosis: None,
            root: root.map(|e| e.symptom.clone()),
            places: root.and_then(|e| e.place.node.clone()).into_iter().collect(),
        }
    });
    Lineage { found: Some(found), previous: previous.collect() }
}

fn workload(case: &Case) -> Workload {
    let d = case.context.document.clone();
    let nodes = case.node_names();
    Workload {
        scheduler: d.scheduler,
        cluster: d.cluster,
        id: d.id,
        attempt: d.attempt,
        name: d.name,
        user: d.user,
        account: d.account,
        partition: d.partition,
        node_count: u32::try_from(case.context.nodes.len()).unwrap_or(u32::MAX),
        nodes: format_nodes(nodes),
        rank_count: case.context.rank_count(),
        start: d.start,
        end: d.end,
    }
}

fn terminal(case: &Case, judgement: &Judgement, graph: &Graph) -> Terminal {
    let document = case.context.document.terminal.clone().unwrap_or_default();
    let code = document.exit_code;
    let marker = judgement
        .state_event
        .and_then(|i| graph.events.get(i as usize)?.hits.first().copied())
        .and_then(|h| case.hits.get(h as usize))
        .map(|h| h.text.chars().take(200).collect());
    Terminal {
        state: judgement.state,
        raw: document.raw,
        reason: document.reason,
        requeued: document.requeued,
        exit: Exit {
            code,
            signal: document.signal,
            marker,
            trust: match (code, document.signal) {
                (_, Some(_)) => "exact",
                (Some(code), None) if code > 128 => "ambiguous_128",
                (Some(_), None) => "exact",
                (None, None) => "unknown",
            }
            .to_owned(),
        },
        source: judgement.state_source.to_owned(),
        ended_by_uid: None,
        failed_step: None,
    }
}
