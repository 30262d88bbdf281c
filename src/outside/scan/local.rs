//! The network of this host: what it is attached to, its addresses, and the hardware addresses of its neighbors.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use if_addrs::IfAddr;
use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};

/// Networks for private use. Only these are meant by `attached`.
const PRIVATE: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/// The private networks that this host reaches without a gateway. Empty where the system does not report them.
///
/// For IPv4 these are the routes without a gateway, not the networks of the interfaces' addresses: a VPN's address often
/// has a prefix of 32 and a route to its network, and the network of an interface that is down is not reachable. Crates for
/// interface addresses do not report routes, so they are read from the kernel's table.
#[must_use]
pub fn attached_networks() -> Vec<IpNetwork> {
    let mut all = routes_of(&fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default());
    all.extend(interfaces().into_iter().filter_map(|it| match it {
        IfAddr::V4(_) => None,
        IfAddr::V6(it) => {
            let network = Ipv6Network::new(it.ip, it.prefixlen).ok()?;
            Ipv6Network::new(network.network(), it.prefixlen).ok().map(IpNetwork::V6)
        }
    }));
    let private: Vec<IpNetwork> = PRIVATE.iter().filter_map(|it| it.parse().ok()).collect();
    all.retain(|it| {
        private.iter().any(|outer| outer.contains(it.network()) && outer.prefix() <= it.prefix())
    });
    all.sort();
    all.dedup();
    all
}

/// Networks of the kernel's IPv4 routes that need no gateway.
fn routes_of(text: &str) -> Vec<IpNetwork> {
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, to, gateway, _, _, _, _, mask, ..] = words.as_slice() else { return None };
        let number = |hex: &str| u32::from_str_radix(hex, 16).ok().map(u32::swap_bytes);
        if number(gateway)? != 0 {
            return None;
        }
        let mask = number(mask)?;
        let prefix = u8::try_from(mask.leading_ones()).ok().filter(|_| mask != 0)?;
        Ipv4Network::new(Ipv4Addr::from(number(to)?), prefix).ok().map(IpNetwork::V4)
    };
    text.lines().skip(1).filter_map(route).collect()
}

/// Addresses of interfaces, in the network namespace of this thread. Empty where the system does not report them: that
/// takes a netlink socket.
fn interfaces() -> Vec<IfAddr> {
    if_addrs::get_if_addrs().unwrap_or_default().into_iter().map(|it| it.addr).collect()
}

/// The service's own listeners. A scan does not probe them.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    listeners: Vec<SocketAddr>,
    /// The addresses of this host, if a listener is on every address.
    addresses: Vec<IpAddr>,
}

impl Own {
    pub(super) fn of(listeners: &[SocketAddr]) -> Self {
        let is_everywhere = listeners.iter().any(|it| it.ip().is_unspecified());
        let addresses =
            if is_everywhere { interfaces().iter().map(IfAddr::ip).collect() } else { Vec::new() };
        Self { listeners: listeners.to_vec(), addresses }
    }

    pub(super) fn has(&self, address: IpAddr, port: u16) -> bool {
        self.listeners.iter().filter(|it| it.port() == port).any(|it| {
            let is_here = || address.is_loopback() || self.addresses.contains(&address);
            it.ip() == address || it.ip().is_unspecified() && is_here()
        })
    }
}

/// The hardware addresses of IPv4 neighbors, in lower case with colons.
pub(super) fn neighbors() -> BTreeMap<IpAddr, String> {
    neighbors_of(&fs::read_to_string("/proc/thread-self/net/arp").unwrap_or_default())
}

fn neighbors_of(text: &str) -> BTreeMap<IpAddr, String> {
    let neighbor = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, _, flags, mac, ..] = words.as_slice() else { return None };
        // Complete ones only.
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok()?;
        let mac = mac.to_lowercase();
        let is_known = flags & 2 != 0 && mac.len() == 17 && mac != "00:00:00:00:00:00";
        Some((address.parse().ok()?, mac)).filter(|_| is_known)
    };
    text.lines().skip(1).filter_map(neighbor).collect()
}
