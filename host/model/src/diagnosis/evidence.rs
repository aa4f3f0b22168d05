//! What was seen, what was not, and what could change the verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CoverageStatus;
use crate::source::Trust;
use crate::time::Timestamp;

/// A line that the rest refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Id in this document.
    pub id: String,
    /// What kind of record.
    pub source: String,
    /// How far it can be believed.
    pub trust: Trust,
    /// Node, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Name of the stream.
    pub stream: String,
    /// Line number, from 1.
    pub line_number: u64,
    /// Byte offset of the line.
    pub byte_offset: u64,
    /// Its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// How the time is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_source: Option<String>,
    /// The line after splitting on carriage returns, or the whole block of a multi-line form; redacted; invalid bytes as U+FFFD.
    pub text: String,
    /// Whether the text is cut.
    pub cut: bool,
    /// Digest of the text.
    pub digest: String,
}

/// What was seen of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Who collected it.
    pub collector: String,
    /// What kind of record.
    pub source: String,
    /// Nodes of the attempt; 0 if it is not per node or the nodes are not known.
    pub nodes_expected: u32,
    /// Nodes it came from.
    pub nodes_seen: u32,
    /// Nodes it did not come from, as a host list.
    pub nodes_missing: String,
    /// How complete it is.
    pub status: CoverageStatus,
    /// The window that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_asked: Option<Window>,
    /// Earliest time seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// Latest time seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// Lines read.
    pub lines: u64,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines that some rule matched.
    pub matched: u64,
    /// Hits beyond a limit.
    pub dropped: u64,
    /// Notices that lines are missing.
    pub loss_markers: u64,
    /// `ok` or `unmatched` (names that are no node of the attempt).
    pub join: String,
    /// What went wrong.
    pub errors: Vec<String>,
}

/// A span of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// End.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
}

/// Something that is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// Id in this document.
    pub id: String,
    /// What is missing, for people.
    pub missing: String,
    /// Which verdict it could change, and how.
    pub why: String,
    /// What kind of record.
    pub source: String,
    /// Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// From when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// To when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// A command that brings it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// An error-like line that no rule knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unrecognised {
    /// Id in `evidence`.
    pub evidence: String,
    /// Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What kind of record.
    pub source: String,
}

/// A limit that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitReached {
    /// Which.
    pub what: String,
    /// The limit.
    pub cap: u64,
    /// What is beyond it.
    pub dropped: u64,
}

/// Clock offset of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// Node.
    pub node: String,
    /// Its clock less the common one, in milliseconds.
    pub offset_ms: i64,
    /// In milliseconds.
    pub uncertainty_ms: u64,
    /// How it is known: `shared_timeouts` (from waits that nodes share), `order_of_cause_and_effect` (it tells a cause later than
    /// others tell what followed from it: the offset is at least that, and times are not corrected by it).
    pub method: String,
}

/// A file that was given and not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NotRead {
    /// Its path, relative to what was given.
    pub path: String,
    /// Why.
    pub reason: String,
}
