//! Root causes, suspects, symptoms, and what is neither.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Confidence, PlaceFields, Relation, RuledOut};
use crate::event::Basis;
use crate::taxonomy::Domain;
use crate::time::Timestamp;

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
