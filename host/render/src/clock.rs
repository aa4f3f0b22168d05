//! Times and spans of time as people read them. All times are UTC.

use firstfault_model::diagnosis::{Diagnosis, Onset, Reported, Window};
use firstfault_model::time::{HOUR, MINUTE, SECOND, Timestamp};

use crate::wrap::GLUE;

const DAY: i64 = 24 * HOUR;

/// Writes times without their date when all that is told happened on one day.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    day: Option<i64>,
}

impl Clock {
    /// For a diagnosis.
    pub(crate) fn of(diagnosis: &Diagnosis) -> Self {
        let finding = &diagnosis.finding;
        let roots = finding.root_causes.iter().filter_map(|r| r.onset.as_ref());
        let times = roots
            .flat_map(|o| [Some(o.from), o.to, o.reported_at])
            .chain(finding.symptoms.iter().flat_map(|s| [s.first, s.last]))
            .chain([finding.workload.end.or(finding.workload.start)]);
        let mut days = times.flatten().map(day);
        let first = days.next();
        Self { day: first.filter(|d| days.all(|other| other == *d)) }
    }

    /// The date that is left out, if one is.
    pub(crate) fn date(self) -> Option<String> {
        self.day.map(|d| date(Timestamp(d.saturating_mul(DAY))))
    }

    /// A time, with milliseconds if `fine` and if it has any.
    pub(crate) fn time(self, time: Timestamp, fine: bool) -> String {
        let clock = time.clock(fine && time.0.rem_euclid(SECOND) != 0);
        if Some(day(time)) == self.day {
            return clock;
        }
        let date = date(time);
        format!("{} {clock}", date.get(5..).unwrap_or(&date))
    }

    /// When something began, in one time: `after` it where only the line before tells the time.
    pub(crate) fn began(self, onset: &Onset) -> String {
        if onset.time_source.starts_with("neighbour") {
            return match onset.to {
                Some(to) => format!("by {}", self.time(to, false)),
                None => format!("after {}", self.time(onset.from, false)),
            };
        }
        self.point(onset)
    }

    /// One time: the middle of less than a second, else the earliest.
    fn point(self, onset: &Onset) -> String {
        match onset.to.map(|to| to.since(onset.from)).filter(|width| *width < SECOND) {
            Some(width) => self.time(onset.from.shifted(width / 2), true),
            None => self.time(onset.from, false),
        }
    }

    /// When something began: a time, or the two ends of an interval of a second or more.
    pub(crate) fn onset(self, onset: &Onset) -> String {
        if onset.time_source.starts_with("neighbour") {
            return match onset.to {
                Some(to) => format!("{} to {}", self.time(onset.from, false), self.time(to, false)),
                None => self.began(onset),
            };
        }
        let latest = onset.to.unwrap_or(onset.from);
        let exact = latest.since(onset.from) < SECOND;
        let mut text = self.point(onset);
        let to = self.time(latest, false);
        if !exact && to != text {
            text = format!("{text} to {to}");
        }
        if onset.time_source == "zone_assumed" {
            text.push_str(" (zone assumed)");
        }
        text
    }

    /// When something was reported.
    pub(crate) fn reported(self, reported: &Reported) -> String {
        let (first, last) = (self.time(reported.first, false), self.time(reported.last, false));
        if first == last { format!("reported {first}") } else { format!("reported {first} to {last}") }
    }

    /// A window, in minutes: `22:25 to 22:35`; nothing if it has no end.
    pub(crate) fn window(self, window: &Window) -> Option<String> {
        let minute = |t: Timestamp| {
            let text = self.time(t, false);
            text.get(..text.len().saturating_sub(3)).map(str::to_owned)
        };
        let up = |t: Timestamp| t.shifted((MINUTE - t.0.rem_euclid(MINUTE)).rem_euclid(MINUTE));
        match (window.from, window.to) {
            (Some(from), Some(to)) => Some(format!("{} to {}", minute(from)?, minute(up(to))?)),
            (Some(from), None) => Some(format!("from {}", minute(from)?)),
            (None, Some(to)) => Some(format!("until {}", minute(up(to))?)),
            (None, None) => None,
        }
    }
}

/// `2026-11-02`.
pub(crate) fn date(time: Timestamp) -> String {
    let text = time.to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

/// A span of time in its two largest units, for prose: `2 h 26 min`.
pub(crate) fn duration(nanos: i64) -> String {
    let seconds = nanos.max(0) / SECOND;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds % 60, "s")];
    let first = parts.iter().position(|(n, _)| *n > 0).unwrap_or(3);
    let shown = parts.iter().skip(first).take(2).filter(|(n, unit)| *n > 0 || (first == 3 && *unit == "s"));
    shown.map(|(n, unit)| format!("{n}{GLUE}{unit}")).collect::<Vec<_>>().join(&GLUE.to_string())
}

fn day(time: Timestamp) -> i64 {
    time.0.div_euclid(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn spans_are_two_units() {
        for (seconds, wants) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (626, "10 min 26 s"),
            (8765, "2 h 26 min"),
            (90_061, "1 d 1 h"),
            (-5, "0 s"),
        ] {
            assert_eq!(duration(seconds * SECOND).replace(GLUE, " "), wants);
        }
    }

    #[test]
    fn another_day_is_named() {
        let clock = Clock { day: Some(day(at("2026-11-02T00:00:00Z"))) };
        assert_eq!(clock.time(at("2026-11-02T22:29:58.1Z"), true), "22:29:58.100");
        assert_eq!(clock.time(at("2026-11-02T22:29:58Z"), true), "22:29:58");
        assert_eq!(clock.time(at("2026-11-03T00:00:01Z"), true), "11-03 00:00:01");
        assert_eq!(clock.date().as_deref(), Some("2026-11-02"));
    }

    #[test]
    fn windows_reach_to_the_full_minute() {
        let clock = Clock { day: Some(day(at("2026-11-02T00:00:00Z"))) };
        let window = Window { from: Some(at("2026-11-02T22:24:58Z")), to: Some(at("2026-11-02T22:34:58Z")) };
        assert_eq!(clock.window(&window).as_deref(), Some("22:24 to 22:35"));
        assert_eq!(clock.window(&Window { from: None, to: None }), None);
    }
}
