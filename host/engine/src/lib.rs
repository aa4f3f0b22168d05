//! The engine: pure, staged, deterministic. No I/O, no clock, no randomness, no floats, no hash order.
//!
//! ```text
//! case ── plan ──> host events + batches for rule modules
//!      ── Graph::new(events) ──> places, onsets, scope, cause edges
//!      ── Graph::amend(amendments) ──> the same, amended (at most three rounds)
//!      ── judge ──> verdict, and the parts of streams to look at again (focus)
//!      ── conclude ──> finding
//! ```
//! Between the stages the host runs the rule modules and reads; the engine knows nothing of how.

pub mod attempts;
pub mod case;
pub mod clocks;
pub mod conclude;
pub mod confidence;
pub mod coverage;
pub mod cycles;
pub mod decision;
pub mod digest;
pub mod document;
pub mod doubts;
pub mod edges;
pub mod event;
pub mod evidence;
pub mod focus;
pub mod graph;
pub mod missing;
pub mod order;
pub mod plan;
pub mod processes;
pub mod progress;
pub mod ranks;
pub mod recovery;
pub mod roots;
pub mod scope;
pub mod shared;
pub mod summary;
pub mod suspects;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod verdicts;
pub mod view;

pub use case::Case;
pub use conclude::{Judged, conclude, judge};
pub use focus::focus;
pub use graph::Graph;
pub use plan::{Batch, ExtractPlan, plan};

/// Version of the engine, part of every diagnosis.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
