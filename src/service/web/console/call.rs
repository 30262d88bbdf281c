//! Calls of the API in the name of who is signed in. They have the same rights, limits and audit entries as from outside.

use std::sync::Arc;

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use poem::http::{HeaderValue, Method, StatusCode, Uri, header};
use poem::{Body, Endpoint, Request, Response};
use serde_json::{Value, json};

use super::Answering;
use crate::app::access::console_session::SignedIn;
use crate::auth::caller::{self, Principal};
use crate::blocking;
use crate::peer::Peer;
use crate::request::{self, RequestId};
use crate::store::AccountKey;
use crate::store::global::console_session::Proof;

const JSON: &str = "application/json";

/// In whose name operations are called, and from where.
#[derive(Clone)]
pub(super) struct Caller {
    principal: Principal,
    proof: Proof,
    peer: Option<Peer>,
    forwarded: Vec<HeaderValue>,
}

impl Caller {
    /// The user as the one who sent this request.
    pub(super) fn of(signed_in: &SignedIn, request: &Request) -> Self {
        let principal = Principal::User(Arc::clone(&signed_in.user));
        let forwarded = request.headers().get_all("X-Forwarded-For").iter().cloned().collect();
        let proof = signed_in.session.proof;
        Self { principal, proof, peer: request.data::<Peer>().copied(), forwarded }
    }

    /// What limits on work at the same time tell users apart by.
    pub(super) fn account(&self) -> Option<AccountKey> {
        caller::Caller::new(self.principal.clone()).account().key()
    }
}

/// What is sent with a call.
pub(super) enum Sent {
    Nothing,
    Json(Value),
    /// A file as it is.
    File(Body),
}

/// What an operation answered.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Value,
    /// When it may be called again, as the header has it.
    pub(super) retry_after: Option<HeaderValue>,
}

impl Answer {
    /// What is wrong, as the operation says it. `None` if nothing is.
    pub(super) fn message(&self) -> Option<&str> {
        if self.status.is_success() {
            return None;
        }
        Some(
            self.body["error"]["message"]
                .as_str()
                .unwrap_or("The service did not answer as it should."),
        )
    }
}

/// Calls an operation. `target` is its path and query.
pub(super) async fn call(
    operations: &Answering,
    by: &Caller,
    method: Method,
    target: &str,
    sent: Sent,
) -> Answer {
    read_answer(call_as_is(operations, by, method, target, sent).await).await
}

/// [`call`], with the answer as it is.
pub(super) async fn call_as_is(
    operations: &Answering,
    by: &Caller,
    method: Method,
    target: &str,
    sent: Sent,
) -> Response {
    // Where a form puts much into the address, it may be no address any more.
    let Ok(uri) = target.parse::<Uri>() else { return too_long() };
    let request = Request::builder().method(method).uri(uri);
    let mut request = request.extension(by.principal.clone()).extension(by.proof);
    if let Some(peer) = by.peer {
        request = request.extension(peer);
    }
    for hop in &by.forwarded {
        request = request.header("X-Forwarded-For", hop);
    }
    let request = match sent {
        Sent::Nothing => request.finish(),
        Sent::Json(body) => request.content_type(JSON).body(body.to_string()),
        Sent::File(body) => request.content_type("application/octet-stream").body(body),
    };
    // The operation is noted for a request of its own: the one that a person sent is counted as a page.
    let id = request::id().unwrap_or_else(RequestId::fresh);
    let answered = request::answering(id, operations.call(request)).await;
    answered.unwrap_or_else(poem::Error::into_response)
}

/// Reads the JSON of an answer.
pub(super) async fn read_answer(mut answered: Response) -> Answer {
    let status = answered.status();
    let retry_after = answered.headers().get(header::RETRY_AFTER).cloned();
    let Ok(bytes) = answered.take_body().into_bytes().await else { return broken() };
    // A long answer takes too long for an async thread.
    match blocking::run((), move || Ok(parse(&bytes))).await {
        Ok(Some(body)) => Answer { status, body, retry_after },
        Ok(None) | Err(_) => broken(),
    }
}

fn parse(bytes: &Bytes) -> Option<Value> {
    if bytes.is_empty() { Some(Value::Null) } else { serde_json::from_slice(bytes).ok() }
}

/// Stands for the answer of an operation that was not called, because of what is wrong with its form.
pub(super) fn refused(status: StatusCode, message: &str) -> Answer {
    let body = json!({ "error": { "message": message } });
    Answer { status, body, retry_after: None }
}

/// Stands for the answer of an operation whose address would be longer than addresses can be.
fn too_long() -> Response {
    let body = json!({ "error": { "message": "what you entered is too long; shorten it" } });
    Response::builder().status(StatusCode::BAD_REQUEST).content_type(JSON).body(body.to_string())
}

/// Stands for an answer that broke off, as when the process is stopping.
pub(super) fn broken() -> Answer {
    Answer { status: StatusCode::SERVICE_UNAVAILABLE, body: Value::Null, retry_after: None }
}

/// Fills in a target: `:name` is a part of the page's path, `?name` what its query says, `?name=word` the word if the query
/// does not have the name, `?name=:word` then the part. A parameter without a value is left out.
pub(super) fn fill(template: &str, parts: &Pairs, query: &Pairs) -> String {
    let (path, parameters) = template.split_once('?').unwrap_or((template, ""));
    let segments = path.split('/').map(|it| match it.strip_prefix(':') {
        Some(name) => encoded(find(parts, name).unwrap_or_default()),
        None => it.to_owned(),
    });
    let target = segments.collect::<Vec<_>>().join("/");
    let given = parameters.split('&').filter_map(|it| {
        let (name, value) = it.split_once('=')?;
        let value = match (value.strip_prefix('?'), value.strip_prefix(':')) {
            (Some(asked), _) => {
                let (asked, default) = match asked.split_once('=') {
                    Some((asked, default)) => (asked, Some(default)),
                    None => (asked, None),
                };
                let default = default.and_then(|it| match it.strip_prefix(':') {
                    Some(part) => find(parts, part),
                    None => Some(it),
                });
                find(query, asked).or(default).filter(|it| !it.is_empty())?
            }
            (None, Some(part)) => find(parts, part)?,
            (None, None) => value,
        };
        Some((name, value))
    });
    with_query(target, given)
}

/// An address with a query, if it has one.
pub(super) fn with_query<'a>(
    path: String,
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let given: Vec<_> = pairs.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if given.is_empty() { path } else { format!("{path}?{}", given.join("&")) }
}

/// Names and values, as a path, a query or a form has them.
pub(super) type Pairs = Vec<(String, String)>;

/// The first value of this name.
pub(super) fn find<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
}

/// What is encoded in a part of an address: all but what RFC 3986 calls unreserved.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, &RESERVED).to_string()
}
