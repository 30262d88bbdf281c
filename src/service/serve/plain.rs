//! What answers on the address of plain HTTP beside that of HTTPS.

use std::sync::Arc;

use poem::endpoint::{BoxEndpoint, make_sync};
use poem::http::uri::Authority;
use poem::http::{Method, StatusCode, header};
use poem::{EndpointExt, Request, Response};

use crate::api::wire::kind::{FORBIDDEN, INVALID};
use crate::serve::certificate::Presented;

/// The port that `https` URLs need not name.
const HTTPS_PORT: u16 = 443;
/// Below it an ACME authority asks for proof (RFC 8555, section 8.3).
const CHALLENGES: &str = "/.well-known/acme-challenge/";
/// Headers that carry a credential.
const CREDENTIALS: [&str; 3] = ["x-api-key", "authorization", "cookie"];

/// Redirects pages to HTTPS, and refuses everything else. Nobody is redirected together with a key: a program that sends one in
/// clear must hear of it.
///
/// `public_url`: where pages are if it is `https`; otherwise they are at the host of the request and at `port`.
pub(super) fn lead_to_https(
    public_url: Option<String>,
    port: u16,
    presented: Option<Arc<Presented>>,
) -> Arc<BoxEndpoint<'static, Response>> {
    let public_url = public_url.filter(|it| it.starts_with("https://"));
    let endpoint = make_sync(move |request: Request| {
        let token = request.uri().path().strip_prefix(CHALLENGES);
        match token.and_then(|token| presented.as_ref()?.proof(token)) {
            Some(proof) => proof.into(),
            None => answer(&request, public_url.as_deref(), port),
        }
    });
    Arc::new(endpoint.boxed())
}

fn answer(request: &Request, public_url: Option<&str>, port: u16) -> Response {
    let path = request.uri().path_and_query().map_or("/", |it| it.as_str());
    if CREDENTIALS.iter().any(|it| request.headers().contains_key(*it)) {
        return FORBIDDEN.respond(
            "use https; the key, token or password of this request was sent in clear: rotate it",
        );
    }
    if path.starts_with("/api/") || path.starts_with("/auth/") || request.method() != Method::GET {
        return FORBIDDEN.respond(
            "use https; if this request carried a key, token or password, it was sent in clear: rotate it",
        );
    }
    let host = request.header(header::HOST).and_then(|it| it.parse::<Authority>().ok());
    let location = match (public_url, host) {
        (Some(url), _) => format!("{url}{path}"),
        (None, Some(host)) if port == HTTPS_PORT => format!("https://{}{path}", host.host()),
        (None, Some(host)) => format!("https://{}:{port}{path}", host.host()),
        (None, None) => return INVALID.respond("a Host header is required"),
    };
    Response::builder()
        .status(StatusCode::PERMANENT_REDIRECT)
        .header(header::LOCATION, location)
        .header(header::CACHE_CONTROL, "no-store")
        .finish()
}
