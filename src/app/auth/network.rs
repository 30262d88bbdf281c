//! The network that a request comes from, and whether an API key may be used from it.

use std::net::{IpAddr, Ipv6Addr};

use ipnetwork::IpNetwork;

use crate::egress::http::header::HOST;
use crate::egress::http::{HeaderMap, Version};
use crate::error::{Error, Result};
use crate::origin::{Origin, OriginScheme};

/// Parses a network in CIDR notation. An address alone is a network of one address.
///
/// # Errors
/// `Invalid` if it is neither, or has host bits set.
pub fn parse(text: &str) -> Result<IpNetwork> {
    let network: IpNetwork = text
        .parse()
        .map_err(|_| Error::invalid(format!("`{text}` is not a network in CIDR notation")))?;
    if network.network() != network.ip() {
        let proper = format!("{}/{}", network.network(), network.prefix());
        return Err(Error::invalid(format!(
            "`{text}` has host bits set; did you mean `{proper}`?"
        )));
    }
    Ok(network)
}

/// Returns true if one of the networks contains the address. IPv4-mapped addresses count as IPv4.
#[must_use]
pub fn holds(networks: &[IpNetwork], address: IpAddr) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|it| it.contains(address))
}

/// The unit in which callers are counted: an IPv4 address, or an IPv6 /64, because one subscriber has a whole /64.
#[must_use]
pub fn source_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(it) => Ipv6Addr::from_bits(it.to_bits() >> 64 << 64).into(),
    }
}

/// The IPv6 /48 around an address, which one subscriber of a hoster may have. `None` for an IPv4 address.
#[must_use]
pub fn site_of(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(it) => Some(Ipv6Addr::from_bits(it.to_bits() >> 80 << 80).into()),
    }
}

/// Where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerAddress {
    /// The control socket of this machine.
    Socket,
    Ip(IpAddr),
    /// A trusted proxy forwarded something that is not an address. An allow-list must deny the request.
    Unreadable,
}

impl CallerAddress {
    /// `None` if it is not known or there is none.
    #[must_use]
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Ip(ip) => Some(ip),
            Self::Socket | Self::Unreadable => None,
        }
    }

    /// The network of an address; see [`source_of`].
    #[must_use]
    pub fn source(self) -> Self {
        match self {
            Self::Ip(ip) => Self::Ip(source_of(ip)),
            Self::Socket | Self::Unreadable => self,
        }
    }

    /// As the audit log shows it. `None`: the control socket.
    #[must_use]
    pub fn shown(self) -> Option<String> {
        match self {
            Self::Socket => None,
            Self::Ip(ip) => Some(ip.to_string()),
            Self::Unreadable => Some("unreadable".to_owned()),
        }
    }
}

/// The address of the client behind `peer`.
///
/// `forwarded` are the values of `X-Forwarded-For` in the order of the request. They are used only if the peer is a trusted
/// proxy, and are read from right to left up to the first hop that is not trusted. What is to the left of that hop came from
/// the caller and is not looked at.
#[must_use]
pub fn client_address(peer: IpAddr, forwarded: &[&[u8]], trusted: &[IpNetwork]) -> CallerAddress {
    let mut address = peer.to_canonical();
    for hop in forwarded.iter().rev().flat_map(|it| it.rsplit(|byte| *byte == b',')) {
        if !holds(trusted, address) {
            break;
        }
        let hop = str::from_utf8(hop.trim_ascii()).ok().and_then(|it| it.parse::<IpAddr>().ok());
        let Some(hop) = hop else { return CallerAddress::Unreadable };
        address = hop.to_canonical();
    }
    CallerAddress::Ip(address)
}

/// Headers that proxies add to requests.
pub const PROXY_HEADERS: [&str; 8] = [
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Proto",
    "X-Forwarded-Server",
    "X-Real-IP",
];

/// Returns true if a program of this machine sent the request, as far as it shows: a proxy of this machine is loopback too, but
/// its callers are not. Such a proxy adds a header, passes the name on that its callers asked for, or speaks HTTP/1.0.
///
/// A name that is not of this machine may also lead a browser here that another site gave the address to.
#[must_use]
pub fn is_of_this_machine(peer: IpAddr, version: Version, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|it| it.to_str().ok());
    let host = host.and_then(|it| Origin::at(OriginScheme::Http, it));
    peer.to_canonical().is_loopback()
        && Version::HTTP_11 <= version
        && !PROXY_HEADERS.iter().any(|it| headers.contains_key(*it))
        && host.is_some_and(|it| it.is_loopback())
}
