//! Who looks at a page: the session in the browser's cookie, and the pages that begin and end one.

use std::collections::BTreeMap;

use minijinja::Value;
use minijinja::value::Serde;
use poem::http::{HeaderValue, Method, StatusCode, header};
use poem::{Request, Response};
use serde_json::json;

use super::call::{Pairs, Sent, call, find};
use super::page::{self, Model, problem};
use super::tables::Page;
use super::visit::{Visit, query};
use super::way::{Way, foreign_form, is_own_form, open_way, site};
use super::{Console, form};
use crate::app::access::console_session::Browser;
use crate::app::access::mfa::MfaState;
use crate::auth::console_session::{SessionSecret, is_confirmed};
use crate::auth::network::{CallerAddress, client_address};
use crate::error::{Code, Error};
use crate::peer::Peer;
use crate::store::global::audit::PendingAct;
use crate::store::global::console_session::Proof;
use crate::web::see_other;

pub(super) const SIGN_IN: &str = "/sign-in";
pub(super) const SIGN_OUT: &str = "/sign-out";
pub(super) const CONFIRM: &str = "/confirm";
pub(super) const PASSWORD: &str = "/me/password";
pub(super) const MFA: &str = "/me/mfa";
pub(super) const SESSIONS: &str = "/me/sessions";
/// The field of a form that only this session's pages can have.
pub(super) const TOKEN: &str = "token";

pub(super) const OLD_FORM: &str = "This form is of a session that has ended. Nothing was done. Go back, reload the page and try again.";

/// How much a page asks of who looks at it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    /// Also before an initial password was replaced.
    SignedIn,
    /// Also before a second factor was set up that the role requires.
    Replaced,
    Usual,
    /// The password was given a short while ago.
    Confirmed,
}

impl Gate {
    pub(super) fn of(page: &Page) -> Self {
        Self::guarded(page.guarded)
    }

    pub(super) const fn guarded(is_guarded: bool) -> Self {
        if is_guarded { Self::Confirmed } else { Self::Usual }
    }
}

/// Finds out who sent a request.
///
/// # Errors
/// What to answer instead: the way to sign in, to replace an initial password, or to give the password again.
pub(super) async fn enter(
    console: &Console,
    request: &Request,
    gate: Gate,
) -> Result<Visit, Box<Response>> {
    let way = Way::of(request, &console.trusted_proxies);
    let here = request.uri().path_and_query().map_or("/", |it| it.as_str());
    let resumed = match cookie(request, way) {
        Some(secret) => {
            let found = console.app.resume_console_session(&secret).await;
            found.map(|it| (it, secret))
        }
        None => None,
    };
    let Some((signed_in, secret)) = resumed.filter(|_| way != Way::Open) else {
        return Err(Box::new(lead(SIGN_IN, request, here)));
    };
    if gate != Gate::SignedIn && signed_in.user.must_change_password {
        return Err(Box::new(see_other(PASSWORD)));
    }
    let is_early = matches!(gate, Gate::SignedIn | Gate::Replaced);
    let has_both = signed_in.session.proof == Proof::Passkey;
    if !is_early && !has_both && console.app.must_set_up_mfa(&signed_in.user) {
        return Err(Box::new(if console.app.must_use_passkey(&signed_in.user) {
            lead(CONFIRM, request, here)
        } else {
            see_other(MFA)
        }));
    }
    if gate == Gate::Confirmed && !is_confirmed(&signed_in.session, console.app.clock.now()) {
        return Err(Box::new(lead(CONFIRM, request, here)));
    }
    Ok(Visit::of(way, signed_in, secret, request, console.app.clock.now()))
}

/// The page on which a form stands, to go back to.
#[derive(Clone)]
pub(super) struct FormPage(pub(super) String);

/// Leads to a page that leads back here, if this is a page, or to the page of the form.
fn lead(to: &str, request: &Request, here: &str) -> Response {
    let form_page = request.extensions().get::<FormPage>();
    let here = match *request.method() {
        Method::GET => here,
        _ => form_page.map_or("/", |it| it.0.as_str()),
    };
    if here == "/" {
        return see_other(to);
    }
    see_other(&format!("{to}?next={}", super::call::encoded(here)))
}

/// [`enter`], and the form that the visit sends.
///
/// # Errors
/// What to answer instead, if the form is not one of this session's pages.
pub(super) async fn enter_with_form(
    console: &Console,
    request: &mut Request,
    gate: Gate,
) -> Result<(Visit, Pairs), Box<Response>> {
    let visit = enter(console, request, gate).await?;
    require_own_form(console, request, visit.way, Some(&visit))?;
    let form = form::read(request).await.map_err(|message| {
        Box::new(problem(console, Some(&visit), StatusCode::BAD_REQUEST, message))
    })?;
    if !has_token(&visit, &form) {
        return Err(Box::new(problem(console, Some(&visit), StatusCode::FORBIDDEN, OLD_FORM)));
    }
    Ok((visit, form))
}

/// # Errors
/// What to answer instead, if no page of this console sent the form.
pub(super) fn require_own_form(
    console: &Console,
    request: &Request,
    way: Way,
    visit: Option<&Visit>,
) -> Result<(), Box<Response>> {
    if is_own_form(request, way, console.url.as_ref()) {
        return Ok(());
    }
    Err(Box::new(page::refused_way(console, visit, foreign_form(way, request))))
}

/// The way of a request, unless it could give a password away.
///
/// # Errors
/// What to answer instead.
pub(super) fn closed_way(console: &Console, request: &Request) -> Result<Way, Box<Response>> {
    match Way::of(request, &console.trusted_proxies) {
        Way::Open => Err(Box::new(page::refused_way(console, None, open_way(console, request)))),
        way @ (Way::Encrypted | Way::Proxied | Way::Loopback) => Ok(way),
    }
}

pub(super) fn has_token(visit: &Visit, form: &Pairs) -> bool {
    visit.secret.is_form_token(find(form, TOKEN).unwrap_or_default())
}

/// The secret in the cookie that belongs to this way.
pub(super) fn cookie(request: &Request, way: Way) -> Option<SessionSecret> {
    SessionSecret::read(find_cookie(request, way.cookie())?)
}

/// The value of a cookie. With several of one name none counts: another site may have set one.
pub(super) fn find_cookie<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let headers = request.headers().get_all(header::COOKIE);
    let cookies = headers.iter().filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(';'));
    let mut named = cookies.filter_map(|it| it.trim().split_once('=')).filter(|it| it.0 == name);
    let (only, more) = (named.next()?, named.next());
    more.is_none().then_some(only.1)
}

/// Where to go after a sign-in: a page of this console, never another site.
pub(super) fn next(given: Option<&str>) -> &str {
    let is_page = |it: &&str| {
        it.starts_with('/')
            && !it.starts_with("//")
            && !it.starts_with(SIGN_IN)
            && it.bytes().all(|it| it.is_ascii_graphic() && it != b'\\')
    };
    given.filter(is_page).unwrap_or("/")
}

pub(super) fn browser(console: &Console, request: &Request) -> Browser {
    let forwarded = request.headers().get_all("X-Forwarded-For");
    let forwarded: Vec<_> = forwarded.iter().map(HeaderValue::as_bytes).collect();
    let address = match request.data::<Peer>() {
        Some(Peer::Tcp(peer)) => client_address(peer.ip(), &forwarded, &console.trusted_proxies),
        Some(Peer::Socket { .. }) | None => CallerAddress::Socket,
    };
    let agent = request.header(header::USER_AGENT).unwrap_or_default().to_owned();
    Browser { address, agent }
}

/// The act that a request is, as the audit log shows it.
pub(super) fn act(request: &Request, action: &'static str) -> PendingAct {
    let act = request.data::<PendingAct>().cloned().unwrap_or_default();
    act.set_action(action);
    act
}

/// `GET /sign-in`
pub(super) async fn show_sign_in(console: &Console, request: &Request) -> Response {
    if let Err(instead) = closed_way(console, request) {
        return *instead;
    }
    let query = query(request);
    let next = next(find(&query, "next"));
    if enter(console, request, Gate::SignedIn).await.is_ok() {
        return see_other(next);
    }
    show_sign_in_form(console, request, SignInForm::default(), (StatusCode::OK, None), next)
}

/// What the form of the sign-in page begins with.
#[derive(Clone, Copy, Default)]
pub(super) struct SignInForm<'a> {
    name: &'a str,
    needs_code: bool,
}

pub(super) fn show_sign_in_form(
    console: &Console,
    request: &Request,
    form: SignInForm<'_>,
    said: (StatusCode, Option<&str>),
    next: &str,
) -> Response {
    let way = Way::of(request, &console.trusted_proxies);
    let mut model = page::bare(console);
    model.insert("form", Value::from(BTreeMap::from([("name", form.name.to_owned())])));
    model.insert("needs_code", Value::from(form.needs_code));
    model.insert("oidc", Value::from(Serde(console.app.oidc_name())));
    let has_site = site(request, way, console.url.as_ref()).is_ok();
    model.insert("passkeys", Value::from(has_site));
    render(console, "sign-in", model, said, next)
}

/// The way and the form of somebody who is not signed in.
///
/// # Errors
/// What to answer instead.
pub(super) async fn enter_anyone(
    console: &Console,
    request: &mut Request,
) -> Result<(Way, Pairs), Box<Response>> {
    let way = closed_way(console, request)?;
    require_own_form(console, request, way, None)?;
    let form = form::read(request).await;
    form.map(|it| (way, it))
        .map_err(|message| Box::new(problem(console, None, StatusCode::BAD_REQUEST, message)))
}

/// The answer to a sign-in, with the session that it began in place of the one of before.
pub(super) async fn begun(
    console: &Console,
    request: &Request,
    response: Response,
    way: Way,
    secret: &SessionSecret,
) -> Response {
    if let Some(before) = cookie(request, way) {
        console.app.forget_console_session(&before).await;
    }
    with_cookie(response, way, secret.expose())
}

/// `POST /sign-in`
pub(super) async fn sign_in(console: &Console, request: &mut Request) -> Response {
    let (way, form) = match enter_anyone(console, request).await {
        Ok(entered) => entered,
        Err(instead) => return *instead,
    };
    let (name, password) = (find(&form, "name"), find(&form, "password"));
    let (name, password) = (name.unwrap_or_default(), password.unwrap_or_default());
    let next = next(find(&form, "next"));
    let (browser, act) = (browser(console, request), act(request, "POST /sign-in"));
    match console.app.sign_in(name, password, code(&form), &browser, act).await {
        Ok(secret) => begun(console, request, see_other(next), way, &secret).await,
        Err(error) => {
            let needs_code = error.code == Code::CodeRequired || code(&form).is_some();
            let refused = (status(&error), Some(error.message()));
            let shown = SignInForm { name, needs_code };
            show_sign_in_form(console, request, shown, refused, next)
        }
    }
}

/// `POST /sign-out`
pub(super) async fn sign_out(console: &Console, request: &mut Request) -> Response {
    let (visit, _) = match enter_with_form(console, request, Gate::SignedIn).await {
        Ok(entered) => entered,
        Err(instead) => return *instead,
    };
    console.app.forget_console_session(&visit.secret).await;
    with_cookie(see_other(SIGN_IN), visit.way, "")
}

/// `GET /confirm`
pub(super) async fn show_confirm(console: &Console, request: &Request) -> Response {
    match enter(console, request, Gate::Replaced).await {
        Ok(visit) => {
            let next = next(find(&visit.query, "next"));
            show_confirm_form(console, request, &visit, (StatusCode::OK, None), next)
        }
        Err(instead) => *instead,
    }
}

/// `POST /confirm`
pub(super) async fn confirm(console: &Console, request: &mut Request) -> Response {
    let (visit, form) = match enter_with_form(console, request, Gate::Replaced).await {
        Ok(entered) => entered,
        Err(instead) => return *instead,
    };
    let next = next(find(&form, "next"));
    let password = find(&form, "password").unwrap_or_default();
    let browser = browser(console, request);
    let confirmed = console.app.confirm_console_session(
        &visit.signed_in,
        password,
        code(&form),
        &browser,
        act(request, "POST /confirm"),
    );
    match confirmed.await {
        Ok(()) => see_other(next),
        Err(error) => {
            let refused = (status(&error), Some(error.message()));
            show_confirm_form(console, request, &visit, refused, next)
        }
    }
}

pub(super) fn show_confirm_form(
    console: &Console,
    request: &Request,
    visit: &Visit,
    said: (StatusCode, Option<&str>),
    next: &str,
) -> Response {
    let (app, user) = (&console.app, &visit.signed_in.user);
    let mut model = page::model(console, visit);
    model.insert("needs_code", Value::from(app.mfa_state(user) == MfaState::On));
    let has_site = site(request, visit.way, console.url.as_ref()).is_ok();
    let has_passkey = has_site && !app.list_passkeys(user.id).is_empty();
    model.insert("passkeys", Value::from(has_passkey));
    model.insert("needs_passkey", Value::from(app.must_use_passkey(user)));
    let is_identified = app.find_identity(user).is_some();
    let oidc = app.oidc_name().filter(|_| is_identified);
    model.insert("oidc", Value::from(Serde(oidc)));
    render(console, "confirm", model, said, next)
}

/// `GET /me/password`
pub(super) async fn show_password(console: &Console, request: &Request) -> Response {
    match enter(console, request, Gate::SignedIn).await {
        Ok(visit) if console.app.find_identity(&visit.signed_in.user).is_some() => {
            let message =
                "You sign in at your identity provider. Your password is kept and changed there.";
            problem(console, Some(&visit), StatusCode::CONFLICT, message)
        }
        Ok(visit) => show_password_form(console, &visit, (StatusCode::OK, None)),
        Err(instead) => *instead,
    }
}

/// `POST /me/password`. All sessions of the user end; this browser gets another one.
pub(super) async fn change_password(console: &Console, request: &mut Request) -> Response {
    let (visit, form) = match enter_with_form(console, request, Gate::SignedIn).await {
        Ok(entered) => entered,
        Err(instead) => return *instead,
    };
    let (current, new) = (find(&form, "currentPassword"), find(&form, "newPassword"));
    if new != find(&form, "repeated") {
        let error = "The new password and its repetition differ.";
        return show_password_form(console, &visit, (StatusCode::BAD_REQUEST, Some(error)));
    }
    let body = Sent::Json(json!({ "currentPassword": current, "newPassword": new }));
    let answer =
        call(&console.operations, &visit.caller, Method::PUT, "/api/me/password", body).await;
    if let Some(message) = answer.message() {
        return show_password_form(console, &visit, (answer.status, Some(message)));
    }
    let browser = browser(console, request);
    match visit.renewed(console, request, &browser).await {
        Some((_, secret)) => {
            with_cookie(see_other("/?done=change-password"), visit.way, secret.expose())
        }
        None => see_other(SIGN_IN),
    }
}

fn show_password_form(
    console: &Console,
    visit: &Visit,
    (status, error): (StatusCode, Option<&str>),
) -> Response {
    let mut model = page::model(console, visit);
    let is_initial = visit.signed_in.user.must_change_password;
    model.insert("is_initial", Value::from(is_initial));
    render(console, "password", model, (status, error), "/")
}

/// The one-time code of a form.
fn code(form: &Pairs) -> Option<&str> {
    find(form, "otp").map(str::trim).filter(|it| !it.is_empty())
}

/// The status of a page that says what is wrong.
pub(super) fn status(error: &Error) -> StatusCode {
    match error.code {
        Code::Unauthenticated | Code::CodeRequired => StatusCode::UNAUTHORIZED,
        Code::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        Code::Invalid => StatusCode::BAD_REQUEST,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Conflict => StatusCode::CONFLICT,
        Code::TooLarge | Code::UnsupportedMediaType | Code::Unavailable | Code::Internal => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

fn render(
    console: &Console,
    template: &str,
    mut model: Model,
    (status, error): (StatusCode, Option<&str>),
    next: &str,
) -> Response {
    model.insert("next", Value::from(next));
    model.insert("error", Value::from(Serde(error)));
    page::render(console, template, status, &model)
}

pub(super) fn with_cookie(response: Response, way: Way, value: &str) -> Response {
    with_header(response, &way.set_cookie(way.cookie(), value))
}

/// Adds a `Set-Cookie` header.
pub(super) fn with_header(mut response: Response, set_cookie: &str) -> Response {
    let cookie = HeaderValue::from_str(set_cookie).expect("base64 is ASCII");
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}
