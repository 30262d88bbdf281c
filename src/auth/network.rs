//! The network that a request comes from, and whether an API key may be used from it.

use std::net::{IpAddr, Ipv6Addr};

use ipnetwork::IpNetwork;

use crate::error::{Error, Result};

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

/// The address of the client behind `peer`.
///
/// `forwarded` are the values of `X-Forwarded-For` in the order of the request. They are used only if the peer is a trusted
/// proxy, and are read from right to left up to the first hop that is not trusted. `None`: the header is malformed and the
/// address unknown; an allow-list must then deny the request.
#[must_use]
pub fn client_address(peer: IpAddr, forwarded: &[&str], trusted: &[IpNetwork]) -> Option<IpAddr> {
    let mut address = peer.to_canonical();
    let hops = forwarded.iter().flat_map(|it| it.split(',')).map(str::trim);
    for hop in hops.collect::<Vec<_>>().into_iter().rev() {
        if !holds(trusted, address) {
            return Some(address);
        }
        address = hop.parse::<IpAddr>().ok()?.to_canonical();
    }
    Some(address)
}
