//! How often somebody may try to log in. A try is counted before its password is looked at, so that tries made at once
//! are counted like those made one after the other.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;

use crate::clock::Time;
use crate::error::{Error, Result};

/// Tries at one account that need not wait.
pub const N_FREE: u32 = 5;
/// The first wait; each further try doubles it.
pub const WAIT_S_MIN: i64 = 1;
pub const WAIT_S_MAX: i64 = 15 * 60;
/// As many as it takes from the first wait to beyond the last.
const DOUBLINGS_MAX: u32 = 10;
/// Tries in a minute from one address (IPv6: one /64), whatever the account.
pub const N_PER_NETWORK: u32 = 20;
/// Tries in a minute in all.
pub const N_IN_ALL: u32 = 200;
const WINDOW_S: i64 = 60;
/// An account that nobody tried for so long has its free tries again.
pub const FORGET_S: i64 = 3_600;
/// What is over is forgotten whenever so many are remembered. [`N_IN_ALL`] keeps them near that.
const N_REMEMBERED: usize = 20_000;

/// The tries of late.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<Tries>);

#[derive(Debug, Default)]
struct Tries {
    accounts: HashMap<String, Account>,
    networks: HashMap<Option<IpAddr>, Window>,
    all: Window,
}

#[derive(Debug)]
struct Account {
    n_tries: u32,
    last: Time,
    next: Time,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    start: Time,
    n: u32,
}

impl Default for Window {
    fn default() -> Self {
        Self { start: Time::EPOCH, n: 0 }
    }
}

impl Window {
    /// Seconds until it has room. `None`: it has.
    fn wait_s(&mut self, max: u32, now: Time) -> Option<i64> {
        let age_s = now.s_since(self.start);
        if !(0..WINDOW_S).contains(&age_s) {
            *self = Self { start: now, n: 0 };
        }
        (max <= self.n).then(|| (WINDOW_S - now.s_since(self.start)).max(1))
    }
}

impl Throttle {
    /// Counts a try, or refuses it and counts nothing. `account`: the name that was given, whether or not somebody has
    /// it. `address`: `None` when nobody can say where it came from.
    ///
    /// # Errors
    /// `RateLimited`.
    pub fn take(&self, account: &str, address: Option<IpAddr>, now: Time) -> Result<()> {
        let name = account.to_lowercase();
        let mut tries = self.0.lock().expect("no holder of this lock panics");
        tries.forget(now);
        let Tries { accounts, networks, all } = &mut *tries;
        let known = accounts.get(&name).filter(|it| it.counts(now));
        let n_tries = known.map_or(0, |it| it.n_tries) + 1;
        let held = known.filter(|it| now < it.next).map(|it| it.next.s_since(now) + 1);
        let network = networks.entry(address.map(network)).or_default();
        let waits = [held, network.wait_s(N_PER_NETWORK, now), all.wait_s(N_IN_ALL, now)];
        if let Some(wait_s) = waits.into_iter().flatten().max() {
            return Err(Error::rate_limited(u32::try_from(wait_s).unwrap_or(u32::MAX)));
        }
        let doublings = n_tries.checked_sub(N_FREE).map(|it| it.min(DOUBLINGS_MAX));
        let pause_s = doublings.map_or(0, |it| (WAIT_S_MIN << it).min(WAIT_S_MAX));
        accounts.insert(name, Account { n_tries, last: now, next: now.plus_s(pause_s) });
        network.n += 1;
        all.n += 1;
        Ok(())
    }

    /// The last try was right: the account has its free tries again.
    pub fn succeeded(&self, account: &str) {
        let mut tries = self.0.lock().expect("no holder of this lock panics");
        tries.accounts.remove(&account.to_lowercase());
    }
}

impl Tries {
    fn forget(&mut self, now: Time) {
        if N_REMEMBERED <= self.accounts.len() + self.networks.len() {
            self.accounts.retain(|_, it| it.counts(now));
            self.networks.retain(|_, it| (0..WINDOW_S).contains(&now.s_since(it.start)));
        }
    }
}

impl Account {
    /// Not for ever, and not when the clock went back: that must not hold anybody.
    fn counts(&self, now: Time) -> bool {
        (0..FORGET_S).contains(&now.s_since(self.last))
    }
}

/// The network that stands for an address: who has one IPv6 address has its /64.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(it) => IpAddr::V6((u128::from(it) & !u128::from(u64::MAX)).into()),
    }
}
