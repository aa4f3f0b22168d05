//! What came first, as far as clocks allow to say.

use std::cmp::Ordering;

use firstfault_model::hit::TimeSource;
use firstfault_model::time::{HOUR, MINUTE, SECOND};

use crate::event::Event;

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
    event.onset.is_some_and(|o| o.source == TimeSource::ZoneAssumed)
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
    let comparable = (x.is_decisive() && y.is_decisive())
        || (x.source == TimeSource::ZoneAssumed && y.source == TimeSource::ZoneAssumed);
    if !comparable {
        return None;
    }
    let slack = clock_slack(a, b);
    if x.to.shifted(slack) < y.from {
        Some(Ordering::Less)
    } else if y.to.shifted(slack) < x.from {
        Some(Ordering::Greater)
    } else {
        None
    }
}

/// Whether `cause` may have begun early enough to explain `effect`: not more than `before` earlier, and not more than `after` later.
#[must_use]
pub fn within(cause: &Event, effect: &Event, before: i64, after: i64, lasting: bool) -> Option<bool> {
    let (c, e) = (cause.common_onset()?, effect.common_onset()?);
    // An estimate of the clocks moves the window; it does not make it narrower, for a node that came late looks like one whose clock
    // is ahead.
    let slack =
        clock_slack(cause, effect).max(if cause.place.node == effect.place.node { 0 } else { CLOCK_BOUND });
    let not_late = c.from <= e.to.shifted(after).shifted(slack);
    let not_early = lasting || c.to.shifted(before).shifted(slack) >= e.from;
    Some(not_late && not_early)
}
