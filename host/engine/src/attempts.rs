//! Several attempts in one set of logs: where one ends and the next begins, as the lines tell it.
//!
//! With a context the attempt is the context's. Without one the logs are the workload, and what restarted in them is told apart by
//! the lines with which schedulers and launchers end an attempt or begin one.

use std::collections::BTreeMap;

use firstfault_model::time::Timestamp;
use firstfault_rules::pack::{Boundary, Role};
use firstfault_rules::ruleset::RuleSet;

use crate::case::Case;
use crate::event::Event;

/// Where attempts part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// By stream: offsets up to which an attempt reaches, ascending.
    by_stream: BTreeMap<u32, Vec<u64>>,
    /// The times of those of the stream that has the most.
    times: Vec<Timestamp>,
}

/// A line with which an attempt ends or begins.
struct Mark {
    at: u64,
    time: Option<Timestamp>,
    kind: Boundary,
}

impl Attempts {
    /// Finds them, where no context says which attempt it is.
    #[must_use]
    pub fn find(events: &[Event], case: &Case, rules: &RuleSet) -> Self {
        let document = &case.context.document;
        if document.start.is_some() || document.end.is_some() || document.attempt.is_some() {
            return Self::default();
        }
        let mut marks: BTreeMap<u32, Vec<Mark>> = BTreeMap::new();
        for event in events.iter().filter(|e| !e.quoted) {
            let Some(kind) = event.definition(rules).and_then(|d| d.attempt) else { continue };
            // Many nodes say the same: an attempt ends with the last of them, and begins with the first.
            let at = match kind {
                Boundary::Ends => event.last.offset,
                Boundary::Starts => event.first.offset,
            };
            let time = event.onset.map(|o| o.from);
            marks.entry(event.first.stream).or_default().push(Mark { at, time, kind });
        }
        let mut by_stream = BTreeMap::new();
        let mut times: Vec<Timestamp> = Vec::new();
        for (stream, mut list) in marks {
            list.sort_by_key(|mark| mark.at);
            let between = |from: u64, to: u64| {
                events.iter().any(|e| {
                    e.first.stream == stream
                        && e.role != Role::Benign
                        && e.first.offset > from
                        && e.first.offset < to
                })
            };
            let mut borders: Vec<Mark> = Vec::new();
            for mark in list {
                // What begins where another has just ended is one border, and so is what several say of one end.
                let last = borders.last().map_or(0, |b| b.at);
                let told = between(last, mark.at);
                match borders.last_mut() {
                    Some(border) if !told => {
                        border.at = if mark.kind == Boundary::Ends { mark.at } else { border.at }
                    }
                    None if mark.kind == Boundary::Starts && !told => {}
                    _ => borders.push(mark),
                }
            }
            // What nothing follows has no next attempt in these logs.
            let end = case.streams.get(stream as usize).map_or(0, |s| s.stats.bytes);
            if let Some(border) = borders.last()
                && border.kind == Boundary::Ends
                && case.hits.iter().filter(|h| h.last.stream == stream).all(|h| h.last.offset <= border.at)
                && case.marks.iter().filter(|m| m.at.stream == stream).all(|m| m.at.offset <= border.at)
                && end.saturating_sub(border.at) < SHORT
            {
                borders.pop();
            }
            let dated: Option<Vec<Timestamp>> = borders.iter().map(|b| b.time).collect();
            if let Some(dated) = dated.filter(|d| d.len() > times.len()) {
                times = dated;
            }
            if !borders.is_empty() {
                by_stream.insert(stream, borders.into_iter().map(|b| b.at).collect());
            }
        }
        Self { by_stream, times }
    }

    /// How many attempts there are; 1 where nothing parts them.
    #[must_use]
    pub fn count(&self) -> u32 {
        let most = self.by_stream.values().map(Vec::len).max().unwrap_or(0);
        u32::try_from(most).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// The attempt, from 1, that a place in a stream belongs to; `None` if it cannot be told.
    #[must_use]
    pub fn at(&self, stream: u32, offset: u64, time: Option<Timestamp>) -> Option<u32> {
        let before = match self.by_stream.get(&stream) {
            Some(borders) => borders.partition_point(|border| *border < offset),
            None if self.by_stream.is_empty() => 0,
            None => {
                let time = time.filter(|_| !self.times.is_empty())?;
                self.times.iter().filter(|border| **border < time).count()
            }
        };
        u32::try_from(before).ok().map(|n| n + 1)
    }

    /// The attempt of an event.
    #[must_use]
    pub fn of(&self, event: &Event) -> Option<u32> {
        self.at(event.first.stream, event.first.offset, event.onset.map(|o| o.from))
    }
}

/// Bytes behind a border that are no attempt.
const SHORT: u64 = 1024;
