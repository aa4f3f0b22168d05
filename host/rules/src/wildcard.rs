//! Symptom patterns: an id (`xid.149`), or a prefix with a star (`xid.*`).

/// Whether `id` falls under `pattern`.
#[must_use]
pub fn matches(pattern: &str, id: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => id.starts_with(prefix),
        None => pattern == id,
    }
}

/// Whether `text` is a well-formed id or pattern: lower-case dotted parts, at most 64 bytes, a star only at the end and
/// only after a dot.
#[must_use]
pub fn is_well_formed(text: &str, star: bool) -> bool {
    let body = if star { text.strip_suffix(".*").unwrap_or(text) } else { text };
    !body.is_empty()
        && text.len() <= 64
        && body.split('.').all(|part| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("xid.*", "xid.149"));
        assert!(!matches("xid.*", "xidx.1"));
        assert!(matches("xid.14", "xid.14"));
        assert!(!matches("xid.14", "xid.149"));
        assert!(is_well_formed("xid.*", true));
        for text in ["", "xid*", "Xid.1", "xid..1", "xid.", "*", "x y"] {
            assert!(!is_well_formed(text, true), "{text}");
        }
        assert!(!is_well_formed("xid.*", false));
    }
}
