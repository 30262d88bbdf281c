//! What of a control was looked at: each facet, on each platform and account that it is asked on, and on each device.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use super::current::EvidenceClaim;
use super::estate::Estate;
use super::fraction::Share;
use super::sight::{NETWORK, Place, is_cloud};
use super::stated::BareParts;
use crate::engine::catalog::Control;
use crate::engine::catalog::facet::{Facet, FacetSet, Population};
use crate::engine::estate::UnseenKind;
use crate::engine::fact::Subject;
use crate::engine::memory::Extent;
use crate::engine::statement::platform_name;

/// How many parts that nobody looked at are named.
const N_UNSEEN_NAMED_MAX: usize = 5;

/// The parts of one control, and which of them were looked at.
#[derive(Debug, Default)]
pub(in crate::engine) struct Parts<'a> {
    shares: Vec<Share>,
    unseen: Vec<UnseenPart<'a>>,
    /// Those that nobody saw either, and that a person calls met, without evidence.
    claimed: Vec<UnseenPart<'a>>,
}

/// A part that nobody looked at, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnseenPart<'a> {
    /// Something is true if it is met. On this platform and account; `None`: anywhere.
    Facet(&'a str, Option<Spot<'a>>),
    Place(Spot<'a>),
    Domain(&'a str),
    /// Nobody says that the cloud accounts that are known are all.
    OtherClouds,
    /// Of so many known devices, these were looked at. `None`: nobody listed them.
    Devices {
        over: Population,
        n_seen: u32,
        n_known: Option<u32>,
    },
}

/// A platform, and one account of it where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot<'a> {
    platform: &'a str,
    account: Option<&'a str>,
}

/// What one claim looked at.
struct Look<'a> {
    place: Place<'a>,
    facets: FacetSet,
    /// How many members it counted, by its source, if that counts for the control and does not say that these are all.
    counted: Option<(&'a str, u64)>,
}

impl<'a> Look<'a> {
    fn of(claim: &EvidenceClaim<'a>) -> Self {
        let (it, result) = (claim.current.worst, &claim.result);
        let is_of_some =
            matches!(it.memory.extent, Extent::Named | Extent::Counted | Extent::Numbers { .. });
        let counts = result.is_counted && is_of_some && matches!(it.subject, Subject::Control(_));
        let n = result.passed + result.failed + result.unseen;
        Self {
            place: Place::of(it),
            facets: claim.shows,
            counted: counts.then_some((it.source.as_str(), n)),
        }
    }
}

impl<'a> Parts<'a> {
    /// `claims`: the valid ones.
    pub(in crate::engine) fn of(
        control: &'a Control,
        claims: impl Iterator<Item = EvidenceClaim<'a>>,
        (estate, bare): (&Estate<'a>, &BareParts<'_>),
    ) -> Self {
        let mut parts = Self::looked_at(control, claims, estate);
        let is_claimed = |it: &UnseenPart<'_>| it.is_claimed(control, bare);
        (parts.claimed, parts.unseen) = parts.unseen.into_iter().partition(is_claimed);
        parts
    }

    fn looked_at(
        control: &'a Control,
        claims: impl Iterator<Item = EvidenceClaim<'a>>,
        estate: &Estate<'a>,
    ) -> Self {
        let looks: Vec<Look<'a>> =
            claims.filter(|it| !it.is_thin()).map(|it| Look::of(&it)).collect();
        let mut parts = Self::default();
        if looks.is_empty() {
            return parts;
        }
        let mut asked = parts.ask_of_facets(control, estate, &looks);
        if control.over.is_on_platforms() {
            for (platform, accounts) in estate.platforms_of(&control.platforms, saw_in(&looks)) {
                let shown = control.shown_on.iter().find(|(it, _)| it == platform);
                let facets = shown.map_or(FacetSet::NONE, |it| it.1);
                asked = asked.with(facets);
                for spot in Spot::all(platform, &accounts) {
                    parts.ask_at(control, spot, facets, &looks);
                }
            }
        }
        if control.over == Population::CloudAccounts && !estate.knows_cloud_accounts(saw_in(&looks))
        {
            parts.ask_clouds(control, &looks);
        }
        let by_members = if control.over == Population::Domains {
            parts.ask_domains(estate, &looks)
        } else {
            parts.ask_devices(control, estate, &looks)
        };
        if control.facets.len() == 1 && !parts.shares.is_empty() {
            return parts;
        }
        let anywhere = facets_of(looks.iter());
        for facet in control.all_facets().without(asked).without(by_members).iter() {
            let says = control.facets[facet].says.as_str();
            parts.count(anywhere.has(facet), || UnseenPart::Facet(says, None));
        }
        parts
    }

    /// Returns the facets that are asked on platforms of their own, and were.
    fn ask_of_facets(
        &mut self,
        control: &'a Control,
        estate: &Estate<'a>,
        looks: &[Look<'a>],
    ) -> FacetSet {
        let mut asked = FacetSet::NONE;
        for (index, facet) in control.facets.iter().enumerate() {
            for (platform, accounts) in estate.platforms_of(&facet.platforms, saw_in(looks)) {
                asked = asked.with(FacetSet::one(index));
                for spot in Spot::all(platform, &accounts) {
                    self.ask_at(control, spot, FacetSet::one(index), looks);
                }
            }
        }
        asked
    }

    fn ask_at(
        &mut self,
        control: &'a Control,
        spot: Spot<'a>,
        facets: FacetSet,
        looks: &[Look<'a>],
    ) {
        let here = looks.iter().filter(|it| spot.is_seen_at(it.place, control));
        let seen = facets_of(here);
        if facets.is_empty() || control.facets.len() == 1 {
            return self.count(!seen.is_empty(), || UnseenPart::Place(spot));
        }
        if seen.is_empty() {
            for _ in facets.iter().skip(1) {
                self.shares.push(Share::NONE);
            }
            return self.count(false, || UnseenPart::Place(spot));
        }
        for facet in facets.iter() {
            let says = control.facets[facet].says.as_str();
            self.count(seen.has(facet), || UnseenPart::Facet(says, Some(spot)));
        }
    }

    /// What names one account of a cloud stands for that one. There may be more until somebody says that there are not.
    fn ask_clouds(&mut self, control: &'a Control, looks: &[Look<'a>]) {
        let of_client = |it: &&Look<'a>| it.place == Place::Client;
        let is_of_all =
            control.all_facets().without(facets_of(looks.iter().filter(of_client))).is_empty();
        let is_cloud = |it: &Look<'a>| matches!(it.place, Place::Platform { platform, .. } if is_cloud(platform));
        if looks.iter().any(is_cloud) && !is_of_all {
            self.count(false, || UnseenPart::OtherClouds);
        }
    }

    /// Returns the facets that only looks at some of the devices show: single ones, or counts of fewer than are known. What a
    /// source says of all devices without counting them needs no count. Of those that nobody listed, there may be more.
    fn ask_devices(
        &mut self,
        control: &'a Control,
        estate: &Estate<'a>,
        looks: &[Look<'a>],
    ) -> FacetSet {
        let over = control.over;
        let Some((_, is_listed)) = estate.devices(over, &BTreeSet::new()) else {
            return FacetSet::NONE;
        };
        let is_enough = |n: u32, n_seen: u32| n <= n_seen.saturating_add(over.n_tolerated(n));
        let counts_members =
            is_listed && matches!(over, Population::Computers | Population::Servers);
        let of_some = |it: &&Look<'a>| {
            let is_counted = it.counted.is_some() && counts_members;
            matches!(it.place, Place::Device(_)) || is_counted
        };
        let of_all = facets_of(looks.iter().filter(|it| !of_some(it)));
        let by_devices = facets_of(looks.iter().filter(of_some)).without(of_all);
        for facet in by_devices.iter() {
            let seen = looks.iter().filter(of_some).filter(|it| it.facets.has(facet));
            let (single, n_seen) = devices_seen(seen);
            let Some((n_known, is_listed)) = estate.devices(over, &single) else {
                return FacetSet::NONE;
            };
            let n_known = Some(n_known).filter(|it| is_listed || n_seen < *it);
            if is_listed && n_known.is_some_and(|it| is_enough(it, n_seen)) {
                self.shares.push(Share::WHOLE);
                continue;
            }
            let share = n_known.map_or(Share::HALF, |n| Share::of(n_seen.into(), n.into()));
            self.shares.push(share);
            let unseen = UnseenPart::Devices { over, n_seen, n_known };
            if !self.unseen.contains(&unseen) {
                self.unseen.push(unseen);
            }
        }
        by_devices
    }

    /// Returns the facets that only looks at single domains show: each domain that is known is asked for.
    fn ask_domains(&mut self, estate: &Estate<'a>, looks: &[Look<'a>]) -> FacetSet {
        let of_one = |it: &&Look<'a>| matches!(it.place, Place::Domain(_));
        let of_all = facets_of(looks.iter().filter(|it| !of_one(it)));
        let by_domains = facets_of(looks.iter().filter(of_one)).without(of_all);
        for facet in by_domains.iter() {
            let seen = looks.iter().filter(of_one).filter(|it| it.facets.has(facet));
            let seen: BTreeSet<Place<'_>> = seen.map(|it| it.place).collect();
            for domain in estate.domains(&seen) {
                let unseen = UnseenPart::Domain(domain);
                let is_seen = seen.contains(&Place::Domain(domain));
                self.shares.push(if is_seen { Share::WHOLE } else { Share::NONE });
                if !is_seen && !self.unseen.contains(&unseen) {
                    self.unseen.push(unseen);
                }
            }
        }
        by_domains
    }

    fn count(&mut self, is_seen: bool, unseen: impl FnOnce() -> UnseenPart<'a>) {
        self.shares.push(if is_seen { Share::WHOLE } else { Share::NONE });
        if !is_seen {
            self.unseen.push(unseen());
        }
    }

    /// The platforms that a control names, that are used, and that nothing looked at.
    pub(in crate::engine) fn of_platforms(control: &'a Control, estate: &Estate<'a>) -> Self {
        let mut parts = Self::default();
        if control.over.is_on_platforms() {
            let all = estate.platforms_of(&control.platforms, |_, _| false).map(|it| it.0);
            for platform in all.filter(|it| !estate.saw(it)) {
                parts.count(false, || UnseenPart::Place(Spot { platform, account: None }));
            }
        }
        parts
    }

    /// What nobody looked at, in words.
    pub(in crate::engine) fn unseen(&self) -> impl Iterator<Item = (UnseenKind, String)> {
        self.unseen.iter().chain(&self.claimed).map(|it| (it.kind(), it.to_string()))
    }

    /// Everything that is known was looked at.
    pub(in crate::engine) fn is_whole(&self) -> bool {
        self.unseen.is_empty() && self.claimed.is_empty()
    }

    /// A person calls everything met that nobody looked at.
    pub(in crate::engine) fn is_claimed(&self) -> bool {
        self.unseen.is_empty() && !self.claimed.is_empty()
    }

    /// The share that was looked at.
    pub(in crate::engine) fn share(&self) -> Share {
        if self.is_whole() { Share::WHOLE } else { Share::mean(&self.shares) }
    }
}

/// The single devices that were looked at, and how many devices were: these, or what one source counts, if that is more.
fn devices_seen<'l, 'a: 'l>(
    looks: impl Iterator<Item = &'l Look<'a>>,
) -> (BTreeSet<Place<'a>>, u32) {
    let (mut single, mut counted) = (BTreeSet::new(), BTreeMap::<&str, u64>::new());
    for it in looks {
        match (it.place, it.counted) {
            (Place::Device(_), _) => {
                single.insert(it.place);
            }
            (_, Some((source, n))) => *counted.entry(source).or_default() += n,
            (_, None) => (),
        }
    }
    let most = counted.into_values().max().unwrap_or(0).max(single.len() as u64);
    (single, u32::try_from(most).unwrap_or(u32::MAX))
}

/// Whether something was seen of a platform, or of an account of it.
fn saw_in<'l>(looks: &'l [Look<'_>]) -> impl Fn(&str, Option<&str>) -> bool + Copy + 'l {
    |platform, account| {
        looks.iter().any(|it| match it.place {
            Place::Platform { platform: of, account: seen } => {
                of == platform && (account.is_none() || seen == account)
            }
            Place::Client | Place::Device(_) | Place::Domain(_) => false,
        })
    }
}

fn facets_of<'l, 'a: 'l>(looks: impl Iterator<Item = &'l Look<'a>>) -> FacetSet {
    looks.fold(FacetSet::NONE, |all, it| all.with(it.facets))
}

impl<'a> Spot<'a> {
    /// A platform, or its accounts where there are several. One that the source does not name is the only one.
    fn all(platform: &'a str, accounts: &BTreeSet<&'a str>) -> Vec<Self> {
        if accounts.len() < 2 {
            return vec![Self { platform, account: None }];
        }
        accounts.iter().map(|it| Self { platform, account: Some(it) }).collect()
    }

    fn is_seen_at(&self, place: Place<'a>, control: &Control) -> bool {
        match place {
            Place::Client | Place::Domain(_) => true,
            Place::Device(_) => self.platform == NETWORK,
            Place::Platform { platform, account } => {
                let is_same = platform == self.platform
                    || is_of_entra(platform)
                        && is_of_entra(self.platform)
                        && asks_entra_once(control);
                is_same && (account.is_none() || self.account.is_none() || account == self.account)
            }
        }
    }
}

/// Accounts of Azure are those of Microsoft 365, and so are the settings of the directory: a control of them does not name Azure.
fn asks_entra_once(control: &Control) -> bool {
    control.over.is_of_accounts() || !control.platforms.iter().any(|it| it == "azure")
}

fn is_of_entra(platform: &str) -> bool {
    matches!(platform, "m365" | "azure")
}

impl UnseenPart<'_> {
    const fn kind(&self) -> UnseenKind {
        match self {
            Self::Facet(..) => UnseenKind::Facet,
            Self::Place(Spot { account: None, .. }) => UnseenKind::Platform,
            Self::Place(_) => UnseenKind::Account,
            Self::OtherClouds => UnseenKind::CloudAccounts,
            Self::Domain(_) => UnseenKind::Domain,
            Self::Devices { .. } => UnseenKind::Devices,
        }
    }

    fn is_claimed(&self, control: &Control, bare: &BareParts<'_>) -> bool {
        let (facets, spot) = match *self {
            Self::Facet(says, spot) => {
                let is_it = |it: &Facet| it.says == says;
                let facet = control.facets.iter().position(is_it);
                (facet.map_or(FacetSet::NONE, FacetSet::one), spot)
            }
            Self::Place(spot) => (control.all_facets(), Some(spot)),
            Self::OtherClouds | Self::Domain(_) | Self::Devices { .. } => return false,
        };
        let (platform, account) = (spot.map(|it| it.platform), spot.and_then(|it| it.account));
        bare.cover(control, (facets, platform, account))
    }
}

impl fmt::Display for Spot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(platform_name(self.platform))?;
        self.account.map_or(Ok(()), |it| write!(f, " {it}"))
    }
}

impl fmt::Display for UnseenPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Facet(says, None) => write!(f, "\"{says}\""),
            Self::Facet(says, Some(spot)) => write!(f, "\"{says}\" in {spot}"),
            Self::Place(spot) => spot.fmt(f),
            Self::Domain(domain) => f.write_str(domain),
            Self::OtherClouds => f.write_str("other cloud accounts, if there are any"),
            Self::Devices { over, n_seen, n_known: Some(n) } => {
                write!(f, "{} of {n} {}", n - n_seen, over.as_str())
            }
            Self::Devices { over, n_seen, n_known: None } => {
                write!(f, "more than {n_seen} of the {}, which no list names", over.as_str())
            }
        }
    }
}

/// Written as `Not seen: Azure; "Passwords are not reused" in AWS. Said, not shown: AWS.`. Empty if everything was looked at.
impl fmt::Display for Parts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, "Not seen", &self.unseen)?;
        if !self.unseen.is_empty() && !self.claimed.is_empty() {
            f.write_char(' ')?;
        }
        write_list(f, "Said, not shown", &self.claimed)
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, lead: &str, all: &[UnseenPart<'_>]) -> fmt::Result {
    let Some((first, rest)) = all.split_first() else { return Ok(()) };
    write!(f, "{lead}: {first}")?;
    for it in rest.iter().take(N_UNSEEN_NAMED_MAX - 1) {
        write!(f, "; {it}")?;
    }
    match all.len().saturating_sub(N_UNSEEN_NAMED_MAX) {
        0 => f.write_char('.'),
        n => write!(f, "; and {n} more."),
    }
}
