//! What to do now, and how to make the same verdict again.

use firstfault_model::diagnosis::{Diagnosis, Exclude, ExcludeAction, Finding, RestartDecision};
use firstfault_model::taxonomy::{ExcludeScope, Owner, Restart};

use crate::page::{Page, span};
use crate::style::Tone;

/// Places to exclude that are shown.
const PLACES: usize = 6;
/// Characters of a digest that are shown, after its algorithm.
const DIGEST: usize = 7;

/// The section.
pub(crate) fn write(page: &mut Page, diagnosis: &Diagnosis) {
    let finding = &diagnosis.finding;
    page.section("WHAT TO DO", Tone::Strong);
    let mut said: Vec<&str> = Vec::new();
    for root in &finding.root_causes {
        let action = root.recommended_action.trim();
        if !action.is_empty() && !said.contains(&action) {
            page.item(Tone::Strong, "- ", action);
            said.push(action);
        }
    }
    if finding.root_causes.is_empty() && !finding.could_change_the_verdict.is_empty() {
        page.item(Tone::Strong, "- ", "fetch what is missing (above) and diagnose again");
    }
    exclude(page, finding);
    if let Some(text) = restart(&finding.decision.restart, !finding.decision.exclude.is_empty()) {
        page.item(Tone::Plain, "- ", &text);
    }
    if let Some(who) = owner(finding.decision.owner) {
        page.item(Tone::Plain, "- ", &format!("falls to {who}"));
    }
}

/// How to make the verdict again, and from what it was made.
pub(crate) fn reproduce(page: &mut Page, diagnosis: &Diagnosis, arguments: Option<&str>) {
    let p = &diagnosis.provenance;
    page.section("REPRODUCE", Tone::Strong);
    crate::coverage::shell(page, 0, &format!("firstfault diagnose {}", arguments.unwrap_or("PATH")));
    let parts = [
        format!("firstfault {}", p.engine),
        format!("rules {}", digest(&p.rules_generation)),
        format!("evidence {}", digest(&p.evidence_digest)),
    ];
    crate::coverage::in_columns(page, &parts);
}

fn exclude(page: &mut Page, finding: &Finding) {
    let all = &finding.decision.exclude;
    for e in all.iter().take(PLACES) {
        page.item(Tone::Plain, "- ", &exclusion(e));
    }
    if all.len() > PLACES {
        page.row([span(Tone::Faint, format!("... and {} more places", all.len() - PLACES))]);
    }
}

/// `keep off GPU 0000:b5:00 on gpu-0833: drain (XID 154 asks for it), until gpu reset; a machine may act on this`.
fn exclusion(e: &Exclude) -> String {
    let scope = match e.scope {
        ExcludeScope::None => "",
        ExcludeScope::Gpu => "GPU ",
        ExcludeScope::Node => "node ",
        ExcludeScope::Port => "port ",
        ExcludeScope::Switch => "switch ",
        ExcludeScope::NvlinkDomain => "NVLink domain ",
    };
    let on = e.node.as_deref().filter(|n| *n != e.id).map(|n| format!(" on {n}")).unwrap_or_default();
    let action = match e.action {
        ExcludeAction::Drain => "drain",
        ExcludeAction::ResetGpu => "reset the GPU",
        ExcludeAction::Reboot => "reboot",
        ExcludeAction::Inspect => "have it inspected",
        ExcludeAction::Replace => "replace it",
    };
    let from = if e.action_source == "xid_154" { " (the driver asks for it: XID 154)" } else { "" };
    let until = match e.valid_while.until.as_str() {
        "" => String::new(),
        until => format!(", until {}", until.replace('_', " ").replace("gpu", "GPU")),
    };
    let may = if e.actionable {
        "safe to automate".to_owned()
    } else if e.blocked_by.is_empty() {
        "a person decides".to_owned()
    } else {
        let why: Vec<String> = e.blocked_by.iter().map(|b| b.replace('_', " ")).collect();
        format!("a person decides: {}", why.join(", "))
    };
    format!("avoid {scope}{}{on}: {action}{from}{until}; {may}", e.id)
}

fn restart(restart: &RestartDecision, excluded: bool) -> Option<String> {
    let advice = match restart.advice {
        Restart::Retry => "restart it as it is",
        Restart::RetryLater => "restart it later",
        Restart::RetryElsewhere if excluded => "restart it without what is to be avoided",
        Restart::RetryElsewhere => "restart it elsewhere",
        Restart::FixFirst => "do not restart it before something is changed",
        Restart::NoneNeeded => "no restart is needed",
        Restart::Unknown => "",
    };
    let reason = restart.reason.trim();
    let again = match restart.same_root_attempts {
        0 | 1 => String::new(),
        n => format!(" ({n} attempts in a row had this root cause)"),
    };
    match (advice.is_empty(), reason.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("{reason}{again}")),
        (false, true) => Some(format!("{advice}{again}")),
        (false, false) => Some(format!("{advice}: {reason}{again}")),
    }
}

fn owner(owner: Owner) -> Option<&'static str> {
    Some(match owner {
        Owner::Hardware => "those who repair the hardware",
        Owner::Platform => "those who run the nodes",
        Owner::Network => "those who run the network",
        Owner::Storage => "those who run the storage",
        Owner::Scheduler => "those who run the scheduler",
        Owner::User => "the owner of the workload",
        Owner::Provider => "the provider of the service",
        Owner::None => return None,
    })
}

/// A digest short enough to compare by eye: `sha256:3f9c0a1…`.
fn digest(full: &str) -> String {
    match full.split_once(':') {
        Some((algorithm, hex)) => format!("{algorithm}:{}…", hex.chars().take(DIGEST).collect::<String>()),
        None => full.chars().take(DIGEST).collect(),
    }
}
