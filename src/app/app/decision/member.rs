//! The members of what exists at a client, and whether each must be seen.

use std::collections::BTreeMap;

use crate::app::assessment::estate::{EstateStatement, since};
use crate::clock::Time;
use crate::engine::asset::{Asset, AssetStatus};
use crate::engine::estate::{EstateKind, EstateMember, FirstSights, counts_from};
use crate::error::Result;
use crate::id::AssetId;
use crate::store::ClientSnapshot;
use crate::store::per_client::estate::EstateRecord;
use crate::store::per_client::statement::{StatedAnswer, Topic};

/// One member.
#[derive(Clone, Debug)]
pub struct MemberState {
    pub kind: EstateKind,
    /// A platform, a scope, or the id of an asset.
    pub id: String,
    /// What people call it.
    pub name: String,
    pub seen: Option<MemberSight>,
    /// What somebody decided about it, whether or not it counts.
    pub decision: Option<EstateStatement>,
    pub state: MemberCounting,
    /// When it begins to count, if it is new.
    pub new_until: Option<Time>,
}

/// When a member was seen, and by whom last.
#[derive(Clone, Debug)]
pub struct MemberSight {
    pub first: Time,
    pub last: Time,
    pub source: String,
}

/// Whether a member must be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberCounting {
    Counted,
    New,
    Stale,
    Excluded,
    Retired,
}

impl MemberCounting {
    pub const ALL: [Self; 5] =
        [Self::Counted, Self::New, Self::Stale, Self::Excluded, Self::Retired];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::New => "new",
            Self::Stale => "stale",
            Self::Excluded => "excluded",
            Self::Retired => "retired",
        }
    }
}

/// What somebody decides about a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStanding {
    Counted,
    Excluded,
    Retired,
}

impl MemberStanding {
    pub const ALL: [Self; 3] = [Self::Counted, Self::Excluded, Self::Retired];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::Excluded => "excluded",
            Self::Retired => "retired",
        }
    }
}

/// The members of a client's estate.
pub(super) fn members(
    rows: &ClientSnapshot,
    said: &[EstateStatement],
    (record, sights): (&EstateRecord, &FirstSights),
    now: Time,
) -> Result<Vec<MemberState>> {
    let mut decided: BTreeMap<&str, (EstateKind, &EstateStatement)> = BTreeMap::new();
    for it in said {
        if let Topic::Member { kind, id } = &it.topic {
            decided.insert(id, (*kind, it));
        }
    }
    let mut all = Vec::new();
    for seen in &record.members {
        let EstateMember { kind, id, first_seen, last_seen, source, .. } = seen.clone();
        let decision = decided.remove(seen.id.as_str()).map(|it| it.1.clone());
        let counting = sights.new_until(seen.first_sight());
        let sight = MemberSight { first: first_seen, last: last_seen, source };
        all.push(member((kind, id.clone(), id), Some(sight), decision, (counting, false), now));
    }
    let new = rows.list_new_assets(since(sights.new_days, sights.counted_to))?;
    for asset in new.into_iter().filter(|it| it.status == AssetStatus::Active) {
        let until = Some(counts_from(asset.first_discovered_at, sights.new_days));
        let decision = decided.remove(asset.id.to_string().as_str()).map(|it| it.1.clone());
        all.extend(device(asset, decision, until, now));
    }
    for asset in rows.list_stale_assets()? {
        let decision = decided.remove(asset.id.to_string().as_str()).map(|it| it.1.clone());
        all.extend(device(asset, decision, None, now));
    }
    for (id, (kind, decision)) in decided {
        let asset = match id.parse::<AssetId>() {
            Ok(asset) if kind.is_of_devices() => rows.find_asset(asset)?,
            Ok(_) | Err(_) => None,
        };
        let name = asset.as_ref().map_or_else(|| id.to_owned(), |it| it.name.clone());
        let (sight, decision) = (asset.as_ref().map(sight), Some(decision.clone()));
        all.push(member((kind, id.to_owned(), name), sight, decision, (None, false), now));
    }
    Ok(all)
}

fn sight(asset: &Asset) -> MemberSight {
    let (first, last) = (asset.first_discovered_at, asset.last_seen_at);
    MemberSight { first, last, source: asset.source.clone() }
}

/// `None`: it is in no count.
fn device(
    asset: Asset,
    decision: Option<EstateStatement>,
    new_until: Option<Time>,
    now: Time,
) -> Option<MemberState> {
    let kind = kind_of(&asset)?;
    let counting = (new_until, asset.status == AssetStatus::Stale);
    let sight = Some(sight(&asset));
    Some(member((kind, asset.id.to_string(), asset.name), sight, decision, counting, now))
}

fn member(
    (kind, id, name): (EstateKind, String, String),
    seen: Option<MemberSight>,
    decision: Option<EstateStatement>,
    (new_until, is_stale): (Option<Time>, bool),
    now: Time,
) -> MemberState {
    let last_seen = seen.as_ref().map(|it| it.last);
    let standing = decision.as_ref().map(|it| standing(it, last_seen, now));
    let state = match standing.unwrap_or(MemberStanding::Counted) {
        MemberStanding::Excluded => MemberCounting::Excluded,
        MemberStanding::Retired => MemberCounting::Retired,
        MemberStanding::Counted if new_until.is_some() => MemberCounting::New,
        MemberStanding::Counted if is_stale => MemberCounting::Stale,
        MemberStanding::Counted => MemberCounting::Counted,
    };
    MemberState { kind, id, name, seen, decision, state, new_until }
}

fn standing(decision: &EstateStatement, last_seen: Option<Time>, now: Time) -> MemberStanding {
    let it = &decision.content;
    let is_over = it.until.is_some_and(|end| end <= now);
    let is_back = last_seen.is_some_and(|seen| it.from < seen);
    if !is_over && it.answer == StatedAnswer::Excluded {
        MemberStanding::Excluded
    } else if !is_over && it.answer == StatedAnswer::Retired && !is_back {
        MemberStanding::Retired
    } else {
        MemberStanding::Counted
    }
}

/// The narrowest kind that a device is of. `None`: it is in no count.
pub(super) fn kind_of(asset: &Asset) -> Option<EstateKind> {
    let counts = asset.device_counts();
    let in_counts = [
        (counts.n_servers, EstateKind::Servers),
        (counts.n_computers, EstateKind::Computers),
        (counts.n_phones, EstateKind::Phones),
        (counts.n_addressed, EstateKind::Systems),
    ];
    in_counts.into_iter().find(|it| it.0 != 0).map(|it| it.1)
}
