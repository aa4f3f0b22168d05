//! Reads all streams and joins what their chunks hold.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;

use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::LimitReached;
use firstfault_model::hit::{Hit, Position, ProgressMark, Stamp, TimeSource};
use firstfault_model::source::Source;
use firstfault_model::stream::{Stream, StreamName, StreamStats};
use firstfault_model::time::MILLI;
use firstfault_rules::matcher::Matcher;
use rayon::prelude::*;

use crate::bytes::{self, Encoding};
use crate::clock::{Clock, Learned};
use crate::collapse::{Collapse, Collapsed, Key, Seen};
use crate::input::Input;
use crate::probe::{Probes, RawMark};
use crate::scan::{Chunk, LOOK_AHEAD, LOOK_BACK, Scanner, Window};
use crate::stamp::RawStamp;

/// What reading may cost. All limits count things; what is beyond them is counted and reported.
#[derive(Debug, Clone)]
pub struct ReaderLimits {
    /// Bytes of a chunk.
    pub chunk: usize,
    /// Collapsed hits of all streams together; each stream has an equal share of at least 64 and at most 50,000.
    pub hits: usize,
    /// Bytes at the ends of all streams together in which progress is looked for; each stream has an equal share of at least 16 KiB and at
    /// most 1 MiB.
    pub tails: usize,
    /// Decompressed bytes of one file.
    pub decompressed: u64,
    /// Year of stamps that carry none.
    pub year: Option<i32>,
    /// Zone of stamps that carry none, in seconds east of UTC.
    pub zone: Option<i32>,
}

impl Default for ReaderLimits {
    fn default() -> Self {
        Self {
            chunk: 4 << 20,
            hits: 400_000,
            tails: 64 << 20,
            decompressed: 64 << 30,
            year: None,
            zone: None,
        }
    }
}

/// What was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// The streams in canonical order.
    pub streams: Vec<Stream>,
    /// The hits in canonical order.
    pub hits: Vec<Hit>,
    /// Progress in canonical order.
    pub marks: Vec<ProgressMark>,
    /// Limits that were reached.
    pub limits: Vec<LimitReached>,
    /// What was read, in the order of the streams.
    pub inputs: Vec<Input>,
    /// How stamps of the streams become times.
    pub dating: Dating,
}

/// How stamps become times, as all streams together tell it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dating {
    /// Whether UTC was confirmed for zone-less stamps.
    pub confirmed: bool,
    /// By stream: the time of a dated line, for the year of those that carry none.
    pub hints: Vec<Option<i64>>,
    /// By stream: zones of stamps that carry none.
    pub learned: Vec<Learned>,
}

/// A part after it was looked at: scanned, or to be scanned in chunks.
enum Looked {
    Done(Vec<Chunk>, Option<String>),
    Chunked(u64),
}

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Reads streams. The result depends on the bytes, the rules, the context and the limits alone.
#[must_use]
pub fn read(
    mut inputs: Vec<Input>,
    matcher: &Matcher,
    context: &ExecutionContext,
    limits: &ReaderLimits,
) -> Reading {
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    let count = inputs.len().max(1);
    let probes = Probes::new(matcher);
    let scanner = Scanner {
        matcher,
        probes: &probes,
        context,
        clock: Clock {
            context,
            year: limits.year,
            zone: limits.zone,
            learned: Learned::default(),
            confirmed: true,
        },
        cap: (limits.hits / count).clamp(64, 50_000),
        tail: (limits.tails / count).clamp(16 << 10, 1 << 20),
    };
    let parts: Vec<(usize, usize)> = inputs
        .iter()
        .enumerate()
        .flat_map(|(s, input)| (0..input.parts.len()).map(move |p| (s, p)))
        .collect();
    let looked: Vec<Looked> = parts.par_iter().map(|&(s, p)| look(&scanner, &inputs, s, p, limits)).collect();
    // Large plain files are scanned chunk by chunk, from all threads.
    let chunks: Vec<(usize, u64, u64)> = looked
        .iter()
        .enumerate()
        .filter_map(|(i, l)| if let Looked::Chunked(length) = l { Some((i, *length)) } else { None })
        .flat_map(|(i, length)| {
            let step = limits.chunk as u64;
            (0..length.div_ceil(step)).map(move |n| (i, n * step, length))
        })
        .collect();
    let mut scanned = chunks
        .par_iter()
        .map(|&(i, from, length)| {
            let (s, p) = parts.get(i).copied().unwrap_or_default();
            (i, scan_range(&scanner, &inputs, s, p, from, length, limits.chunk))
        })
        .collect::<Vec<_>>()
        .into_iter()
        .peekable();
    let mut joined: Vec<Joined> = inputs.iter().map(|_| Joined::default()).collect();
    for (i, (&(stream, _), looked)) in parts.iter().zip(looked).enumerate() {
        let (chunks, error) = match looked {
            Looked::Done(chunks, error) => (chunks, error),
            Looked::Chunked(_) => {
                let mut chunks = Vec::new();
                let mut error = None;
                while let Some((_, result)) = scanned.next_if(|(j, _)| *j == i) {
                    match result {
                        Ok(chunk) => chunks.push(chunk),
                        Err(e) => error = error.or(Some(e)),
                    }
                }
                (chunks, error)
            }
        };
        if let Some(joined) = joined.get_mut(stream) {
            joined.add_part(chunks, error, scanner.cap);
        }
    }
    let cap = scanner.cap;
    let mut reading = assemble(&inputs, joined, matcher, context, limits, cap);
    reading.inputs = inputs;
    reading
}

fn look(
    scanner: &Scanner<'_>,
    inputs: &[Input],
    stream: usize,
    part: usize,
    limits: &ReaderLimits,
) -> Looked {
    let Some(input) = inputs.get(stream) else { return Looked::Done(Vec::new(), None) };
    let Some(part) = input.parts.get(part) else { return Looked::Done(Vec::new(), None) };
    let opened = part.open().and_then(|file| {
        let length = file.metadata()?.len();
        let encoding = bytes::encoding(&file)?;
        Ok((file, length, encoding))
    });
    match opened {
        Err(e) => Looked::Done(Vec::new(), Some(e.to_string())),
        Ok((_, length, Encoding::Plain)) if length > limits.chunk as u64 => Looked::Chunked(length),
        Ok((file, length, Encoding::Plain)) => {
            match scan_open(scanner, input, &file, 0, length, limits.chunk) {
                Ok(chunk) => Looked::Done(vec![chunk], None),
                Err(e) => Looked::Done(Vec::new(), Some(e)),
            }
        }
        Ok((file, _, encoding)) => {
            let (chunks, error) = scan_compressed(scanner, input, file, encoding, limits);
            Looked::Done(chunks, error)
        }
    }
}

fn scan_range(
    scanner: &Scanner<'_>,
    inputs: &[Input],
    stream: usize,
    part: usize,
    from: u64,
    length: u64,
    chunk: usize,
) -> Result<Chunk, String> {
    let input = inputs.get(stream).ok_or("no such stream")?;
    let part = input.parts.get(part).ok_or("no such part")?;
    let file = part.open().map_err(|e| e.to_string())?;
    scan_open(scanner, input, &file, from, length, chunk)
}

/// Scans the chunk at `from` of a plain file.
fn scan_open(
    scanner: &Scanner<'_>,
    input: &Input,
    file: &File,
    from: u64,
    length: u64,
    chunk: usize,
) -> Result<Chunk, String> {
    let end = length.min(from + chunk as u64);
    let back = if end == length { LOOK_BACK.max(scanner.tail) } else { LOOK_BACK };
    let begin = from.saturating_sub(back as u64);
    let until = length.min(end + LOOK_AHEAD as u64);
    let wanted = usize::try_from(until - begin).map_err(|e| e.to_string())?;
    BUFFER.with_borrow_mut(|buffer| {
        let have = bytes::read_range(file, begin, wanted, buffer).map_err(|e| e.to_string())?;
        let own_start = usize::try_from(from - begin).unwrap_or(0).min(have);
        let own_end = usize::try_from(end - begin).unwrap_or(0).min(have);
        let window = Window {
            buffer: buffer.get(..have).unwrap_or(b""),
            own: own_start..own_end,
            base: begin,
            is_last: end == length,
        };
        Ok(scanner.scan(&input.name, &window))
    })
}

/// Decompresses and scans, keeping a chunk and its surroundings in memory.
fn scan_compressed(
    scanner: &Scanner<'_>,
    input: &Input,
    file: File,
    encoding: Encoding,
    limits: &ReaderLimits,
) -> (Vec<Chunk>, Option<String>) {
    let mut decoder = match bytes::decoder(file, encoding) {
        Ok(decoder) => decoder,
        Err(e) => return (Vec::new(), Some(e.to_string())),
    };
    let mut chunks = Vec::new();
    let mut error = None;
    let mut buffer: Vec<u8> = Vec::new();
    let mut base = 0_u64;
    let mut own_start = 0_usize;
    let mut ended = false;
    loop {
        let want = own_start + limits.chunk + LOOK_AHEAD;
        while !ended && buffer.len() < want {
            let missing = (want - buffer.len()) as u64;
            match decoder.by_ref().take(missing).read_to_end(&mut buffer) {
                Ok(0) => ended = true,
                Ok(_) => {}
                Err(e) => {
                    // What came before the damage is kept.
                    error =
                        Some(format!("damaged or cut off after {} bytes: {e}", base + buffer.len() as u64));
                    ended = true;
                }
            }
            if base + buffer.len() as u64 > limits.decompressed {
                error = Some(format!(
                    "larger than {} bytes when decompressed; the rest is not read",
                    limits.decompressed
                ));
                ended = true;
            }
        }
        let own_end = (own_start + limits.chunk).min(buffer.len());
        let is_last = ended && own_end == buffer.len();
        let window = Window { buffer: &buffer, own: own_start..own_end, base, is_last };
        chunks.push(scanner.scan(&input.name, &window));
        if is_last {
            return (chunks, error);
        }
        let keep_from = own_end.saturating_sub(LOOK_BACK.max(scanner.tail));
        buffer.drain(..keep_from);
        base += keep_from as u64;
        own_start = own_end - keep_from;
    }
}

/// A stream whose chunks are joined.
#[derive(Default)]
struct Joined {
    hits: Collapse,
    marks: Vec<RawMark>,
    stats: StreamStats,
    newlines: u64,
    hosts: BTreeSet<String>,
    first: Option<RawStamp>,
    last: Option<RawStamp>,
    ends_line: bool,
    /// Zone of stamps that carry none, as lines with two stamps tell it.
    zone: Option<i32>,
}

impl Joined {
    fn add_part(&mut self, chunks: Vec<Chunk>, error: Option<String>, cap: usize) {
        let part_base = self.stats.bytes;
        for mut chunk in chunks {
            chunk.hits.shift(part_base, self.newlines);
            for mark in &mut chunk.marks {
                mark.offset += part_base;
            }
            self.hits.append(chunk.hits, cap);
            self.marks.extend(chunk.marks);
            self.newlines += chunk.newlines;
            self.stats.bytes += chunk.bytes;
            self.stats.matched += chunk.matched;
            self.stats.loss_markers += chunk.loss_markers;
            self.stats.kernel_lines |= chunk.kernel_lines;
            self.first = self.first.or(chunk.first);
            self.hosts.extend(chunk.hosts);
            if chunk.last.is_some() {
                self.last = chunk.last;
                self.stats.behind_last = chunk.behind_last;
            }
            if chunk.bytes > 0 {
                self.ends_line = chunk.ends_line;
            }
        }
        self.stats.error = self.stats.error.take().or(error);
    }
}

fn assemble(
    inputs: &[Input],
    joined: Vec<Joined>,
    matcher: &Matcher,
    context: &ExecutionContext,
    limits: &ReaderLimits,
    cap: usize,
) -> Reading {
    let mut clock = Clock {
        context,
        year: limits.year,
        zone: limits.zone,
        learned: Learned::default(),
        confirmed: false,
    };
    let streams: Vec<(&Input, Vec<_>, Joined)> = inputs
        .iter()
        .zip(joined)
        .map(|(input, mut joined)| {
            let hits = std::mem::take(&mut joined.hits);
            joined.stats.dropped = hits.dropped();
            joined.stats.loss_markers += input.missing;
            joined.zone = hits.zone();
            (input, hits.into_sorted(), joined)
        })
        .collect();
    // A dated line tells the year of those without; the nearest stream's, else any.
    let dated = |stamps: &mut dyn Iterator<Item = Option<RawStamp>>| -> Option<i64> {
        stamps.flatten().find_map(|s| s.year.and_then(|y| s.nanos(y, s.offset.unwrap_or(0))))
    };
    let hints: Vec<Option<i64>> = streams
        .iter()
        .map(|(_, hits, joined)| {
            dated(&mut [joined.first, joined.last].into_iter().chain(hits.iter().map(|(_, h)| h.first.stamp)))
        })
        .collect();
    let any_hint = hints.iter().flatten().copied().next();
    let hints: Vec<Option<i64>> = hints.into_iter().map(|hint| hint.or(any_hint)).collect();
    let hint_of = |i: usize| hints.get(i).copied().flatten();
    let learned =
        learned(&streams.iter().map(|(input, _, joined)| (&input.name, joined.zone)).collect::<Vec<_>>());
    let learned_of = |i: usize| learned.get(i).copied().unwrap_or_default();
    let zoneless = streams.iter().enumerate().flat_map(|(i, (input, hits, joined))| {
        let stamps = [joined.first, joined.last].into_iter().chain(hits.iter().map(|(_, h)| h.last.stamp));
        stamps.flatten().filter(|s| s.offset.is_none()).map(move |s| (i, input, s)).collect::<Vec<_>>()
    });
    let latest = zoneless
        .filter_map(|(i, input, s)| clock.knowing(learned_of(i)).resolve(&s, &input.name, hint_of(i), false))
        .map(|s| s.time.0)
        .max();
    clock.confirmed = Clock::confirms(context, latest);

    let mut reading = Reading::default();
    let mut dropped = 0;
    for (i, (input, hits, joined)) in streams.into_iter().enumerate() {
        let stream = u32::try_from(i).unwrap_or(u32::MAX);
        let clock = clock.knowing(learned_of(i));
        let resolve = |seen: &Seen| -> Option<Stamp> {
            clock.resolve(seen.stamp.as_ref()?, &input.name, hint_of(i), seen.neighbour)
        };
        let edge =
            |raw: Option<RawStamp>| -> Option<Stamp> { clock.resolve(&raw?, &input.name, hint_of(i), false) };
        let mut stats = joined.stats;
        stats.lines = joined.newlines + u64::from(stats.bytes > 0 && !joined.ends_line);
        stats.first = edge(joined.first).map(|s| s.time);
        let last = edge(joined.last);
        stats.last = last.map(|s| s.time);
        stats.last_assumed = last.is_some_and(|s| s.source == TimeSource::ZoneAssumed);
        dropped += stats.dropped;
        let lone_host = lone_host(context, &joined.hosts, &hits, matcher);
        for (mut key, hit) in hits {
            if key.place.node.is_none() {
                key.place.node.clone_from(&lone_host);
            }
            reading.hits.push(Hit {
                signature: key.signature,
                first: Position { stream, offset: hit.first.offset },
                last: Position { stream, offset: hit.last.offset },
                count: hit.count,
                place: key.place,
                kernel: hit.kernel,
                not_after: edge(hit.first.next),
                first_time: resolve(&hit.first),
                last_time: resolve(&hit.last),
                captures: hit.captures,
                text: hit.text,
                cut: hit.cut,
                line_number: hit.first.line + 1,
            });
        }
        let mut previous: Vec<Option<ProgressMark>> = vec![None; matcher.probes().len()];
        for mark in joined.marks {
            let time = edge(mark.stamp);
            let slot = previous.get_mut(mark.probe);
            let before = slot.as_ref().and_then(|s| s.as_ref());
            let step_ms = mark.step_ms.or_else(|| gap(before?, mark.step?, time?));
            let probe = matcher.probes().get(mark.probe).map_or_else(String::new, |p| p.id.clone());
            let at = Position { stream, offset: mark.offset };
            let mark =
                ProgressMark { probe, completion: mark.completion, at, step: mark.step, step_ms, time };
            if let Some(slot) = slot {
                *slot = Some(mark);
            }
        }
        reading.marks.extend(previous.into_iter().flatten());
        reading.streams.push(Stream { name: input.name.clone(), trust: input.trust, stats });
    }
    if dropped > 0 {
        reading.limits.push(LimitReached { what: "hits of one stream".into(), cap: cap as u64, dropped });
    }
    reading.dating = Dating { confirmed: clock.confirmed, hints, learned };
    reading
}

/// What the streams tell of zones, each for itself and all of one source together.
fn learned(streams: &[(&StreamName, Option<i32>)]) -> Vec<Learned> {
    let mut of_source: BTreeMap<&Source, BTreeSet<i32>> = BTreeMap::new();
    for (name, zone) in streams {
        of_source.entry(&name.source).or_default().extend(zone);
    }
    let lone = |name: &StreamName| {
        let zones = of_source.get(&name.source)?;
        zones.first().copied().filter(|_| zones.len() == 1)
    };
    streams.iter().map(|(name, zone)| Learned { own: *zone, of_source: lone(name) }).collect()
}

/// The only host that a stream names: then all of it is that host's, where no context says otherwise.
fn lone_host(
    context: &ExecutionContext,
    hosts: &BTreeSet<String>,
    hits: &[(Key, Collapsed)],
    matcher: &Matcher,
) -> Option<String> {
    // Whom a line is about need not be who wrote it.
    let is_writer =
        |key: &Key| matcher.signature(key.signature).is_none_or(|s| !s.spec.place.contains_key("node"));
    let named = hits.iter().filter(|(key, _)| is_writer(key)).filter_map(|(key, _)| key.place.node.as_ref());
    let all: BTreeSet<&String> = hosts.iter().chain(named).collect();
    let lone = all.len() == 1 && context.nodes.is_empty();
    all.first().filter(|_| lone).map(|host| (*host).clone())
}

/// Milliseconds of a step, from two marks.
fn gap(before: &ProgressMark, step: u64, time: Stamp) -> Option<u64> {
    let steps = step.checked_sub(before.step?).filter(|s| *s > 0)?;
    let nanos = time.time.since(before.time?.time);
    u64::try_from(nanos / MILLI).ok().map(|ms| ms / steps)
}
