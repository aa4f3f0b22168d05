//! Where to look again once it is known what matters.

use crate::hit::{Position, Stamp};
use crate::time::Timestamp;

/// A part of a stream that is to be looked at line by line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Focus {
    /// Index into the streams.
    pub stream: u32,
    /// Which part.
    pub spot: Spot,
}

/// A part of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    /// Around a byte offset.
    Around(u64),
    /// Lines that were written between two times, by the stream's own clock.
    Between(Timestamp, Timestamp),
    /// Its end.
    End,
}

/// An error-like line that no rule knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownLine {
    /// Where it lies.
    pub at: Position,
    /// Line number from 1.
    pub line_number: u64,
    /// The line, as evidence shows it.
    pub text: String,
    /// Whether the text is cut.
    pub cut: bool,
    /// Its time.
    pub time: Option<Stamp>,
    /// Lines with text behind it, where its stream was looked at to the end.
    pub behind: Option<u32>,
    /// The node that wrote it, if its prefix says so.
    pub node: Option<String>,
}
