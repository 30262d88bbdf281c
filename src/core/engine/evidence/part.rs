//! What of a control was looked at: each facet, on each platform and account that it is asked on, and on each device.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use super::current::{CheckKey, CheckResult, EvidenceClaim};
use super::estate::Estate;
use super::fraction::Share;
use super::place::{Place, is_cloud};
use super::stated::BareParts;
use super::unseen::{self, Spot, UnseenPart};
use crate::engine::catalog::Control;
use crate::engine::catalog::facet::{FacetSet, Population};
use crate::engine::estate::UnseenKind;
use crate::engine::fact::Subject;
use crate::engine::memory::Extent;

/// The parts of one control, and which of them were looked at.
#[derive(Debug, Default)]
pub(in crate::engine) struct Parts<'a> {
    asked: Vec<AskedPart>,
    looks: Vec<Look<'a>>,
    /// Those that show too little to meet any of them.
    thin: Vec<Counted<'a>>,
    unseen: Vec<UnseenPart<'a>>,
    /// Those that nobody saw either, and that a person calls met, without evidence.
    claimed: Vec<UnseenPart<'a>>,
}

/// A part that is asked.
#[derive(Debug)]
struct AskedPart {
    /// The share that was looked at.
    looked_at: Share,
    /// Which looks were at it, by their index.
    looks: Vec<usize>,
}

/// What one claim looked at.
#[derive(Debug)]
struct Look<'a> {
    index: usize,
    place: Place<'a>,
    facets: FacetSet,
    of_check: Counted<'a>,
    /// How many members it counted, by its source, if that counts for the control and does not say that these are all.
    counted: Option<(&'a str, u64)>,
}

/// What passes of one check.
#[derive(Clone, Copy, Debug)]
struct Counted<'a> {
    check: CheckKey<'a>,
    passed: u64,
    known: u64,
    is_failing: bool,
}

impl<'a> Counted<'a> {
    fn of(claim: &EvidenceClaim<'a>) -> Self {
        let CheckResult { passed, failed, unseen, .. } = claim.result;
        let (known, is_failing) = (passed + failed + unseen, claim.result.is_failing());
        Self { check: claim.current.check, passed, known, is_failing }
    }
}

impl<'a> Look<'a> {
    fn of(index: usize, claim: &EvidenceClaim<'a>) -> Self {
        let it = claim.current.worst;
        let is_of_some =
            matches!(it.memory.extent, Extent::Named | Extent::Counted | Extent::Numbers { .. });
        let counts =
            claim.result.is_counted && is_of_some && matches!(it.subject, Subject::Control(_));
        let of_check = Counted::of(claim);
        Self {
            index,
            place: claim.current.place,
            facets: claim.shows,
            of_check,
            counted: counts.then_some((it.source.as_str(), of_check.known)),
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
        let mut parts = Self::default();
        let mut looks: Vec<Look<'a>> = Vec::new();
        for it in claims {
            if it.is_thin() {
                parts.thin.push(Counted::of(&it));
            } else {
                looks.push(Look::of(looks.len(), &it));
            }
        }
        if !looks.is_empty() {
            parts.ask(control, &looks, estate);
            parts.looks = looks;
        }
        parts
    }

    fn ask(&mut self, control: &'a Control, looks: &[Look<'a>], estate: &Estate<'a>) {
        let mut asked = self.ask_of_facets(control, estate, looks);
        if control.over.is_on_platforms() {
            for (platform, accounts) in estate.platforms_of(&control.platforms, saw_in(looks)) {
                let shown = control.shown_on.iter().find(|(it, _)| it == platform);
                let facets = shown.map_or(FacetSet::NONE, |it| it.1);
                asked = asked.with(facets);
                for spot in Spot::all(platform, &accounts) {
                    self.ask_at(control, spot, facets, looks);
                }
            }
        }
        if control.over == Population::CloudAccounts && !estate.knows_cloud_accounts(saw_in(looks))
        {
            self.ask_clouds(control, looks);
        }
        let by_members = if control.over == Population::Domains {
            self.ask_domains(estate, looks)
        } else {
            self.ask_devices(control, estate, looks)
        };
        if control.facets.len() == 1 && !self.asked.is_empty() {
            return;
        }
        for facet in control.all_facets().without(asked).without(by_members).iter() {
            let says = control.facets[facet].says.as_str();
            self.count(looks.iter().filter(|it| it.facets.has(facet)), || {
                UnseenPart::Facet(says, None)
            });
        }
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
        if facets.is_empty() || control.facets.len() == 1 {
            return self.count(here, || UnseenPart::Place(spot));
        }
        if here.clone().next().is_none() {
            self.asked
                .extend(facets.iter().skip(1).map(|_| AskedPart::of(Share::NONE, here.clone())));
            return self.count(here, || UnseenPart::Place(spot));
        }
        for facet in facets.iter() {
            let says = control.facets[facet].says.as_str();
            let seen = here.clone().filter(|it| it.facets.has(facet));
            self.count(seen, || UnseenPart::Facet(says, Some(spot)));
        }
    }

    /// What names one account of a cloud stands for that one. There may be more until somebody says that there are not.
    fn ask_clouds(&mut self, control: &'a Control, looks: &[Look<'a>]) {
        let of_client = |it: &&Look<'a>| it.place == Place::Client;
        let is_of_all =
            control.all_facets().without(facets_of(looks.iter().filter(of_client))).is_empty();
        let is_cloud = |it: &Look<'a>| matches!(it.place, Place::Platform { platform, .. } if is_cloud(platform));
        if looks.iter().any(is_cloud) && !is_of_all {
            self.count(std::iter::empty(), || UnseenPart::OtherClouds);
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
            let (single, n_seen) = devices_seen(seen.clone());
            let Some((n_known, is_listed)) = estate.devices(over, &single) else {
                return FacetSet::NONE;
            };
            let n_known = Some(n_known).filter(|it| is_listed || n_seen < *it);
            if is_listed && n_known.is_some_and(|it| is_enough(it, n_seen)) {
                self.asked.push(AskedPart::of(Share::WHOLE, seen));
                continue;
            }
            let share = n_known.map_or(Share::HALF, |n| Share::of(n_seen.into(), n.into()));
            self.asked.push(AskedPart::of(share, seen));
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
            let looks = looks.iter().filter(of_one).filter(|it| it.facets.has(facet));
            let seen: BTreeSet<Place<'_>> = looks.clone().map(|it| it.place).collect();
            for domain in estate.domains(&seen) {
                let here = looks.clone().filter(|it| it.place == Place::Domain(domain));
                self.count(here, || UnseenPart::Domain(domain));
            }
        }
        by_domains
    }

    /// Adds a part. `looks`: those at it.
    fn count<'l>(
        &mut self,
        looks: impl Iterator<Item = &'l Look<'a>>,
        unseen: impl FnOnce() -> UnseenPart<'a>,
    ) where
        'a: 'l,
    {
        let part = AskedPart::of(Share::WHOLE, looks);
        if part.looks.is_empty() {
            let unseen = unseen();
            if !self.unseen.contains(&unseen) {
                self.unseen.push(unseen);
            }
        }
        self.asked.push(part);
    }

    /// The platforms that a control names, that are used, and that nothing looked at.
    pub(in crate::engine) fn of_platforms(control: &'a Control, estate: &Estate<'a>) -> Self {
        let mut parts = Self::default();
        if control.over.is_on_platforms() {
            let all = estate.platforms_of(&control.platforms, |_, _| false).map(|it| it.0);
            for platform in all.filter(|it| !estate.saw(it)) {
                parts.count(std::iter::empty(), || {
                    UnseenPart::Place(Spot { platform, account: None })
                });
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
        if self.is_whole() {
            return Share::WHOLE;
        }
        Share::mean(&self.asked.iter().map(|it| it.looked_at).collect::<Vec<_>>())
    }

    /// The mean over the parts of what passes there. `None`: it has no parts.
    ///
    /// What shows too little to meet a part lowers it if it fails, and never raises it.
    pub(in crate::engine) fn passing(&self) -> Option<Share> {
        let mut is_asked = vec![false; self.looks.len()];
        self.asked.iter().flat_map(|it| &it.looks).for_each(|it| is_asked[*it] = true);
        let is_beside = |it: &&Look<'_>| it.of_check.is_failing && !is_asked[it.index];
        let beside = self.looks.iter().filter(is_beside);
        let beside = passing(self.thin.iter().chain(beside.map(|it| &it.of_check)));
        let of_part = |it: &AskedPart| {
            let mut shares = passing(it.looks.iter().map(|it| &self.looks[*it].of_check));
            let own = Share::mean(&shares);
            shares.extend(&beside);
            own.or_less(Share::mean(&shares)).of_share(it.looked_at)
        };
        let shares: Vec<Share> = self.asked.iter().map(of_part).collect();
        (!shares.is_empty()).then(|| Share::mean(&shares))
    }
}

impl AskedPart {
    /// `looks`: those at it. None: it was not looked at.
    fn of<'l, 'a: 'l>(looked_at: Share, looks: impl Iterator<Item = &'l Look<'a>>) -> Self {
        let looks: Vec<usize> = looks.map(|it| it.index).collect();
        Self { looked_at: if looks.is_empty() { Share::NONE } else { looked_at }, looks }
    }
}

/// What passes of each check.
fn passing<'l, 'a: 'l>(all: impl Iterator<Item = &'l Counted<'a>>) -> Vec<Share> {
    let mut sorted: Vec<&Counted<'_>> = all.collect();
    // Those of a scope are sorted already.
    sorted.sort_by_key(|it| it.check);
    let of_check = |all: &[&Counted<'_>]| {
        Share::of(all.iter().map(|it| it.passed).sum(), all.iter().map(|it| it.known).sum())
    };
    sorted.chunk_by(|a, b| a.check == b.check).map(of_check).collect()
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

/// Written as `Not seen: Azure; "Passwords are not reused" in AWS. Said, not shown: AWS.`. Empty if everything was looked at.
impl fmt::Display for Parts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        unseen::write_list(f, "Not seen", &self.unseen)?;
        if !self.unseen.is_empty() && !self.claimed.is_empty() {
            f.write_char(' ')?;
        }
        unseen::write_list(f, "Said, not shown", &self.claimed)
    }
}
