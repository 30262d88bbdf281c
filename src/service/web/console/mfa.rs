//! The page of one's own second factor.

use std::fmt::Write as _;

use minijinja::Value;
use minijinja::value::Serde;
use poem::http::{Method, StatusCode};
use poem::{Request, Response};
use qrcode::{Color, QrCode};

use super::call::{Answer, Sent, call};
use super::form::{self, Field, Kind};
use super::session::{Gate, SIGN_IN, browser, enter, enter_with_form, with_cookie};
use super::visit::Visit;
use super::{Console, page};
use crate::web::see_other;

/// What can be done on the page.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Enroll,
    Confirm,
    ReplaceRecoveryCodes,
    Remove,
}

impl Step {
    pub(super) const ALL: [Self; 4] =
        [Self::Enroll, Self::Confirm, Self::ReplaceRecoveryCodes, Self::Remove];

    /// Where the form of the step is sent.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Enroll => "/me/mfa/enroll",
            Self::Confirm => "/me/mfa/confirm",
            Self::ReplaceRecoveryCodes => "/me/mfa/recovery-codes",
            Self::Remove => "/me/mfa/remove",
        }
    }

    const fn target(self) -> &'static str {
        match self {
            Self::Enroll => "/api/me/mfa",
            Self::Confirm => "/api/me/mfa/confirm",
            Self::ReplaceRecoveryCodes => "/api/me/mfa/recovery-codes",
            Self::Remove => "/api/me/mfa/remove",
        }
    }

    const fn fields(self) -> &'static [Field] {
        match self {
            Self::Enroll => &[Field("currentPassword", Kind::Text)],
            Self::Confirm => &[Field("otp", Kind::Text)],
            Self::ReplaceRecoveryCodes | Self::Remove => {
                &[Field("currentPassword", Kind::Text), Field("otp", Kind::Text)]
            }
        }
    }
}

/// `GET /me/mfa`
pub(super) async fn show(console: &Console, request: &Request) -> Response {
    match enter(console, request, Gate::Replaced).await {
        Ok(visit) => render(console, &visit, StatusCode::OK, None, None).await,
        Err(instead) => *instead,
    }
}

/// Takes a step. All but the first end the sessions of the user; this browser gets another one.
pub(super) async fn take(console: &Console, step: Step, request: &mut Request) -> Response {
    let (visit, form) = match enter_with_form(console, request, Gate::Replaced).await {
        Ok(entered) => entered,
        Err(instead) => return *instead,
    };
    let body = Sent::Json(form::body(&form, &visit.parts, step.fields()));
    let (operations, caller) = (&console.operations, &visit.caller);
    let answer = call(operations, caller, Method::POST, step.target(), body).await;
    if answer.message().is_some() {
        let (status, message) = (answer.status, answer.message().unwrap_or_default());
        // A wrong first code: the secret that is on the screen stays the one to confirm.
        return render(console, &visit, status, Some(message), None).await;
    }
    if matches!(step, Step::Enroll) {
        return render(console, &visit, StatusCode::OK, None, Some(&answer)).await;
    }
    let browser = browser(console, request);
    let Some((visit, secret)) = visit.renewed(console, request, &browser).await else {
        return see_other(SIGN_IN);
    };
    let response = render(console, &visit, StatusCode::OK, None, Some(&answer)).await;
    with_cookie(response, visit.way, secret.expose())
}

async fn render(
    console: &Console,
    visit: &Visit,
    status: StatusCode,
    error: Option<&str>,
    answer: Option<&Answer>,
) -> Response {
    let me = call(&console.operations, &visit.caller, Method::GET, "/api/me", Sent::Nothing).await;
    if me.message().is_some() {
        return page::refusal(console, Some(visit), &me);
    }
    let mut model = page::model(console, visit);
    let url = answer.and_then(|it| it.body["data"]["url"].as_str());
    model.insert("qr", url.map_or_else(|| Value::from(()), |it| Value::from_safe_string(qr(it))));
    model.insert("account", Value::from(Serde(&me.body)));
    model.insert("answer", Value::from(Serde(answer.map(|it| &it.body))));
    model.insert("error", Value::from(Serde(error)));
    page::render(console, "mfa", status, &model)
}

/// A QR code as a picture, with the border that readers need.
fn qr(url: &str) -> String {
    const BORDER: usize = 4;
    let Ok(code) = QrCode::new(url) else { return String::new() };
    let width = code.width();
    let side = width + 2 * BORDER;
    let mut svg = format!("<svg class=\"qr\" viewBox=\"0 0 {side} {side}\" role=\"img\" ");
    let _ = write!(
        svg,
        r#"aria-label="QR code of the secret"><rect width="{side}" height="{side}" fill="white"/>"#
    );
    svg.push_str(r#"<path fill="black" d=""#);
    for (at, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let _ = write!(svg, "M{} {}h1v1h-1z", at % width + BORDER, at / width + BORDER);
        }
    }
    svg + r#""/></svg>"#
}
