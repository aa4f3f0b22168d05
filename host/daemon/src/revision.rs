//! Revisions: which status a diagnosis has, when the next is due, what changed.

use std::collections::BTreeSet;
use std::time::Duration;

use firstfault_model::diagnosis::{Diagnosis, Finding, RevisionStatus};
use firstfault_store::{Entry, Revised, Status};

use crate::clock::timestamp;

/// Puts a finding into the envelope of its revision.
pub(crate) fn revise(
    entry: &Entry,
    settles: bool,
    schedule: &[Duration],
    previous: Option<&Diagnosis>,
    mut diagnosis: Diagnosis,
    now: i64,
) -> Result<Revised, serde_json::Error> {
    let finding = &diagnosis.finding;
    let incomplete = !finding.could_change_the_verdict.is_empty();
    let later =
        |after: &Duration| entry.created.saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
    let due = schedule.iter().map(later).enumerate().find(|(_, at)| *at > now);
    // The first time it is looked at again in any case, later only for what may still come.
    let next = due.filter(|(i, _)| settles && (*i == 0 || incomplete)).map(|(_, at)| at);
    let status = match next {
        Some(_) => Status::Provisional,
        None if settles && incomplete => Status::FinalIncomplete,
        None => Status::Final,
    };
    let number = entry.revision.saturating_add(1);
    diagnosis.id.clone_from(&entry.id);
    diagnosis.revision.number = number;
    diagnosis.revision.status = match status {
        Status::Provisional => RevisionStatus::Provisional,
        Status::Final => RevisionStatus::Final,
        Status::FinalIncomplete => RevisionStatus::FinalIncomplete,
    };
    diagnosis.revision.next_at = next.map(timestamp);
    if let Some(previous) = previous {
        diagnosis.revision.supersedes = Some(format!("{}/revisions/{}", entry.id, entry.revision));
        diagnosis.revision.changed = changed(previous, &diagnosis);
    }
    let finding = &diagnosis.finding;
    let mut nodes = BTreeSet::new();
    for cause in &finding.root_causes {
        if let Some(node) = cause.place.node.as_ref().filter(|n| finding.responsible.nodes.contains(n)) {
            nodes.insert((node.clone(), cause.symptom.clone()));
        }
    }
    Ok(Revised {
        status,
        document: serde_json::to_string_pretty(&diagnosis)?,
        digest: diagnosis.provenance.diagnosis_digest.clone(),
        verdict: finding.verdict.name().to_owned(),
        summary: finding.summary.clone(),
        nodes: nodes.into_iter().collect(),
        at: finding.workload.end.map_or(now, |end| end.0.div_euclid(1_000_000)),
        next,
    })
}

/// What tells two revisions apart, for people.
fn changed(before: &Diagnosis, after: &Diagnosis) -> Vec<String> {
    let mut out = Vec::new();
    let (old, new) = (&before.finding, &after.finding);
    if before.provenance.diagnosis_digest == after.provenance.diagnosis_digest {
        out.push("nothing but the status".to_owned());
        return out;
    }
    if old.verdict != new.verdict {
        out.push(format!("the verdict was {} and is {}", old.verdict.name(), new.verdict.name()));
    }
    let (was, is) = (causes(old), causes(new));
    out.extend(was.difference(&is).map(|cause| format!("no longer a root cause: {cause}")));
    out.extend(is.difference(&was).map(|cause| format!("now a root cause: {cause}")));
    if old.terminal_state != new.terminal_state {
        out.push(format!(
            "it ended as {}, and not as {}",
            new.terminal_state.name(),
            old.terminal_state.name()
        ));
    }
    let lines = |finding: &Finding| finding.coverage.iter().map(|c| c.lines).sum::<u64>();
    if lines(old) != lines(new) {
        out.push(format!("{} lines were seen, {} before", lines(new), lines(old)));
    }
    if before.provenance.rules_generation != after.provenance.rules_generation {
        out.push("the rules are others".to_owned());
    }
    if out.is_empty() {
        out.push("details of the evidence".to_owned());
    }
    out
}

fn causes(finding: &Finding) -> BTreeSet<String> {
    let of = |cause: &firstfault_model::diagnosis::RootCause| {
        let node = cause.place.node.as_deref().map_or_else(String::new, |node| format!(" on {node}"));
        format!("{}{node} ({})", cause.symptom, cause.confidence.name())
    };
    finding.root_causes.iter().map(of).collect()
}
