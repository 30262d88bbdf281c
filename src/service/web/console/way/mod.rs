//! How a request reached the console: what others on the way could read or change.

mod refusal;

use ipnetwork::IpNetwork;
use poem::Request;
use poem::http::uri::Scheme;
use poem::http::{HeaderMap, header};

use crate::auth::network::{holds, is_of_this_machine};
use crate::origin::{Origin, OriginScheme};
use crate::passkey::Site;
use crate::peer::Peer;

pub(super) use refusal::{Refusal, foreign_form, open_way};

/// The way of a request from the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// HTTPS up to this service.
    Encrypted,
    /// HTTPS up to a trusted proxy.
    Proxied,
    /// Plain HTTP that never left this machine.
    Loopback,
    /// Anything else: whoever is between can read a password.
    Open,
}

const X_FORWARDED_PROTO: &str = "X-Forwarded-Proto";
const X_FORWARDED_HOST: &str = "X-Forwarded-Host";

impl Way {
    pub(super) fn of(request: &Request, trusted_proxies: &[IpNetwork]) -> Self {
        let is_tls = *request.scheme() == Scheme::HTTPS;
        let peer = match request.data::<Peer>() {
            Some(Peer::Tcp(peer)) => Some(peer.ip()),
            Some(Peer::Socket { .. }) | None => None,
        };
        if peer.is_some_and(|it| holds(trusted_proxies, it)) {
            let is_https = match last_of(request.headers(), X_FORWARDED_PROTO) {
                Some(said) => said.trim().eq_ignore_ascii_case("https"),
                None => is_tls,
            };
            return if is_https { Self::Proxied } else { Self::Open };
        }
        if is_tls {
            return Self::Encrypted;
        }
        let is_own =
            peer.is_some_and(|it| is_of_this_machine(it, request.version(), request.headers()));
        if is_own { Self::Loopback } else { Self::Open }
    }

    const fn is_encrypted(self) -> bool {
        matches!(self, Self::Encrypted | Self::Proxied)
    }

    /// The cookie of the session. Browsers take the first name only over HTTPS, for one host, and from no other host.
    pub(super) const fn cookie(self) -> &'static str {
        if self.is_encrypted() { "__Host-posture" } else { "posture" }
    }

    /// The cookie of a sign-in at the identity provider, as [`Way::cookie`].
    pub(super) const fn oidc_cookie(self) -> &'static str {
        if self.is_encrypted() { "__Host-posture-oidc" } else { "posture-oidc" }
    }

    /// The cookie of a question for a passkey, as [`Way::cookie`].
    pub(super) const fn passkey_cookie(self) -> &'static str {
        if self.is_encrypted() { "__Host-posture-passkey" } else { "posture-passkey" }
    }

    /// The `Set-Cookie` header that keeps a value until the browser ends. An empty one removes it.
    pub(super) fn set_cookie(self, name: &str, value: &str) -> String {
        let age = if value.is_empty() { "; Max-Age=0" } else { "" };
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{}{age}", self.secure())
    }

    /// The `Set-Cookie` header that keeps a value for so long.
    pub(super) fn set_cookie_for(self, name: &str, value: &str, seconds: i64) -> String {
        let secure = self.secure();
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}; Max-Age={seconds}")
    }

    const fn secure(self) -> &'static str {
        if self.is_encrypted() { "; Secure" } else { "" }
    }
}

/// The last value of a header that may be a list, and may be there several times.
fn last_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get_all(name).iter().next_back()?.to_str().ok()?.rsplit(',').next()
}

/// The origins of the console, by the name that the browser asked for, and by those that a trusted proxy says that it was
/// asked for. No other site makes a browser send such a header.
fn named_origins(request: &Request, way: Way) -> Vec<Origin> {
    let scheme = if way.is_encrypted() { OriginScheme::Https } else { OriginScheme::Http };
    let headers = request.headers();
    let forwarded = headers.get_all(X_FORWARDED_HOST).iter().filter(|_| way == Way::Proxied);
    let forwarded = forwarded.filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(','));
    let hosts = request.header(header::HOST).into_iter().chain(forwarded);
    hosts.filter_map(|it| Origin::at(scheme, it.trim())).collect()
}

/// The console as one trusted proxy may hide it behind another name.
fn is_behind(way: Way, url: Option<&Origin>, origin: &Origin) -> bool {
    way == Way::Proxied && url.is_some_and(|it| it.is_https() && it == origin)
}

/// Returns true if a page of this console sent the form, as the browser says. A form that comes from no browser is refused.
///
/// `url`: where the configuration says that the console is. A proxy may have asked for it by a name of its own.
pub(super) fn is_own_form(request: &Request, way: Way, url: Option<&Origin>) -> bool {
    let mut origins = request.headers().get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (Some(origin), None) => {
            let origin = origin.to_str().ok().and_then(Origin::parse);
            origin.is_some_and(|it| {
                is_behind(way, url, &it) || named_origins(request, way).contains(&it)
            })
        }
        (None, _) => request.header("Sec-Fetch-Site") == Some("same-origin"),
        (Some(_), Some(_)) => false,
    }
}

/// Returns true if the browser asked for the console at this origin, as far as it is known: a proxy may have changed the port,
/// or have put a name of its own network in the place of that in the browser.
pub(super) fn is_at(request: &Request, way: Way, url: &Origin) -> bool {
    if let Some(origin) = request.header(header::ORIGIN).and_then(Origin::parse) {
        return origin == *url;
    }
    let may_stand_for = |it: &Origin| {
        let is_inner = it.name().is_none_or(|name| !name.contains('.'));
        way == Way::Proxied && (it.has_host_of(url) || is_inner)
    };
    named_origins(request, way).iter().any(|it| it == url || may_stand_for(it))
}

/// The site that the browser asked for the console at, for passkeys. `url`: where the configuration says that it is.
///
/// # Errors
/// Why there are no passkeys there, and what to do.
pub(super) fn site(request: &Request, way: Way, url: Option<&Origin>) -> Result<Site, String> {
    if way == Way::Loopback {
        let origins = named_origins(request, way);
        let origin = origins.first().ok_or("The browser does not say which host it asked for.")?;
        return Site::of(origin).ok_or_else(|| {
            let port = origin.port();
            format!(
                "Browsers have no passkeys for an address. Open http://localhost:{port} instead."
            )
        });
    }
    let Some(url) = url else {
        return Err(
            "Passkeys need the name of the console. An administrator must set server.public_url of the configuration, such as \
             https://posture.example.com, and start the service again."
                .to_owned(),
        );
    };
    let Some(site) = Site::of(url) else {
        return Err(format!(
            "Browsers have no passkeys for {url}. An administrator must set server.public_url of the configuration to an https URL \
             with a name, such as https://posture.example.com, and start the service again."
        ));
    };
    if !is_at(request, way, url) {
        return Err(format!(
            "Passkeys work at {} alone, which the configuration has. Open that address.",
            site.origin()
        ));
    }
    Ok(site)
}
