//! Canonical JSON (RFC 8785) and digests.
//!
//! The diagnosis holds integers below 2^53, strings, booleans, lists and objects; of RFC 8785 only the order of keys and
//! the escaping of strings matter then. `serde_json` escapes strings as the RFC demands.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A value that has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum CanonicalError {
    /// It cannot be written as JSON at all.
    #[error("cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A number that is no integer, or too large to be exact everywhere.
    #[error("the number {0} is not an integer below 2^53; write it as a string")]
    Number(String),
}

/// Writes a value as canonical JSON.
///
/// # Errors
/// A number that is not an integer below 2^53 in magnitude.
pub fn to_canonical_json<T: Serialize>(value: &T) -> Result<String, CanonicalError> {
    let mut out = String::new();
    write(&serde_json::to_value(value)?, &mut out)?;
    Ok(out)
}

fn write(value: &Value, out: &mut String) -> Result<(), CanonicalError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => {
            let limit = 1_i64 << 53;
            match n.as_i64() {
                Some(i) if i.abs() < limit => _ = write!(out, "{i}"),
                _ => return Err(CanonicalError::Number(n.to_string())),
            }
        }
        Value::String(s) => out.push_str(&serde_json::to_string(s)?),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            // Keys are ordered by their UTF-16 code units.
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&serde_json::to_string(key)?);
                out.push(':');
                if let Some(item) = map.get(key) {
                    write(item, out)?;
                }
            }
            out.push('}');
        }
    }
    Ok(())
}

/// `sha256:` and the digest in lower-case hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    hex_digest(&Sha256::digest(bytes))
}

fn hex_digest(hash: &[u8]) -> String {
    let mut out = String::with_capacity(7 + 64);
    out.push_str("sha256:");
    for byte in hash {
        _ = write!(out, "{byte:02x}");
    }
    out
}

/// A digest over parts, each framed by its length, so that moving a byte from one part to the next changes it.
#[derive(Debug, Clone, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// Starts; `domain` keeps digests of different kinds apart.
    #[must_use]
    pub fn new(domain: &str) -> Self {
        let mut digester = Self::default();
        digester.part(domain.as_bytes());
        digester
    }

    /// Adds a part.
    pub fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    /// The digest so far.
    #[must_use]
    pub fn finish(self) -> String {
        hex_digest(&self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_and_no_space_is_left() {
        let value = json!({"b": [1, true, null], "a": {"z": "\u{1}\"é", "\u{20ac}": 1, "\u{1f600}": 2}});
        // U+1F600 is a surrogate pair (d83d ...) and comes before U+FB33 but after U+20AC in UTF-16.
        assert_eq!(
            to_canonical_json(&value).unwrap(),
            "{\"a\":{\"z\":\"\\u0001\\\"é\",\"€\":1,\"😀\":2},\"b\":[1,true,null]}"
        );
    }

    #[test]
    fn inexact_numbers_are_refused() {
        assert!(to_canonical_json(&json!(1.5)).is_err());
        assert!(to_canonical_json(&json!(1_u64 << 53)).is_err());
        assert!(to_canonical_json(&json!((1_u64 << 53) - 1)).is_ok());
    }

    #[test]
    fn parts_are_framed() {
        let make = |a: &[u8], b: &[u8]| {
            let mut digester = Digester::new("test");
            digester.part(a);
            digester.part(b);
            digester.finish()
        };
        assert_ne!(make(b"ab", b"c"), make(b"a", b"bc"));
        assert_eq!(digest(b""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
