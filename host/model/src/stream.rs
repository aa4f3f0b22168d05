//! Streams: the ordered lines of one source at one place.

use crate::source::{Source, Trust};

/// What is known of a stream before it is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamName {
    /// What kind of record it is.
    pub source: Source,
    /// The node it belongs to, if the collector knows.
    pub node: Option<String>,
    /// Its name relative to what was given; shown to people.
    pub name: String,
    /// Global rank, if the whole stream is one rank's.
    pub rank: Option<u32>,
}

/// A stream after reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Where it belongs.
    pub name: StreamName,
    /// How far it can be believed.
    pub trust: Trust,
    /// Counts of what was read.
    pub stats: StreamStats,
}

/// What was read of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Lines, a last one without a line end included.
    pub lines: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Lines that some signature matched.
    pub matched: u64,
    /// Hits beyond the cap, counted and not kept.
    pub dropped: u64,
    /// Notices that lines are missing: rate limits, repeats, runs of NUL, files that the numbers of others leave out.
    pub loss_markers: u64,
    /// Earliest time seen in the stream, as sampled at its start and at its hits.
    pub first: Option<crate::time::Timestamp>,
    /// Latest time seen, as sampled at its end and at its hits.
    pub last: Option<crate::time::Timestamp>,
    /// Whether the zone of `last` is a guess.
    pub last_assumed: bool,
    /// Whether some line is the kernel's by its prefix.
    pub kernel_lines: bool,
    /// Lines behind the last stamp.
    pub behind_last: u32,
    /// Why it could not be read to its end.
    pub error: Option<String>,
}
