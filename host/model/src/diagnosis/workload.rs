//! What ran, how far it came, and how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TerminalState;
use crate::time::Timestamp;

/// What ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// `slurm`, `kueue`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Name of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The scheduler's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Number of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Partition or queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Number of nodes; 0 if not known.
    pub node_count: u32,
    /// The nodes as a host list.
    pub nodes: String,
    /// Number of ranks, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_count: Option<u32>,
    /// Start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// End.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
}

/// Earlier attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lineage {
    /// Attempts that the logs hold, if they hold several and nobody said which is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<u32>,
    /// Newest first.
    pub previous: Vec<PreviousAttempt>,
}

impl Lineage {
    /// Whether no earlier attempt is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.previous.is_empty() && self.found.is_none()
    }
}

/// An earlier attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreviousAttempt {
    /// Its number.
    pub attempt: u32,
    /// Id of its diagnosis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<String>,
    /// Symptom of its root cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Places of its root cause.
    pub places: Vec<String>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Terminal {
    /// As `terminal_state`.
    pub state: TerminalState,
    /// The scheduler's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The scheduler's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it was requeued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeued: Option<bool>,
    /// Exit code and signal.
    pub exit: Exit,
    /// `context`, `scheduler`, `app` or `none`: who says so.
    pub source: String,
    /// User id of who ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by_uid: Option<u32>,
    /// The step that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_step: Option<String>,
}

/// Exit code and signal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exit {
    /// Exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The line that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// `exact`, `ambiguous_128` (a code above 128 may be a signal), `unknown`.
    pub trust: String,
}

/// How far it came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// The last step that was reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_step: Option<u64>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_time: Option<Timestamp>,
    /// Median time of a step in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_step_ms: Option<u64>,
    /// Milliseconds from the last report to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalled_for_ms: Option<u64>,
    /// Which probe reads it.
    pub marker: String,
}

/// Whether it stood still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hang {
    /// It did.
    pub detected: bool,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}
