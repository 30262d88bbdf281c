//! What is to be scanned: targets and exclusions, checked, bounded and divided into blocks. Sends nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};

use super::port::Ports;
use crate::error::{Error, Result};
use crate::text::visible;

pub const N_TARGETS_MAX: usize = 32;
pub const N_EXCLUDED_MAX: usize = 256;
/// Addresses of all targets together, without the excluded ones.
pub const N_HOSTS_MAX: u64 = 65_536;
/// The same with the excluded ones, which cost little, but not nothing.
const N_SPANNED_MAX: u128 = 1 << 20;
/// A block is the unit of a checkpoint and has up to 256 addresses.
const BLOCK_BITS: u8 = 8;
/// An error shows no more of a text that is not a network.
const SHOWN_CHARS_MAX: usize = 60;

/// A scan as it is requested.
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// In CIDR notation; a bare address is a network of one.
    pub targets: Vec<String>,
    pub exclude: Vec<String>,
    /// `None`: the [`super::port::USUAL`] ones.
    pub ports: Option<String>,
}

/// What may be scanned.
#[derive(Clone, Debug, Default)]
pub struct ScanPolicy {
    /// A target must be within these.
    pub allowed: Vec<IpNetwork>,
    /// Never scanned, allowed or not.
    pub excluded: Vec<IpNetwork>,
    /// The service's own listeners: not probed, unless `allowed` names exactly their address.
    pub own: Vec<SocketAddr>,
}

/// Checked targets. Equal plans scan the same addresses and ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanPlan {
    /// Disjoint, sorted.
    pub targets: Vec<IpNetwork>,
    /// Disjoint, sorted: those of the request, those of the policy, and those that are never scanned, as far as they overlap
    /// the targets.
    pub exclude: Vec<IpNetwork>,
    pub ports: Ports,
    pub n_hosts: u64,
}

/// Up to 256 adjacent addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its place in the plan.
    pub index: u32,
    pub network: IpNetwork,
}

impl ScanPlan {
    /// # Errors
    /// `Invalid` with the field that breaks a rule; `Forbidden` when a target is not allowed, with how to allow it.
    pub fn of(order: &ScanRequest, policy: &ScanPolicy) -> Result<Self> {
        let ports = match &order.ports {
            Some(text) => Ports::parse(text)?,
            None => Ports::usual(),
        };
        let targets = networks("targets", &order.targets, 1..=N_TARGETS_MAX)?;
        refuse_overlaps(&targets)?;
        let asked = networks("exclude", &order.exclude, 0..=N_EXCLUDED_MAX)?;
        let allowed: Vec<IpNetwork> = policy.allowed.iter().map(|it| unmapped(*it)).collect();
        for target in &targets {
            require_allowed(*target, &allowed)?;
        }
        let targets = disjoint(targets);
        let n_spanned = targets.iter().map(|it| n_addresses(*it)).fold(0, u128::saturating_add);
        let matters = |it: &&IpNetwork| targets.iter().any(|target| overlap(*target, **it) != 0);
        let never: Vec<IpNetwork> = never_scanned().map(|(network, _)| network).collect();
        let excluded = policy.excluded.iter().map(|it| unmapped(*it)).collect::<Vec<_>>();
        let exclude = asked.iter().chain(&excluded).chain(&never).filter(matters).copied();
        let exclude = disjoint(exclude.collect());
        let n_hosts: u128 =
            targets.iter().map(|it| n_addresses(*it) - covered(*it, &exclude)).sum();
        if n_hosts == 0 {
            return Err(Error::invalid_field("targets", "all of their addresses are excluded"));
        }
        match u64::try_from(n_hosts) {
            Ok(n_hosts) if n_hosts <= N_HOSTS_MAX && N_SPANNED_MAX < n_spanned => {
                Err(Error::invalid_field(
                    "targets",
                    format!(
                        "span {n_spanned} addresses, more than {N_SPANNED_MAX}, to scan {n_hosts} of them; list \
                         those instead of excluding the rest"
                    ),
                ))
            }
            Ok(n_hosts) if n_hosts <= N_HOSTS_MAX => Ok(Self { targets, exclude, ports, n_hosts }),
            _ => Err(Error::invalid_field(
                "targets",
                format!("have {n_hosts} addresses, more than {N_HOSTS_MAX}; scan them in parts"),
            )),
        }
    }

    /// The blocks with addresses to scan, in ascending order.
    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        let starts = self.targets.iter().flat_map(|it| blocks_of(*it));
        let all = (0..).zip(starts).map(|(index, network)| Block { index, network });
        all.filter(|it| covered(it.network, &self.exclude) < n_addresses(it.network))
    }

    /// The addresses of a block that are to be scanned.
    #[must_use]
    pub fn addresses(&self, block: Block) -> Vec<IpAddr> {
        let exclude: Vec<&IpNetwork> =
            self.exclude.iter().filter(|it| overlap(block.network, **it) != 0).collect();
        let mut all: Vec<IpAddr> = block.network.iter().collect();
        all.retain(|address| !exclude.iter().any(|it| it.contains(*address)));
        all.shrink_to_fit();
        all
    }
}

/// The networks of a list, in its order.
fn networks(
    field: &str,
    texts: &[String],
    lengths: std::ops::RangeInclusive<usize>,
) -> Result<Vec<IpNetwork>> {
    if !lengths.contains(&texts.len()) {
        let rule = format!("must have {} to {} items", lengths.start(), lengths.end());
        return Err(Error::invalid_field(field, rule));
    }
    let read = |(index, text): (usize, &String)| {
        network(text).map_err(|rule| Error::invalid_field(format!("{field}[{index}]"), rule))
    };
    texts.iter().enumerate().map(read).collect()
}

/// # Errors
/// The rule that the text breaks.
fn network(text: &str) -> Result<IpNetwork, String> {
    let shown: String = visible(text).chars().take(SHOWN_CHARS_MAX).collect();
    let network: IpNetwork = text.trim().parse().map_err(|_| {
        format!("\"{shown}\" is not a network in CIDR notation, such as 10.0.0.0/24")
    })?;
    let network = unmapped(network);
    if network.ip() != network.network() {
        let (meant, prefix) = (network.network(), network.prefix());
        return Err(format!(
            "\"{shown}\" is an address in a network; did you mean {meant}/{prefix}?"
        ));
    }
    if let Some(why) = never(network) {
        return Err(format!("{network} is {why}, which is never scanned"));
    }
    Ok(network)
}

/// The IPv4 network of an IPv4-mapped one. Any other network as it is.
fn unmapped(network: IpNetwork) -> IpNetwork {
    let IpNetwork::V6(v6) = network else { return network };
    let mapped = v6.ip().to_ipv4_mapped().filter(|_| 96 <= v6.prefix());
    let v4 = mapped.and_then(|it| Ipv4Network::new(it, v6.prefix() - 96).ok());
    v4.map_or(network, IpNetwork::V4)
}

/// Networks that are never scanned: refused as a target, and left out of a larger one.
const NEVER: &[(&str, &str)] = &[
    ("0.0.0.0/8", "an unspecified network"),
    ("100.100.100.200/32", "a metadata service"),
    ("168.63.129.16/32", "a metadata service"),
    ("169.254.169.254/32", "a metadata service"),
    ("169.254.0.0/16", "a link-local network"),
    ("192.0.0.192/32", "a metadata service"),
    ("224.0.0.0/4", "a multicast network"),
    ("255.255.255.255/32", "the broadcast address"),
    ("::/128", "an unspecified address"),
    ("fd00:ec2::254/128", "a metadata service"),
    ("fe80::/10", "a link-local network, whose addresses are ambiguous without an interface"),
    ("ff00::/8", "a multicast network"),
];

fn never_scanned() -> impl Iterator<Item = (IpNetwork, &'static str)> {
    NEVER.iter().map(|(text, why)| (text.parse().expect("a network in CIDR notation"), *why))
}

fn never(network: IpNetwork) -> Option<&'static str> {
    let holds = |outer: IpNetwork| n_addresses(network) <= overlap(network, outer);
    never_scanned().find(|(outer, _)| holds(*outer)).map(|(_, why)| why)
}

/// A network that is scanned twice would get twice the probes.
fn refuse_overlaps(targets: &[IpNetwork]) -> Result<()> {
    for (index, target) in targets.iter().enumerate() {
        let Some(earlier) = targets[..index].iter().position(|it| overlap(*it, *target) != 0)
        else {
            continue;
        };
        let other = targets[earlier];
        let rule = if other == *target {
            format!("{target} duplicates targets[{earlier}]")
        } else {
            format!("{target} overlaps {other}, which is targets[{earlier}]")
        };
        return Err(Error::invalid_field(format!("targets[{index}]"), rule));
    }
    Ok(())
}

fn require_allowed(target: IpNetwork, allowed: &[IpNetwork]) -> Result<()> {
    if covered(target, &disjoint(allowed.to_vec())) == n_addresses(target) {
        return Ok(());
    }
    let now: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    let now = if now.is_empty() { "none".to_owned() } else { now.join(", ") };
    Err(Error::forbidden(format!(
        "{target} may not be scanned: it is not within `scan.allowed_networks` (now: {now}). To allow it, add \
         \"{target}\" to allowed_networks in section [scan] of posture.toml on this server and restart it"
    )))
}

/// At most 2^127: the 2^128 of all of IPv6 do not fit, and both are too many.
fn n_addresses(network: IpNetwork) -> u128 {
    let bits = match network {
        IpNetwork::V4(it) => 32 - it.prefix(),
        IpNetwork::V6(it) => 128 - it.prefix(),
    };
    1 << u32::from(bits.min(127))
}

/// The number of addresses in both networks. One holds the other, or they are disjoint.
fn overlap(one: IpNetwork, other: IpNetwork) -> u128 {
    if one.contains(other.network()) || other.contains(one.network()) {
        return n_addresses(one).min(n_addresses(other));
    }
    0
}

/// The number of addresses of a network that are in any of the disjoint ones.
fn covered(network: IpNetwork, disjoint: &[IpNetwork]) -> u128 {
    let n: u128 = disjoint.iter().map(|it| overlap(network, *it)).fold(0, u128::saturating_add);
    n.min(n_addresses(network))
}

/// The networks sorted, without those that are within another one.
fn disjoint(mut networks: Vec<IpNetwork>) -> Vec<IpNetwork> {
    networks.sort_by_key(|it| (it.is_ipv6(), it.network(), it.prefix()));
    let mut kept: Vec<IpNetwork> = Vec::new();
    for network in networks {
        if !kept.last().is_some_and(|it| it.contains(network.network())) {
            kept.push(network);
        }
    }
    kept
}

fn blocks_of(network: IpNetwork) -> Vec<IpNetwork> {
    let valid = "within the network and its prefix";
    match network {
        IpNetwork::V4(it) => {
            let prefix = it.prefix().max(32 - BLOCK_BITS);
            let first = u32::from(it.network());
            let n = 1_u32 << u32::from(prefix - it.prefix());
            let block = |index: u32| Ipv4Addr::from(first + (index << (32 - u32::from(prefix))));
            (0..n).map(|it| Ipv4Network::new(block(it), prefix).expect(valid).into()).collect()
        }
        IpNetwork::V6(it) => {
            let prefix = it.prefix().max(128 - BLOCK_BITS);
            let first = u128::from(it.network());
            let n = 1_u128 << u32::from(prefix - it.prefix());
            let block = |index: u128| Ipv6Addr::from(first + (index << (128 - u32::from(prefix))));
            (0..n).map(|it| Ipv6Network::new(block(it), prefix).expect(valid).into()).collect()
        }
    }
}
