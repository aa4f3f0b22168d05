//! From stamps to times: which year, which zone.
//!
//! The zone is the stamp's own, else what lines with two stamps in the same stream tell, else the context's, else what such lines in
//! other streams of the same source tell, else UTC as a guess. A guess is confirmed when the zone-less stamps of the
//! attempt end where the attempt ends; otherwise it is never decisive across streams. The machine's own zone, file times and the
//! present are never read.

use chrono::{DateTime, Datelike as _, Utc};
use firstfault_model::context::ExecutionContext;
use firstfault_model::hit::{Stamp, TimeSource};
use firstfault_model::stream::StreamName;
use firstfault_model::time::{MINUTE, Timestamp};

use crate::stamp::RawStamp;

/// How far the last zone-less stamps may lie from the attempt's end to confirm a guessed zone. Zones differ by at least 15 minutes.
const CONFIRM_WITHIN: i64 = 7 * MINUTE;

/// Zones of stamps that carry none, in seconds east of UTC, as lines with a second stamp tell them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Learned {
    /// In this stream.
    pub own: Option<i32>,
    /// In all streams of its source that tell any.
    pub of_source: Option<i32>,
}

/// What is known besides the stamps.
#[derive(Debug, Clone, Copy)]
pub struct Clock<'a> {
    /// The context.
    pub context: &'a ExecutionContext,
    /// Year of stamps that carry none, if somebody says so.
    pub year: Option<i32>,
    /// Zone of stamps that carry none, if somebody says so: seconds east of UTC.
    pub zone: Option<i32>,
    /// What the stream's own lines, or others', tell.
    pub learned: Learned,
    /// Whether UTC was confirmed for zone-less stamps.
    pub confirmed: bool,
}

impl Clock<'_> {
    /// The same for a stream of which this was learned.
    #[must_use]
    pub const fn knowing(self, learned: Learned) -> Self {
        Self { learned, ..self }
    }

    /// The time of a stamp; `None` if its year cannot be told. `hint` is the time of a dated line nearby.
    #[must_use]
    pub fn resolve(
        &self,
        raw: &RawStamp,
        stream: &StreamName,
        hint: Option<i64>,
        neighbour: bool,
    ) -> Option<Stamp> {
        let (offset, mut source) = match raw.offset {
            Some(offset) => (offset, TimeSource::Line),
            None => {
                let told = || self.context.zone(stream.source.name(), stream.node.as_deref());
                match self.learned.own.or(self.zone).or_else(told).or(self.learned.of_source) {
                    Some(offset) => (offset, TimeSource::LineAndContext),
                    None if self.confirmed => (0, TimeSource::LineAndContext),
                    None => (0, TimeSource::ZoneAssumed),
                }
            }
        };
        let nanos = match raw.year.or(self.year) {
            Some(year) => raw.nanos(year, offset)?,
            None => {
                if source == TimeSource::Line {
                    source = TimeSource::LineAndContext;
                }
                self.nearest_year(raw, offset, hint)?
            }
        };
        if neighbour {
            source = match source {
                TimeSource::ZoneAssumed => TimeSource::NeighbourAssumed,
                _ => TimeSource::Neighbour,
            };
        }
        Some(Stamp { time: Timestamp(nanos), uncertainty: raw.uncertainty, source })
    }

    fn nearest_year(&self, raw: &RawStamp, offset: i32, hint: Option<i64>) -> Option<i64> {
        let document = &self.context.document;
        let near = document.start.or(document.end).map(|t| t.0).or(hint)?;
        let year = DateTime::<Utc>::from_timestamp_nanos(near).year();
        (year - 1..=year + 1)
            .filter_map(|y| raw.nanos(y, offset))
            .min_by_key(|t| (t.saturating_sub(near).unsigned_abs(), *t))
    }

    /// Whether zone-less stamps, read as UTC, end where the attempt ends.
    #[must_use]
    pub fn confirms(context: &ExecutionContext, latest_as_utc: Option<i64>) -> bool {
        match (context.document.end, latest_as_utc) {
            (Some(end), Some(latest)) => end.0.saturating_sub(latest).abs() <= CONFIRM_WITHIN,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamp::month_day;
    use firstfault_model::source::Source;

    fn stream() -> StreamName {
        StreamName { source: Source::App, node: None, name: "x".into(), rank: None }
    }

    fn resolve(context: &str, stamp: &str, confirmed: bool) -> Option<(String, TimeSource)> {
        let context = ExecutionContext::parse(context).unwrap();
        let clock =
            Clock { context: &context, year: None, zone: None, learned: Learned::default(), confirmed };
        let raw = month_day(stamp.as_bytes()).unwrap().0;
        clock.resolve(&raw, &stream(), None, false).map(|s| (s.time.to_string(), s.source))
    }

    #[test]
    fn a_year_comes_from_the_window_also_over_new_year() {
        let context = r#"{"start": "2026-12-31T22:00:00Z", "end": "2027-01-01T03:00:00Z"}"#;
        assert_eq!(resolve(context, "1231 23:00:00", true).unwrap().0, "2026-12-31T23:00:00.000Z");
        assert_eq!(resolve(context, "101 02:00:00", true).unwrap().0, "2027-01-01T02:00:00.000Z");
        assert_eq!(resolve("{}", "101 02:00:00", true), None);
    }

    #[test]
    fn zones() {
        let context = r#"{"start": "2026-11-02T20:00:00Z", "zones": {"default": "+08:00"}}"#;
        let (time, source) = resolve(context, "1102 12:00:00", false).unwrap();
        assert_eq!((time.as_str(), source), ("2026-11-02T04:00:00.000Z", TimeSource::LineAndContext));
        let context = r#"{"start": "2026-11-02T20:00:00Z"}"#;
        assert_eq!(resolve(context, "1102 12:00:00", false).unwrap().1, TimeSource::ZoneAssumed);
        assert_eq!(resolve(context, "1102 12:00:00", true).unwrap().1, TimeSource::LineAndContext);
    }

    #[test]
    fn a_guess_is_confirmed_by_the_end() {
        let context = ExecutionContext::parse(r#"{"end": "2026-11-02T20:00:00Z"}"#).unwrap();
        let end = context.document.end.unwrap().0;
        assert!(Clock::confirms(&context, Some(end - 2 * MINUTE)));
        assert!(!Clock::confirms(&context, Some(end - 60 * MINUTE)));
        assert!(!Clock::confirms(&context, None));
    }
}
