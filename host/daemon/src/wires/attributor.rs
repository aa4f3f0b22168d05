//! `/attributor`: one agent of each node pushes what it saw, one asks which nodes are at fault.

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use firstfault_model::context::{ContextDocument, NodeDocument, TerminalDocument};
use firstfault_model::diagnosis::{Diagnosis, TerminalState};
use firstfault_model::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::{self, Asker, Path};
use crate::app::App;
use crate::body::{self, Content};
use crate::observation::Form;
use crate::problem::Problem;
use crate::request::DiagnosisRequest;

/// Longest wait: clients give up after 60 s.
const WAIT: std::time::Duration = std::time::Duration::from_secs(50);

pub(super) fn routes() -> Router<App> {
    let mut router =
        Router::new().route("/v2/healthz", get(healthy)).route("/latest/v2/healthz", get(healthy));
    for base in ["", "/latest"] {
        router = router
            .route(&format!("{base}/attributor"), post(create))
            .route(&format!("{base}/attributor/{{id}}/observation"), post(observe))
            .route(&format!("{base}/attributor/{{id}}/attribution"), get(attribution));
    }
    router
}

async fn healthy() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

#[derive(Debug, Deserialize)]
struct Create {
    workload: Workload,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Workload {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    job_start_time: Option<String>,
    job_end_time: Option<String>,
    status: Option<String>,
    nranks: Option<u32>,
    nodes: Vec<String>,
    name: Option<String>,
    username: Option<String>,
    exit_code_signal: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    cluster: Option<String>,
}

/// Agents write `unknown` for what they do not know.
fn known(text: Option<String>) -> Option<String> {
    text.filter(|t| !t.is_empty() && t != "unknown")
}

fn context(create: Create) -> Result<ContextDocument, Problem> {
    let work = create.workload;
    let id = known(Some(work.id))
        .ok_or_else(|| Problem::malformed("the id of the workload is missing").at("workload.id"))?;
    let time = |text: Option<String>| {
        known(text).and_then(|t| Timestamp::parse(&t).or_else(|| Timestamp::parse(&format!("{t}Z"))))
    };
    let (start, mut end) = (time(work.job_start_time), time(work.job_end_time));
    if start.zip(end).is_some_and(|(start, end)| end < start) {
        end = None;
    }
    let raw = known(work.status);
    let state = raw.as_deref().and_then(|raw| match raw.to_ascii_uppercase().as_str() {
        "FAILED" => Some(TerminalState::Failed),
        "COMPLETED" => Some(TerminalState::Completed),
        "CANCELLED" => Some(TerminalState::Cancelled),
        "TIMEOUT" => Some(TerminalState::Timeout),
        "NODE_FAIL" => Some(TerminalState::NodeFail),
        "OUT_OF_MEMORY" => Some(TerminalState::OutOfMemory),
        _ => None,
    });
    let mut nodes = work.nodes;
    nodes.retain(|n| !n.is_empty() && n != "unknown");
    let mut seen = std::collections::BTreeSet::new();
    nodes.retain(|n| seen.insert(n.clone()));
    Ok(ContextDocument {
        scheduler: known(Some(work.kind)),
        cluster: known(create.metadata.cluster),
        id: Some(id),
        name: known(work.name),
        extra: known(work.username).map(|user| ("username".to_owned(), user)).into_iter().collect(),
        start,
        end,
        rank_count: work.nranks.filter(|n| *n > 0),
        terminal: Some(TerminalDocument {
            state,
            raw,
            signal: work
                .exit_code_signal
                .and_then(|n| i32::try_from(n).ok())
                .filter(|n| (1..=64).contains(n)),
            ..TerminalDocument::default()
        }),
        nodes: nodes.into_iter().map(|name| NodeDocument { name, ..NodeDocument::default() }).collect(),
        ..ContextDocument::default()
    })
}

async fn create(State(app): State<App>, asker: Asker, content: Content) -> Result<Json<Value>, Problem> {
    let workload = context(body::parse(&content.bytes)?)?;
    let request = DiagnosisRequest { workload, ..DiagnosisRequest::default() };
    let session = api::open(&app, &asker.0, request).await?;
    Ok(Json(json!({"attributor_id": session.id})))
}

#[derive(Debug, Deserialize)]
struct Observe {
    context: ObserveContext,
    body: String,
}

#[derive(Debug, Deserialize)]
struct ObserveContext {
    format: String,
}

async fn observe(
    State(app): State<App>,
    asker: Asker,
    Path(id): Path<String>,
    content: Content,
) -> Result<Json<Value>, Problem> {
    asker.may(crate::access::Roles::submit, "push observations")?;
    let observe: Observe = body::parse(&content.bytes)?;
    let form = Form::parse(&observe.context.format).ok_or_else(|| {
        Problem::malformed("formats are raw_loki_streams and prometheus_metrics").at("context.format")
    })?;
    let session = api::own(&app, &asker.0, &id).await?;
    let (id, ..) = api::keep(&app, &asker.0, session.id, form, None, None, observe.body.as_bytes()).await?;
    Ok(Json(json!({"observation_id": id})))
}

async fn attribution(
    State(app): State<App>,
    asker: Asker,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    asker.may(crate::access::Roles::read_own, "read diagnoses")?;
    let session = api::own(&app, &asker.0, &id).await?;
    let entry = api::diagnosed(&app, &session, WAIT).await?;
    let asked = entry.id.clone();
    let document = app.ask(move |store| store.document(&asked, None)).await?;
    let Some(document) = document else {
        return Err(Problem::busy("the diagnosis is not made yet"));
    };
    let diagnosis: Diagnosis = serde_json::from_str(&document.text)
        .map_err(|_| Problem::internal("the stored document is not one of this version"))?;
    Ok(Json(json!({"attributions": attributions(&diagnosis), "diagnosis_id": entry.id})))
}

/// Only what a root cause blames is a faulty node; whoever suffered is not.
fn attributions(diagnosis: &Diagnosis) -> Vec<Value> {
    let finding = &diagnosis.finding;
    let blamed = finding.responsible.nodes.iter().map(|node| {
        let causes: Vec<Value> = finding
            .root_causes
            .iter()
            .filter(|cause| cause.place.node.as_ref() == Some(node))
            .map(|cause| json!({"type": "RootCauseAttribution", "symptom": cause.symptom, "title": cause.title, "confidence": cause.confidence.name()}))
            .collect();
        let causes = if causes.is_empty() { vec![json!({"type": "RootCauseAttribution", "title": finding.summary})] } else { causes };
        json!({"type": "NodeAttribution", "node": node, "attributions": causes})
    });
    blamed.collect()
}
