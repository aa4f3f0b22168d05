//! What rule modules may ask of the graph. Answers are sorted and depend on the evidence alone.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_rules::wildcard;

use crate::event::{Event, Scope};
use crate::graph::Graph;

/// Events of one symptom with equal facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Symptom id.
    pub symptom: String,
    /// The facts that all of them share.
    pub facts: BTreeMap<String, String>,
    /// Event numbers in canonical order.
    pub events: Vec<u32>,
}

/// All groups of a graph, once for each round of refinement. Events outside of the attempt's scope are not in it.
#[derive(Debug, Clone, Default)]
pub struct Groups(Vec<Group>);

impl Groups {
    /// Groups the events of a graph.
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        // Facts that differ with each event's own time do not part groups.
        const OWN: [&str; 3] = ["before_ms", "pid", "note"];
        let mut map: BTreeMap<(&str, BTreeMap<&str, &str>), Vec<u32>> = BTreeMap::new();
        for (i, event) in (0_u32..).zip(&graph.events) {
            if event.scope != Scope::In {
                continue;
            }
            let facts: BTreeMap<&str, &str> = event
                .facts
                .iter()
                .map(|(k, v)| (k.as_str(), v.as_str()))
                .filter(|(k, _)| !OWN.contains(k))
                .collect();
            map.entry((&event.symptom, facts)).or_default().push(i);
        }
        Self(
            map.into_iter()
                .map(|((symptom, facts), events)| Group {
                    symptom: symptom.to_owned(),
                    facts: facts.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
                    events,
                })
                .collect(),
        )
    }

    /// Numbers of the groups that fall under a pattern.
    pub fn matching<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = (u32, &'a Group)> {
        (0_u32..).zip(&self.0).filter(move |(_, g)| wildcard::matches(pattern, &g.symptom))
    }

    /// A group by its number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&Group> {
        self.0.get(number as usize)
    }
}

impl Group {
    /// Its events.
    pub fn events<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = (u32, &'a Event)> {
        self.events.iter().filter_map(|i| Some((*i, graph.events.get(*i as usize)?)))
    }

    /// Ranks of its events.
    #[must_use]
    pub fn ranks(&self, graph: &Graph) -> BTreeSet<u32> {
        self.events(graph).flat_map(|(_, e)| e.ranks.iter().copied()).collect()
    }
}
