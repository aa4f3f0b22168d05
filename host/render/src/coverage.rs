//! What was read and what was not: coverage, missing evidence, files left aside, limits.

use std::collections::BTreeMap;

use firstfault_model::diagnosis::{self, Coverage, CoverageStatus, Diagnosis, Finding, Missing, Window};

use crate::clock::Clock;
use crate::page::{Page, span};
use crate::place::count;
use crate::style::Tone;
use crate::wrap::{command, width};

/// Entries of each list that are shown.
const MISSING: usize = 4;
const NOT_READ: usize = 5;
/// Names that are shown of those that were left out for one reason.
const NAMES: usize = 3;
const ERRORS: usize = 3;
const CLOCKS: usize = 3;

/// Coverage by source, and what failed of the plugins.
pub(crate) fn write(page: &mut Page, diagnosis: &Diagnosis) {
    let finding = &diagnosis.finding;
    page.section("COVERAGE", Tone::Strong);
    let seen: Vec<String> =
        finding.coverage.iter().filter(|c| was_asked(c)).map(|c| entry(finding, c)).collect();
    in_columns(page, &seen);
    for (status, words) in [
        (CoverageStatus::NotConfigured, "not configured"),
        (CoverageStatus::NotObservable, "cannot be seen from here"),
    ] {
        let mut names: Vec<String> =
            finding.coverage.iter().filter(|c| c.status == status).map(|c| source(&c.source)).collect();
        names.sort();
        names.dedup();
        if !names.is_empty() {
            page.prose(Tone::Plain, &format!("{words}: {}", names.join(", ")));
        }
    }
    let errors: Vec<String> = finding
        .coverage
        .iter()
        .flat_map(|c| c.errors.iter().map(|e| format!("{}: {e}", source(&c.source))))
        .collect();
    some_of(page, &errors, ERRORS, Tone::Doubt);
    for plugin in diagnosis.provenance.plugins.iter().filter(|p| p.status != "ok") {
        let detail = plugin.detail.as_ref().map(|d| format!(" ({d})")).unwrap_or_default();
        let status = plugin.status.replace('_', " ");
        page.prose(
            Tone::Doubt,
            &format!("plugin {} failed: {status}{detail}; nothing of it was used", plugin.name),
        );
    }
    clocks(page, finding);
}

/// What is missing and could change the verdict.
pub(crate) fn missing(page: &mut Page, finding: &Finding, clock: Clock) {
    page.section("COULD CHANGE THE VERDICT", Tone::Strong);
    for m in finding.could_change_the_verdict.iter().take(MISSING) {
        page.item(Tone::Plain, "- ", &sentence(m, clock));
        if let Some(text) = &m.command {
            shell(page, 2, text);
        }
    }
    more(page, finding.could_change_the_verdict.len(), MISSING);
}

/// Files that were given and not read, by reason.
pub(crate) fn not_read(page: &mut Page, finding: &Finding) {
    page.section("NOT READ", Tone::Strong);
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for file in &finding.not_read {
        match by_reason.iter_mut().find(|(reason, _)| *reason == file.reason) {
            Some((_, paths)) => paths.push(&file.path),
            None => by_reason.push((&file.reason, vec![&file.path])),
        }
    }
    let line = |(reason, paths): &(&str, Vec<&str>)| {
        let names = paths.get(..NAMES).unwrap_or(paths).join(", ");
        match paths.len().checked_sub(NAMES) {
            Some(more @ 1..) => format!("{} files: {reason} ({names} and {more} more)", paths.len()),
            _ => format!("{names}: {reason}"),
        }
    };
    let lines: Vec<String> = by_reason.iter().map(line).collect();
    some_of(page, &lines, NOT_READ, Tone::Plain);
}

/// Limits that were reached.
pub(crate) fn limits(page: &mut Page, finding: &Finding) {
    page.section("LIMITS", Tone::Strong);
    let reached: Vec<String> = finding
        .limits
        .iter()
        .map(|l| format!("{}: {} beyond the limit of {}", l.what.replace('_', " "), l.dropped, l.cap))
        .collect();
    some_of(page, &reached, NOT_READ, Tone::Plain);
}

/// A command that can be copied.
pub(crate) fn shell(page: &mut Page, indent: usize, text: &str) {
    for (i, line) in command(text, page.room().saturating_sub(indent + 2)).into_iter().enumerate() {
        let prompt = format!("{:indent$}{}", "", if i == 0 { "$ " } else { "  " });
        page.row([span(Tone::Faint, prompt), span(Tone::Plain, line)]);
    }
}

fn was_asked(c: &Coverage) -> bool {
    !matches!(c.status, CoverageStatus::NotConfigured | CoverageStatus::NotObservable)
}

/// `kernel 15/16 (not gpu-0708)`.
fn entry(finding: &Finding, c: &Coverage) -> String {
    let mut text = source(&c.source);
    let twice = finding.coverage.iter().filter(|o| o.source == c.source && was_asked(o)).count() > 1;
    if twice {
        text.push_str(&format!(" by {}", c.collector));
    }
    if c.nodes_expected > 0 {
        text.push_str(&format!(" {}/{}", c.nodes_seen, c.nodes_expected));
    } else if c.nodes_seen > 0 {
        text.push_str(&format!(" {}", count(u64::from(c.nodes_seen), "node")));
    }
    let word = match c.status {
        CoverageStatus::Failed => Some("failed".to_owned()),
        CoverageStatus::Empty => Some("empty".to_owned()),
        CoverageStatus::Partial if c.nodes_missing.is_empty() => Some("in part".to_owned()),
        CoverageStatus::Ok if c.nodes_expected == 0 && c.nodes_seen == 0 => Some("read".to_owned()),
        _ => None,
    };
    if let Some(word) = word {
        text.push(' ');
        text.push_str(&word);
    }
    let mut remarks = Vec::new();
    if !c.nodes_missing.is_empty() {
        remarks.push(format!("not {}", c.nodes_missing));
    }
    if c.loss_markers > 0 {
        remarks.push("lines lost".to_owned());
    }
    if c.dropped > 0 {
        remarks.push(format!("{} hits beyond a limit", c.dropped));
    }
    if c.join == "unmatched" {
        remarks.push("names that are no node of it".to_owned());
    }
    if remarks.is_empty() { text } else { format!("{text} ({})", remarks.join(", ")) }
}

fn source(name: &str) -> String {
    name.replace('_', " ")
}

/// Entries beside one another, three blanks between, as many on a line as fit.
pub(crate) fn in_columns(page: &mut Page, entries: &[String]) {
    let mut line = String::new();
    for entry in entries {
        if !line.is_empty() && width(&line) + 3 + width(entry) > page.room() {
            page.row([span(Tone::Plain, std::mem::take(&mut line))]);
        }
        if width(entry) > page.room() {
            page.prose(Tone::Plain, entry);
            continue;
        }
        if !line.is_empty() {
            line.push_str("   ");
        }
        line.push_str(entry);
    }
    if !line.is_empty() {
        page.row([span(Tone::Plain, line)]);
    }
}

fn sentence(m: &Missing, clock: Clock) -> String {
    // The text may name its window itself.
    let window = clock.window(&Window { from: m.from, to: m.to }).filter(|w| {
        let start = w.split(' ').find(|part| part.contains(':')).unwrap_or_default();
        !m.missing.contains(start)
    });
    let window = window.map(|w| format!(", {w}")).unwrap_or_default();
    let why = if m.why.is_empty() { String::new() } else { format!(": {}", m.why) };
    format!("{}{window}{why}", m.missing)
}

fn clocks(page: &mut Page, finding: &Finding) {
    let off: BTreeMap<&str, &diagnosis::Clock> = finding
        .clocks
        .iter()
        .filter(|c| c.offset_ms.unsigned_abs() > c.uncertainty_ms)
        .map(|c| (c.node.as_str(), c))
        .collect();
    for (node, clock) in off.iter().take(CLOCKS) {
        let by = clock.offset_ms.unsigned_abs();
        let by = format!("{}.{} s", by / 1000, by % 1000 / 100);
        let way = if clock.offset_ms > 0 { "ahead" } else { "behind" };
        let text = if clock.method == "order_of_cause_and_effect" {
            format!(
                "clock of {node} is at least {by} {way}: what followed from it elsewhere is stamped earlier"
            )
        } else {
            format!("clock of {node} is {by} {way}; times here are corrected")
        };
        page.prose(Tone::Plain, &text);
    }
    more(page, off.len(), CLOCKS);
}

fn some_of(page: &mut Page, all: &[String], most: usize, tone: Tone) {
    for one in all.iter().take(most) {
        page.item(tone, "- ", one);
    }
    more(page, all.len(), most);
}

fn more(page: &mut Page, all: usize, most: usize) {
    if all > most {
        page.row([span(Tone::Faint, format!("... and {} more", all - most))]);
    }
}
