//! The words that all of firstfault shares: times, places, contexts, hits, events, and the diagnosis document.
//!
//! Nothing here does I/O, and nothing depends on the machine it runs on.

pub mod canonical;
pub mod context;
pub mod diagnosis;
pub mod event;
pub mod focus;
pub mod hit;
pub mod place;
pub mod ranges;
pub mod source;
pub mod stream;
pub mod taxonomy;
pub mod time;
