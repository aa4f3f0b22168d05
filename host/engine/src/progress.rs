//! How far the workload came, and whether it stood still before it ended.

use firstfault_model::diagnosis::{Hang, Progress};
use firstfault_model::hit::{ProgressMark, TimeSource};
use firstfault_model::source::Source;
use firstfault_model::time::{MILLI, MINUTE, SECOND, Timestamp};

use crate::attempts::Attempts;
use crate::case::Case;
use crate::event::Event;
use crate::order::CLOCK_BOUND;

/// A stall is at least this long.
const LEAST_STALL: i64 = 10 * MINUTE;
/// And at least this many steps.
const STALL_STEPS: i64 = 10;

/// How long a job may seem to go on after one of its ranks has died.
const UNNOTICED: i64 = 10 * MINUTE;

/// Lines that may stand behind the last sign of life: what the scheduler wrote when it ended the attempt.
const FEW_LINES: u32 = 3;

/// Progress as it was seen.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// For the document.
    pub progress: Option<Progress>,
    /// For the document.
    pub hang: Option<Hang>,
    /// The latest report with a time.
    pub last_time: Option<Timestamp>,
    /// Nanoseconds of a step, if known.
    pub step: Option<i64>,
    /// Marks by stream, for events without times.
    steps: Vec<ProgressMark>,
    /// The attempt of the latest report, if there are several.
    last_attempt: Option<u32>,
    /// Where attempts part.
    attempts: Attempts,
    /// Marks that say that the workload finished.
    pub completions: Vec<ProgressMark>,
}

impl Seen {
    /// From the marks of a case.
    #[must_use]
    pub fn of(case: &Case, attempts: &Attempts) -> Self {
        // A guessed zone is no measure of how long ago something was.
        let usable = |mark: &ProgressMark| {
            let mut mark = mark.clone();
            let whole = case.context.document.end.is_none();
            mark.time = mark.time.filter(|t| t.source != TimeSource::ZoneAssumed || whole);
            mark
        };
        let wanted = |mark: &&ProgressMark| {
            let attempt = attempts.at(mark.at.stream, mark.at.offset, mark.time.map(|t| t.time));
            case.attempt.is_none() || attempt.is_none() || attempt == case.attempt
        };
        let steps: Vec<ProgressMark> =
            case.marks.iter().filter(wanted).filter(|m| !m.completion).map(usable).collect();
        let completions: Vec<ProgressMark> =
            case.marks.iter().filter(wanted).filter(|m| m.completion).map(usable).collect();
        // The latest report; of streams without times the last one in canonical order.
        let last = steps.iter().max_by_key(|m| (m.time.map(|t| t.time), m.at));
        let last_time = last.and_then(|m| m.time).map(|t| t.time);
        let mut millis: Vec<u64> = steps.iter().filter_map(|m| m.step_ms).collect();
        millis.sort_unstable();
        let median = millis.get(millis.len() / 2).copied();
        let step = median.and_then(|ms| i64::try_from(ms).ok()).map(|ms| ms.saturating_mul(MILLI));
        let stalled = match (last_time, case.context.document.end) {
            (Some(last), Some(end)) => Some(end.since(last).max(0)),
            _ => None,
        };
        let quiet =
            if steps.is_empty() { Self::last_output(case).zip(case.context.document.end) } else { None };
        let stalled_or_quiet = stalled.or_else(|| quiet.map(|(last, end)| end.since(last).max(0)));
        let since = last_time.or(quiet.map(|(last, _)| last));
        let limit = LEAST_STALL.max(step.unwrap_or(0).saturating_mul(STALL_STEPS));
        let progress = last.map(|mark| Progress {
            last_step: mark.step,
            last_time,
            median_step_ms: median,
            stalled_for_ms: stalled.and_then(|s| u64::try_from(s / MILLI).ok()),
            marker: mark.probe.clone(),
        });
        let hang = stalled_or_quiet
            .map(|s| Hang { detected: s > limit, since: (s > limit).then_some(since).flatten() });
        let last_attempt = last.and_then(|m| attempts.at(m.at.stream, m.at.offset, m.time.map(|t| t.time)));
        Self { last_attempt, attempts: attempts.clone(), progress, hang, last_time, step, steps, completions }
    }

    /// The last sign of life where no probe reads progress: the last stamped line of the workload's output, if next to nothing
    /// stands behind it.
    fn last_output(case: &Case) -> Option<Timestamp> {
        let output = case.streams.iter().filter(|s| matches!(s.name.source, Source::App | Source::Unstated));
        let last = output
            .filter(|s| s.stats.last.is_some() && !s.stats.last_assumed)
            .max_by_key(|s| s.stats.last)?;
        (last.stats.behind_last <= FEW_LINES).then_some(last.stats.last).flatten()
    }

    /// Whether it stood still for long before it ended.
    #[must_use]
    pub fn stalled(&self) -> bool {
        self.hang.as_ref().is_some_and(|h| h.detected)
    }

    /// Whether the workload went on for long after an event.
    #[must_use]
    pub fn survived(&self, event: &Event) -> bool {
        // What a later attempt did says nothing of whether this one went on.
        let attempt = self.attempts.of(event);
        if attempt.is_some() && self.last_attempt.is_some() && attempt != self.last_attempt {
            return false;
        }
        let margin = self.step.unwrap_or(30 * SECOND).saturating_mul(3).saturating_add(CLOCK_BOUND);
        match (event.common_onset().filter(|o| o.to.0 != i64::MAX), self.last_time) {
            (Some(onset), Some(last)) => {
                let until = event.last_seen.map_or(onset.to, |seen| event.common_time(seen).max(onset.to));
                last.since(until) > margin
            }
            _ => {
                self.steps.iter().any(|m| m.at.stream == event.last.stream && m.at.offset > event.last.offset)
            }
        }
    }

    /// Whether the workload went on for so long after an event of a known time that no rank can have died of it unnoticed.
    #[must_use]
    pub fn outlived(&self, event: &Event) -> bool {
        let dated = event.onset.is_some_and(|o| !o.source.is_assumed() && o.to.0 != i64::MAX);
        let (Some(last), Some(onset)) = (self.last_time, event.common_onset().filter(|_| dated)) else {
            return false;
        };
        let until = event.last_seen.map_or(onset.to, |seen| event.common_time(seen).max(onset.to));
        self.survived(event) && last.since(until) > UNNOTICED
    }

    /// Whether an event stands behind a line that says that the workload finished.
    #[must_use]
    pub fn after_completion(&self, event: &Event) -> bool {
        self.completions.iter().any(|mark| match (mark.time, event.onset) {
            _ if mark.at.stream == event.first.stream => mark.at.offset < event.first.offset,
            (Some(done), Some(onset)) if onset.to.0 != i64::MAX => {
                onset.from >= done.time.shifted(-done.uncertainty)
            }
            _ => false,
        })
    }
}
