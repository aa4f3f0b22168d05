//! Hits: lines that a signature matched.

use std::collections::BTreeMap;

use crate::place::Place;
use crate::time::Timestamp;

/// Where a line lies. Streams are numbered in canonical order, so the derived order is the canonical one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Index into the streams.
    pub stream: u32,
    /// Byte offset in the stream (after decompression, rotated siblings joined).
    pub offset: u64,
}

/// How a line's time is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeSource {
    /// The line's own stamp with its own zone.
    Line,
    /// The line's own stamp, its zone or year taken from the context or from the attempt's end.
    LineAndContext,
    /// The line's own stamp, its zone a guess.
    ZoneAssumed,
    /// The nearest earlier stamped line of the stream.
    Neighbour,
    /// The same, and the zone of that line is a guess.
    NeighbourAssumed,
    /// A detector's stamp less the time that it says it waited.
    BackDated,
    /// A scheduler's record.
    Record,
}

impl TimeSource {
    /// Whether the line has no time of its own.
    #[must_use]
    pub const fn is_neighbour(self) -> bool {
        matches!(self, Self::Neighbour | Self::NeighbourAssumed)
    }

    /// Whether the zone is a guess.
    #[must_use]
    pub const fn is_assumed(self) -> bool {
        matches!(self, Self::ZoneAssumed | Self::NeighbourAssumed)
    }

    /// The name in the diagnosis.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::LineAndContext => "line_and_context",
            Self::ZoneAssumed => "zone_assumed",
            Self::Neighbour => "neighbour",
            Self::NeighbourAssumed => "neighbour_zone_assumed",
            Self::BackDated => "back_dated",
            Self::Record => "record",
        }
    }
}

/// A line's time with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// The best single value.
    pub time: Timestamp,
    /// It lies within this many nanoseconds on either side, by the clock of its node.
    pub uncertainty: i64,
    /// How it is known.
    pub source: TimeSource,
}

/// Lines that one signature matched at one place with equal keys, collapsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Index of the signature in the compiled rules.
    pub signature: u32,
    /// The first such line.
    pub first: Position,
    /// The last such line.
    pub last: Position,
    /// How many lines.
    pub count: u64,
    /// Where.
    pub place: Place,
    /// Named captures of the first line.
    pub captures: BTreeMap<String, String>,
    /// The first line (or block), redacted, at most 8 KiB around the match, invalid bytes as U+FFFD.
    pub text: String,
    /// Whether `text` is cut.
    pub cut: bool,
    /// Line number of the first line, from 1.
    pub line_number: u64,
    /// Whether its prefix says that the kernel wrote it.
    pub kernel: bool,
    /// The first line has no time of its own: it was written before this.
    pub not_after: Option<Stamp>,
    /// Time of the first line.
    pub first_time: Option<Stamp>,
    /// Time of the last line.
    pub last_time: Option<Stamp>,
}

/// A line that a probe reads: how far the workload came, or that it finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressMark {
    /// `pack/probe`.
    pub probe: String,
    /// Whether it says that the workload finished.
    pub completion: bool,
    /// Where it lies.
    pub at: Position,
    /// The step, if the line tells it.
    pub step: Option<u64>,
    /// Milliseconds of a step, as the line tells it or as the gap to the mark before.
    pub step_ms: Option<u64>,
    /// Its time.
    pub time: Option<Stamp>,
}
