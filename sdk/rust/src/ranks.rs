//! Sets of ranks, held as ranges: a job may have a hundred thousand of them, and they come in few pieces.

use crate::RankRange;

/// A set of ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankSet(Vec<RankRange>);

impl RankSet {
    /// No ranks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds ranges; they may overlap. One that ends before it begins is empty.
    pub fn add(&mut self, ranges: impl IntoIterator<Item = RankRange>) {
        self.0.extend(ranges.into_iter().filter(|range| range.first <= range.last));
        self.0.sort_unstable_by_key(|range| (range.first, range.last));
        self.0.dedup_by(|later, kept| {
            let joined = later.first <= kept.last.saturating_add(1);
            if joined {
                kept.last = kept.last.max(later.last);
            }
            joined
        });
    }

    /// The ranges, ascending and apart.
    #[must_use]
    pub fn ranges(&self) -> &[RankRange] {
        &self.0
    }

    /// How many ranks.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.iter().map(|range| u64::from(range.last - range.first) + 1).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranks in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(|range| range.first..=range.last)
    }

    /// The ranks of this set that are not in the other.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        let mut cuts = other.0.iter().peekable();
        for range in &self.0 {
            let mut first = Some(range.first);
            while let Some(cut) = cuts.peek() {
                let Some(from) = first else { break };
                if cut.first > range.last {
                    break;
                }
                if cut.last >= from {
                    if let Some(last) = cut.first.checked_sub(1).filter(|last| *last >= from) {
                        left.push(RankRange { first: from, last });
                    }
                    first = cut.last.checked_add(1).filter(|next| *next <= range.last);
                }
                // A cut that reaches beyond this range may also cut the next.
                if cut.last > range.last {
                    break;
                }
                cuts.next();
            }
            left.extend(first.map(|first| RankRange { first, last: range.last }));
        }
        Self(left)
    }
}

impl FromIterator<RankRange> for RankSet {
    fn from_iter<T: IntoIterator<Item = RankRange>>(ranges: T) -> Self {
        let mut set = Self::new();
        set.add(ranges);
        set
    }
}

impl FromIterator<u32> for RankSet {
    fn from_iter<T: IntoIterator<Item = u32>>(ranks: T) -> Self {
        ranks.into_iter().map(|rank| RankRange { first: rank, last: rank }).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ranges_are_joined() {
        let set: RankSet = [5_u32, 0, 1, 2, 2, 7, 6].into_iter().collect();
        assert_eq!(set.ranges(), [RankRange { first: 0, last: 2 }, RankRange { first: 5, last: 7 }]);
        assert_eq!((set.len(), set.is_empty()), (6, false));
        let odd: RankSet = [RankRange { first: 3, last: 2 }].into_iter().collect();
        assert!(odd.is_empty());
        let all: RankSet = [RankRange { first: 0, last: u32::MAX }, RankRange { first: 4, last: u32::MAX }]
            .into_iter()
            .collect();
        assert_eq!(all.len(), 1 << 32);
    }

    #[test]
    fn differences_are_those_of_sets() {
        // Every pair of sets of six ranks.
        let members = |bits: u32| (0..6).filter(move |bit| bits & (1 << bit) != 0);
        for a in 0..64 {
            for b in 0..64 {
                let (left, right): (RankSet, RankSet) = (members(a).collect(), members(b).collect());
                let right_ranks: BTreeSet<u32> = members(b).collect();
                let expected: Vec<u32> = members(a).filter(|rank| !right_ranks.contains(rank)).collect();
                assert_eq!(left.minus(&right).iter().collect::<Vec<_>>(), expected, "{a:b} {b:b}");
            }
        }
        let top: RankSet = [RankRange { first: 0, last: u32::MAX }].into_iter().collect();
        assert_eq!(top.minus(&top), RankSet::new());
    }
}
