//! One request to the daemon on its unix socket.

use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, header};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// Bytes of an answer that are read.
const MOST_BYTES: usize = 64 << 20;

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// Tag of the document, for asking whether it is still the same.
    pub tag: Option<String>,
    /// Body.
    pub body: Bytes,
}

impl Answer {
    /// The daemon has it.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The same may be taken later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self.status, 408 | 429 | 500..)
    }

    /// What it says, for people.
    #[must_use]
    pub fn text(&self) -> String {
        let text: String = String::from_utf8_lossy(&self.body).chars().take(1000).collect();
        format!("{} {}", self.status, text.trim())
    }
}

/// Posts a document in JSON.
///
/// # Errors
/// No answer came within the time.
pub fn post(socket: &Path, path: &str, body: &[u8], within: Duration) -> io::Result<Answer> {
    exchange(socket, Method::POST, path, &[("content-type", "application/json")], body, within)
}

/// Makes a request.
///
/// # Errors
/// No answer came within the time.
pub fn exchange(
    socket: &Path,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    within: Duration,
) -> io::Result<Answer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let exchange = async {
        let stream = UnixStream::connect(socket).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body))).map_err(io::Error::other)?;
        let ask = async {
            let response = sender.send_request(request).await.map_err(io::Error::other)?;
            let status = response.status().as_u16();
            let tag = response.headers().get(header::ETAG).and_then(|v| v.to_str().ok()).map(str::to_owned);
            let body = Limited::new(response.into_body(), MOST_BYTES).collect().await;
            Ok(Answer { status, tag, body: body.map(|b| b.to_bytes()).unwrap_or_default() })
        };
        tokio::select! {
            answer = ask => answer,
            ended = connection => Err(ended.err().map_or_else(|| io::ErrorKind::UnexpectedEof.into(), io::Error::other)),
        }
    };
    runtime.block_on(async {
        tokio::time::timeout(within, exchange)
            .await
            .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")))
    })
}
