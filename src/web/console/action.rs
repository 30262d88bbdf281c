//! What a person does on a page: one operation of the API, and the page that follows.

use poem::http::{Method, StatusCode, header};
use poem::{Request, Response};
use serde_json::Value;

use super::call::{Answer, Pairs, Sent, call, fill};
use super::form::{self, Field};
use super::page::{self, Page, Shown, see_other};
use super::session::{Gate, Visit, enter_with_form};
use super::{Console, upload};

/// What a form does.
pub(super) struct Action {
    /// Its name in addresses.
    pub(super) name: &'static str,
    /// Where the form is sent, with `:name` for the parts that are read.
    pub(super) path: &'static str,
    /// The path of the page that shows what went wrong.
    pub(super) page: &'static str,
    pub(super) method: Method,
    /// What is called; see [`fill`].
    pub(super) target: &'static str,
    pub(super) sent: Sending,
    pub(super) then: Then,
}

/// What an operation is sent.
pub(super) enum Sending {
    Nothing,
    Fields(&'static [Field]),
    /// The file of the form, as it is. The form's other fields are for the target.
    File,
}

/// What follows if the operation did what it was asked.
pub(super) enum Then {
    /// Another page; `:new` is the id of what was made. It says this.
    To(&'static str, &'static str),
    /// The page of the form with the answer: it has a secret that is shown once.
    Show,
}

/// Does what a form asks for. `page` is the one that the action names.
pub(super) async fn act(
    console: &Console,
    action: &Action,
    page: &Page,
    request: &mut Request,
) -> Response {
    let gate = if page.guarded { Gate::Confirmed } else { Gate::Usual };
    let called = match action.sent {
        Sending::File => upload::call_with_file(console, action, request, gate).await,
        Sending::Nothing | Sending::Fields(_) => {
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
            if let Some(id) = answer.body["data"]["id"].as_str() {
                visit.parts.push(("new".to_owned(), id.to_owned()));
            }
            let to = fill(target, &visit.parts, &form);
            let sign = if to.contains('?') { '&' } else { '?' };
            see_other(&format!("{to}{sign}done={}", action.name))
        }
        Then::To(..) | Then::Show => {
            visit.path = fill(action.page, &visit.parts, &form);
            visit.query.retain(|it| it.0 != "done");
            let shown = Shown { status: answer.status, error, form: &form, answer: &answer.body };
            let mut response = page::show(console, page, &visit, &shown).await;
            pass_on(&answer, &mut response);
            response
        }
    }
}

/// What a refusal says to programs, and that it is in the audit log.
fn pass_on(answer: &Answer, response: &mut Response) {
    if let Some(retry_after) = &answer.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, retry_after.clone());
    }
    if matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        response.extensions_mut().insert(crate::request::Noted);
    }
}

async fn call_with_form(
    console: &Console,
    action: &Action,
    request: &mut Request,
    gate: Gate,
) -> Result<(Visit, Pairs, Answer), Box<Response>> {
    let (visit, form) = enter_with_form(console, request, gate).await?;
    let sent = match action.sent {
        Sending::Fields(fields) => Sent::Json(form::body(&form, &visit.parts, fields)),
        Sending::Nothing | Sending::File => Sent::Nothing,
    };
    let target = fill(action.target, &visit.parts, &form);
    let method = action.method.clone();
    let answer = call(&console.operations, &visit.caller, method, &target, sent).await;
    Ok((visit, form, answer))
}

/// Stands for the answer of an action whose form was refused before an operation was called.
pub(super) fn refused(status: StatusCode, message: &str) -> Answer {
    let body: Value = serde_json::json!({ "error": { "message": message } });
    Answer { status, body, retry_after: None }
}
