//! What goes into and comes out of connectors and collectors, in plain types, checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::attributes::{self, shown};
use crate::bindings::collecting as wit;
use crate::bindings::types::{Error, RankRange};
use crate::error::PluginFailure;
use crate::grants::Attachment;
use crate::host::files::Skipped;
use crate::spool::SpooledStream;

/// Attempts of one workload.
pub(crate) const MAX_ATTEMPTS: usize = 1024;
/// Entries of one report.
const MAX_ENTRIES: usize = 500_000;
/// Values of `status` in a report.
const STATUSES: [&str; 5] = ["ok", "partial", "empty", "failed", "not_observable"];

/// What is asked of a collector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Focus {
    /// Empty: all nodes of the attempt.
    pub nodes: Vec<String>,
    /// Inclusive ranges of global ranks; empty: all.
    pub ranks: Vec<(u32, u32)>,
    /// Start in nanoseconds; `None`: not bounded.
    pub from: Option<i64>,
    /// End in nanoseconds; `None`: not bounded.
    pub to: Option<i64>,
    /// Whether all lines are wanted, not only those that the interest names.
    pub unfiltered: bool,
    /// Reserved for later abilities.
    pub extra: Vec<(String, String)>,
}

/// What the active rules look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interest {
    /// Sources that some rule reads.
    pub sources: Vec<String>,
    /// A line that contains none of these interests no rule.
    pub literals: Vec<String>,
    /// Reserved for later abilities.
    pub extra: Vec<(String, String)>,
}

/// What was asked of one source on one node, and what came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportEntry {
    /// Source.
    pub source: String,
    /// `None`: not per node.
    pub node: Option<String>,
    /// `ok`, `partial`, `empty`, `failed` or `not_observable`.
    pub status: String,
    /// `why`, `asked`, `missing`, `dropped`, ...
    pub facts: BTreeMap<String, String>,
}

/// A collector's report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// By source and node, as the plugin orders them.
    pub entries: Vec<ReportEntry>,
    /// More facts.
    pub extra: BTreeMap<String, String>,
}

/// Everything that one call of `collect` brought.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    /// Files for the reader, in the order of (root, path).
    pub attachments: Vec<Attachment>,
    /// Observations, one stream per set of labels, in the order of these.
    pub spooled: Vec<SpooledStream>,
    /// Files that were seen and left out, in the order of (root, path).
    pub skipped: Vec<Skipped>,
    /// Lines that were refused because the call had brought too much.
    pub refused_lines: u64,
    /// Bytes that one call may bring, beyond which lines are refused.
    pub line_bytes_allowed: u64,
    /// What the plugin says of it.
    pub report: Report,
}

impl From<&Focus> for wit::Focus {
    fn from(focus: &Focus) -> Self {
        Self {
            nodes: focus.nodes.clone(),
            ranks: focus.ranks.iter().map(|&(first, last)| RankRange { first, last }).collect(),
            from: focus.from,
            to: focus.to,
            unfiltered: focus.unfiltered,
            extra: focus.extra.clone(),
        }
    }
}

impl From<&Interest> for wit::Interest {
    fn from(interest: &Interest) -> Self {
        Self {
            sources: interest.sources.clone(),
            literals: interest.literals.clone(),
            extra: interest.extra.clone(),
        }
    }
}

/// Checks a report; `Err` says what breaks which rule.
pub(crate) fn report(report: wit::Report) -> Result<Report, String> {
    if report.entries.len() > MAX_ENTRIES {
        return Err(format!(
            "the report has {} entries, where {MAX_ENTRIES} are allowed",
            report.entries.len()
        ));
    }
    let extra = attributes::map(report.extra).map_err(|e| format!("the report's extra: {e}"))?;
    let entries = report
        .entries
        .into_iter()
        .enumerate()
        .map(|(i, e)| report_entry(e).map_err(|problem| format!("entry {i} of the report: {problem}")));
    Ok(Report { entries: entries.collect::<Result<_, _>>()?, extra })
}

fn report_entry(entry: wit::ReportEntry) -> Result<ReportEntry, String> {
    attributes::word("the source", &entry.source, 64, true)?;
    if let Some(node) = &entry.node
        && (node.is_empty() || node.len() > 255 || node.chars().any(char::is_control))
    {
        return Err(format!("the node '{}' is not 1 to 255 printable bytes", shown(node)));
    }
    if !STATUSES.contains(&entry.status.as_str()) {
        return Err(format!("the status '{}' is none of {}", shown(&entry.status), STATUSES.join(", ")));
    }
    let facts = attributes::map(entry.facts)?;
    Ok(ReportEntry { source: entry.source, node: entry.node, status: entry.status, facts })
}

/// A plugin's error as a failure; an error that breaks a rule is itself malformed.
pub(crate) fn failure(plugin: &Arc<str>, call: &'static str, error: Error) -> PluginFailure {
    let plugin = Arc::clone(plugin);
    let checked = attributes::word("the error's code", &error.code, 64, false)
        .and_then(|()| attributes::sentence("the error's message", &error.message))
        .and_then(|()| attributes::check(&error.details).map_err(|e| format!("the error's details: {e}")));
    match checked {
        Ok(()) => PluginFailure::Error {
            plugin,
            call,
            code: error.code,
            message: crate::text::printable(&error.message, attributes::MAX_SENTENCE),
            retry_after_ms: error.retry_after_ms,
            details: error.details,
        },
        Err(what) => PluginFailure::Malformed { plugin, call, what },
    }
}
