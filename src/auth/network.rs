//! Which network a request came from, and whether that network may use a key.

use std::net::{IpAddr, Ipv6Addr};

use ipnetwork::IpNetwork;

use crate::error::{Error, Result};

/// Reads a network in CIDR notation; a bare address is a network of one.
///
/// # Errors
/// `Invalid` when it is neither, or has host bits set.
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

/// Whether one of the networks holds the address. IPv4-mapped addresses count as IPv4.
#[must_use]
pub fn holds(networks: &[IpNetwork], address: IpAddr) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|it| it.contains(address))
}

/// What stands for an address where callers are counted: one subscriber has a whole IPv6 /64.
#[must_use]
pub fn source_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(it) => Ipv6Addr::from_bits(it.to_bits() >> 64 << 64).into(),
    }
}

/// The address of the client behind `peer`.
///
/// `forwarded` are the values of `X-Forwarded-For` in the order of the request; they count only when the peer is a
/// trusted proxy, and are read right to left up to the first hop that is not trusted. `None`: the header is malformed,
/// so that nothing can be said; an allow-list must then refuse.
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
