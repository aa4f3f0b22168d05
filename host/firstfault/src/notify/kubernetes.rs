//! What a container of a Kubernetes Job knows: its environment, filled by the downward API.

use firstfault_daemon::request::{DiagnosisRequest, HookReport};
use firstfault_model::context::{ContextDocument, NodeDocument, TerminalDocument};

use super::Variables;

/// The report of a pod; none if it does not know its workload.
///
/// `JOB_NAME`, `POD_NAMESPACE`, `JOB_UID`, `NODE_NAME`, `EXIT_CODE` are what the shipped manifest sets; Kubernetes sets
/// `JOB_COMPLETION_INDEX`.
#[must_use]
pub fn report(variable: Variables<'_>) -> Option<DiagnosisRequest> {
    let get = |name: &str| variable(name).filter(|v| !v.is_empty());
    let name = get("JOB_NAME").or_else(|| get("POD_NAME"))?;
    let namespace = get("POD_NAMESPACE").unwrap_or_else(|| "default".to_owned());
    let exit_code: Option<i32> = get("EXIT_CODE").and_then(|code| code.parse().ok());
    let node = get("NODE_NAME");
    let workload = ContextDocument {
        scheduler: Some("kubernetes".to_owned()),
        cluster: get("CLUSTER_NAME"),
        // A name is used again for the next Job, its uid never.
        id: Some(get("JOB_UID").unwrap_or_else(|| format!("{namespace}/{name}"))),
        attempt: get("RESTART_ATTEMPT").and_then(|n| n.parse().ok()).filter(|n| *n > 0),
        name: Some(name),
        terminal: exit_code
            .map(|code| TerminalDocument { exit_code: Some(code), ..TerminalDocument::default() }),
        nodes: node
            .iter()
            .map(|name| NodeDocument { name: name.clone(), ..NodeDocument::default() })
            .collect(),
        extra: [("namespace".to_owned(), namespace)].into(),
        ..ContextDocument::default()
    };
    let hook = HookReport { kind: "kubernetes".to_owned(), node };
    Some(DiagnosisRequest { workload, hook: Some(hook), ..DiagnosisRequest::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_says_what_it_knows() {
        let pairs = [("JOB_NAME", "train"), ("POD_NAMESPACE", "ml"), ("NODE_NAME", "n1"), ("EXIT_CODE", "1")];
        let of = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        let report = report(&of).unwrap();
        assert_eq!(report.workload.id.as_deref(), Some("ml/train"));
        assert_eq!(report.workload.nodes[0].name, "n1");
        assert_eq!(super::report(&|_| None), None);
    }
}
