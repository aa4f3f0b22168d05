//! What every request passes: its id, the names that it calls the daemon by, who it is from, and how often.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use tracing::Instrument as _;

use crate::access::{self, Principal};
use crate::app::App;
use crate::config::TcpListen;
use crate::metrics::RequestLabels;
use crate::problem::Problem;

/// Names a request in the log and in its answer.
static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Clients that the limiter remembers before it forgets the quiet ones.
const REMEMBERED: usize = 10_000;

/// Where a request came in.
#[derive(Debug, Clone)]
pub(crate) enum Peer {
    /// The unix socket; who connected was looked at.
    Unix(Arc<Principal>),
    /// A TCP address.
    Tcp(Arc<TcpListen>),
}

/// Requests of each client.
#[derive(Debug)]
pub(crate) struct Limiter {
    limiter: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
}

impl Limiter {
    pub(crate) fn new(rate: u32, burst: u32) -> Self {
        let number = |n| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(number(rate)).allow_burst(number(burst));
        Self { limiter: RateLimiter::keyed(quota), clock: DefaultClock::default() }
    }

    fn check(&self, client: &str) -> Result<(), Problem> {
        if self.limiter.len() > REMEMBERED {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(&client.to_owned()).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now()).max(Duration::from_secs(1)).as_secs();
            Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-requests",
                "more requests than one client may make; try again later",
            )
            .retry_after(u32::try_from(wait).unwrap_or(60))
        })
    }
}

/// The outermost: ids, spans, counts.
pub(crate) async fn observe(State(app): State<App>, mut request: Request, next: Next) -> Response {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let given = request.headers().get(&REQUEST_ID).filter(|v| is_plain(v.as_bytes())).cloned();
    let id = given.unwrap_or_else(|| {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        HeaderValue::from_str(&format!("{}-{number}", app.holder))
            .unwrap_or_else(|_| HeaderValue::from(number))
    });
    request.headers_mut().insert(&REQUEST_ID, id.clone());
    let method = request.method().as_str().to_owned();
    // Its pattern, not its path: there are as many paths as clients can think of.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let span = tracing::debug_span!("request", id = id.to_str().unwrap_or("-"), method, route);
    let began = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let took = began.elapsed();
    let status = response.status().as_u16();
    span.in_scope(|| tracing::debug!(status, micros = took.as_micros(), "answered"));
    app.metrics.request_seconds.observe(took.as_secs_f64());
    app.metrics.requests.get_or_create(&RequestLabels { route, method, status }).inc();
    response.headers_mut().insert(&REQUEST_ID, id);
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn is_plain(id: &[u8]) -> bool {
    !id.is_empty() && id.len() <= 64 && id.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

/// Who it is and whether it may ask anything at all.
pub(crate) async fn admit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let admitted = who(&app, &request).and_then(|principal| {
        app.limiter.check(&principal.name)?;
        Ok(principal)
    });
    match admitted {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

fn who(app: &App, request: &Request) -> Result<Arc<Principal>, Problem> {
    let headers = request.headers();
    let peer = request
        .extensions()
        .get::<Peer>()
        .ok_or_else(|| Problem::internal("the connection is of no listener"))?;
    match peer {
        Peer::Unix(principal) => {
            // A browser cannot speak to a unix socket; what forwards to it would show whom it speaks for.
            if headers.contains_key(header::ORIGIN) {
                return Err(Problem::forbidden("requests of web pages are not taken here").at("Origin"));
            }
            Ok(Arc::clone(principal))
        }
        Peer::Tcp(listen) => {
            host(headers, request.uri().host(), listen)?;
            if let Some(open) = &listen.open {
                let name = format!("open:{}", listen.address);
                let principal = Principal { name, uid: None, roles: open.roles, trust: open.trust };
                return Ok(Arc::new(principal));
            }
            let missing = || {
                Problem::new(
                    StatusCode::UNAUTHORIZED,
                    "no-token",
                    "send a token: `Authorization: Bearer ...`",
                )
                .at("Authorization")
            };
            let value = headers.get(header::AUTHORIZATION).ok_or_else(missing)?;
            let token = value.to_str().ok().and_then(|v| v.strip_prefix("Bearer ")).ok_or_else(missing)?;
            access::bearer(token.trim(), &app.config.tokens).map(Arc::new).ok_or_else(|| {
                Problem::new(StatusCode::UNAUTHORIZED, "unknown-token", "this token is not known")
                    .at("Authorization")
            })
        }
    }
}

/// A page of another site that had its name resolved to this address shows by the name that it calls.
fn host(headers: &HeaderMap, target: Option<&str>, listen: &TcpListen) -> Result<(), Problem> {
    let mut given = headers.get_all(header::HOST).iter();
    let (first, second) = (given.next(), given.next());
    let named = match (first, second) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    };
    let bare = |name: &str| {
        let name = if name.ends_with(']') { name } else { name.rsplit_once(':').map_or(name, |(n, _)| n) };
        name.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
    };
    let ours = |name: &str| {
        let name = bare(name);
        name == listen.address.ip().to_string()
            || (listen.address.ip().is_loopback()
                && matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"))
            || listen.hosts.iter().any(|h| h.eq_ignore_ascii_case(&name))
    };
    let any = listen.address.ip().is_unspecified() && listen.hosts.is_empty();
    let wrong = || {
        Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "wrong-host",
            "the daemon is not called by this name; add it to `hosts` of the listener",
        )
        .at("Host")
    };
    let named = named.ok_or_else(|| Problem::malformed("one Host header is needed").at("Host"))?;
    if !(any || (ours(named) && target.is_none_or(ours))) {
        return Err(wrong());
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let same = origin
            .to_str()
            .ok()
            .and_then(|o| o.split_once("://"))
            .is_some_and(|(_, name)| name.eq_ignore_ascii_case(named));
        if !same {
            return Err(Problem::forbidden("requests of pages of other sites are not taken").at("Origin"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(address: &str, hosts: &[&str]) -> TcpListen {
        TcpListen {
            address: address.parse().unwrap(),
            tls: None,
            hosts: hosts.iter().map(|h| (*h).to_owned()).collect(),
            open: None,
        }
    }

    fn checked(pairs: &[(&str, &str)], listen: &TcpListen) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        host(&headers, None, listen).is_ok()
    }

    #[test]
    fn only_own_names_are_answered() {
        let local = listen("127.0.0.1:9480", &["ff.example"]);
        for name in ["127.0.0.1:9480", "localhost:1", "LOCALHOST", "[::1]:9480", "ff.example:9480"] {
            assert!(checked(&[("host", name)], &local), "{name}");
        }
        for name in ["evil.example:9480", "127.0.0.1.evil.example", "", "localhost.evil.example"] {
            assert!(!checked(&[("host", name)], &local), "{name}");
        }
        assert!(!checked(&[], &local));
        assert!(!checked(&[("host", "localhost"), ("host", "localhost")], &local));
        assert!(checked(&[("host", "anything")], &listen("0.0.0.0:1", &[])));
        assert!(!checked(&[("host", "anything")], &listen("0.0.0.0:1", &["ff.example"])));
    }

    #[test]
    fn pages_of_other_sites_are_not() {
        let local = listen("127.0.0.1:9480", &[]);
        assert!(checked(&[("host", "localhost:9480"), ("origin", "http://localhost:9480")], &local));
        for origin in ["http://evil.example", "null", "http://localhost:1"] {
            assert!(!checked(&[("host", "localhost:9480"), ("origin", origin)], &local), "{origin}");
        }
    }

    #[test]
    fn a_client_beyond_its_rate_is_told_when_to_come_again() {
        let limiter = Limiter::new(1, 2);
        assert!(limiter.check("a").is_ok() && limiter.check("a").is_ok());
        assert!(limiter.check("a").is_err());
        assert!(limiter.check("b").is_ok());
    }
}
