//! Lines of logs as evidence: where each stands, and its text behind a bar.

use firstfault_model::diagnosis::{Evidence, Finding};
use firstfault_model::source::Trust;

use crate::page::{Page, span};
use crate::style::Tone;
use crate::wrap::fold;

/// Rows that one line of a log may take.
const ROWS: usize = 3;
/// Lines of a block that are shown before and after what is left out.
const BLOCK_HEAD: usize = 1;
const BLOCK_TAIL: usize = 4;

/// The first `most` of some evidence, and how many more there are.
pub(crate) fn write(page: &mut Page, finding: &Finding, ids: &[String], most: usize) {
    let found: Vec<&Evidence> =
        ids.iter().filter_map(|id| finding.evidence.iter().find(|e| e.id == *id)).collect();
    for evidence in found.iter().take(most) {
        page.row([span(Tone::Faint, source(evidence))]);
        quote(page, evidence);
    }
    if found.len() > most {
        page.row([span(Tone::Faint, format!("... and {} more", found.len() - most))]);
    }
}

/// Where a line stands: `gpu-0833 kernel.log:4812`.
fn source(evidence: &Evidence) -> String {
    let mut text = String::new();
    if let Some(node) = evidence.node.as_deref().filter(|n| !evidence.stream.contains(*n)) {
        text.push_str(node);
        text.push(' ');
    }
    text.push_str(if evidence.stream.is_empty() { &evidence.source } else { &evidence.stream });
    if evidence.line_number > 0 {
        text.push_str(&format!(":{}", evidence.line_number));
    }
    // A kernel line that the workload printed is a quotation.
    if evidence.source == "kernel" && evidence.trust == Trust::Workload {
        text.push_str("  (quoted by the workload)");
    }
    text
}

fn quote(page: &mut Page, evidence: &Evidence) {
    let lines: Vec<&str> = evidence.text.split(['\n', '\r']).filter(|l| !l.trim().is_empty()).collect();
    let room = page.room().saturating_sub(2);
    let left_out = lines.len().saturating_sub(BLOCK_HEAD + BLOCK_TAIL);
    for (i, line) in lines.iter().enumerate() {
        if left_out > 1 && (BLOCK_HEAD..BLOCK_HEAD + left_out).contains(&i) {
            if i == BLOCK_HEAD {
                page.row([span(Tone::Faint, format!("| ... {left_out} lines ..."))]);
            }
            continue;
        }
        for row in fold(line, room, ROWS) {
            page.row([span(Tone::Faint, "| "), span(Tone::Plain, row)]);
        }
    }
    if evidence.cut {
        page.row([span(Tone::Faint, "| ...")]);
    }
}
