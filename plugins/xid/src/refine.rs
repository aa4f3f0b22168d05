//! Joins the two ways in which the driver says that a card is gone, and believes switches that call their errors harmless.
//!
//! Xid 79 is the driver's record of a lost card; the line without a number repeats it, and stands alone only where the Xid was not
//! written.

use firstfault_plugin::{Amendment, Attributes, Edge, Note, SeenEvent, View, get};

/// How long after the other line an Xid 79 can still be its record: both are written by one piece of code.
const TOGETHER: i64 = 60_000_000_000;

/// Most amendments that one answer may hold.
const MOST: usize = 4096;

/// Classes of errors that end jobs although the switch calls them non-fatal: accesses that a port refused.
const REFUSED: [&str; 2] = ["sxid.11004", "sxid.12028"];

/// What the records say together.
#[must_use]
pub fn amendments(view: &dyn View) -> Vec<Amendment> {
    let mut all = lost_cards(view);
    all.extend(harmless(view));
    all.truncate(MOST);
    all
}

/// Errors of switches that the record itself does not call fatal.
fn harmless(view: &dyn View) -> Vec<Amendment> {
    let of_group = |facts: &Attributes| matches!(get(facts, "severity"), Some("nonfatal" | "correctable"));
    let groups = view.groups("sxid.*").into_iter();
    let groups = groups.filter(|g| of_group(&g.facts) && !REFUSED.contains(&g.symptom.as_str()));
    let demotion = |event: SeenEvent| {
        Amendment::Demotion(Note { event: event.id, text: "the switch itself calls it non-fatal".to_owned() })
    };
    groups.flat_map(|group| view.events(group.id)).map(demotion).collect()
}

/// An edge to each lost card from the nearest Xid 79 of the same card on the same node.
fn lost_cards(view: &dyn View) -> Vec<Amendment> {
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
    lost.iter().filter_map(edge).collect()
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
    fn switches_are_believed_that_call_an_error_harmless() {
        let at_switch = [("node", "a"), ("component", "nvswitch0")];
        let view = MemoryView::new()
            .event("sxid.24999", &at_switch, &[("severity", "nonfatal")], at(1))
            .event("sxid.20034", &at_switch, &[("severity", "fatal")], at(2))
            .event("sxid.12028", &at_switch, &[("severity", "nonfatal")], at(3))
            .event("sxid.10003", &at_switch, &[], at(4));
        let demoted = |amendment| match amendment {
            Amendment::Demotion(demotion) => demotion.event,
            other => panic!("{other:?}"),
        };
        let demoted: Vec<u32> = amendments(&view).into_iter().map(demoted).collect();
        assert_eq!(demoted, [0]);
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
