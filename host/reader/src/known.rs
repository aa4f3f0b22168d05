//! Lines that were looked at before.
//!
//! Logs repeat themselves: nearly all lines of a healthy run differ from an earlier one in digits alone. No anchor has a
//! digit in it, so a line that equals an anchor-free line but for digits has no anchor either, and need not be searched.
//! Comparing costs a fraction of searching. What is remembered decides how fast lines are passed over, never which.

use std::cell::RefCell;

/// Sets of remembered lines; a power of two.
const SETS: usize = 128;
/// Lines of a set.
const WAYS: usize = 2;
/// Shorter lines are searched as fast as they are compared.
const SHORTEST: usize = 24;
/// Longer lines are not worth remembering.
const LONGEST: usize = 4096;

/// Anchor-free lines by their shape.
#[derive(Debug)]
pub struct Known {
    lines: Vec<Vec<u8>>,
    /// Which matcher they were searched with.
    owner: usize,
    turn: usize,
}

thread_local! {
    static KNOWN: RefCell<Known> = const { RefCell::new(Known { lines: Vec::new(), owner: 0, turn: 0 }) };
}

/// Works with this thread's memory, which is forgotten when `owner` changes.
pub fn with<T>(owner: usize, work: impl FnOnce(&mut Known) -> T) -> T {
    KNOWN.with_borrow_mut(|known| {
        if known.owner != owner || known.lines.is_empty() {
            known.lines.clear();
            known.lines.resize(SETS * WAYS, Vec::new());
            known.owner = owner;
        }
        work(known)
    })
}

impl Known {
    /// Whether the line equals a remembered one but for digits.
    #[must_use]
    pub fn has(&self, line: &[u8]) -> bool {
        if line.len() < SHORTEST || line.len() > LONGEST {
            return false;
        }
        let set = shape(line) * WAYS;
        self.lines
            .get(set..set + WAYS)
            .is_some_and(|ways| ways.iter().any(|known| equal_but_for_digits(known, line)))
    }

    /// Remembers an anchor-free line.
    pub fn learn(&mut self, line: &[u8]) {
        if line.len() < SHORTEST || line.len() > LONGEST {
            return;
        }
        self.turn = (self.turn + 1) % WAYS;
        let slot = shape(line) * WAYS + self.turn;
        if let Some(known) = self.lines.get_mut(slot) {
            known.clear();
            known.extend_from_slice(line);
        }
    }
}

/// A set for the line: from its length and a few of its bytes that are no digits.
fn shape(line: &[u8]) -> usize {
    let masked = |at: usize| {
        let byte = line.get(at).copied().unwrap_or(0);
        usize::from(if byte.is_ascii_digit() { b'0' } else { byte })
    };
    let end = line.len();
    let hash = end ^ (masked(end / 2) << 8) ^ (masked(end / 4) << 15) ^ (masked(end - end / 8) << 22);
    (hash.wrapping_mul(0x9e37_79b9) >> 20) % SETS
}

/// Whether two lines are equal where they are not both digits.
fn equal_but_for_digits(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let (a_blocks, a_rest) = a.as_chunks::<32>();
    let (b_blocks, b_rest) = b.as_chunks::<32>();
    a_blocks.iter().zip(b_blocks).all(|(x, y)| differences(x, y) == 0) && differences(a_rest, b_rest) == 0
}

/// Non-zero if some byte differs and the two are not digits. Written so that it compiles to vector instructions.
#[inline]
fn differences(a: &[u8], b: &[u8]) -> u8 {
    let mut found = 0_u8;
    for (x, y) in a.iter().zip(b) {
        let digits = (x.wrapping_sub(b'0') < 10) & (y.wrapping_sub(b'0') < 10);
        found |= u8::from(!((x == y) | digits));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_known_by_all_but_its_digits() {
        let line = b"[2026-11-02 20:25:33] iteration 1000/ 5000 | loss: 2.1";
        with(1, |known| {
            known.learn(line);
            assert!(known.has(b"[2026-11-02 21:00:01] iteration 1730/ 5000 | loss: 1.9"));
            assert!(!known.has(b"[2026-11-02 21:00:01] iteration 1730/ 5000 | loss: nan"));
            assert!(!known.has(b"[2026-11-02 21:00:01] iteration 1730/ 5000 | loss: 1.95"));
        });
        with(2, |known| assert!(!known.has(line)));
    }

    proptest! {
        /// If a line is passed over, then every stretch of it without digits stands at the same place in the remembered one.
        #[test]
        fn what_is_passed_over_has_no_new_words(a in "[0-9a-c ]{24,80}", b in "[0-9a-c ]{24,80}") {
            if equal_but_for_digits(a.as_bytes(), b.as_bytes()) {
                let mask = |s: &str| s.replace(|c: char| c.is_ascii_digit(), "0");
                prop_assert_eq!(mask(&a), mask(&b));
            }
        }
    }
}
