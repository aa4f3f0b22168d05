//! The execution context: one attempt of a workload, as its scheduler (or a person) records it.
//!
//! Two forms: [`ContextDocument`] is what a connector or an incident folder gives (`firstfault.context/v1`);
//! [`ExecutionContext`] is the validated form that everything else reads.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnosis::TerminalState;
use crate::place::PciBusId;
use crate::ranges::{RankList, parse_ranks};
use crate::time::{Timestamp, parse_offset};

/// Most ranks that one attempt may have.
pub const MAX_RANKS: usize = 1 << 20;

/// A context as it is written (`firstfault.context/v1`). Everything is optional: what is missing is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContextDocument {
    /// `firstfault.context/v1`; may be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// `slurm`, `kueue`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Name of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The scheduler's id of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Number of the attempt, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Name of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Account that it is charged to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Partition or queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Start of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// End of the attempt; missing while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    /// Zones of stamps that carry none: an offset such as `+01:00` or `UTC`, by source name or node name, and `default`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub zones: BTreeMap<String, String>,
    /// How the scheduler says that it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalDocument>,
    /// The nodes, in the order of the scheduler.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeDocument>,
    /// Number of ranks, where they are not listed by node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_count: Option<u32>,
    /// Sources whose trust the operator vouches for in this context.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, String>,
}

/// How an attempt ended, as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TerminalDocument {
    /// The state in firstfault's terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<TerminalState>,
    /// The state in the scheduler's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The scheduler's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it was requeued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeued: Option<bool>,
    /// Exit code of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

/// A node, as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeDocument {
    /// As the scheduler names it.
    pub name: String,
    /// Global ranks on it, in the order of their local ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankList>,
    /// The leaf switch that it hangs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// Boot id in the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Its GPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuDocument>,
    /// Other names and addresses of the node that logs use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// A GPU, as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GpuDocument {
    /// Index on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// PCI bus id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_bus_id: Option<PciBusId>,
    /// UUID (`GPU-...`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Serial number of the board.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Global ranks that used it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RankList>,
}

/// What is wrong with a context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// Not JSON, or not of the schema.
    #[error("{0}")]
    Document(String),
    /// A field holds what it must not.
    #[error("field `{field}`: {problem}")]
    Field {
        /// Path of the field.
        field: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
}

/// One GPU of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gpu {
    /// Index on the node.
    pub index: Option<u32>,
    /// PCI bus id.
    pub bus_id: Option<PciBusId>,
    /// UUID.
    pub uuid: Option<String>,
    /// Serial number of the board.
    pub serial: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Global ranks that used it.
    pub ranks: BTreeSet<u32>,
}

/// One node of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// As the scheduler names it.
    pub name: String,
    /// Global ranks by local rank.
    pub ranks: Vec<u32>,
    /// Leaf switch.
    pub switch: Option<String>,
    /// Boot id.
    pub boot_id: Option<String>,
    /// GPUs.
    pub gpus: Vec<Gpu>,
}

/// A validated context. With nothing known it is [`ExecutionContext::default`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionContext {
    /// The document that it was made of.
    pub document: ContextDocument,
    /// The nodes in the scheduler's order.
    pub nodes: Vec<Node>,
    /// Names, short names and aliases to index in `nodes`.
    by_name: BTreeMap<String, usize>,
    /// Rank to index in `nodes`.
    by_rank: BTreeMap<u32, usize>,
}

impl ExecutionContext {
    /// Reads and validates a document in JSON.
    ///
    /// # Errors
    /// What is wrong, at which field or line.
    pub fn parse(json: &str) -> Result<Self, ContextError> {
        let mut reader = serde_json::Deserializer::from_str(json);
        let document: ContextDocument = serde_path_to_error::deserialize(&mut reader).map_err(|e| {
            let (path, problem) = (e.path().to_string(), e.into_inner());
            // What is no JSON at all has no field.
            if path == "." || !problem.is_data() {
                return ContextError::Document(format!("not a context document: {problem}"));
            }
            ContextError::Field { field: path, problem: problem.to_string() }
        })?;
        reader.end().map_err(|e| ContextError::Document(format!("not a context document: {e}")))?;
        Self::new(document)
    }

    /// Validates a document.
    ///
    /// # Errors
    /// The first field that does not fit.
    pub fn new(document: ContextDocument) -> Result<Self, ContextError> {
        let field = |field: String, problem: &str| ContextError::Field { field, problem: problem.to_owned() };
        if document.schema.as_deref().is_some_and(|s| s != "firstfault.context/v1") {
            return Err(field("schema".into(), "this version reads `firstfault.context/v1`"));
        }
        if let (Some(start), Some(end)) = (document.start, document.end)
            && end < start
        {
            return Err(field("end".into(), "lies before `start`"));
        }
        for (key, zone) in &document.zones {
            if parse_offset(zone).is_none() {
                return Err(field(
                    format!("zones.{key}"),
                    &format!(
                        "'{zone}' is not an offset: write UTC or an offset such as +01:00 (names of zones are not read)"
                    ),
                ));
            }
        }
        let ranks_of = |list: Option<&RankList>, at: String| -> Result<Vec<u32>, ContextError> {
            match list {
                None => Ok(Vec::new()),
                Some(RankList::Numbers(numbers)) if numbers.len() <= MAX_RANKS => Ok(numbers.clone()),
                Some(RankList::Text(text)) => parse_ranks(text, MAX_RANKS)
                    .map(|set| set.into_iter().collect())
                    .ok_or_else(|| field(at, "write ranges such as \"0-7,12\", at most 1,048,576 ranks")),
                Some(RankList::Numbers(_)) => Err(field(at, "more than 1,048,576 ranks")),
            }
        };
        let mut nodes = Vec::with_capacity(document.nodes.len());
        let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
        let mut by_rank = BTreeMap::new();
        let mut listed = 0;
        for (i, node) in document.nodes.iter().enumerate() {
            if node.name.is_empty() {
                return Err(field(
                    format!("nodes[{i}].name"),
                    "is missing: write the scheduler's name of the node",
                ));
            }
            if by_name.insert(node.name.clone(), i).is_some() {
                return Err(field(format!("nodes[{i}].name"), &format!("'{}' is named twice", node.name)));
            }
            let ranks = ranks_of(node.ranks.as_ref(), format!("nodes[{i}].ranks"))?;
            for rank in &ranks {
                if by_rank.insert(*rank, i).is_some() {
                    return Err(field(format!("nodes[{i}].ranks"), &format!("rank {rank} is listed twice")));
                }
            }
            let mut gpus = Vec::with_capacity(node.gpus.len());
            for (j, gpu) in node.gpus.iter().enumerate() {
                let of_gpu = ranks_of(gpu.ranks.as_ref(), format!("nodes[{i}].gpus[{j}].ranks"))?;
                if let Some(stranger) =
                    of_gpu.iter().find(|r| !ranks.is_empty() && by_rank.get(*r) != Some(&i))
                {
                    return Err(field(
                        format!("nodes[{i}].gpus[{j}].ranks"),
                        &format!("rank {stranger} is not among the ranks of the node"),
                    ));
                }
                listed += of_gpu.len();
                if listed > MAX_RANKS {
                    return Err(field(
                        format!("nodes[{i}].gpus[{j}].ranks"),
                        "more than 1,048,576 ranks on all GPUs together",
                    ));
                }
                gpus.push(Gpu {
                    index: gpu.index,
                    bus_id: gpu.pci_bus_id.clone(),
                    uuid: gpu.uuid.clone(),
                    serial: gpu.serial.clone(),
                    model: gpu.model.clone(),
                    ranks: of_gpu.into_iter().collect(),
                });
            }
            nodes.push(Node {
                name: node.name.clone(),
                ranks,
                switch: node.switch.clone(),
                boot_id: node.boot_id.clone(),
                gpus,
            });
        }
        // Short names and aliases, where they are not a node's own name and name one node only.
        let mut extra: BTreeMap<String, Option<usize>> = BTreeMap::new();
        for (i, node) in document.nodes.iter().enumerate() {
            let short = node.name.split('.').next().filter(|s| *s != node.name).map(str::to_owned);
            for alias in node.aliases.iter().cloned().chain(short) {
                extra.entry(alias).and_modify(|slot| *slot = (*slot).filter(|j| *j == i)).or_insert(Some(i));
            }
        }
        for (alias, index) in extra {
            if let Some(index) = index {
                by_name.entry(alias).or_insert(index);
            }
        }
        Ok(Self { document, nodes, by_name, by_rank })
    }

    /// The scheduler's name of a node that a log names by its name, short name, full name or alias.
    #[must_use]
    pub fn node_named(&self, name: &str) -> Option<&str> {
        self.node_index(name).and_then(|i| self.nodes.get(i)).map(|n| n.name.as_str())
    }

    fn node_index(&self, name: &str) -> Option<usize> {
        let short = || name.split('.').next().filter(|s| !s.bytes().all(|b| b.is_ascii_digit()));
        self.by_name.get(name).or_else(|| self.by_name.get(short()?)).copied()
    }

    /// A node by its scheduler's name or an alias.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.node_index(name).and_then(|i| self.nodes.get(i))
    }

    /// The node that a global rank ran on.
    #[must_use]
    pub fn node_of_rank(&self, rank: u32) -> Option<&Node> {
        self.by_rank.get(&rank).and_then(|i| self.nodes.get(*i))
    }

    /// The GPU that a global rank used, if exactly one is recorded.
    #[must_use]
    pub fn gpu_of_rank(&self, rank: u32) -> Option<&Gpu> {
        let mut gpus = self.node_of_rank(rank)?.gpus.iter().filter(|g| g.ranks.contains(&rank));
        gpus.next().filter(|_| gpus.next().is_none())
    }

    /// All global ranks that are known.
    #[must_use]
    pub fn ranks(&self) -> BTreeSet<u32> {
        if self.by_rank.is_empty() {
            let count = self.document.rank_count.unwrap_or(0).min(MAX_RANKS as u32);
            return (0..count).collect();
        }
        self.by_rank.keys().copied().collect()
    }

    /// Number of ranks, if it is known.
    #[must_use]
    pub fn rank_count(&self) -> Option<u32> {
        if self.by_rank.is_empty() {
            self.document.rank_count
        } else {
            u32::try_from(self.by_rank.len()).ok()
        }
    }

    /// Offset of zone-less stamps of a source on a node, in seconds east of UTC; `None` if the context does not say.
    #[must_use]
    pub fn zone(&self, source: &str, node: Option<&str>) -> Option<i32> {
        let zones = &self.document.zones;
        let found =
            node.and_then(|n| zones.get(n)).or_else(|| zones.get(source)).or_else(|| zones.get("default"));
        found.and_then(|text| parse_offset(text))
    }

    /// How the scheduler says that it ended.
    #[must_use]
    pub fn terminal_state(&self) -> Option<TerminalState> {
        self.document.terminal.as_ref().and_then(|t| t.state)
    }

    /// A scalar by the name of its field, as plugins ask for it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<String> {
        let d = &self.document;
        match key {
            "scheduler" => d.scheduler.clone(),
            "cluster" => d.cluster.clone(),
            "id" => d.id.clone(),
            "attempt" => d.attempt.map(|a| a.to_string()),
            "name" => d.name.clone(),
            "user" => d.user.clone(),
            "account" => d.account.clone(),
            "partition" => d.partition.clone(),
            "start" => d.start.map(|t| t.to_string()),
            "end" => d.end.map(|t| t.to_string()),
            "terminal.state" => self.terminal_state().map(|s| s.name().to_owned()),
            other => d.extra.get(other).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{"id": "7", "start": "2026-11-02T20:00:00Z", "end": "2026-11-02T21:00:00Z",
        "nodes": [{"name": "gpu-1.site", "ranks": [0, 1], "gpus": [{"index": 0, "pci_bus_id": "0000:1A:00", "ranks": [0]}]},
                  {"name": "gpu-2.site", "ranks": "2-3", "aliases": ["10.0.0.2"]}]}"#;

    #[test]
    fn places_are_found_by_every_name() {
        let context = ExecutionContext::parse(SMALL).unwrap();
        for name in ["gpu-1", "gpu-1.site", "gpu-1.other"] {
            assert_eq!(context.node_named(name), Some("gpu-1.site"), "{name}");
        }
        assert_eq!(context.node_named("10.0.0.2"), Some("gpu-2.site"));
        assert_eq!(context.node_named("10.0.0.3"), None);
        assert_eq!(context.node_of_rank(3).unwrap().name, "gpu-2.site");
        assert_eq!(context.gpu_of_rank(0).unwrap().bus_id.as_ref().unwrap().as_str(), "0000:1a:00");
        assert_eq!(context.gpu_of_rank(1), None);
        assert_eq!(context.rank_count(), Some(4));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (json, wants) in [
            (r#"{"nodes": [{"name": "a"}, {"name": "a"}]}"#, "nodes[1].name"),
            (
                r#"{"nodes": [{"name": "a", "ranks": [1]}, {"name": "b", "ranks": "0-2"}]}"#,
                "rank 1 is listed twice",
            ),
            (r#"{"nodes": [{"ranks": [1]}]}"#, "nodes[0].name"),
            (r#"{"nodes": [{"name": "a", "ranks": "0-4294967295"}]}"#, "nodes[0].ranks"),
            (r#"{"zones": {"default": "Mars/Base"}}"#, "zones.default"),
            (r#"{"start": "2026-11-02T20:00:00Z", "end": "2026-11-02T19:00:00Z"}"#, "`end`"),
            (r#"{"start": "2026-11-02 20:00"}"#, "RFC 3339"),
            (r#"{"stat": 1}"#, "unknown field `stat`"),
            (r#"{"terminal": {"state": "exploded"}}"#, "unknown variant `exploded`"),
            (r#"{"schema": "firstfault.context/v9"}"#, "schema"),
        ] {
            let error = ExecutionContext::parse(json).unwrap_err().to_string();
            assert!(error.contains(wants), "{json}: {error}");
        }
    }
}
