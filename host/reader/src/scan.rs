//! One chunk of a stream: candidates, patterns, collapsed hits.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use firstfault_model::context::ExecutionContext;
use firstfault_model::source::Source;
use firstfault_model::stream::StreamName;
use firstfault_model::time::MINUTE;
use firstfault_rules::matcher::{CompiledSignature, Matcher, TRACEBACK};
use firstfault_rules::pack::Block;

use crate::block;
use crate::clock::Clock;
use crate::collapse::{Collapse, Collapsed, Key, Seen};
use crate::glued;
use crate::kept;
use crate::known;
use crate::locate;
use crate::prefix::peel;
use crate::probe::{Probes, RawMark};
use crate::segment;
use crate::stamp::RawStamp;

/// How far a line's neighbourhood reaches back from the start of a chunk.
pub const LOOK_BACK: usize = 64 * 1024;
/// How far it reaches on from the end of a chunk.
pub const LOOK_AHEAD: usize = 256 * 1024;
/// What names the kernel as the writer of a line of a system log.
const KERNEL: &[u8] = b" kernel: ";
/// Lines to go back for a stamp.
const NEIGHBOUR_LINES: usize = 400;
/// Lines at either end of a stream that are looked at for its first and last time.
const EDGE_LINES: usize = 40;

/// Lines at the start of a stream that are looked at for the host that wrote it.
const HOST_LINES: usize = 200;
/// Lines of a chunk that may be looked at for the ends of tracebacks.
const PATIENCE: usize = 200_000;

/// What is the same for all chunks.
#[derive(Debug)]
pub struct Scanner<'a> {
    /// The signatures.
    pub matcher: &'a Matcher,
    /// The probes.
    pub probes: &'a Probes<'a>,
    /// The context, for places.
    pub context: &'a ExecutionContext,
    /// Tells what was before the attempt.
    pub clock: Clock<'a>,
    /// Most collapsed hits of a stream.
    pub cap: usize,
    /// Bytes at a stream's end in which progress is looked for.
    pub tail: usize,
}

/// A chunk as it lies in memory.
#[derive(Debug, Clone)]
pub struct Window<'a> {
    /// The bytes, with what lies around the chunk.
    pub buffer: &'a [u8],
    /// The chunk within the buffer: lines that start here are its own.
    pub own: Range<usize>,
    /// Offset of the buffer in the stream.
    pub base: u64,
    /// Whether the chunk is the stream's last.
    pub is_last: bool,
}

/// What a chunk holds.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Collapsed hits; offsets absolute, lines from the chunk's start.
    pub hits: Collapse,
    /// Line feeds.
    pub newlines: u64,
    /// Bytes of the chunk itself.
    pub bytes: u64,
    /// Segments that some signature matched.
    pub matched: u64,
    /// Notices that lines are missing.
    pub loss_markers: u64,
    /// Whether some line is the kernel's by its prefix.
    pub kernel_lines: bool,
    /// Hosts that prefixes near the stream's start name, if this is its first chunk and nobody says whose it is.
    pub hosts: BTreeSet<String>,
    /// Stamp near the stream's start, if this is its first chunk.
    pub first: Option<RawStamp>,
    /// Stamp near the stream's end, if this is its last chunk.
    pub last: Option<RawStamp>,
    /// Lines behind that stamp.
    pub behind_last: u32,
    /// Progress, if this is its last chunk.
    pub marks: Vec<RawMark>,
    /// Whether the last byte is a line feed.
    pub ends_line: bool,
}

impl Scanner<'_> {
    /// Scans a chunk.
    #[must_use]
    pub fn scan(&self, stream: &StreamName, window: &Window<'_>) -> Chunk {
        let buffer = window.buffer;
        let own = buffer.get(window.own.clone()).unwrap_or(b"");
        let mut chunk =
            Chunk { bytes: own.len() as u64, ends_line: own.last() == Some(&b'\n'), ..Chunk::default() };
        let start = first_segment(buffer, window);
        chunk.newlines = newlines(buffer, window.own.start..start.min(window.own.end));
        let patience = Cell::new(PATIENCE);
        known::with(self.matcher.identity(), |known| {
            let mut at = start;
            while at < window.own.end
                && let Some((mut range, after)) = segment::next(buffer, at)
            {
                at = after;
                if range.end > window.own.end && range.start + LOOK_BACK <= window.own.end {
                    range.end = window.own.end;
                }
                let line = &buffer[range.clone()];
                if !known.has(line) {
                    let lossy = self.matcher.has_loss_marker(line);
                    chunk.loss_markers += u64::from(lossy);
                    if self.matcher.has_anchor(line) {
                        if self.try_line(
                            stream,
                            window,
                            range.clone(),
                            chunk.newlines,
                            &patience,
                            &mut chunk.hits,
                        ) {
                            chunk.matched += 1;
                        }
                    } else if !lossy {
                        known.learn(line);
                    }
                }
                // What follows the last line of the chunk is the next chunk's.
                chunk.newlines +=
                    u64::from(range.end < window.own.end && buffer.get(range.end) == Some(&b'\n'));
            }
        });
        chunk.hits.stamp_last(|offset| {
            stamp_before(buffer, usize::try_from(offset.checked_sub(window.base)?).ok()?)
        });
        // A word that the border cuts in two is this chunk's.
        let reach = window.own.start..(window.own.end + KERNEL.len() - 1).min(buffer.len());
        chunk.kernel_lines = stream.source == Source::Syslog
            && memchr::memmem::find(buffer.get(reach).unwrap_or(own), KERNEL).is_some();
        if window.base == 0 && window.own.start == 0 {
            if stream.node.is_none() {
                chunk.hosts = first_hosts(buffer);
            }
            chunk.first = nearest_stamp(buffer, 0, Direction::Forward, EDGE).map(|(stamp, _)| stamp);
        }
        if window.is_last {
            if let Some((stamp, behind)) = nearest_stamp(buffer, buffer.len(), Direction::Backward, EDGE) {
                chunk.last = Some(stamp);
                chunk.behind_last = behind;
            }
            let from = buffer.len().saturating_sub(self.tail);
            chunk.marks = self.probes.last_marks(&buffer[from..], window.base + from as u64, &stream.source);
        }
        chunk
    }

    fn try_line(
        &self,
        stream: &StreamName,
        window: &Window<'_>,
        range: Range<usize>,
        line: u64,
        patience: &Cell<usize>,
        hits: &mut Collapse,
    ) -> bool {
        let pieces = glued::pieces(&window.buffer[range.clone()]);
        if let [_] = pieces.as_slice() {
            return self.try_piece(stream, window, range, line, patience, hits);
        }
        let mut matched = false;
        for piece in pieces {
            let piece = range.start + piece.start..range.start + piece.end;
            matched |= self.try_piece(stream, window, piece, line, patience, hits);
        }
        matched
    }

    /// Tries what one process wrote of a line.
    fn try_piece(
        &self,
        stream: &StreamName,
        window: &Window<'_>,
        range: Range<usize>,
        line: u64,
        patience: &Cell<usize>,
        hits: &mut Collapse,
    ) -> bool {
        let raw = &window.buffer[range.clone()];
        let clean = segment::without_escapes(raw);
        let candidates = self.matcher.candidates(&clean);
        if candidates.is_empty() {
            return false;
        }
        let mut matched = false;
        let mut taken = false;
        let mut traceback = false;
        // Those that yield to others come last.
        for fallback in [false, true] {
            for &index in &candidates {
                let Some(signature) = self.matcher.signature(index) else { continue };
                if signature.spec.fallback != fallback
                    || (fallback && taken)
                    || !signature.applies_to(&stream.source)
                    || (signature.spec.maps && !self.context.nodes.is_empty())
                {
                    continue;
                }
                match signature.spec.block {
                    Block::Traceback => traceback = true,
                    Block::Line => {
                        if self.try_one(stream, window, &range, &clean, signature, index, line, hits) {
                            matched = true;
                            taken |= !fallback;
                        }
                    }
                    Block::ThreeLines => {
                        if let Some(block) = block::three_lines(window.buffer, &range)
                            && let Some(matched_range) = block.matched(signature)
                            && self.try_one(
                                stream,
                                window,
                                &matched_range,
                                &block.text,
                                signature,
                                index,
                                line,
                                hits,
                            )
                        {
                            matched = true;
                            taken |= !fallback;
                        }
                    }
                }
            }
        }
        if traceback && memchr::memmem::find(&clean, TRACEBACK).is_some() {
            matched |= self.try_traceback(stream, window, &range, line, patience, hits);
        }
        matched
    }

    fn try_traceback(
        &self,
        stream: &StreamName,
        window: &Window<'_>,
        header: &Range<usize>,
        line: u64,
        patience: &Cell<usize>,
        hits: &mut Collapse,
    ) -> bool {
        let Some(found) = block::exception(window.buffer, header, patience) else {
            if patience.get() == 0 {
                hits.note_dropped();
            }
            return false;
        };
        let raw = &window.buffer[found.segment.clone()];
        let line = line + newlines(window.buffer, header.start..found.segment.start);
        let message: Cow<'_, [u8]> = segment::without_escapes(raw.get(found.rest..).unwrap_or(raw));
        // A signature of its own on the exception line says more than "an exception".
        let mut taken = self.matcher.candidates(&message).iter().any(|i| {
            self.matcher.signature(*i).is_some_and(|s| {
                s.spec.block == Block::Line
                    && !s.spec.fallback
                    && s.applies_to(&stream.source)
                    && s.pattern().is_some_and(|p| p.is_match(&message))
                    && !s.excepted(&message)
            })
        });
        let mut matched = false;
        for fallback in [false, true] {
            if fallback && taken {
                break;
            }
            for &index in self.matcher.tracebacks() {
                let Some(signature) = self.matcher.signature(index) else { continue };
                if signature.spec.fallback == fallback
                    && signature.applies_to(&stream.source)
                    && self.try_one(stream, window, &found.segment, &message, signature, index, line, hits)
                {
                    matched = true;
                    taken |= !fallback;
                }
            }
        }
        matched
    }

    #[expect(clippy::too_many_arguments, reason = "all of it is the candidate and where it goes")]
    fn try_one(
        &self,
        stream: &StreamName,
        window: &Window<'_>,
        range: &Range<usize>,
        text: &[u8],
        signature: &CompiledSignature,
        index: u32,
        line: u64,
        hits: &mut Collapse,
    ) -> bool {
        let Some(pattern) = signature.pattern() else { return false };
        let Some(found) = pattern.captures(text) else { return false };
        if signature.excepted(text) {
            return false;
        }
        let named: Vec<(&str, Range<usize>)> = pattern
            .capture_names()
            .flatten()
            .filter_map(|name| Some((name, found.name(name)?.range())))
            .collect();
        let written: BTreeMap<String, String> = named
            .iter()
            .map(|(name, range)| {
                let value = text.get(range.clone()).unwrap_or(b"");
                ((*name).to_owned(), String::from_utf8_lossy(value).chars().take(1024).collect())
            })
            .collect();
        let raw = &window.buffer[range.clone()];
        let peeled = peel(&segment::without_escapes(raw));
        hits.note_zone(peeled.learned_zone);
        let place = locate::place(stream, &peeled, &signature.spec.place, &written, self.context);
        let before_start = self.is_before_start(stream, peeled.stamp.as_ref());
        let values = signature.spec.key.iter().map(|k| written.get(k).cloned().unwrap_or_default()).collect();
        let key = Key { signature: index, place, values, before_start };
        let mut seen = Seen {
            offset: window.base + range.start as u64,
            line,
            stamp: peeled.stamp,
            neighbour: false,
            next: None,
        };
        if hits.count(&key, &seen) {
            return true;
        }
        if !hits.has_room(self.cap) {
            return true;
        }
        if seen.stamp.is_none() {
            seen.stamp = stamp_before(window.buffer, range.start);
            seen.neighbour = seen.stamp.is_some();
            seen.next = nearest_stamp(window.buffer, range.end + 1, Direction::Forward, BEHIND)
                .map(|(stamp, _)| stamp);
        }
        let captures = kept::captures(text, &named);
        let captures = captures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let (text, cut) = kept::text(&segment::without_escapes(raw), found.get(0).map_or(0, |m| m.start()));
        let kernel = peeled.kernel;
        hits.insert(
            key,
            Collapsed { first: seen.clone(), last: seen, count: 1, captures, text, cut, kernel },
        );
        true
    }
}

impl Scanner<'_> {
    /// Whether a stamp lies before the attempt, as far as its year and zone can be told.
    fn is_before_start(&self, stream: &StreamName, stamp: Option<&RawStamp>) -> bool {
        let (Some(start), Some(stamp)) = (self.context.document.start, stamp) else { return false };
        let time = self.clock.resolve(stamp, stream, None, false);
        time.is_some_and(|t| t.time < start.shifted(-MINUTE))
    }
}

/// Hosts that the prefixes of the first lines name.
fn first_hosts(buffer: &[u8]) -> BTreeSet<String> {
    let mut hosts = BTreeSet::new();
    let mut at = 0;
    for _ in 0..HOST_LINES {
        let Some((range, after)) = segment::next(buffer, at) else { break };
        at = after;
        hosts.extend(peel(&buffer[range]).identity.host);
    }
    hosts
}

/// Where the first line that is the chunk's own begins.
fn first_segment(buffer: &[u8], window: &Window<'_>) -> usize {
    let start = window.own.start;
    if start == 0 {
        return 0;
    }
    let back = start.saturating_sub(LOOK_BACK);
    let before = buffer.get(back..start).unwrap_or(b"");
    if matches!(before.last(), Some(b'\n' | b'\r')) {
        return start;
    }
    // A line that began long before is cut here, so that none of it goes unread; the chunk before leaves off here.
    if before.len() == LOOK_BACK && memchr::memrchr2(b'\n', b'\r', before).is_none() {
        return start;
    }
    memchr::memchr2(b'\n', b'\r', buffer.get(start..).unwrap_or(b"")).map_or(buffer.len(), |i| start + i + 1)
}

fn newlines(buffer: &[u8], range: Range<usize>) -> u64 {
    memchr::memchr_iter(b'\n', buffer.get(range).unwrap_or(b"")).count() as u64
}

/// How far a stamp may be from where it is looked for.
#[derive(Clone, Copy)]
struct Reach {
    lines: usize,
    bytes: usize,
}

/// Around a line without a stamp of its own: whoever wrote the others, writers of one stream interleave by time.
const BEFORE: Reach = Reach { lines: NEIGHBOUR_LINES, bytes: LOOK_BACK };
const BEHIND: Reach = Reach { lines: NEIGHBOUR_LINES, bytes: LOOK_AHEAD / 2 };
/// From an end of the stream inwards.
const EDGE: Reach = Reach { lines: EDGE_LINES, bytes: usize::MAX };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// The nearest stamp before a line.
fn stamp_before(buffer: &[u8], start: usize) -> Option<RawStamp> {
    nearest_stamp(buffer, start, Direction::Backward, BEFORE).map(|(stamp, _)| stamp)
}

/// The nearest stamp from `from`, and how many lines with text lie between.
fn nearest_stamp(buffer: &[u8], from: usize, direction: Direction, reach: Reach) -> Option<(RawStamp, u32)> {
    let mut at = from;
    let mut passed = 0;
    for _ in 0..reach.lines {
        let range = match direction {
            Direction::Forward => {
                let (range, after) = segment::next(buffer, at)?;
                at = after;
                range
            }
            Direction::Backward => {
                let range = segment::previous(buffer, at)?;
                at = range.start;
                range
            }
        };
        if range.start.abs_diff(from) > reach.bytes {
            return None;
        }
        let line = &buffer[range];
        if let Some(stamp) = peel(line).stamp {
            return Some((stamp, passed));
        }
        passed += u32::from(!line.trim_ascii().is_empty());
    }
    None
}
