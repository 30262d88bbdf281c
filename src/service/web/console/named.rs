//! Clients that a person names in a form. The operations take their ids.

use poem::http::{Method, StatusCode};

use super::Console;
use super::call::{Answer, Pairs, Sent, call, refused, with_query};
use super::form::{Field, Kind};
use super::visit::Visit;
use crate::app::decision::client::NAME_CHARS_MAX;
use crate::blocking;
use crate::page::LIMIT_MAX;
use crate::store::global::user::Role;
use crate::text::did_you_mean;

/// So many clients are looked up by name: each look-up counts against the limit of requests of whom it is for.
const N_NAMED_MAX: usize = 20;
/// So many lists of [`LIMIT_MAX`] clients are searched for a name like a wrong one.
const N_LISTS_MAX: u32 = 10;

/// The form with the ids of clients in place of their names.
///
/// # Errors
/// The answer to a form with a name that does not lead to one client.
pub(super) async fn with_client_ids(
    console: &Console,
    visit: &Visit,
    form: &Pairs,
    fields: &[Field],
) -> Result<Pairs, Answer> {
    let mut form = form.clone();
    if visit.signed_in.user.role == Role::Viewer {
        return Ok(form); // The operation refuses it; nothing is looked up for that.
    }
    for (name, value) in &mut form {
        let Some(label) = fields.iter().filter(|it| it.0 == name).find_map(label) else { continue };
        let wrong = |why: &str| refused(StatusCode::BAD_REQUEST, &format!("{label}: {why}"));
        let (mut ids, mut n_named) = (Vec::new(), 0);
        for line in value.lines().map(str::trim).filter(|it| !it.is_empty()) {
            if uuid::Uuid::try_parse(line).is_ok() {
                ids.push(line.to_owned());
                continue;
            }
            n_named += 1;
            if N_NAMED_MAX < n_named {
                let why =
                    format!("at most {N_NAMED_MAX} names are looked up; use ids for the others");
                return Err(wrong(&why));
            }
            if NAME_CHARS_MAX < line.chars().count() {
                let why = format!("no client has a name of more than {NAME_CHARS_MAX} characters");
                return Err(wrong(&why));
            }
            match found(console, visit, line).await? {
                Found::One(id) => ids.push(id),
                Found::None(hint) => {
                    return Err(wrong(&format!("no client has the name or id `{line}`{hint}")));
                }
                Found::Several => {
                    return Err(wrong(&format!(
                        "several clients are named `{line}`, or look like it; use the id of one"
                    )));
                }
            }
        }
        *value = ids.join("\n");
    }
    Ok(form)
}

/// What pages call a field with clients.
fn label(field: &Field) -> Option<&'static str> {
    if matches!(field.1, Kind::Clients | Kind::ClientsIfAny) {
        return Some("Only these clients");
    }
    matches!(field.1, Kind::Client).then_some("Client")
}

/// Whom a name leads to, of those that the user may see.
enum Found {
    /// The client with this id.
    One(String),
    /// Nobody. With names like it, as the end of a sentence.
    None(String),
    Several,
}

async fn found(console: &Console, visit: &Visit, name: &str) -> Result<Found, Answer> {
    let mut clients = clients(console, visit, &[("name", name)]).await?.0;
    match &mut *clients {
        [] => Ok(Found::None(hint(console, visit, name).await?)),
        [(_, id)] => Ok(Found::One(std::mem::take(id))),
        _ => Ok(Found::Several),
    }
}

/// Names like a wrong one, as the end of a sentence. Empty if there are none.
async fn hint(console: &Console, visit: &Visit, wrong: &str) -> Result<String, Answer> {
    let mut known = Vec::new();
    for n_before in (0..N_LISTS_MAX).map(|it| (it * LIMIT_MAX).to_string()) {
        let (some, is_last) = clients(console, visit, &[("offset", n_before.as_str())]).await?;
        known.extend(some.into_iter().map(|it| it.0));
        if is_last {
            break;
        }
    }
    let wrong = wrong.to_owned();
    let near = blocking::run((), move || Ok(did_you_mean(&wrong, &known))).await.ok().flatten();
    Ok(near.map_or_else(String::new, |it| format!("; {it}")))
}

/// Names and ids of clients, and whether the list ends with them.
async fn clients(
    console: &Console,
    visit: &Visit,
    which: &[(&str, &str)],
) -> Result<(Vec<(String, String)>, bool), Answer> {
    let limit = LIMIT_MAX.to_string();
    let query = which.iter().copied().chain([("limit", &*limit)]);
    let target = with_query("/api/clients".to_owned(), query);
    let operations = &console.operations;
    let answer = call(operations, &visit.caller, Method::GET, &target, Sent::Nothing).await;
    if answer.message().is_some() {
        return Err(answer);
    }
    let text = |it: &serde_json::Value| it.as_str().unwrap_or_default().to_owned();
    let rows = answer.body["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_last = rows.len() < LIMIT_MAX as usize;
    Ok((rows.iter().map(|it| (text(&it["name"]), text(&it["id"]))).collect(), is_last))
}
