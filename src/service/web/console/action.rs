//! What a person does on a page: one operation of the API, and the page that follows.

use poem::http::StatusCode;
use poem::{Request, Response};
use serde_json::json;

use super::call::{Answer, Pairs, Sent, call, fill, refused};
use super::form::{self, Field};
use super::named::with_client_ids;
use super::page::{self, Shown};
use super::session::{FormPage, Gate, enter_with_form};
use super::tables::{Action, CHOSEN, KNOWN_FILE, Page, Sending, Then};
use super::visit::{Visit, parts};
use super::{Console, upload};
use crate::web::see_other;

/// How many objects may be chosen at once: as many as a page shows.
const N_CHOSEN_MAX: usize = 50;

/// Does what a form asks for. `page` is the one that the action names.
pub(super) async fn act(
    console: &Console,
    action: &Action,
    page: &Page,
    request: &mut Request,
) -> Response {
    let gate = Gate::guarded(action.is_guarded(page));
    let form_page = fill(action.page, &parts(request), &Pairs::new());
    request.extensions_mut().insert(FormPage(form_page));
    let called = match action.sent {
        Sending::File => upload::call_with_file(console, action, request, gate).await,
        Sending::Nothing | Sending::Fields(_) | Sending::Each(..) => {
            call_with_form(console, action, request, gate).await
        }
    };
    let (mut visit, form, answer) = match called {
        Ok(called) => called,
        Err(instead) => return *instead,
    };
    let error = answer.message();
    match &action.then {
        Then::To(target, _) if error.is_none() => {
            let made = &answer.body["data"];
            if let Some(id) = made["id"].as_str().or_else(|| made["import"]["id"].as_str()) {
                visit.parts.push(("new".to_owned(), id.to_owned()));
            }
            let done = if made["alreadyImported"] == true { KNOWN_FILE } else { action.name };
            let to = fill(target, &visit.parts, &visit.query);
            let sign = if to.contains('?') { '&' } else { '?' };
            see_other(&format!("{to}{sign}done={done}"))
        }
        Then::To(..) | Then::Show | Then::Tried => {
            visit.path = fill(action.page, &visit.parts, &form);
            visit.query.retain(|it| it.0 != "done");
            // What was done is not offered to be done again.
            let is_kept = error.is_some() || matches!(action.then, Then::Tried);
            let form = if is_kept { form } else { Pairs::new() };
            let shown = Shown { status: answer.status, error, form: &form, answer: &answer.body };
            let mut response = page::show(console, page, &visit, &shown).await;
            page::pass_on(&answer, &mut response);
            response
        }
    }
}

async fn call_with_form(
    console: &Console,
    action: &Action,
    request: &mut Request,
    gate: Gate,
) -> Result<(Visit, Pairs, Answer), Box<Response>> {
    let (visit, form) = enter_with_form(console, request, gate).await?;
    let answer = match action.sent {
        Sending::Fields(fields) => match with_client_ids(console, &visit, &form, fields).await {
            Ok(named) => {
                let sent = Sent::Json(form::body(&named, &visit.parts, fields));
                call_once(console, action, &visit, &visit.parts, &form, sent).await
            }
            Err(refused) => refused,
        },
        Sending::Each(names, fields) => {
            call_for_each(console, action, &visit, &form, (names, fields)).await
        }
        Sending::Nothing | Sending::File => {
            call_once(console, action, &visit, &visit.parts, &form, Sent::Nothing).await
        }
    };
    Ok((visit, form, answer))
}

async fn call_once(
    console: &Console,
    action: &Action,
    visit: &Visit,
    parts: &Pairs,
    form: &Pairs,
    sent: Sent,
) -> Answer {
    let target = fill(action.target, parts, form);
    call(&console.operations, &visit.caller, action.method.clone(), &target, sent).await
}

/// Calls the operation for each chosen object, up to the first one that it refuses; what was done before stays.
async fn call_for_each(
    console: &Console,
    action: &Action,
    visit: &Visit,
    form: &Pairs,
    (names, fields): (&[&str], &[Field]),
) -> Answer {
    let chosen: Vec<_> = form.iter().filter(|it| it.0 == CHOSEN).map(|it| &it.1).collect();
    if chosen.is_empty() {
        return refused(StatusCode::BAD_REQUEST, "Choose something first.");
    }
    if N_CHOSEN_MAX < chosen.len() {
        let message = format!("At most {N_CHOSEN_MAX} can be chosen at once. Nothing was done.");
        return refused(StatusCode::BAD_REQUEST, &message);
    }
    let mut last = refused(StatusCode::BAD_REQUEST, "");
    for (n_done, object) in chosen.iter().enumerate() {
        let mut parts = visit.parts.clone();
        let values = object.split('/').map(str::to_owned);
        parts.extend(names.iter().map(|it| (*it).to_owned()).zip(values));
        let sent = Sent::Json(form::body(form, &parts, fields));
        last = call_once(console, action, visit, &parts, form, sent).await;
        if let Some(message) = last.message() {
            let message = match n_done {
                0 => message.to_owned(),
                _ => format!("{n_done} of {} were done. The next was not: {message}", chosen.len()),
            };
            last.body = json!({ "error": { "message": message } });
            break;
        }
    }
    last
}
