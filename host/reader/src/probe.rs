//! Progress: looked for at the ends of streams only, so that it costs nothing while reading.

use aho_corasick::AhoCorasick;
use firstfault_model::source::Source;
use firstfault_rules::matcher::{CompiledProbe, Matcher};
use firstfault_rules::pack::Shows;

use crate::prefix::peel;
use crate::segment;
use crate::stamp::RawStamp;

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
    owners: Vec<usize>,
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
        let (texts, owners): (Vec<&[u8]>, Vec<usize>) =
            probes.iter().enumerate().flat_map(|(i, p)| p.literals.iter().map(move |l| (l.as_slice(), i))).unzip();
        let literals = if texts.is_empty() { None } else { AhoCorasick::new(&texts).ok() };
        Self { probes, literals, owners }
    }

    /// The last two lines of each probe in a window at the end of a stream. `base` is the window's offset in the stream.
    #[must_use]
    pub fn last_marks(&self, window: &[u8], base: u64, source: &Source) -> Vec<RawMark> {
        let Some(literals) = &self.literals else { return Vec::new() };
        let mut places: Vec<Vec<usize>> = vec![Vec::new(); self.probes.len()];
        for found in literals.find_overlapping_iter(window) {
            if let Some(list) = self.owners.get(found.pattern().as_usize()).and_then(|o| places.get_mut(*o)) {
                list.push(found.start());
            }
        }
        let mut marks = Vec::new();
        for (index, (probe, places)) in self.probes.iter().zip(places).enumerate() {
            let wanted = probe.sources.contains(source) || *source == Source::Unstated;
            let Some(pattern) = probe.pattern().filter(|_| wanted) else { continue };
            let mut left = 2;
            let mut last_start = usize::MAX;
            // Candidates that turn out to be none are passed over, within reason.
            for at in places.into_iter().rev().take(256) {
                let range = segment::around(window, at);
                if range.start >= last_start || (range.start == 0 && base > 0) {
                    continue;
                }
                last_start = range.start;
                let line = &window[range.clone()];
                let Some(captures) = pattern.captures(line) else { continue };
                let number = |name: &str| {
                    let text = std::str::from_utf8(captures.name(name)?.as_bytes()).ok()?;
                    text.split('.').next()?.parse::<u64>().ok()
                };
                marks.push(RawMark {
                    probe: index,
                    completion: probe.spec.shows == Shows::Completion,
                    offset: base + range.start as u64,
                    step: number("step"),
                    step_ms: number("step_ms"),
                    stamp: peel(line).stamp,
                });
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
        marks.sort_by_key(|m| (m.offset, m.probe));
        marks
    }
}
