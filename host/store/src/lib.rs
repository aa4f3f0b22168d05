//! What the daemon keeps, so that nothing that it has accepted is lost.
//!
//! [`Store`] is the contract, [`SqliteStore`] keeps it in one file on one machine; a networked database can keep it for several
//! daemons. The state of a diagnosis and what may follow:
//!
//! ```text
//! open ──ask──> accepted ──lease──> leased ──complete──> done ──(a revision is due, or news came)──> accepted
//!                  ^                   │
//!                  └── release, cut ───┴── cut three times, or it can never be made ──> parked ──retry──> accepted
//! ```
//!
//! Requests and documents are opaque here: text in, the same text out. Times are milliseconds since 1970 and always given by the
//! caller, so that tests need no clock.

mod bind;
mod document;
mod error;
mod sqlite;
mod types;

pub use bind::{Identity, Known};
pub use error::StoreError;
pub use sqlite::SqliteStore;
pub use types::{
    Accepted, Counts, Document, Entry, Filter, Lease, Leased, NewObservation, NewReport, NodeEvent, Observed,
    Outcome, Page, Policy, Refusal, Removed, Revised, Session, State, Status,
};

/// How often a diagnosis may be cut off before it is parked.
pub const MOST_CUTS: u32 = 3;

/// What the daemon keeps. Each call is one transaction: when it returns, what it did outlives a crash.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Takes reports, each bound to the diagnosis of its workload's attempt; reports of one attempt merge, those of two never do.
    /// The answers are in the order of the reports.
    ///
    /// # Errors
    /// Nothing of it is kept.
    fn accept(&self, reports: &[NewReport], now: i64) -> Result<Vec<Result<Accepted, Refusal>>, StoreError>;

    /// Asks that a diagnosis be made of all that is there by now; does nothing if it was. False: there is no such diagnosis.
    ///
    /// # Errors
    /// Nothing of it is kept.
    fn ask(&self, id: &str, now: i64) -> Result<bool, StoreError>;

    /// Takes the diagnosis that has been due longest, for a holder.
    ///
    /// # Errors
    /// Nothing is taken.
    fn lease(&self, holder: &str, now: i64) -> Result<Option<Leased>, StoreError>;

    /// Ends a lease with what came of it. False: the lease is no longer held, and nothing is kept.
    ///
    /// # Errors
    /// Nothing of it is kept, and the lease is still held.
    fn complete(&self, lease: &Lease, outcome: &Outcome, now: i64) -> Result<bool, StoreError>;

    /// Gives back what a holder has, as if it had never been taken. How much that was.
    ///
    /// # Errors
    /// Nothing is given back.
    fn release(&self, holder: &str, now: i64) -> Result<u64, StoreError>;

    /// Takes away what holders other than this one have: they are no more. What was cut off [`MOST_CUTS`] times is parked.
    ///
    /// # Errors
    /// Nothing is taken away.
    fn recover(&self, holder: &str, now: i64) -> Result<u64, StoreError>;

    /// Runs again what is parked or done. False: there is no such diagnosis, or it is in work.
    ///
    /// # Errors
    /// Nothing of it is kept.
    fn retry(&self, id: &str, now: i64) -> Result<bool, StoreError>;

    /// What is known of a diagnosis.
    ///
    /// # Errors
    /// The store cannot be read.
    fn entry(&self, id: &str) -> Result<Option<Entry>, StoreError>;

    /// Diagnoses, the newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn list(&self, filter: &Filter, before: Option<i64>, limit: u32) -> Result<Page<Entry>, StoreError>;

    /// A document: the revision of this number, or the newest.
    ///
    /// # Errors
    /// The store cannot be read.
    fn document(&self, id: &str, revision: Option<u32>) -> Result<Option<Document>, StoreError>;

    /// What a node was blamed for, the newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn history(&self, node: &str, before: Option<i64>, limit: u32) -> Result<Page<NodeEvent>, StoreError>;

    /// Opens a session whose observations belong to a diagnosis.
    ///
    /// # Errors
    /// Nothing of it is kept.
    fn open_session(&self, session: &Session, now: i64) -> Result<(), StoreError>;

    /// A session.
    ///
    /// # Errors
    /// The store cannot be read.
    fn session(&self, id: &str) -> Result<Option<Session>, StoreError>;

    /// Takes observations; one whose id the session has already is kept once. The answers are in their order.
    ///
    /// # Errors
    /// Nothing of it is kept.
    fn observe(&self, observations: &[NewObservation], now: i64) -> Result<Vec<Observed>, StoreError>;

    /// Shows all observations for a diagnosis, in the order of their ids.
    ///
    /// # Errors
    /// The store cannot be read.
    fn observations(&self, diagnosis: &str, each: &mut dyn FnMut(&str, &[u8])) -> Result<(), StoreError>;

    /// How much of what there is.
    ///
    /// # Errors
    /// The store cannot be read.
    fn counts(&self) -> Result<Counts, StoreError>;

    /// Removes what is too old, and the oldest of what is too much. What is not done is never removed.
    ///
    /// # Errors
    /// Nothing is removed.
    fn retain(&self, policy: &Policy, now: i64) -> Result<Removed, StoreError>;
}
