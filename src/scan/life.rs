//! Who is there: echo requests where they are permitted, then a few TCP ports; a refusal is an answer too.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::ping::ping;
use crate::error::Result;
use crate::scan::probe::{Bounds, Ending, Found, Goal};
use crate::scan::sweep::sweep;

/// What every address is asked beside an echo request, and without one.
const FEW: [u16; 1] = [445];
const FEW_WITHOUT_ECHO: [u16; 2] = [443, 445];
/// What addresses are asked where others of their block are there.
const MANY: [u16; 7] = [443, 445, 22, 80, 135, 3389, 8080];
/// Short lists of ports are asked for as they are.
const N_NAMED_MAX: usize = 16;
/// Where so many of a block are there, or the scan is small, the rest is asked for more.
const N_DENSE: usize = 8;
/// Larger scans look at some addresses of each block first.
pub(super) const N_SMALL: usize = 1_024;
/// The last byte of the addresses that are looked at first: gateways, first servers, and some between.
const SAMPLED: [u8; 8] = [1, 2, 10, 50, 100, 150, 200, 254];

/// How an address was noticed, or that it was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Alive(String),
    Silent,
    Unreachable,
}

/// The signs of addresses, block by block.
///
/// `is_small`: all of them are asked for more.
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
    bounds.rtt = rtt; // From here on it is known how soon answers come.
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

/// Asks those that have not answered.
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

fn sign(found: &Found) -> Sign {
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

/// Which blocks have somebody, by a look at some addresses of each.
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
