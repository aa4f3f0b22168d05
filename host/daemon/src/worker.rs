//! Takes what is due from the queue and has it diagnosed. What panics or takes too long harms nobody else.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use firstfault_model::context::ContextDocument;
use firstfault_model::diagnosis::Diagnosis;
use firstfault_store::{Leased, Outcome, Revised, State, Status, StoreError};
use tempfile::TempDir;

use crate::app::App;
use crate::clock;
use crate::diagnoser::{DiagnoseError, Work};
use crate::metrics::{OutcomeLabel, PluginLabels, VerdictLabels};
use crate::paths::Namer;
use crate::request::{DiagnosisRequest, join};
use crate::revision;
use crate::session;

/// How long to wait for something to become due before looking again.
const IDLE: Duration = Duration::from_millis(500);
/// How long after a cut the next try is.
const PAUSE: i64 = 1000;

/// Works until the daemon stops.
pub(crate) async fn work(app: App) {
    while !app.is_stopping() {
        let holder = app.holder.clone();
        match app.ask(move |store| store.lease(&holder, clock::now())).await {
            Ok(Some(leased)) => {
                // There may be more for the others.
                app.due.notify_one();
                one(&app, leased).await;
            }
            // Woken or not: the store knows what is due.
            Ok(None) => drop(tokio::time::timeout(IDLE, app.due.notified()).await),
            Err(_) => tokio::time::sleep(IDLE).await,
        }
    }
}

async fn one(app: &App, leased: Leased) {
    let began = Instant::now();
    let id: Arc<str> = leased.lease.id.as_str().into();
    let span = tracing::info_span!("diagnosis", id = &*id, workload = leased.entry.identity.workload);
    let outcome = outcome(app, &leased).await;
    let took = began.elapsed();
    app.metrics.diagnosis_seconds.observe(took.as_secs_f64());
    let name = match &outcome {
        Outcome::Revised(revised) => revised.status.name(),
        Outcome::Cut { .. } => "cut",
        Outcome::Parked { .. } => State::Parked.name(),
    };
    app.metrics.outcomes.get_or_create(&OutcomeLabel { outcome: name.to_owned() }).inc();
    span.in_scope(|| match &outcome {
        Outcome::Revised(revised) => {
            tracing::info!(outcome = name, verdict = revised.verdict, millis = took.as_millis(), "diagnosed");
        }
        Outcome::Cut { reason, .. } | Outcome::Parked { reason } => {
            tracing::warn!(outcome = name, "{reason}")
        }
    });
    let outcome = Arc::new(outcome);
    loop {
        let (lease, outcome) = (leased.lease.clone(), Arc::clone(&outcome));
        match app.ask(move |store| store.complete(&lease, &outcome, clock::now())).await {
            Ok(true) => break,
            Ok(false) => {
                tracing::warn!(id = &*id, "the lease is no longer held; what was made is dropped");
                break;
            }
            // A full disk may be cleared. Else the next life of the daemon makes it again.
            Err(_) if app.is_stopping() => break,
            Err(_) => tokio::time::sleep(IDLE).await,
        }
    }
    // Nobody may be waiting.
    drop(app.made.send(id));
}

async fn outcome(app: &App, leased: &Leased) -> Outcome {
    let shared = app.clone();
    let leased = leased.clone();
    let made = tokio::task::spawn_blocking(move || make(&shared, &leased));
    match tokio::time::timeout(app.config.limits.deadline, made).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => {
            let what =
                if error.is_panic() { panic_text(&*error.into_panic()) } else { "was given up".to_owned() };
            Outcome::Cut { reason: format!("making it failed: {what}"), again: clock::now() + PAUSE }
        }
        Err(_) => {
            let seconds = app.config.limits.deadline.as_secs();
            Outcome::Parked {
                reason: format!(
                    "it was not done after {seconds} s; run it again with more time or less to read"
                ),
            }
        }
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text =
        payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").chars().take(500).collect()
}

/// Opens what is to be read, has it diagnosed, and wraps what came of it.
fn make(app: &App, leased: &Leased) -> Outcome {
    let (work, settles, folder) = match prepare(app, leased) {
        Ok(prepared) => prepared,
        Err(reason) => return Outcome::Cut { reason, again: clock::now() + PAUSE },
    };
    let diagnosis = match app.diagnoser.diagnose(work) {
        Ok(diagnosis) => diagnosis,
        Err(DiagnoseError(reason)) => return Outcome::Parked { reason },
    };
    drop(folder);
    match wrap(app, leased, settles, diagnosis) {
        Ok(revised) => Outcome::Revised(Box::new(revised)),
        Err(reason) => Outcome::Cut { reason, again: clock::now() + PAUSE },
    }
}

fn wrap(app: &App, leased: &Leased, settles: bool, diagnosis: Diagnosis) -> Result<Revised, String> {
    let entry = &leased.entry;
    let previous = app.store.document(&entry.id, None).map_err(|e: StoreError| e.to_string())?;
    let previous = previous.and_then(|document| serde_json::from_str(&document.text).ok());
    for plugin in &diagnosis.provenance.plugins {
        let labels = PluginLabels { plugin: plugin.name.clone(), status: plugin.status.clone() };
        app.metrics.plugins.get_or_create(&labels).inc();
    }
    let domain = diagnosis.finding.root_causes.first().map_or("none", |cause| cause.domain.name()).to_owned();
    let schedule = &app.config.revisions;
    let revised = revision::revise(entry, settles, schedule, previous.as_ref(), diagnosis, clock::now())
        .map_err(|e| format!("the document cannot be written: {e}"))?;
    if revised.status != Status::Provisional {
        app.metrics.verdicts.get_or_create(&VerdictLabels { verdict: revised.verdict.clone(), domain }).inc();
    }
    Ok(revised)
}

/// A report as it is kept.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Kept {
    pub(crate) request: DiagnosisRequest,
    /// Number of the user who sent it.
    pub(crate) uid: Option<u32>,
}

/// Nodes whose hook did not report, if those of others did: they may be dead.
fn silent(context: &ContextDocument, reported: &BTreeSet<String>) -> Option<(String, String)> {
    let silent: Vec<&str> =
        context.nodes.iter().map(|n| n.name.as_str()).filter(|name| !reported.contains(*name)).collect();
    if reported.is_empty() || silent.is_empty() {
        return None;
    }
    let nodes = firstfault_model::ranges::format_nodes(silent);
    Some((
        format!("job-end hook of {nodes}"),
        "it did not report: the node may be dead or cut off".to_owned(),
    ))
}

type Prepared = (Work, bool, Option<TempDir>);

fn prepare(app: &App, leased: &Leased) -> Result<Prepared, String> {
    let entry = &leased.entry;
    let mut work = Work::default();
    let mut requests = Vec::new();
    let mut namers = Vec::new();
    for (body, submitter, trusted) in &leased.reports {
        let kept: Kept = serde_json::from_str(body)
            .map_err(|e| format!("a report of {submitter} cannot be read back: {e}"))?;
        let namer = Namer { uid: kept.uid, trusted: *trusted };
        for path in &kept.request.paths {
            match app.roots.open(path, namer) {
                Ok(opened) if work.inputs.iter().any(|i| i.origin == opened.origin) => {}
                Ok(opened) => work.inputs.push(opened),
                Err(error) => work.not_read.push((path.clone(), error.to_string())),
            }
        }
        namers.push(namer);
        requests.push(kept.request);
    }
    let reported: BTreeSet<String> = requests.iter().filter_map(|r| r.hook.as_ref()?.node.clone()).collect();
    let request = join(requests);
    if entry.revision > 0 {
        work.not_read.extend(silent(&request.workload, &reported));
    }
    work.context = request.workload.clone();
    if work.context.id.is_some() && work.context.cluster.is_none() && !app.config.cluster.is_empty() {
        work.context.cluster = Some(app.config.cluster.clone());
    }
    // The reports are sorted, those that the operator vouches for first.
    if let Some(namer) = namers.first().copied() {
        for (path, opened) in app.roots.of_job(&work.context, namer) {
            match opened {
                Ok(opened) if work.inputs.iter().any(|i| i.origin == opened.origin) => {}
                Ok(opened) => work.inputs.push(opened),
                Err(error) => work.not_read.push((path.display().to_string(), error.to_string())),
            }
        }
    }
    let pushed = session::spool(&*app.store, &entry.id, &app.config.state).map_err(|e| e.to_string())?;
    work.inputs.extend(pushed.inputs);
    work.not_read.extend(pushed.not_read);
    work.not_read.sort();
    work.not_read.dedup();
    work.attempt_in_logs = request.attempt_in_logs;
    let settles = request.settles();
    Ok((work, settles, pushed.folder))
}

#[cfg(test)]
mod tests {
    use firstfault_model::context::NodeDocument;

    use super::*;

    #[test]
    fn a_node_whose_hook_did_not_report_is_named() {
        let node = |name: &str| NodeDocument { name: name.into(), ..NodeDocument::default() };
        let context = ContextDocument {
            nodes: vec![node("gpu-1"), node("gpu-2"), node("gpu-3")],
            ..ContextDocument::default()
        };
        let of = |names: &[&str]| silent(&context, &names.iter().map(|n| (*n).to_owned()).collect());
        assert!(of(&["gpu-1", "gpu-3"]).unwrap().0.contains("gpu-2"));
        assert_eq!(of(&["gpu-1", "gpu-2", "gpu-3"]), None);
        assert_eq!(of(&[]), None, "hooks that run on the controller say nothing of nodes");
    }
}
