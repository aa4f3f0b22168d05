//! `/logs`: a launcher names the log of a job and asks whether to start it again.

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use firstfault_model::context::ContextDocument;
use firstfault_model::diagnosis::Diagnosis;
use firstfault_model::taxonomy::Restart;
use firstfault_store::{Entry, State as Stored};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::Roles;
use crate::api::{self, Asker, Query};
use crate::app::App;
use crate::body::{self, Content};
use crate::problem::Problem;
use crate::request::DiagnosisRequest;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/logs", post(submit).get(result))
}

#[derive(Debug, Clone, Deserialize)]
struct Log {
    log_path: String,
    #[serde(default)]
    job_id: Option<String>,
    #[serde(default)]
    cycle_id: Option<u32>,
    #[serde(default)]
    analysis_intent: Option<String>,
}

fn request(log: &Log) -> Result<DiagnosisRequest, Problem> {
    match log.analysis_intent.as_deref() {
        None | Some("track_only" | "progressive" | "terminal") => {}
        Some(_) => {
            return Err(
                Problem::malformed("intents are track_only, progressive, terminal").at("analysis_intent")
            );
        }
    }
    let workload =
        ContextDocument { id: log.job_id.clone(), attempt: log.cycle_id, ..ContextDocument::default() };
    Ok(DiagnosisRequest { workload, paths: vec![log.log_path.clone()], ..DiagnosisRequest::default() })
}

async fn submit(State(app): State<App>, asker: Asker, content: Content) -> Result<Json<Value>, Problem> {
    let log: Log = body::parse(&content.bytes)?;
    let accepted = api::submit(&app, &asker.0, request(&log)?).await?;
    Ok(Json(json!({"status": "pending", "log_path": log.log_path, "diagnosis_id": accepted.entry.id})))
}

async fn result(
    State(app): State<App>,
    asker: Asker,
    Query(log): Query<Log>,
) -> Result<Json<Value>, Problem> {
    asker.may(Roles::read_own, "read diagnoses")?;
    // The same request is the same diagnosis.
    let accepted = api::submit(&app, &asker.0, request(&log)?).await?;
    let (entry, document) = app
        .ask(move |store| Ok((store.entry(&accepted.entry.id)?, store.document(&accepted.entry.id, None)?)))
        .await?;
    let entry = entry.ok_or_else(|| Problem::not_found("log"))?;
    let diagnosis = document.and_then(|document| serde_json::from_str::<Diagnosis>(&document.text).ok());
    let (action, reason) = match &diagnosis {
        Some(diagnosis) => {
            let restart = &diagnosis.finding.decision.restart;
            (action(restart.advice), restart.reason.clone())
        }
        None => ("UNKNOWN", entry.reason.clone().unwrap_or_default()),
    };
    Ok(Json(json!({
        "status": status(&entry),
        "log_path": log.log_path,
        "diagnosis_id": entry.id,
        "recommendation": {"action": action, "source": "firstfault", "reason": reason},
    })))
}

fn status(entry: &Entry) -> &'static str {
    match (entry.revision, entry.state) {
        (1.., _) | (_, Stored::Done | Stored::Parked) => "completed",
        (0, Stored::Leased) => "in_flight",
        (0, _) => "pending",
    }
}

/// The advice as one of the wire's actions.
fn action(advice: Restart) -> &'static str {
    match advice {
        Restart::Retry | Restart::RetryLater | Restart::RetryElsewhere => "RESTART",
        Restart::FixFirst => "STOP",
        Restart::NoneNeeded => "CONTINUE",
        Restart::Unknown => "UNKNOWN",
    }
}
