//! Text from plugins, made fit for logs and terminals.

use std::fmt::Write as _;

/// The text with control characters escaped, cut at `limit` bytes.
pub(crate) fn printable(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit));
    for c in text.chars() {
        let before = out.len();
        if c.is_control() || is_reordering(c) {
            // Writing to a string cannot fail.
            write!(out, "{}", c.escape_default()).ok();
        } else {
            out.push(c);
        }
        if out.len() > limit {
            out.truncate(before);
            out.push_str("...");
            break;
        }
    }
    out
}

/// Characters that change the order of what is shown after them.
const fn is_reordering(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31m\nb\tü", 100), "a\\u{1b}[31m\\nb\\tü");
        assert_eq!(printable("\u{202e}abc", 100), "\\u{202e}abc");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(printable("aüüü", 4), "aü...");
        assert_eq!(printable("abcd", 4), "abcd");
    }
}
