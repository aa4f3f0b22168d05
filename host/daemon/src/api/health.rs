//! `/healthz`, `/readyz`, `/metrics`, `/openapi.json`, `/`

use std::sync::LazyLock;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use firstfault_store::Filter;
use serde_json::Value;

use super::document::{page as html, typed};
use super::{Asker, openapi as document};
use crate::access::Roles;
use crate::app::App;
use crate::clock;
use crate::problem::Problem;

/// The process lives.
#[utoipa::path(get, path = "/healthz", security(()), responses((status = 200, description = "It lives", body = String)))]
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Requests can be taken and are worked on.
#[utoipa::path(get, path = "/readyz", security(()), responses(
    (status = 200, description = "Ready", body = String),
    (status = 503, description = "Not ready", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    if app.is_stopping() {
        return Err(Problem::busy("the daemon is stopping"));
    }
    // Writing is what fails first: asking for what is not there changes nothing and needs the lock.
    app.ask(|store| store.ask("", clock::now())).await?;
    Ok("ready\n")
}

/// Counts for Prometheus.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, description = "In the text format", body = String, content_type = "application/openmetrics-text"),
    (status = "4XX", description = "Not given", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn metrics(State(app): State<App>, asker: Asker) -> Result<Response, Problem> {
    asker.may(Roles::read_own, "read the metrics")?;
    let counts = app.ask(|store| store.counts()).await?;
    let text = app.metrics.text(&counts, clock::now());
    Ok(typed("application/openmetrics-text; version=1.0.0; charset=utf-8", text))
}

/// This interface as an OpenAPI document.
#[utoipa::path(get, path = "/openapi.json", security(()), responses((status = 200, description = "The document", body = Object)))]
pub(super) async fn openapi() -> Json<&'static Value> {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(document);
    Json(&DOCUMENT)
}

/// The newest diagnoses, for a person.
#[utoipa::path(get, path = "/", responses(
    (status = 200, description = "A page", body = String, content_type = "text/html"),
    (status = "4XX", description = "Not given", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn page(State(app): State<App>, asker: Asker) -> Result<Response, Problem> {
    asker.may(Roles::read_own, "read diagnoses")?;
    let reader = (!asker.0.roles.read_all()).then(|| asker.0.name.clone());
    let page = app.ask(move |store| store.list(&Filter { reader, ..Filter::default() }, None, 50)).await?;
    let mut text = String::from("firstfault\n\n");
    for entry in page.items {
        let summary = entry.summary.or(entry.reason).unwrap_or_else(|| entry.state.name().to_owned());
        text.push_str(&format!("{}  {}  {summary}\n", entry.id, entry.identity.workload));
    }
    Ok(html("firstfault", &text))
}
