//! From a request to its caller. The type that a handler takes is the permission that it requires.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard};

use poem::http::{HeaderMap, HeaderValue, header};
use poem::{FromRequest, Request, RequestBody};
use poem_openapi::registry::{MetaSecurityScheme, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};

use crate::api::Web;
use crate::api::edge::operation::Operations;
use crate::api::edge::right::Right;
use crate::api::wire::problem::Failure;
use crate::app::App;
use crate::auth::caller::{Account, Caller, Principal};
use crate::auth::key::KeyText;
use crate::auth::keyring::HeldKey;
use crate::auth::limit::{Quota, Standing, UNLIMITED};
use crate::auth::network::{self, CallerAddress};
use crate::error::{Error, Result};
use crate::peer::Peer;
use crate::request;
use crate::store::global::audit::PendingAct;
use crate::store::global::console_session::Proof;
use crate::store::global::user::Role;

/// What is known about a request's caller before its handler runs.
#[derive(Debug, Default)]
pub struct Noted {
    /// For the `RateLimit-*` headers.
    pub standing: Option<Standing>,
    pub caller: Option<Caller>,
}

/// Where the caller extractor stores it for the edge.
#[derive(Clone)]
pub struct CallerSlot {
    /// The number of the operation.
    operation: Option<usize>,
    noted: Arc<Mutex<Noted>>,
}

impl CallerSlot {
    pub fn of(operation: Option<usize>) -> Self {
        Self { operation, noted: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().expect("no holder of this lock panics")
    }

    pub fn take(&self) -> Noted {
        std::mem::take(&mut *self.lock())
    }
}

const API_KEY: &str = "ApiKey";

/// The security scheme of the document for the tokens of users with at least this role.
const fn token_scheme(role: Role) -> (&'static str, &'static str) {
    match role {
        Role::Viewer => ("Viewer", "The token of any user, from `POST /auth/login`."),
        Role::Analyst => ("Analyst", "The token of an analyst or admin, from `POST /auth/login`."),
        Role::Admin => ("Admin", "The token of an admin, from `POST /auth/login`."),
    }
}

/// A caller with the right `R`, or the operator.
pub struct By<R>(pub Caller, PhantomData<R>);

impl<R: Right> By<R> {
    /// The caller as it is now, if it still has the right. For an answer that takes long.
    ///
    /// # Errors
    /// `Unauthenticated` or `Forbidden`. The network and the end of a session are looked at only when a request arrives.
    pub fn again(&self, app: &App) -> Result<Caller> {
        let caller = app.current(&self.0)?;
        require_right::<R>(app, &caller)?;
        Ok(caller)
    }
}

impl<'a, R: Right> ApiExtractor<'a> for By<R> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        let scheme = |ty, description| MetaSecurityScheme {
            ty,
            description: Some(description),
            name: None,
            key_in: None,
            scheme: None,
            bearer_format: None,
            flows: None,
            openid_connect_url: None,
        };
        let key = "An API key, `service_<prefix>_<secret>`, with the scope that the operation names. Outside of \
            `/api/v1` it can also be sent as `Authorization: Bearer <key>`.";
        let key = MetaSecurityScheme {
            name: Some("X-API-Key"),
            key_in: Some("header"),
            ..scheme("apiKey", key)
        };
        registry.create_security_scheme(API_KEY, key);
        let Some(role) = R::ROLE else { return };
        let (name, description) = token_scheme(role);
        let token = MetaSecurityScheme { scheme: Some("bearer"), ..scheme("http", description) };
        registry.create_security_scheme(name, token);
    }

    fn security_schemes() -> Vec<&'static str> {
        let token = R::ROLE.map(|it| token_scheme(it).0);
        let takes_keys = R::ROLE.is_none() || !R::SCOPES.is_empty();
        token.into_iter().chain(takes_keys.then_some(API_KEY)).collect()
    }

    async fn from_request(
        request: &'a Request,
        _: &mut RequestBody,
        _: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let caller = caller::<R>(request).map_err(Failure::from)?;
        Ok(Self(caller, PhantomData))
    }
}

/// Where a request came from, and its act, for operations whose caller is not known yet.
pub struct Origin {
    pub address: CallerAddress,
    pub act: PendingAct,
}

impl<'a> FromRequest<'a> for Origin {
    async fn from_request(request: &'a Request, _: &mut RequestBody) -> poem::Result<Self> {
        refuse_encoding(request).map_err(Failure::from)?;
        let act = request.data::<PendingAct>().cloned().unwrap_or_default();
        Ok(Self { address: client_address(request, web(request)), act })
    }
}

/// What [`crate::api::mount`] gave the request.
pub fn web(request: &Request) -> &Web {
    let web: &Arc<Web> = request.data().expect("mount gives every request its Web");
    web
}

/// The operator: a caller on the control socket. Only the owner of the database file can open it, so no credential is
/// required.
fn operator(request: &Request) -> Option<Principal> {
    match request.data::<Peer>() {
        Some(Peer::Socket { uid }) => Some(Principal::Operator { uid: *uid }),
        Some(Peer::Tcp(_)) | None => None,
    }
}

/// The user in whose name a page of the console sends the request. No request that came over a network has one.
fn signed_in(request: &Request) -> Option<Principal> {
    request.data::<Principal>().cloned()
}

/// The credential of a request.
enum Credential<'a> {
    Key(&'a str),
    Token(&'a str),
    Nothing,
}

/// Checks the caller in the order of the contract: 401, network 403, 429, role or scope 403, then the names in the query.
///
/// # Errors
/// The first of them.
pub(in crate::api) fn caller<R: Right>(request: &Request) -> Result<Caller> {
    let app = &web(request).app;
    let slot = request.data::<CallerSlot>().expect("the edge gives every request a slot");
    let caller = Caller::new(identify::<R>(request)?);
    // Only a page of the console says how its user proved to be there.
    let caller = match request.data::<Proof>() {
        Some(proof) => caller.proven_by(*proof),
        None => caller,
    };
    slot.lock().caller = Some(caller.clone());
    if let Principal::Key(held) = &caller.identity {
        check_network(request, web(request), held)?;
    }
    if let Some(standing) = count::<R>(app, &caller) {
        slot.lock().standing = Some(standing);
        if let Some(retry_s) = standing.refused_s {
            return Err(Error::rate_limited(retry_s));
        }
    }
    require_right::<R>(app, &caller)?;
    refuse_encoding(request)?;
    if let Some(query) = request.uri().query().filter(|_| !ignores_unknown_parameters::<R>()) {
        let operations: &Operations = request.data().expect("mount gives every request these");
        operations.check_query(slot.operation, query)?;
    }
    // Too many assets are pushed to record each. The edge counts them instead.
    let act = request.data::<PendingAct>().filter(|_| R::ROLE.is_some());
    Ok(match act {
        Some(act) => caller.acting(act.clone()),
        None => caller,
    })
}

fn require_right<R: Right>(app: &App, caller: &Caller) -> Result<()> {
    caller.require(R::SCOPES, R::ROLE.unwrap_or(Role::Admin))?;
    match &caller.identity {
        Principal::Key(held) if R::FOR_ALL_CLIENTS && !held.key.clients.is_empty() => {
            Err(Error::forbidden("an API key that is limited to clients cannot do this"))
        }
        Principal::User(user) if user.must_change_password && !R::BEFORE_SET_UP => {
            let rule = "change your initial password first: PUT /api/me/password";
            Err(Error::forbidden(rule))
        }
        Principal::User(user)
            if !R::BEFORE_SET_UP && !caller.used_passkey() && app.must_set_up_mfa(user) =>
        {
            Err(Error::forbidden("set up a second factor first: POST /api/me/mfa"))
        }
        Principal::Key(_) | Principal::User(_) | Principal::Operator { .. } => Ok(()),
    }
}

/// Returns true for the operations of the contract, whose callers may send what later versions know: the versioned interface,
/// and the second group, whose operations have limits of their own.
fn ignores_unknown_parameters<R: Right>() -> bool {
    R::ROLE.is_none() || R::OF_SECOND_GROUP
}

fn identify<R: Right>(request: &Request) -> Result<Principal> {
    let web = web(request);
    let now = web.app.clock.now();
    let is_versioned = R::ROLE.is_none();
    let shown = if R::OF_PROWLER {
        shown_to_prowler(request.headers())?
    } else {
        shown(request.headers(), is_versioned)?
    };
    match shown {
        Credential::Key(key) => web.app.access.keyring.verify(key, now).map(Principal::Key),
        Credential::Token(token) => web.app.bearer(token).map(Principal::User),
        Credential::Nothing if !is_versioned && let Some(user) = signed_in(request) => Ok(user),
        Credential::Nothing => operator(request).ok_or_else(|| {
            Error::unauthenticated(if is_versioned {
                "API key missing or invalid"
            } else {
                "token missing; log in with POST /auth/login"
            })
        }),
    }
}

fn shown(headers: &HeaderMap, is_versioned: bool) -> Result<Credential<'_>> {
    let keys: Vec<_> = headers.get_all("X-API-Key").iter().collect();
    if let [key] = keys.as_slice() {
        return Ok(Credential::Key(key.to_str().unwrap_or_default()));
    }
    if !keys.is_empty() {
        return Err(Error::unauthenticated("send X-API-Key once"));
    }
    if is_versioned {
        return match misplaced(headers) {
            Some(hint) => Err(Error::unauthenticated(hint)),
            None => Ok(Credential::Nothing),
        };
    }
    let credentials: Vec<_> = headers.get_all(header::AUTHORIZATION).iter().collect();
    let credential = match credentials.as_slice() {
        [] => return Ok(Credential::Nothing),
        [one] => one.to_str().unwrap_or_default(),
        _ => return Err(Error::unauthenticated("send Authorization once")),
    };
    let malformed = || Error::unauthenticated("Authorization must be `Bearer <token>`");
    let (scheme, credential) = credential.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("Bearer") {
        return Err(malformed());
    }
    let is_key = credential.starts_with("service_");
    Ok(if is_key { Credential::Key(credential) } else { Credential::Token(credential) })
}

/// The credential as Prowler sends it, or as the versioned interface takes it.
fn shown_to_prowler(headers: &HeaderMap) -> Result<Credential<'_>> {
    let given: Vec<_> = headers.get_all(header::AUTHORIZATION).iter().collect();
    let [one] = given.as_slice() else { return shown(headers, true) };
    let words = one.to_str().ok().and_then(|it| it.split_once(' '));
    match words.filter(|it| it.0.eq_ignore_ascii_case("Api-Key")) {
        Some((_, key)) if !headers.contains_key("X-API-Key") => Ok(Credential::Key(key)),
        Some(_) => Err(Error::unauthenticated("send the API key in one header")),
        None => shown(headers, true),
    }
}

/// What to tell a caller of the versioned interface who sends a credential where it is not looked at. It is only recognized,
/// not verified, so that the answer says nothing about it.
fn misplaced(headers: &HeaderMap) -> Option<&'static str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = given.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Bearer") {
        return None;
    }
    if KeyText::parse(credential).is_some() {
        return Some(
            "API key missing or invalid; send the key in the header X-API-Key, not as Authorization: Bearer",
        );
    }
    let is_token = credential.starts_with("eyJ") && credential.matches('.').count() == 2;
    is_token.then_some(
        "API key missing or invalid; /api/v1 takes an API key in the header X-API-Key, not the token of a login",
    )
}

/// Refuses a compressed body: none is decompressed, and its bytes would be taken for the content.
fn refuse_encoding(request: &Request) -> Result<()> {
    let encodings = request.headers().get_all(header::CONTENT_ENCODING).iter();
    let is_plain =
        |it: &HeaderValue| it.to_str().is_ok_and(|it| it.trim().eq_ignore_ascii_case("identity"));
    if encodings.filter(|it| !is_plain(it)).count() == 0 {
        return Ok(());
    }
    Err(Error::unsupported_media_type(
        "send the body without Content-Encoding; compressed bodies are not accepted",
    ))
}

/// How many requests a user may send to the management API, unless an operation has its own limit. A console sends many.
const USER_QUOTA: Quota = [600, 20_000, UNLIMITED];

/// Counts the request. `None` for the operator, who has no limits.
fn count<R: Right>(app: &App, caller: &Caller) -> Option<Standing> {
    let account = caller.account();
    let now = app.clock.now();
    let is_versioned = R::ROLE.is_none() && !R::OF_PROWLER;
    if let (Principal::Key(held), false) = (&caller.identity, is_versioned) {
        app.access.limiter.note_use(held.key.id, now);
    }
    if let (Some((operation, quota)), false) = (R::QUOTA, account == Account::Operator) {
        return Some(app.access.operation_limiter.take((account, operation), quota, now));
    }
    match &caller.identity {
        Principal::Key(held) => {
            let quota = [held.key.per_minute, held.key.per_hour, held.key.per_day];
            Some(if is_versioned {
                app.access.limiter.take(held.key.id, quota, now)
            } else {
                app.access.management_limiter.take(account, quota, now)
            })
        }
        Principal::User(_) => Some(app.access.management_limiter.take(account, USER_QUOTA, now)),
        Principal::Operator { .. } => None,
    }
}

/// Calls with one key from outside its networks. Who stole a key must not fill the log and the audit log with it, nor use
/// up what its owner may send.
const WRONG_NETWORK_QUOTA: Quota = [60, UNLIMITED, UNLIMITED];

fn check_network(request: &Request, web: &Web, held: &HeldKey) -> Result<()> {
    if held.networks.is_empty() {
        return Ok(());
    }
    let address = client_address(request, web);
    if address.ip().is_some_and(|it| network::holds(&held.networks, it)) {
        return Ok(());
    }
    let (access, now) = (&web.app.access, web.app.clock.now());
    let standing = access.wrong_network_limiter.take(held.key.id, WRONG_NETWORK_QUOTA, now);
    if let Some(retry_s) = standing.refused_s {
        return Err(Error::rate_limited(retry_s));
    }
    if standing.remaining + 1 == standing.limit {
        let shown = match address {
            CallerAddress::Ip(ip) => ip.to_string(),
            CallerAddress::Socket | CallerAddress::Unreadable => "an unknown address".to_owned(),
        };
        tracing::warn!(
            key.prefix = %held.key.prefix, client.ip = %shown, request_id = request::id().as_deref(),
            "API key `{}` was denied from {shown}, which is not in its networks; further denials of this key within a \
             minute are only counted in the audit log", held.key.prefix
        );
    }
    Err(Error::forbidden("API key not authorized from this network"))
}

/// Where the request came from: the peer of the connection, or whom a trusted proxy names.
pub(in crate::api) fn client_address(request: &Request, web: &Web) -> CallerAddress {
    let Some(Peer::Tcp(peer)) = request.data::<Peer>() else { return CallerAddress::Socket };
    let forwarded = request.headers().get_all("X-Forwarded-For");
    let forwarded: Vec<_> = forwarded.iter().map(HeaderValue::as_bytes).collect();
    if !forwarded.is_empty() && web.trusted_proxies.is_empty() {
        web.untrusted_proxy.call_once(|| {
            let proxy = peer.ip();
            tracing::warn!("{proxy} sends X-Forwarded-For, but server.trusted_proxies is empty: all callers behind it share its address");
        });
    }
    network::client_address(peer.ip(), &forwarded, &web.trusted_proxies)
}
