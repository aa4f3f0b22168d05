//! Durations as packs write them: `500ms`, `30s`, `15m`, `2h`, `1d`.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de::Error as _};

/// Nanoseconds, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(pub i64);

impl Span {
    /// Reads a number with a unit.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let cut = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at(cut);
        let factor: i64 = match unit {
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ => return None,
        };
        number.parse::<i64>().ok()?.checked_mul(factor).map(Self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            D::Error::custom(format!("'{text}' is not a duration: write 500ms, 30s, 15m, 2h or 1d"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(Span::parse("15m"), Some(Span(900_000_000_000)));
        assert_eq!(Span::parse("0s"), Some(Span(0)));
        for text in ["", "15", "m", "-1s", "1.5s", "1w", "99999999999999999999s", "9999999999999d"] {
            assert_eq!(Span::parse(text), None, "{text}");
        }
    }
}
