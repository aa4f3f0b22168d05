//! What a machine may do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ExcludeAction, FaultClass};
use crate::taxonomy::{ExcludeScope, Owner, Restart};

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
