//! What is known to exist at a client: its platforms, their accounts, and how many devices it has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::current::Current;
use super::stated::is_said;
use crate::clock::Time;
use crate::engine::catalog::facet::Population;
use crate::engine::estate::{EstateKind, EstateMember, MemberDecision, N_MEMBERS_MAX};
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
                platform @ ("m365" | "google" | "aws" | "azure") => {
                    Self::Platform { platform, account: None }
                }
                "ad" => Self::Platform { platform: NETWORK, account: None },
                _ => Self::Client,
            },
        }
    }
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

    /// The platforms and accounts, for people: at most [`N_MEMBERS_MAX`].
    pub(in crate::engine) fn members(&self) -> Vec<EstateMember> {
        let mut platforms: BTreeMap<&str, Sight<'_>> = BTreeMap::new();
        let mut members = Vec::new();
        for (place, sight) in &self.0 {
            let Place::Platform { platform, account } = *place else { continue };
            let of_platform = platforms.entry(platform).or_default();
            take(of_platform, sight);
            let Some(account) = account else { continue };
            let kind =
                if is_cloud(platform) { EstateKind::CloudAccounts } else { EstateKind::Scopes };
            members.extend(member(kind, format!("{platform}/{account}"), sight));
        }
        let of_platform =
            |(id, sight): (&str, Sight<'_>)| member(EstateKind::Platforms, id.to_owned(), &sight);
        let mut all: Vec<_> = platforms.into_iter().filter_map(of_platform).collect();
        all.append(&mut members);
        all.truncate(N_MEMBERS_MAX);
        all
    }

    fn n_cloud_accounts(&self) -> u32 {
        let is_one = |it: &&Place<'_>| matches!(it, Place::Platform { platform, account: Some(_) } if is_cloud(platform));
        u32::try_from(self.0.keys().filter(is_one).count()).unwrap_or(u32::MAX)
    }
}

fn member(kind: EstateKind, id: String, sight: &Sight<'_>) -> Option<EstateMember> {
    let (source, last_seen) = newest(sight)?;
    Some(EstateMember { kind, id, last_seen, source: source.to_owned() })
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
            Place::Device(name) => name.to_lowercase(),
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
    n_computers: u32,
    n_servers: u32,
    n_addressed: u32,
    /// Of these there are no more than are known.
    whole: BTreeSet<EstateKind>,
}

impl<'a> Estate<'a> {
    pub(in crate::engine) fn of(
        facts: &Facts<'a>,
        sights: &Sights<'a>,
        left: &Left<'a>,
        horizon: &mut Horizon,
    ) -> Self {
        let systems = facts.estate.systems;
        let mut estate = Self {
            n_computers: systems.n_computers.saturating_sub(left.count(|it| it.counts.n_computers)),
            n_servers: systems.n_servers.saturating_sub(left.count(|it| it.counts.n_servers)),
            n_addressed: systems.n_addressed.saturating_sub(left.count(|it| it.counts.n_addressed)),
            ..Self::default()
        };
        if systems.is_listed {
            estate.whole.extend(EstateKind::ALL.into_iter().filter(|it| it.is_of_devices()));
        }
        let n_known = |kind: EstateKind| match kind {
            EstateKind::Computers => systems.n_computers,
            EstateKind::Servers => systems.n_servers,
            EstateKind::Systems => systems.n_addressed,
            EstateKind::CloudAccounts => sights.n_cloud_accounts(),
            EstateKind::Platforms | EstateKind::Scopes => 0,
        };
        for said in &facts.estate.said_whole {
            horizon.see(said.until);
            if said.holds(n_known(said.kind), facts.now) {
                estate.whole.insert(said.kind);
            }
        }
        let used = facts.profile.iter().filter(|(_, it)| **it == Usage::Used);
        estate.platforms.extend(used.map(|(platform, _)| (platform.as_str(), BTreeSet::new())));
        for (place, sight) in &sights.0 {
            if left.find(*place).is_none() {
                estate.see(*place, sight);
            }
        }
        estate
    }

    fn see(&mut self, place: Place<'a>, sight: &Sight<'a>) {
        let (platform, account) = match place {
            Place::Client => return,
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
    pub(in crate::engine) fn platforms_of(
        &self,
        platforms: &'a [String],
    ) -> impl Iterator<Item = (&'a str, &BTreeSet<&'a str>)> {
        let asked = platforms.iter().map(String::as_str).filter(|it| SEEN_ONE_BY_ONE.contains(it));
        asked.filter_map(|it| Some((it, self.platforms.get(it)?)))
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
    pub(in crate::engine) fn devices(&self, over: Population) -> Option<(u32, bool)> {
        let (n, kind) = match over {
            Population::Computers => (self.n_computers, EstateKind::Computers),
            Population::Servers => (self.n_servers, EstateKind::Servers),
            Population::Systems => (self.n_addressed, EstateKind::Systems),
            Population::Client
            | Population::Accounts
            | Population::Administrators
            | Population::Guests
            | Population::Phones
            | Population::Networks
            | Population::Domains
            | Population::CloudAccounts
            | Population::Repositories => return None,
        };
        Some((n, self.whole.contains(&kind)))
    }

    /// A person said that the cloud accounts that are known are all.
    pub(in crate::engine) fn knows_cloud_accounts(&self) -> bool {
        self.whole.contains(&EstateKind::CloudAccounts)
    }
}
