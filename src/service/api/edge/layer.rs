//! What all answers have in common, and the few endpoints that are not operations.

use std::sync::Arc;

use poem::endpoint::{make, make_sync};
use poem::http::{HeaderValue, Method, StatusCode, header};
use poem::{Body, Endpoint, Middleware, Request, Response, RouteMethod, get};

use super::caller::{CallerSlot, Noted, client_address, web};
use super::compression::{accepts_gzip, compress, vary};
use super::exposition;
use super::metric::{Figures, MemoryUse, resident_bytes};
use super::metrics_token::MetricsAccess;
use super::operation::Operations;
use crate::api::Web;
use crate::api::wire::problem;
use crate::auth::limit::{Standing, UNLIMITED, WINDOWS_S};
use crate::auth::network::is_of_this_machine;
use crate::error::{Error, Result};
use crate::peer::Peer;
use crate::request;
use crate::store::global::audit::{Act, AuditOutcome, PendingAct};

/// Wraps all endpoints in an [`Edge`].
pub struct AtTheEdge {
    pub operations: Operations,
    pub web: Arc<Web>,
}

impl<E: Endpoint<Output = Response>> Middleware<E> for AtTheEdge {
    type Output = Edge<E>;

    fn transform(&self, inner: E) -> Edge<E> {
        Edge { inner, operations: self.operations.clone(), web: Arc::clone(&self.web) }
    }
}

/// All endpoints, with what all answers have in common.
pub struct Edge<E> {
    inner: E,
    operations: Operations,
    web: Arc<Web>,
}

impl<E: Endpoint<Output = Response>> Endpoint for Edge<E> {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        if !self.web.app.is_current() && !OF_THIS_PROCESS.contains(&request.uri().path()) {
            // Not even from memory: another node may have changed what it shows.
            return Ok(problem::respond(&Error::unavailable(NOT_CURRENT)));
        }
        let edge = (&self.operations, self.web.as_ref());
        let operation = self.operations.number(request.method(), request.uri().path());
        operation.inspect(|it| request::note_operation(*it));
        let slot = CallerSlot::of(operation);
        request.extensions_mut().insert(slot.clone());
        if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
            return finish(edge, &self.inner, request, slot, None).await;
        }
        let path = request.uri().path().to_owned();
        let address = client_address(&request, &self.web);
        let act = PendingAct::new(Act {
            at: self.web.app.clock.now(),
            address: address.shown(),
            action: self.operations.action(request.method(), &path),
            about: path,
            ..Act::default()
        });
        request.extensions_mut().insert(act.clone());
        finish(edge, &self.inner, request, slot, Some(act)).await
    }
}

/// What says something of the process and not of its data.
const OF_THIS_PROCESS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];
const NOT_CURRENT: &str =
    "the database server does not answer, or another node has taken over; try again later";

/// Records the outcome for the audit log, and adds headers to the answer.
async fn finish(
    (operations, web): (&Operations, &Web),
    inner: &impl Endpoint<Output = Response>,
    request: Request,
    slot: CallerSlot,
    act: Option<PendingAct>,
) -> poem::Result<Response> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let address = client_address(&request, web);
    let conditional = matches!(method, Method::GET | Method::HEAD);
    let accepts_gzip = accepts_gzip(request.headers());
    let known = request.headers().get(header::IF_NONE_MATCH).cloned().filter(|_| conditional);
    let mut response = inner.call(request).await?;
    let is_compressed = method == Method::GET && vary(&mut response) && accepts_gzip;
    if let Some(known) = known
        && response.status() == StatusCode::OK
        && response.headers().get(header::ETAG).is_some_and(|it| names(&known, it))
    {
        response.set_status(StatusCode::NOT_MODIFIED);
        response.set_body(());
        response.headers_mut().remove(header::CONTENT_TYPE);
    }
    let Noted { standing, caller } = slot.take();
    let is_noted = response.extensions().get::<request::Noted>().is_some();
    let outcome = counted_outcome(response.status(), &method, &path);
    if let Some(outcome) = outcome.filter(|_| !is_noted) {
        let named = act.as_ref().map(PendingAct::action);
        let action = named.unwrap_or_else(|| operations.action(&method, &path));
        let about = act.map(|it| it.subject()).filter(|it| *it != path).unwrap_or_default();
        let act = Act { action, about, ..Act::default() };
        match caller {
            None => web.app.tally_unauthenticated(address, act, outcome),
            Some(it) => {
                let (by, address) = (it.name(), address.shown());
                web.app.tally(Act { by, address, ..act }, outcome);
            }
        }
    }
    if response.status() == StatusCode::UNAUTHORIZED && path.starts_with(VERSIONED) {
        let scheme = HeaderValue::from_static("ApiKey header=\"X-API-Key\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    let headers = response.headers_mut();
    if let Some(standing) = standing {
        put_limits(headers, &standing);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let value = operations.allow(&path).unwrap_or(HeaderValue::from_static("GET, HEAD"));
        response.headers_mut().insert(header::ALLOW, value);
    }
    if is_compressed && response.status() == StatusCode::OK {
        compress(&mut response);
    }
    Ok(response)
}

/// Integrators push many writes here, so the audit log counts them instead of recording each.
const VERSIONED: &str = "/api/v1/";
const LOGIN: &str = "/auth/login";

/// The outcomes that the audit log counts: denied requests, and pushes.
fn counted_outcome(status: StatusCode, method: &Method, path: &str) -> Option<AuditOutcome> {
    let is_refusal = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        || (status == StatusCode::TOO_MANY_REQUESTS && path == LOGIN);
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let is_push = status.is_success() && !is_read && path.starts_with(VERSIONED);
    if is_refusal {
        return Some(AuditOutcome::Refused(status.as_u16()));
    }
    is_push.then_some(AuditOutcome::Done)
}

/// Returns true if `If-None-Match` names this tag, in its weak or its strong form.
fn names(known: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(known), Ok(etag)) = (known.to_str(), etag.to_str()) else { return false };
    let opaque = |it: &str| it.trim().trim_start_matches("W/").to_owned();
    known.split(',').map(opaque).any(|it| it == "*" || it == opaque(etag))
}

fn put_limits(headers: &mut poem::http::HeaderMap, standing: &Standing) {
    headers.insert("RateLimit-Limit", standing.limit.into());
    headers.insert("RateLimit-Remaining", standing.remaining.into());
    headers.insert("RateLimit-Reset", standing.reset_s.into());
    let limited = standing.quota.iter().zip(WINDOWS_S).filter(|(limit, _)| **limit != UNLIMITED);
    let policy = limited.map(|(limit, s)| format!("{limit};w={s}"));
    let policy = policy.collect::<Vec<_>>().join(", ");
    let policy = HeaderValue::from_str(&policy).expect("digits and punctuation are visible");
    headers.insert("RateLimit-Policy", policy);
}

/// Always answers the same text.
pub fn static_text<T: Into<Body>>(
    content_type: &'static str,
    text: impl Fn() -> T + Send + Sync + 'static,
) -> RouteMethod {
    get(make_sync(move |_| {
        Response::builder()
            .content_type(content_type)
            .header(header::CACHE_CONTROL, "no-cache")
            .body(text())
    }))
}

/// Answers if the process is running.
pub fn health() -> RouteMethod {
    static_text("application/json", || r#"{"data":{"status":"ok"}}"#)
}

/// Answers whether requests can be served. They can while the disk is too full for writes, because reads still work.
pub fn ready() -> RouteMethod {
    get(make_sync(|request: Request| readiness(web(&request))))
}

fn readiness(web: &Web) -> Response {
    if web.app.health().ready {
        return Response::builder()
            .content_type(crate::api::wire::reply::JSON)
            .body(r#"{"data":{"status":"ready"}}"#);
    }
    problem::respond(&Error::unavailable("the database does not accept writes"))
}

/// The metrics, for loopback, the control socket, and whoever has the token.
pub fn metrics() -> RouteMethod {
    get(make(async |request: Request| show_metrics(&request).await))
}

async fn show_metrics(request: &Request) -> Response {
    if let Err(refused) = require_scraper(request, &web(request).metrics_access) {
        return problem::respond(&refused);
    }
    exposition::respond(metrics_text(web(request)).await, request.headers())
}

/// # Errors
/// `NotFound` or `Unauthenticated` if the metrics are not for this caller.
pub fn require_scraper(request: &Request, access: &MetricsAccess) -> Result<()> {
    let is_local = match request.data::<Peer>() {
        Some(Peer::Tcp(peer)) => {
            !access.has_unknown_proxy
                && is_of_this_machine(peer.ip(), request.version(), request.headers())
        }
        Some(Peer::Socket { .. }) => true,
        None => false,
    };
    if is_local {
        return Ok(());
    }
    let token = access.token.as_ref().ok_or_else(|| Error::not_found("path not found"))?;
    let given = request.header(header::AUTHORIZATION);
    if given.and_then(|it| it.strip_prefix("Bearer ")).is_some_and(|it| token.is(it)) {
        return Ok(());
    }
    let rule = "send the token of server.metrics_token_file as Authorization: Bearer";
    Err(Error::unauthenticated(rule))
}

async fn metrics_text(web: &Web) -> String {
    let memory = MemoryUse {
        resident: resident_bytes(),
        store: web.app.store_memory(),
        answers: web.cache.n_bytes(),
    };
    web.metrics.text(&Figures {
        health: web.app.health(),
        n_clients: web.app.clients.directory.list().len() as u64,
        database_bytes: web.app.database_bytes(),
        node: web.app.node(),
        clock_ahead_s: web.app.clock_ahead_s(),
        memory,
        deliveries: web.app.delivery_health().await.ok(),
        certificate: web.app.certificate_health(),
        connections: web.app.connection_figures().await.ok(),
        backups: web.app.backup_state().await.ok(),
        scans: web.app.scan_figures(),
        intake: web.app.intake_figures(),
        watch: web.app.watch_figures(),
    })
}
