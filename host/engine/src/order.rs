//! What came first, as far as clocks allow to say.

use std::cmp::Ordering;

use firstfault_model::time::{HOUR, MINUTE, SECOND};

use crate::event::Event;
use crate::recovery;

/// How far the clocks of two nodes may differ where nothing tells their offset.
pub const CLOCK_BOUND: i64 = MINUTE;
/// Stamps of one node closer than this tie.
pub const TIE: i64 = SECOND;

/// How far a guessed zone may be off.
const ZONE_GUESS: i64 = 14 * HOUR;

/// The most that two stamps' clocks may be apart: a guessed zone, and what an interval may be wide.
pub const WIDEST: i64 = ZONE_GUESS + 2 * CLOCK_BOUND;

/// Clock uncertainty between the stamps of two events.
#[must_use]
pub fn clock_slack(a: &Event, b: &Event) -> i64 {
    if is_guess(a) != is_guess(b) {
        return ZONE_GUESS;
    }
    if a.place.node.is_some() && a.place.node == b.place.node {
        return 0;
    }
    match (a.clock, b.clock) {
        (Some(x), Some(y)) => x.uncertainty.saturating_add(y.uncertainty).min(CLOCK_BOUND),
        _ => CLOCK_BOUND,
    }
}

fn is_guess(event: &Event) -> bool {
    event.onset.is_some_and(|o| o.source.is_assumed())
}

/// Which of two events began first; `None` if that cannot be said.
#[must_use]
pub fn compare(a: &Event, b: &Event) -> Option<Ordering> {
    let back_dated =
        |e: &Event| e.onset.is_some_and(|o| o.reported.is_some()) || e.facts.contains_key("before_ms");
    if a.first.stream == b.first.stream && !back_dated(a) && !back_dated(b) {
        let order = a.first.cmp(&b.first);
        // Within one stream the order of lines is the order of writing, of one writer at least.
        return Some(order);
    }
    let (x, y) = (a.common_onset()?, b.common_onset()?);
    // Two guesses of the same zone can be compared with each other.
    if x.source.is_assumed() != y.source.is_assumed() {
        return None;
    }
    // Lines between two stamps of their stream lie between them, but for what a buffer held back.
    let buffered = if x.source.is_neighbour() || y.source.is_neighbour() { CLOCK_BOUND } else { 0 };
    let slack = clock_slack(a, b).max(buffered);
    if x.to.shifted(slack) < y.from {
        Some(Ordering::Less)
    } else if y.to.shifted(slack) < x.from {
        Some(Ordering::Greater)
    } else {
        None
    }
}

/// How long a process that a passing fault has met may be silent before it fails; collective time-outs are 30 minutes at most.
const LONGEST_SILENCE: i64 = 45 * MINUTE;

/// How long others wait for one that has failed, at most, before they write that they do.
const LONGEST_WAIT: i64 = 30 * MINUTE;

/// How far a cause reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// What it left behind stays.
    Lasting,
    /// It ends what it meets.
    Ending,
    /// It passed, at the place of the effect.
    Local,
    /// It passed, and the effect is elsewhere.
    Passing,
}

/// Whether `cause` may have begun early enough to explain `effect`: not more than `before` earlier, and not more than `after` later.
#[must_use]
pub fn within(cause: &Event, effect: &Event, before: i64, after: i64, reach: Reach) -> Option<bool> {
    let (c, e) = (cause.common_onset()?, effect.common_onset()?);
    // An estimate of the clocks moves the window; it does not make it narrower, for a node that came late looks like one whose clock
    // is ahead.
    let between = if cause.place.node == effect.place.node { 0 } else { CLOCK_BOUND };
    // A zone may be a guess; but what passed elsewhere is not blamed for an hour that only another guess would bring together.
    let slack = match reach {
        Reach::Passing if is_guess(cause) != is_guess(effect) => CLOCK_BOUND,
        _ => clock_slack(cause, effect).max(between),
    };
    let not_late = c.from <= e.to.shifted(after).shifted(slack);
    // Of a line that was written at some time within a long while nothing says that it came soon after a fault at its beginning.
    let latest = if e.to.0 == i64::MAX { effect.attempt_end } else { Some(e.to) };
    let latest = latest.filter(|_| e.source.is_neighbour());
    let earliest = match (reach, latest) {
        (Reach::Passing, Some(latest)) => e.from.max(latest.shifted(-LONGEST_WAIT)),
        (Reach::Local, Some(latest)) => e.from.max(latest.shifted(-LONGEST_SILENCE)),
        _ => e.from,
    };
    // Nor does a rule's wide window reach back to what passed long ago, elsewhere.
    let before = if reach == Reach::Passing { before.min(LONGEST_SILENCE) } else { before };
    // What is over does nothing any more.
    let not_over = cause.over.is_none_or(|over| e.from <= over.shifted(recovery::GRACE).shifted(slack));
    let not_early = reach == Reach::Lasting || c.to.shifted(before).shifted(slack) >= earliest;
    Some(not_late && not_early && not_over)
}
