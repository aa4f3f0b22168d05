//! The rules that hold for what plugins write: attributes, symptom ids, names, numbers.

use std::collections::{BTreeMap, BTreeSet};

/// Pairs in one list.
pub(crate) const MAX_PAIRS: usize = 64;
/// Bytes of a key.
pub(crate) const MAX_KEY: usize = 64;
/// Bytes of a value.
pub(crate) const MAX_VALUE: usize = 8 << 10;
/// Bytes of a symptom id.
pub(crate) const MAX_SYMPTOM: usize = 128;
/// Bytes of a sentence for people.
pub(crate) const MAX_SENTENCE: usize = 4 << 10;

/// Checks a list of attributes; `Err` says what is wrong with which.
pub(crate) fn check(pairs: &[(String, String)]) -> Result<(), String> {
    if pairs.len() > MAX_PAIRS {
        return Err(format!("{} attributes, where {MAX_PAIRS} are allowed", pairs.len()));
    }
    let mut seen = BTreeSet::new();
    for (key, value) in pairs {
        if !well_formed_key(key) {
            return Err(format!("the key '{}' is not 1 to {MAX_KEY} of [a-z0-9_.]", shown(key)));
        }
        if !seen.insert(key.as_str()) {
            return Err(format!("the key '{key}' is given twice"));
        }
        if value.len() > MAX_VALUE {
            return Err(format!(
                "the value of '{key}' has {} bytes, where {MAX_VALUE} are allowed",
                value.len()
            ));
        }
    }
    Ok(())
}

/// Checks a list of attributes and makes a map of it.
pub(crate) fn map(pairs: Vec<(String, String)>) -> Result<BTreeMap<String, String>, String> {
    check(&pairs)?;
    Ok(pairs.into_iter().collect())
}

fn well_formed_key(key: &str) -> bool {
    (1..=MAX_KEY).contains(&key.len())
        && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.'))
}

/// Checks a symptom id: dotted words of `[a-z0-9_-]`.
pub(crate) fn symptom(id: &str) -> Result<(), String> {
    let word = |w: &str| {
        !w.is_empty()
            && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'))
    };
    if id.len() > MAX_SYMPTOM {
        return Err(format!(
            "the symptom '{}' has {} bytes, where {MAX_SYMPTOM} are allowed",
            shown(id),
            id.len()
        ));
    }
    if !id.split('.').all(word) {
        return Err(format!(
            "the symptom '{}' is not made of dotted lower-case words, such as xid.149",
            shown(id)
        ));
    }
    Ok(())
}

/// Checks a short machine-readable word of `[a-z0-9-]`, with underscores if `underscore`.
pub(crate) fn word(what: &str, text: &str, limit: usize, underscore: bool) -> Result<(), String> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || (underscore && b == b'_');
    if (1..=limit).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(());
    }
    let extra = if underscore { "_" } else { "" };
    Err(format!("{what} '{}' is not 1 to {limit} of [a-z0-9{extra}-]", shown(text)))
}

/// Checks the length of a sentence for people.
pub(crate) fn sentence(what: &str, text: &str) -> Result<(), String> {
    if text.len() <= MAX_SENTENCE {
        return Ok(());
    }
    Err(format!("{what} has {} bytes, where {MAX_SENTENCE} are allowed", text.len()))
}

/// The facts that others compute with hold what they must.
pub(crate) fn facts(facts: &BTreeMap<String, String>) -> Result<(), String> {
    if let Some(id) = facts.get("caused_by") {
        symptom(id).map_err(|e| format!("the fact 'caused_by': {e}"))?;
    }
    for key in ["peer_rank", "before_ms"] {
        if let Some(value) = facts.get(key) {
            value.parse::<u64>().map_err(|_| {
                format!("the fact '{key}' is '{}', where a decimal number is wanted", shown(value))
            })?;
        }
    }
    Ok(())
}

/// Guest text as part of a message.
pub(crate) fn shown(text: &str) -> String {
    crate::text::printable(text, 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn attributes_that_break_a_rule() {
        check(&[pair("a.b_2", "x"), pair("c", &"v".repeat(MAX_VALUE))]).unwrap();
        for (pairs, wants) in [
            (vec![pair("A", "")], "'A'"),
            (vec![pair("", "")], "''"),
            (vec![pair(&"k".repeat(65), "")], "1 to 64"),
            (vec![pair("a", "1"), pair("a", "1")], "twice"),
            (vec![pair("a", &"v".repeat(MAX_VALUE + 1))], "8193 bytes"),
            ((0..65).map(|i| pair(&format!("k{i}"), "")).collect(), "65 attributes"),
        ] {
            let error = check(&pairs).unwrap_err();
            assert!(error.contains(wants), "{error}");
        }
    }

    #[test]
    fn symptoms() {
        for id in ["xid.149", "nccl.watchdog_timeout", "hang"] {
            symptom(id).unwrap();
        }
        for id in ["", ".", "xid.", "Xid.1", "xid 1", "xid.*", "xid\u{1b}", &"x".repeat(129)] {
            symptom(id).unwrap_err();
        }
    }

    #[test]
    fn facts_with_a_kind() {
        let of = |key: &str, value: &str| facts(&[pair(key, value)].into_iter().collect());
        of("before_ms", "600037").unwrap();
        of("before_ms", "-1").unwrap_err();
        of("peer_rank", "x").unwrap_err();
        of("caused_by", "XID").unwrap_err();
        of("anything", "\u{0}").unwrap();
    }
}
