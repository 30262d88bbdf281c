//! Finds the addresses that answer: echo requests where they are permitted, then a few TCP ports. A refusal is an answer too.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::ping::ping;
use crate::error::Result;
use crate::scan::probe::{Bounds, Ending, Goal, ProbedPorts};
use crate::scan::sweep::sweep;

/// Ports that every address is probed at, in addition to an echo request, and without one.
const FEW: [u16; 1] = [445];
const FEW_WITHOUT_ECHO: [u16; 2] = [443, 445];
/// Ports that the silent addresses are probed at if others of their block answered.
const MANY: [u16; 7] = [443, 445, 22, 80, 135, 3389, 8080];
/// A list of at most this many ports is probed in full.
const N_NAMED_MAX: usize = 16;
/// If this many addresses of a block answered, or the scan is small, the others are probed at more ports.
const N_DENSE: usize = 8;
/// A larger scan samples each block first.
pub(super) const N_SMALL: usize = 1_024;
/// The last byte of the sampled addresses: gateways, first servers, and some between.
const SAMPLED: [u8; 8] = [1, 2, 10, 50, 100, 150, 200, 254];

/// What an address answered, if anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Alive(String),
    Silent,
    Unreachable,
}

/// What each address answered, block by block.
///
/// With `is_small`, all of them are probed at more ports.
pub(super) fn look(
    blocks: &[Vec<IpAddr>],
    is_small: bool,
    named: &[u16],
    bounds: &mut Bounds<'_>,
) -> Result<Vec<Vec<Sign>>> {
    let all: Vec<IpAddr> = blocks.iter().flatten().copied().collect();
    let mut signs: BTreeMap<IpAddr, Sign> = BTreeMap::new();
    let mut rtt = bounds.rtt;
    let echoes = ping(&all, &mut rtt, bounds);
    bounds.rtt = rtt; // The round-trip time is known from here on.
    for address in echoes.iter().flatten() {
        signs.insert(*address, Sign::Alive("echo reply".to_owned()));
    }
    let few: &[u16] = if echoes.is_some() { &FEW } else { &FEW_WITHOUT_ECHO };
    ask(&all, few, &mut signs, bounds)?;
    let is_alive =
        |signs: &BTreeMap<IpAddr, Sign>, it: &IpAddr| matches!(signs.get(it), Some(Sign::Alive(_)));
    let many = many(few, named);
    let mut rest = Vec::new();
    for block in blocks {
        let n_alive = block.iter().filter(|it| is_alive(&signs, it)).count();
        if is_small || N_DENSE <= n_alive {
            rest.extend_from_slice(block);
        }
    }
    ask(&rest, &many, &mut signs, bounds)?;
    let sign = |it: &IpAddr| signs.get(it).cloned().unwrap_or(Sign::Silent);
    Ok(blocks.iter().map(|block| block.iter().map(sign).collect()).collect())
}

/// Probes the addresses that have not answered.
fn ask(
    addresses: &[IpAddr],
    ports: &[u16],
    signs: &mut BTreeMap<IpAddr, Sign>,
    bounds: &Bounds<'_>,
) -> Result<()> {
    let is_alive = |it: &&IpAddr| matches!(signs.get(it), Some(Sign::Alive(_)));
    let rest: Vec<IpAddr> = addresses.iter().filter(|it| !is_alive(it)).copied().collect();
    let found = sweep(Goal::Life, &rest, ports, bounds)?;
    signs.extend(rest.into_iter().zip(found.iter().map(sign)));
    Ok(())
}

fn sign(found: &ProbedPorts) -> Sign {
    match found.first {
        Some((port, Ending::Open)) => Sign::Alive(format!("tcp/{port} open")),
        Some((port, _)) => Sign::Alive(format!("tcp/{port} refused")),
        None if 0 < found.n_unreachable && found.n_silent == 0 => Sign::Unreachable,
        None => Sign::Silent,
    }
}

fn many(few: &[u16], named: &[u16]) -> Vec<u16> {
    let named = if named.len() <= N_NAMED_MAX { named } else { &[] };
    let mut ports: Vec<u16> = named.iter().chain(&MANY).copied().collect();
    let mut seen = BTreeSet::new();
    ports.retain(|it| !few.contains(it) && seen.insert(*it));
    ports
}

/// Tells for each block whether any of its sampled addresses answered.
pub(super) fn sample(
    blocks: &[Vec<IpAddr>],
    named: &[u16],
    bounds: &mut Bounds<'_>,
) -> Result<Vec<bool>> {
    let last_byte = |address: &IpAddr| match address {
        IpAddr::V4(it) => it.octets()[3],
        IpAddr::V6(it) => it.octets()[15],
    };
    let some = |block: &Vec<IpAddr>| -> Vec<IpAddr> {
        block.iter().filter(|it| SAMPLED.contains(&last_byte(it))).copied().collect()
    };
    let some: Vec<Vec<IpAddr>> = blocks.iter().map(some).collect();
    let signs = look(&some, false, named, bounds)?;
    let is_alive = |it: &Sign| matches!(it, Sign::Alive(_));
    Ok(signs.iter().map(|block| block.iter().any(is_alive)).collect())
}
