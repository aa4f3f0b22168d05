//! Doubles of what the host offers, for the tests of a plugin.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::{Attributes, Coverage, Entry, Error, Files, Group, RankRange, RankSet, SeenEvent, Tables, View};

/// Files in memory. Folders follow from the paths.
#[derive(Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    links: Vec<(String, String)>,
    /// What was attached: root, path, labels.
    attached: Mutex<Vec<(String, String, Attributes)>>,
    /// What was skipped: root, path, reason.
    skipped: Mutex<Vec<(String, String, String)>>,
}

impl MemoryFiles {
    /// No roots.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a root without files, unless it is there.
    #[must_use]
    pub fn root(mut self, root: &str) -> Self {
        self.files.entry(root.to_owned()).or_default();
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn file(mut self, root: &str, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.entry(root.to_owned()).or_default().insert(path.to_owned(), bytes.into());
        self
    }

    /// Adds a link.
    #[must_use]
    pub fn link(mut self, root: &str, path: &str) -> Self {
        self.files.entry(root.to_owned()).or_default();
        self.links.push((root.to_owned(), path.to_owned()));
        self
    }

    /// What was attached so far, as (root, path, labels).
    #[must_use]
    pub fn attached(&self) -> Vec<(String, String, Attributes)> {
        self.attached.lock().map(|list| list.clone()).unwrap_or_default()
    }

    /// What was skipped so far, as (root, path, reason).
    #[must_use]
    pub fn skipped(&self) -> Vec<(String, String, String)> {
        self.skipped.lock().map(|list| list.clone()).unwrap_or_default()
    }
}

impl Files for MemoryFiles {
    fn roots(&self) -> Vec<String> {
        self.files.keys().cloned().collect()
    }

    /// Two, so that every test pages.
    fn page_size(&self) -> u32 {
        2
    }

    fn page(&self, root: &str, folder: &str, offset: u32) -> Result<Vec<Entry>, Error> {
        let files = self.files.get(root).ok_or_else(|| Error::not_found("no such root"))?;
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        let links = self.links.iter().filter(|(of, _)| of == root).map(|(_, path)| (path, None));
        for (path, bytes) in files.iter().map(|(path, bytes)| (path, Some(bytes))).chain(links) {
            let Some(rest) = path.strip_prefix(&prefix) else { continue };
            let (name, kind, size) = match (rest.split_once('/'), bytes) {
                (Some((name, _)), _) => (name, "folder", 0),
                (None, Some(bytes)) => (rest, "file", bytes.len() as u64),
                (None, None) => (rest, "link", 0),
            };
            let entry = Entry { path: format!("{prefix}{name}"), kind: kind.to_owned(), size };
            entries.insert(name.to_owned(), entry);
        }
        Ok(entries.into_values().skip(offset as usize).take(self.page_size() as usize).collect())
    }

    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let bytes = self.files.get(root).and_then(|files| files.get(path));
        let bytes = bytes.ok_or_else(|| Error::not_found(format!("no file {path}")))?;
        if bytes.len() as u64 > limit { Err(Error::new("too-large", "too large")) } else { Ok(bytes.clone()) }
    }

    fn attach(&self, root: &str, path: &str, labels: &[(String, String)]) -> Result<(), Error> {
        if let Ok(mut list) = self.attached.lock() {
            list.push((root.to_owned(), path.to_owned(), labels.to_vec()));
        }
        Ok(())
    }

    fn skip(&self, root: &str, path: &str, reason: &str) {
        if let Ok(mut list) = self.skipped.lock() {
            list.push((root.to_owned(), path.to_owned(), reason.to_owned()));
        }
    }
}

/// Tables in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryTables(BTreeMap<(String, String), Attributes>);

impl MemoryTables {
    /// No tables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row.
    #[must_use]
    pub fn row(mut self, table: &str, key: &str, columns: &[(&str, &str)]) -> Self {
        self.0.insert((table.to_owned(), key.to_owned()), owned(columns));
        self
    }
}

impl Tables for MemoryTables {
    fn lookup(&self, table: &str, key: &str) -> Option<Attributes> {
        self.0.get(&(table.to_owned(), key.to_owned())).cloned()
    }
}

/// Evidence in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryView {
    events: Vec<SeenEvent>,
    nodes: BTreeMap<u32, String>,
    coverage: BTreeMap<String, Vec<Coverage>>,
    context: BTreeMap<String, String>,
}

impl MemoryView {
    /// No evidence.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds ranks of a node.
    #[must_use]
    pub fn ranks_on(mut self, node: &str, ranks: impl IntoIterator<Item = u32>) -> Self {
        self.nodes.extend(ranks.into_iter().map(|rank| (rank, node.to_owned())));
        self
    }

    /// Adds the coverage of a source on a node.
    #[must_use]
    pub fn covered(mut self, source: &str, node: &str, status: &str) -> Self {
        let coverage = Coverage {
            source: source.to_owned(),
            node: node.to_owned(),
            status: status.to_owned(),
            lines: 1,
        };
        self.coverage.entry(source.to_owned()).or_default().push(coverage);
        self
    }

    /// Adds an event; its number is the count of those before it. The onset interval is (from, to).
    #[must_use]
    pub fn event(
        mut self,
        symptom: &str,
        place: &[(&str, &str)],
        facts: &[(&str, &str)],
        onset: Option<(i64, i64)>,
    ) -> Self {
        self.events.push(SeenEvent {
            id: u32::try_from(self.events.len()).unwrap_or(u32::MAX),
            symptom: symptom.to_owned(),
            place: owned(place),
            facts: owned(facts),
            count: 1,
            onset_from: onset.map(|(from, _)| from),
            onset_to: onset.map(|(_, to)| to),
        });
        self
    }

    /// Groups by symptom and facts, in the order of their first events. As with the host, how long an event waited is a
    /// matter of its time.
    fn grouped(&self) -> Vec<Vec<&SeenEvent>> {
        let mut groups: Vec<Vec<&SeenEvent>> = Vec::new();
        for event in &self.events {
            let same = |group: &&mut Vec<&SeenEvent>| {
                group.first().is_some_and(|first| {
                    first.symptom == event.symptom && shared(&first.facts) == shared(&event.facts)
                })
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(event),
                None => groups.push(vec![event]),
            }
        }
        groups
    }
}

impl View for MemoryView {
    fn groups(&self, symptom: &str) -> Vec<Group> {
        let wanted =
            |of: &str| symptom.strip_suffix('*').map_or(of == symptom, |prefix| of.starts_with(prefix));
        let mut groups = Vec::new();
        for (id, events) in (0_u32..).zip(self.grouped()) {
            let Some(first) = events.first().filter(|event| wanted(&event.symptom)) else { continue };
            groups.push(Group {
                id,
                symptom: first.symptom.clone(),
                facts: shared(&first.facts),
                count: events.iter().map(|event| event.count).sum(),
                events: u32::try_from(events.len()).unwrap_or(u32::MAX),
                first: events.iter().filter_map(|event| event.onset_from).min(),
                last: events.iter().filter_map(|event| event.onset_from).max(),
            });
        }
        groups
    }

    fn events(&self, group: u32) -> Vec<SeenEvent> {
        self.grouped()
            .get(group as usize)
            .map(|events| events.iter().map(|event| (*event).clone()).collect())
            .unwrap_or_default()
    }

    fn first_events(&self, group: u32, limit: u32) -> Vec<SeenEvent> {
        let mut events = self.events(group);
        events.truncate(limit as usize);
        events
    }

    fn ranks(&self, group: u32) -> Vec<RankRange> {
        let events = self.events(group);
        let ranks = events.iter().filter_map(|event| crate::get(&event.place, "rank")?.parse::<u32>().ok());
        ranks.collect::<RankSet>().ranges().to_vec()
    }

    fn all_ranks(&self) -> Vec<RankRange> {
        self.nodes.keys().copied().collect::<RankSet>().ranges().to_vec()
    }

    fn node_of(&self, rank: u32) -> Option<String> {
        self.nodes.get(&rank).cloned()
    }

    fn coverage_of(&self, source: &str) -> Vec<Coverage> {
        self.coverage.get(source).cloned().unwrap_or_default()
    }

    fn context(&self, key: &str) -> Option<String> {
        self.context.get(key).cloned()
    }
}

fn owned(pairs: &[(&str, &str)]) -> Attributes {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn shared(facts: &[(String, String)]) -> Attributes {
    facts.iter().filter(|(key, _)| !matches!(key.as_str(), "before_ms" | "pid" | "note")).cloned().collect()
}
