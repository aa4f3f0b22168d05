//! What goes into the store and comes out of it.

use crate::bind::Identity;

/// A report of a hook or a client: there is something to diagnose.
#[derive(Debug, Clone)]
pub struct NewReport {
    /// Which attempt.
    pub identity: Identity,
    /// What is to be diagnosed, opaque to the store.
    pub body: String,
    /// Who sent it.
    pub submitter: String,
    /// Whose workload it is.
    pub owner: Option<String>,
    /// Whether the operator vouches for the sender: it decides whose workload it is, and puts out what others sent.
    pub trusted: bool,
    /// Milliseconds to wait for more before it is due; none: it is kept, and due when somebody asks.
    pub due_in: Option<i64>,
    /// Whether it brings what an attempt that is diagnosed already has to be looked at again for.
    pub news: bool,
}

/// A report was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Its diagnosis.
    pub entry: Entry,
    /// Whether this is the first report of it.
    pub created: bool,
}

/// Why a report was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is somebody else's workload.
    #[error("this attempt is of another user")]
    NotYours,
    /// One attempt has reports without end.
    #[error("this attempt has {0} reports already")]
    TooMany(u32),
}

/// Where a diagnosis is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Filled by a session; nobody has asked yet.
    Open,
    /// In the queue.
    Accepted,
    /// In work.
    Leased,
    /// Made.
    Done,
    /// Given up, with a reason.
    Parked,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Open, Self::Accepted, Self::Leased, Self::Done, Self::Parked];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Accepted => "accepted",
            Self::Leased => "leased",
            Self::Done => "done",
            Self::Parked => "parked",
        }
    }

    /// By its name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// Whether a revision is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// More may come.
    Provisional,
    /// The last.
    Final,
    /// The last, though something is missing.
    FinalIncomplete,
}

impl Status {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Provisional => "provisional",
            Self::Final => "final",
            Self::FinalIncomplete => "final_incomplete",
        }
    }

    /// By its name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Provisional, Self::Final, Self::FinalIncomplete].into_iter().find(|s| s.name() == name)
    }
}

/// What is known of a diagnosis besides its documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Position in the list; the newest has the largest.
    pub seq: i64,
    /// Id.
    pub id: String,
    /// Which attempt.
    pub identity: Identity,
    /// Whose workload, if known.
    pub owner: Option<String>,
    /// Who reported it first.
    pub submitter: String,
    /// State.
    pub state: State,
    /// How often it was cut off in a row.
    pub cuts: u32,
    /// Why it is parked, or was put off.
    pub reason: Option<String>,
    /// When it was first heard of.
    pub created: i64,
    /// When something last changed.
    pub updated: i64,
    /// When it is due.
    pub due: Option<i64>,
    /// Number of the newest revision; 0: none.
    pub revision: u32,
    /// Status of the newest revision.
    pub status: Option<Status>,
    /// How much came in, and how much of it the newest revision has seen.
    pub wanted: u64,
    /// See `wanted`.
    pub seen: u64,
    /// Verdict of the newest revision.
    pub verdict: Option<String>,
    /// Summary of the newest revision.
    pub summary: Option<String>,
}

/// A lease: who holds what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The diagnosis.
    pub id: String,
    /// The holder.
    pub holder: String,
    /// What had come in when it was taken.
    pub wanted: u64,
}

/// A diagnosis to make.
#[derive(Debug, Clone)]
pub struct Leased {
    /// The lease.
    pub lease: Lease,
    /// What is known of it.
    pub entry: Entry,
    /// Bodies of its reports with who sent them and whether the operator vouches for them, in an order that does not depend
    /// on when they came.
    pub reports: Vec<(String, String, bool)>,
}

/// A revision, ready to be kept.
#[derive(Debug, Clone)]
pub struct Revised {
    /// Status.
    pub status: Status,
    /// The document, JSON.
    pub document: String,
    /// Digest of the finding.
    pub digest: String,
    /// Verdict.
    pub verdict: String,
    /// The answer in a sentence.
    pub summary: String,
    /// Nodes that are blamed, each with the symptom.
    pub nodes: Vec<(String, String)>,
    /// When the workload ended, or the revision was made.
    pub at: i64,
    /// When the next one is due.
    pub next: Option<i64>,
}

/// What came of a lease.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A revision.
    Revised(Box<Revised>),
    /// It was cut off, by a panic or a deadline: again at the time, or parked if that happened too often.
    Cut {
        /// Why.
        reason: String,
        /// When to try again.
        again: i64,
    },
    /// It can never be made as it was asked.
    Parked {
        /// Why.
        reason: String,
    },
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Number of the revision.
    pub revision: u32,
    /// Status.
    pub status: Status,
    /// Digest of the finding.
    pub digest: String,
    /// JSON.
    pub text: String,
}

/// Which diagnoses to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only of this owner or submitter.
    pub reader: Option<String>,
    /// Only in this state.
    pub state: Option<State>,
    /// Only of this cluster.
    pub cluster: Option<String>,
    /// Only of this raw id.
    pub workload: Option<String>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next page begins, if there is one.
    pub next: Option<i64>,
}

/// A node was blamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEvent {
    /// Position in the list.
    pub seq: i64,
    /// The diagnosis.
    pub diagnosis: String,
    /// Its workload.
    pub workload: String,
    /// Whose workload.
    pub owner: Option<String>,
    /// The symptom of the root cause.
    pub symptom: String,
    /// When the workload ended.
    pub at: i64,
}

/// A push session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Id.
    pub id: String,
    /// Its diagnosis.
    pub diagnosis: String,
    /// Who opened it.
    pub owner: String,
    /// Most bytes of observations that it takes.
    pub most_bytes: u64,
    /// Bytes that it has.
    pub bytes: u64,
    /// Observations that it has.
    pub count: u64,
}

/// An observation.
#[derive(Debug, Clone)]
pub struct NewObservation {
    /// Session.
    pub session: String,
    /// Tells it from others of the session; the same again is the same observation.
    pub id: String,
    /// What was observed, opaque to the store.
    pub body: Vec<u8>,
    /// Milliseconds after which its diagnosis is due; none: when somebody asks.
    pub due_in: Option<i64>,
}

/// What became of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// It is kept.
    Kept,
    /// It was there already.
    Known,
    /// The session takes no more bytes.
    TooMuch,
    /// There is no such session.
    NoSession,
}

/// How much of what there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Diagnoses by the name of their state.
    pub states: Vec<(&'static str, u64)>,
    /// When what is longest due in the queue was due.
    pub oldest_due: Option<i64>,
    /// Bytes of the database.
    pub bytes: u64,
}

/// How long and how much is kept.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Milliseconds after the last change.
    pub age: i64,
    /// Bytes of the database.
    pub bytes: u64,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// Diagnoses that were too old.
    pub old: u64,
    /// Diagnoses that were too much.
    pub much: u64,
}
