//! `view` and `tables`: what a rule module may ask.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::bindings::types::RankRange;
use crate::bindings::{tables, view};
use crate::evidence::{Tables, View};
use crate::host::{Host, weight};

/// Groups or events in one answer.
const MAX_ROWS: u32 = 1024;
/// Entries of coverage in one answer.
const MAX_COVERAGE: u32 = 4096;

/// The evidence of one call. Without a view, everything is empty: `extract` sees hits only.
#[derive(Default)]
pub(crate) struct Evidence {
    pub(crate) tables: Option<Arc<dyn Tables>>,
    pub(crate) view: Option<Arc<dyn View>>,
    /// Events that the module was shown, and so may cite.
    pub(crate) handed: BTreeSet<u32>,
}

impl Host {
    fn ask<T: Default>(
        &mut self,
        bytes: usize,
        question: impl FnOnce(&dyn View) -> T,
    ) -> wasmtime::Result<T> {
        self.meter.tick_for(bytes)?;
        Ok(self.evidence.view.as_deref().map(question).unwrap_or_default())
    }
}

fn ranges(ranges: Vec<(u32, u32)>) -> Vec<RankRange> {
    ranges.into_iter().map(|(first, last)| RankRange { first, last }).collect()
}

impl view::Host for Host {
    fn groups(&mut self, symptom: String, offset: u32, limit: u32) -> wasmtime::Result<Vec<view::Group>> {
        let groups = self.ask(symptom.len(), |v| v.groups(&symptom, offset, limit.min(MAX_ROWS)))?;
        self.meter.spend(groups.iter().map(|g| 1 + weight(&g.facts)).sum())?;
        let group = |g: crate::evidence::ViewGroup| view::Group {
            id: g.id,
            symptom: g.symptom,
            facts: g.facts,
            count: g.count,
            events: g.events,
            first: g.first,
            last: g.last,
        };
        Ok(groups.into_iter().map(group).collect())
    }

    fn events(&mut self, group: u32, offset: u32, limit: u32) -> wasmtime::Result<Vec<view::Event>> {
        let events = self.ask(0, |v| v.events(group, offset, limit.min(MAX_ROWS)))?;
        self.meter.spend(events.iter().map(|e| 1 + weight(&e.place) + weight(&e.facts)).sum())?;
        self.evidence.handed.extend(events.iter().map(|e| e.id));
        let event = |e: crate::evidence::ViewEvent| view::Event {
            id: e.id,
            symptom: e.symptom,
            place: e.place,
            facts: e.facts,
            count: e.count,
            onset_from: e.onset_from,
            onset_to: e.onset_to,
        };
        Ok(events.into_iter().map(event).collect())
    }

    fn ranks(&mut self, group: u32) -> wasmtime::Result<Vec<RankRange>> {
        let found = self.ask(0, |v| v.ranks(group))?;
        self.meter.spend(found.len())?;
        Ok(ranges(found))
    }

    fn all_ranks(&mut self) -> wasmtime::Result<Vec<RankRange>> {
        let found = self.ask(0, |v| v.all_ranks())?;
        self.meter.spend(found.len())?;
        Ok(ranges(found))
    }

    fn node_of(&mut self, rank: u32) -> wasmtime::Result<Option<String>> {
        self.ask(0, |v| v.node_of(rank))
    }

    fn coverage_of(
        &mut self,
        source: String,
        offset: u32,
        limit: u32,
    ) -> wasmtime::Result<Vec<view::Coverage>> {
        let coverage = self.ask(source.len(), |v| v.coverage_of(&source, offset, limit.min(MAX_COVERAGE)))?;
        self.meter.spend(coverage.len())?;
        let entry = |c: crate::evidence::ViewCoverage| view::Coverage {
            source: c.source,
            node: c.node,
            status: c.status,
            lines: c.lines,
        };
        Ok(coverage.into_iter().map(entry).collect())
    }

    fn context(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        self.ask(key.len(), |v| v.context(&key))
    }
}

impl tables::Host for Host {
    fn lookup(&mut self, table: String, key: String) -> wasmtime::Result<Option<Vec<(String, String)>>> {
        self.meter.tick_for(table.len() + key.len())?;
        Ok(self.evidence.tables.as_deref().and_then(|t| t.lookup(&table, &key)))
    }
}
