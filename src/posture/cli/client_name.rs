//! Finds the client that a person names: by its id, or by its name. Of several whose names look the same, none is preferred.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::call::{Call, ServerSession, encoded, with_session};
use super::option::require_change;
use super::print;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::page::LIMIT_MAX;
use crate::text::did_you_mean;

/// Ids that the error about an ambiguous name lists.
const N_IDS_MAX: usize = 10;

/// The id of the client that is named. An id is taken as it is: the call that uses it finds out whether it exists.
///
/// # Errors
/// `NotFound` if no client has the name; `Conflict` if several have.
pub(super) async fn find(session: &ServerSession, named: &str) -> Result<ClientId> {
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let clients = of_name(session, named).await?;
    match &clients[..] {
        [] => Err(unknown(session, named).await?),
        [client] => print::cell(&client["id"]).parse(),
        several => Err(ambiguous(named, several)),
    }
}

/// [`find`], for each.
pub(super) async fn find_all(session: &ServerSession, named: &[String]) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for it in named {
        ids.push(find(session, it).await?.to_string());
    }
    Ok(ids)
}

/// Makes one call about the client that is named. `make`: the call, from the path of the client.
///
/// # Errors
/// As [`find`]; those of the call.
pub(super) fn call(
    options: &Config,
    named: &str,
    make: impl FnOnce(&str) -> Call,
) -> Result<Value> {
    with_session(options, async |session| {
        let client = path(session, named).await?;
        session.call(make(&client)).await
    })
}

/// All rows of a list of the client that is named. `rest`: the path of the list below that of the client.
///
/// # Errors
/// As [`call`].
pub(super) fn list(options: &Config, named: &str, rest: &str, limit: u32) -> Result<Vec<Value>> {
    with_session(options, async |session| {
        let client = path(session, named).await?;
        session.list(&format!("{client}/{rest}"), limit).await
    })
}

/// Adds what the body says for the clients that are named. None: for all clients.
///
/// # Errors
/// As [`call`].
pub(super) fn add(
    options: &Config,
    path: &str,
    mut body: Value,
    named: &[String],
) -> Result<Value> {
    with_session(options, async |session| {
        body["clientIds"] = json!(find_all(session, named).await?);
        session.call(Call::of("POST", path, &body)).await
    })
}

/// Changes what the body says, and the clients if any are named. `all` alone means all clients.
///
/// # Errors
/// As [`call`]; `Invalid` if there is nothing to change.
pub(super) async fn change(
    session: &ServerSession,
    path: &str,
    mut body: Value,
    named: &[String],
) -> Result<Value> {
    match named {
        [] => (),
        [all] if all == "all" => body["clientIds"] = json!([]),
        _ => body["clientIds"] = json!(find_all(session, named).await?),
    }
    session.call(Call::of("PATCH", path, &require_change(body)?)).await
}

/// The path of the client that is named.
///
/// # Errors
/// As [`find`].
pub(super) async fn path(session: &ServerSession, named: &str) -> Result<String> {
    Ok(format!("/api/clients/{}", find(session, named).await?))
}

/// A query parameter for a list that can be limited to one client, beginning with `&`. Empty if no client is named.
///
/// # Errors
/// As [`find`].
pub(super) async fn filter(session: &ServerSession, named: Option<&str>) -> Result<String> {
    match named {
        Some(it) => Ok(format!("&clientId={}", find(session, it).await?)),
        None => Ok(String::new()),
    }
}

/// The clients with this name, at most [`LIMIT_MAX`].
pub(super) async fn of_name(session: &ServerSession, name: &str) -> Result<Vec<Value>> {
    let path = format!("/api/clients?limit={LIMIT_MAX}&name={}", encoded(name));
    let answer = session.call(Call::get(path)).await?;
    Ok(print::rows(&answer["data"]).to_vec())
}

/// The names of all clients, by id.
pub(super) struct Names(HashMap<String, String>);

impl Names {
    /// With `--json` none are needed.
    pub(super) async fn unless_json(session: &ServerSession, json: bool) -> Result<Self> {
        let all = if json { Vec::new() } else { session.list("/api/clients", LIMIT_MAX).await? };
        let named = all.iter().map(|it| (print::cell(&it["id"]), print::cell(&it["name"])));
        Ok(Self(named.collect()))
    }

    /// The name of a client, or the id of one that is gone.
    pub(super) fn name(&self, id: &Value) -> String {
        let id = print::cell(id);
        self.0.get(&id).cloned().unwrap_or(id)
    }
}

fn ambiguous(named: &str, several: &[Value]) -> Error {
    let id = |it: &Value| format!("{} ({})", print::cell(&it["id"]), print::cell(&it["name"]));
    let ids: Vec<_> = several.iter().take(N_IDS_MAX).map(id).collect();
    let more = if ids.len() < several.len() { ", ..." } else { "" };
    let n = several.len();
    Error::conflict(format!(
        "{n} clients are named `{named}`, or look like it; pass the id of one of them: {}{more}",
        ids.join(", ")
    ))
}

async fn unknown(session: &ServerSession, wanted: &str) -> Result<Error> {
    let all = session.list("/api/clients", LIMIT_MAX).await?;
    let names: Vec<String> =
        all.iter().filter_map(|it| it["name"].as_str()).map(str::to_owned).collect();
    let hint = did_you_mean(wanted, &names)
        .unwrap_or_else(|| "`posture client list` shows all clients".to_owned());
    Ok(Error::not_found(format!("no client is named `{wanted}`; {hint}")))
}
