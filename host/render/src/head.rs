//! The answer, and in a few rows what ran and how it ended.

use std::collections::BTreeMap;

use firstfault_model::diagnosis::{Diagnosis, Finding, RevisionStatus, RuledOut, Terminal, Verdict};
use firstfault_model::time::{MILLI, Timestamp};

use crate::clock::{Clock, date, duration};
use crate::page::{Page, span};
use crate::place::count;
use crate::style::Tone;

/// Earlier attempts that are shown.
const ATTEMPTS: usize = 3;

/// The answer and the facts.
pub(crate) fn write(page: &mut Page, diagnosis: &Diagnosis, clock: Clock) {
    let finding = &diagnosis.finding;
    page.lead(Tone::Strong, &finding.summary);
    page.gap();
    verdict(page, diagnosis);
    page.fact("workload", Tone::Plain, &workload(finding));
    when(page, finding, clock);
    page.fact("ended as", Tone::Plain, &ended(&finding.terminal));
    if finding.verdict != Verdict::NoFault {
        progress(page, finding, clock);
        affected(page, finding);
        earlier(page, finding);
    }
}

/// What was seen in an attempt without a fault, by symptom.
pub(crate) fn harmless(page: &mut Page, finding: &Finding) {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let benign = finding.ruled_out.iter().filter(|r| r.why != RuledOut::OutOfScope);
    for (symptom, times) in finding
        .context
        .iter()
        .map(|c| (c.symptom.as_str(), c.count))
        .chain(benign.map(|r| (r.symptom.as_str(), r.count)))
        .chain(finding.symptoms.iter().map(|s| (s.symptom.as_str(), s.count)))
    {
        let sum = seen.entry(symptom).or_default();
        *sum = sum.saturating_add(times);
    }
    let words: Vec<String> = seen.iter().map(|(symptom, times)| times_of(symptom, *times)).collect();
    if !words.is_empty() {
        page.fact("harmless", Tone::Plain, &words.join(", "));
    }
}

/// `xid.45 x12`.
pub(crate) fn times_of(symptom: &str, times: u64) -> String {
    if times > 1 { format!("{symptom} x{times}") } else { symptom.to_owned() }
}

fn verdict(page: &mut Page, diagnosis: &Diagnosis) {
    let finding = &diagnosis.finding;
    let (tone, word) = match finding.verdict {
        Verdict::Attributed => (Tone::Root, "attributed"),
        Verdict::Undetermined => (Tone::Doubt, "undetermined"),
        Verdict::NoFault => (Tone::Good, "no fault"),
    };
    let sure = finding.root_causes.first().map(|r| format!(" ({})", r.confidence.name())).unwrap_or_default();
    let state = if diagnosis.revision.status == RevisionStatus::Provisional { ", provisional" } else { "" };
    let root = finding.root_causes.first().map(|r| (r.domain, r.sub_domain.as_str()));
    let suspect = finding.suspects.first().map(|s| (s.domain, s.sub_domain.as_str()));
    let class = root.or(suspect).map(|(d, s)| format!("{} / {s}", d.name())).unwrap_or_default();
    page.label("verdict");
    page.row_with_end(
        vec![span(tone, word), span(Tone::Plain, format!("{sure}{state}"))],
        span(Tone::Plain, class),
    );
}

fn workload(finding: &Finding) -> String {
    let w = &finding.workload;
    let mut name: Vec<String> = w.scheduler.iter().chain(&w.id).cloned().collect();
    name.extend(w.attempt.map(|a| format!("attempt {a}")));
    name.extend(w.name.as_ref().map(|n| format!("\"{n}\"")));
    name.extend(w.user.as_ref().map(|u| format!("of {u}")));
    let mut size = Vec::new();
    if w.node_count > 0 {
        let nodes = if w.nodes.is_empty() { String::new() } else { format!(" ({})", w.nodes) };
        size.push(count(u64::from(w.node_count), "node") + &nodes);
    }
    size.extend(w.rank_count.map(|n| count(u64::from(n), "rank")));
    let parts = [name.join(" "), size.join(", ")];
    let text = parts.iter().filter(|p| !p.is_empty()).cloned().collect::<Vec<_>>().join(", ");
    if text.is_empty() { "not known: no context was given".to_owned() } else { text }
}

fn when(page: &mut Page, finding: &Finding, clock: Clock) {
    let w = &finding.workload;
    let full = |t: Timestamp| format!("{} {}", date(t), t.clock(false));
    let text = match (w.start, w.end) {
        (Some(start), Some(end)) => {
            let until = if date(start) == date(end) { end.clock(false) } else { full(end) };
            format!("{} to {until} UTC, {}", full(start), duration(end.since(start)))
        }
        (Some(start), None) => format!("from {} UTC", full(start)),
        (None, Some(end)) => format!("until {} UTC", full(end)),
        (None, None) => match clock.date() {
            Some(date) => format!("{date}, times in UTC"),
            None => return,
        },
    };
    page.fact("when", Tone::Plain, &text);
}

fn ended(terminal: &Terminal) -> String {
    let mut text = terminal.state.name().replace('_', " ");
    let reason = terminal.reason.as_deref().filter(|r| !r.is_empty() && !r.eq_ignore_ascii_case("none"));
    let exit = terminal
        .exit
        .code
        .filter(|c| *c != 0 || terminal.exit.signal.is_none_or(|s| s == 0))
        .map(|c| format!("exit {c}"));
    let signal = terminal.exit.signal.filter(|s| *s != 0).map(|s| format!("signal {s}"));
    let requeued = (terminal.requeued == Some(true)).then(|| "requeued".to_owned());
    let step = terminal.failed_step.as_ref().map(|s| format!("step {s}"));
    for part in [exit, signal, reason.map(|r| format!("reason {r}")), step, requeued].into_iter().flatten() {
        text.push_str(", ");
        text.push_str(&part);
    }
    if terminal.source == "app" {
        text.push_str(" (by its own log)");
    }
    text
}

fn progress(page: &mut Page, finding: &Finding, clock: Clock) {
    let mut parts = Vec::new();
    if let Some(p) = &finding.progress {
        if let Some(step) = p.last_step {
            let at = p.last_time.map(|t| format!(" at {}", clock.time(t, false))).unwrap_or_default();
            let each = p.median_step_ms.map(|ms| format!(" ({}.{} s each)", ms / 1000, ms % 1000 / 100));
            parts.push(format!("last step {step}{at}{}", each.unwrap_or_default()));
        }
        if let Some(ms) = p.stalled_for_ms.and_then(|ms| i64::try_from(ms).ok()) {
            parts.push(format!("then nothing for {}", duration(ms.saturating_mul(MILLI))));
        }
    }
    if let Some(hang) = finding.hang.as_ref().filter(|h| h.detected && parts.len() < 2) {
        let since = hang.since.map(|t| format!(" since {}", clock.time(t, false))).unwrap_or_default();
        parts.push(format!("stood still{since}"));
    }
    if !parts.is_empty() {
        page.fact("progress", Tone::Plain, &parts.join(", "));
    }
}

fn affected(page: &mut Page, finding: &Finding) {
    let a = &finding.affected;
    let ranks = (a.rank_count > 0).then(|| count(u64::from(a.rank_count), "rank"));
    let nodes = (a.node_count > 0).then(|| count(u64::from(a.node_count), "node"));
    let who = ranks.into_iter().chain(nodes).collect::<Vec<_>>().join(" on ");
    if !who.is_empty() {
        let innocent = if finding.verdict == Verdict::Attributed { ", not at fault" } else { "" };
        page.fact("affected", Tone::Plain, &format!("{who}{innocent}"));
    }
}

fn earlier(page: &mut Page, finding: &Finding) {
    let previous = &finding.lineage.previous;
    if let Some(found) = finding.lineage.found {
        page.fact(
            "attempts",
            Tone::Plain,
            &format!("{found} in these logs; --attempt N looks at one of them"),
        );
    }
    if previous.is_empty() {
        return;
    }
    let mut words: Vec<String> = previous
        .iter()
        .take(ATTEMPTS)
        .map(|p| {
            let at = if p.places.is_empty() { String::new() } else { format!(" on {}", p.places.join(", ")) };
            format!("attempt {}: {}{at}", p.attempt, p.root.as_deref().unwrap_or("no root cause"))
        })
        .collect();
    if previous.len() > ATTEMPTS {
        words.push(format!("and {} more", previous.len() - ATTEMPTS));
    }
    page.fact("earlier", Tone::Plain, &words.join("; "));
}
