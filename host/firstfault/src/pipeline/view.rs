//! The graph as rule modules see it.

use std::sync::Arc;

use firstfault_engine::event::Event;
use firstfault_engine::view::Groups;
use firstfault_engine::{Case, Graph};
use firstfault_model::ranges::rank_ranges;
use firstfault_model::source::Source;
use firstfault_runtime::{View, ViewCoverage, ViewEvent, ViewGroup};

/// The graph of one round, for the plugin interface.
#[derive(Debug)]
pub struct GraphView {
    graph: Graph,
    case: Arc<Case>,
    groups: Groups,
}

impl GraphView {
    /// Of a graph and its case.
    #[must_use]
    pub fn new(graph: Graph, case: Arc<Case>) -> Self {
        let groups = Groups::of(&graph);
        Self { graph, case, groups }
    }

    /// The graph again; a copy only if somebody still looks at it.
    #[must_use]
    pub fn into_graph(view: Arc<Self>) -> Graph {
        Arc::try_unwrap(view).map_or_else(|shared| shared.graph.clone(), |view| view.graph)
    }
}

fn page<T>(items: impl Iterator<Item = T>, offset: u32, limit: u32) -> Vec<T> {
    items.skip(offset as usize).take(limit as usize).collect()
}

fn pairs<'a>(facts: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<(String, String)> {
    facts.into_iter().map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn shown(id: u32, event: &Event) -> ViewEvent {
    let mut place = event.place.attributes();
    if event.place.rank.is_none()
        && let [rank] = event.ranks.as_slice()
    {
        place.push(("rank".into(), rank.to_string()));
    }
    ViewEvent {
        id,
        symptom: event.symptom.clone(),
        place,
        facts: pairs(&event.facts),
        count: event.count,
        onset_from: event.onset.map(|o| o.from.0),
        onset_to: event.onset.map(|o| o.to.0).filter(|t| *t != i64::MAX),
    }
}

impl View for GraphView {
    fn groups(&self, symptom: &str, offset: u32, limit: u32) -> Vec<ViewGroup> {
        let shown = self.groups.matching(symptom).map(|(id, group)| {
            let onsets: Vec<i64> =
                group.events(&self.graph).filter_map(|(_, e)| e.onset).map(|o| o.from.0).collect();
            ViewGroup {
                id,
                symptom: group.symptom.clone(),
                facts: pairs(&group.facts),
                count: group.events(&self.graph).map(|(_, e)| e.count).sum(),
                events: u32::try_from(group.events.len()).unwrap_or(u32::MAX),
                first: onsets.iter().min().copied(),
                last: onsets.iter().max().copied(),
            }
        });
        page(shown, offset, limit)
    }

    fn events(&self, group: u32, offset: u32, limit: u32) -> Vec<ViewEvent> {
        let Some(group) = self.groups.get(group) else { return Vec::new() };
        page(group.events(&self.graph).map(|(i, e)| shown(i, e)), offset, limit)
    }

    fn ranks(&self, group: u32) -> Vec<(u32, u32)> {
        self.groups.get(group).map_or_else(Vec::new, |g| rank_ranges(&g.ranks(&self.graph)))
    }

    fn all_ranks(&self) -> Vec<(u32, u32)> {
        rank_ranges(&self.case.context.ranks())
    }

    fn node_of(&self, rank: u32) -> Option<String> {
        self.case.context.node_of_rank(rank).map(|n| n.name.clone())
    }

    fn coverage_of(&self, source: &str, offset: u32, limit: u32) -> Vec<ViewCoverage> {
        let kind = Source::parse(source);
        let nodes = self.case.context.nodes.iter().map(|node| {
            let (status, lines) = self.case.coverage_of(&kind, &node.name);
            ViewCoverage {
                source: source.to_owned(),
                node: node.name.clone(),
                status: status.name().to_owned(),
                lines,
            }
        });
        page(nodes, offset, limit)
    }

    fn context(&self, key: &str) -> Option<String> {
        self.case.context.get(key)
    }
}
