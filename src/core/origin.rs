//! The origin of a page: its scheme, host and port.
//!
//! One origin has many spellings: browsers, proxies and people write the default port or leave it out, and write letters as
//! they like. What is read here is compared by what it means, so nothing else compares the texts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The limits of DNS.
const HOST_CHARS_MAX: usize = 253;
const LABEL_CHARS_MAX: usize = 63;

/// An origin. Two spellings of one origin are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    scheme: OriginScheme,
    host: OriginHost,
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginScheme {
    Http,
    Https,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OriginHost {
    Address(IpAddr),
    /// In lower case, without a dot at the end.
    Name(String),
}

impl OriginScheme {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Origin {
    /// Reads a URL that is an origin, with or without a slash at its end. `None`: it is none, or it has a path.
    #[must_use]
    pub fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let mut schemes = [OriginScheme::Http, OriginScheme::Https].into_iter();
        let scheme = schemes.find(|it| it.as_str().eq_ignore_ascii_case(scheme))?;
        Self::at(scheme, rest.strip_suffix('/').unwrap_or(rest))
    }

    /// The origin of pages at a host with or without a port, as a `Host` header names it. `None`: it is no host.
    #[must_use]
    pub fn at(scheme: OriginScheme, authority: &str) -> Option<Self> {
        let (host, port) = match authority.rfind(':').filter(|at| !authority[*at..].contains(']')) {
            Some(at) => (&authority[..at], &authority[at + 1..]),
            None => (authority, ""),
        };
        let port = match port {
            "" => scheme.default_port(),
            _ => read_port(port)?,
        };
        Some(Self { scheme, host: read_host(host)?, port })
    }

    #[must_use]
    pub const fn is_https(&self) -> bool {
        matches!(self.scheme, OriginScheme::Https)
    }

    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The name of the host. `None`: it has an address.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.host {
            OriginHost::Name(name) => Some(name),
            OriginHost::Address(_) => None,
        }
    }

    /// Returns true for a name or an address of this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            OriginHost::Name(name) => name == "localhost",
            OriginHost::Address(address) => address.to_canonical().is_loopback(),
        }
    }

    /// Returns true if the hosts are the same, whatever the ports are.
    #[must_use]
    pub fn has_host_of(&self, other: &Self) -> bool {
        self.host == other.host
    }
}

/// As browsers write it.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme.as_str();
        match &self.host {
            OriginHost::Name(name) => write!(f, "{scheme}://{name}")?,
            OriginHost::Address(IpAddr::V4(address)) => write!(f, "{scheme}://{address}")?,
            OriginHost::Address(IpAddr::V6(address)) => write!(f, "{scheme}://[{address}]")?,
        }
        if self.port == self.scheme.default_port() {
            return Ok(());
        }
        write!(f, ":{}", self.port)
    }
}

fn read_port(digits: &str) -> Option<u16> {
    let is_number = digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten().filter(|it| *it != 0)
}

fn read_host(text: &str) -> Option<OriginHost> {
    if let Some(inside) = text.strip_prefix('[') {
        let address = inside.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?;
        return Some(OriginHost::Address(address.into()));
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_label = |it: &str| {
        let fits = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'_';
        (1..=LABEL_CHARS_MAX).contains(&it.len()) && it.bytes().all(fits)
    };
    if HOST_CHARS_MAX < name.len() || !name.split('.').all(is_label) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    // To browsers, a host that ends in a number is an IPv4 address: 127.1, 0x7f.1.
    let last = name.rsplit('.').next().unwrap_or(&name);
    let is_hex = |it: &str| it.bytes().all(|it| it.is_ascii_hexdigit());
    if last.bytes().all(|it| it.is_ascii_digit()) || last.strip_prefix("0x").is_some_and(is_hex) {
        return name.parse::<Ipv4Addr>().ok().map(|it| OriginHost::Address(it.into()));
    }
    Some(OriginHost::Name(name))
}
