//! Makes text of unknown origin safe to show on a terminal.
//!
//! Logs hold whatever a process wrote: a raw escape sequence could recolour or clear the screen, and a bidirectional
//! override could reorder a line so that it reads as something else. Such characters are written out instead.

/// The text with control, bidirectional and invisible characters as `\n`, `\x1b`, `\u{202e}`. What is escaped stays as it is
/// when it is escaped again.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if is_deceptive(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Characters that are not controls and still change how the text around them looks, or cannot be seen at all.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_directions_are_written_out() {
        for (text, wants) in [
            ("plain é 漢", "plain é 漢"),
            ("\u{1b}[31mred\u{7}", "\\x1b[31mred\\x07"),
            ("a\tb\r\nc\0", "a\\tb\\r\\nc\\x00"),
            ("\u{9b}2J\u{7f}", "\\x9b2J\\x7f"),
            ("ok\u{202e}txt.exe\u{2066}", "ok\\u{202e}txt.exe\\u{2066}"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
        ] {
            assert_eq!(escape(text), wants);
            assert_eq!(escape(&escape(text)), wants, "a second time");
        }
    }
}
