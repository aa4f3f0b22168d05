//! A report of what is typed: for schedulers that no other form is for.

use firstfault_daemon::request::{DiagnosisRequest, HookReport};
use firstfault_model::context::{ContextDocument, NodeDocument, TerminalDocument};
use firstfault_model::time::Timestamp;

use super::hostlist;
use crate::arguments::GenericReport;

/// The report.
///
/// # Errors
/// Something typed is not what it should be.
pub fn report(typed: &GenericReport) -> anyhow::Result<DiagnosisRequest> {
    let time = |text: &Option<String>, what: &str| -> anyhow::Result<Option<Timestamp>> {
        let Some(text) = text else { return Ok(None) };
        Timestamp::parse(text)
            .map(Some)
            .ok_or_else(|| anyhow::anyhow!("--{what} '{text}' is no time such as 2026-11-02T20:14:07Z"))
    };
    let nodes = match &typed.nodes {
        None => Vec::new(),
        Some(list) => {
            hostlist::expand(list).ok_or_else(|| anyhow::anyhow!("--nodes '{list}' is no list of nodes"))?
        }
    };
    let absolute = |path: &std::path::PathBuf| -> anyhow::Result<String> {
        let whole = std::path::absolute(path)?;
        let text = whole.into_os_string().into_string();
        text.map_err(|_| anyhow::anyhow!("'{}' is not UTF-8; name the folder above it", path.display()))
    };
    let workload = ContextDocument {
        scheduler: typed.scheduler.clone(),
        cluster: typed.cluster.clone(),
        id: Some(typed.id.clone()),
        attempt: typed.attempt,
        name: typed.name.clone(),
        user: typed.user.clone(),
        start: time(&typed.start, "start")?,
        end: time(&typed.end, "end")?,
        terminal: typed
            .exit_code
            .map(|code| TerminalDocument { exit_code: Some(code), ..TerminalDocument::default() }),
        nodes: nodes.into_iter().map(|name| NodeDocument { name, ..NodeDocument::default() }).collect(),
        ..ContextDocument::default()
    };
    Ok(DiagnosisRequest {
        workload,
        paths: typed.logs.iter().map(absolute).collect::<anyhow::Result<_>>()?,
        hook: Some(HookReport { kind: "generic".to_owned(), node: None }),
        ..DiagnosisRequest::default()
    })
}
