//! A page: what it reads from the API, and the template that shows it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use poem::http::{HeaderValue, Method, StatusCode, header};
use poem::{IntoResponse, Response};

use super::Console;
use super::call::{Answer, Pairs, Sent, call, fill, find, with_query};
use super::tables::{self, Need, Page, Read};
use super::visit::Visit;
use super::way::Refusal;
use crate::auth::console_session::session_id;
use crate::blocking;
use crate::store::global::user::Role;
use crate::web::asset::HTML;

/// A page may load only from this service, and runs nothing that is written in it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// What a page shows beside what it reads.
pub(super) struct Shown<'a> {
    pub(super) status: StatusCode,
    /// What is wrong with what the person sent.
    pub(super) error: Option<&'a str>,
    /// What the person sent.
    pub(super) form: &'a Pairs,
    /// What the operation answered that the person called.
    pub(super) answer: &'a serde_json::Value,
}

impl Shown<'_> {
    /// Nothing was sent.
    pub(super) const PLAIN: Shown<'static> = Shown {
        status: StatusCode::OK,
        error: None,
        form: &Pairs::new(),
        answer: &serde_json::Value::Null,
    };
}

/// What a template finds by names.
pub(super) type Model = BTreeMap<&'static str, Value>;

/// Shows a page.
pub(super) async fn show(
    console: &Console,
    page: &Page,
    visit: &Visit,
    shown: &Shown<'_>,
) -> Response {
    let has = |name| find(&visit.query, name).is_some_and(|it| !it.is_empty());
    let is_asked = |it: &&Read| match it.need {
        Need::IfAsked(name) => has(name),
        Need::Always | Need::IfThere => true,
    };
    let reads = page.reads.iter().filter(is_asked);
    let answers = join_all(reads.clone().map(|it| {
        let target = fill(it.target, &visit.parts, &visit.query);
        async move {
            call(&console.operations, &visit.caller, Method::GET, &target, Sent::Nothing).await
        }
    }));
    let answers = answers.await;
    let is_wrong = |(read, answer): &(&Read, &Answer)| match read.need {
        Need::IfThere => !matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::CONFLICT),
        Need::Always | Need::IfAsked(_) => true,
    } && answer.message().is_some();
    if let Some((_, refused)) = reads.clone().zip(&answers).find(is_wrong) {
        return refusal(console, Some(visit), refused);
    }
    let mut model = model(console, visit);
    for it in page.reads {
        model.insert(it.name, Value::from(()));
    }
    let read = reads.zip(answers).filter(|it| it.1.message().is_none());
    let (found, bodies): (Vec<_>, Vec<_>) = read.map(|it| (it.0.name, it.1.body)).unzip();
    model.insert("lists", Value::from(Serde(list_links(page.path, visit, &found))));
    model.insert("error", Value::from(Serde(shown.error)));
    let mut sent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in shown.form {
        sent.entry(name).or_default().push(value);
    }
    let form: BTreeMap<_, _> = sent.iter().map(|(name, all)| (*name, all.last())).collect();
    model.insert("sent", Value::from(Serde(&sent)));
    model.insert("form", Value::from(Serde(form)));
    model.insert("answer", Value::from(Serde(shown.answer)));
    // A page with many rows takes too long for an async thread.
    let (templates, template) = (Arc::clone(&console.templates), page.template);
    let fill_in = move || {
        model.extend(found.into_iter().zip(bodies.into_iter().map(|it| Value::from(Serde(it)))));
        Ok(write(&templates, template, &model))
    };
    match blocking::run((), fill_in).await {
        Ok(written) => answer_with(template, shown.status, written),
        Err(error) => {
            problem(console, Some(visit), StatusCode::SERVICE_UNAVAILABLE, error.message())
        }
    }
}

/// Where the lists of a page are as files, as it is filtered, and what it calls them. `found`: the answers that it has.
pub(super) fn list_links(page: &str, visit: &Visit, found: &[&str]) -> Vec<(String, &'static str)> {
    let path = fill(page, &visit.parts, &Pairs::new());
    let filters = visit.query.iter().filter(|it| tables::is_filter(&it.0));
    let filters = filters.map(|(name, value)| (name.as_str(), value.as_str()));
    let address = |read| with_query(format!("{path}/csv/{read}"), filters.clone());
    let lists = tables::lists().filter(|it| it.page == page && found.contains(&it.read));
    lists.map(|it| (address(it.read), it.title)).collect()
}

/// What every page of somebody who is signed in has.
pub(super) fn model(console: &Console, visit: &Visit) -> Model {
    let user = &visit.signed_in.user;
    let pairs = |it: &Pairs| Value::from(it.iter().cloned().collect::<BTreeMap<_, _>>());
    let done = find(&visit.query, "done").and_then(tables::done);
    let mut model = bare(console);
    model.extend([
        // As entries of the audit log and decisions name the user.
        ("me", Value::from(user.email.clone())),
        ("role", Value::from(user.role.as_str())),
        ("is_admin", Value::from(Role::Admin <= user.role)),
        ("token", Value::from(visit.secret.form_token())),
        ("path", Value::from(visit.path.clone())),
        ("query", pairs(&visit.query)),
        ("at", pairs(&visit.parts)),
        ("done", Value::from(Serde(done))),
        ("session", Value::from(session_id(&visit.signed_in.session))),
    ]);
    model
}

/// What a page has that is shown to anyone.
pub(super) fn bare(console: &Console) -> Model {
    let empty = || Value::from(BTreeMap::<String, String>::new());
    BTreeMap::from([
        ("now", Value::from(console.app.clock.now().to_string())),
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("has_mail", Value::from(console.app.has_mail())),
        ("me", Value::from(())),
        ("path", Value::from("")),
        ("query", empty()),
        ("at", empty()),
        // Templates that a page of a client shares with one of all clients.
        ("client", Value::from(())),
        ("lists", Value::from(())),
        ("done", Value::from(())),
        ("error", Value::from(())),
        ("form", empty()),
        ("answer", Value::from(())),
    ])
}

/// The page that says why there is no other.
pub(super) fn refusal(console: &Console, visit: Option<&Visit>, answer: &Answer) -> Response {
    let message = answer.message().unwrap_or_default();
    let mut response = problem(console, visit, answer.status, message);
    pass_on(answer, &mut response);
    response
}

/// What the answer of an operation says to programs, and that a refusal is in the audit log.
pub(super) fn pass_on(answer: &Answer, response: &mut Response) {
    if let Some(retry_after) = &answer.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, retry_after.clone());
    }
    if matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        response.extensions_mut().insert(crate::request::Noted);
    }
}

/// A page that says what is wrong.
pub(super) fn problem(
    console: &Console,
    visit: Option<&Visit>,
    status: StatusCode,
    message: &str,
) -> Response {
    let mut model = visit.map_or_else(|| bare(console), |it| model(console, it));
    model.insert("status", Value::from(status.as_u16()));
    model.insert("message", Value::from(message));
    render(console, "problem", status, &model)
}

/// A page that says why its request is refused for the way that it came.
pub(super) fn refused_way(console: &Console, visit: Option<&Visit>, refusal: Refusal) -> Response {
    let mut model = visit.map_or_else(|| bare(console), |it| model(console, it));
    let status = StatusCode::FORBIDDEN;
    model.insert("status", Value::from(status.as_u16()));
    model.insert("paragraphs", Value::from(Serde(refusal.paragraphs)));
    model.insert("seen", Value::from(Serde(refusal.seen)));
    render(console, "refused-way", status, &model)
}

pub(super) fn render(
    console: &Console,
    template: &str,
    status: StatusCode,
    model: &Model,
) -> Response {
    answer_with(template, status, write(&console.templates, template, model))
}

/// The text of a page.
fn write(
    templates: &Environment<'static>,
    template: &str,
    model: &Model,
) -> Result<String, minijinja::Error> {
    templates.get_template(template)?.render(model)
}

fn answer_with(
    template: &str,
    status: StatusCode,
    written: Result<String, minijinja::Error>,
) -> Response {
    let html = match written {
        Ok(html) => html,
        Err(error) => {
            tracing::error!("the page `{template}` cannot be shown: {error:#}");
            let text = "This page cannot be shown. The log of the service says why.";
            return with_headers(StatusCode::INTERNAL_SERVER_ERROR, text.to_owned());
        }
    };
    with_headers(status, html)
}

fn with_headers(status: StatusCode, html: String) -> Response {
    let mut response = html.with_status(status).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(HTML));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    // No window of another site has a hold on one of these.
    headers.insert("Cross-Origin-Opener-Policy", HeaderValue::from_static("same-origin"));
    response
}
