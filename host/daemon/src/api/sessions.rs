//! `/v1/sessions`: for those who collect already and push.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use firstfault_model::canonical::{Digester, digest};
use firstfault_store::{NewObservation, Observed, Session, State as StoredState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::diagnoses::{Wait, pending, stored};
use super::submit::report;
use super::{Asker, Path, Query};
use crate::access::{Principal, Roles};
use crate::app::App;
use crate::body::{self, Content};
use crate::clock;
use crate::observation::{Batch, Form};
use crate::problem::Problem;
use crate::request::DiagnosisRequest;

/// How long a session's diagnosis is waited for, if nothing is said.
const WAIT: Duration = Duration::from_secs(30);

/// A push session.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionState {
    /// Id.
    id: String,
    /// Id of its diagnosis.
    diagnosis: String,
    /// Observations that it has.
    observations: u64,
    /// Bytes that it has, and that it may have.
    bytes: u64,
    /// See `bytes`.
    most_bytes: u64,
}

impl From<Session> for SessionState {
    fn from(session: Session) -> Self {
        Self {
            id: session.id,
            diagnosis: session.diagnosis,
            observations: session.count,
            bytes: session.bytes,
            most_bytes: session.most_bytes,
        }
    }
}

/// Opens the session of a workload, or finds it again.
pub(crate) async fn open(
    app: &App,
    principal: &Principal,
    request: DiagnosisRequest,
) -> Result<Session, Problem> {
    let accepted = report(app, principal, request, None).await?;
    let mut id = Digester::new("firstfault.session/1");
    id.part(accepted.entry.id.as_bytes());
    id.part(principal.name.as_bytes());
    let id = id.finish();
    let session = Session {
        id: format!("s-{}", id.get(7..31).unwrap_or(&id)),
        diagnosis: accepted.entry.id,
        owner: principal.name.clone(),
        most_bytes: app.config.limits.session,
        bytes: 0,
        count: 0,
    };
    let opened = session.clone();
    app.ask(move |store| {
        store.open_session(&opened, clock::now())?;
        store.session(&opened.id)
    })
    .await
    .map(|found| found.unwrap_or(session))
}

/// The session, if it is the asker's.
pub(crate) async fn own(app: &App, principal: &Principal, id: &str) -> Result<Session, Problem> {
    let asked = id.to_owned();
    let session = app.ask(move |store| store.session(&asked)).await?;
    session
        .filter(|session| session.owner == principal.name || principal.roles.admin())
        .ok_or_else(|| Problem::not_found("session"))
}

/// Open a session. The same workload and attempt gives the same session.
#[utoipa::path(
    post, path = "/v1/sessions", request_body = DiagnosisRequest,
    responses(
        (status = 201, description = "The session", body = SessionState),
        (status = "4XX", description = "Not opened", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Try again", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    asker: Asker,
    content: Content,
) -> Result<Response, Problem> {
    let request = body::json(&content)?;
    let session = open(&app, &asker.0, request).await?;
    Ok((StatusCode::CREATED, Json(SessionState::from(session))).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Observing {
    /// `lines` (a JSON object in each line), `loki` (streams as pushed to Loki), `prometheus` (an answer of a range query).
    #[param(inline, pattern = "^(lines|loki|prometheus)$")]
    format: Option<String>,
    /// Tells this observation from others: sent again, it is kept once. Without it, its content does.
    #[param(max_length = 128)]
    id: Option<String>,
    /// Diagnose after so many seconds, without being asked; at most 600.
    #[param(maximum = 600)]
    due: Option<u32>,
}

/// What became of an observation.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ObservationState {
    /// Its id.
    id: String,
    /// Lines that are kept.
    lines: usize,
    /// Lines that were rejected.
    rejected: u64,
    /// Why, the first few.
    reasons: Vec<String>,
    /// Whether the session had it already.
    known: bool,
}

/// Takes an observation. When this returns, the next diagnosis sees it.
pub(crate) async fn keep(
    app: &App,
    principal: &Principal,
    session: String,
    form: Form,
    id: Option<String>,
    due_in: Option<i64>,
    bytes: &[u8],
) -> Result<(String, Batch, bool), Problem> {
    let mut batch = Batch::read(form, bytes)
        .map_err(|why| Problem::malformed(format!("the body is not of this form: {why}")).at("body"))?;
    batch.trust = Some(principal.trust);
    let id = id.unwrap_or_else(|| digest(bytes));
    let body = serde_json::to_vec(&batch).map_err(|e| Problem::malformed(e.to_string()))?;
    match app.observations.put(NewObservation { session, id: id.clone(), body, due_in }).await? {
        Observed::Kept => Ok((id, batch, false)),
        Observed::Known => Ok((id, batch, true)),
        Observed::NoSession => Err(Problem::not_found("session")),
        Observed::TooMuch => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "session-full",
            "the session takes no more bytes; what it has is kept",
        )),
    }
}

/// Add an observation to a session.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/observations", params(("id" = String, Path, description = "Id of the session"), Observing),
    request_body(content(
        (String = "application/x-ndjson"), (Object = "application/json"))),
    responses(
        (status = 200, description = "Kept", body = ObservationState),
        (status = "4XX", description = "Not kept", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Try again", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn observe(
    State(app): State<App>,
    asker: Asker,
    Path(id): Path<String>,
    Query(observing): Query<Observing>,
    content: Content,
) -> Result<Json<ObservationState>, Problem> {
    asker.may(Roles::submit, "push observations")?;
    if content.bytes.is_empty() {
        return Err(Problem::malformed("the body is empty").at("body"));
    }
    let form = match observing.format.as_deref() {
        None => Form::Lines,
        Some(name) => Form::parse(name)
            .ok_or_else(|| Problem::malformed("formats are lines, loki, prometheus").at("format"))?,
    };
    if observing.id.as_ref().is_some_and(|id| id.is_empty() || id.len() > 128) {
        return Err(Problem::malformed("from 1 to 128 bytes").at("id"));
    }
    let due_in = match observing.due {
        Some(seconds @ 601..) => {
            return Err(Problem::malformed(format!("{seconds} is more than 600")).at("due"));
        }
        other => other.map(|seconds| i64::from(seconds) * 1000),
    };
    let session = own(&app, &asker.0, &id).await?;
    let (id, batch, known) =
        keep(&app, &asker.0, session.id, form, observing.id, due_in, &content.bytes).await?;
    Ok(Json(ObservationState {
        id,
        lines: batch.lines.len(),
        rejected: batch.rejected,
        reasons: batch.reasons,
        known,
    }))
}

/// Diagnoses what a session has by now, and waits for it.
pub(crate) async fn diagnosed(
    app: &App,
    session: &Session,
    longest: Duration,
) -> Result<firstfault_store::Entry, Problem> {
    let id = session.diagnosis.clone();
    let entry = app
        .ask(move |store| {
            store.ask(&id, clock::now())?;
            store.entry(&id)
        })
        .await?;
    let entry = entry.ok_or_else(|| Problem::not_found("diagnosis"))?;
    app.due.notify_one();
    app.wait(&entry.id, entry.wanted, longest).await?;
    let id = entry.id.clone();
    let entry =
        app.ask(move |store| store.entry(&id)).await?.ok_or_else(|| Problem::not_found("diagnosis"))?;
    if entry.state == StoredState::Parked {
        let reason = entry.reason.as_deref().unwrap_or("the reason is not known");
        return Err(Problem::new(StatusCode::CONFLICT, "parked", format!("no diagnosis was made: {reason}")));
    }
    Ok(entry)
}

/// Diagnose what the session has by now. Every observation that was answered before is seen.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/diagnosis", params(("id" = String, Path, description = "Id of the session"), Wait),
    responses(
        (status = 200, description = "The diagnosis", content(
            (super::document::DiagnosisSchema = "application/json"), (String = "text/plain"), (String = "text/html"))),
        (status = 202, description = "Not made yet", body = super::diagnoses::DiagnosisState),
        (status = 304, description = "As known"),
        (status = "4XX", description = "Not there", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn diagnosis(
    State(app): State<App>,
    asker: Asker,
    Path(id): Path<String>,
    Query(wait): Query<Wait>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    asker.may(Roles::read_own, "read diagnoses")?;
    let session = own(&app, &asker.0, &id).await?;
    let longest = wait.longest()?.unwrap_or(WAIT);
    let wanted = {
        let id = session.diagnosis.clone();
        app.ask(move |store| store.entry(&id)).await?.map_or(0, |entry| entry.wanted)
    };
    let entry = diagnosed(&app, &session, longest).await?;
    if entry.revision == 0 || entry.seen < wanted {
        return Ok(pending(&entry));
    }
    stored(&app, &entry.id, None, &headers).await
}
