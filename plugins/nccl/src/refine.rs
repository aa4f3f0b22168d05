//! The module's look at the whole.

use firstfault_plugin::{Amendment, View};

use crate::{mismatch, silent, timeouts};

/// Most amendments that one answer may hold.
const MOST: usize = 4096;

/// Mismatches first: they say more than silence.
#[must_use]
pub fn amendments(view: &dyn View) -> Vec<Amendment> {
    let timeouts = timeouts::of(view);
    if timeouts.is_empty() {
        return Vec::new();
    }
    let mut amendments = mismatch::derive(view, &timeouts);
    amendments.extend(silent::derive(view, &timeouts));
    amendments.truncate(MOST);
    amendments
}
