//! Numbers the lines that the document refers to.

use std::collections::BTreeMap;

use firstfault_model::canonical::digest;
use firstfault_model::diagnosis::Evidence;
use firstfault_model::focus::UnknownLine;

use crate::case::Case;

/// The lines that are referred to, numbered in the order of first reference.
#[derive(Debug, Default)]
pub struct Ledger {
    ids: BTreeMap<u32, String>,
    list: Vec<Evidence>,
}

impl Ledger {
    /// The id of a hit's line.
    pub fn cite(&mut self, hit: u32, case: &Case) -> Option<String> {
        if let Some(id) = self.ids.get(&hit) {
            return Some(id.clone());
        }
        let found = case.hits.get(hit as usize)?;
        let stream = case.streams.get(found.first.stream as usize)?;
        // One line that several rules matched is one piece of evidence.
        let same = self.list.iter().find(|e| {
            e.stream == stream.name.name
                && e.source == stream.name.source.name()
                && e.node == stream.name.node
                && e.byte_offset == found.first.offset
                && e.text == found.text
        });
        if let Some(known) = same {
            let id = known.id.clone();
            self.ids.insert(hit, id.clone());
            return Some(id);
        }
        let id = format!("e{}", self.list.len() + 1);
        self.ids.insert(hit, id.clone());
        self.list.push(Evidence {
            id: id.clone(),
            source: stream.name.source.name().to_owned(),
            trust: stream.trust,
            node: stream.name.node.clone().or_else(|| found.place.node.clone()),
            stream: stream.name.name.clone(),
            line_number: found.line_number,
            byte_offset: found.first.offset,
            time: found.first_time.map(|s| s.time),
            time_source: found.first_time.map(|s| s.source.name().to_owned()),
            text: found.text.clone(),
            cut: found.cut,
            digest: digest(found.text.as_bytes()),
        });
        Some(id)
    }

    /// The id of a line that no rule knows.
    pub fn cite_unknown(&mut self, line: &UnknownLine, case: &Case) -> Option<(String, &Evidence)> {
        let stream = case.streams.get(line.at.stream as usize)?;
        let id = format!("e{}", self.list.len() + 1);
        self.list.push(Evidence {
            id: id.clone(),
            source: stream.name.source.name().to_owned(),
            trust: stream.trust,
            node: stream.name.node.clone().or_else(|| line.node.clone()),
            stream: stream.name.name.clone(),
            line_number: line.line_number,
            byte_offset: line.at.offset,
            time: line.time.map(|s| s.time),
            time_source: line.time.map(|s| s.source.name().to_owned()),
            text: line.text.clone(),
            cut: line.cut,
            digest: digest(line.text.as_bytes()),
        });
        Some((id, self.list.last()?))
    }

    /// Ids of several hits, at most `most`.
    pub fn cite_all(&mut self, hits: impl IntoIterator<Item = u32>, most: usize, case: &Case) -> Vec<String> {
        let mut out = Vec::new();
        for hit in hits {
            if out.len() >= most {
                break;
            }
            if let Some(id) = self.cite(hit, case)
                && !out.contains(&id)
            {
                out.push(id);
            }
        }
        out
    }

    /// All of them.
    #[must_use]
    pub fn into_list(self) -> Vec<Evidence> {
        self.list
    }
}
