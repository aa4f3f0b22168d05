//! What goes into and comes out of rule modules, in plain types, checked.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::event::{Amendment, Basis, EventDraft};
use firstfault_model::place::Place;

use crate::attributes::{self, shown};
use crate::bindings::rules as wit;
use crate::digest::Fields;

/// Events of one batch.
const MAX_EVENTS: usize = 1024;
/// Hits of one event, and events that a derived one cites.
const MAX_CITED: usize = 64;
/// Amendments of one call.
const MAX_AMENDMENTS: usize = 4096;

/// A line that one of the module's signatures matched, collapsed with equal ones at its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleHit {
    /// The signature's id in the module's pack.
    pub signature: String,
    /// The first such line or block.
    pub text: String,
    /// Named captures.
    pub captures: Vec<(String, String)>,
    /// Its place under the names of the plugin interface.
    pub place: Vec<(String, String)>,
    /// Source.
    pub source: String,
    /// How often it was seen.
    pub count: u64,
    /// Time of the first in nanoseconds.
    pub first: Option<i64>,
    /// Time of the last in nanoseconds.
    pub last: Option<i64>,
}

impl From<&RuleHit> for wit::Hit {
    fn from(hit: &RuleHit) -> Self {
        Self {
            signature: hit.signature.clone(),
            text: hit.text.clone(),
            captures: hit.captures.clone(),
            place: hit.place.clone(),
            source: hit.source.clone(),
            count: hit.count,
            first: hit.first,
            last: hit.last,
        }
    }
}

/// Digests a batch.
pub(crate) fn digest(hits: &[RuleHit], into: &mut Fields) {
    for hit in hits {
        into.add(&hit.signature)
            .add(&hit.text)
            .add_pairs(&hit.captures)
            .add_pairs(&hit.place)
            .add(&hit.source);
        into.add(hit.count.to_le_bytes()).add(format!("{:?} {:?}", hit.first, hit.last));
    }
}

/// Checks the events of a batch of `hits` hits; `Err` says what breaks which rule.
pub(crate) fn events(events: Vec<wit::Event>, hits: usize) -> Result<Vec<EventDraft>, String> {
    if events.len() > MAX_EVENTS {
        return Err(format!("{} events, where {MAX_EVENTS} are allowed", events.len()));
    }
    let event = |(i, e)| event(e, hits).map_err(|problem| format!("event {i}: {problem}"));
    events.into_iter().enumerate().map(event).collect()
}

fn event(event: wit::Event, hits: usize) -> Result<EventDraft, String> {
    let cited = cited("hits", &event.hits, |hit| (hit as usize) < hits)?;
    attributes::symptom(&event.symptom)?;
    let (place, facts) = place_and_facts(event.place, event.facts)?;
    Ok(EventDraft { hits: cited, symptom: event.symptom, place, facts })
}

/// 1 to 64 numbers that exist, ascending and without repetition.
fn cited(what: &str, numbers: &[u32], exists: impl Fn(u32) -> bool) -> Result<Vec<u32>, String> {
    if !(1..=MAX_CITED).contains(&numbers.len()) {
        return Err(format!("it cites {} {what}, where 1 to {MAX_CITED} are allowed", numbers.len()));
    }
    if let Some(number) = numbers.iter().find(|n| !exists(**n)) {
        return Err(format!("it cites {number} of the {what}, which was not given to it"));
    }
    let sorted: BTreeSet<u32> = numbers.iter().copied().collect();
    Ok(sorted.into_iter().collect())
}

/// A place, and facts. The peer's node is a fact here, whichever of the two lists names it.
fn place_and_facts(
    place: Vec<(String, String)>,
    facts: Vec<(String, String)>,
) -> Result<(Place, BTreeMap<String, String>), String> {
    let mut facts = attributes::map(facts).map_err(|e| format!("facts: {e}"))?;
    attributes::check(&place).map_err(|e| format!("place: {e}"))?;
    let mut out = Place::default();
    for (key, value) in place {
        if value.is_empty() || value.chars().any(char::is_control) {
            return Err(format!(
                "place: '{key}' is empty or has control characters; leave out what is not known"
            ));
        }
        if key == "peer_node" {
            facts.entry(key).or_insert(value);
        } else {
            out.set(&key, &value).map_err(|e| format!("place: {}", shown(&e)))?;
        }
    }
    attributes::facts(&facts)?;
    Ok((out, facts))
}

/// Checks the amendments of one call that was shown the events `handed`; `Err` says what breaks which rule.
pub(crate) fn amendments(
    amendments: Vec<wit::Amendment>,
    handed: &BTreeSet<u32>,
) -> Result<Vec<Amendment>, String> {
    if amendments.len() > MAX_AMENDMENTS {
        return Err(format!("{} amendments, where {MAX_AMENDMENTS} are allowed", amendments.len()));
    }
    let amendment = |(i, a)| amendment(a, handed).map_err(|problem| format!("amendment {i}: {problem}"));
    amendments.into_iter().enumerate().map(amendment).collect()
}

fn amendment(amendment: wit::Amendment, handed: &BTreeSet<u32>) -> Result<Amendment, String> {
    let known = |id: u32| {
        if handed.contains(&id) {
            Ok(id)
        } else {
            Err(format!("it names the event {id}, which it was not shown in this call"))
        }
    };
    Ok(match amendment {
        wit::Amendment::Edge(edge) => {
            if edge.cause == edge.effect {
                return Err(format!("the event {} would explain itself", edge.cause));
            }
            attributes::sentence("its reason", &edge.why)?;
            let basis = basis(&edge.basis)?;
            Amendment::Edge { cause: known(edge.cause)?, effect: known(edge.effect)?, basis, why: edge.why }
        }
        wit::Amendment::Derived(derived) => {
            let cites = cited("events", &derived.cites, |id| handed.contains(&id))?;
            attributes::symptom(&derived.symptom)?;
            let (place, facts) = place_and_facts(derived.place, derived.facts)?;
            let onset = match (derived.onset_from, derived.onset_to) {
                (None, None) => None,
                (Some(from), Some(to)) if from <= to => Some((from, to)),
                (Some(_), Some(_)) => return Err("its onset ends before it begins".to_owned()),
                _ => return Err("its onset has one end only; give both or none".to_owned()),
            };
            Amendment::Derived { cites, symptom: derived.symptom, place, facts, onset }
        }
        wit::Amendment::Note(note) => {
            attributes::sentence("its text", &note.text)?;
            Amendment::Note { event: known(note.event)?, text: note.text }
        }
        wit::Amendment::Demotion(note) => {
            attributes::sentence("its reason", &note.text)?;
            Amendment::Demotion { event: known(note.event)?, why: note.text }
        }
    })
}

fn basis(name: &str) -> Result<Basis, String> {
    match name {
        "stated" => Ok(Basis::Stated),
        "named_peer" => Ok(Basis::NamedPeer),
        "place" => Ok(Basis::Place),
        "order" => Ok(Basis::Order),
        other => Err(format!("the basis '{}' is none of stated, named_peer, place, order", shown(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn draft(hits: &[u32], symptom: &str, place: &[(&str, &str)], facts: &[(&str, &str)]) -> wit::Event {
        wit::Event { hits: hits.to_vec(), symptom: symptom.into(), place: pairs(place), facts: pairs(facts) }
    }

    #[test]
    fn a_good_event() {
        let place = [("gpu", "0000:B5:00"), ("peer_node", "gpu-2")];
        let got = events(vec![draft(&[2, 0, 2], "xid.149", &place, &[("caused_by", "xid.1")])], 3).unwrap();
        assert_eq!(got[0].hits, [0, 2]);
        assert_eq!(got[0].place.gpu.as_ref().unwrap().as_str(), "0000:b5:00");
        assert_eq!(got[0].facts["peer_node"], "gpu-2");
    }

    #[test]
    fn events_that_break_a_rule() {
        for (event, wants) in [
            (draft(&[3], "a", &[], &[]), "event 0: it cites 3 of the hits"),
            (draft(&[], "a", &[], &[]), "0 hits"),
            (draft(&[0; 65], "a", &[], &[]), "65 hits"),
            (draft(&[0], "A", &[], &[]), "'A'"),
            (draft(&[0], &"a".repeat(200), &[], &[]), "200 bytes"),
            (draft(&[0], "a", &[("rank", "x")], &[]), "rank"),
            (draft(&[0], "a", &[("local_rank", "1")], &[]), "local_rank"),
            (draft(&[0], "a", &[("node", "")], &[]), "'node' is empty"),
            (draft(&[0], "a", &[("node", "a\nb")], &[]), "control"),
            (draft(&[0], "a", &[("gpu", "zz")], &[]), "PCI"),
            (draft(&[0], "a", &[], &[("before_ms", "soon")]), "before_ms"),
            (draft(&[0], "a", &[], &[("K", "")]), "'K'"),
        ] {
            let error = events(vec![event], 3).unwrap_err();
            assert!(error.contains(wants), "{error}");
        }
        let many = (0..1025).map(|_| draft(&[0], "a", &[], &[])).collect();
        assert!(events(many, 1).unwrap_err().contains("1025 events"));
    }

    #[test]
    fn amendments_that_break_a_rule() {
        let handed: BTreeSet<u32> = [1, 2].into();
        let edge = |cause, effect, basis: &str| {
            wit::Amendment::Edge(wit::Edge { cause, effect, basis: basis.into(), why: String::new() })
        };
        let derived = |from, to| {
            wit::Amendment::Derived(wit::Derived {
                cites: vec![1],
                symptom: "nccl.silent_rank".into(),
                place: pairs(&[("rank", "7")]),
                facts: Vec::new(),
                onset_from: from,
                onset_to: to,
            })
        };
        let note = |event, text: &str| wit::Amendment::Note(wit::Note { event, text: text.into() });
        amendments(vec![edge(1, 2, "stated"), derived(Some(1), Some(1)), note(2, "x")], &handed).unwrap();
        for (bad, wants) in [
            (edge(1, 3, "stated"), "the event 3"),
            (edge(1, 1, "stated"), "explain itself"),
            (edge(1, 2, "hunch"), "'hunch'"),
            (derived(Some(2), Some(1)), "ends before"),
            (derived(None, Some(1)), "one end"),
            (note(9, ""), "the event 9"),
            (note(1, &"x".repeat(5000)), "5000 bytes"),
        ] {
            let error = amendments(vec![note(1, ""), bad], &handed).unwrap_err();
            assert!(error.starts_with("amendment 1: ") && error.contains(wants), "{error}");
        }
    }
}
