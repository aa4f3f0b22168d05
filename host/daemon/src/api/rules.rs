//! `/v1/rules`, `/v1/plugins`, `/v1/generations`, `/v1/reload`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::Asker;
use crate::access::Roles;
use crate::app::App;
use crate::diagnoser::{PackInfo, PluginInfo, ReloadReport};
use crate::problem::Problem;
use crate::watch::Built;

/// The packs in use.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Packs {
    /// Digest of all rules.
    generation: String,
    /// The packs.
    packs: Vec<PackInfo>,
}

/// The packs of rules in use.
#[utoipa::path(get, path = "/v1/rules", responses(
    (status = 200, description = "The packs", body = Packs),
    (status = "4XX", description = "Not given", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn packs(State(app): State<App>, asker: Asker) -> Result<Json<Packs>, Problem> {
    asker.may(Roles::read_own, "read the rules")?;
    let current = app.generations.current();
    Ok(Json(Packs { generation: current.id, packs: current.packs }))
}

/// The plugins in use, and those that are refused.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Plugins {
    /// The plugins.
    plugins: Vec<PluginInfo>,
}

/// The plugins in use, and those that are refused.
#[utoipa::path(get, path = "/v1/plugins", responses(
    (status = 200, description = "The plugins", body = Plugins),
    (status = "4XX", description = "Not given", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn plugins(State(app): State<App>, asker: Asker) -> Result<Json<Plugins>, Problem> {
    asker.may(Roles::read_own, "read the plugins")?;
    Ok(Json(Plugins { plugins: app.generations.current().plugins }))
}

/// Generations of rules and plugins.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Generations {
    /// The newest first.
    generations: Vec<Built>,
}

/// Generations that were used or refused since the daemon started.
#[utoipa::path(get, path = "/v1/generations", responses(
    (status = 200, description = "The generations", body = Generations),
    (status = "4XX", description = "Not given", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn generations(State(app): State<App>, asker: Asker) -> Result<Json<Generations>, Problem> {
    asker.may(Roles::read_own, "read the generations")?;
    Ok(Json(Generations { generations: app.generations.all() }))
}

/// Build a generation of what the folders hold now, and use it if it is sound.
#[utoipa::path(post, path = "/v1/reload", responses(
    (status = 200, description = "What came of it", body = ReloadReport),
    (status = "4XX", description = "Not done", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn reload(State(app): State<App>, asker: Asker) -> Result<Response, Problem> {
    asker.may(Roles::admin, "reload")?;
    Ok(Json(app.reload().await?).into_response())
}
