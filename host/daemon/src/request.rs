//! A request to diagnose, as clients write it and as it is kept.

use std::collections::BTreeMap;

use firstfault_model::context::ContextDocument;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to diagnose one attempt of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiagnosisRequest {
    /// What is known of the attempt, in the form of `context.json`. Scheduler, cluster, id and start or attempt tell which it is:
    /// requests that agree in these are one diagnosis.
    #[schema(value_type = Object)]
    pub workload: ContextDocument,
    /// Absolute paths of folders or files below granted roots.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub paths: Vec<String>,
    /// Whether more may still arrive in these sources. Then the first revision is provisional, and others follow. Without
    /// it: true for hooks, false for paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settling: Option<bool>,
    /// Of several attempts in the logs the one that is meant, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub attempt_in_logs: Option<u32>,
    /// The hook that sends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<HookReport>,
}

/// What a hook knows besides the workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookReport {
    /// `slurm`, `kubernetes`, `generic`.
    pub kind: String,
    /// The node that it ran on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl DiagnosisRequest {
    /// Whether revisions follow.
    #[must_use]
    pub fn settles(&self) -> bool {
        self.settling.unwrap_or(self.hook.is_some())
    }
}

/// Joins what several requests know of one attempt. What an earlier one says stands.
#[must_use]
pub fn join(requests: Vec<DiagnosisRequest>) -> DiagnosisRequest {
    let mut requests = requests.into_iter();
    let Some(mut out) = requests.next() else { return DiagnosisRequest::default() };
    let mut settles = out.settles();
    for other in requests {
        settles |= other.settles();
        fill(&mut out.workload, other.workload);
        out.attempt_in_logs = out.attempt_in_logs.or(other.attempt_in_logs);
        out.paths.extend(other.paths);
    }
    out.paths.sort();
    out.paths.dedup();
    out.settling = Some(settles);
    out
}

/// Takes from `other` what `into` does not say.
fn fill(into: &mut ContextDocument, other: ContextDocument) {
    let (terminal, nodes) = (other.terminal, other.nodes);
    into.schema = into.schema.take().or(other.schema);
    into.scheduler = into.scheduler.take().or(other.scheduler);
    into.cluster = into.cluster.take().or(other.cluster);
    into.id = into.id.take().or(other.id);
    into.attempt = into.attempt.or(other.attempt);
    into.name = into.name.take().or(other.name);
    into.user = into.user.take().or(other.user);
    into.account = into.account.take().or(other.account);
    into.partition = into.partition.take().or(other.partition);
    into.start = into.start.or(other.start);
    // Two clocks may contradict each other: what comes first stands.
    into.end = into.end.or(other.end).filter(|end| into.start.is_none_or(|start| start <= *end));
    into.rank_count = into.rank_count.or(other.rank_count);
    fill_map(&mut into.zones, other.zones);
    fill_map(&mut into.extra, other.extra);
    match (&mut into.terminal, terminal) {
        (Some(mine), Some(other)) => {
            mine.state = mine.state.take().or(other.state);
            mine.raw = mine.raw.take().or(other.raw);
            mine.reason = mine.reason.take().or(other.reason);
            mine.requeued = mine.requeued.or(other.requeued);
            mine.exit_code = mine.exit_code.or(other.exit_code);
            mine.signal = mine.signal.or(other.signal);
        }
        (none @ None, other) => *none = other,
        (Some(_), None) => {}
    }
    // The order of nodes is the scheduler's: a list that names them all keeps it.
    if nodes.len() > into.nodes.len() {
        let mine = std::mem::replace(&mut into.nodes, nodes);
        into.nodes.extend(mine);
    } else {
        into.nodes.extend(nodes);
    }
    let mut seen = std::collections::BTreeSet::new();
    into.nodes.retain(|node| seen.insert(node.name.clone()));
}

fn fill_map(into: &mut BTreeMap<String, String>, other: BTreeMap<String, String>) {
    for (key, value) in other {
        into.entry(key).or_insert(value);
    }
}

/// Lays what is known of an attempt over what a folder's own context says.
#[must_use]
pub fn overlay(mut known: ContextDocument, own: ContextDocument) -> ContextDocument {
    fill(&mut known, own);
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(json: &str) -> DiagnosisRequest {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn requests_of_one_attempt_fill_each_other() {
        let joined = join(vec![
            request(
                r#"{"workload": {"id": "7", "terminal": {"exit_code": 1}, "nodes": [{"name": "b"}]}, "hook": {"kind": "slurm"}}"#,
            ),
            request(
                r#"{"workload": {"id": "7", "user": "ada", "terminal": {"exit_code": 2, "signal": 9}, "nodes": [{"name": "a"}, {"name": "b"}]}, "paths": ["/x"]}"#,
            ),
        ]);
        assert_eq!(joined.workload.user.as_deref(), Some("ada"));
        let terminal = joined.workload.terminal.as_ref().unwrap();
        assert_eq!((terminal.exit_code, terminal.signal), (Some(1), Some(9)));
        assert_eq!(joined.workload.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((joined.paths.as_slice(), joined.settles()), (["/x".to_owned()].as_slice(), true));
    }

    #[test]
    fn paths_alone_are_settled() {
        assert!(!request(r#"{"paths": ["/x"]}"#).settles());
        assert!(serde_json::from_str::<DiagnosisRequest>(r#"{"path": "/x"}"#).is_err());
    }
}
