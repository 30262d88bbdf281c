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

/// Returns true if a caller accepts gzip, and does not prefer no coding to it.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let codings = values.filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(','));
    let codings: Vec<_> = codings.map(coding).collect();
    let weight = |names: &[&str]| {
        let is_meant = |given: &str| names.iter().any(|it| it.eq_ignore_ascii_case(given));
        codings.iter().filter(|it| is_meant(it.0)).map(|it| it.1).max()
    };
    let gzip = weight(&["gzip", "x-gzip"]).or_else(|| weight(&["*"])).unwrap_or(0);
    0 < gzip && weight(&["identity"]).is_none_or(|it| it <= gzip)
}

/// The name of a coding, and its weight in thousandths. A coding whose weight cannot be read is not accepted.
fn coding(text: &str) -> (&str, u16) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let mut parameters = parts.filter_map(|it| it.split_once('='));
    let weight = parameters.find(|(name, _)| name.trim_end().eq_ignore_ascii_case("q"));
    (name, weight.map_or(1_000, |(_, value)| thousandths(value.trim_start()).unwrap_or(0)))
}

/// Reads a number from 0 to 1 with up to three decimals.
pub(super) fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_weight = matches!(whole, "0" | "1")
        && decimals.len() <= 3
        && decimals.bytes().all(|it| it.is_ascii_digit());
    let weight = is_weight.then(|| format!("{whole}{decimals:0<3}").parse().ok())?;
    weight.filter(|it| *it <= 1_000)
}

/// Says that the answer depends on what the caller accepts, if compression makes it shorter. Returns true if it does.
///
/// The compressed and the plain form then have one tag, which is weak: the same content in other bytes.
pub(super) fn vary(response: &mut Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let becomes_shorter = kind.is_some_and(|kind| CONTENT.iter().any(|it| kind.starts_with(it)));
    if response.status() != StatusCode::OK || !becomes_shorter {
        return false;
    }
    let body: BoxBody<_, _> = response.take_body().into();
    let is_short = body.size_hint().upper().is_some_and(|it| it < BYTES_MIN);
    response.set_body(Body::from(body));
    if is_short {
        return false;
    }
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_name(header::ACCEPT_ENCODING));
    let strong = headers.get(header::ETAG).and_then(|it| it.to_str().ok());
    let weak = strong.filter(|it| !it.starts_with("W/")).map(|it| format!("W/{it}"));
    if let Some(weak) = weak.and_then(|it| HeaderValue::from_str(&it).ok()) {
        headers.insert(header::ETAG, weak);
    }
    true
}

/// Compresses a complete answer or one that is still being read, piece by piece.
pub(super) fn compress(response: &mut Response) {
    let plain = BufReader::new(response.take_body().into_async_read());
    response.set_body(Body::from_async_read(GzipEncoder::new(plain)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.remove(header::CONTENT_LENGTH);
}
