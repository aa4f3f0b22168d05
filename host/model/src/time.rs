//! Times as integers, and how they are written.

use std::borrow::Cow;
use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Nanoseconds in a millisecond.
pub const MILLI: i64 = 1_000_000;
/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;
/// Nanoseconds in a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Nanoseconds in an hour.
pub const HOUR: i64 = 60 * MINUTE;

/// Nanoseconds since 1970-01-01T00:00:00Z.
///
/// Written as RFC 3339 in UTC with milliseconds (`2026-11-02T22:29:58.100Z`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Reads RFC 3339 (`2026-11-02T22:29:58.1+01:00`); `None` if it is none, or outside of what 64 bits of nanoseconds hold.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok()?.timestamp_nanos_opt().map(Self)
    }

    /// The time moved by `nanos`, held at the ends of the representable range.
    #[must_use]
    pub const fn shifted(self, nanos: i64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// `self - earlier` in nanoseconds, held at the ends of the range.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time of day in UTC, `22:29:58`, with milliseconds if `millis`.
    #[must_use]
    pub fn clock(self, millis: bool) -> String {
        let time = DateTime::<Utc>::from_timestamp_nanos(self.0);
        let format = if millis { "%H:%M:%S%.3f" } else { "%H:%M:%S" };
        time.format(format).to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            &DateTime::<Utc>::from_timestamp_nanos(self.0).to_rfc3339_opts(SecondsFormat::Millis, true),
        )
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "'{text}' is not a time: write RFC 3339 with a zone, such as 2026-11-02T20:14:07Z"
            ))
        })
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time", "description": "RFC 3339 in UTC with milliseconds" })
    }
}

/// Reads a fixed offset from UTC: `Z`, `UTC`, `+01:00`, `-0400`, `+08`. Seconds east of UTC.
#[must_use]
pub fn parse_offset(text: &str) -> Option<i32> {
    if matches!(text, "Z" | "z" | "UTC" | "GMT" | "Etc/UTC") {
        return Some(0);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, text.get(1..)?),
        b'-' => (-1, text.get(1..)?),
        _ => return None,
    };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => (rest.get(..2)?, rest.get(2..)?),
        5 => {
            if rest.as_bytes().get(2) != Some(&b':') {
                return None;
            }
            (rest.get(..2)?, rest.get(3..)?)
        }
        _ => return None,
    };
    let digits = |s: &str| if s.bytes().all(|b| b.is_ascii_digit()) { s.parse::<i32>().ok() } else { None };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    if hours > 15 || minutes > 59 {
        return None;
    }
    Some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_milliseconds() {
        let time = Timestamp::parse("2026-11-02T23:29:58.1009+01:00").unwrap();
        assert_eq!(time.to_string(), "2026-11-02T22:29:58.100Z");
        assert_eq!(time.clock(true), "22:29:58.100");
        assert_eq!(time.clock(false), "22:29:58");
    }

    #[test]
    fn a_time_without_a_zone_is_refused() {
        assert_eq!(Timestamp::parse("2026-11-02T22:29:58"), None);
        let error = serde_json::from_str::<Timestamp>("\"yesterday\"").unwrap_err();
        assert!(error.to_string().contains("RFC 3339"), "{error}");
    }

    #[test]
    fn offsets() {
        for (text, seconds) in
            [("Z", 0), ("+01:00", 3600), ("-0400", -14_400), ("+08", 28_800), ("+0530", 19_800)]
        {
            assert_eq!(parse_offset(text), Some(seconds), "{text}");
        }
        for text in ["", "+1", "+24:00", "+01:60", "Europe/Berlin", "+0x00", "é"] {
            assert_eq!(parse_offset(text), None, "{text}");
        }
    }
}
