//! Bodies of requests: bounded in size, unpacked size and time.

use std::io::Read as _;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::problem::Problem;

/// A body, unpacked.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) bytes: Bytes,
    /// Its media type, in lower case, without parameters.
    pub(crate) media: String,
}

impl FromRequest<App> for Content {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let limits = &app.config.limits;
        let (parts, body) = request.into_parts();
        let text = |name| parts.headers.get(name).and_then(|v: &header::HeaderValue| v.to_str().ok());
        let media = text(header::CONTENT_TYPE).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let encoding = text(header::CONTENT_ENCODING).unwrap_or("identity").trim().to_ascii_lowercase();
        let read = tokio::time::timeout(limits.request, whole(body, limits.body));
        let packed = read.await.map_err(|_| {
            Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "the body did not arrive in time")
        })??;
        let bytes = unpack(packed, &encoding, limits.unpacked)?;
        Ok(Self { bytes, media })
    }
}

async fn whole(body: Body, limit: usize) -> Result<Bytes, Problem> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(limit)),
        Err(_) => Err(Problem::malformed("the body was cut off")),
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too-large",
        format!("the body has more than {limit} bytes; send it in parts"),
    )
}

fn unpack(packed: Bytes, encoding: &str, limit: usize) -> Result<Bytes, Problem> {
    let mut out = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let read = match encoding {
        "identity" | "" => return Ok(packed),
        "gzip" => flate2::read::MultiGzDecoder::new(&*packed).take(most).read_to_end(&mut out),
        "zstd" => zstd::stream::read::Decoder::new(&*packed).and_then(|d| d.take(most).read_to_end(&mut out)),
        other => {
            let what = format!("the encoding '{other}' is not read: send gzip, zstd or none");
            return Err(
                Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoding", what).at("Content-Encoding")
            );
        }
    };
    read.map_err(|e| Problem::malformed(format!("the body is no {encoding}: {e}")).at("Content-Encoding"))?;
    if out.len() > limit {
        return Err(too_large(limit));
    }
    Ok(out.into())
}

/// A document in JSON.
pub(crate) fn json<T: DeserializeOwned>(content: &Content) -> Result<T, Problem> {
    if content.media != "application/json" {
        let what = "send `Content-Type: application/json`";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", what).at("Content-Type"));
    }
    parse(&content.bytes)
}

/// The same of any bytes. What does not fit is named by its field.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // A list would be taken for the fields of a structure in their order.
    if bytes.iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Problem::malformed("an object `{...}` is wanted").at("body"));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let at = error.path().to_string();
        Problem::malformed(error.into_inner().to_string()).at(if at == "." { "body".to_owned() } else { at })
    })?;
    reader.end().map_err(|e| Problem::malformed(e.to_string()).at("body"))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let large = vec![0; 1 << 20];
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&large).unwrap();
        let gzip = Bytes::from(gzip.finish().unwrap());
        let zstd = Bytes::from(zstd::bulk::compress(&large, 1).unwrap());
        for (packed, encoding) in [(gzip, "gzip"), (zstd, "zstd")] {
            assert!(unpack(packed.clone(), encoding, 1000).is_err());
            assert_eq!(unpack(packed, encoding, 1 << 20).unwrap().len(), 1 << 20);
        }
        assert!(unpack(Bytes::from_static(b"no gzip"), "gzip", 1000).is_err());
        assert!(unpack(Bytes::new(), "br", 1000).is_err());
    }

    #[test]
    fn deep_and_wrong_documents_are_refused() {
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        assert!(parse::<serde_json::Value>(deep.as_bytes()).is_err());
        for wrong in ["", "[]", "7", "{", "{} {}", "\u{feff}{}"] {
            assert!(parse::<serde_json::Value>(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(parse::<serde_json::Value>(b"{\"a\": \"\xff\"}").is_err());
    }
}
