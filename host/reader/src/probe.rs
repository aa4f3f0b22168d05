//! Progress: looked for at the ends of streams only, so that it costs nothing while reading.

use aho_corasick::{AhoCorasick, MatchKind};
use firstfault_model::source::Source;
use firstfault_rules::matcher::{CompiledProbe, Matcher};
use firstfault_rules::pack::Shows;

use crate::prefix::peel;
use crate::segment;
use crate::stamp::RawStamp;

/// Lines kept for each probe: the last one, and the one before it for the time of a step.
const MARKS: usize = 2;
/// Larger numbers are no steps, and no document could hold them.
const LARGEST: u64 = 1 << 53;
/// Milliseconds of a day: a longer step is none.
const LONGEST_STEP: u64 = 86_400_000;
/// Most lines that are tried in one window.
const MOST_LINES: usize = 128;

/// A line that a probe reads, before years and zones are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMark {
    /// Index of the probe.
    pub probe: usize,
    /// Whether it says that the workload finished.
    pub completion: bool,
    /// Byte offset.
    pub offset: u64,
    /// The step.
    pub step: Option<u64>,
    /// Milliseconds of a step as the line tells them.
    pub step_ms: Option<u64>,
    /// Its stamp.
    pub stamp: Option<RawStamp>,
}

/// All probes, searched for together.
pub struct Probes<'a> {
    probes: &'a [CompiledProbe],
    literals: Option<AhoCorasick>,
    finders: Vec<Vec<memchr::memmem::Finder<'a>>>,
}

impl std::fmt::Debug for Probes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probes").field("probes", &self.probes.len()).finish_non_exhaustive()
    }
}

impl<'a> Probes<'a> {
    /// Of a matcher.
    #[must_use]
    pub fn new(matcher: &'a Matcher) -> Self {
        let probes = matcher.probes();
        let texts: Vec<&[u8]> = probes.iter().flat_map(|p| p.literals.iter().map(Vec::as_slice)).collect();
        // Leftmost, so that a packed search finds candidates; the pattern decides.
        let builder = || AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(&texts).ok();
        let literals = if texts.is_empty() { None } else { builder() };
        let finders =
            probes.iter().map(|p| p.literals.iter().map(memchr::memmem::Finder::new).collect()).collect();
        Self { probes, literals, finders }
    }

    /// The last two lines of each probe in a window at the end of a stream. `base` is the window's offset in the stream.
    #[must_use]
    pub fn last_marks(&self, window: &[u8], base: u64, source: &Source) -> Vec<RawMark> {
        let Some(literals) = &self.literals else { return Vec::new() };
        if !self.probes.iter().any(|p| p.sources.contains(source)) && *source != Source::Unstated {
            return Vec::new();
        }
        let mut lines: Vec<std::ops::Range<usize>> = Vec::new();
        for found in literals.find_iter(window) {
            if lines.last().is_none_or(|last| found.start() >= last.end) {
                lines.push(segment::around(window, found.start()));
            }
        }
        let mut left = vec![MARKS; self.probes.len()];
        let mut marks = Vec::new();
        // The first line may be cut.
        let whole = lines.iter().rev().filter(|range| range.start > 0 || base == 0);
        for range in whole.take(MOST_LINES) {
            let line = &window[range.clone()];
            let mut peeled = None;
            for (((index, probe), finders), left) in
                self.probes.iter().enumerate().zip(&self.finders).zip(&mut left)
            {
                let wanted = probe.sources.contains(source) || *source == Source::Unstated;
                if *left == 0 || !wanted || !finders.iter().any(|f| f.find(line).is_some()) {
                    continue;
                }
                let Some(captures) = probe.pattern().and_then(|p| p.captures(line)) else { continue };
                let number = |name: &str| {
                    let text = std::str::from_utf8(captures.name(name)?.as_bytes()).ok()?;
                    text.split('.').next()?.parse::<u64>().ok().filter(|n| *n < LARGEST)
                };
                *left -= 1;
                marks.push(RawMark {
                    probe: index,
                    completion: probe.spec.shows == Shows::Completion,
                    offset: base + range.start as u64,
                    step: number("step"),
                    step_ms: number("step_ms").filter(|ms| *ms <= LONGEST_STEP),
                    stamp: *peeled.get_or_insert_with(|| peel(line).stamp),
                });
            }
        }
        marks.sort_by_key(|m| (m.offset, m.probe));
        marks
    }
}
