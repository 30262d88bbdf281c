//! Answers that are the same for everybody and do not change while the process runs.

use std::sync::OnceLock;

use bytes::Bytes;
use poem::http::header::{self, HeaderValue};
use poem::{Response, RouteMethod, get};
use xxhash_rust::xxh3::xxh3_128;

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const CSS: &str = "text/css; charset=utf-8";
pub(super) const SCRIPT: &str = "text/javascript; charset=utf-8";
pub(super) const PLAIN: &str = "text/plain; charset=utf-8";
pub(super) const SVG: &str = "image/svg+xml";

/// A file of the executable.
pub(super) fn file(
    content_type: &'static str,
    policy: &'static str,
    bytes: &'static [u8],
) -> RouteMethod {
    page(content_type, policy, move || Bytes::from_static(bytes))
}

/// A page that is made when it is first asked for, and kept.
pub(super) fn page(
    content_type: &'static str,
    policy: &'static str,
    make: impl Fn() -> Bytes + Send + Sync + 'static,
) -> RouteMethod {
    let kept = OnceLock::new();
    get(poem::endpoint::make_sync(move |_| {
        let (bytes, etag) = kept.get_or_init(|| tagged(make()));
        Response::builder()
            .content_type(content_type)
            .header(header::CACHE_CONTROL, "no-cache")
            .header(header::CONTENT_SECURITY_POLICY, policy)
            .header("Cross-Origin-Opener-Policy", "same-origin")
            .header(header::ETAG, etag)
            .body(bytes.clone())
    }))
}

fn tagged(bytes: Bytes) -> (Bytes, HeaderValue) {
    let etag = format!("\"{:032x}\"", xxh3_128(&bytes));
    (bytes, HeaderValue::from_str(&etag).expect("hexadecimal digits are visible"))
}
