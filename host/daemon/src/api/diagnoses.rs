//! `/v1/diagnoses`

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use firstfault_model::diagnosis::Diagnosis;
use firstfault_store::{Entry, Filter, State as StoredState};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::document::DiagnosisSchema;
use super::{Asker, Path, Query, answer, submit};
use crate::access::Roles;
use crate::app::App;
use crate::body::{self, Content};
use crate::clock::timestamp;
use crate::problem::Problem;
use crate::request::DiagnosisRequest;

/// Longest wait, in seconds.
const LONGEST_WAIT: u32 = 60;
/// Largest page.
const MOST_ITEMS: u32 = 1000;

/// Where a diagnosis is in its life.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct DiagnosisState {
    /// Id.
    id: String,
    /// `open`, `accepted`, `leased`, `done`, `parked`.
    state: String,
    /// Why it is parked or was put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How often it was cut off in a row.
    cuts: u32,
    /// The scheduler's raw id of the workload.
    workload: String,
    /// Cluster.
    cluster: String,
    /// Number of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    /// Start of the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    /// Whose workload it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// Number of the newest revision; 0: none.
    revision: u32,
    /// `provisional`, `final`, `final_incomplete`.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// Verdict of the newest revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// Its answer in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// When it was first heard of.
    created: String,
    /// When something last changed.
    updated: String,
    /// When the next revision is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<String>,
}

impl From<&Entry> for DiagnosisState {
    fn from(entry: &Entry) -> Self {
        let shown = |millis: i64| timestamp(millis).to_string();
        Self {
            id: entry.id.clone(),
            state: entry.state.name().to_owned(),
            reason: entry.reason.clone(),
            cuts: entry.cuts,
            workload: entry.identity.workload.clone(),
            cluster: entry.identity.cluster.clone(),
            attempt: entry.identity.attempt,
            start: entry.identity.start.map(shown),
            owner: entry.owner.clone(),
            revision: entry.revision,
            status: entry.status.map(|s| s.name().to_owned()),
            verdict: entry.verdict.clone(),
            summary: entry.summary.clone(),
            created: shown(entry.created),
            updated: shown(entry.updated),
            next_at: entry.due.filter(|_| entry.state == StoredState::Accepted).map(shown),
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wait {
    /// Seconds to wait for the diagnosis, at most 60.
    #[param(maximum = 60)]
    wait: Option<u32>,
}

impl Wait {
    pub(super) fn longest(&self) -> Result<Option<Duration>, Problem> {
        match self.wait {
            Some(seconds) if seconds > LONGEST_WAIT => {
                Err(Problem::malformed("at most 60 seconds can be waited; ask again after them").at("wait"))
            }
            other => Ok(other.map(|seconds| Duration::from_secs(seconds.into()))),
        }
    }
}

/// Report a workload to diagnose. The answer comes when the request cannot be lost any more; the same workload and attempt
/// gives the same id.
#[utoipa::path(
    post, path = "/v1/diagnoses", params(Wait), request_body = DiagnosisRequest,
    responses(
        (status = 202, description = "Accepted", body = DiagnosisState),
        (status = 200, description = "The diagnosis, if it was waited for", body = DiagnosisSchema),
        (status = "4XX", description = "Not taken", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Not taken; try again", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    asker: Asker,
    Query(wait): Query<Wait>,
    headers: HeaderMap,
    content: Content,
) -> Result<Response, Problem> {
    let longest = wait.longest()?;
    let request: DiagnosisRequest = body::json(&content)?;
    let accepted = submit(&app, &asker.0, request).await?;
    let Some(longest) = longest else { return Ok(pending(&accepted.entry)) };
    asker.may(Roles::read_own, "read diagnoses")?;
    app.wait(&accepted.entry.id, 1, longest).await?;
    let entry = app.ask(move |store| store.entry(&accepted.entry.id)).await?;
    let entry = entry.ok_or_else(|| Problem::not_found("diagnosis"))?;
    if entry.revision > 0 { stored(&app, &entry.id, None, &headers).await } else { Ok(pending(&entry)) }
}

/// Accepted, and not made yet.
pub(super) fn pending(entry: &Entry) -> Response {
    let mut response = (StatusCode::ACCEPTED, Json(DiagnosisState::from(entry))).into_response();
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/diagnoses/{}", entry.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

pub(super) async fn stored(
    app: &App,
    id: &str,
    revision: Option<u32>,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let asked = id.to_owned();
    let document = app.ask(move |store| store.document(&asked, revision)).await?;
    answer(id, document.ok_or_else(|| Problem::not_found("revision"))?, headers)
}

/// The entry, if it is there and the asker may read it. What one may not read is as if it were not there.
pub(super) async fn readable(app: &App, asker: &Asker, id: &str) -> Result<Entry, Problem> {
    asker.may(Roles::read_own, "read diagnoses")?;
    let asked = id.to_owned();
    let entry = app.ask(move |store| store.entry(&asked)).await?;
    let entry = entry.ok_or_else(|| Problem::not_found("diagnosis"))?;
    let own = entry.owner.as_ref().unwrap_or(&entry.submitter) == &asker.0.name;
    if own || asker.0.roles.read_all() { Ok(entry) } else { Err(Problem::not_found("diagnosis")) }
}

/// Read a diagnosis: its newest revision, as JSON, text or a page.
#[utoipa::path(
    get, path = "/v1/diagnoses/{id}", params(("id" = String, Path, description = "Id"), Wait),
    responses(
        (status = 200, description = "The newest revision", content(
            (DiagnosisSchema = "application/json"), (String = "text/plain"), (String = "text/html"))),
        (status = 202, description = "Not made yet", body = DiagnosisState),
        (status = 304, description = "As known"),
        (status = "4XX", description = "Not there, or parked without a revision", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn read(
    State(app): State<App>,
    asker: Asker,
    Path(id): Path<String>,
    Query(wait): Query<Wait>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut entry = readable(&app, &asker, &id).await?;
    if let Some(longest) = wait.longest()? {
        app.wait(&id, 1, longest).await?;
        entry = readable(&app, &asker, &id).await?;
    }
    match (entry.revision, entry.state) {
        (0, StoredState::Parked) => Err(Problem::new(
            StatusCode::CONFLICT,
            "parked",
            format!(
                "no diagnosis was made: {}",
                entry.reason.as_deref().unwrap_or("the reason is not known")
            ),
        )),
        (0, _) => Ok(pending(&entry)),
        _ => stored(&app, &id, None, &headers).await,
    }
}

/// Where a diagnosis is in its life.
#[utoipa::path(
    get, path = "/v1/diagnoses/{id}/state", params(("id" = String, Path, description = "Id")),
    responses(
        (status = 200, description = "Its state", body = DiagnosisState),
        (status = "4XX", description = "Not there", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn state(
    State(app): State<App>,
    asker: Asker,
    Path(id): Path<String>,
) -> Result<Json<DiagnosisState>, Problem> {
    Ok(Json(DiagnosisState::from(&readable(&app, &asker, &id).await?)))
}

/// Read one revision of a diagnosis.
#[utoipa::path(
    get, path = "/v1/diagnoses/{id}/revisions/{number}",
    params(("id" = String, Path, description = "Id"), ("number" = u32, Path, description = "From 1")),
    responses(
        (status = 200, description = "The revision", content(
            (DiagnosisSchema = "application/json"), (String = "text/plain"), (String = "text/html"))),
        (status = 304, description = "As known"),
        (status = "4XX", description = "Not there", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn revision(
    State(app): State<App>,
    asker: Asker,
    Path((id, number)): Path<(String, u32)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    readable(&app, &asker, &id).await?;
    stored(&app, &id, Some(number), &headers).await
}

/// Where a symptom was seen.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Places {
    /// The symptom.
    symptom: String,
    /// One for each cause and basis.
    groups: Vec<PlaceGroup>,
}

#[derive(Debug, Serialize, ToSchema)]
struct PlaceGroup {
    /// Nodes, as a host list.
    nodes: String,
    /// Ranks, as ranges.
    ranks: String,
    /// How often.
    count: u64,
}

/// Where a symptom of a diagnosis was seen.
#[utoipa::path(
    get, path = "/v1/diagnoses/{id}/symptoms/{symptom}/places",
    params(("id" = String, Path, description = "Id"), ("symptom" = String, Path, description = "Id of the symptom")),
    responses(
        (status = 200, description = "The places", body = Places),
        (status = "4XX", description = "Not there", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn places(
    State(app): State<App>,
    asker: Asker,
    Path((id, symptom)): Path<(String, String)>,
) -> Result<Json<Places>, Problem> {
    readable(&app, &asker, &id).await?;
    let document = app
        .ask(move |store| store.document(&id, None))
        .await?
        .ok_or_else(|| Problem::not_found("revision"))?;
    let diagnosis: Diagnosis = serde_json::from_str(&document.text)
        .map_err(|_| Problem::internal("the stored document is not one of this version"))?;
    let of = |group: &firstfault_model::diagnosis::SymptomGroup| PlaceGroup {
        nodes: group.nodes.clone(),
        ranks: group.ranks.clone(),
        count: group.count,
    };
    let groups: Vec<_> = diagnosis.finding.symptoms.iter().filter(|g| g.symptom == symptom).map(of).collect();
    if groups.is_empty() {
        return Err(Problem::not_found("symptom in this diagnosis"));
    }
    Ok(Json(Places { symptom, groups }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// Only in this state.
    #[param(inline, pattern = "^(open|accepted|leased|done|parked)$")]
    state: Option<String>,
    /// Only of this cluster.
    cluster: Option<String>,
    /// Only of this raw id of a workload.
    workload: Option<String>,
    /// From the page before.
    cursor: Option<String>,
    /// Items, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// A page of diagnoses.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DiagnosisPage {
    /// The newest first.
    items: Vec<DiagnosisState>,
    /// For the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A place in a list, which clients hand back as they got it.
pub(super) fn cursor(text: Option<&str>) -> Result<Option<i64>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let number = text.strip_prefix('c').and_then(|n| i64::from_str_radix(n, 16).ok()).filter(|n| *n >= 0);
    number.map(Some).ok_or_else(|| Problem::malformed("this is no cursor of an earlier answer").at("cursor"))
}

pub(super) fn cursor_text(next: Option<i64>) -> Option<String> {
    next.map(|n| format!("c{n:x}"))
}

pub(super) fn limit(limit: Option<u32>) -> Result<u32, Problem> {
    match limit.unwrap_or(100) {
        most @ 1..=MOST_ITEMS => Ok(most),
        _ => Err(Problem::malformed("from 1 to 1000 items can be asked for").at("limit")),
    }
}

/// List diagnoses, the newest first: all, or those of the asker's own workloads.
#[utoipa::path(
    get, path = "/v1/diagnoses", params(Listing),
    responses(
        (status = 200, description = "A page", body = DiagnosisPage),
        (status = "4XX", description = "Not given", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    asker: Asker,
    Query(listing): Query<Listing>,
) -> Result<Json<DiagnosisPage>, Problem> {
    asker.may(Roles::read_own, "read diagnoses")?;
    let state = match listing.state.as_deref() {
        None => None,
        Some(name) => Some(StoredState::parse(name).ok_or_else(|| {
            Problem::malformed("states are open, accepted, leased, done, parked").at("state")
        })?),
    };
    let reader = (!asker.0.roles.read_all()).then(|| asker.0.name.clone());
    let filter = Filter { reader, state, cluster: listing.cluster, workload: listing.workload };
    let (before, limit) = (cursor(listing.cursor.as_deref())?, limit(listing.limit)?);
    let page = app.ask(move |store| store.list(&filter, before, limit)).await?;
    Ok(Json(DiagnosisPage {
        items: page.items.iter().map(DiagnosisState::from).collect(),
        next: cursor_text(page.next),
    }))
}

/// Run again what is parked or done.
#[utoipa::path(
    post, path = "/v1/diagnoses/{id}/retry", params(("id" = String, Path, description = "Id")),
    responses(
        (status = 202, description = "Accepted", body = DiagnosisState),
        (status = "4XX", description = "Not there, or in work", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn retry(
    State(app): State<App>,
    asker: Asker,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    asker.may(Roles::admin, "run diagnoses again")?;
    readable(&app, &asker, &id).await?;
    let asked = id.clone();
    if !app.ask(move |store| store.retry(&asked, crate::clock::now())).await? {
        return Err(Problem::new(StatusCode::CONFLICT, "in-work", "it is in the queue or in work already"));
    }
    app.due.notify_one();
    Ok(pending(&readable(&app, &asker, &id).await?))
}
