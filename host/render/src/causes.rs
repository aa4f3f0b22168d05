//! Root causes and suspects: what, where, when, the lines that show it, and what it means.

use firstfault_model::diagnosis::{Finding, Relation, RootCause};

use crate::clock::Clock;
use crate::evidence;
use crate::head::times_of;
use crate::page::{Page, span};
use crate::place::full;
use crate::style::Tone;

/// Root causes and suspects that are shown.
const MOST: usize = 4;
/// Lines of evidence that are shown for each.
const EVIDENCE: usize = 2;
/// Unknown lines that are shown.
const UNKNOWN: usize = 3;

/// The root causes.
pub(crate) fn roots(page: &mut Page, finding: &Finding, clock: Clock) {
    let all = &finding.root_causes;
    for (i, root) in all.iter().take(MOST).enumerate() {
        page.section("ROOT CAUSE", Tone::Root);
        root_block(page, finding, root, (i, all.len()), clock);
    }
    if all.len() > MOST {
        page.gap();
        page.row([span(Tone::Plain, format!("... and {} more root causes", all.len() - MOST))]);
    }
}

fn root_block(
    page: &mut Page,
    finding: &Finding,
    root: &RootCause,
    (index, of): (usize, usize),
    clock: Clock,
) {
    let at_least = if root.count_is == "lower_bound" && root.count > 1 { "+" } else { "" };
    let time = root.onset.as_ref().map(|o| clock.onset(o)).unwrap_or_default();
    page.row_with_end(
        vec![
            span(Tone::Root, times_of(&root.symptom, root.count) + at_least),
            span(Tone::Plain, format!("  {}", root.title)),
        ],
        span(Tone::Strong, time),
    );
    let reported = root.onset.as_ref().and_then(|o| o.reported_at.filter(|r| *r > o.to.unwrap_or(o.from)));
    let reported = reported.map(|r| format!("reported {}", clock.time(r, false))).unwrap_or_default();
    let place = full(&root.place);
    if !place.is_empty() || !reported.is_empty() {
        page.row_with_end(vec![span(Tone::Strong, place)], span(Tone::Plain, reported));
    }
    if of > 1 {
        let how = match root.relation {
            Relation::Independent => "independent, explains what the others do not",
            Relation::Alternative => "alternative, would explain the same effects",
        };
        page.row_with_end(
            vec![span(Tone::Doubt, format!("{} of {of}: {how}", index + 1))],
            span(Tone::Plain, format!("{} / {}", root.domain.name(), root.sub_domain)),
        );
    }
    page.widen();
    evidence::write(page, finding, &root.evidence, EVIDENCE);
    page.prose(Tone::Plain, &root.explanation);
    let why = root.confidence_reason.trim();
    let sure = root.confidence.name();
    page.prose(Tone::Plain, &if why.is_empty() { sure.to_owned() } else { format!("{sure}: {why}") });
}

/// Who may be at fault, when nothing shows it.
pub(crate) fn suspects(page: &mut Page, finding: &Finding) {
    let all = &finding.suspects;
    for suspect in all.iter().take(MOST) {
        page.section("SUSPECT", Tone::Doubt);
        let place = full(&suspect.place);
        let place = if place.is_empty() { "place not known".to_owned() } else { place };
        page.row_with_end(
            vec![span(Tone::Doubt, place)],
            span(Tone::Plain, format!("{} / {}", suspect.domain.name(), suspect.sub_domain)),
        );
        page.row([span(Tone::Plain, format!("{}  {}", suspect.symptom, suspect.title))]);
        page.widen();
        page.prose(Tone::Plain, &suspect.why);
        evidence::write(page, finding, &suspect.evidence, EVIDENCE);
        for missing in &finding.could_change_the_verdict {
            if suspect.decided_by.contains(&missing.id) {
                page.item(Tone::Plain, "decided by  ", &missing.missing);
            }
        }
    }
    if all.len() > MOST {
        page.gap();
        page.row([span(Tone::Plain, format!("... and {} more suspects", all.len() - MOST))]);
    }
}

/// Error-like lines near the onset that no rule knows: they may hold the answer.
pub(crate) fn unrecognised(page: &mut Page, finding: &Finding) {
    if finding.unrecognised.is_empty() {
        return;
    }
    page.section("UNKNOWN", Tone::Strong);
    page.prose(Tone::Plain, "error-like lines near the onset that no rule knows");
    page.widen();
    let ids: Vec<String> = finding.unrecognised.iter().map(|u| u.evidence.clone()).collect();
    evidence::write(page, finding, &ids, UNKNOWN);
}
