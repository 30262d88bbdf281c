//! This machine's own network: what it is attached to, its addresses, and the hardware addresses of its neighbours.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};

/// Networks for private use: only these are meant by `attached`.
const PRIVATE: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/// The private networks that an interface of this machine is in, as the kernel's tables tell them. None where there are no
/// such tables.
#[must_use]
pub fn attached_networks() -> Vec<IpNetwork> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut all = routes_of(&read("/proc/thread-self/net/route"));
    all.extend(interfaces_of(&read("/proc/thread-self/net/if_inet6")).into_iter().filter_map(
        |(address, prefix)| {
            let network = Ipv6Network::new(address, prefix).ok()?;
            Ipv6Network::new(network.network(), prefix).ok().map(IpNetwork::V6)
        },
    ));
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

/// IPv6 addresses of interfaces, with the length of their prefix.
fn interfaces_of(text: &str) -> Vec<(Ipv6Addr, u8)> {
    let interface = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u128::from_str_radix(words.next()?, 16).ok()?;
        let prefix = u8::from_str_radix(words.nth(1)?, 16).ok()?;
        Some((Ipv6Addr::from(address), prefix))
    };
    text.lines().filter_map(interface).collect()
}

/// Addresses of this machine, without those of loopback.
fn own_addresses() -> Vec<IpAddr> {
    let trie = fs::read_to_string("/proc/thread-self/net/fib_trie").unwrap_or_default();
    let mut all = Vec::new();
    let mut last = None;
    for line in trie.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line.starts_with("/32 host LOCAL") {
            all.extend(last.filter(|it| !it.is_loopback()).map(IpAddr::V4));
        }
    }
    all.sort();
    all.dedup();
    let v6 =
        interfaces_of(&fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default());
    all.extend(v6.into_iter().map(|(address, _)| IpAddr::V6(address)));
    all
}

/// The service's own listeners, none of which a scan calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    listeners: Vec<SocketAddr>,
    /// Filled where a listener is on every address.
    addresses: Vec<IpAddr>,
}

impl Own {
    pub(super) fn of(listeners: &[SocketAddr]) -> Self {
        let is_everywhere = listeners.iter().any(|it| it.ip().is_unspecified());
        let addresses = if is_everywhere { own_addresses() } else { Vec::new() };
        Self { listeners: listeners.to_vec(), addresses }
    }

    pub(super) fn has(&self, address: IpAddr, port: u16) -> bool {
        self.listeners.iter().filter(|it| it.port() == port).any(|it| {
            let is_here = || address.is_loopback() || self.addresses.contains(&address);
            it.ip() == address || it.ip().is_unspecified() && is_here()
        })
    }
}

/// What the neighbour table says of IPv4 addresses: lower-case, colon-separated.
pub(super) fn neighbours() -> BTreeMap<IpAddr, String> {
    neighbours_of(&fs::read_to_string("/proc/thread-self/net/arp").unwrap_or_default())
}

fn neighbours_of(text: &str) -> BTreeMap<IpAddr, String> {
    let neighbour = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, _, flags, mac, ..] = words.as_slice() else { return None };
        // Complete ones only.
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok()?;
        let mac = mac.to_lowercase();
        let is_known = flags & 2 != 0 && mac.len() == 17 && mac != "00:00:00:00:00:00";
        Some((address.parse().ok()?, mac)).filter(|_| is_known)
    };
    text.lines().skip(1).filter_map(neighbour).collect()
}
