//! What is kept of a line: text for people and digests, and captures, both without secrets.

use std::ops::Range;

use firstfault_rules::redact;

use crate::segment::{self, MAX_TEXT};

/// Bytes around what is kept in which secrets are looked for. What is kept of a longer line lies well within.
const NEIGHBOURHOOD: usize = 4 * MAX_TEXT;
/// Most characters of a capture.
const MAX_CAPTURE: usize = 1024;

/// The text around `at`: at most [`MAX_TEXT`] bytes, secrets replaced, invalid bytes as U+FFFD. Says whether it is cut.
#[must_use]
pub fn text(line: &[u8], at: usize) -> (String, bool) {
    let near = neighbourhood(line, at..at);
    let at = at.min(line.len()).saturating_sub(near.start);
    let part = line.get(near).unwrap_or(line);
    let secrets = redact::secrets(part);
    let (text, cut) = if secrets.is_empty() {
        segment::text(part, at)
    } else {
        let before = redact::without(part, 0..at, &secrets).len();
        segment::text(&redact::without(part, 0..part.len(), &secrets), before)
    };
    (text, cut || part.len() < line.len())
}

/// Captures of a line, secrets replaced.
#[must_use]
pub fn captures<'n>(line: &[u8], found: &[(&'n str, Range<usize>)]) -> Vec<(&'n str, String)> {
    let Some(first) = found.iter().map(|(_, range)| range.start).min() else { return Vec::new() };
    let last =
        found.iter().map(|(_, range)| range.end.min(range.start + NEIGHBOURHOOD)).max().unwrap_or(first);
    let near = neighbourhood(line, first..last);
    let part = line.get(near.clone()).unwrap_or(line);
    let secrets = redact::secrets(part);
    let one = |range: &Range<usize>| {
        let range =
            range.start.saturating_sub(near.start)..range.end.saturating_sub(near.start).min(part.len());
        if secrets.is_empty() {
            return part.get(range).unwrap_or(b"").to_vec();
        }
        redact::without(part, range, &secrets)
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).chars().take(MAX_CAPTURE).collect();
    found.iter().map(|(name, range)| (*name, text(one(range)))).collect()
}

fn neighbourhood(line: &[u8], kept: Range<usize>) -> Range<usize> {
    let start = kept.start.min(line.len()).saturating_sub(NEIGHBOURHOOD);
    start..line.len().min(kept.end.saturating_add(NEIGHBOURHOOD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_around_a_match_has_no_secret_however_long_the_line() {
        for pad in [0, 100, 7_000, 40_000, 10_000_000] {
            let line = format!("{} password=hunter2 {}", "x".repeat(pad), "y".repeat(pad));
            let (text, _) = text(line.as_bytes(), pad + 1);
            assert!(text.contains("password=[redacted:secret]") && !text.contains("hunter"), "{pad}");
            assert!(text.len() <= MAX_TEXT, "{pad}");
        }
    }

    #[test]
    fn captures_have_no_secret() {
        let line = b"open s3://u:topsecret@h/x failed";
        let found = captures(line, &[("url", 5..24), ("rest", 16..24), ("word", 26..32)]);
        assert_eq!(found[0].1, "s3://u:[redacted:password]@h/");
        assert_eq!(found[1].1, "[redacted:password]@h/");
        assert_eq!(found[2], ("word", "failed".to_owned()));
    }
}
