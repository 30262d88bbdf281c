//! The way to the identity provider and back.

use poem::http::StatusCode;
use poem::{Request, Response};

use super::Console;
use super::call::{Pairs, find};
use super::page::problem;
use super::session::{
    Gate, begun, browser, closed_way, enter, find_cookie, next, status, with_header,
};
use super::visit::{Visit, query};
use super::way::is_at;
use crate::app::access::console_session::Browser;
use crate::app::access::oidc::OidcReturn;
use crate::error::Error;
use crate::oidc::{Answered, LIFE_S};
use crate::origin::Origin;
use crate::request::Noted;
use crate::store::global::audit::{Act, AuditOutcome, PendingAct};
use crate::store::global::user::User;
use crate::web::see_other;

/// Begins a sign-in.
pub(super) const SIGN_IN: &str = "/sign-in/oidc";
/// Where the provider leads people back to.
pub(super) const RETURN: &str = "/sign-in/oidc/callback";
/// Asks a user who is signed in to prove to be there.
pub(super) const CONFIRM: &str = "/confirm/oidc";

/// `GET /sign-in/oidc`
pub(super) async fn sign_in(console: &Console, request: &Request) -> Response {
    let query = query(request);
    begin(console, request, None, next(find(&query, "next"))).await
}

/// `GET /confirm/oidc`
pub(super) async fn confirm(console: &Console, request: &Request) -> Response {
    match enter(console, request, Gate::Usual).await {
        Ok(visit) => {
            let next = next(find(&visit.query, "next"));
            begin(console, request, Some(&visit), next).await
        }
        Err(instead) => *instead,
    }
}

async fn begin(
    console: &Console,
    request: &Request,
    visit: Option<&Visit>,
    next: &str,
) -> Response {
    let way = match closed_way(console, request) {
        Ok(way) => way,
        Err(instead) => return *instead,
    };
    let public_url = console.app.options.public_url.as_deref().and_then(Origin::parse);
    if console.app.oidc_name().is_some()
        && let Some(public_url) = public_url
        && !is_at(request, way, &public_url)
    {
        // The provider leads back there, where the browser would not have the cookie.
        let message = format!(
            "Signing in at the identity provider works at {public_url} alone, which is server.public_url of the configuration. \
             Open that address."
        );
        return problem(console, visit, StatusCode::CONFLICT, &message);
    }
    let user: Option<&User> = visit.map(|it| &*it.signed_in.user);
    match console.app.begin_oidc(user, next).await {
        Ok((url, kept)) => {
            let set_cookie = way.set_cookie_for(way.oidc_cookie(), &kept, LIFE_S);
            with_header(see_other(&url), &set_cookie)
        }
        Err(error) => problem(console, visit, status(&error), error.message()),
    }
}

/// `GET /sign-in/oidc/callback`
pub(super) async fn finish(console: &Console, request: &Request) -> Response {
    let way = match closed_way(console, request) {
        Ok(way) => way,
        Err(instead) => return *instead,
    };
    let visit = enter(console, request, Gate::SignedIn).await.ok();
    let query = query(request);
    let browser = browser(console, request);
    let action = format!("GET {RETURN}");
    let (at, address) = (console.app.clock.now(), browser.address.shown());
    // The edge makes none for a GET.
    let act = PendingAct::new(Act { at, address, action, ..Act::default() });
    let kept = find_cookie(request, way.oidc_cookie());
    let signed_in = visit.as_ref().map(|it| &it.signed_in);
    let ended =
        console.app.finish_oidc(kept, returned(&query), signed_in, &browser, act.clone()).await;
    let response = match ended {
        Ok(end) => {
            let response = see_other(&end.next);
            match &end.secret {
                Some(secret) => begun(console, request, response, way, secret).await,
                None => response,
            }
        }
        Err(error) => {
            note(console, &browser, &act, &error);
            let mut response = problem(console, visit.as_ref(), status(&error), error.message());
            response.extensions_mut().insert(Noted);
            response
        }
    };
    // It is used once.
    with_header(response, &way.set_cookie(way.oidc_cookie(), ""))
}

fn returned(query: &Pairs) -> OidcReturn<'_> {
    OidcReturn {
        state: find(query, "state").unwrap_or_default(),
        answered: Answered {
            code: find(query, "code"),
            issuer: find(query, "iss"),
            error: find(query, "error"),
            error_description: find(query, "error_description"),
        },
    }
}

/// Counts a refusal for the audit log, with its reason: nobody is known to have sent the request.
fn note(console: &Console, browser: &Browser, act: &PendingAct, error: &Error) {
    let status = status(error);
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let act = Act { action: act.action(), about: act.subject(), ..Act::default() };
        let outcome = AuditOutcome::Refused(status.as_u16());
        console.app.tally_unauthenticated(browser.address, act, outcome);
    }
}
