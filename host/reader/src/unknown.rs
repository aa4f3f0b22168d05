//! Error-like lines that no rule knows. They are looked for where something went wrong, never in all that is read: healthy jobs
//! write such lines by the thousand.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use firstfault_model::context::ExecutionContext;
use firstfault_model::focus::{Focus, Spot, UnknownLine};
use firstfault_model::hit::{Hit, Position, Stamp};
use firstfault_model::time::{MINUTE, Timestamp};
use firstfault_rules::matcher::Matcher;
use firstfault_rules::pack::Block;

use crate::bytes::{self, Encoding};
use crate::clock::{Clock, Learned};
use crate::input::Input;
use crate::kept;
use crate::prefix::peel;
use crate::read::{Dating, ReaderLimits};
use crate::segment;

/// Bytes that are looked at before an offset, and behind it.
const REACH: u64 = 64 << 10;
/// Bytes that are looked at from a time on.
const WINDOW: u64 = 1 << 20;
/// How far the lines around an offset may lie from its time.
const AROUND: i64 = 2 * MINUTE;
/// Lines kept of one stream, and of all.
const OF_STREAM: usize = 4;
const OF_ALL: usize = 16;
/// Bytes of a compressed stream that are decompressed again.
const DECOMPRESSED: u64 = 64 << 20;
/// Halvings of a stream that find a time in it.
const HALVINGS: usize = 40;
/// Bytes in which a stamp is looked for at each halving.
const PROBE: u64 = 16 << 10;

/// Words of those who report that something failed.
const WORDS: [&str; 39] = [
    "error",
    "errors",
    "exception",
    "fatal",
    "failed",
    "failure",
    "failures",
    "fail",
    "panic",
    "panicked",
    "aborted",
    "aborting",
    "segfault",
    "segmentation fault",
    "bus error",
    "corrupt",
    "corrupted",
    "corruption",
    "timed out",
    "timeout",
    "refused",
    "unreachable",
    "denied",
    "killed",
    "terminated",
    "crashed",
    "died",
    "assertion",
    "cannot",
    "could not",
    "unable to",
    "no space left",
    "not found",
    "invalid",
    "lost",
    "stuck",
    "hung",
    "oops",
    "critical",
];

/// What was read before.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The inputs, in the order of the streams.
    pub inputs: &'a [Input],
    /// How their stamps become times.
    pub dating: &'a Dating,
    /// The hits, in canonical order.
    pub hits: &'a [Hit],
}

/// The lines, in canonical order.
#[must_use]
pub fn unknown_lines(
    before: Before<'_>,
    focus: &[Focus],
    matcher: &Matcher,
    context: &ExecutionContext,
    limits: &ReaderLimits,
) -> Vec<UnknownLine> {
    let clock = Clock {
        context,
        year: limits.year,
        zone: limits.zone,
        learned: Learned::default(),
        confirmed: before.dating.confirmed,
    };
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for focus in focus {
        let index = focus.stream as usize;
        let Some(input) = before.inputs.get(index) else { continue };
        let hint = before.dating.hints.get(index).copied().flatten();
        let clock = clock.knowing(before.dating.learned.get(index).copied().unwrap_or_default());
        let looker = Looker { input, clock: &clock, hint, matcher, hits: before.hits, stream: focus.stream };
        // A stream that cannot be read again says nothing more.
        out.extend(looker.lines(focus.spot, &mut seen).unwrap_or_default());
        if out.len() >= OF_ALL {
            out.truncate(OF_ALL);
            break;
        }
    }
    out
}

/// A line that is found.
struct Found {
    range: Range<usize>,
    /// Its own time.
    own: Option<Stamp>,
    /// The latest time up to it.
    latest: Option<Stamp>,
}

struct Looker<'a> {
    input: &'a Input,
    clock: &'a Clock<'a>,
    hint: Option<i64>,
    matcher: &'a Matcher,
    hits: &'a [Hit],
    stream: u32,
}

impl Looker<'_> {
    fn lines(&self, spot: Spot, seen: &mut BTreeSet<Vec<u8>>) -> io::Result<Vec<UnknownLine>> {
        let content = Content::open(self.input)?;
        let length = content.length();
        let (from, to, window) = match spot {
            Spot::End => (length.saturating_sub(REACH), length, None),
            Spot::Around(at) => {
                let near = |t: Stamp| (t.time.shifted(-AROUND), t.time.shifted(AROUND));
                let time = self.own_hits().find(|h| h.first.offset == at).and_then(|h| h.first_time);
                (at.saturating_sub(REACH), (at + REACH).min(length), time.map(near))
            }
            Spot::Between(from, to) => {
                let start = self.start_of(&content, from, length)?;
                (start, (start + WINDOW).min(length), Some((from, to)))
            }
        };
        let buffer = content.range(from, to)?;
        // The first line is cut, unless it is the stream's.
        let begin = if from == 0 {
            0
        } else {
            memchr::memchr2(b'\n', b'\r', &buffer).map_or(buffer.len(), |i| i + 1)
        };
        let mut found: Vec<Found> = Vec::new();
        let mut latest = None;
        let mut at = begin;
        while let Some((range, after)) = segment::next(&buffer, at) {
            at = after;
            let line = segment::without_escapes(&buffer[range.clone()]);
            let peeled = peel(&line);
            let own =
                peeled.stamp.and_then(|raw| self.clock.resolve(&raw, &self.input.name, self.hint, false));
            latest = own.or(latest);
            let outside = |t: Stamp| window.is_some_and(|(from, to)| t.time < from || t.time > to);
            if latest.is_some_and(outside)
                || !looks_like_an_error(&line)
                || self.is_known(&line, from + range.start as u64)
            {
                continue;
            }
            found.push(Found { range, own, latest });
        }
        match spot {
            Spot::Around(at) => found.sort_by_key(|f| (from + f.range.start as u64).abs_diff(at)),
            Spot::Between(from, to) => {
                let middle = from.shifted(to.since(from) / 2);
                found.sort_by_key(|f| f.latest.map_or(i64::MAX, |t| t.time.since(middle).saturating_abs()));
            }
            Spot::End => {}
        }
        let is_new = |f: &Found| seen.insert(shape(&buffer[f.range.clone()]));
        let mut kept: Vec<Found> = found.into_iter().filter(is_new).take(OF_STREAM).collect();
        kept.sort_by_key(|f| f.range.start);
        let Some(first) = kept.first() else { return Ok(Vec::new()) };
        let mut number = 1 + content.newlines(0, from + first.range.start as u64)?;
        let mut counted = first.range.start;
        let mut out = Vec::new();
        for Found { range, own: time, .. } in kept {
            number += memchr::memchr_iter(b'\n', &buffer[counted..range.start]).count() as u64;
            counted = range.start;
            let line = segment::without_escapes(&buffer[range.clone()]);
            let (text, cut) = kept::text(&line, 0);
            let behind = (to == length).then(|| lines_with_text(&buffer[range.end..]));
            out.push(UnknownLine {
                behind,
                at: Position { stream: self.stream, offset: from + range.start as u64 },
                line_number: number,
                text,
                cut,
                time,
                node: peel(&line).identity.host.map(|h| crate::locate::node_name(&h, self.clock.context)),
            });
        }
        Ok(out)
    }

    /// The hits of this stream.
    fn own_hits(&self) -> impl Iterator<Item = &Hit> {
        let hits = self.hits;
        let start = hits.partition_point(|h| h.first.stream < self.stream);
        hits.get(start..).unwrap_or(&[]).iter().take_while(|h| h.first.stream == self.stream)
    }

    /// Whether a rule knows the line, or it belongs to a block that one knows.
    fn is_known(&self, line: &[u8], offset: u64) -> bool {
        let in_block = self.own_hits().any(|h| {
            h.first.offset == offset
                || (offset >= h.first.offset && offset < h.first.offset + h.text.len() as u64)
        });
        let by_rule = |index: &u32| {
            self.matcher.signature(*index).is_some_and(|s| {
                s.spec.block != Block::Traceback && s.pattern().is_some_and(|p| p.is_match(line))
            })
        };
        let as_exception = || {
            let message = peel(line).rest;
            let message = line.get(message..).unwrap_or(line);
            self.matcher.tracebacks().iter().any(|index| {
                self.matcher.signature(*index).and_then(|s| s.pattern()).is_some_and(|p| p.is_match(message))
            })
        };
        in_block || self.matcher.candidates(line).iter().any(by_rule) || as_exception()
    }

    /// Where the lines from a time on begin, if stamps ascend; as far as stamps tell.
    fn start_of(&self, content: &Content, from: Timestamp, length: u64) -> io::Result<u64> {
        let (mut low, mut high) = (0, length);
        for _ in 0..HALVINGS {
            if high - low <= REACH / 4 {
                break;
            }
            let middle = low + (high - low) / 2;
            let buffer = content.range(middle, (middle + PROBE).min(length))?;
            let mut at = memchr::memchr(b'\n', &buffer).map_or(buffer.len(), |i| i + 1);
            let mut time = None;
            while time.is_none()
                && let Some((range, after)) = segment::next(&buffer, at)
            {
                at = after;
                let raw = peel(&buffer[range]).stamp;
                time = raw.and_then(|raw| self.clock.resolve(&raw, &self.input.name, self.hint, false));
            }
            match time {
                Some(time) if time.time < from => low = middle,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}

fn lines_with_text(rest: &[u8]) -> u32 {
    let lines = rest.split(|b| matches!(b, b'\n' | b'\r')).filter(|line| !line.trim_ascii().is_empty());
    u32::try_from(lines.count()).unwrap_or(u32::MAX)
}

/// Whether a line reads as if something failed, and is no setting, count of none or message for information.
fn looks_like_an_error(line: &[u8]) -> bool {
    static WORD: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(WORDS)
            .ok()
    });
    let Some(words) = WORD.as_ref() else { return false };
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'=' | b'-' | b'/' | b'.');
    let found = words.find_iter(line).any(|m| {
        let before = m.start().checked_sub(1).and_then(|i| line.get(i));
        let word = line.get(m.range()).unwrap_or(b"");
        // `RuntimeError` is a word of two.
        let is_name =
            word.first().is_some_and(u8::is_ascii_uppercase) && before.is_some_and(u8::is_ascii_lowercase);
        let starts = is_name || !before.is_some_and(is_part);
        let ends = !line.get(m.end()).is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'='));
        starts && ends && !is_none(line.get(m.end()..).unwrap_or(b""))
    });
    found && !is_informative(line) && !is_scaffold(line)
}

/// Lines of stack traces and of launchers' reports that say where, not what.
fn is_scaffold(line: &[u8]) -> bool {
    let scaffolds: [&[u8]; 8] = [
        b"frame #",
        b"Exception raised from ",
        b"The above exception was the direct cause",
        b"During handling of the above exception",
        b"Root Cause (first observed failure)",
        b".py FAILED",
        b"Failures:",
        b"Last error:",
    ];
    scaffolds.iter().any(|s| memchr::memmem::find(line, s).is_some())
}

/// `errors: 0`, `error_file: <N/A>`
fn is_none(rest: &[u8]) -> bool {
    let Some(value) = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start) else { return false };
    let none: [&[u8]; 5] = [b"none", b"null", b"<n/a>", b"[]", b"false"];
    let zero = value.first() == Some(&b'0')
        && !value.get(1).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'.');
    zero || none.iter().any(|n| value.get(..n.len()).is_some_and(|v| v.eq_ignore_ascii_case(n)))
}

fn is_informative(line: &[u8]) -> bool {
    let levels: [&[u8]; 6] = [b" INFO ", b"[INFO]", b" INFO:", b"INFO:", b" DEBUG ", b"[DEBUG]"];
    levels.iter().any(|level| memchr::memmem::find(line, level).is_some())
}

/// A line without what tells it from others of its kind.
fn shape(line: &[u8]) -> Vec<u8> {
    line.iter().filter(|b| !b.is_ascii_digit()).copied().collect()
}

/// A stream's bytes, to be read at any place.
struct Content {
    parts: Vec<(u64, Bytes)>,
}

enum Bytes {
    File(File, u64),
    Memory(Vec<u8>),
}

impl Bytes {
    fn length(&self) -> u64 {
        match self {
            Self::File(_, length) => *length,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl Content {
    fn open(input: &Input) -> io::Result<Self> {
        let mut parts = Vec::new();
        let mut base = 0;
        let mut left = DECOMPRESSED;
        for part in &input.parts {
            let file = part.open()?;
            let bytes = match bytes::encoding(&file)? {
                Encoding::Plain => {
                    let length = file.metadata()?.len();
                    Bytes::File(file, length)
                }
                encoding => {
                    let mut memory = Vec::new();
                    // What comes before the damage of a damaged file was read too.
                    _ = bytes::decoder(file, encoding)?.take(left).read_to_end(&mut memory);
                    left -= memory.len() as u64;
                    Bytes::Memory(memory)
                }
            };
            let length = bytes.length();
            parts.push((base, bytes));
            base += length;
            if left == 0 {
                break;
            }
        }
        Ok(Self { parts })
    }

    fn length(&self) -> u64 {
        self.parts.last().map_or(0, |(base, bytes)| base + bytes.length())
    }

    fn range(&self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        for (base, bytes) in &self.parts {
            let start = from.max(*base) - base;
            let end = to.min(base + bytes.length()).saturating_sub(*base);
            if start >= end {
                continue;
            }
            let (Ok(first), Ok(length)) = (usize::try_from(start), usize::try_from(end - start)) else {
                continue;
            };
            match bytes {
                Bytes::Memory(memory) => {
                    out.extend_from_slice(memory.get(first..first + length).unwrap_or(b""))
                }
                Bytes::File(file, _) => {
                    let mut buffer = Vec::new();
                    let have = bytes::read_range(file, start, length, &mut buffer)?;
                    out.extend_from_slice(buffer.get(..have).unwrap_or(b""));
                }
            }
        }
        Ok(out)
    }

    fn newlines(&self, from: u64, to: u64) -> io::Result<u64> {
        const STEP: u64 = 4 << 20;
        let mut count = 0;
        let mut at = from;
        while at < to {
            let end = (at + STEP).min(to);
            count += memchr::memchr_iter(b'\n', &self.range(at, end)?).count() as u64;
            at = end;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_like_an_error() {
        for line in [
            "storage client: request failed after 3 tries",
            "FooBarError: the frobnicator is gone",
            "ERROR: cannot open shard 17",
            "2026-11-02 20:00:00 E worker lost its lease",
            "widget driver: unable to reset engine",
        ] {
            assert!(looks_like_an_error(line.as_bytes()), "{line}");
        }
        for line in [
            "step 10 loss 2.1",
            "NCCL INFO TORCH_NCCL_ASYNC_ERROR_HANDLING set by environment to 1",
            "  error_file: <N/A>",
            "errors: 0, retries: 1",
            "2026-11-02 20:00:00 INFO retried after a failed lookup",
            "timeout=600 max_failed=3",
            "terror and dropout",
            "frame #3: foo::Error::Error(int) + 0x42 (0x7f in libfoo.so)",
            "The above exception was the direct cause of the following exception:",
        ] {
            assert!(!looks_like_an_error(line.as_bytes()), "{line}");
        }
    }
}
