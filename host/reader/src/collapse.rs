//! Collapsing: equal hits at one place are one, with a count.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::place::Place;

use crate::stamp::RawStamp;

/// What makes two hits of one stream equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the signature.
    pub signature: u32,
    /// Where.
    pub place: Place,
    /// Values of the signature's key captures.
    pub values: Vec<String>,
    /// Whether it was before the attempt began: what was there before is not what happened in it.
    pub before_start: bool,
}

/// A line that was matched, before years and zones are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Byte offset.
    pub offset: u64,
    /// Line number from 0, within the chunk until chunks are joined.
    pub line: u64,
    /// Its stamp.
    pub stamp: Option<RawStamp>,
    /// Whether the stamp is that of an earlier line.
    pub neighbour: bool,
    /// Stamp of the next line that has one, where the line has none of its own.
    pub next: Option<RawStamp>,
}

/// Equal hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collapsed {
    /// The first.
    pub first: Seen,
    /// The last.
    pub last: Seen,
    /// How many.
    pub count: u64,
    /// Captures of the first.
    pub captures: BTreeMap<String, String>,
    /// Text of the first.
    pub text: String,
    /// Whether the text is cut.
    pub cut: bool,
    /// Whether its prefix says that the kernel wrote it.
    pub kernel: bool,
}

/// Collapsed hits of a stretch of a stream. At most `cap` are kept: those with the smallest positions.
#[derive(Debug, Default)]
pub struct Collapse {
    map: BTreeMap<Key, Collapsed>,
    dropped: u64,
    /// Zones that lines with two stamps tell, in seconds east of UTC.
    zones: BTreeSet<i32>,
}

impl Collapse {
    /// Counts one more of a known key; `false` if the key is new.
    pub fn count(&mut self, key: &Key, seen: &Seen) -> bool {
        let Some(known) = self.map.get_mut(key) else { return false };
        known.count += 1;
        known.last = seen.clone();
        true
    }

    /// Gives the last line of each key a neighbour's time if it has none of its own. Once for each key: a flood
    /// of lines without stamps is not gone through again and again.
    pub fn stamp_last(&mut self, neighbour: impl Fn(u64) -> Option<RawStamp>) {
        for hit in self.map.values_mut().filter(|hit| hit.count > 1 && hit.last.stamp.is_none()) {
            hit.last.stamp = neighbour(hit.last.offset);
            hit.last.neighbour = hit.last.stamp.is_some();
        }
    }

    /// Whether another key would be kept; one that would not is counted.
    pub fn has_room(&mut self, cap: usize) -> bool {
        let room = self.map.len() < cap;
        self.dropped += u64::from(!room);
        room
    }

    /// Notes a zone that a line with two stamps tells.
    pub fn note_zone(&mut self, zone: Option<i32>) {
        self.zones.extend(zone);
    }

    /// The zone of stamps that carry none, if all lines with two stamps tell the same.
    #[must_use]
    pub fn zone(&self) -> Option<i32> {
        self.zones.first().copied().filter(|_| self.zones.len() == 1)
    }

    /// Counts something that was not looked at.
    pub fn note_dropped(&mut self) {
        self.dropped += 1;
    }

    /// Adds a new key.
    pub fn insert(&mut self, key: Key, hit: Collapsed) {
        self.map.insert(key, hit);
    }

    /// Adds a later stretch of the same stream, whose offsets and lines were made absolute.
    pub fn append(&mut self, later: Self, cap: usize) {
        self.dropped += later.dropped;
        self.zones.extend(later.zones);
        let mut entries: Vec<(Key, Collapsed)> = later.map.into_iter().collect();
        entries.sort_by_key(|(key, hit)| (hit.first.offset, key.signature));
        for (key, hit) in entries {
            if let Some(known) = self.map.get_mut(&key) {
                known.count += hit.count;
                known.last = hit.last;
            } else if self.map.len() < cap {
                self.map.insert(key, hit);
            } else {
                self.dropped += hit.count;
            }
        }
    }

    /// Moves all positions.
    pub fn shift(&mut self, offset: u64, line: u64) {
        for hit in self.map.values_mut() {
            for seen in [&mut hit.first, &mut hit.last] {
                seen.offset += offset;
                seen.line += line;
            }
        }
    }

    /// Hits beyond the cap.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The hits by position, then signature, then the rest of the key.
    #[must_use]
    pub fn into_sorted(self) -> Vec<(Key, Collapsed)> {
        let mut entries: Vec<(Key, Collapsed)> = self.map.into_iter().collect();
        entries.sort_by(|(ka, a), (kb, b)| (a.first.offset, ka).cmp(&(b.first.offset, kb)));
        entries
    }
}
