//! From bytes to hits.
//!
//! Streams are read in fixed chunks by several threads; one packed search over each chunk finds the few lines that some rule may
//! want; only on those are prefixes peeled and patterns tried; what matches is collapsed by place and key. The result
//! depends on the bytes alone: not on the number of threads, the order of the inputs, or the borders of chunks within a
//! line's neighbourhood.

pub mod block;
pub mod bug_report;
pub mod bytes;
pub mod clock;
pub mod collapse;
pub mod container;
pub mod glued;
mod input;
pub mod journal;
pub mod kept;
pub mod known;
pub mod locate;
pub mod numbered;
pub mod prefix;
pub mod probe;
pub mod read;
pub mod recognise;
pub mod scan;
pub mod segment;
pub mod stamp;
pub mod unknown;

pub use input::{Input, Part};
pub use read::{ReaderLimits, Reading, read};
pub use unknown::{Before, unknown_lines};
