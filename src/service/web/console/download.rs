//! Files that a page offers: answers of the API as they are, saved by the browser.

use poem::http::{HeaderName, Method, header};
use poem::{Request, Response};

use super::Console;
use super::call::{Sent, call_as_is, fill, read_answer};
use super::page::refusal;
use super::session::{Gate, enter};
use super::tables::Download;

/// What is passed on of an answer, beside its body.
const HEADERS: [HeaderName; 2] = [header::CONTENT_TYPE, header::CONTENT_DISPOSITION];

/// Sends a file, or the page that says why there is none.
pub(super) async fn send(console: &Console, file: &Download, request: &Request) -> Response {
    let visit = match enter(console, request, Gate::Usual).await {
        Ok(visit) => visit,
        Err(instead) => return *instead,
    };
    let target = fill(file.target, &visit.parts, &visit.query);
    let (operations, caller) = (&console.operations, &visit.caller);
    let mut answered = call_as_is(operations, caller, Method::GET, &target, Sent::Nothing).await;
    if !answered.status().is_success() {
        return refusal(console, Some(&visit), &read_answer(answered).await);
    }
    let mut response = Response::builder().body(answered.take_body());
    for name in HEADERS {
        if let Some(value) = answered.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    let save = poem::http::HeaderValue::from_static("attachment");
    response.headers_mut().entry(header::CONTENT_DISPOSITION).or_insert(save);
    response
}
