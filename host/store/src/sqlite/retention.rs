//! What is removed: what is too old, then the oldest of what is too much. Only what is done.

use rusqlite::{Transaction, params};

use super::reading::bytes;
use crate::{Policy, Removed, StoreError};

/// Removed at a time when the database is too large.
const STEP: u32 = 100;

pub(super) fn retain(t: &Transaction<'_>, policy: &Policy, now: i64) -> Result<Removed, StoreError> {
    let old = t.execute(
        "DELETE FROM diagnosis WHERE state IN ('done', 'parked', 'open') AND updated < ?1",
        params![now.saturating_sub(policy.age)],
    )?;
    let mut much = 0;
    while bytes(t)? > policy.bytes {
        let removed = t.execute(
            "DELETE FROM diagnosis WHERE seq IN
                (SELECT seq FROM diagnosis WHERE state IN ('done', 'parked', 'open') ORDER BY updated, seq LIMIT ?1)",
            [STEP],
        )?;
        if removed == 0 {
            break;
        }
        much += removed;
    }
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    Ok(Removed { old: count(old), much: count(much) })
}
