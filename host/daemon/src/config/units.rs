//! `90d`, `16MiB`: numbers with units.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

const SPANS: &[(&str, u64)] = &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const SIZES: &[(&str, u64)] =
    &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

fn read(text: &str, units: &[(&str, u64)]) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text.get(digits.len()..).unwrap_or_default().trim();
    let names = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let wrong = || format!("'{text}' is not a whole number with one of the units {}", names());
    let factor = units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1;
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(|| format!("'{text}' is too much"))
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        read(&text, SPANS).map(|millis| Self(Duration::from_millis(millis))).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        read(&text, SIZES).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        assert_eq!(read("5m", SPANS), Ok(300_000));
        assert_eq!(read("16 MiB", SIZES), Ok(16 << 20));
        for wrong in ["", "5", "m", "5 parsecs", "-1s", "1.5h", "99999999999999999999d"] {
            assert!(read(wrong, SPANS).is_err(), "{wrong}");
        }
        assert!(read("99999999999TiB", SIZES).unwrap_err().contains("too much"));
    }
}
