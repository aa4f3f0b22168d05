//! The module's look at the whole.

use firstfault_plugin::{Amendment, View};

use crate::{mismatch, silent, timeouts};

/// Most amendments that one answer may hold.
const MOST: usize = 4096;

/// Mismatches first: they say more than silence. All follows from the time-outs, and no round adds any: what an earlier
/// round named is all that there is.
#[must_use]
pub fn amendments(view: &dyn View) -> Vec<Amendment> {
    if [mismatch::SYMPTOM, silent::SYMPTOM].into_iter().any(|symptom| !view.groups(symptom).is_empty()) {
        return Vec::new();
    }
    let waiting = timeouts::of(view);
    if waiting.is_empty() {
        return Vec::new();
    }
    let mut amendments = mismatch::derive(view, &waiting);
    amendments.extend(silent::derive(view, &waiting));
    amendments.truncate(MOST);
    amendments
}

#[cfg(test)]
mod tests {
    use firstfault_plugin::testing::MemoryView;

    use super::*;

    #[test]
    fn a_rank_in_another_collective_and_a_silent_one_are_named_once() {
        let mut view = MemoryView::new().ranks_on("a", 0..16);
        for rank in (0..16).filter(|rank| *rank != 3) {
            let numel = if rank == 5 { "1" } else { "64" };
            let facts = [("seq", "7"), ("op", "ALLREDUCE"), ("numel_in", numel)];
            view = view.event("nccl.watchdog_timeout", &[("rank", &rank.to_string())], &facts, Some((1, 2)));
        }
        let symptoms: Vec<String> = amendments(&view)
            .into_iter()
            .map(|amendment| match amendment {
                Amendment::Derived(derived) => derived.symptom,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(symptoms, [mismatch::SYMPTOM, silent::SYMPTOM]);
        let again = view.event(silent::SYMPTOM, &[("rank", "3")], &[], None);
        assert_eq!(amendments(&again), []);
        assert_eq!(amendments(&MemoryView::new()), []);
    }
}
