//! Segments: what lies between line feeds and carriage returns. A progress bar that is redrawn with carriage returns is
//! many segments on one line.

use std::borrow::Cow;

use memchr::{memchr2, memrchr2};

/// Most bytes of text that are kept around a match.
pub const MAX_TEXT: usize = 8 * 1024;
/// Most bytes of a title or the like in a control sequence.
const MAX_STRING: usize = 4 * 1024;

/// The segment around an offset, as a range.
#[must_use]
pub fn around(buffer: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = buffer.get(..at).and_then(|b| memrchr2(b'\n', b'\r', b)).map_or(0, |i| i + 1);
    let end = buffer.get(at..).and_then(|b| memchr2(b'\n', b'\r', b)).map_or(buffer.len(), |i| at + i);
    start..end
}

/// The segment that starts at `start`, and where the next one starts; `None` at the end of the buffer.
#[must_use]
pub fn next(buffer: &[u8], start: usize) -> Option<(std::ops::Range<usize>, usize)> {
    let rest = buffer.get(start..).filter(|r| !r.is_empty())?;
    let end = memchr2(b'\n', b'\r', rest).map_or(buffer.len(), |i| start + i);
    Some((start..end, end + 1))
}

/// The segment before the one that starts at `start`; `None` at the start of the buffer.
#[must_use]
pub fn previous(buffer: &[u8], start: usize) -> Option<std::ops::Range<usize>> {
    let end = start.checked_sub(1)?;
    let begin = buffer.get(..end).and_then(|b| memrchr2(b'\n', b'\r', b)).map_or(0, |i| i + 1);
    Some(begin..end)
}

/// The segment without terminal control sequences (CSI and OSC). Borrowed if there are none.
#[must_use]
pub fn without_escapes(segment: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(0x1b, segment).is_none() {
        return Cow::Borrowed(segment);
    }
    let mut out = Vec::with_capacity(segment.len());
    let mut rest = segment;
    while let Some(at) = memchr::memchr(0x1b, rest) {
        let (before, sequence) = rest.split_at(at);
        out.extend_from_slice(before);
        rest = sequence.get(escape_length(sequence)..).unwrap_or(b"");
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// The length of the control sequence at the start of a text that begins with an escape character. One that does not end
/// hides nothing of what follows it.
#[must_use]
pub fn escape_length(text: &[u8]) -> usize {
    let rest = text.get(1..).unwrap_or(b"");
    match rest.first() {
        // Parameters and intermediates, then one byte from @ to ~.
        Some(b'[') => {
            let body = rest.get(1..).unwrap_or(b"");
            let length = body.iter().take_while(|b| matches!(b, 0x20..=0x3f)).count();
            2 + length + usize::from(body.get(length).is_some_and(|b| matches!(b, 0x40..=0x7e)))
        }
        // OSC, DCS, SOS, PM and APC: a text up to BEL or ST.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let body = rest.get(1..).unwrap_or(b"");
            let window = body.get(..body.len().min(MAX_STRING)).unwrap_or(body);
            match memchr2(0x07, 0x1b, window) {
                Some(end) if body.get(end) == Some(&0x07) => 2 + end + 1,
                Some(end) if body.get(end + 1) == Some(&b'\\') => 2 + end + 2,
                _ => 2,
            }
        }
        // Character sets and the like: intermediates, then one byte.
        Some(0x20..=0x2f) => {
            let length = rest.iter().take_while(|b| matches!(b, 0x20..=0x2f)).count();
            1 + length + usize::from(rest.get(length).is_some_and(|b| matches!(b, 0x30..=0x7e)))
        }
        Some(0x30..=0x7e) => 2,
        _ => 1,
    }
}

/// Text for people and digests: at most [`MAX_TEXT`] bytes around `at`, invalid bytes as U+FFFD. Says whether it is cut.
#[must_use]
pub fn text(segment: &[u8], at: usize) -> (String, bool) {
    if segment.len() <= MAX_TEXT {
        return (String::from_utf8_lossy(segment).into_owned(), false);
    }
    let start = at.saturating_sub(MAX_TEXT / 4).min(segment.len() - MAX_TEXT);
    let cut = segment.get(start..start + MAX_TEXT).unwrap_or(segment);
    // Do not begin or end within a character.
    let begin = cut.iter().take(4).position(|b| b & 0xc0 != 0x80).unwrap_or(0);
    let end = (cut.len().saturating_sub(4)..=cut.len())
        .rev()
        .find(|&e| segment.get(start + e).is_none_or(|b| b & 0xc0 != 0x80))
        .unwrap_or(cut.len());
    (String::from_utf8_lossy(cut.get(begin..end).unwrap_or(cut)).into_owned(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriage_returns_part_segments() {
        let buffer = b"one\rtwo\nthree";
        assert_eq!(&buffer[around(buffer, 5)], b"two");
        assert_eq!(&buffer[around(buffer, 12)], b"three");
        assert_eq!(next(buffer, 0), Some((0..3, 4)));
        assert_eq!(previous(buffer, 8), Some(4..7));
        assert_eq!(previous(buffer, 0), None);
        assert_eq!(next(buffer, 13), None);
    }

    #[test]
    fn escapes_are_removed() {
        let line = b"\x1b[36m(Actor pid=1)\x1b[0m \x1b]0;title\x07x\x1b]8;;u\x1b\\y\x1b";
        assert_eq!(&*without_escapes(line), b"(Actor pid=1) xy");
        assert!(matches!(without_escapes(b"plain"), Cow::Borrowed(_)));
        for (line, clean) in [
            (&b"\x1b(B\x1b[mx"[..], &b"x"[..]),
            (b"\x1b[1;31mNCCL\x1b[0m WARN", b"NCCL WARN"),
            (b"\x1b[?25lx\x1b[2K\x1b[1Gy", b"xy"),
            // What does not end hides nothing.
            (b"\x1b]0;title without an end", b"0;title without an end"),
            (b"\x1b[31", b""),
            (b"\x1b[\xc3\xa9", b"\xc3\xa9"),
            (b"\x1b\x1b[0mx", b"x"),
        ] {
            assert_eq!(&*without_escapes(line), clean);
        }
    }

    #[test]
    fn text_is_cut_at_characters() {
        let long = "é".repeat(10_000);
        for at in [0, 1, 9_999, 19_999] {
            let (text, cut) = text(long.as_bytes(), at);
            assert!(cut && text.len() <= MAX_TEXT && !text.contains('\u{fffd}'), "{at}");
        }
        assert_eq!(text(b"a\xffb", 0), ("a\u{fffd}b".to_owned(), false));
    }
}
