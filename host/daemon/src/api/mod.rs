//! The HTTP interface. Each handler carries its part of the OpenAPI document, and routes are made of both, so neither is without
//! the other.

mod diagnoses;
mod document;
mod health;
mod nodes;
mod rules;
mod sessions;
mod submit;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::middleware;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Principal, Roles};
use crate::app::App;
use crate::guard;
use crate::problem::Problem;
use crate::wires;

pub(crate) use document::answer;
pub(crate) use sessions::{diagnosed, keep, open, own};
pub(crate) use submit::submit;

#[derive(OpenApi)]
#[openapi(
    info(title = "firstfault", description = "Finds the first fault of a failed distributed training or inference job."),
    security(("token" = []))
)]
struct Document;

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(diagnoses::create, diagnoses::list))
        .routes(routes!(diagnoses::read))
        .routes(routes!(diagnoses::state))
        .routes(routes!(diagnoses::revision))
        .routes(routes!(diagnoses::places))
        .routes(routes!(diagnoses::retry))
        .routes(routes!(nodes::history))
        .routes(routes!(rules::packs))
        .routes(routes!(rules::plugins))
        .routes(routes!(rules::generations))
        .routes(routes!(rules::reload))
        .routes(routes!(sessions::create))
        .routes(routes!(sessions::observe))
        .routes(routes!(sessions::diagnosis))
        .routes(routes!(health::metrics))
        .routes(routes!(health::page))
}

fn open_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(health::openapi))
}

/// The OpenAPI document.
#[must_use]
pub fn openapi() -> Value {
    let (_, mut document) = routes().merge(open_routes()).split_for_parts();
    document
        .components
        .get_or_insert_default()
        .add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    let mut value = serde_json::to_value(&document).unwrap_or_default();
    document::add_schemas(&mut value);
    value
}

/// Everything that is served.
pub(crate) fn router(app: &App) -> Router {
    let (known, _) = routes().split_for_parts();
    let (anybody, _) = open_routes().split_for_parts();
    known
        .merge(wires::routes())
        .layer(middleware::from_fn_with_state(app.clone(), guard::admit))
        .merge(anybody)
        .fallback(nothing)
        .method_not_allowed_fallback(not_so)
        .layer(CatchPanicLayer::custom(|_| {
            axum::response::IntoResponse::into_response(Problem::internal(
                "the request made the daemon fail; its log says how",
            ))
        }))
        .layer(middleware::from_fn_with_state(app.clone(), guard::observe))
        .with_state(app.clone())
}

async fn nothing(uri: Uri) -> Problem {
    let path: String = uri.path().chars().take(200).collect();
    Problem::new(
        StatusCode::NOT_FOUND,
        "not-found",
        "nothing is served at this path; /openapi.json lists what is",
    )
    .at(path)
}

async fn not_so() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "this path does not take this method; /openapi.json says which",
    )
}

/// Who asks, having passed the guard.
#[derive(Debug, Clone)]
pub(crate) struct Asker(pub(crate) Arc<Principal>);

impl<S: Sync> FromRequestParts<S> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let principal = parts.extensions.get::<Arc<Principal>>();
        principal
            .cloned()
            .map(Self)
            .ok_or_else(|| Problem::internal("the request was not looked at by the guard"))
    }
}

impl Asker {
    /// Whether a role lets it.
    pub(crate) fn may(&self, role: fn(Roles) -> bool, what: &str) -> Result<(), Problem> {
        if role(self.0.roles) {
            return Ok(());
        }
        Err(Problem::forbidden(format!("{} may not {what}: its role does not let it", self.0.name)))
    }
}

/// Parameters of the query, with errors of our own.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|e| Problem::malformed(e.body_text()).at("query"))
    }
}

/// Parameters of the path, with errors of our own.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Path::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(value)| Self(value))
            .map_err(|e| Problem::malformed(e.body_text()).at("path"))
    }
}
