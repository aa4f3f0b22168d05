//! The watchdog's time-outs of an attempt, by rank.

use firstfault_plugin::{SeenEvent, View, get};

/// One time-out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeout {
    /// The event's number.
    pub id: u32,
    /// Global rank that waited.
    pub rank: u32,
    /// Its node.
    pub node: Option<String>,
    /// Number of the collective within its group.
    pub seq: Option<u64>,
    /// The process group, if the line names it in a way that is the same on all ranks.
    pub group: Option<String>,
    /// What it was in.
    pub op: Option<String>,
    /// Elements that it gave.
    pub numel_in: Option<u64>,
    /// Onset interval.
    pub onset: Option<(i64, i64)>,
}

impl Timeout {
    /// Order by onset, what has none last, then in canonical order.
    #[must_use]
    pub fn by_onset(&self) -> (bool, Option<i64>, u32) {
        (self.onset.is_none(), self.onset.map(|(from, _)| from), self.id)
    }
}

/// All time-outs whose rank is known, in canonical order.
#[must_use]
pub fn of(view: &dyn View) -> Vec<Timeout> {
    let groups = view.groups("nccl.watchdog_timeout");
    let events = groups.iter().flat_map(|group| view.events(group.id));
    let mut timeouts: Vec<Timeout> = events.filter_map(|event| timeout(&event)).collect();
    timeouts.sort_by_key(|timeout| timeout.id);
    timeouts
}

fn timeout(event: &SeenEvent) -> Option<Timeout> {
    let fact = |key| get(&event.facts, key);
    Some(Timeout {
        id: event.id,
        rank: get(&event.place, "rank")?.parse().ok()?,
        node: get(&event.place, "node").map(str::to_owned),
        seq: fact("seq").and_then(|seq| seq.parse().ok()),
        group: fact("group").map(str::to_owned),
        op: fact("op").map(str::to_owned),
        numel_in: fact("numel_in").and_then(|number| number.parse().ok()),
        onset: event.onset_from.map(|from| (from, event.onset_to.unwrap_or(from))),
    })
}
