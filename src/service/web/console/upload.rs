//! Forms with a file. The file goes to the operation while it arrives, so that it is never whole in memory.

use poem::http::StatusCode;
use poem::web::{Field, Multipart};
use poem::{Body, FromRequest, Request, RequestBody, Response};
use tokio::io::AsyncReadExt;

use super::Console;
use super::call::{Answer, Pairs, Sent, call, fill, refused};
use super::page::problem;
use super::session::{Gate, OLD_FORM, enter, has_token, require_own_form};
use super::tables::Action;
use super::visit::Visit;

/// A form with more fields before its file is refused.
const N_FIELDS_MAX: usize = 20;
/// A longer field is refused.
const FIELD_BYTES_MAX: u64 = 64 * 1024;
/// The field that has the file. It is the last one.
const FILE: &str = "file";
/// What the file is called, for the target.
const FILE_NAME: &str = "fileName";

const NO_FILE: &str = "Choose a file first.";

/// What operations say about options of the command, and what the page has in place of them. The first that fits counts.
const IN_WORDS_OF_PAGES: [(&str, &str); 6] = [
    (
        "If the file shows the current state, repeat with --observed-at now",
        "If it shows the present state, check “The file shows the present state” and import it again",
    ),
    (
        "repeat with --observed-at and that time, or with --observed-at now if it shows the current state",
        "if it shows the present state, check “The file shows the present state” and import it again",
    ),
    (
        "repeat with --bind (bind=true)",
        "check “The tenants and accounts in the file are this client’s” under “More choices” and import it again",
    ),
    (
        "repeat with --source and a name for it",
        "enter a name for it in “Name of the source” under “More choices”",
    ),
    ("pass --format with one of", "set “Format” under “More choices” to one of"),
    ("pass --format", "set “Format” under “More choices” to"),
];

/// Calls the operation of an action with the file of the form.
///
/// # Errors
/// What to answer instead, if the form is not one of this session's pages.
pub(super) async fn call_with_file(
    console: &Console,
    action: &Action,
    request: &mut Request,
    gate: Gate,
) -> Result<(Visit, Pairs, Answer), Box<Response>> {
    let visit = enter(console, request, gate).await?;
    let refuse = |status, message| Box::new(problem(console, Some(&visit), status, message));
    require_own_form(console, request, visit.way, Some(&visit))?;
    let mut body = RequestBody::new(request.take_body());
    let broken = || {
        refuse(
            StatusCode::BAD_REQUEST,
            "The form is not one with a file, or it broke off on the way.",
        )
    };
    let mut parts = Multipart::from_request(request, &mut body).await.map_err(|_| broken())?;
    let mut form = Pairs::new();
    loop {
        let Some(part) = parts.next_field().await.map_err(|_| broken())? else {
            return Ok((visit, form, refused(StatusCode::BAD_REQUEST, NO_FILE)));
        };
        let name = part.name().unwrap_or_default().to_owned();
        if name != FILE {
            let value = text(part).await.ok_or_else(broken)?;
            form.push((name, value));
            if N_FIELDS_MAX < form.len() {
                return Err(broken());
            }
            continue;
        }
        if !has_token(&visit, &form) {
            return Err(refuse(StatusCode::FORBIDDEN, OLD_FORM));
        }
        let Some(file_name) = part.file_name().filter(|it| !it.is_empty()).map(str::to_owned)
        else {
            return Ok((visit, form, refused(StatusCode::BAD_REQUEST, NO_FILE)));
        };
        form.push((FILE_NAME.to_owned(), file_name));
        let target = fill(action.target, &visit.parts, &form);
        let sent = Sent::File(Body::from_async_read(part.into_async_read()));
        let method = action.method.clone();
        let mut answer = call(&console.operations, &visit.caller, method, &target, sent).await;
        if let Some(message) = answer.body.pointer_mut("/error/message") {
            *message = in_words_of_pages(message.as_str().unwrap_or_default()).into();
        }
        return Ok((visit, form, answer));
    }
}

fn in_words_of_pages(message: &str) -> String {
    let found = IN_WORDS_OF_PAGES.iter().find(|it| message.contains(it.0));
    found.map_or_else(|| message.to_owned(), |it| message.replace(it.0, it.1))
}

/// The text of a field. `None`: it is too long, no text, or it broke off.
async fn text(field: Field) -> Option<String> {
    let mut text = String::new();
    let mut read = field.into_async_read().take(FIELD_BYTES_MAX + 1);
    read.read_to_string(&mut text).await.ok()?;
    (text.len() as u64 <= FIELD_BYTES_MAX).then_some(text)
}
