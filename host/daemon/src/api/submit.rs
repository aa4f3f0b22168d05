//! From a request to a report in the store.

use axum::http::StatusCode;
use firstfault_model::canonical::{Digester, digest};
use firstfault_model::context::{ContextDocument, ExecutionContext};
use firstfault_store::{Accepted, Identity, NewReport};

use crate::access::Principal;
use crate::app::App;
use crate::paths::{Namer, PathError, uid_of};
use crate::problem::Problem;
use crate::request::DiagnosisRequest;
use crate::worker::Kept;

/// Most paths of one request.
const MOST_PATHS: usize = 64;
/// Longest name, in bytes.
const MOST_NAME: usize = 512;
/// How long hooks of other nodes are waited for.
const TOGETHER: i64 = 200;

/// Takes a request.
pub(crate) async fn submit(
    app: &App,
    principal: &Principal,
    request: DiagnosisRequest,
) -> Result<Accepted, Problem> {
    let due_in = if request.hook.is_some() { TOGETHER } else { 0 };
    report(app, principal, request, Some(due_in)).await
}

/// The same, without anything being due if `due_in` is none.
pub(crate) async fn report(
    app: &App,
    principal: &Principal,
    request: DiagnosisRequest,
    due_in: Option<i64>,
) -> Result<Accepted, Problem> {
    if !principal.roles.submit() {
        return Err(Problem::forbidden(format!(
            "{} may not submit: its role does not let it",
            principal.name
        )));
    }
    let trusted = principal.is_trusted();
    let uid = principal.uid.or_else(|| uid_of(&principal.name));
    check(&request, principal, trusted)?;
    let namer = Namer { uid, trusted };
    for (i, path) in request.paths.iter().enumerate() {
        app.roots.open(path, namer).map_err(|error| {
            let status = match &error {
                PathError::Outside | PathError::NotYours => StatusCode::FORBIDDEN,
                PathError::Open(e) if matches!(e.code(), "malformed" | "denied") => StatusCode::FORBIDDEN,
                PathError::Open(_) => StatusCode::UNPROCESSABLE_ENTITY,
            };
            Problem::new(status, "path", error.to_string()).at(format!("paths[{i}]"))
        })?;
    }
    let context = &request.workload;
    let owner = context.user.clone().or_else(|| (!trusted).then(|| principal.name.clone()));
    let identity = identity(app, principal, &request);
    // A hook on another node says what others have said, unless it names something to read.
    let news = request.hook.is_none() || !request.paths.is_empty();
    let body =
        serde_json::to_string(&Kept { request, uid }).map_err(|e| Problem::malformed(e.to_string()))?;
    app.report(NewReport { identity, body, submitter: principal.name.clone(), owner, trusted, due_in, news })
        .await
}

fn check(request: &DiagnosisRequest, principal: &Principal, trusted: bool) -> Result<(), Problem> {
    let unprocessable =
        |what: String, at: &str| Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "workload", what).at(at));
    let context = &request.workload;
    if let Err(error) = ExecutionContext::new(context.clone()) {
        return unprocessable(error.to_string(), "workload");
    }
    let names = [&context.scheduler, &context.cluster, &context.id, &context.name, &context.user];
    for name in names.into_iter().flatten() {
        if name.len() > MOST_NAME || name.contains('\0') {
            return unprocessable(format!("a name has more than {MOST_NAME} bytes or a NUL"), "workload");
        }
    }
    if request.paths.len() > MOST_PATHS {
        return unprocessable(format!("more than {MOST_PATHS} paths; name the folder above them"), "paths");
    }
    if request.attempt_in_logs == Some(0) {
        return unprocessable("attempts are counted from 1".to_owned(), "attempt_in_logs");
    }
    if context.id.is_none() && request.paths.is_empty() {
        return unprocessable(
            "nothing says what to diagnose: give an id of the workload, or paths".to_owned(),
            "workload.id",
        );
    }
    if let Some(user) = context.user.as_deref().filter(|user| !trusted && *user != principal.name) {
        return Err(Problem::forbidden(format!(
            "{} may report only its own workloads, not {user}'s",
            principal.name
        ))
        .at("workload.user"));
    }
    Ok(())
}

fn identity(app: &App, principal: &Principal, request: &DiagnosisRequest) -> Identity {
    let ContextDocument { scheduler, cluster, id, attempt, start, .. } = &request.workload;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let Some(id) = id else {
        // What lies at paths, without a name: the same paths are the same workload, each user's own.
        let mut key = Digester::new("firstfault.paths/1");
        key.part(principal.name.as_bytes());
        request.paths.iter().for_each(|path| key.part(path.as_bytes()));
        key.part(digest(serde_json::to_string(request).unwrap_or_default().as_bytes()).as_bytes());
        return Identity { scheduler: "paths".to_owned(), workload: key.finish(), ..Identity::default() };
    };
    let cluster = cluster.clone().unwrap_or_else(|| app.config.cluster.clone());
    Identity {
        scheduler: text(scheduler),
        cluster,
        workload: id.clone(),
        attempt: *attempt,
        start: start.map(|start| start.0.div_euclid(1_000_000)),
    }
}
