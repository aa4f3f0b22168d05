//! Breaks text into lines of a given width, counted in characters. What comes out is escaped.

use crate::escape::escape;

/// Number of characters.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// A space at which prose is not broken; shown as any other.
pub(crate) const GLUE: char = '\u{a0}';

/// Prose in lines of at most `limit` characters, broken at spaces; a word that is longer is broken where it must be.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() && c != GLUE).filter(|w| !w.is_empty()) {
        let word = escape(word).replace(GLUE, " ");
        for piece in pieces(&word, limit) {
            let room = width(&line) + usize::from(!line.is_empty()) + width(&piece);
            if !line.is_empty() && room > limit {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&piece);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// One line of a log in at most `rows` lines of at most `limit` characters, with an ellipsis where more is left out. Spaces are
/// kept, except where a line is broken: at a space, if one is near.
pub(crate) fn fold(text: &str, limit: usize, rows: usize) -> Vec<String> {
    let (limit, rows) = (limit.max(2), rows.max(1));
    let chars: Vec<char> = escape(text.trim_end()).chars().collect();
    let mut lines = Vec::new();
    let mut rest = chars.as_slice();
    while rest.len() > limit {
        if lines.len() + 1 == rows {
            lines.push(cut(&rest.iter().collect::<String>(), limit));
            return lines;
        }
        let near = limit - limit / 4;
        let at =
            rest.iter().take(limit + 1).rposition(|c| *c == ' ').filter(|at| *at >= near).unwrap_or(limit);
        let (line, next) = rest.split_at(at);
        lines.push(line.iter().collect::<String>().trim_end().to_owned());
        let blanks = next.iter().take_while(|c| **c == ' ').count();
        rest = next.get(blanks..).unwrap_or_default();
    }
    lines.push(rest.iter().collect());
    lines
}

/// A command in lines of at most `limit` characters, broken only where a shell lets it go on behind a backslash: between words,
/// outside of quotes.
pub(crate) fn command(text: &str, limit: usize) -> Vec<String> {
    let text = escape(text.trim());
    if width(&text) <= limit {
        return vec![text];
    }
    let mut lines = vec![String::new()];
    for word in shell_words(&text) {
        if let Some(line) = lines.last_mut() {
            if line.is_empty() {
                line.push_str(&word);
            } else if width(line) + 1 + width(&word) + 2 <= limit {
                line.push(' ');
                line.push_str(&word);
            } else {
                line.push_str(" \\");
                lines.push(word);
            }
        }
    }
    lines
}

fn shell_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (None, ' ') => {
                words.push(String::new());
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

/// The text, or as much of it as fits with an ellipsis at its end.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    let text = escape(text);
    if width(&text) <= limit {
        return text;
    }
    if limit == 0 {
        return String::new();
    }
    let kept: String = text.chars().take(limit - 1).collect();
    format!("{}…", kept.trim_end())
}

fn pieces(word: &str, limit: usize) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    chars.chunks(limit).map(|c| c.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_at_spaces() {
        assert_eq!(wrap("one two  three\nfour", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap(" \t", 9), Vec::<String>::new());
        assert_eq!(wrap("é\u{1b}b", 9), ["é\\x1bb"]);
        assert_eq!(wrap("for 10\u{a0}min", 7), ["for", "10 min"]);
    }

    #[test]
    fn a_long_line_is_folded_and_then_cut() {
        assert_eq!(fold("short", 10, 2), ["short"]);
        assert_eq!(fold("aaaa bbbb cccc dddd", 10, 3), ["aaaa bbbb", "cccc dddd"]);
        assert_eq!(fold("aaaa bbbb cccc dddd eeee", 10, 2), ["aaaa bbbb", "cccc dddd…"]);
        assert_eq!(fold("abcdefghijklmnop", 8, 1), ["abcdefg…"]);
        assert_eq!(fold("    indented", 20, 1), ["    indented"]);
    }

    #[test]
    fn a_command_is_broken_outside_of_quotes() {
        assert_eq!(command("ls -l", 9), ["ls -l"]);
        assert_eq!(
            command("show --since '10:00 a b c d' now", 20),
            ["show --since \\", "'10:00 a b c d' \\", "now"]
        );
    }

    #[test]
    fn nothing_is_wider_than_asked() {
        let text = "x".repeat(33) + " \u{202e}" + &"yz ".repeat(40);
        for limit in 2..40 {
            for line in
                wrap(&text, limit).iter().chain(&fold(&text, limit, 3)).chain(&vec![cut(&text, limit)])
            {
                assert!(width(line) <= limit, "{limit}: {line}");
            }
        }
    }
}
