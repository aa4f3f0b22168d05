//! A diagnosis as an answer: JSON, text or a page, with its tag.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use firstfault_model::diagnosis::{Diagnosis, context_schema, diagnosis_schema};
use firstfault_store::Document;
use serde_json::{Value, json};

use crate::problem::Problem;

/// Forms of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Text,
    Page,
}

/// The first form that the client names; what is not known counts as JSON.
fn form(headers: &HeaderMap) -> Form {
    let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let known = |part: &str| match part.split(';').next().unwrap_or_default().trim() {
        "text/plain" => Some(Form::Text),
        "text/html" => Some(Form::Page),
        "application/json" | "application/*" | "*/*" => Some(Form::Json),
        _ => None,
    };
    accept.split(',').find_map(known).unwrap_or(Form::Json)
}

/// Answers with a document. It never changes, so its tag is its number.
pub(crate) fn answer(id: &str, document: Document, headers: &HeaderMap) -> Result<Response, Problem> {
    let form = form(headers);
    let tag = format!("\"{id}.{}.{form:?}\"", document.revision);
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|v| v.to_str().ok());
    let known = known.flat_map(|v| v.split(',')).map(|t| t.trim().trim_start_matches("W/"));
    let mut response = if known.into_iter().any(|t| t == tag || t == "*") {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let text = || -> Result<String, Problem> {
            let diagnosis: Diagnosis = serde_json::from_str(&document.text)
                .map_err(|_| Problem::internal("the stored document is not one of this version"))?;
            Ok(firstfault_render::text(&diagnosis, &firstfault_render::TextOptions::default()))
        };
        match form {
            Form::Json => typed("application/json", document.text),
            Form::Text => typed("text/plain; charset=utf-8", text()?),
            Form::Page => page(id, &text()?),
        }
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

pub(super) fn typed(media: &'static str, body: String) -> Response {
    ([(header::CONTENT_TYPE, media)], body).into_response()
}

/// A page that runs nothing and loads nothing.
pub(super) fn page(title: &str, text: &str) -> Response {
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title><pre>{1}</pre></html>\n",
        escaped(title),
        escaped(text)
    );
    let mut response = typed("text/html; charset=utf-8", body);
    response.headers_mut().insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    );
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Adds the schemas of the documents, which have their own generator.
pub(super) fn add_schemas(openapi: &mut Value) {
    for (name, schema) in [("Diagnosis", diagnosis_schema()), ("Context", context_schema())] {
        let mut schema = schema;
        point_to_components(&mut schema);
        let inner = schema.as_object_mut().and_then(|s| s.remove("$defs"));
        if let Some(object) = schema.as_object_mut() {
            object.remove("$schema");
        }
        let schemas = &mut openapi["components"]["schemas"];
        for (inner_name, definition) in inner.as_ref().and_then(Value::as_object).into_iter().flatten() {
            schemas[inner_name] = definition.clone();
        }
        schemas[name] = schema;
    }
    openapi["components"]["schemas"]["DiagnosisRequest"]["properties"]["workload"] =
        json!({"$ref": "#/components/schemas/Context"});
}

fn point_to_components(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(target)) = object.get_mut("$ref") {
                *target = target.replace("#/$defs/", "#/components/schemas/");
            }
            object.values_mut().for_each(point_to_components);
        }
        Value::Array(items) => items.iter_mut().for_each(point_to_components),
        _ => {}
    }
}

/// Stands for the diagnosis document in the OpenAPI document.
#[derive(Debug)]
pub(super) struct DiagnosisSchema;

impl utoipa::PartialSchema for DiagnosisSchema {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::Ref::from_schema_name("Diagnosis").into()
    }
}

impl utoipa::ToSchema for DiagnosisSchema {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        let document = crate::openapi();
        let mut targets = Vec::new();
        fn collect(value: &Value, targets: &mut Vec<String>) {
            match value {
                Value::Object(object) => {
                    targets.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    object.values().for_each(|v| collect(v, targets));
                }
                Value::Array(items) => items.iter().for_each(|v| collect(v, targets)),
                _ => {}
            }
        }
        collect(&document, &mut targets);
        assert!(targets.len() > 10, "{targets:?}");
        for target in targets {
            assert!(document.pointer(target.trim_start_matches('#')).is_some(), "{target}");
        }
    }

    #[test]
    fn the_first_known_form_is_given() {
        let of = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
            form(&headers)
        };
        assert_eq!(of("text/html,application/xhtml+xml,*/*;q=0.8"), Form::Page);
        assert_eq!(of("text/plain"), Form::Text);
        assert_eq!(of("*/*"), Form::Json);
        assert_eq!(of("image/png"), Form::Json);
    }

    #[test]
    fn nothing_of_a_log_becomes_markup() {
        assert_eq!(escaped("<script>&\""), "&lt;script&gt;&amp;&quot;");
    }
}
