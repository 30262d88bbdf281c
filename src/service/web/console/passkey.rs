//! Passkeys: the page of one's own, and the ways in that they open. A script asks the browser for one, and a form sends what
//! the browser answers.

use minijinja::Value;
use minijinja::value::Serde;
use poem::http::StatusCode;
use poem::{Request, Response};
use serde_json::json;

use super::Console;
use super::call::{Pairs, encoded, find};
use super::page;
use super::session::{
    CONFIRM, Gate, SIGN_IN, SignInForm, act, begun, browser, enter, enter_anyone, enter_with_form,
    find_cookie, next, show_confirm_form, show_sign_in_form, status, with_cookie, with_header,
};
use super::visit::Visit;
use super::way::{Way, site};
use crate::app::access::passkey::{ANSWER_S, Answered, Ceremony, N_PASSKEYS_MAX};
use crate::auth::console_session::{SessionSecret, is_confirmed};
use crate::error::{Error, Result};
use crate::passkey::Site;
use crate::web::see_other;

pub(super) const PASSKEYS: &str = "/me/passkeys";

/// An answer, or the one in place of it.
type Taken = std::result::Result<Response, Box<Response>>;

/// What a form or a script sends.
#[derive(Clone, Copy)]
pub(super) enum Step {
    AskToSignIn,
    SignIn,
    AskToConfirm,
    Confirm,
    AskToAdd,
    Add,
    Remove,
}

impl Step {
    pub(super) const ALL: [Self; 7] = [
        Self::AskToSignIn,
        Self::SignIn,
        Self::AskToConfirm,
        Self::Confirm,
        Self::AskToAdd,
        Self::Add,
        Self::Remove,
    ];

    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::AskToSignIn => "/sign-in/passkey/question",
            Self::SignIn => "/sign-in/passkey",
            Self::AskToConfirm => "/confirm/passkey/question",
            Self::Confirm => "/confirm/passkey",
            Self::AskToAdd => "/me/passkeys/question",
            Self::Add => "/me/passkeys/add",
            Self::Remove => "/me/passkeys/remove",
        }
    }

    /// Where its form is.
    pub(super) const fn page(self) -> &'static str {
        match self {
            Self::AskToSignIn | Self::SignIn => SIGN_IN,
            Self::AskToConfirm | Self::Confirm => CONFIRM,
            Self::AskToAdd | Self::Add | Self::Remove => PASSKEYS,
        }
    }
}

/// Takes a step.
pub(super) async fn take(console: &Console, step: Step, request: &mut Request) -> Response {
    let taken = match step {
        Step::AskToSignIn => ask_to_sign_in(console, request).await,
        Step::SignIn => sign_in(console, request).await,
        Step::AskToConfirm => ask_to_confirm(console, request).await,
        Step::Confirm => confirm(console, request).await,
        Step::AskToAdd => ask_to_add(console, request).await,
        Step::Add => add(console, request).await,
        Step::Remove => remove(console, request).await,
    };
    taken.unwrap_or_else(|instead| *instead)
}

async fn ask_to_sign_in(console: &Console, request: &mut Request) -> Taken {
    let (way, _) = enter_anyone(console, request).await?;
    let site = site_of(console, request, way);
    let asked = site.and_then(|it| console.app.ask_for_passkey(&it, Ceremony::SignIn));
    Ok(question(way, asked))
}

async fn sign_in(console: &Console, request: &mut Request) -> Taken {
    let (way, form) = enter_anyone(console, request).await?;
    let (next, browser) = (next(find(&form, "next")), browser(console, request));
    let signed_in = match site_of(console, request, way) {
        Ok(site) => {
            let act = act(request, "POST /sign-in/passkey");
            let answered = answered(request, way, &form);
            console.app.sign_in_with_passkey(&site, answered, &browser, act).await
        }
        Err(error) => Err(error),
    };
    Ok(match signed_in {
        Ok(secret) => {
            let response = begun(console, request, see_other(next), way, &secret).await;
            answered_once(response, way)
        }
        Err(error) => {
            let said = (status(&error), Some(error.message()));
            let form = SignInForm::default();
            answered_once(show_sign_in_form(console, request, form, said, next), way)
        }
    })
}

async fn ask_to_confirm(console: &Console, request: &mut Request) -> Taken {
    let (visit, _) = enter_with_form(console, request, Gate::Replaced).await?;
    let site = site_of(console, request, visit.way);
    let ceremony = Ceremony::Confirm(&visit.signed_in);
    Ok(question(visit.way, site.and_then(|it| console.app.ask_for_passkey(&it, ceremony))))
}

async fn confirm(console: &Console, request: &mut Request) -> Taken {
    let (visit, form) = enter_with_form(console, request, Gate::Replaced).await?;
    let (way, by) = (visit.way, &visit.signed_in);
    let (next, browser) = (next(find(&form, "next")), browser(console, request));
    let confirmed = match site_of(console, request, way) {
        Ok(site) => {
            let act = act(request, "POST /confirm/passkey");
            let answered = answered(request, way, &form);
            console.app.confirm_with_passkey(&site, by, answered, &browser, act).await
        }
        Err(error) => Err(error),
    };
    let response = match confirmed {
        Ok(()) => see_other(next),
        Err(error) => {
            let said = (status(&error), Some(error.message()));
            show_confirm_form(console, request, &visit, said, next)
        }
    };
    Ok(answered_once(response, way))
}

/// `GET /me/passkeys`
pub(super) async fn show(console: &Console, request: &Request) -> Response {
    match enter(console, request, Gate::Replaced).await {
        Ok(visit) => render(console, request, &visit, (StatusCode::OK, None), &Pairs::new()),
        Err(instead) => *instead,
    }
}

/// The form of somebody who proved to be there a short while ago.
async fn enter_confirmed(
    console: &Console,
    request: &mut Request,
) -> std::result::Result<(Visit, Pairs), Box<Response>> {
    let (visit, form) = enter_with_form(console, request, Gate::Replaced).await?;
    if is_confirmed(&visit.signed_in.session, console.app.clock.now()) {
        return Ok((visit, form));
    }
    Err(Box::new(see_other(&format!("{CONFIRM}?next={}", encoded(PASSKEYS)))))
}

async fn ask_to_add(console: &Console, request: &mut Request) -> Taken {
    let (visit, _) = enter_confirmed(console, request).await?;
    let site = site_of(console, request, visit.way);
    let ceremony = Ceremony::Add(&visit.signed_in);
    Ok(question(visit.way, site.and_then(|it| console.app.ask_for_passkey(&it, ceremony))))
}

/// Adds a passkey. All sessions of the user end; this browser gets another one.
async fn add(console: &Console, request: &mut Request) -> Taken {
    let (visit, form) = enter_confirmed(console, request).await?;
    let (way, by) = (visit.way, &visit.signed_in);
    let added = match site_of(console, request, way) {
        Ok(site) => {
            let name = find(&form, "name").unwrap_or_default().trim();
            let answered = answered(request, way, &form);
            let (browser, act) = (browser(console, request), act(request, "POST /me/passkeys/add"));
            console.app.add_passkey(&site, by, name, answered, &browser, act).await
        }
        Err(error) => Err(error),
    };
    Ok(match added {
        Ok(secret) => renewed(see_other(PASSKEYS), way, &secret),
        Err(error) => {
            let said = (status(&error), Some(error.message()));
            answered_once(render(console, request, &visit, said, &form), way)
        }
    })
}

/// Removes a passkey. All sessions of the user end; this browser gets another one.
async fn remove(console: &Console, request: &mut Request) -> Taken {
    let (visit, form) = enter_confirmed(console, request).await?;
    let id = find(&form, "passkey").unwrap_or_default().parse();
    let removed = match id {
        Ok(id) => {
            let act = act(request, "POST /me/passkeys/remove");
            console.app.remove_passkey(&visit.signed_in, id, act).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = removed {
        let said = (status(&error), Some(error.message()));
        return Ok(render(console, request, &visit, said, &form));
    }
    let browser = browser(console, request);
    let renewed = visit.renewed(console, request, &browser).await;
    let Some((_, secret)) = renewed else { return Ok(see_other(SIGN_IN)) };
    Ok(with_cookie(see_other(PASSKEYS), visit.way, secret.expose()))
}

fn render(
    console: &Console,
    request: &Request,
    visit: &Visit,
    (status, error): (StatusCode, Option<&str>),
    form: &Pairs,
) -> Response {
    let (app, user) = (&console.app, &visit.signed_in.user);
    let site = site_of(console, request, visit.way);
    let domain = site.as_ref().map(Site::domain).unwrap_or_default();
    let passkeys: Vec<_> = app
        .list_passkeys(user.id)
        .iter()
        .map(|it| {
            json!({
                "id": it.id.to_string(), "name": it.name, "madeAt": it.made_at.to_string(),
                "usedAt": it.used_at.map(|it| it.to_string()),
                // Of another address, where it works.
                "elsewhere": (it.domain != domain).then_some(&it.domain),
            })
        })
        .collect();
    let mut model = page::model(console, visit);
    model.insert("is_identified", Value::from(app.find_identity(user).is_some()));
    model.insert("is_full", Value::from(N_PASSKEYS_MAX <= passkeys.len()));
    model.insert(
        "is_confirmed",
        Value::from(is_confirmed(&visit.signed_in.session, app.clock.now())),
    );
    model.insert("is_missing", Value::from(app.must_set_up_mfa(user) && passkeys.is_empty()));
    model.insert("passkeys", Value::from(Serde(passkeys)));
    model.insert("unusable", Value::from(Serde(site.err().map(|it| it.message().to_owned()))));
    model.insert("name", Value::from(find(form, "name").unwrap_or_default()));
    model.insert("error", Value::from(Serde(error)));
    let lists = page::list_links(PASSKEYS, visit, &["passkeys"]);
    model.insert("lists", Value::from(Serde(lists)));
    page::render(console, "passkeys", status, &model)
}

/// The site that a request is at, for passkeys.
fn site_of(console: &Console, request: &Request, way: Way) -> Result<Site> {
    site(request, way, console.url.as_ref()).map_err(Error::conflict)
}

fn answered<'a>(request: &'a Request, way: Way, form: &'a Pairs) -> Answered<'a> {
    let kept = find_cookie(request, way.passkey_cookie());
    Answered { kept, answer: find(form, "answer").unwrap_or_default() }
}

/// What the script of a page gets.
fn question(way: Way, asked: Result<(String, String)>) -> Response {
    let kind = "application/json";
    match asked {
        Ok((json, kept)) => {
            let response = Response::builder().content_type(kind).body(json);
            with_header(response, &way.set_cookie_for(way.passkey_cookie(), &kept, ANSWER_S))
        }
        Err(error) => {
            let json = json!({ "error": { "message": error.message() } }).to_string();
            Response::builder().status(status(&error)).content_type(kind).body(json)
        }
    }
}

/// The session in place of the one of before.
fn renewed(response: Response, way: Way, secret: &SessionSecret) -> Response {
    answered_once(with_cookie(response, way, secret.expose()), way)
}

/// The question that the browser kept is answered.
fn answered_once(response: Response, way: Way) -> Response {
    with_header(response, &way.set_cookie(way.passkey_cookie(), ""))
}
