//! How often somebody may try to log in. A try is counted before its password is looked at, so that tries made at once
//! are counted like those made one after the other.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

use super::network::source_of;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::UserId;

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

/// Where somebody logged in counts as known for so long.
const KNOWN_S: i64 = 30 * 86_400;
/// Pairs of who and where that are known at most; of more the oldest are forgotten.
const N_KNOWN_MAX: usize = 10_000;

/// The tries of late.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<Tries>);

#[derive(Debug, Default)]
struct Tries {
    accounts: HashMap<String, Account>,
    networks: HashMap<Option<IpAddr>, Window>,
    all: Window,
    /// Who logged in from where, and when last: strangers who try the same name keep nobody out from there.
    known: HashMap<(String, IpAddr), Time>,
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
    /// Counts a try to log in, or refuses it and counts nothing. `name`: as it was given, whether or not somebody has
    /// it. `address`: `None` when nobody can say where it came from.
    ///
    /// # Errors
    /// `RateLimited`.
    pub fn take(&self, name: &str, address: Option<IpAddr>, now: Time) -> Result<()> {
        let mut tries = self.lock();
        tries.forget(now);
        let (place, name) = (address.map(source_of), name.to_lowercase());
        let known_place = place.filter(|it| tries.is_known(&name, *it, now));
        let account = match known_place {
            Some(it) => format!("{name} from {it}"),
            None => name,
        };
        let mut network = tries.networks.get(&place).copied().unwrap_or_default();
        let all_s = if known_place.is_none() { tries.all.wait_s(N_IN_ALL, now) } else { None };
        let waits = [tries.held_s(&account, now), network.wait_s(N_PER_NETWORK, now), all_s];
        refuse(waits.into_iter().flatten().max())?;
        tries.count(account, now);
        network.n += 1;
        tries.networks.insert(place, network);
        tries.all.n += u32::from(known_place.is_none());
        Ok(())
    }

    /// The same for who has logged in and shows the password again: no stranger's tries count against that.
    ///
    /// # Errors
    /// `RateLimited`.
    pub fn take_own(&self, user: UserId, now: Time) -> Result<()> {
        let mut tries = self.lock();
        tries.forget(now);
        let account = own(user);
        refuse(tries.held_s(&account, now))?;
        tries.count(account, now);
        Ok(())
    }

    /// The last try was right: tries are free again, and the place is known.
    pub fn succeeded(&self, name: &str, address: Option<IpAddr>, now: Time) {
        let mut tries = self.lock();
        let name = name.to_lowercase();
        tries.accounts.remove(&name);
        if let Some(place) = address.map(source_of) {
            tries.accounts.remove(&format!("{name} from {place}"));
            tries.known.insert((name, place), now);
        }
    }

    /// The own password was right.
    pub fn succeeded_own(&self, user: UserId) {
        self.lock().accounts.remove(&own(user));
    }

    fn lock(&self) -> MutexGuard<'_, Tries> {
        self.0.lock().expect("no holder of this lock panics")
    }
}

/// No name that somebody can give: it has a blank.
fn own(user: UserId) -> String {
    format!("own {user}")
}

fn refuse(wait_s: Option<i64>) -> Result<()> {
    match wait_s {
        Some(wait_s) => Err(Error::rate_limited(u32::try_from(wait_s).unwrap_or(u32::MAX))),
        None => Ok(()),
    }
}

impl Tries {
    fn is_known(&self, name: &str, place: IpAddr, now: Time) -> bool {
        let at = self.known.get(&(name.to_owned(), place));
        at.is_some_and(|it| (0..KNOWN_S).contains(&now.s_since(*it)))
    }

    /// Seconds until the account may be tried again. `None`: now.
    fn held_s(&self, account: &str, now: Time) -> Option<i64> {
        let account = self.accounts.get(account).filter(|it| it.counts(now))?;
        (now < account.next).then(|| account.next.s_since(now) + 1)
    }

    fn count(&mut self, account: String, now: Time) {
        let known = self.accounts.get(&account).filter(|it| it.counts(now));
        let n_tries = known.map_or(0, |it| it.n_tries) + 1;
        let doublings = n_tries.checked_sub(N_FREE).map(|it| it.min(DOUBLINGS_MAX));
        let pause_s = doublings.map_or(0, |it| (WAIT_S_MIN << it).min(WAIT_S_MAX));
        let next = now.plus_s(pause_s);
        self.accounts.insert(account, Account { n_tries, last: now, next });
    }

    fn forget(&mut self, now: Time) {
        if N_REMEMBERED <= self.accounts.len() + self.networks.len() {
            self.accounts.retain(|_, it| it.counts(now));
            self.networks.retain(|_, it| (0..WINDOW_S).contains(&now.s_since(it.start)));
        }
        if N_KNOWN_MAX < self.known.len() {
            let mut times: Vec<Time> = self.known.values().copied().collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            self.known.retain(|_, it| middle < *it);
        }
    }
}

impl Account {
    /// Not for ever, and not when the clock went back: that must not hold anybody.
    fn counts(&self, now: Time) -> bool {
        (0..FORGET_S).contains(&now.s_since(self.last))
    }
}
