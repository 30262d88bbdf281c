//! What a person does on a page: one operation of the API, and the page that follows.

use poem::{Request, Response};

use super::call::{Answer, Pairs, Sent, call, fill};
use super::form;
use super::page::{self, Shown};
use super::session::{Gate, enter_with_form};
use super::tables::{Action, Page, Sending, Then};
use super::visit::Visit;
use super::{Console, upload};
use crate::web::see_other;

/// Does what a form asks for. `page` is the one that the action names.
pub(super) async fn act(
    console: &Console,
    action: &Action,
    page: &Page,
    request: &mut Request,
) -> Response {
    let gate = Gate::of(page);
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
    let sent = match action.sent {
        Sending::Fields(fields) => Sent::Json(form::body(&form, &visit.parts, fields)),
        Sending::Nothing | Sending::File => Sent::Nothing,
    };
    let target = fill(action.target, &visit.parts, &form);
    let method = action.method.clone();
    let answer = call(&console.operations, &visit.caller, method, &target, sent).await;
    Ok((visit, form, answer))
}
