//! What is known to exist at a client: its platforms, their accounts, and how many devices it has.

use std::collections::{BTreeMap, BTreeSet};

use super::current::Current;
use crate::clock::Time;
use crate::engine::catalog::facet::Population;
use crate::engine::fact::{Facts, Observation, SystemCounts, Usage};
use crate::engine::horizon::Horizon;

/// What nobody saw for so long does not exist any more.
const KNOWN_DAYS: i64 = 180;
/// The platform of what a network scan sees.
pub(in crate::engine) const NETWORK: &str = "onPremNetwork";
/// Platforms of which each must be seen. Others are of devices and of what the client does.
const SEEN_ONE_BY_ONE: [&str; 8] =
    ["m365", "google", "aws", "azure", "gcp", "kubernetes", "otherIdentity", NETWORK];

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

/// What is known of one client.
#[derive(Debug, Default)]
pub(in crate::engine) struct Estate<'a> {
    /// Used, or seen: the accounts of each, of those that are named.
    platforms: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// When something of a platform was seen last.
    seen_at: BTreeMap<&'a str, Time>,
    systems: SystemCounts,
}

impl<'a> Estate<'a> {
    pub(in crate::engine) fn of(
        facts: &Facts<'a>,
        current: &'a [Current<'a>],
        horizon: &mut Horizon,
    ) -> Self {
        let mut estate = Self { systems: facts.systems, ..Self::default() };
        let used = facts.profile.iter().filter(|(_, it)| **it == Usage::Used);
        estate.platforms.extend(used.map(|(platform, _)| (platform.as_str(), BTreeSet::new())));
        let seen = current.iter().filter(|it| it.result.is_some()).map(|it| it.worst);
        let mut last: Option<(&Observation, Place<'_>)> = None;
        for it in seen {
            // Those of a scope follow one another.
            let is_same = |last: &Observation| {
                (&last.source, &last.scope, &last.platform) == (&it.source, &it.scope, &it.platform)
            };
            let place = last.filter(|last| is_same(last.0)).map(|it| it.1);
            let is_told =
                place.is_some() && last.is_some_and(|last| it.observed_at <= last.0.observed_at);
            if !is_told {
                let place = place.unwrap_or_else(|| Place::of(it));
                estate.see(place, it.observed_at, horizon);
                last = Some((it, place));
            }
        }
        estate
    }

    fn see(&mut self, place: Place<'a>, at: Time, horizon: &mut Horizon) {
        let (platform, account) = match place {
            Place::Client => return,
            Place::Platform { platform, account } => (platform, account),
            Place::Device(_) => (NETWORK, None),
        };
        let ends_at = at.plus_days(KNOWN_DAYS);
        horizon.see(ends_at);
        if horizon.is_past(ends_at) {
            return;
        }
        let newest = self.seen_at.entry(platform).or_insert(at);
        *newest = at.max(*newest);
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

    /// Something of the platform was seen after this time.
    pub(in crate::engine) fn saw_after(&self, platform: &str, time: Time) -> bool {
        platform != NETWORK && self.seen_at.get(platform).is_some_and(|at| time < *at)
    }

    /// How many devices a population has, if it is one of devices that are counted.
    pub(in crate::engine) fn n_devices(&self, over: Population) -> Option<u32> {
        match over {
            Population::Computers => Some(self.systems.n_computers),
            Population::Servers => Some(self.systems.n_servers),
            Population::Systems => Some(self.systems.n_addressed),
            Population::Client
            | Population::Accounts
            | Population::Administrators
            | Population::Guests
            | Population::Phones
            | Population::Networks
            | Population::Domains
            | Population::CloudAccounts
            | Population::Repositories => None,
        }
    }

    /// A source listed all devices that there are.
    pub(in crate::engine) const fn lists_devices(&self) -> bool {
        self.systems.is_listed
    }
}
