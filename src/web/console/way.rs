//! How a request reached the console: what others on the way could read or change.

use std::net::IpAddr;

use ipnetwork::IpNetwork;
use poem::Request;
use poem::http::uri::{Authority, Scheme};
use poem::http::{HeaderMap, header};

use crate::auth::network::holds;
use crate::passkey::Site;
use crate::peer::Peer;

/// The way of a request from the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// HTTPS, up to this service or up to a trusted proxy.
    Encrypted,
    /// Plain HTTP that never left this machine.
    Loopback,
    /// Anything else: whoever is between can read a password.
    Open,
}

/// Headers that a proxy adds.
const PROXY_HEADERS: [&str; 5] =
    ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Via"];

impl Way {
    pub(super) fn of(request: &Request, trusted_proxies: &[IpNetwork]) -> Self {
        if *request.scheme() == Scheme::HTTPS {
            return Self::Encrypted;
        }
        let Some(Peer::Tcp(peer)) = request.data::<Peer>() else { return Self::Open };
        let headers = request.headers();
        if holds(trusted_proxies, peer.ip()) {
            let is_https = |it: &str| it.trim().eq_ignore_ascii_case("https");
            let last = last_of(headers, "X-Forwarded-Proto");
            return if last.is_some_and(is_https) { Self::Encrypted } else { Self::Open };
        }
        let is_direct = !PROXY_HEADERS.iter().any(|it| headers.contains_key(*it));
        let names_loopback = host(request).is_some_and(|it| is_loopback(&it));
        if peer.ip().is_loopback() && is_direct && names_loopback {
            return Self::Loopback;
        }
        Self::Open
    }

    /// The cookie of the session. Browsers take the first name only over HTTPS, for one host, and from no other host.
    pub(super) const fn cookie(self) -> &'static str {
        match self {
            Self::Encrypted => "__Host-posture",
            Self::Loopback | Self::Open => "posture",
        }
    }

    /// The cookie of a sign-in at the identity provider, as [`Way::cookie`].
    pub(super) const fn oidc_cookie(self) -> &'static str {
        match self {
            Self::Encrypted => "__Host-posture-oidc",
            Self::Loopback | Self::Open => "posture-oidc",
        }
    }

    /// The cookie of a question for a passkey, as [`Way::cookie`].
    pub(super) const fn passkey_cookie(self) -> &'static str {
        match self {
            Self::Encrypted => "__Host-posture-passkey",
            Self::Loopback | Self::Open => "posture-passkey",
        }
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
        match self {
            Self::Encrypted => "; Secure",
            Self::Loopback | Self::Open => "",
        }
    }
}

/// The host that the browser asked for.
fn host(request: &Request) -> Option<Authority> {
    let named = || request.header(header::HOST)?.parse().ok();
    request.uri().authority().cloned().or_else(named)
}

/// Returns true for a name or an address of this machine.
fn is_loopback(host: &Authority) -> bool {
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|it: IpAddr| it.is_loopback())
}

fn last_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get_all(name).iter().next_back()?.to_str().ok()?.rsplit(',').next()
}

/// Returns true if a page of this console sent the form, as the browser says. A form that comes from no browser is refused.
pub(super) fn is_own_form(request: &Request, way: Way) -> bool {
    match request.header(header::ORIGIN) {
        Some(origin) => own_origins(request, way).iter().any(|it| it == origin),
        None => request.header("Sec-Fetch-Site") == Some("same-origin"),
    }
}

/// Returns true if the browser asked for the console by this URL, which has no path.
pub(super) fn is_at(request: &Request, way: Way, url: &str) -> bool {
    own_origins(request, way).iter().any(|it| it.eq_ignore_ascii_case(url))
}

/// The site that the browser asked for the console at, for passkeys. `url`: where the configuration says that it is.
///
/// # Errors
/// Why there are no passkeys there, and what to do.
pub(super) fn site(request: &Request, way: Way, url: Option<&str>) -> Result<Site, String> {
    if way == Way::Loopback {
        let origin = own_origins(request, way).swap_remove(0);
        return Site::of(&origin).ok_or_else(|| {
            let port = origin.rsplit_once(':').map_or("", |it| it.1.trim_end_matches(']'));
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
    if !is_at(request, way, site.origin()) {
        return Err(format!(
            "Passkeys work at {} alone, which the configuration has. Open that address.",
            site.origin()
        ));
    }
    Ok(site)
}

/// The origin of the console, by the name that the browser asked for and by the one that the proxy was asked for.
fn own_origins(request: &Request, way: Way) -> Vec<String> {
    let scheme = match way {
        Way::Encrypted => "https",
        Way::Loopback | Way::Open => "http",
    };
    let forwarded = last_of(request.headers(), "X-Forwarded-Host").map(str::trim);
    // Only a trusted proxy makes a way encrypted that is not HTTPS up to here.
    let is_proxied = way == Way::Encrypted && *request.scheme() != Scheme::HTTPS;
    let forwarded = forwarded.filter(|_| is_proxied).map(str::to_owned);
    let hosts = host(request).map(|it| it.to_string()).into_iter().chain(forwarded);
    hosts.map(|it| format!("{scheme}://{it}")).collect()
}
