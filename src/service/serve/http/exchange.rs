//! One request and its answer: what is refused before the application sees it, and what is answered
//! if the application fails.

use std::any::Any;
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::Version;
use hyper::body::{Body, Incoming};
use hyper::header::{
    ALLOW, CONNECTION, EXPECT, HOST, HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY,
};
use hyper::http::request::Parts;
use poem::http::uri::Scheme;
use poem::http::{Method, StatusCode, Uri};
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Endpoint, Request, RequestParts, Response};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{body, http2};
use crate::api::SharedService;
use crate::api::wire::kind;
use crate::api::wire::problem::respond_plainly;
use crate::peer::Peer;
use crate::request::{self, RequestId};
use crate::serve::http::body::{End, Fault};
use crate::serve::http::limit::ConnectionLimits;
use crate::serve::http::slot::Slot;

/// Sent over TLS: browsers use nothing else for this host for a year.
const ONLY_HTTPS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The id of the request: the caller's own, or one that the service made.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The state that all requests of one connection share.
pub(in crate::serve) struct ConnectionContext {
    pub(in crate::serve) app: SharedService,
    pub(in crate::serve) limits: Arc<ConnectionLimits>,
    pub(in crate::serve) peer: Peer,
    pub(in crate::serve) is_tls: bool,
    pub(in crate::serve) local: LocalAddr,
    pub(in crate::serve) remote: RemoteAddr,
    pub(in crate::serve) stop: watch::Receiver<bool>,
    pub(in crate::serve) slot: Arc<Slot>,
    /// Set when a request begins, until its answer does.
    pub(in crate::serve) begun: AtomicBool,
    /// The status with which hyper refused by itself; 0: it did not.
    pub(in crate::serve) refused: AtomicU16,
    /// Set if the answer was sent before the peer had sent everything.
    pub(in crate::serve) cut: AtomicBool,
}

impl ConnectionContext {
    pub(in crate::serve) async fn answer(
        &self,
        request: hyper::Request<Incoming>,
    ) -> hyper::Response<BoxBody<Bytes, io::Error>> {
        let in_progress = self.slot.begin();
        self.begun.store(true, Ordering::Relaxed);
        let (parts, incoming) = request.into_parts();
        let (version, is_head) = (parts.version, parts.method == Method::HEAD);
        let given = parts.headers.get(X_REQUEST_ID).map(HeaderValue::as_bytes);
        let id = given.and_then(RequestId::given).unwrap_or_else(RequestId::fresh);
        let what = || {
            let operation = request::operation().and_then(|it| self.app.traffic.name(it));
            format!("an answer of {}", operation.unwrap_or("a page"))
        };
        let answer = self.app.polls.watch(what, self.respond(parts, incoming));
        let mut response = request::answering(id, answer).await;
        response.headers_mut().insert(X_REQUEST_ID, header_value(id));
        let mut response = hyper::Response::from(response);
        if version == Version::HTTP_2 && is_head {
            http2::omit_body(&mut response);
        }
        response.map(|it| in_progress.until_complete(it))
    }

    async fn respond(&self, mut parts: Parts, incoming: Incoming) -> Response {
        let began = Instant::now();
        let version = parts.version;
        let expects_continue = parts.headers.contains_key(EXPECT);
        let early = self.refuse_early(&mut parts, &incoming);
        let (body, watch) = body::guard(incoming, &self.limits);
        let mut response = match early {
            Some(refused) => {
                drop(body);
                refused
            }
            None => self.call(parts, body).await,
        };
        let end = watch.end(expects_continue).await;
        if let End::Failed(fault) = end
            // An operation that succeeded without reading its body has still succeeded.
            && !response.status().is_success()
        {
            response = refuse_body(fault);
        }
        if end != End::Whole {
            self.cut.store(true, Ordering::Relaxed);
        }
        // HTTP/2 ends the request alone, and says in a frame of its own that the connection closes.
        if version < Version::HTTP_2 && (end != End::Whole || stopping(&self.stop)) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if self.is_tls {
            response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, ONLY_HTTPS);
        }
        self.app.traffic.count(request::operation(), response.status(), began.elapsed());
        response
    }

    fn refuse_early(&self, parts: &mut Parts, body: &Incoming) -> Option<Response> {
        let uri_bytes_max = self.limits.uri_bytes_max;
        if uri_bytes(&parts.uri) > uri_bytes_max {
            let message = format!("the request target is longer than {uri_bytes_max} bytes");
            return Some(kind::URI_TOO_LONG.respond(&message));
        }
        if self.limits.headers_max < parts.headers.len() {
            // Hyper counts those of HTTP/1.1 itself.
            let message = format!("the request has more than {} headers", self.limits.headers_max);
            return Some(kind::HEADERS_TOO_LARGE.respond(&message));
        }
        if let Some(refused) = refuse_host(parts, self.peer) {
            return Some(refused);
        }
        if body.size_hint().lower() > self.limits.body_bytes_max {
            return Some(refuse_body(Fault::TooLarge));
        }
        refuse_target(parts)
    }

    /// The application never sees HEAD: it answers a GET, and the body is omitted.
    async fn call(&self, mut parts: Parts, body: poem::Body) -> Response {
        if parts.method == Method::HEAD {
            parts.method = Method::GET;
        }
        parts.extensions.insert(self.peer);
        let (method, path) = (parts.method.clone(), parts.uri.clone());
        let scheme = if self.is_tls { Scheme::HTTPS } else { Scheme::HTTP };
        let parts: RequestParts = (parts, self.local.clone(), self.remote.clone(), scheme).into();
        match caught(self.app.endpoint.call(Request::from_parts(parts, body))).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_from_response() => error.into_response(),
            Ok(Err(error)) => respond_plainly(error.status()),
            Err(panic) => {
                let (path, panic) = (path.path(), words(panic.as_ref()));
                tracing::error!(
                    %method, path, panic, request_id = request::id().as_deref(),
                    "the handler of {method} {path} panicked"
                );
                respond_plainly(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }
}

/// Returns true from the stop on. A dropped sender is a stop too.
pub(in crate::serve) fn stopping(stop: &watch::Receiver<bool>) -> bool {
    *stop.borrow() || stop.has_changed().is_err()
}

fn header_value(id: RequestId) -> HeaderValue {
    HeaderValue::from_str(&id).expect("an id is visible ASCII")
}

fn refuse_body(fault: Fault) -> Response {
    match fault {
        Fault::Stalled => kind::REQUEST_TIMEOUT.respond("the request body did not arrive in time"),
        Fault::TooLarge => kind::TOO_LARGE.respond("the request body is too large"),
        Fault::Broken => invalid("the request body is malformed or was cut off"),
    }
}

fn invalid(message: &str) -> Response {
    kind::INVALID.respond(message)
}

/// Refuses requests from which a proxy could read another host than this service does.
fn refuse_host(parts: &Parts, peer: Peer) -> Option<Response> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let authority = parts.uri.authority().filter(|_| parts.version == Version::HTTP_2);
    match (hosts.next(), hosts.next()) {
        (None, _) if parts.version < Version::HTTP_11 => None,
        (None, _) if authority.is_some_and(|it| is_host(it.as_str().as_bytes())) => None,
        (Some(host), None) if authority.is_some_and(|it| it.as_str() != host) => {
            Some(invalid("the Host header and :authority differ"))
        }
        (None, _) => match peer {
            Peer::Tcp(_) => Some(invalid("a Host header is required")),
            Peer::Socket { .. } => None,
        },
        (Some(_), Some(_)) => Some(invalid("more than one Host header")),
        (Some(host), None) if is_host(host.as_bytes()) => None,
        (Some(_), None) => Some(invalid("the Host header is not a host and port")),
    }
}

/// Returns true for a name or address with an optional port, without user, path or spaces.
fn is_host(text: &[u8]) -> bool {
    let fits = |it: &u8| it.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:[]%".contains(it);
    !text.is_empty() && text.iter().all(fits)
}

/// Refuses or rewrites request targets, so that the application gets only paths.
fn refuse_target(parts: &mut Parts) -> Option<Response> {
    if parts.method == Method::CONNECT {
        let mut refused = respond_plainly(StatusCode::METHOD_NOT_ALLOWED);
        let allowed = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
        refused.headers_mut().insert(ALLOW, allowed);
        return Some(refused);
    }
    if parts.method == Method::OPTIONS && parts.uri.path() == "*" {
        return Some(StatusCode::NO_CONTENT.into());
    }
    if parts.uri.authority().is_some() {
        // `GET http://host/path` is the same as `GET /path`; `GET host:80` is invalid.
        let http = [Some("http"), Some("https")].contains(&parts.uri.scheme_str());
        let path = parts.uri.path_and_query().filter(|_| http).cloned();
        match path.map(Uri::from) {
            Some(path) => {
                name_host(parts);
                parts.uri = path;
            }
            None => return Some(invalid("the request target is not a path")),
        }
    }
    (!parts.uri.path().starts_with('/')).then(|| invalid("the request target is not a path"))
}

/// HTTP/2 names the host in the target alone: the application finds it in one place.
fn name_host(parts: &mut Parts) {
    let authority = parts.uri.authority().filter(|_| !parts.headers.contains_key(HOST));
    let host = authority.and_then(|it| HeaderValue::from_str(it.as_str()).ok());
    if let Some(host) = host {
        parts.headers.insert(HOST, host);
    }
}

fn uri_bytes(uri: &Uri) -> usize {
    let scheme = uri.scheme_str().map_or(0, |it| it.len() + "://".len());
    let authority = uri.authority().map_or(0, |it| it.as_str().len());
    scheme + authority + uri.path_and_query().map_or(0, |it| it.as_str().len())
}

/// The result of `future`, or what it panicked with.
async fn caught<T>(future: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(|context| {
        // A future that panicked is never polled again, so its broken state is never seen.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Err(panic).into(),
        }
    })
    .await
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown")
}
