//! What is known to exist at a client: its platforms, their accounts, and how many devices it has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::current::Current;
use super::stated::is_said;
use crate::clock::Time;
use crate::engine::catalog::facet::Population;
use crate::engine::estate::{
    EstateKind, EstateMember, FirstSight, FirstSights, MemberDecision, N_MEMBERS_MAX, QuietDevice,
    SaidWhole, SeenEstate, SystemCounts,
};
use crate::engine::fact::{Facts, Observation, Usage};
use crate::engine::horizon::Horizon;

/// What nobody saw for so long does not exist any more.
const KNOWN_DAYS: i64 = 180;
/// The platform of what a network scan sees.
pub(in crate::engine) const NETWORK: &str = "onPremNetwork";
/// Platforms of which each must be seen. Others are of devices and of what the client does.
const SEEN_ONE_BY_ONE: [&str; 8] =
    ["m365", "google", "aws", "azure", "gcp", "kubernetes", "otherIdentity", NETWORK];
/// Those whose accounts are cloud accounts.
const CLOUDS: [&str; 4] = ["aws", "azure", "gcp", "kubernetes"];

/// What an observation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Place<'a> {
    /// The source does not say, or it is the client.
    Client,
    Platform {
        platform: &'a str,
        /// The tenant, account, subscription or project. `None`: the source does not name it.
        account: Option<&'a str>,
    },
    /// One device, by its scope.
    Device(&'a str),
    /// A domain that the DNS is read for.
    Domain(&'a str),
}

impl<'a> Place<'a> {
    /// Scopes of assessors begin with what they are of, such as `aws/123456789012`. A connection is the source of its platform.
    pub(in crate::engine) fn of(observation: &'a Observation) -> Self {
        let scope = observation.scope.as_str();
        let (first, rest) = scope.split_once('/').unwrap_or((scope, ""));
        let account = Some(rest).filter(|it| !it.is_empty());
        if let Some(platform) = &observation.platform {
            return Self::Platform { platform, account: account.filter(|_| first == platform) };
        }
        match first {
            "m365" | "google" | "aws" | "azure" | "gcp" | "kubernetes" if account.is_some() => {
                Self::Platform { platform: first, account }
            }
            "googleworkspace" => Self::Platform { platform: "google", account },
            // What a benchmark looked at ends with the benchmark.
            "host" => match rest.rsplit_once('/') {
                Some((host, _)) => Self::Device(host),
                None => Self::Device(rest),
            },
            "image" => Self::Device(scope),
            _ if first.parse::<std::net::IpAddr>().is_ok() => Self::Device(scope),
            _ => match observation.source.as_str() {
                "dns" if is_own_domain(scope) => Self::Domain(scope),
                platform @ ("m365" | "google" | "aws" | "azure") => {
                    Self::Platform { platform, account: None }
                }
                "ad" => Self::Platform { platform: NETWORK, account: None },
                _ => Self::Client,
            },
        }
    }
}

/// Every tenant of Microsoft 365 has one that nobody can use for mail of their own.
fn is_own_domain(scope: &str) -> bool {
    scope.contains('.') && !scope.contains('/') && !scope.ends_with(".onmicrosoft.com")
}

pub(in crate::engine) fn is_cloud(platform: &str) -> bool {
    CLOUDS.contains(&platform)
}

/// When each source saw something of a place last.
type Sight<'a> = BTreeMap<&'a str, Time>;

/// When something was seen last, and by which source.
fn newest<'a>(sight: &Sight<'a>) -> Option<(&'a str, Time)> {
    sight
        .iter()
        .map(|(source, at)| (*source, *at))
        .max_by_key(|(source, at)| (*at, Reverse(*source)))
}

fn take<'a>(all: &mut Sight<'a>, more: &Sight<'a>) {
    for (source, at) in more {
        let last = all.entry(source).or_insert(*at);
        *last = (*at).max(*last);
    }
}

/// Everything that was seen in the last [`KNOWN_DAYS`], whether or not it is meant.
#[derive(Debug, Default)]
pub(in crate::engine) struct Sights<'a>(BTreeMap<Place<'a>, Sight<'a>>);

impl<'a> Sights<'a> {
    pub(in crate::engine) fn of(current: &[Current<'a>], horizon: &mut Horizon) -> Self {
        let mut all: BTreeMap<Place<'a>, Sight<'a>> = BTreeMap::new();
        let mut last: Option<(&Observation, Place<'_>)> = None;
        for it in current.iter().filter(|it| it.result.is_some()).map(|it| it.worst) {
            if is_said(it) {
                continue;
            }
            // Those of a scope follow one another.
            let is_same = |last: &Observation| {
                (&last.source, &last.scope, &last.platform) == (&it.source, &it.scope, &it.platform)
            };
            let place = last.filter(|last| is_same(last.0)).map(|it| it.1);
            let is_told =
                place.is_some() && last.is_some_and(|last| it.observed_at <= last.0.observed_at);
            if is_told {
                continue;
            }
            let place = place.unwrap_or_else(|| Place::of(it));
            last = Some((it, place));
            let ends_at = it.observed_at.plus_days(KNOWN_DAYS);
            horizon.see(ends_at);
            if place != Place::Client && !horizon.is_past(ends_at) {
                let sight: &mut Sight<'a> = all.entry(place).or_default();
                let last = sight.entry(&it.source).or_insert(it.observed_at);
                *last = it.observed_at.max(*last);
            }
        }
        Self(all)
    }

    /// The platforms and accounts, for people: at most [`N_MEMBERS_MAX`]. And who looked.
    pub(in crate::engine) fn seen(&self, known: &FirstSights) -> SeenEstate {
        let mut platforms: BTreeMap<&str, Sight<'_>> = BTreeMap::new();
        let mut sources = known.sources.clone();
        let (mut accounts, mut domains) = (Vec::new(), Vec::new());
        for (place, sight) in &self.0 {
            for (source, at) in sight {
                let first = sources.entry((*source).to_owned()).or_insert(*at);
                *first = (*first).min(*at);
            }
            if let Place::Domain(domain) = *place {
                domains.extend(member(EstateKind::Domains, domain.to_owned(), sight, known));
            }
            let Place::Platform { platform, account } = *place else { continue };
            take(platforms.entry(platform).or_default(), sight);
            let Some(account) = account else { continue };
            let kind =
                if is_cloud(platform) { EstateKind::CloudAccounts } else { EstateKind::Scopes };
            accounts.extend(member(kind, format!("{platform}/{account}"), sight, known));
        }
        let of_platform = |(id, sight): (&str, Sight<'_>)| {
            member(EstateKind::Platforms, id.to_owned(), &sight, known)
        };
        let mut members: Vec<_> = platforms.into_iter().filter_map(of_platform).collect();
        members.append(&mut accounts);
        members.append(&mut domains);
        members.truncate(N_MEMBERS_MAX);
        SeenEstate { members, sources }
    }

    fn n_cloud_accounts(&self) -> u32 {
        let is_one = |it: &&Place<'_>| matches!(it, Place::Platform { platform, account: Some(_) } if is_cloud(platform));
        u32::try_from(self.0.keys().filter(is_one).count()).unwrap_or(u32::MAX)
    }
}

fn member(
    kind: EstateKind,
    id: String,
    sight: &Sight<'_>,
    known: &FirstSights,
) -> Option<EstateMember> {
    let (source, last_seen) = newest(sight)?;
    let FirstSight { at, is_late } = first_sight(&id, sight, known);
    let source = source.to_owned();
    Some(EstateMember { kind, id, first_seen: at, last_seen, source, is_late })
}

/// What a source sees on its first day was there before.
fn first_sight(id: &str, sight: &Sight<'_>, known: &FirstSights) -> FirstSight {
    if let Some(known) = known.members.get(id) {
        return *known;
    }
    let looked_before = |(source, at): (&&str, &Time)| {
        known.sources.get(*source).is_some_and(|first| first.day() < at.day())
    };
    let at = sight.values().copied().min().unwrap_or(known.counted_to);
    // Of further members it is not known when they were seen first.
    let is_kept = known.members.len() < N_MEMBERS_MAX;
    FirstSight { at, is_late: is_kept && sight.iter().all(looked_before) }
}

/// The decisions that take members out, those that count now.
#[derive(Debug, Default)]
pub(in crate::engine) struct Left<'a> {
    decisions: Vec<&'a MemberDecision>,
    by_name: BTreeMap<&'a str, usize>,
}

impl<'a> Left<'a> {
    /// A member that a person calls gone is back once something of it is seen after that.
    pub(in crate::engine) fn of(
        facts: &Facts<'a>,
        sights: &Sights<'a>,
        horizon: &mut Horizon,
    ) -> Self {
        let mut left = Self::default();
        for it in &facts.estate.members {
            it.until.into_iter().for_each(|end| horizon.see(end));
            if it.until.is_none_or(|end| !horizon.is_past(end)) {
                left.add(it);
            }
        }
        if left.decisions.is_empty() {
            return left;
        }
        let back: BTreeSet<usize> = sights
            .0
            .iter()
            .filter_map(|(place, sight)| {
                let at = left.find(*place)?;
                let decision = left.decisions[at];
                let is_after = newest(sight).is_some_and(|(_, seen)| decision.at < seen);
                (decision.is_retired && is_after).then_some(at)
            })
            .collect();
        let mut kept = Self::default();
        for (at, it) in left.decisions.iter().enumerate() {
            if !back.contains(&at) {
                kept.add(it);
            }
        }
        kept
    }

    fn add(&mut self, decision: &'a MemberDecision) {
        let at = self.decisions.len();
        self.by_name.extend(decision.names.iter().map(|it| (it.as_str(), at)));
        self.decisions.push(decision);
    }

    fn find(&self, place: Place<'_>) -> Option<usize> {
        let name = match place {
            Place::Client | Place::Platform { account: None, .. } => return None,
            Place::Platform { platform, account: Some(account) } => format!("{platform}/{account}"),
            Place::Device(name) | Place::Domain(name) => name.to_lowercase(),
        };
        self.by_name.get(name.as_str()).copied()
    }

    /// Source and scope of what was seen of the members.
    pub(in crate::engine) fn places_in(
        &self,
        current: &[Current<'_>],
    ) -> BTreeSet<(String, String)> {
        if self.decisions.is_empty() {
            return BTreeSet::new();
        }
        // Lists do not name a platform: their place is what their scope says.
        let seen = current.iter().map(|it| it.worst).filter(|it| it.platform.is_none());
        let left = seen.filter(|it| self.find(Place::of(it)).is_some());
        left.map(|it| (it.source.clone(), it.scope.clone())).collect()
    }

    /// Drops what was seen of the members.
    pub(in crate::engine) fn drop_from(&self, current: &mut Vec<Current<'_>>) {
        if !self.decisions.is_empty() {
            current.retain(|it| self.find(Place::of(it.worst)).is_none());
        }
    }

    /// A decision is about the device of these names.
    fn has(&self, names: &[String]) -> bool {
        let found = names.first().and_then(|it| self.by_name.get(it.as_str()));
        found.is_some_and(|at| self.decisions[*at].names == names)
    }

    fn count(&self, over: impl Fn(&MemberDecision) -> u32) -> u32 {
        self.decisions.iter().map(|it| over(it)).sum()
    }
}

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
