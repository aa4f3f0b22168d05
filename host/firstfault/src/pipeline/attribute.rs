//! Rule modules between the stages of the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstfault_engine::{Case, Graph, plan};
use firstfault_model::event::EventDraft;
use firstfault_model::hit::Hit;
use firstfault_rules::ruleset::RuleSet;
use firstfault_runtime::{Plugin, PluginFailure, RuleHit, View};
use rayon::prelude::*;

use crate::generation::Generation;
use crate::pipeline::gather::plugin_ref;
use crate::pipeline::view::GraphView;

/// Most rounds of refinement.
const ROUNDS: usize = 3;

/// A case and its graph.
#[derive(Debug)]
pub struct Attributed {
    /// The case, with the rule modules' status.
    pub case: Case,
    /// The graph.
    pub graph: Graph,
}

/// What a module failed with: voids all that it contributed.
type Failures = BTreeMap<String, (String, String)>;

/// Runs the rule modules and builds the graph.
#[must_use]
pub fn attribute(generation: &Generation, case: Case) -> Attributed {
    let rules = &generation.rules;
    let plan = plan(rules, &case.hits);
    let mut failures = Failures::new();
    let by_module = extract(generation, &plan.batches, &case, rules, &mut failures);
    let case = Arc::new(case);
    // A module that fails while refining contributes nothing at all: begin again without it.
    let graph = loop {
        let made = by_module
            .iter()
            .filter(|(module, _)| !failures.contains_key(*module))
            .flat_map(|(_, events)| events);
        let graph = Graph::new(plan.events.iter().chain(made), &case, rules);
        match refine(generation, &case, graph, &failures) {
            Ok(graph) => break graph,
            Err((module, failure)) => {
                failures.insert(module, failure);
            }
        }
    };
    let mut case = Arc::try_unwrap(case).unwrap_or_else(|shared| (*shared).clone());
    for module in &generation.modules {
        let failure = failures.get(module.name());
        if let Some((_, why)) = failure {
            tracing::warn!(plugin = module.name(), "{why}");
        }
        case.plugins.push(plugin_ref(module, failure.map(|(status, why)| (status.as_str(), why.clone()))));
    }
    case.plugins.sort_by(|a, b| (&a.name, &a.digest).cmp(&(&b.name, &b.digest)));
    Attributed { case, graph }
}

/// Events of all batches, by module and in the order of the batches.
fn extract(
    generation: &Generation,
    batches: &[firstfault_engine::Batch],
    case: &Case,
    rules: &RuleSet,
    failures: &mut Failures,
) -> BTreeMap<String, Vec<EventDraft>> {
    let tables = generation.tables();
    let results: Vec<(&str, Result<Vec<EventDraft>, PluginFailure>)> = batches
        .par_iter()
        .filter_map(|batch| {
            let module = generation.modules.iter().find(|m| m.name() == batch.module)?;
            let hits: Vec<RuleHit> = batch
                .hits
                .iter()
                .filter_map(|i| rule_hit(case.hits.get(*i as usize)?, case, rules))
                .collect();
            let events = module
                .extract(&hits, Arc::clone(&tables))
                .map(|drafts| drafts.into_iter().map(|draft| resolve_indices(draft, &batch.hits)).collect());
            Some((batch.module.as_str(), events))
        })
        .collect();
    let mut by_module: BTreeMap<String, Vec<EventDraft>> = BTreeMap::new();
    for (module, result) in results {
        match result {
            Ok(events) => {
                let unknown = events.iter().find(|e| rules.symptom(&e.symptom).is_none());
                if let Some(event) = unknown {
                    let why = format!(
                        "plugin '{module}' made an event of '{}', which no pack defines",
                        event.symptom
                    );
                    failures.entry(module.to_owned()).or_insert(("malformed".into(), why));
                }
                by_module.entry(module.to_owned()).or_default().extend(events);
            }
            // The first failure in canonical order is the one that is told.
            Err(failure) => {
                failures
                    .entry(module.to_owned())
                    .or_insert((failure.status().to_owned(), failure.to_string()));
            }
        }
    }
    by_module
}

fn resolve_indices(mut draft: EventDraft, batch: &[u32]) -> EventDraft {
    draft.hits = draft.hits.iter().filter_map(|i| batch.get(*i as usize).copied()).collect();
    draft
}

fn rule_hit(hit: &Hit, case: &Case, rules: &RuleSet) -> Option<RuleHit> {
    let signature = rules.matcher().signature(hit.signature)?;
    let stream = case.streams.get(hit.first.stream as usize)?;
    Some(RuleHit {
        signature: signature.name.clone(),
        text: hit.text.clone(),
        captures: hit.captures.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
        place: hit.place.attributes(),
        source: stream.name.source.name().to_owned(),
        count: hit.count,
        first: hit.first_time.map(|s| s.time.0),
        last: hit.last_time.map(|s| s.time.0),
    })
}

/// Rounds of refinement, until no module adds anything.
fn refine(
    generation: &Generation,
    case: &Arc<Case>,
    graph: Graph,
    failed: &Failures,
) -> Result<Graph, (String, (String, String))> {
    let rules = &generation.rules;
    let modules: Vec<&Plugin> =
        generation.modules.iter().filter(|m| !failed.contains_key(m.name())).collect();
    let mut view = Arc::new(GraphView::new(graph, Arc::clone(case)));
    for _ in 0..ROUNDS {
        let mut changed = 0;
        for module in &modules {
            let fail = |status: &str, why: String| (module.name().to_owned(), (status.to_owned(), why));
            let shared: Arc<dyn View> = Arc::<GraphView>::clone(&view);
            let amendments =
                module.refine(shared, generation.tables()).map_err(|f| fail(f.status(), f.to_string()))?;
            if amendments.is_empty() {
                continue;
            }
            let mut graph = GraphView::into_graph(view);
            let added = graph
                .amend(module.name(), &amendments, case, rules)
                .map_err(|e| fail("malformed", format!("plugin '{}': {e}", module.name())))?;
            view = Arc::new(GraphView::new(graph, Arc::clone(case)));
            changed += added;
        }
        if changed == 0 {
            break;
        }
    }
    Ok(GraphView::into_graph(view).finish(rules))
}
