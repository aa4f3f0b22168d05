//! Sockets: bound, accepted, served. Each connection is a task of its own; slow ones are closed.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::app::App;
use crate::config::{TcpListen, UnixListen};
use crate::guard::Peer;

/// Headers of one request.
const MOST_HEADERS: usize = 64;
/// Bytes of the headers of one request.
const HEADER_BYTES: usize = 32 << 10;
/// Longest TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Pause after a failed accept: most often descriptors have run out.
const PAUSE: Duration = Duration::from_millis(50);

/// A bound address.
#[derive(Debug)]
pub(crate) enum Bound {
    Unix(UnixListener, Arc<UnixListen>),
    Tcp(TcpListener, Arc<TcpListen>, Option<Tls>),
}

/// Takes TLS handshakes.
#[derive(Clone)]
pub(crate) struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

/// Binds the unix socket. One that a dead daemon left is replaced, one of a living daemon or any other file is not.
pub(crate) fn bind_unix(unix: UnixListen) -> io::Result<Bound> {
    let path = &unix.path;
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "there is another file at the path of the socket",
            ));
        }
        Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another daemon listens on the socket"));
        }
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(unix.mode))?;
    Ok(Bound::Unix(listener, Arc::new(unix)))
}

/// Binds a TCP address.
pub(crate) async fn bind_tcp(mut listen: TcpListen) -> io::Result<Bound> {
    let tls = listen.tls.as_ref().map(|(certificate, key)| tls(certificate, key)).transpose()?;
    let listener = TcpListener::bind(listen.address).await?;
    // Port 0 is any that is free.
    listen.address = listener.local_addr()?;
    Ok(Bound::Tcp(listener, Arc::new(listen), tls))
}

fn tls(certificate: &Path, key: &Path) -> io::Result<Tls> {
    let wrong = |path: &Path, why: String| {
        io::Error::new(io::ErrorKind::InvalidData, format!("'{}' cannot be used: {why}", path.display()))
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain = chain.map_err(|e| wrong(certificate, e.to_string()))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|e| wrong(key, e.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|e| wrong(certificate, e.to_string()))?;
    Ok(Tls(TlsAcceptor::from(Arc::new(config))))
}

impl Bound {
    /// How it is shown.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Unix(_, unix) => unix.path.display().to_string(),
            Self::Tcp(_, listen, tls) => {
                format!("{}://{}", if tls.is_some() { "https" } else { "http" }, listen.address)
            }
        }
    }

    /// Accepts for ever.
    pub(crate) async fn accept(
        self,
        app: App,
        router: Router,
        places: Arc<Semaphore>,
        graceful: Arc<GracefulShutdown>,
    ) {
        loop {
            // Beyond the limit connections wait in the system's queue.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let (app, router, watcher) = (app.clone(), router.clone(), graceful.watcher());
            let accepted = match &self {
                Self::Unix(listener, unix) => listener.accept().await.map(|(stream, _)| {
                    let allowed =
                        stream.peer_cred().ok().and_then(|c| app.people.peer(c.uid(), c.gid(), &unix.allow));
                    let Some(principal) = allowed else {
                        app.metrics.refused_connections.inc();
                        return;
                    };
                    let peer = Peer::Unix(principal);
                    tokio::spawn(async move {
                        serve(stream, peer, app, router, watcher).await;
                        drop(place);
                    });
                }),
                Self::Tcp(listener, listen, tls) => listener.accept().await.map(|(stream, _)| {
                    let (peer, tls) = (Peer::Tcp(Arc::clone(listen)), tls.clone());
                    tokio::spawn(async move {
                        match tls {
                            None => serve(stream, peer, app, router, watcher).await,
                            Some(Tls(acceptor)) => {
                                match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                                    Ok(Ok(stream)) => serve(stream, peer, app, router, watcher).await,
                                    _ => drop(app.metrics.refused_connections.inc()),
                                }
                            }
                        }
                        drop(place);
                    });
                }),
            };
            if let Err(error) = accepted {
                tracing::warn!("a connection cannot be accepted: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn serve<S>(stream: S, peer: Peer, app: App, router: Router, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    app.metrics.connections.inc();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(peer.clone());
        router.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.config.limits.request)
        .max_headers(MOST_HEADERS)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!("a connection ended: {error}");
    }
    app.metrics.connections.dec();
}
