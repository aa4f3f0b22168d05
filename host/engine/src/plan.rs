//! Which hits become events at once, and which go to rule modules.

use std::collections::BTreeMap;

use firstfault_model::event::EventDraft;
use firstfault_model::hit::Hit;
use firstfault_rules::matcher::Consumer;
use firstfault_rules::ruleset::RuleSet;

/// Most hits of a batch.
pub const BATCH_HITS: usize = 256;
/// Most bytes of text of a batch.
pub const BATCH_BYTES: usize = 256 * 1024;

/// Hits for one call of a rule module, which runs on a fresh instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Name of the module.
    pub module: String,
    /// Indices of the case's hits, ascending.
    pub hits: Vec<u32>,
}

/// What to do with the hits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtractPlan {
    /// Events that signatures state by themselves.
    pub events: Vec<EventDraft>,
    /// Batches, by module and then in canonical order.
    pub batches: Vec<Batch>,
}

/// Plans the extraction. Borders of batches depend on the hits alone.
#[must_use]
pub fn plan(rules: &RuleSet, hits: &[Hit]) -> ExtractPlan {
    let mut events = Vec::new();
    let mut by_module: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (i, hit) in hits.iter().enumerate() {
        let Some(signature) = rules.matcher().signature(hit.signature) else { continue };
        let Ok(index) = u32::try_from(i) else { break };
        match &signature.consumer {
            Consumer::Module(module) => by_module.entry(module).or_default().push(index),
            Consumer::Symptom(symptom) => {
                let capture = |name: &String| hit.captures.get(name).filter(|v| !v.is_empty()).cloned();
                let mut facts: BTreeMap<String, String> = signature
                    .spec
                    .facts
                    .iter()
                    .filter_map(|(fact, name)| Some((fact.clone(), capture(name)?)))
                    .collect();
                if let Some(onset) = &signature.spec.onset {
                    let seconds =
                        onset.before_s.as_ref().and_then(capture).and_then(|s| s.parse::<u64>().ok());
                    let millis = onset.before_ms.as_ref().and_then(capture);
                    if let Some(ms) = millis.or_else(|| seconds.map(|s| s.saturating_mul(1000).to_string())) {
                        facts.insert("before_ms".into(), ms);
                    }
                }
                events.push(EventDraft {
                    hits: vec![index],
                    symptom: symptom.clone(),
                    place: hit.place.clone(),
                    facts,
                });
            }
        }
    }
    let mut batches = Vec::new();
    for (module, indices) in by_module {
        let mut batch = Vec::new();
        let mut bytes = 0;
        for index in indices {
            let size = hits.get(index as usize).map_or(0, |h| h.text.len());
            if batch.len() == BATCH_HITS || (!batch.is_empty() && bytes + size > BATCH_BYTES) {
                batches.push(Batch { module: module.to_owned(), hits: std::mem::take(&mut batch) });
                bytes = 0;
            }
            bytes += size;
            batch.push(index);
        }
        if !batch.is_empty() {
            batches.push(Batch { module: module.to_owned(), hits: batch });
        }
    }
    ExtractPlan { events, batches }
}
