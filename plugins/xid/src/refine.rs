//! Joins the two ways in which the driver says that a card is gone. Xid 79 is its record of it; the line without a number
//! repeats it, and stands alone only where the Xid was not written.

use firstfault_plugin::{Amendment, Edge, SeenEvent, View, get};

/// How long after the other line an Xid 79 can still be its record: both are written by one piece of code.
const TOGETHER: i64 = 60_000_000_000;

/// Most amendments that one answer may hold.
const MOST: usize = 4096;

/// An edge to each lost card from the nearest Xid 79 of the same card on the same node.
#[must_use]
pub fn amendments(view: &dyn View) -> Vec<Amendment> {
    let lost = events(view, "kernel.gpu_lost");
    if lost.is_empty() {
        return Vec::new();
    }
    let known = events(view, "xid.79");
    let edge = |lost: &SeenEvent| {
        let cause = known
            .iter()
            .filter(|known| same_card(known, lost))
            .filter(|known| distance(known, lost).is_none_or(|distance| distance <= TOGETHER))
            // Without a time on one side the first in canonical order.
            .min_by_key(|known| (distance(known, lost).map_or(i64::MAX, i64::abs), known.id))?;
        let why = "the driver recorded the loss of this card as Xid 79".to_owned();
        Some(Amendment::Edge(Edge { cause: cause.id, effect: lost.id, basis: "place".to_owned(), why }))
    };
    lost.iter().filter_map(edge).take(MOST).collect()
}

fn events(view: &dyn View, symptom: &str) -> Vec<SeenEvent> {
    let mut events: Vec<SeenEvent> =
        view.groups(symptom).iter().flat_map(|group| view.events(group.id)).collect();
    events.sort_by_key(|event| event.id);
    events
}

fn same_card(a: &SeenEvent, b: &SeenEvent) -> bool {
    get(&a.place, "gpu").is_some()
        && ["node", "gpu"].iter().all(|key| get(&a.place, key) == get(&b.place, key))
}

/// How much later the first began than the second.
fn distance(a: &SeenEvent, b: &SeenEvent) -> Option<i64> {
    a.onset_from?.checked_sub(b.onset_from?)
}

#[cfg(test)]
mod tests {
    use firstfault_plugin::testing::MemoryView;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn at(seconds: i64) -> Option<(i64, i64)> {
        Some((seconds * SECOND, seconds * SECOND))
    }

    fn edges(view: &MemoryView) -> Vec<(u32, u32)> {
        let edge = |amendment| match amendment {
            Amendment::Edge(edge) => (edge.cause, edge.effect),
            other => panic!("{other:?}"),
        };
        amendments(view).into_iter().map(edge).collect()
    }

    #[test]
    fn the_nearest_record_of_the_same_card_explains_the_line() {
        let here = [("node", "a"), ("gpu", "0000:1a:00")];
        let view = MemoryView::new()
            .event("xid.79", &here, &[("pid", "1")], at(10))
            .event("xid.79", &[("node", "b"), ("gpu", "0000:1a:00")], &[], at(100))
            .event("xid.79", &[("node", "a"), ("gpu", "0000:1b:00")], &[], at(100))
            .event("xid.79", &here, &[], at(99))
            .event("kernel.gpu_lost", &here, &[], at(100))
            .event("kernel.gpu_lost", &here, &[], None);
        assert_eq!(edges(&view), [(3, 4), (0, 5)]);
    }

    #[test]
    fn a_much_later_record_and_another_card_explain_nothing() {
        let here = [("node", "a"), ("gpu", "0000:1a:00")];
        let later =
            MemoryView::new().event("kernel.gpu_lost", &here, &[], at(1)).event("xid.79", &here, &[], at(62));
        assert_eq!(edges(&later), []);
        let nowhere = MemoryView::new().event("kernel.gpu_lost", &[("node", "a")], &[], at(1)).event(
            "xid.79",
            &[("node", "a")],
            &[],
            at(1),
        );
        assert_eq!(edges(&nowhere), []);
    }
}
