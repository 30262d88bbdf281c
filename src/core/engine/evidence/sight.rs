//! Where observations looked, and when each place was seen.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::current::Current;
use super::place::{Place, is_cloud};
use crate::clock::Time;
use crate::engine::estate::{
    EstateKind, EstateMember, FirstSight, FirstSights, N_MEMBERS_MAX, SeenEstate,
};
use crate::engine::horizon::Horizon;

/// What nobody saw for so long does not exist any more.
const KNOWN_DAYS: i64 = 180;
/// When each source saw something of a place last.
pub(super) type Sight<'a> = BTreeMap<&'a str, Time>;

/// When something was seen last, and by which source.
pub(super) fn newest<'a>(sight: &Sight<'a>) -> Option<(&'a str, Time)> {
    sight
        .iter()
        .map(|(source, at)| (*source, *at))
        .max_by_key(|(source, at)| (*at, Reverse(*source)))
}

pub(super) fn take<'a>(all: &mut Sight<'a>, more: &Sight<'a>) {
    for (source, at) in more {
        let last = all.entry(source).or_insert(*at);
        *last = (*at).max(*last);
    }
}

/// Everything that was seen in the last [`KNOWN_DAYS`], whether or not it is meant.
#[derive(Debug, Default)]
pub(in crate::engine) struct Sights<'a>(pub(super) BTreeMap<Place<'a>, Sight<'a>>);

impl<'a> Sights<'a> {
    pub(in crate::engine) fn of(current: &[Current<'a>], horizon: &mut Horizon) -> Self {
        let mut all: BTreeMap<Place<'a>, Sight<'a>> = BTreeMap::new();
        let mut last: Option<(u32, Time)> = None;
        for seen in current.iter().filter(|it| it.result.is_some()) {
            let it = seen.worst;
            // Those of a place follow one another.
            let is_told = |(run, at): (u32, Time)| run == seen.run && it.observed_at <= at;
            if it.is_said() || last.is_some_and(is_told) {
                continue;
            }
            let place = seen.place;
            last = Some((seen.run, it.observed_at));
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

    pub(super) fn n_cloud_accounts(&self) -> u32 {
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
pub(super) fn first_sight(id: &str, sight: &Sight<'_>, known: &FirstSights) -> FirstSight {
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
