//! Limits for login attempts. An attempt is counted before its password is checked, so that concurrent attempts count like
//! consecutive ones.

use std::collections::HashMap;
use std::iter;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

use super::network::{site_of, source_of};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::UserId;
use crate::store::global::user::User;

/// Attempts at one account without a delay.
pub const N_FREE: u32 = 5;
/// The first delay. Each further attempt doubles it.
pub const WAIT_S_MIN: i64 = 1;
pub const WAIT_S_MAX: i64 = 15 * 60;
/// Enough doublings to exceed the longest delay.
const DOUBLINGS_MAX: u32 = 10;
/// Attempts per minute from one address (IPv6: one /64), for all accounts together.
pub const N_PER_NETWORK: u32 = 20;
/// Attempts per minute from one IPv6 /48, with which one subscriber has 65,536 /64.
pub const N_PER_SITE: u32 = 40;
/// Attempts with passwords per minute in total, each of which takes the processor's time, but for the first of a network.
pub const N_IN_ALL: u32 = 200;
/// The first ones per minute of all networks: those who try often keep nobody else out.
pub const N_FIRST_IN_ALL: u32 = 1_000;
const WINDOW_S: i64 = 60;
/// After this time without an attempt, an account has its free attempts again.
pub const FORGET_S: i64 = 3_600;
/// Expired entries are removed when there are this many.
const N_REMEMBERED: usize = 20_000;
/// Attempts from more places within a minute are not counted any more.
const N_PLACES_MAX: usize = 200_000;

/// How long a network from which a user logged in is known.
const KNOWN_S: i64 = 30 * 86_400;
/// Known pairs of user and network. If there are more, the older half is removed.
const N_KNOWN_MAX: usize = 10_000;

/// Recent login attempts.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<Tries>);

#[derive(Debug, Default)]
struct Tries {
    accounts: HashMap<AttemptedAccount, ThrottledAccount>,
    networks: HashMap<Place, Window>,
    /// Attempts with passwords, and the first ones of networks.
    all: [Window; 2],
    /// Returns from the identity provider.
    returns: Unguessable,
    /// Answers of passkeys.
    answers: Unguessable,
    /// When each user last logged in from each network. Attempts from elsewhere do not lock out these networks.
    known: HashMap<(UserId, IpAddr), Time>,
}

/// What attempts are counted for. Never a text that a caller could send in the place of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum AttemptedAccount {
    /// A name in lower case, whether a user has it or not: an email address and a user name of one user have nothing in common,
    /// or a stranger could tell that they belong together.
    Name(String),
    /// The same, from a network from which its user logged in.
    NameAt(String, IpAddr),
    /// A user who is logged in and sends the password again.
    OwnPassword(UserId),
    /// A user who is logged in and sends a code. A right password does not forgive wrong codes.
    OwnCode(UserId),
}

/// Where attempts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Unknown,
    Network(IpAddr),
    /// See [`site_of`].
    Site(IpAddr),
}

impl Place {
    /// The network of an address, with how many attempts a minute it has.
    fn network(address: Option<IpAddr>) -> (Self, u32) {
        (address.map_or(Self::Unknown, |it| Self::Network(source_of(it))), N_PER_NETWORK)
    }

    /// The site around it.
    fn site(address: Option<IpAddr>) -> Option<(Self, u32)> {
        address.and_then(site_of).map(|it| (Self::Site(it), N_PER_SITE))
    }
}

#[derive(Debug)]
struct ThrottledAccount {
    n_tries: u32,
    last: Time,
    next: Time,
}

/// Attempts at what nobody can guess, so that no account needs a delay. There is no limit in total, with which a stranger could
/// keep everybody out.
#[derive(Debug, Default)]
struct Unguessable {
    networks: HashMap<Place, Window>,
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
    /// Seconds until another attempt is allowed. `None`: it is allowed now.
    fn wait_s(&mut self, max: u32, now: Time) -> Option<i64> {
        let age_s = now.s_since(self.start);
        if !(0..WINDOW_S).contains(&age_s) {
            *self = Self { start: now, n: 0 };
        }
        (max <= self.n).then(|| (WINDOW_S - now.s_since(self.start)).max(1))
    }
}

impl Throttle {
    /// Counts a login attempt, or refuses it without counting it. `name`: as it was sent. `user`: who has this name.
    /// `address`: `None` if it is unknown.
    ///
    /// # Errors
    /// `RateLimited`.
    pub fn take(
        &self,
        name: &str,
        user: Option<UserId>,
        address: Option<IpAddr>,
        now: Time,
    ) -> Result<()> {
        let mut tries = self.lock();
        tries.forget(now);
        let place = address.map(source_of);
        let known_place =
            place.filter(|it| user.is_some_and(|user| tries.is_known(user, *it, now)));
        let name = name.to_lowercase();
        let account = match known_place {
            Some(place) => AttemptedAccount::NameAt(name, place),
            None => AttemptedAccount::Name(name),
        };
        // Neighbors do not keep a user out of a network that is known.
        let site = if known_place.is_none() { Place::site(address) } else { None };
        let places = || iter::once(Place::network(address)).chain(site);
        let places_s = wait_s(&mut tries.networks, places(), now);
        let (own, _) = Place::network(address);
        let is_first = tries.networks.get(&own).is_none_or(|it| it.n == 0);
        let (which, n_max) = if is_first { (1, N_FIRST_IN_ALL) } else { (0, N_IN_ALL) };
        let all = &mut tries.all[which];
        let all_s = if known_place.is_none() { all.wait_s(n_max, now) } else { None };
        let waits = [tries.held_s(&account, now), places_s, all_s];
        refuse(waits.into_iter().flatten().max())?;
        tries.count(account, now);
        count(&mut tries.networks, places(), now);
        tries.all[which].n += u32::from(known_place.is_none());
        Ok(())
    }

    /// The same for a user who is logged in and sends the password again. Attempts of others do not count.
    ///
    /// # Errors
    /// `RateLimited`.
    pub fn take_own_password(&self, user: UserId, now: Time) -> Result<()> {
        self.lock().take(AttemptedAccount::OwnPassword(user), now)
    }

    /// The same for a code of the second factor.
    ///
    /// # Errors
    /// `RateLimited`.
    pub fn take_own_code(&self, user: UserId, now: Time) -> Result<()> {
        self.lock().take(AttemptedAccount::OwnCode(user), now)
    }

    /// Counts a return from the identity provider, each of which asks it something, within the limits of attempts from one
    /// place. Attempts with passwords do not count.
    ///
    /// # Errors
    /// `RateLimited`.
    pub fn take_return(&self, address: Option<IpAddr>, now: Time) -> Result<()> {
        self.lock().returns.take(address, now)
    }

    /// The same for an answer of a passkey, whose signature is then verified.
    ///
    /// # Errors
    /// `RateLimited`.
    pub fn take_answer(&self, address: Option<IpAddr>, now: Time) -> Result<()> {
        self.lock().answers.take(address, now)
    }

    /// Records a successful login: the delays of all names of the user are reset, and the network is known.
    pub fn succeeded(&self, user: &User, address: Option<IpAddr>, now: Time) {
        let mut tries = self.lock();
        let place = address.map(source_of);
        for name in [Some(&user.email), user.username.as_ref()].into_iter().flatten() {
            let name = name.to_lowercase();
            if let Some(place) = place {
                tries.accounts.remove(&AttemptedAccount::NameAt(name.clone(), place));
            }
            tries.accounts.remove(&AttemptedAccount::Name(name));
        }
        if let Some(place) = place {
            tries.known.insert((user.id, place), now);
        }
    }

    /// Records that the user's own password was right.
    pub fn own_password_was_right(&self, user: UserId) {
        self.lock().accounts.remove(&AttemptedAccount::OwnPassword(user));
    }

    /// Records that a code of the user's own second factor was right.
    pub fn own_code_was_right(&self, user: UserId) {
        self.lock().accounts.remove(&AttemptedAccount::OwnCode(user));
    }

    fn lock(&self) -> MutexGuard<'_, Tries> {
        self.0.lock().expect("no holder of this lock panics")
    }
}

fn refuse(wait_s: Option<i64>) -> Result<()> {
    match wait_s {
        Some(wait_s) => Err(Error::rate_limited(u32::try_from(wait_s).unwrap_or(u32::MAX))),
        None => Ok(()),
    }
}

impl Unguessable {
    fn take(&mut self, address: Option<IpAddr>, now: Time) -> Result<()> {
        let place = || iter::once(Place::network(address));
        refuse(wait_s(&mut self.networks, place(), now))?;
        if N_REMEMBERED <= self.networks.len() {
            self.networks.retain(|_, it| (0..WINDOW_S).contains(&now.s_since(it.start)));
        }
        if self.networks.len() < N_PLACES_MAX {
            count(&mut self.networks, place(), now);
        }
        Ok(())
    }
}

/// Seconds until another attempt from these places is allowed. `None`: it is allowed now.
fn wait_s(
    networks: &mut HashMap<Place, Window>,
    places: impl Iterator<Item = (Place, u32)>,
    now: Time,
) -> Option<i64> {
    let waits = places.map(|(place, n_max)| {
        let mut window = networks.get(&place).copied().unwrap_or_default();
        let wait_s = window.wait_s(n_max, now);
        // What has begun anew is counted from now on.
        if let Some(known) = networks.get_mut(&place) {
            *known = window;
        }
        wait_s
    });
    waits.flatten().max()
}

/// Call it after [`wait_s`].
fn count(
    networks: &mut HashMap<Place, Window>,
    places: impl Iterator<Item = (Place, u32)>,
    now: Time,
) {
    for (place, _) in places {
        networks.entry(place).or_insert(Window { start: now, n: 0 }).n += 1;
    }
}

impl Tries {
    fn take(&mut self, account: AttemptedAccount, now: Time) -> Result<()> {
        self.forget(now);
        refuse(self.held_s(&account, now))?;
        self.count(account, now);
        Ok(())
    }

    fn is_known(&self, user: UserId, place: IpAddr, now: Time) -> bool {
        let at = self.known.get(&(user, place));
        at.is_some_and(|it| (0..KNOWN_S).contains(&now.s_since(*it)))
    }

    /// Seconds until the next attempt at the account is allowed. `None`: it is allowed now.
    fn held_s(&self, account: &AttemptedAccount, now: Time) -> Option<i64> {
        let account = self.accounts.get(account).filter(|it| it.counts(now))?;
        (now < account.next).then(|| account.next.s_since(now) + 1)
    }

    fn count(&mut self, account: AttemptedAccount, now: Time) {
        let known = self.accounts.get(&account).filter(|it| it.counts(now));
        let n_tries = known.map_or(0, |it| it.n_tries) + 1;
        let doublings = n_tries.checked_sub(N_FREE).map(|it| it.min(DOUBLINGS_MAX));
        let pause_s = doublings.map_or(0, |it| (WAIT_S_MIN << it).min(WAIT_S_MAX));
        let next = now.plus_s(pause_s);
        self.accounts.insert(account, ThrottledAccount { n_tries, last: now, next });
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

impl ThrottledAccount {
    /// Returns false once the entry has expired, or if the clock was set back, which must not lock out users.
    fn counts(&self, now: Time) -> bool {
        (0..FORGET_S).contains(&now.s_since(self.last))
    }
}
