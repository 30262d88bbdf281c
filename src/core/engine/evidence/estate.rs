//! What is known to exist at a client: its platforms, their accounts, and how many devices it has.

use std::collections::{BTreeMap, BTreeSet};

use super::left::Left;
use super::place::{NETWORK, Place, SEEN_ONE_BY_ONE, is_cloud};
use super::sight::{Sight, Sights, first_sight, take};
use crate::clock::Time;
use crate::engine::catalog::facet::Population;
use crate::engine::estate::{EstateKind, FirstSights, QuietDevice, SaidWhole, SystemCounts};
use crate::engine::fact::{Facts, Usage};
use crate::engine::horizon::Horizon;

/// What is known of one client, and meant.
#[derive(Debug, Default)]
pub(in crate::engine) struct Estate<'a> {
    /// Used, or seen: the accounts of each, of those that are named.
    platforms: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// When each source saw something of a platform last.
    seen_at: BTreeMap<&'a str, Sight<'a>>,
    domains: BTreeSet<&'a str>,
    /// Domains, platforms, and accounts of platforms, that are asked of a control only if it saw something of them.
    new: BTreeSet<(&'a str, Option<&'a str>)>,
    n_cloud_accounts: u32,
    systems: SystemCounts,
    /// How many devices people took out.
    left: SystemCounts,
    quiet: Vec<&'a QuietDevice>,
    /// By name.
    quiet_names: BTreeMap<&'a str, usize>,
    /// What people say, as long as it has not expired.
    said: Vec<SaidWhole>,
}

impl<'a> Estate<'a> {
    pub(in crate::engine) fn of(
        facts: &Facts<'a>,
        sights: &Sights<'a>,
        left: &Left<'a>,
        horizon: &mut Horizon,
    ) -> Self {
        let mut estate = Self {
            n_cloud_accounts: sights.n_cloud_accounts(),
            systems: facts.estate.systems,
            left: SystemCounts {
                n_computers: left.count(|it| it.counts.n_computers),
                n_servers: left.count(|it| it.counts.n_servers),
                n_phones: left.count(|it| it.counts.n_phones),
                n_addressed: left.count(|it| it.counts.n_addressed),
                is_listed: false,
            },
            ..Self::default()
        };
        for said in &facts.estate.said_whole {
            horizon.see(said.until);
            if !horizon.is_past(said.until) {
                estate.said.push(*said);
            }
        }
        let used = facts.profile.iter().filter(|(_, it)| **it == Usage::Used);
        estate.platforms.extend(used.map(|(platform, _)| (platform.as_str(), BTreeSet::new())));
        let used: BTreeSet<&str> = estate.platforms.keys().copied().collect();
        for (place, sight) in &sights.0 {
            if left.find(*place).is_none() {
                estate.see(*place, sight);
            }
        }
        estate.note_new(sights, &facts.estate.sights, horizon);
        // That a client uses a platform is known from a person.
        estate.new.retain(|it| it.1.is_some() || !used.contains(it.0));
        let quiet = facts.estate.quiet.iter().filter(|it| !left.has(&it.names));
        for it in quiet {
            it.new_until.into_iter().for_each(|end| horizon.see(end));
            let at = estate.quiet.len();
            estate.quiet_names.extend(it.names.iter().map(|name| (name.as_str(), at)));
            estate.quiet.push(it);
        }
        estate
    }

    /// Tells the platforms and accounts that are new from the others.
    fn note_new(&mut self, sights: &Sights<'a>, known: &FirstSights, horizon: &mut Horizon) {
        let mut until = |id: &str, sight: &Sight<'_>| {
            let end = known.new_until(first_sight(id, sight, known));
            if let Some(end) = end {
                horizon.see(end);
            }
            end.is_some()
        };
        let mut platforms: BTreeMap<&'a str, Sight<'a>> = BTreeMap::new();
        for (place, sight) in &sights.0 {
            if let Place::Domain(domain) = *place
                && until(domain, sight)
            {
                self.new.insert((domain, None));
            }
            let Place::Platform { platform, account } = *place else { continue };
            take(platforms.entry(platform).or_default(), sight);
            if let Some(account) = account
                && until(&format!("{platform}/{account}"), sight)
            {
                self.new.insert((platform, Some(account)));
            }
        }
        for (platform, sight) in platforms {
            if until(platform, &sight) {
                self.new.insert((platform, None));
            }
        }
    }

    fn see(&mut self, place: Place<'a>, sight: &Sight<'a>) {
        let (platform, account) = match place {
            Place::Client => return,
            Place::Domain(domain) => {
                self.domains.insert(domain);
                return;
            }
            Place::Platform { platform, account } => (platform, account),
            Place::Device(_) => (NETWORK, None),
        };
        let of_platform = self.seen_at.entry(platform).or_default();
        take(of_platform, sight);
        // That a device was seen does not say that the client has a network of its own.
        if platform != NETWORK {
            self.platforms.entry(platform).or_default().extend(account);
        }
    }

    /// The platforms of a control that are known and must be seen one by one, with their accounts.
    ///
    /// `saw`: whether the control saw something of a platform, or of an account of it. Without it, nothing new is asked for.
    pub(in crate::engine) fn platforms_of(
        &self,
        platforms: &'a [String],
        saw: impl Fn(&str, Option<&str>) -> bool + Copy,
    ) -> impl Iterator<Item = (&'a str, BTreeSet<&'a str>)> {
        let asked = platforms.iter().map(String::as_str).filter(|it| SEEN_ONE_BY_ONE.contains(it));
        let is_asked = move |platform: &'a str, account: Option<&'a str>| {
            !self.new.contains(&(platform, account)) || saw(platform, account)
        };
        asked.filter_map(move |platform| {
            let accounts = self.platforms.get(platform)?.iter().copied();
            let accounts = accounts.filter(|it| is_asked(platform, Some(*it)));
            is_asked(platform, None).then(|| (platform, accounts.collect()))
        })
    }

    /// The domains that must be seen. `seen`: of those that are new, only these count.
    pub(in crate::engine) fn domains(
        &self,
        seen: &BTreeSet<Place<'a>>,
    ) -> impl Iterator<Item = &'a str> {
        let is_asked =
            |it: &&str| !self.new.contains(&(*it, None)) || seen.contains(&Place::Domain(it));
        self.domains.iter().copied().filter(is_asked)
    }

    pub(in crate::engine) fn saw(&self, platform: &str) -> bool {
        self.seen_at.contains_key(platform)
    }

    /// Something of the platform was seen after this time.
    pub(in crate::engine) fn saw_after(&self, platform: &str, time: Time) -> bool {
        self.seen_after(platform, time).next().is_some()
    }

    /// The sources that saw something of the platform after this time, and when.
    pub(in crate::engine) fn seen_after(
        &self,
        platform: &str,
        time: Time,
    ) -> impl Iterator<Item = (&'a str, Time)> {
        let of_all = self.seen_at.get(platform).filter(|_| platform != NETWORK);
        let of_all = of_all.into_iter().flatten().map(|(source, at)| (*source, *at));
        of_all.filter(move |(_, at)| time < *at)
    }

    /// How many devices a population has, if it is one of devices that are counted, and whether these are all.
    ///
    /// `seen`: the devices that were looked at. Of those that are new or stale, only these count.
    pub(in crate::engine) fn devices(
        &self,
        over: Population,
        seen: &BTreeSet<Place<'_>>,
    ) -> Option<(u32, bool)> {
        let (kind, count): (_, fn(&SystemCounts) -> u32) = match over {
            Population::Computers => (EstateKind::Computers, |it| it.n_computers),
            Population::Servers => (EstateKind::Servers, |it| it.n_servers),
            Population::Phones => (EstateKind::Phones, |it| it.n_phones),
            Population::Systems => (EstateKind::Systems, |it| it.n_addressed),
            Population::Client
            | Population::Accounts
            | Population::Administrators
            | Population::Guests
            | Population::Networks
            | Population::Domains
            | Population::CloudAccounts
            | Population::Repositories => return None,
        };
        let (mut n_new, mut n_stale) = (0, 0);
        if !self.quiet.is_empty() {
            let looked_at = self.quiet_among(seen);
            let unseen = self.quiet.iter().enumerate().filter(|it| !looked_at.contains(&it.0));
            for (_, it) in unseen {
                let n = if it.new_until.is_some() { &mut n_new } else { &mut n_stale };
                *n += count(&it.counts);
            }
        }
        let n_known = count(&self.systems).saturating_sub(n_new);
        let is_whole = self.systems.is_listed || self.is_said_whole(kind, n_known);
        Some((n_known.saturating_sub(n_stale).saturating_sub(count(&self.left)), is_whole))
    }

    fn quiet_among(&self, seen: &BTreeSet<Place<'_>>) -> BTreeSet<usize> {
        let find = |it: &Place<'_>| {
            let Place::Device(name) = *it else { return None };
            self.quiet_names.get(name.to_lowercase().as_str()).copied()
        };
        seen.iter().filter_map(find).collect()
    }

    fn is_said_whole(&self, kind: EstateKind, n_known: u32) -> bool {
        self.said.iter().any(|it| it.kind == kind && n_known <= it.n_known)
    }

    /// A person said that the cloud accounts that are known are all. `saw`: as in [`Self::platforms_of`].
    pub(in crate::engine) fn knows_cloud_accounts(
        &self,
        saw: impl Fn(&str, Option<&str>) -> bool,
    ) -> bool {
        let is_quiet = |(platform, account): &&(&str, Option<&str>)| {
            account.is_some() && is_cloud(platform) && !saw(platform, *account)
        };
        let n_new = u32::try_from(self.new.iter().filter(is_quiet).count()).unwrap_or(u32::MAX);
        let n_known = self.n_cloud_accounts.saturating_sub(n_new);
        self.is_said_whole(EstateKind::CloudAccounts, n_known)
    }
}
