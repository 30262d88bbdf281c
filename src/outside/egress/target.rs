//! The URL of a request, parsed once, so that what is checked is also what is called.

use std::net::{IpAddr, Ipv6Addr};

use ureq::http::Uri;

use crate::egress::refusal::Refusal;

/// Longer URLs are refused.
pub const URL_CHARS_MAX: usize = 2_048;
/// The limits of DNS.
const HOST_CHARS_MAX: usize = 253;
const LABEL_CHARS_MAX: usize = 63;
/// Names below these domains are not in the public DNS.
const PRIVATE_DOMAINS: &[&str] =
    &["home.arpa", "internal", "intranet", "lan", "local", "localdomain", "localhost"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetHost {
    Address(IpAddr),
    /// In lower case, without a trailing dot.
    Name(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) scheme: Scheme,
    pub(super) host: TargetHost,
    pub(super) port: u16,
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(why.into()))
}

/// Returns true for an absolute `http:` or `https:` URL that every reader of URLs reads alike, without a user and a
/// fragment.
#[must_use]
pub fn is_url(text: &str) -> bool {
    parse(text).is_ok()
}

/// Returns true if two URLs have one origin, however it is written: in capitals, or with the default port (RFC 3986, 6.2.2
/// and 6.2.3).
#[must_use]
pub fn is_same_origin(one: &str, other: &str) -> bool {
    let target = |url: &str| Target::of(&parse(url).ok()?).ok();
    target(one).is_some_and(|it| target(other) == Some(it))
}

/// Returns true for the name or an address of this machine itself.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

/// Accepts only URLs that all parsers read the same way.
pub(super) fn parse(url: &str) -> Result<Uri, Refusal> {
    if URL_CHARS_MAX < url.len() {
        return refuse(format!("must have at most {URL_CHARS_MAX} characters"));
    }
    if !url.bytes().all(|it| it.is_ascii_graphic() && it != b'\\') {
        return refuse(
            "must be ASCII without spaces and `\\`; write an international name as `xn--...`",
        );
    }
    if url.contains('#') {
        return refuse("must not have a fragment (`#`)");
    }
    let Ok(uri) = url.parse::<Uri>() else {
        return refuse("must be a URL like `https://hooks.example.com/posture`");
    };
    Target::of(&uri)?;
    Ok(uri)
}

impl Target {
    pub(super) fn of(uri: &Uri) -> Result<Self, Refusal> {
        let scheme = match uri.scheme_str() {
            Some("https") => Scheme::Https,
            Some("http") => Scheme::Http,
            _ => return refuse("must begin with `https://`"),
        };
        let Some(authority) = uri.authority() else { return refuse("must contain a host") };
        if authority.as_str().contains('@') {
            return refuse("must not contain a user name or password (`@`)");
        }
        let port = match (authority.as_str().strip_prefix(authority.host()), scheme) {
            (Some(""), Scheme::Http) => 80,
            (Some(""), Scheme::Https) => 443,
            (rest, _) => match rest.and_then(|it| it.strip_prefix(':')).map(port) {
                Some(Some(port)) => port,
                Some(None) | None => return refuse("must have a port from 1 to 65535"),
            },
        };
        Ok(Self { scheme, host: host(authority.host())?, port })
    }

    /// Returns true if the name cannot be that of a public host.
    pub(super) fn is_private_name(&self) -> bool {
        let TargetHost::Name(name) = &self.host else { return false };
        let below = |domain: &&str| {
            name.strip_suffix(*domain).is_some_and(|it| it.is_empty() || it.ends_with('.'))
        };
        !name.contains('.') || PRIVATE_DOMAINS.iter().any(below)
    }
}

fn port(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|it| it.is_ascii_digit()) && !digits.starts_with('0');
    plain.then(|| digits.parse().ok()).flatten()
}

fn host(text: &str) -> Result<TargetHost, Refusal> {
    if let Some(inside) = text.strip_prefix('[') {
        let address = inside.strip_suffix(']').and_then(|it| it.parse::<Ipv6Addr>().ok());
        let Some(address) = address else {
            return refuse("must have an IPv6 address without a zone between `[` and `]`");
        };
        return Ok(TargetHost::Address(address.into()));
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(TargetHost::Address(address));
    }
    if HOST_CHARS_MAX < text.len() {
        return refuse(format!("must have a host of at most {HOST_CHARS_MAX} characters"));
    }
    let is_label = |it: &str| {
        let plain = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'_';
        (1..=LABEL_CHARS_MAX).contains(&it.len())
            && it.bytes().all(plain)
            && !it.starts_with('-')
            && !it.ends_with('-')
    };
    if !text.split('.').all(is_label) {
        return refuse(
            "must have a host of letters and digits, with single `.`, `-` or `_` between them, and at most 63 characters per part",
        );
    }
    let name = text.to_ascii_lowercase();
    // To most resolvers a name that ends in a number is an IPv4 address: 127.1, 0x7f.1, 2130706433.
    let last = name.rsplit('.').next().unwrap_or(&name);
    let is_hex = |it: &str| it.bytes().all(|it| it.is_ascii_hexdigit());
    if last.bytes().all(|it| it.is_ascii_digit()) || last.strip_prefix("0x").is_some_and(is_hex) {
        return refuse("must have an IPv4 address as four decimal numbers without leading zeros");
    }
    Ok(TargetHost::Name(name))
}
