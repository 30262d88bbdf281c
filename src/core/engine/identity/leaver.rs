//! People who left, and whether their accounts are disabled since.

use std::collections::{BTreeMap, BTreeSet};

use bincode::{Decode, Encode};

use super::{Identity, UserType};
use crate::clock::Time;
use crate::engine::fact::{ControlVerdict, subject_hash};

/// The control that lists of people who left decide together with lists of accounts.
pub const DEPROVISIONED: &str = "ID-12";
/// From how many days after the beginning of the last day on an enabled account fails: the day itself, and one of grace.
const DUE_DAYS: i64 = 2;

/// A name that a person signs in with or is known by. Only a hash of it is kept, because lists of people who left are
/// personal data and a comparison needs no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum PersonName {
    /// An e-mail address or user principal name, and its domain.
    Mail { name: u64, domain: u64 },
    /// A name without a domain.
    Login(u64),
    /// The number of an employee.
    Number(u64),
}

impl PersonName {
    /// Reads an e-mail address, user principal name or login. The case of letters does not count, nor does a Windows domain
    /// before the name. `None`: there is no name.
    #[must_use]
    pub fn login(text: &str) -> Option<Self> {
        let name = plain(text);
        match name.rsplit_once('@') {
            Some((local, domain)) if !local.is_empty() && !domain.is_empty() => {
                Some(Self::Mail { name: subject_hash(&name), domain: subject_hash(domain) })
            }
            Some(_) => None,
            None => (!name.is_empty()).then(|| Self::Login(subject_hash(&name))),
        }
    }

    /// Reads the number of an employee. `None`: there is none.
    #[must_use]
    pub fn number(text: &str) -> Option<Self> {
        let number = plain(text);
        (!number.is_empty()).then(|| Self::Number(subject_hash(&number)))
    }

    /// The domain of an e-mail address.
    #[must_use]
    pub const fn domain(self) -> Option<u64> {
        match self {
            Self::Mail { domain, .. } => Some(domain),
            Self::Login(_) | Self::Number(_) => None,
        }
    }
}

fn plain(text: &str) -> String {
    let name = text.trim().rsplit('\\').next().unwrap_or_default();
    name.to_lowercase()
}

/// One person of a list.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Leaver {
    /// At least one.
    pub names: Vec<PersonName>,
    /// The beginning of the last day. `None`: the person has not left.
    pub last_day: Option<Time>,
}

/// Everybody who is known to have left or to leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leavers {
    pub people: Vec<Leaver>,
    /// When the lists were read: of the newest ones of all sources, the oldest. `None`: there are no lists.
    pub read_at: Option<Time>,
    /// Domains of the accounts of the client, over all its sources.
    pub domains: BTreeSet<u64>,
}

/// Returns who is known to have left according to lists of one source, oldest first. `true`: the list names everybody who left,
/// so that people of earlier lists who are not on it came back.
///
/// Of rows about one person, those of the newest list count, and of these the one with the latest last day.
pub fn known<'a>(lists: impl IntoIterator<Item = (bool, &'a [Leaver])>) -> Vec<Leaver> {
    let mut people: Vec<Option<(usize, Leaver)>> = Vec::new();
    let mut places: BTreeMap<PersonName, usize> = BTreeMap::new();
    for (number, (is_complete, list)) in lists.into_iter().enumerate() {
        if is_complete {
            people.clear();
            places.clear();
        }
        for leaver in list {
            let mut now = leaver.clone();
            for name in &leaver.names {
                let Some(place) = places.get(name) else { continue };
                let Some((of_list, same)) = people[*place].take() else { continue };
                if of_list == number {
                    now.last_day = now.last_day.zip(same.last_day).map(|(a, b)| a.max(b));
                    now.names.extend(same.names);
                }
            }
            now.names.sort_unstable();
            now.names.dedup();
            places.extend(now.names.iter().map(|it| (*it, people.len())));
            people.push(Some((number, now)));
        }
    }
    let left = people.into_iter().flatten().map(|(_, it)| it);
    left.filter(|it| it.last_day.is_some()).collect()
}

/// The accounts of one list by their names.
#[derive(Default)]
struct Accounts<'a> {
    /// The first account of each name, or the first that is enabled.
    by_name: BTreeMap<PersonName, &'a Identity>,
    /// The same by what is before the `@`. Guests have the names of other organizations.
    by_local: BTreeMap<PersonName, &'a Identity>,
    domains: BTreeSet<u64>,
}

impl<'a> Accounts<'a> {
    fn of(all: &'a [Identity]) -> Self {
        let mut accounts = Self::default();
        for it in all {
            let name = PersonName::login(&it.user);
            let names = name.into_iter().chain(PersonName::number(&it.external_id));
            names.for_each(|name| note(&mut accounts.by_name, name, it));
            if let Some(domain) = home_domain(it) {
                accounts.domains.insert(domain);
                let user = plain(&it.user);
                let local = user.rsplit_once('@').and_then(|(local, _)| PersonName::login(local));
                if let Some(name) = local {
                    note(&mut accounts.by_local, name, it);
                }
            }
        }
        accounts
    }

    fn find(&self, name: PersonName) -> impl Iterator<Item = &'a Identity> {
        let found = [self.by_name.get(&name), self.by_local.get(&name)];
        found.into_iter().flatten().copied()
    }
}

fn note<'a>(all: &mut BTreeMap<PersonName, &'a Identity>, name: PersonName, it: &'a Identity) {
    let known = all.entry(name).or_insert(it);
    if !known.is_enabled {
        *known = it;
    }
}

/// The domain of an account of a member of the organization.
#[must_use]
pub fn home_domain(account: &Identity) -> Option<u64> {
    let name = PersonName::login(&account.user).filter(|_| account.user_type != UserType::Guest);
    name.and_then(PersonName::domain)
}

/// Returns what a complete list of accounts shows about people whose last day was long enough before it was read. `None`: nothing.
///
/// An account that is enabled fails. A person without one passes only if the list would have it: accounts have e-mail addresses of
/// that domain, or somebody's login was found in it. Otherwise nothing is known of the person here. A person whose domain only
/// another list of the client has is left to that list.
#[must_use]
pub fn verdict<'a>(all: &'a [Identity], leavers: &Leavers, at: Time) -> Option<ControlVerdict<'a>> {
    let is_due =
        |it: &&Leaver| it.last_day.is_some_and(|last_day| last_day.plus_days(DUE_DAYS) <= at);
    let due: Vec<&Leaver> = leavers.people.iter().filter(is_due).collect();
    if due.is_empty() {
        return None;
    }
    let accounts = Accounts::of(all);
    let is_login = |it: &PersonName| matches!(it, PersonName::Login(_));
    let mut names = leavers.people.iter().flat_map(|it| &it.names);
    let has_logins = names.any(|it| is_login(it) && accounts.find(*it).next().is_some());
    let judged = due.into_iter().filter_map(|leaver| {
        let mut found = leaver.names.iter().flat_map(|it| accounts.find(*it)).collect::<Vec<_>>();
        if let Some(enabled) = found.iter().find(|it| it.is_enabled) {
            return Some((enabled.user.as_str(), Some(false)));
        }
        let has = |it: &PersonName, domains: &BTreeSet<u64>| {
            it.domain().is_some_and(|domain| domains.contains(&domain))
        };
        let is_comparable = found.pop().is_some()
            || leaver.names.iter().any(|it| has(it, &accounts.domains))
            || has_logins && leaver.names.iter().any(is_login);
        if is_comparable {
            return Some(("", Some(true)));
        }
        let is_elsewhere = leaver.names.iter().any(|it| has(it, &leavers.domains));
        (!is_elsewhere).then_some(("", None))
    });
    Some(ControlVerdict::counted(DEPROVISIONED, judged)).filter(|it| it.verdict.is_effective())
}
