//! Faults that ended by themselves: the server answered again, the port came up.

use std::collections::BTreeMap;

use firstfault_model::time::{MINUTE, Timestamp};
use firstfault_rules::ruleset::RuleSet;

use crate::event::{Event, Scope};

/// How long after a fault is over something may still begin that follows from it.
pub const GRACE: i64 = 5 * MINUTE;

/// Notes of each event when it was over, by the clock that most nodes share, if a line at its place says so.
pub fn assign(events: &mut [Event], rules: &RuleSet) {
    // By symptom and node: until when, and of what.
    type Ends<'e> = BTreeMap<(&'e str, Option<&'e str>), Vec<(Timestamp, &'e Event)>>;
    let mut ends: Ends<'_> = BTreeMap::new();
    let ending = |event: &&Event| event.scope == Scope::In && !event.quoted;
    for event in events.iter().filter(ending) {
        let seen = event.last_seen.or(event.onset.map(|o| o.from));
        if let Some(seen) = seen.map(|t| event.common_time(t)) {
            let key = (event.symptom.as_str(), event.place.node.as_deref());
            ends.entry(key).or_default().push((seen, event));
        }
    }
    let over = |event: &Event| -> Option<Timestamp> {
        let definition = event.definition(rules)?;
        let last = event.last_seen.or(event.onset.filter(|o| o.is_decisive()).map(|o| o.to))?;
        let last = event.common_time(last);
        let told =
            definition.over.iter().flat_map(|id| ends.get(&(id.as_str(), event.place.node.as_deref())));
        told.flatten()
            .filter(|(seen, by)| *seen >= last && same_thing(event, by))
            .map(|(seen, _)| *seen)
            .min()
    };
    let over: Vec<Option<Timestamp>> = events.iter().map(over).collect();
    for (event, over) in events.iter_mut().zip(over) {
        event.over = over;
    }
}

/// Whether two events are about one port or one server, as far as both say.
fn same_thing(a: &Event, b: &Event) -> bool {
    let same = |x: &Option<String>, y: &Option<String>| x.is_none() || y.is_none() || x == y;
    same(&a.place.port, &b.place.port) && same(&a.place.component, &b.place.component)
}
