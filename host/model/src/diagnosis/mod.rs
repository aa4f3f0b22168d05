//! The diagnosis document, `firstfault.diagnosis/v1`.
//!
//! Two parts: the [`Finding`] is what the engine concludes from the evidence, digested and reproducible byte for byte; the
//! [`Diagnosis`] is the finding in its envelope. Version 1 only grows. Enumerations are open to consumers: expect names
//! that are not known yet. All numbers are integers below 2^53.

mod cause;
mod decision;
mod evidence;
mod place;
mod terms;
mod workload;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cause::{CausedBy, ContextEntry, Onset, Reported, RootCause, RuledOutEntry, Suspect, SymptomGroup};
pub use decision::{Decision, Exclude, RestartDecision, ValidWhile};
pub use evidence::{Clock, Coverage, Evidence, LimitReached, Missing, NotRead, Unrecognised, Window};
pub use place::{Affected, GpuRef, LinkRef, PlaceFields, PortRef, Responsible};
pub use terms::{
    Confidence, CoverageStatus, ExcludeAction, FaultClass, Relation, RevisionStatus, RuledOut, TerminalState,
    Verdict,
};
pub use workload::{Exit, Hang, Lineage, PreviousAttempt, Progress, Terminal, Workload};

use crate::time::Timestamp;

/// Name of the document's schema.
pub const SCHEMA: &str = "firstfault.diagnosis/v1";

/// A diagnosis: the finding in its envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// `firstfault.diagnosis/v1`.
    pub schema: String,
    /// Names this diagnosis; equal evidence and rules give an equal id.
    pub id: String,
    /// Which revision this is.
    pub revision: Revision,
    /// What the engine concluded.
    #[serde(flatten)]
    pub finding: Finding,
    /// Digests of what went in and of what came out.
    pub provenance: Provenance,
}

/// Which revision a diagnosis is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// From 1.
    pub number: u32,
    /// Whether it is the last one.
    pub status: RevisionStatus,
    /// Id of the revision that it replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// What changed since then, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// When the next one is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
}

/// What the engine concluded from the evidence. Its canonical JSON is digested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The verdict; `attributed` exactly when `root_causes` is not empty.
    pub verdict: Verdict,
    /// The answer in one sentence.
    pub summary: String,
    /// What ran.
    pub workload: Workload,
    /// Earlier attempts.
    #[serde(default, skip_serializing_if = "Lineage::is_empty")]
    pub lineage: Lineage,
    /// How it ended, in short.
    pub terminal_state: TerminalState,
    /// How it ended.
    pub terminal: Terminal,
    /// How far it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Whether it stood still before it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hang: Option<Hang>,
    /// The most responsible first; empty unless attributed.
    pub root_causes: Vec<RootCause>,
    /// Who may be at fault when nothing shows it.
    pub suspects: Vec<Suspect>,
    /// Effects, one entry for each (symptom, cause, basis).
    pub symptoms: Vec<SymptomGroup>,
    /// What was looked at and is not the cause.
    pub ruled_out: Vec<RuledOutEntry>,
    /// Ids of events that neither caused nor followed from the end.
    pub context: Vec<ContextEntry>,
    /// What a root cause blames; empty for application, resource, scheduler and external faults.
    pub responsible: Responsible,
    /// Who suffered; never a reason to exclude.
    pub affected: Affected,
    /// What a machine may do.
    pub decision: Decision,
    /// The lines that the rest refers to.
    pub evidence: Vec<Evidence>,
    /// What was seen and what was not.
    pub coverage: Vec<Coverage>,
    /// What is missing, and which verdict it could change.
    pub could_change_the_verdict: Vec<Missing>,
    /// Error-like lines near the onset that no rule knows.
    pub unrecognised: Vec<Unrecognised>,
    /// Limits that were reached.
    pub limits: Vec<LimitReached>,
    /// Clock offsets of nodes.
    pub clocks: Vec<Clock>,
    /// Files that were given and not read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<NotRead>,
}

/// Digests of what went in and came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Version of the engine.
    pub engine: String,
    /// Digest of all rules: packs, modules and their order.
    pub rules_generation: String,
    /// The packs.
    pub packs: Vec<PackRef>,
    /// The plugins that ran.
    pub plugins: Vec<PluginRef>,
    /// Digest of the canonical evidence.
    pub evidence_digest: String,
    /// Digest of the finding's canonical JSON.
    pub diagnosis_digest: String,
}

/// A pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackRef {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Digest of its text.
    pub digest: String,
    /// What it takes the place of: shipped packs and rows of their tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
}

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PluginRef {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Digest of its component.
    pub digest: String,
    /// `ok`, or what failed: `trap`, `out_of_fuel`, `deadline`, `limit`, `malformed`, `error`, `refused`.
    pub status: String,
    /// What failed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Open facts.
pub type Facts = BTreeMap<String, String>;

/// The JSON Schema of the diagnosis document.
#[must_use]
pub fn diagnosis_schema() -> serde_json::Value {
    schemars::schema_for!(Diagnosis).to_value()
}

/// The JSON Schema of the context document.
#[must_use]
pub fn context_schema() -> serde_json::Value {
    schemars::schema_for!(crate::context::ContextDocument).to_value()
}
