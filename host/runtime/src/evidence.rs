//! What a rule module may ask: the tables of the active packs, and the evidence gathered so far.

/// Rows of tables.
pub trait Tables: Send + Sync {
    /// The columns of a row by its key; `None` if there is no such table or row.
    fn lookup(&self, table: &str, key: &str) -> Option<Vec<(String, String)>>;
}

/// No tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTables;

impl Tables for NoTables {
    fn lookup(&self, _: &str, _: &str) -> Option<Vec<(String, String)>> {
        None
    }
}

/// Events of one symptom that differ only in their place and time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewGroup {
    /// Handle for [`View::events`] and [`View::ranks`].
    pub id: u32,
    /// Symptom id.
    pub symptom: String,
    /// The facts that all its events share.
    pub facts: Vec<(String, String)>,
    /// Sum of the events' counts.
    pub count: u64,
    /// How many events.
    pub events: u32,
    /// Earliest onset in nanoseconds.
    pub first: Option<i64>,
    /// Latest onset in nanoseconds.
    pub last: Option<i64>,
}

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewEvent {
    /// The number that amendments cite it by.
    pub id: u32,
    /// Symptom id.
    pub symptom: String,
    /// Its place under the names of the plugin interface.
    pub place: Vec<(String, String)>,
    /// Its facts.
    pub facts: Vec<(String, String)>,
    /// How often it was seen.
    pub count: u64,
    /// Start of the onset interval in nanoseconds.
    pub onset_from: Option<i64>,
    /// End of the onset interval in nanoseconds.
    pub onset_to: Option<i64>,
}

/// Coverage of one source on one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewCoverage {
    /// Source.
    pub source: String,
    /// Node.
    pub node: String,
    /// `complete`, `partial` or `missing`.
    pub status: String,
    /// Lines read.
    pub lines: u64,
}

/// Read-only queries over the evidence. Answers must be sorted and depend on the evidence alone. Limits on the number of
/// entries in one answer are applied by the caller before it asks.
pub trait View: Send + Sync {
    /// Groups of a symptom; `*` at the end is a wildcard.
    fn groups(&self, symptom: &str, offset: u32, limit: u32) -> Vec<ViewGroup>;
    /// Events of a group in canonical order; empty for a group that does not exist.
    fn events(&self, group: u32, offset: u32, limit: u32) -> Vec<ViewEvent>;
    /// Inclusive ranges of the global ranks of a group's events.
    fn ranks(&self, group: u32) -> Vec<(u32, u32)>;
    /// Inclusive ranges of all ranks of the attempt that are known.
    fn all_ranks(&self) -> Vec<(u32, u32)>;
    /// The node that a rank ran on.
    fn node_of(&self, rank: u32) -> Option<String>;
    /// Coverage of a source, by node in the context's order.
    fn coverage_of(&self, source: &str, offset: u32, limit: u32) -> Vec<ViewCoverage>;
    /// A scalar of the context.
    fn context(&self, key: &str) -> Option<String>;
}
