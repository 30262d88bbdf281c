//! From a request to a caller. The type that a handler asks for is the permission that it needs.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use poem::http::HeaderMap;
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaSecurityScheme, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};

use super::Web;
use super::problem::Failure;
use crate::auth::caller::Caller;
use crate::auth::keyring::Held;
use crate::auth::limit::{Limiter, Standing};
use crate::auth::network;
use crate::error::{Error, Result};
use crate::peer::Peer;
use crate::store::key::Scope;

/// Where the caller extractor leaves what the `RateLimit-*` headers will say.
#[derive(Clone, Default)]
pub struct LimitSlot(Arc<Mutex<Option<Standing>>>);

impl LimitSlot {
    fn put(&self, standing: Standing) {
        *self.0.lock().expect("no holder of this lock panics") = Some(standing);
    }

    pub fn take(&self) -> Option<Standing> {
        self.0.lock().expect("no holder of this lock panics").take()
    }
}

/// A scope as a type.
pub trait Permission: Send + Sync + 'static {
    const SCOPE: Scope;
}

macro_rules! permission {
    ($($name:ident)*) => {
        $(
            pub struct $name;

            impl Permission for $name {
                const SCOPE: Scope = Scope::$name;
            }
        )*
    };
}

permission!(ReadClients ReadAssets WriteAssets ReadScores ReadRisks ReadCompliance WriteAssessments);

/// The holder of an API key with the scope `P`, or the operator. Counts against the key's limits for the versioned
/// interface, or for the management API where the scope is of that.
pub struct By<P>(pub Caller, PhantomData<P>);

impl<'a, P: Permission> ApiExtractor<'a> for By<P> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        registry.create_security_scheme(
            "ApiKey",
            MetaSecurityScheme {
                ty: "apiKey",
                description: Some("An API key, `service_<prefix>_<secret>`, with the scope that the operation names."),
                name: Some("X-API-Key"),
                key_in: Some("header"),
                scheme: None,
                bearer_format: None,
                flows: None,
                openid_connect_url: None,
            },
        );
    }

    fn security_schemes() -> Vec<&'static str> {
        vec!["ApiKey"]
    }

    async fn from_request(
        request: &'a Request,
        _: &mut RequestBody,
        _: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let caller = key_caller(request, P::SCOPE).map_err(Failure::from)?;
        Ok(Self(caller, PhantomData))
    }
}

/// The holder of any API key, or the operator: for what is no client's. Counts, but not against the key's limits for
/// the versioned interface.
pub struct ByAnyKey;

impl<'a> ApiExtractor<'a> for ByAnyKey {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        By::<ReadClients>::register(registry);
    }

    fn security_schemes() -> Vec<&'static str> {
        By::<ReadClients>::security_schemes()
    }

    async fn from_request(
        request: &'a Request,
        _: &mut RequestBody,
        _: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let limiter = &web(request).app.management_limiter;
        counted_caller(request, limiter).map(|_| Self).map_err(|error| Failure::from(error).into())
    }
}

/// The administrator of this machine, through the control socket.
pub struct ByOperator(pub Caller);

impl<'a> ApiExtractor<'a> for ByOperator {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::SecurityScheme];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        registry.create_security_scheme(
            "ControlSocket",
            MetaSecurityScheme {
                ty: "http",
                description: Some(
                    "The control socket in the data directory, open to the service's own user.",
                ),
                name: None,
                key_in: None,
                scheme: Some("bearer"),
                bearer_format: None,
                flows: None,
                openid_connect_url: None,
            },
        );
    }

    fn security_schemes() -> Vec<&'static str> {
        vec!["ControlSocket"]
    }

    async fn from_request(
        request: &'a Request,
        _: &mut RequestBody,
        _: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        match operator(request) {
            Some(caller) => Ok(Self(caller)),
            None => Err(Failure::from(Error::unauthenticated(
                "this operation is for the control socket: run the posture command on the server",
            ))
            .into()),
        }
    }
}

/// What [`super::mount`] gave the request.
pub fn web(request: &Request) -> &Web {
    let web: &Arc<Web> = request.data().expect("mount gives every request its Web");
    web
}

/// Whoever may open the control socket owns the database file; only these are asked for no key.
fn operator(request: &Request) -> Option<Caller> {
    match request.data::<Peer>() {
        Some(Peer::Socket { uid }) => Some(Caller::Operator { uid: *uid }),
        Some(Peer::Tcp(_)) | None => None,
    }
}

/// In the order that the contract's answers need: 401, network 403, 429, scope 403.
fn key_caller(request: &Request, scope: Scope) -> Result<Caller> {
    let web = web(request);
    let limiter = match scope {
        Scope::WriteAssessments => &web.app.management_limiter,
        Scope::ReadClients
        | Scope::ReadAssets
        | Scope::WriteAssets
        | Scope::ReadScores
        | Scope::ReadRisks
        | Scope::ReadCompliance => &web.app.limiter,
    };
    let caller = counted_caller(request, limiter)?;
    caller.require(scope)?;
    Ok(caller)
}

/// Whoever calls, counted by this limiter.
fn counted_caller(request: &Request, limiter: &Limiter) -> Result<Caller> {
    let keys: Vec<_> = request.headers().get_all("X-API-Key").iter().collect();
    let presented = match keys.as_slice() {
        [] => {
            let missing = || Error::unauthenticated("API key missing or invalid");
            return operator(request).ok_or_else(missing);
        }
        [one] => one.to_str().unwrap_or_default(),
        _ => return Err(Error::unauthenticated("send X-API-Key once")),
    };
    let web = web(request);
    let now = web.app.clock.now();
    let held = web.app.keyring.verify(presented, now)?;
    check_network(request, web, &held)?;
    let quota = [held.key.per_minute, held.key.per_hour, held.key.per_day];
    let standing = limiter.take(held.key.id, quota, now);
    if let Some(slot) = request.data::<LimitSlot>() {
        slot.put(standing);
    }
    match standing.refused_s {
        Some(retry_s) => Err(Error::rate_limited(retry_s)),
        None => Ok(Caller::Key(held)),
    }
}

fn check_network(request: &Request, web: &Web, held: &Held) -> Result<()> {
    if held.networks.is_empty() {
        return Ok(());
    }
    let address = client_address(request, web);
    if address.is_some_and(|it| network::holds(&held.networks, it)) {
        return Ok(());
    }
    let shown = address.map_or_else(|| "an unreadable address".to_owned(), |it| it.to_string());
    tracing::warn!(key.prefix = %held.key.prefix, client.ip = %shown, "key `{}` was refused from {shown}", held.key.prefix);
    Err(Error::forbidden("API key not authorized from this network"))
}

/// `None`: the forwarding header of a trusted proxy is malformed, or there is no network behind the request.
fn client_address(request: &Request, web: &Web) -> Option<IpAddr> {
    let Some(Peer::Tcp(peer)) = request.data::<Peer>() else { return None };
    let forwarded = forwarded(request.headers())?;
    network::client_address(peer.ip(), &forwarded, &web.trusted_proxies)
}

fn forwarded(headers: &HeaderMap) -> Option<Vec<&str>> {
    headers.get_all("X-Forwarded-For").iter().map(|it| it.to_str().ok()).collect()
}
