//! The watchdog's time-outs of an attempt, by what was waited for. Only sets of ranks are asked for: of a large job the single
//! events are ten thousand, and all but a few are alike.

use firstfault_plugin::{RankSet, SeenEvent, View, get};

/// Ranks that waited for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The group of events in the view.
    pub id: u32,
    /// Who.
    pub ranks: RankSet,
    /// Number of the collective within its process group.
    pub seq: Option<u64>,
    /// The process group, if the line names it in a way that is the same on all ranks.
    pub group: Option<String>,
    /// What it was in.
    pub op: Option<String>,
    /// Elements that each gave.
    pub numel_in: Option<u64>,
    /// Elements that each gets.
    pub numel_out: Option<u64>,
    /// Earliest onset.
    pub first: Option<i64>,
}

/// All of them, in the order of the view.
#[must_use]
pub fn of(view: &dyn View) -> Vec<Waiting> {
    let waiting = |group: firstfault_plugin::Group| {
        let fact = |key| get(&group.facts, key);
        let number = |key| fact(key).and_then(|number| number.parse().ok());
        Waiting {
            id: group.id,
            ranks: view.ranks(group.id).into_iter().collect(),
            seq: number("seq"),
            group: fact("group").map(str::to_owned),
            op: fact("op").map(str::to_owned),
            numel_in: number("numel_in"),
            numel_out: number("numel_out"),
            first: group.first,
        }
    };
    view.groups("nccl.watchdog_timeout").into_iter().map(waiting).collect()
}

/// The first events of several, at most so many.
#[must_use]
pub fn cited(view: &dyn View, waiting: &[&Waiting], limit: usize) -> Vec<SeenEvent> {
    let mut events = Vec::new();
    for of in waiting {
        let left = limit.saturating_sub(events.len());
        if left == 0 {
            break;
        }
        events.extend(view.first_events(of.id, u32::try_from(left).unwrap_or(u32::MAX)));
    }
    events
}
