//! The page of one's own sessions.

use std::collections::BTreeMap;

use minijinja::Value;
use minijinja::value::Serde;
use poem::http::StatusCode;
use poem::{Request, Response};

use super::Console;
use super::call::find;
use super::page::{self, problem};
use super::session::{Gate, SESSIONS, act, enter, enter_with_form};
use crate::auth::console_session::session_id;
use crate::web::see_other;

/// `GET /me/sessions`
pub(super) async fn show(console: &Console, request: &Request) -> Response {
    let visit = match enter(console, request, Gate::Usual).await {
        Ok(visit) => visit,
        Err(instead) => return *instead,
    };
    let all = console.app.list_console_sessions(&visit.signed_in.user);
    let shown = all.iter().map(|it| {
        Value::from(BTreeMap::from([
            ("id", session_id(it)),
            ("begunAt", it.begun_at.to_string()),
            ("usedAt", it.used_at.to_string()),
            ("address", it.address.clone()),
            ("agent", it.agent.clone()),
            ("proof", it.proof.as_str().to_owned()),
        ]))
    });
    let mut model = page::model(console, &visit);
    model.insert("sessions", Value::from(shown.collect::<Vec<_>>()));
    let lists = page::list_links(SESSIONS, &visit, &["sessions"]);
    model.insert("lists", Value::from(Serde(lists)));
    page::render(console, "sessions", StatusCode::OK, &model)
}

/// `POST /me/sessions`: ends the one that the form names.
pub(super) async fn end(console: &Console, request: &mut Request) -> Response {
    let (visit, form) = match enter_with_form(console, request, Gate::Usual).await {
        Ok(entered) => entered,
        Err(instead) => return *instead,
    };
    let id = find(&form, "session").unwrap_or_default();
    let act = act(request, "POST /me/sessions");
    match console.app.end_console_session(&visit.signed_in.user, id, act).await {
        Ok(()) => see_other(SESSIONS),
        Err(error) => problem(console, Some(&visit), StatusCode::NOT_FOUND, error.message()),
    }
}
