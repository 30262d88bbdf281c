//! The console: pages for the people of an MSP. They show what the API answers, and do what it does, in the name of who is
//! signed in; there is no other way to the data.

mod act;
mod action;
mod call;
mod chart;
mod download;
mod form;
mod list;
mod mfa;
mod named;
mod oidc;
mod page;
mod passkey;
mod profile;
mod proxy_check;
mod session;
mod sessions;
mod tables;
mod template;
mod upload;
mod visit;
mod way;

use std::collections::BTreeMap;
use std::sync::Arc;

use ipnetwork::IpNetwork;
use minijinja::Environment;
use poem::endpoint::BoxEndpoint;
use poem::http::{Method, StatusCode, header};
use poem::{Endpoint, Request, Response, Route, RouteMethod};

use crate::app::App;
use crate::fair_limit::FairLimit;
use crate::origin::Origin;
use crate::store::AccountKey;
use crate::web::asset::{CSS, SCRIPT, SVG, file};
use crate::web::see_other;
use page::Shown;
use proxy_check::CheckCodes;
use session::{CONFIRM, Gate, MFA, PASSWORD, SESSIONS, SIGN_IN, SIGN_OUT};
use tables::{Action, Download, List, Page};

/// The operations of the API, as one endpoint.
pub type Answering = Arc<BoxEndpoint<'static, Response>>;

pub use proxy_check::CODE as PROXY_CHECK_CODE;

/// Where what a proxy sends is checked.
pub const PROXY_CHECK: &str = proxy_check::PATH;

/// Where the identity provider leads people back to.
pub const OIDC_RETURN: &str = oidc::RETURN;

/// A file of the console loads nothing.
const OWN: &str = "default-src 'none'; frame-ancestors 'none'";

/// What all pages share.
pub struct Console {
    app: Arc<App>,
    operations: Answering,
    /// Proxies that are believed about whom a request is from, and whether it came over HTTPS.
    trusted_proxies: Vec<IpNetwork>,
    /// Where people reach the console, as the configuration says.
    url: Option<Origin>,
    /// With which what a proxy sends may be read.
    check_codes: CheckCodes,
    templates: Arc<Environment<'static>>,
    /// Lists that are collected for a file, which are in memory as a whole.
    lists: FairLimit<AccountKey>,
}

impl Console {
    #[must_use]
    /// `summaries`: what each operation does, in words, by its name in the audit log.
    pub fn new(
        app: Arc<App>,
        operations: Answering,
        summaries: BTreeMap<String, String>,
        trusted_proxies: Vec<IpNetwork>,
        url: Option<Origin>,
    ) -> Arc<Self> {
        let templates = Arc::new(template::environment(&app, summaries));
        let lists = FairLimit::new(list::N_AT_ONCE_MAX, list::N_AT_ONCE_PER_USER);
        let check_codes = CheckCodes::default();
        Arc::new(Self { app, operations, trusted_proxies, url, check_codes, templates, lists })
    }
}

/// Adds the pages to other routes.
pub(super) fn routes(mut routes: Route, console: &Arc<Console>) -> Route {
    for page in tables::pages() {
        let action = tables::actions().find(|it| it.path == page.path);
        routes = routes.at(page.path, at(console, Place::Page(page, action)));
    }
    for action in tables::actions() {
        if tables::pages().all(|it| it.path != action.path) {
            routes = routes.at(action.path, at(console, Place::Form(action)));
        }
    }
    for file in tables::downloads() {
        routes = routes.at(file.path, at(console, Place::File(file)));
    }
    for list in tables::lists() {
        routes = routes.at(list.path(), at(console, Place::List(list)));
    }
    for step in mfa::Step::ALL {
        routes = routes.at(step.path(), at(console, Place::MfaStep(step)));
    }
    for step in passkey::Step::ALL {
        routes = routes.at(step.path(), at(console, Place::PasskeyStep(step)));
    }
    routes
        .at(passkey::PASSKEYS, at(console, Place::Passkeys))
        .at(SESSIONS, at(console, Place::Sessions))
        .at(MFA, at(console, Place::Mfa))
        .at(SIGN_IN, at(console, Place::SignIn))
        .at(oidc::SIGN_IN, at(console, Place::OidcSignIn))
        .at(oidc::RETURN, at(console, Place::OidcReturn))
        .at(oidc::CONFIRM, at(console, Place::OidcConfirm))
        .at(CONFIRM, at(console, Place::Confirm))
        .at(PASSWORD, at(console, Place::Password))
        .at(SIGN_OUT, at(console, Place::SignOut))
        .at(proxy_check::PATH, at(console, Place::ProxyCheck))
        .at(
            "/console/console.css",
            file(CSS, OWN, include_bytes!("../../../../assets/console/console.css")),
        )
        .at(
            "/console/console.js",
            file(SCRIPT, OWN, include_bytes!("../../../../assets/console/console.js")),
        )
        .at(
            "/console/icon.svg",
            file(SVG, OWN, include_bytes!("../../../../assets/console/icon.svg")),
        )
        .at("/:unknown", at(console, Place::Nowhere))
        .at("/:unknown/*rest", at(console, Place::Nowhere))
}

/// What is at an address.
#[derive(Clone, Copy)]
enum Place {
    Page(&'static Page, Option<&'static Action>),
    /// Only a form is sent here. Who comes back to it sees the page of the form.
    Form(&'static Action),
    File(&'static Download),
    List(&'static List),
    SignIn,
    OidcSignIn,
    OidcReturn,
    OidcConfirm,
    Confirm,
    Password,
    SignOut,
    Sessions,
    Mfa,
    MfaStep(mfa::Step),
    Passkeys,
    PasskeyStep(passkey::Step),
    ProxyCheck,
    Nowhere,
}

/// Answers requests for one address.
struct Here {
    console: Arc<Console>,
    place: Place,
}

impl Here {
    fn of(console: &Arc<Console>, place: Place) -> Self {
        Self { console: Arc::clone(console), place }
    }
}

fn at(console: &Arc<Console>, place: Place) -> RouteMethod {
    let method = RouteMethod::new().get(Here::of(console, place));
    match place {
        Place::Page(_, None)
        | Place::File(_)
        | Place::List(_)
        | Place::Mfa
        | Place::Passkeys
        | Place::OidcSignIn
        | Place::OidcReturn
        | Place::OidcConfirm
        | Place::ProxyCheck
        | Place::Nowhere => method,
        Place::Page(_, Some(_))
        | Place::Form(_)
        | Place::SignIn
        | Place::Confirm
        | Place::Password
        | Place::SignOut
        | Place::Sessions
        | Place::MfaStep(_)
        | Place::PasskeyStep(_) => method.post(Here::of(console, place)),
    }
}

impl Endpoint for Here {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let (console, request) = (&*self.console, &mut request);
        let is_sent = *request.method() == Method::POST;
        Ok(match self.place {
            Place::Page(page, Some(action)) if is_sent => {
                action::act(console, action, page, request).await
            }
            Place::Page(page, _) => show(console, page, request).await,
            Place::Form(action) if is_sent => {
                let page = tables::pages().find(|it| it.path == action.page);
                let page = page.expect("tests/it/console sends each form");
                action::act(console, action, page, request).await
            }
            Place::Form(action) => go_back(console, action, request).await,
            Place::File(file) => download::send(console, file, request).await,
            Place::List(list) => list::send(console, list, request).await,
            Place::SignIn if is_sent => session::sign_in(console, request).await,
            Place::SignIn => session::show_sign_in(console, request).await,
            Place::OidcSignIn => oidc::sign_in(console, request).await,
            Place::OidcReturn => oidc::finish(console, request).await,
            Place::OidcConfirm => oidc::confirm(console, request).await,
            Place::Confirm if is_sent => session::confirm(console, request).await,
            Place::Confirm => session::show_confirm(console, request).await,
            Place::Password if is_sent => session::change_password(console, request).await,
            Place::Password => session::show_password(console, request).await,
            Place::SignOut if is_sent => session::sign_out(console, request).await,
            Place::SignOut => see_other("/"),
            Place::Sessions if is_sent => sessions::end(console, request).await,
            Place::Sessions => sessions::show(console, request).await,
            Place::MfaStep(step) if is_sent => mfa::take(console, step, request).await,
            Place::Mfa | Place::MfaStep(_) => mfa::show(console, request).await,
            Place::Passkeys => passkey::show(console, request).await,
            Place::PasskeyStep(step) if is_sent => passkey::take(console, step, request).await,
            Place::PasskeyStep(step) => see_other(step.page()),
            Place::ProxyCheck => match proxy_check::answer(console, request) {
                Some(answer) => answer,
                None => return nowhere(console, request).await,
            },
            Place::Nowhere => return nowhere(console, request).await,
        })
    }
}

async fn show(console: &Console, page: &Page, request: &Request) -> Response {
    match session::enter(console, request, Gate::of(page)).await {
        Ok(visit) => page::show(console, page, &visit, &Shown::PLAIN).await,
        Err(instead) => *instead,
    }
}

async fn go_back(console: &Console, action: &Action, request: &Request) -> Response {
    match session::enter(console, request, Gate::Usual).await {
        Ok(visit) => see_other(&call::fill(action.page, &visit.parts, &visit.query)),
        Err(instead) => *instead,
    }
}

/// Answers where there is nothing.
pub(super) fn unknown(console: &Arc<Console>) -> RouteMethod {
    at(console, Place::Nowhere)
}

/// A page for people, and for programs the error of the API.
pub(super) async fn nowhere(console: &Console, request: &Request) -> poem::Result<Response> {
    let accepted = request.header(header::ACCEPT).unwrap_or_default();
    if !accepted.contains("text/html") {
        return Err(poem::error::NotFoundError.into());
    }
    let visit = session::enter(console, request, Gate::SignedIn).await.ok();
    let message = "There is nothing at this address.";
    Ok(page::problem(console, visit.as_ref(), StatusCode::NOT_FOUND, message))
}
