//! `/v1/nodes`

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::diagnoses::{cursor, cursor_text, limit};
use super::{Asker, Path, Query};
use crate::access::Roles;
use crate::app::App;
use crate::clock::timestamp;
use crate::problem::Problem;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Listing {
    /// From the page before.
    cursor: Option<String>,
    /// Items, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// What a node was blamed for.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct History {
    /// The node.
    node: String,
    /// The newest first.
    events: Vec<Event>,
    /// For the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Event {
    /// The diagnosis.
    diagnosis: String,
    /// Raw id of the workload.
    workload: String,
    /// Symptom of the root cause.
    symptom: String,
    /// When the workload ended.
    at: String,
}

/// What a node was blamed for, the newest first.
#[utoipa::path(
    get, path = "/v1/nodes/{node}", params(("node" = String, Path, description = "As the scheduler names it"), Listing),
    responses(
        (status = 200, description = "Its history; empty if nothing is known", body = History),
        (status = "4XX", description = "Not given", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn history(
    State(app): State<App>,
    asker: Asker,
    Path(node): Path<String>,
    Query(listing): Query<Listing>,
) -> Result<Json<History>, Problem> {
    asker.may(Roles::read_all, "read the history of nodes")?;
    let (before, limit) = (cursor(listing.cursor.as_deref())?, limit(listing.limit)?);
    let asked = node.clone();
    let page = app.ask(move |store| store.history(&asked, before, limit)).await?;
    let of = |event: firstfault_store::NodeEvent| Event {
        diagnosis: event.diagnosis,
        workload: event.workload,
        symptom: event.symptom,
        at: timestamp(event.at).to_string(),
    };
    Ok(Json(History { node, events: page.items.into_iter().map(of).collect(), next: cursor_text(page.next) }))
}
