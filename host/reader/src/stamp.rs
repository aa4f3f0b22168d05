//! Stamps as lines carry them, before year and zone are known.

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime, Timelike as _};
use firstfault_model::time::{MILLI, MINUTE, SECOND};

/// A stamp as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RawStamp {
    /// Year, if written.
    pub year: Option<i32>,
    /// Month from 1.
    pub month: u32,
    /// Day from 1.
    pub day: u32,
    /// Nanoseconds since midnight.
    pub of_day: i64,
    /// Seconds east of UTC, if written.
    pub offset: Option<i32>,
    /// The time lies within this many nanoseconds on either side.
    pub uncertainty: i64,
}

impl RawStamp {
    /// Nanoseconds since 1970 in a year and at an offset; `None` if there is no such day.
    #[must_use]
    pub fn nanos(&self, year: i32, offset: i32) -> Option<i64> {
        let day = NaiveDate::from_ymd_opt(year, self.month, self.day)?;
        let midnight = NaiveDateTime::from(day).and_utc().timestamp();
        midnight.checked_sub(i64::from(offset))?.checked_mul(SECOND)?.checked_add(self.of_day)
    }
}

/// Zones lie a multiple of this apart.
const ZONE_STEP: i64 = 15 * MINUTE;
/// How long after a line was written a collector may have stamped it.
const SHIPPED_WITHIN: i64 = 2 * MINUTE;
/// The furthest that a zone is from UTC.
const FURTHEST_ZONE: i64 = 14 * 60 * MINUTE;

/// The zone, in seconds east of UTC, of the one of two stamps of a line that has none, if the other has one.
#[must_use]
pub fn zone_between(a: &RawStamp, b: &RawStamp) -> Option<i32> {
    let (zoned, bare) = match (a.offset, b.offset) {
        (Some(_), None) => (a, b),
        (None, Some(_)) => (b, a),
        _ => return None,
    };
    let year = zoned.year?;
    let apart = bare.nanos(bare.year.unwrap_or(year), 0)?.checked_sub(zoned.nanos(year, zoned.offset?)?)?;
    let zone = (apart + ZONE_STEP / 2).div_euclid(ZONE_STEP) * ZONE_STEP;
    let known = (apart - zone).abs() <= SHIPPED_WITHIN && zone.abs() <= FURTHEST_ZONE;
    known.then(|| i32::try_from(zone / SECOND).ok()).flatten()
}

/// Reads decimal digits at the start: value and count.
fn digits(text: &[u8], min: usize, max: usize) -> Option<(u32, usize)> {
    let count = text.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    if count < min {
        return None;
    }
    let value =
        text.iter().take(count).fold(0_u32, |v, b| v.wrapping_mul(10).wrapping_add(u32::from(b - b'0')));
    Some((value, count))
}

/// Time of day with an optional fraction after `.` or `,`: nanoseconds since midnight, uncertainty, length.
pub fn time_of_day(text: &[u8]) -> Option<(i64, i64, usize)> {
    let part = |at: usize| digits(text.get(at..)?, 2, 2).map(|(v, _)| i64::from(v));
    let colon = |at: usize| text.get(at) == Some(&b':');
    let (hour, minute, second) = (part(0)?, part(3)?, part(6)?);
    if !colon(2) || !colon(5) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut nanos = (hour * 3600 + minute * 60 + second) * SECOND;
    let mut length = 8;
    let mut uncertainty = SECOND;
    if matches!(text.get(8), Some(b'.' | b','))
        && let Some(rest) = text.get(9..)
    {
        let count = rest.iter().take(9).take_while(|b| b.is_ascii_digit()).count();
        if count > 0 {
            let value = rest.iter().take(count).fold(0_i64, |v, b| v * 10 + i64::from(b - b'0'));
            let unit = 10_i64.pow(9 - u32::try_from(count).unwrap_or(9));
            nanos += value * unit;
            uncertainty = unit;
            length = 9 + count;
        }
    }
    Some((nanos, uncertainty, length))
}

/// Seconds, or milliseconds, since 1970 as JSON has them: `1793649605.25`, `1793649605250`. Only of this century's times.
#[must_use]
pub fn seconds(text: &[u8]) -> Option<RawStamp> {
    let whole = text.iter().take(14).take_while(|b| b.is_ascii_digit()).count();
    let value: i64 = std::str::from_utf8(text.get(..whole)?).ok()?.parse().ok()?;
    let (seconds, nanos, uncertainty) = match whole {
        10 => {
            let digits = text.get(11..).unwrap_or(b"");
            let fraction = match text.get(10) {
                Some(b'.') => digits.iter().take(9).take_while(|b| b.is_ascii_digit()).count(),
                _ => 0,
            };
            let unit = 10_i64.pow(9 - u32::try_from(fraction).ok()?);
            let nanos = digits.iter().take(fraction).fold(0_i64, |v, b| v * 10 + i64::from(b - b'0')) * unit;
            (value, nanos, unit)
        }
        13 => (value / 1000, value % 1000 * MILLI, MILLI),
        _ => return None,
    };
    let time = DateTime::from_timestamp(seconds, 0)?;
    Some(RawStamp {
        year: Some(time.year()),
        month: time.month(),
        day: time.day(),
        of_day: i64::from(time.num_seconds_from_midnight()) * SECOND + nanos,
        offset: Some(0),
        uncertainty,
    })
}

/// `12:34`, alone or before a blank: as [`time_of_day`].
fn hour_and_minute(text: &[u8]) -> Option<(i64, i64, usize)> {
    let (hour, _) = digits(text, 2, 2)?;
    let (minute, _) = digits(text.get(3..)?, 2, 2)?;
    let whole = text.get(2) == Some(&b':') && matches!(text.get(5), None | Some(b' '));
    (whole && hour < 24 && minute < 60).then(|| (i64::from(hour * 60 + minute) * MINUTE, MINUTE, 5))
}

/// `2026-11-02T20:41:54.000000+00:00`, `2026-11-02 20:25:33,123`, `2026-11-02_20:25:33`, `2026/11/02 20:25:33`: stamp and length. A zone
/// may follow without a space or, as `+08:00` and `UTC`, after one.
pub fn iso(text: &[u8]) -> Option<(RawStamp, usize)> {
    let (year, _) = digits(text, 4, 4)?;
    let (month, _) = digits(text.get(5..)?, 2, 2)?;
    let (day, _) = digits(text.get(8..)?, 2, 2)?;
    if !matches!(text.get(4), Some(b'-' | b'/'))
        || text.get(7) != text.get(4)
        || !matches!(text.get(10), Some(b'T' | b' ' | b'_'))
    {
        return None;
    }
    let (of_day, uncertainty, length) =
        time_of_day(text.get(11..)?).or_else(|| hour_and_minute(text.get(11..)?))?;
    let mut end = 11 + length;
    let offset = zone(text.get(end..)?).map(|(offset, length)| {
        end += length;
        offset
    });
    let stamp = RawStamp { year: i32::try_from(year).ok(), month, day, of_day, offset, uncertainty };
    valid(stamp).map(|s| (s, end))
}

fn zone(text: &[u8]) -> Option<(i32, usize)> {
    if text.starts_with(b" UTC") || text.starts_with(b" GMT") {
        return (!text.get(4).is_some_and(u8::is_ascii_alphanumeric)).then_some((0, 4));
    }
    let space = usize::from(text.first() == Some(&b' ') && matches!(text.get(1), Some(b'+')));
    let text = text.get(space..)?;
    match text.first()? {
        b'Z' => Some((0, 1 + space)),
        sign @ (b'+' | b'-') => {
            let (hours, _) = digits(text.get(1..)?, 2, 2)?;
            let colon = usize::from(text.get(3) == Some(&b':'));
            let (minutes, _) = digits(text.get(3 + colon..)?, 2, 2)?;
            if hours > 15 || minutes > 59 {
                return None;
            }
            let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
            Some((if *sign == b'-' { -seconds } else { seconds }, 5 + colon + space))
        }
        _ => None,
    }
}

/// `Nov 18 17:26:39` or `Nov  8 17:26:39`: stamp and length.
pub fn syslog(text: &[u8]) -> Option<(RawStamp, usize)> {
    let month = month(text.get(..3)?)?;
    if text.get(3) != Some(&b' ') {
        return None;
    }
    let pad = usize::from(text.get(4) == Some(&b' '));
    let (day, length) = digits(text.get(4 + pad..)?, 1, 2)?;
    let at = 4 + pad + length;
    if text.get(at) != Some(&b' ') {
        return None;
    }
    let (of_day, uncertainty, length) = time_of_day(text.get(at + 1..)?)?;
    let stamp = RawStamp { year: None, month, day, of_day, offset: None, uncertainty };
    valid(stamp).map(|s| (s, at + 1 + length))
}

/// `Wed Jan 27 23:04:35 2021` (ctime) or `Jan 27 2021 23:04:35` (fabric manager): stamp and length.
pub fn ctime(text: &[u8]) -> Option<(RawStamp, usize)> {
    let weekday = text
        .get(..4)
        .is_some_and(|w| w.get(3) == Some(&b' ') && WEEKDAYS.contains(&w.get(..3).unwrap_or(b"")));
    if weekday {
        let (mut stamp, length) = syslog(text.get(4..)?)?;
        let (year, _) = digits(text.get(4 + length + 1..)?, 4, 4)?;
        stamp.year = i32::try_from(year).ok();
        return valid(stamp).map(|s| (s, 4 + length + 5));
    }
    let month = month(text.get(..3)?)?;
    let (day, length) = digits(text.get(4..)?, 1, 2)?;
    let at = 4 + length + 1;
    let (year, _) = digits(text.get(at..)?, 4, 4)?;
    let (of_day, uncertainty, length) = time_of_day(text.get(at + 5..)?)?;
    let stamp = RawStamp { year: i32::try_from(year).ok(), month, day, of_day, offset: None, uncertainty };
    valid(stamp).map(|s| (s, at + 5 + length))
}

/// `1763480799.123456`, seconds since 1970 in UTC: stamp and length. The fraction has six digits or nine.
pub fn epoch(text: &[u8]) -> Option<(RawStamp, usize)> {
    let seconds = text.iter().take(11).take_while(|b| b.is_ascii_digit()).count();
    let fraction = text.get(seconds + 1..)?.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
    let end = seconds + 1 + fraction;
    if seconds != 10
        || text.get(seconds) != Some(&b'.')
        || !matches!(fraction, 6 | 9)
        || text.get(end) != Some(&b' ')
    {
        return None;
    }
    let value = |range: std::ops::Range<usize>| {
        text.get(range).unwrap_or(b"").iter().fold(0_i64, |v, b| v * 10 + i64::from(b - b'0'))
    };
    let uncertainty = if fraction == 6 { 1_000 } else { 1 };
    let time = DateTime::from_timestamp(value(0..seconds), 0)?;
    let of_day = i64::from(time.num_seconds_from_midnight()) * SECOND + value(seconds + 1..end) * uncertainty;
    let stamp = RawStamp {
        year: Some(time.year()),
        month: time.month(),
        day: time.day(),
        of_day,
        offset: Some(0),
        uncertainty,
    };
    Some((stamp, end))
}

/// `Nov18 17:26`, all of it: to the minute, as `dmesg -e` begins one.
pub fn minute(text: &[u8]) -> Option<RawStamp> {
    let month = month(text.get(..3)?)?;
    let (day, length) = digits(text.get(3..)?.trim_ascii_start(), 1, 2)?;
    let time = text.get(3..)?.trim_ascii_start().get(length..)?.strip_prefix(b" ")?;
    let (of_day, uncertainty, length) = hour_and_minute(time)?;
    (length == time.len()).then_some(())?;
    valid(RawStamp { year: None, month, day, of_day, offset: None, uncertainty })
}

/// `1102 12:34:56.789` or, without zero padding, `321 12:34:56.789`: month and day in one number, or the year before them; stamp and
/// length.
pub fn month_day(text: &[u8]) -> Option<(RawStamp, usize)> {
    if let Some((date, 8)) = digits(text, 8, 9) {
        let (of_day, uncertainty, length) = time_of_day(text.get(8..)?.strip_prefix(b" ")?)?;
        let year = i32::try_from(date / 10_000).ok();
        let (month, day) = (date / 100 % 100, date % 100);
        let stamp = RawStamp { year, month, day, of_day, offset: None, uncertainty };
        return valid(stamp).map(|s| (s, 9 + length));
    }
    let (number, length) = digits(text, 3, 4)?;
    if text.get(length) != Some(&b' ') {
        return None;
    }
    let (of_day, uncertainty, time_length) = time_of_day(text.get(length + 1..)?)?;
    let stamp =
        RawStamp { year: None, month: number / 100, day: number % 100, of_day, offset: None, uncertainty };
    valid(stamp).map(|s| (s, length + 1 + time_length))
}

/// `12-24 21:49:17` or `12/09 06:49:23`: stamp and length.
pub fn month_dash_day(text: &[u8]) -> Option<(RawStamp, usize)> {
    let (month, _) = digits(text, 2, 2)?;
    let (day, _) = digits(text.get(3..)?, 2, 2)?;
    if !matches!(text.get(2), Some(b'-' | b'/')) || text.get(5) != Some(&b' ') {
        return None;
    }
    let (of_day, uncertainty, length) = time_of_day(text.get(6..)?)?;
    let stamp = RawStamp { year: None, month, day, of_day, offset: None, uncertainty };
    valid(stamp).map(|s| (s, 6 + length))
}

fn valid(stamp: RawStamp) -> Option<RawStamp> {
    // 2000 is a leap year: a 29 February without a year is left to whoever finds the year.
    NaiveDate::from_ymd_opt(stamp.year.unwrap_or(2000), stamp.month, stamp.day).map(|_| stamp)
}

const WEEKDAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];

fn month(name: &[u8]) -> Option<u32> {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    MONTHS.iter().position(|m| *m == name).and_then(|i| u32::try_from(i + 1).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstfault_model::time::Timestamp;

    fn utc(raw: RawStamp) -> String {
        Timestamp(raw.nanos(raw.year.unwrap_or(2026), raw.offset.unwrap_or(0)).unwrap()).to_string()
    }

    #[test]
    fn forms_of_stamps() {
        type Read = fn(&[u8]) -> Option<(RawStamp, usize)>;
        let cases: [(Read, &str, &str, usize); 12] = [
            (iso, "2026-11-02T20:41:54.250000+00:00 x", "2026-11-02T20:41:54.250Z", 32),
            (iso, "2026-10-03T05:56:38-0400 host", "2026-10-03T09:56:38.000Z", 24),
            (iso, "2026-11-02 20:25:33,123 x", "2026-11-02T20:25:33.123Z", 23),
            (iso, "2025-01-21T04:41:44,283302+00:00 : ", "2025-01-21T04:41:44.283Z", 32),
            (iso, "2026-04-22T21:26:20.599488292Z]: ", "2026-04-22T21:26:20.599Z", 30),
            (iso, "2024-05-07 09:00:00 +08:00 [x]", "2024-05-07T01:00:00.000Z", 26),
            (syslog, "Nov  8 17:26:39 host", "2026-11-08T17:26:39.000Z", 15),
            (ctime, "Wed Jan 27 23:04:35 2021] ", "2021-01-27T23:04:35.000Z", 24),
            (ctime, "Jan 27 2021 23:04:35] ", "2021-01-27T23:04:35.000Z", 20),
            (month_day, "1102 12:34:56.789012345 x", "2026-11-02T12:34:56.789Z", 23),
            (month_day, "112 12:34:56.5 x", "2026-01-12T12:34:56.500Z", 14),
            (month_dash_day, "12-24 21:49:17 x", "2026-12-24T21:49:17.000Z", 14),
        ];
        for (read, text, time, length) in cases {
            let (stamp, got) = read(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((utc(stamp), got), (time.to_owned(), length), "{text}");
        }
    }

    #[test]
    fn what_is_no_stamp() {
        for text in [
            "",
            "2026-13-02T20:41:54",
            "2026-11-02",
            "2026-11-02T25:00:00",
            "1302 12:00:00",
            "032 12:00:00",
            "x",
        ] {
            assert!(iso(text.as_bytes()).is_none() && month_day(text.as_bytes()).is_none(), "{text}");
        }
        assert!(syslog(b"Foo 18 17:26:39").is_none());
        // There is a 29 February in some years only.
        assert_eq!(month_day(b"229 00:00:00").unwrap().0.nanos(2026, 0), None);
    }
}
