//! The one place where the daemon reads the machine's clock. What it reads decides when things are done, never what is found.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "queue, schedule and retention go by the machine's clock")]
pub(crate) fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Milliseconds as a time of the documents.
pub(crate) fn timestamp(millis: i64) -> firstfault_model::time::Timestamp {
    firstfault_model::time::Timestamp(millis.saturating_mul(1_000_000))
}
