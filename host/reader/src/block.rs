//! Forms over several lines, assembled per writer: tracebacks of several ranks interleave.

use std::cell::Cell;
use std::ops::Range;

use firstfault_rules::matcher::{CompiledSignature, TRACEBACK};

use crate::prefix::{Identity, peel};
use crate::segment;

/// Most lines of the writer in one block.
const MAX_LINES: usize = 200;
/// Most bytes between the first and the last line of a block.
const MAX_SPAN: usize = 64 * 1024;
/// Most lines to look back for a sentence that chains tracebacks; those of other writers lie between.
const LOOK_BACK: usize = 400;

/// The exception line of a traceback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// The segment in the buffer.
    pub segment: Range<usize>,
    /// Where its message begins, within the segment.
    pub rest: usize,
}

/// Finds the exception line of the traceback whose first line is `header`. `None` if the block is torn, if it is a later
/// one of a chain (the first counts), or if its end is beyond the limits. `patience` is how many lines may still be looked at for
/// all blocks together.
#[must_use]
pub fn exception(buffer: &[u8], header: &Range<usize>, patience: &Cell<usize>) -> Option<Exception> {
    let writer = peel(&buffer[header.clone()]).identity;
    if is_chained(buffer, header.start, &writer) {
        return None;
    }
    let mut at = header.end + 1;
    let mut frames = 0_usize;
    for _ in 0..MAX_LINES * 4 {
        if at.saturating_sub(header.start) > MAX_SPAN || frames > MAX_LINES {
            return None;
        }
        let (range, after) = segment::next(buffer, at)?;
        at = after;
        // Headers by the thousand without an end are not worth reading over and over.
        patience.set(patience.get().checked_sub(1)?);
        let line = &buffer[range.clone()];
        let peeled = peel(line);
        if peeled.identity != writer {
            continue;
        }
        let message = line.get(peeled.rest..).unwrap_or(b"");
        if message.is_empty() {
            continue;
        }
        if matches!(message.first(), Some(b' ' | b'\t')) {
            frames += 1;
            continue;
        }
        if message.starts_with(TRACEBACK) {
            return None;
        }
        return names_exception(message).then_some(Exception { segment: range, rest: peeled.rest });
    }
    None
}

/// Whether a sentence before the header says that this traceback follows from another one.
fn is_chained(buffer: &[u8], start: usize, writer: &Identity) -> bool {
    let mut at = start;
    for _ in 0..LOOK_BACK {
        let Some(range) = segment::previous(buffer, at) else { return false };
        if range.start + MAX_SPAN < start {
            return false;
        }
        at = range.start;
        let line = &buffer[range];
        let peeled = peel(line);
        let message = line.get(peeled.rest..).unwrap_or(b"").trim_ascii();
        if peeled.identity != *writer || message.is_empty() {
            continue;
        }
        return message.starts_with(b"During handling of the above exception")
            || message.starts_with(b"The above exception was the direct cause");
    }
    false
}

/// `KeyError: 'x'`, `torch.OutOfMemoryError: ...`, `AssertionError`.
fn names_exception(message: &[u8]) -> bool {
    let end = message
        .iter()
        .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_')))
        .unwrap_or(message.len());
    let name = message.get(..end).unwrap_or(b"");
    let follows = message.get(end..).unwrap_or(b"");
    name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && (follows.trim_ascii().is_empty() || follows.starts_with(b":"))
}

/// A line and the next two of its writer, as far as there are any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreeLines {
    /// Without their prefixes, joined by line feeds.
    pub text: Vec<u8>,
    /// Their segments in the buffer; fewer than three at the end of a stream.
    pub segments: Vec<Range<usize>>,
}

impl ThreeLines {
    /// The stretch of the buffer that a signature matches; `None` if it does not.
    #[must_use]
    pub fn matched(&self, signature: &CompiledSignature) -> Option<Range<usize>> {
        let found = signature.pattern()?.find(&self.text)?;
        let lines = self.text.get(..found.end())?.iter().filter(|b| **b == b'\n').count();
        Some(self.segments.first()?.start..self.segments.get(lines)?.end)
    }
}

/// The line at `first` and the next two of the same writer.
#[must_use]
pub fn three_lines(buffer: &[u8], first: &Range<usize>) -> Option<ThreeLines> {
    let head = &buffer[first.clone()];
    let peeled = peel(head);
    let mut text = head.get(peeled.rest..)?.to_vec();
    let mut segments = vec![first.clone()];
    let mut at = first.end + 1;
    for _ in 0..16 {
        let Some((range, after)) = segment::next(buffer, at) else { break };
        at = after;
        let line = &buffer[range.clone()];
        let next = peel(line);
        let same = next.identity == peeled.identity || next.identity == Identity::default();
        let message = line.get(next.rest..).unwrap_or(b"").trim_ascii_start();
        if !same || message.is_empty() {
            continue;
        }
        text.push(b'\n');
        text.extend_from_slice(message);
        segments.push(range);
        if segments.len() == 3 {
            break;
        }
    }
    Some(ThreeLines { text, segments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_exception(text: &str) -> Option<&str> {
        let at = text.find("Traceback")?;
        let header = segment::around(text.as_bytes(), at);
        exception(text.as_bytes(), &header, &Cell::new(1000))
            .map(|e| &text[e.segment.start + e.rest..e.segment.end])
    }

    #[test]
    fn interleaved_tracebacks_are_told_apart() {
        let text = "[rank1]: Traceback (most recent call last):\n[rank2]: Traceback (most recent call last):\n\
                    [rank1]:   File \"a.py\", line 1, in f\n[rank2]:   File \"b.py\", line 2, in g\n\
                    [rank2]: ValueError: two\n[rank1]:     x()\n[rank1]: KeyError: 'one'\n";
        assert_eq!(first_exception(text), Some("KeyError: 'one'"));
        assert_eq!(first_exception(&text[text.find("[rank2]").unwrap()..]), Some("ValueError: two"));
    }

    #[test]
    fn the_first_of_a_chain_counts() {
        let text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'x'\n\n\
                    During handling of the above exception, another exception occurred:\n\n\
                    Traceback (most recent call last):\n  File \"b.py\", line 1, in g\nValueError: y\n";
        assert_eq!(first_exception(text), Some("KeyError: 'x'"));
        let second = text.rfind("Traceback").unwrap();
        let header = segment::around(text.as_bytes(), second);
        assert_eq!(exception(text.as_bytes(), &header, &Cell::new(1000)), None);
    }

    #[test]
    fn torn_tracebacks_give_nothing() {
        for text in [
            "Traceback (most recent call last):\n  File \"a.py\", line 1\n",
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nTraceback (most recent call last):\n",
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nepoch 3, loss 1.0\n",
        ] {
            assert_eq!(first_exception(text), None, "{text}");
        }
    }

    #[test]
    fn three_lines_are_joined_without_their_prefixes() {
        let text = b"[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0\n               NVRM: (PCI ID: 10de:26b5) installed\n               NVRM: fallen off the bus\nmore\n";
        let block = three_lines(text, &segment::around(text, 20)).unwrap();
        assert_eq!(block.text, b"NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed\nNVRM: fallen off the bus");
        assert_eq!(block.segments[2].end, text.len() - 6);
    }
}
