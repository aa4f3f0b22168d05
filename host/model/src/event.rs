//! Events: what hits mean.

use std::collections::BTreeMap;

use crate::place::Place;

/// An event as a signature or a rule module states it; count, times and evidence come from the hits that it cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDraft {
    /// Indices of hits, ascending.
    pub hits: Vec<u32>,
    /// Symptom id.
    pub symptom: String,
    /// Replaces or adds to the first hit's place.
    pub place: Place,
    /// Facts as in the plugin interface (`caused_by`, `peer_node`, `before_ms`, `action`, `note`, ...).
    pub facts: BTreeMap<String, String>,
}

/// How an edge of the cause graph is known, the strongest first.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The text says so ("caused by previous Xid 149").
    Stated,
    /// The effect names the peer at which the cause lies.
    NamedPeer,
    /// Both are at one GPU, process, rank or node.
    Place,
    /// The cause came first, and may act anywhere.
    Order,
}

/// A change to the graph that a rule module asks for.
#[expect(clippy::large_enum_variant, reason = "there are few of them, and they are short-lived")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amendment {
    /// `cause` explains `effect` (event numbers).
    Edge {
        /// Event number of the cause.
        cause: u32,
        /// Event number of the effect.
        effect: u32,
        /// How it is known.
        basis: Basis,
        /// For people.
        why: String,
    },
    /// A new event that rests on existing ones.
    Derived {
        /// Event numbers.
        cites: Vec<u32>,
        /// Symptom id.
        symptom: String,
        /// Where.
        place: Place,
        /// Facts.
        facts: BTreeMap<String, String>,
        /// Onset interval in nanoseconds; `None`: of the earliest cited event.
        onset: Option<(i64, i64)>,
    },
    /// A sentence on an event.
    Note {
        /// Event number.
        event: u32,
        /// For people.
        text: String,
    },
    /// The event cannot be a cause.
    Demotion {
        /// Event number.
        event: u32,
        /// For people.
        why: String,
    },
}
