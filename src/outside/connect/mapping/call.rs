//! Reads a tool: the streams of a mapping, one after another.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::apply::prune;
use super::reading::reading;
use super::{Answers, Auth, Base, Mapping, Pager, Stream, Window, WindowForm};
use crate::blocking;
use crate::clock::Time;
use crate::connect::call::{
    self, Answer, Api, Call, Cause, Collection, Dialect, TokenSource, Unread, encoded, said,
};
use crate::connect::reading::Reading;

/// What an operator entered, by name: the inputs of the mapping, and where the tool is.
pub type Entered = BTreeMap<String, String>;

/// Where the tool is, if it has regions.
pub const REGION: &str = "region";
/// Where the tool is, if it is the operator's own server.
pub const ORIGIN: &str = "origin";

pub const DIALECT: Dialect =
    Dialect { vendor: "the tool", is_throttling: |_| false, explain, explain_token };

/// All calls of a tool share its limit.
const PACE: &str = "tool";
/// Where tools say what is wrong.
const MESSAGES: [&str; 7] = [
    "/error_description",
    "/detail",
    "/message",
    "/error/message",
    "/errorMessage",
    "/error",
    "/resultCode",
];

/// How calls are authorized.
enum Access {
    Token(TokenSource),
    Header { name: String, value: String },
}

impl Access {
    fn auth(&self) -> call::Auth<'_> {
        match self {
            Self::Token(source) => call::Auth::Bearer(source),
            Self::Header { name, value } => call::Auth::Header(name, value),
        }
    }
}

/// Reads all streams of a mapping. Takes no longer than the API's deadline.
pub async fn read_tool(api: &Api, mapping: &Arc<Mapping>, entered: &Entered) -> Reading {
    let origin = origin(&mapping.base, entered);
    let access = origin.and_then(|origin| Ok((access(&mapping.auth, origin, entered)?, origin)));
    let (access, origin) = match access {
        Ok(found) => found,
        Err(unread) => return named(unread, mapping).reading(),
    };
    let (mut answers, mut streams) = (Answers::new(), Vec::new());
    for stream in &mapping.streams {
        let collection = collection(mapping, stream, origin, api.now());
        let read = api.read(&collection, &access.auth()).await;
        if let Some(unread) = &read.unread
            && unread.cause != Cause::Stream
            && answers.is_empty()
        {
            return named(unread.clone(), mapping).reading();
        }
        streams.push(read.stream(&stream.name));
        if let Some(mut rows) = read.complete() {
            prune(mapping, stream, &mut rows);
            answers.insert(stream.name.clone(), rows);
        }
    }
    let (mapping, at) = (Arc::clone(mapping), api.now());
    let work = move || Ok(reading(&mapping, &answers, streams, at));
    let judged = blocking::run((), work).await;
    judged.unwrap_or_else(|error| Unread::failed(error.message()).reading())
}

fn entered<'e>(entered: &'e Entered, name: &str) -> Result<&'e str, Unread> {
    let missing = || Unread::credential(format!("the setting {name} is missing"));
    entered.get(name).map(String::as_str).ok_or_else(missing)
}

fn origin<'e>(base: &'e Base, all: &'e Entered) -> Result<&'e str, Unread> {
    let regions = match base {
        Base::Own { .. } => return entered(all, ORIGIN),
        Base::Regions(regions) => regions,
    };
    let region = entered(all, REGION)?;
    let found = regions.iter().find(|(name, _)| name == region);
    let gone = || Unread::credential(format!("there is no region {region} any more"));
    found.map(|(_, origin)| origin.as_str()).ok_or_else(gone)
}

fn access(auth: &Auth, origin: &str, all: &Entered) -> Result<Access, Unread> {
    let entered = |name| entered(all, name);
    Ok(match auth {
        Auth::OauthClientCredentials { token_path, scope } => {
            let mut fields = vec![
                ("grant_type", "client_credentials"),
                ("client_id", entered("client_id")?),
                ("client_secret", entered("client_secret")?),
            ];
            fields.extend(scope.iter().map(|it| ("scope", it.as_str())));
            let call = Call::form(format!("{origin}{token_path}"), &fields);
            Access::Token(TokenSource::of(move |_| Ok(call.clone())))
        }
        Auth::OauthPassword { token_path, client_id, client_secret } => {
            let fields = [
                ("grant_type", "password"),
                ("username", entered("username")?),
                ("password", entered("password")?),
            ];
            let mut call = Call::form(format!("{origin}{token_path}"), &fields);
            call.headers.push(("authorization", basic(client_id, client_secret)));
            Access::Token(TokenSource::of(move |_| Ok(call.clone())))
        }
        Auth::Header { name } => {
            Access::Header { name: name.clone(), value: entered("key")?.to_owned() }
        }
        Auth::Basic => Access::Header {
            name: "authorization".to_owned(),
            value: basic(entered("username")?, entered("password")?),
        },
    })
}

fn basic(username: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{username}:{password}")))
}

fn collection<'m>(
    mapping: &Mapping,
    stream: &'m Stream,
    origin: &str,
    now: Time,
) -> Collection<'m> {
    let mut query: Vec<(&str, String)> =
        stream.query.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    query.extend(stream.page_size.iter().map(|it| (it.parameter.as_str(), it.n.to_string())));
    query.extend(stream.window.iter().map(|it| (it.parameter.as_str(), since(it, now))));
    let text = |it: &'m super::Pointer| Cow::Borrowed(it.as_str());
    let (pager, total) = match &stream.pager {
        Pager::None => (call::Pager::Whole, None),
        // Some tools give fewer rows than asked for, so that a short page is not the last one.
        Pager::AfterId { parameter, id } => {
            let parameter = Cow::Borrowed(parameter.as_str());
            (call::Pager::AfterRow { id_at: text(id), parameter, page_rows: 1 }, None)
        }
        Pager::NamedCursor { parameter, name, offset } => {
            let (at, offset_at) = (text(name), text(offset));
            let parameter = Cow::Borrowed(parameter.as_str());
            (call::Pager::Cursor { at, offset_at, parameter }, None)
        }
        Pager::NextUrl { next, total } => {
            (call::Pager::Link { at: text(next), letters: call::Letters::Exact }, total.as_ref())
        }
        Pager::PageNumber { parameter, first, total } => {
            query.push((parameter.as_str(), first.to_string()));
            let first = u64::from(*first);
            let parameter = Cow::Borrowed(parameter.as_str());
            (call::Pager::Count { parameter, first }, total.as_ref())
        }
    };
    let query: Vec<String> =
        query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let gap = Duration::from_secs(mapping.pace.per_s.into()) / mapping.pace.n_requests;
    let first = Call {
        headers: vec![("accept", "application/json".to_owned())],
        pace: call::Pace { class: PACE, gap },
        permission: Cow::Owned(stream.permission.clone()),
        ..Call::get(format!("{origin}{}{mark}{}", stream.path, query.join("&")))
    };
    let total_at = total.map(text);
    Collection { first, rows_at: text(&stream.rows), may_lack_rows: false, pager, total_at }
}

fn since(window: &Window, now: Time) -> String {
    let at = now.plus_days(-i64::from(window.days));
    match window.form {
        WindowForm::Date => at.to_string().chars().take("2026-11-23".len()).collect(),
        WindowForm::Rfc3339 => at.to_string(),
        WindowForm::S => at.s().to_string(),
        WindowForm::Ms => (at.micros() / 1_000).to_string(),
    }
}

/// Says which of the things that were entered may be wrong.
fn named(unread: Unread, mapping: &Mapping) -> Unread {
    if unread.cause != Cause::Credential {
        return unread;
    }
    let titles: Vec<&str> = mapping.inputs.iter().map(|it| it.title.as_str()).collect();
    let place = match mapping.base {
        Base::Regions(_) => REGION,
        Base::Own { .. } => ORIGIN,
    };
    let reason = format!(
        "{}; check {} and the {place}, and enter what is wrong again with `posture connect set`",
        unread.reason,
        titles.join(", ")
    );
    Unread { reason, ..unread }
}

/// What the tool says about an error.
fn message(answer: &Answer) -> String {
    let body = answer.error_json();
    let text = MESSAGES.iter().find_map(|at| body.pointer(at).and_then(Value::as_str));
    said(text.unwrap_or_default())
}

fn explain(answer: &Answer, permission: &str) -> Unread {
    let message = message(answer);
    match answer.status {
        401 => Unread::credential(format!("the tool does not accept the credential{message}")),
        403 => {
            let unread = Unread::denied(permission);
            Unread { reason: format!("{}{message}", unread.reason), ..unread }
        }
        404 => Unread::failed(format!("the tool has no such list at its address{message}")),
        300..=399 => Unread::failed(format!(
            "the tool sends this request to another address{}; check the setting {ORIGIN} or {REGION}",
            said(&answer.header("location"))
        )),
        status => Unread::failed(format!("the tool answered with status {status}{message}")),
    }
}

fn explain_token(answer: &Answer) -> Unread {
    let body = answer.error_json();
    let (error, message) = (body.get("error").and_then(Value::as_str), message(answer));
    match (answer.status, error.unwrap_or_default()) {
        (_, "invalid_scope") => {
            Unread::credential("the tool does not allow the scope that is needed; add it there")
        }
        (_, "unauthorized_client" | "unsupported_grant_type") => Unread::credential(
            "the tool does not let this app sign in with its own credentials; allow that grant type there",
        ),
        (404 | 300..=399, _) => {
            Unread::credential("there is no place to sign in at the tool's address")
        }
        (status, _) if 500 <= status => {
            Unread::failed(format!("the tool issued no token and answered with status {status}"))
        }
        _ => Unread::credential(format!("the tool does not accept the credential{message}")),
    }
}
