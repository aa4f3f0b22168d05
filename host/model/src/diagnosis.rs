//! The diagnosis document, `firstfault.diagnosis/v1`.
//!
//! Two parts: the [`Finding`] is what the engine concludes from the evidence, digested and reproducible byte for byte; the
//! [`Diagnosis`] is the finding in its envelope. Version 1 only grows. Enumerations are open to consumers: expect names
//! that are not known yet. All numbers are integers below 2^53.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Basis;
use crate::place::PciBusId;
use crate::source::Trust;
use crate::taxonomy::{Domain, ExcludeScope, Owner, Restart, names};
use crate::time::Timestamp;

/// Name of the document's schema.
pub const SCHEMA: &str = "firstfault.diagnosis/v1";

names! {
    /// What is concluded.
    Verdict {
        /// At least one root cause is shown.
        Attributed = "attributed",
        /// A failure is evident, its cause is not.
        Undetermined = "undetermined",
        /// It completed or runs on, and nothing seen is a fault.
        NoFault = "no_fault",
    }
}

names! {
    /// How an attempt ended.
    TerminalState {
        /// Ended by itself with success.
        Completed = "completed",
        /// Ended by itself without success.
        Failed = "failed",
        /// Ended by a person or a program on their behalf.
        Cancelled = "cancelled",
        /// Wall time used up.
        Timeout = "timeout",
        /// A deadline passed.
        Deadline = "deadline",
        /// Gave way to another workload.
        Preempted = "preempted",
        /// Put out by Kubernetes or Kueue.
        Evicted = "evicted",
        /// Deactivated in its queue.
        Deactivated = "deactivated",
        /// The scheduler lost a node.
        NodeFail = "node_fail",
        /// A node did not boot.
        BootFail = "boot_fail",
        /// The scheduler saw it run out of memory.
        OutOfMemory = "out_of_memory",
        /// It could not be launched.
        LaunchFailed = "launch_failed",
        /// It never started.
        NeverStarted = "never_started",
        /// Suspended.
        Suspended = "suspended",
        /// Still running.
        Running = "running",
        /// Not known.
        Unknown = "unknown",
    }
}

names! {
    /// How sure a root cause is; a rule decides, not a number.
    Confidence {
        /// Evidence that could contradict it is missing.
        Suspected = "suspected",
        /// Order and place fit, and the alternatives are covered.
        Probable = "probable",
        /// An explicit link in the text, or direct local evidence with every other node's same source complete.
        Established = "established",
    }
}

names! {
    /// How one root cause stands to the others.
    Relation {
        /// It has effects that the others do not explain, or it is the only one.
        Independent = "independent",
        /// It would explain the same effects as another one.
        Alternative = "alternative",
    }
}

names! {
    /// Why something is not the cause.
    RuledOut {
        /// Another event explains it.
        Explained = "explained",
        /// Not this attempt's node, GPU, process or time.
        OutOfScope = "out_of_scope",
        /// It can only be an effect.
        EffectOnly = "effect_only",
        /// It began after the cause.
        Later = "later",
        /// Harmless.
        Benign = "benign",
        /// A reset or reboot cleared it before the attempt.
        Cleared = "cleared",
        /// The attempt went on for long after it.
        Survived = "survived",
        /// The workload printed it; the log of whom it speaks does not have it, or nobody vouches for it.
        Quoted = "quoted",
    }
}

names! {
    /// Whose matter the failure is, in the coarsest terms.
    FaultClass {
        /// Hardware, node, network, storage, system software.
        Infrastructure = "infrastructure",
        /// The program or its resources.
        Application = "application",
        /// The scheduler.
        Scheduler = "scheduler",
        /// Outside.
        External = "external",
        /// Not known.
        Undetermined = "undetermined",
        /// No fault.
        None = "none",
    }
}

names! {
    /// What to do with an excluded place.
    ExcludeAction {
        /// Let nothing new run there.
        Drain = "drain",
        /// Reset the GPU.
        ResetGpu = "reset_gpu",
        /// Reboot the node.
        Reboot = "reboot",
        /// Have it looked at.
        Inspect = "inspect",
        /// Replace it.
        Replace = "replace",
    }
}

names! {
    /// How complete a source is on the nodes of the attempt.
    CoverageStatus {
        /// Read to its end on every expected node.
        Ok = "ok",
        /// Missing or lossy somewhere.
        Partial = "partial",
        /// Read, and nothing was in it.
        Empty = "empty",
        /// Could not be read.
        Failed = "failed",
        /// Nobody asked for it.
        NotConfigured = "not_configured",
        /// Cannot be seen from here.
        NotObservable = "not_observable",
    }
}

names! {
    /// Whether a revision is the last one.
    RevisionStatus {
        /// More evidence may come.
        Provisional = "provisional",
        /// All evidence that was waited for is in.
        Final = "final",
        /// No more is waited for, and some is missing.
        FinalIncomplete = "final_incomplete",
    }
}

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
    /// Newest first.
    pub previous: Vec<PreviousAttempt>,
}

impl Lineage {
    /// Whether no earlier attempt is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.previous.is_empty()
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

/// A place, flat in the objects that have one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceFields {
    /// As the scheduler names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// GPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuRef>,
    /// Global ranks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
    /// Process id on the host, or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// Switch, mount, server, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// NVLink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkRef>,
    /// Adapter port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<PortRef>,
}

/// A GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuRef {
    /// Index on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// `dddd:bb:dd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_bus_id: Option<PciBusId>,
    /// UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Serial number of the board.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// MIG instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig: Option<String>,
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRef {
    /// `nvlink`, ...
    pub kind: String,
    /// This end.
    pub local: String,
    /// The other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// A port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortRef {
    /// Device (`mlx5_0`) or interface.
    pub device: String,
    /// Port number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// GUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guid: Option<String>,
    /// Switch at its other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// Port of that switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_port: Option<String>,
}

/// When something began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Onset {
    /// Earliest.
    pub from: Timestamp,
    /// Latest; missing if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// `line`, `line_and_context`, `zone_assumed`, `neighbour`, `back_dated`, `record`.
    pub time_source: String,
    /// When it was reported, if that is later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<Timestamp>,
}

/// A cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootCause {
    /// Id in this document.
    pub id: String,
    /// Symptom id (`xid.149`).
    pub symptom: String,
    /// Title of the symptom.
    pub title: String,
    /// Domain.
    pub domain: Domain,
    /// Sub-domain.
    pub sub_domain: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// Why it is not surer, or what makes it sure.
    pub confidence_reason: String,
    /// How it stands to the other root causes.
    pub relation: Relation,
    /// Where.
    #[serde(flatten)]
    pub place: PlaceFields,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onset: Option<Onset>,
    /// How often it was seen.
    pub count: u64,
    /// `exact` or `lower_bound`.
    pub count_is: String,
    /// What it means.
    pub explanation: String,
    /// What to do.
    pub recommended_action: String,
    /// Ids in `evidence`.
    pub evidence: Vec<String>,
    /// Pack and rule that made it.
    pub rule: String,
    /// What it explains: ids in `symptoms`.
    pub explains: Vec<String>,
}

/// Who may be at fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suspect {
    /// Id in this document.
    pub id: String,
    /// Symptom id.
    pub symptom: String,
    /// Title of the symptom.
    pub title: String,
    /// Always `undetermined`.
    pub domain: Domain,
    /// Sub-domain of `undetermined`.
    pub sub_domain: String,
    /// Where.
    #[serde(flatten)]
    pub place: PlaceFields,
    /// Why it is suspected.
    pub why: String,
    /// Ids in `could_change_the_verdict`.
    pub decided_by: Vec<String>,
    /// Ids in `evidence`.
    pub evidence: Vec<String>,
}

/// What caused a group of symptoms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CausedBy {
    /// Id of a root cause or of another symptom group.
    pub id: String,
    /// The rule that declares the edge.
    pub edge: String,
    /// How it is known.
    pub basis: Basis,
}

/// Events of one symptom with one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SymptomGroup {
    /// Id in this document.
    pub id: String,
    /// Symptom id.
    pub symptom: String,
    /// Title of the symptom.
    pub title: String,
    /// `effect`, `either`, `advice`, `cause`.
    pub role: String,
    /// What caused it.
    pub caused_by: Vec<CausedBy>,
    /// As a host list.
    pub nodes: String,
    /// Number of nodes.
    pub node_count: u32,
    /// Global ranks as ranges.
    pub ranks: String,
    /// Number of ranks.
    pub rank_count: u32,
    /// How many lines.
    pub count: u64,
    /// Earliest onset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// Latest onset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// First and last time of report, where that is later than the onset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<Reported>,
    /// What the lines themselves say (advice, stated cause).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// At most 8 ids in `evidence`.
    pub evidence: Vec<String>,
}

/// When effects were reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reported {
    /// First report.
    pub first: Timestamp,
    /// Last report.
    pub last: Timestamp,
}

/// Something that is not the cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuledOutEntry {
    /// Id in this document.
    pub id: String,
    /// Symptom id.
    pub symptom: String,
    /// Why.
    pub why: RuledOut,
    /// Id of what rules it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Where.
    #[serde(flatten)]
    pub place: PlaceFields,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// How many lines.
    pub count: u64,
    /// Ids in `evidence`.
    pub evidence: Vec<String>,
}

/// Something seen that neither caused nor followed from the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextEntry {
    /// Id in this document.
    pub id: String,
    /// Symptom id.
    pub symptom: String,
    /// Title of the symptom.
    pub title: String,
    /// As a host list.
    pub nodes: String,
    /// How many lines.
    pub count: u64,
    /// When first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
}

/// What a root cause blames.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Responsible {
    /// Nodes.
    pub nodes: Vec<String>,
    /// GPUs as `node/dddd:bb:dd`.
    pub gpus: Vec<String>,
    /// Ports as `node/device:number`.
    pub ports: Vec<String>,
    /// Switches.
    pub switches: Vec<String>,
}

/// Who suffered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Affected {
    /// Number of nodes.
    pub node_count: u32,
    /// Number of ranks.
    pub rank_count: u32,
    /// As a host list.
    pub nodes: String,
    /// As ranges.
    pub ranks: String,
}

/// What a machine may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Whose matter it is.
    pub fault_class: FaultClass,
    /// Who acts.
    pub owner: Owner,
    /// Whether to restart.
    pub restart: RestartDecision,
    /// What to avoid.
    pub exclude: Vec<Exclude>,
}

/// Whether to restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestartDecision {
    /// Advice.
    pub advice: Restart,
    /// How many attempts in a row had this root cause.
    pub same_root_attempts: u32,
    /// Why.
    pub reason: String,
}

/// A place to avoid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exclude {
    /// What kind of place.
    pub scope: ExcludeScope,
    /// Its name: node, `dddd:bb:dd`, port, switch.
    pub id: String,
    /// The node it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What to do with it.
    pub action: ExcludeAction,
    /// `xid_154`, `catalogue` or `pack`: where the action comes from.
    pub action_source: String,
    /// Whether a machine may act on it without a person.
    pub actionable: bool,
    /// What is missing for that.
    pub blocked_by: Vec<String>,
    /// How long it holds.
    pub valid_while: ValidWhile,
}

/// How long an exclusion holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValidWhile {
    /// While the node's boot id is this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// In words: `gpu_reset`, `reboot`, `repair`.
    pub until: String,
}

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
    /// How it is known.
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
