//! Compresses answers for callers that accept gzip.

use async_compression::tokio::bufread::GzipEncoder;
use http_body_util::combinators::BoxBody;
use hyper::body::Body as _;
use poem::http::{HeaderMap, HeaderValue, StatusCode, header};
use poem::{Body, Response};
use tokio::io::BufReader;

/// A shorter answer is not worth the work.
const BYTES_MIN: u64 = 1_024;
/// The kinds of content that become shorter.
const CONTENT: [&str; 4] =
    ["application/json", "application/x-ndjson", "application/openmetrics-text", "text/"];

/// Returns true if a caller accepts gzip.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let codings = values.filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(','));
    codings.map(coding).any(|(name, is_wanted)| is_wanted && name.eq_ignore_ascii_case("gzip"))
}

/// The name of a coding, and whether its weight is above 0.
fn coding(text: &str) -> (&str, bool) {
    let (name, parameter) = text.split_once(';').unwrap_or((text, ""));
    let weight = parameter.trim().strip_prefix("q=").unwrap_or("1");
    (name.trim(), weight.bytes().any(|it| (b'1'..=b'9').contains(&it)))
}

/// Compresses a complete answer or one that is still being read, piece by piece, if that makes it shorter.
pub(super) fn compress(response: &mut Response, is_accepted: bool) {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let becomes_shorter = kind.is_some_and(|kind| CONTENT.iter().any(|it| kind.starts_with(it)));
    if response.status() != StatusCode::OK || !becomes_shorter {
        return;
    }
    let body: BoxBody<_, _> = response.take_body().into();
    if body.size_hint().upper().is_some_and(|it| it < BYTES_MIN) {
        response.set_body(Body::from(body));
        return;
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_name(header::ACCEPT_ENCODING));
    if !is_accepted {
        response.set_body(Body::from(body));
        return;
    }
    let plain = BufReader::new(Body::from(body).into_async_read());
    response.set_body(Body::from_async_read(GzipEncoder::new(plain)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.remove(header::CONTENT_LENGTH);
    // The same content in other bytes.
    let etag =
        headers.get(header::ETAG).and_then(|it| it.to_str().ok()).map(|it| format!("W/{it}"));
    if let Some(etag) = etag.and_then(|it| HeaderValue::from_str(&it).ok()) {
        headers.insert(header::ETAG, etag);
    }
}
