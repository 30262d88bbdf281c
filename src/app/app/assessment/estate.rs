//! What is known to exist at a client, besides what observations are about: its devices, and what people say.

use crate::app::assessment::log::Entry;
use crate::app::event::cause::Cause;
use crate::clock::Time;
use crate::engine::asset::{Asset, AssetStatus};
use crate::engine::estate::{
    EstateKind, FirstSight, FirstSights, KnownEstate, MemberDecision, QuietDevice, SaidWhole,
    SeenEstate, SystemCounts, counts_from,
};
use crate::engine::posture::Posture;
use crate::error::Result;
use crate::id::AssetId;
use crate::store::ClientSnapshot;
use crate::store::per_client::estate::EstateRecord;
use crate::store::per_client::roster::{ListKind, Roster};
use crate::store::per_client::statement::{Content, StatedAnswer, StatementRecord, Topic};

/// Something that somebody says about the estate.
#[derive(Clone, Debug)]
pub struct EstateStatement {
    pub topic: Topic,
    pub content: Content,
    pub reason: String,
    pub by: String,
}

impl EstateStatement {
    /// `None`: the record is about something else, or ends another.
    pub(in crate::app) fn of(record: &StatementRecord) -> Option<Self> {
        if !matches!(record.topic, Topic::Whole(_) | Topic::Member { .. }) {
            return None;
        }
        Some(Self {
            topic: record.topic.clone(),
            content: record.content()?.clone(),
            reason: record.reason.clone(),
            by: record.author.by.clone(),
        })
    }
}

/// Something to say about the estate.
#[derive(Clone, Debug)]
pub struct EstateEntry {
    pub entry: Entry,
    /// `None`: what was said no longer counts.
    pub content: Option<Content>,
    /// What a person sees who says it.
    pub wording: Option<String>,
}

impl EstateEntry {
    pub(in crate::app) fn statement(&self) -> Option<EstateStatement> {
        let Entry { topic, reason, author } = self.entry.clone();
        Some(EstateStatement { topic, content: self.content.clone()?, reason, by: author.by })
    }
}

/// `said`: what counts until it expires. `before`: what the last assessment saw. `counting`: for how many days members are new,
/// and up to which time those that are due count.
pub(in crate::app) fn known(
    rows: &ClientSnapshot,
    said: &[EstateStatement],
    before: &EstateRecord,
    counting: (u16, Time),
) -> Result<KnownEstate> {
    let mut known = KnownEstate {
        systems: systems(rows)?,
        quiet: quiet(rows, counting)?,
        sights: first_sights(before, counting),
        ..KnownEstate::default()
    };
    for it in said {
        match (&it.topic, it.content.answer, it.content.until) {
            (Topic::Whole(kind), StatedAnswer::Whole(n_known), Some(until)) => {
                known.said_whole.push(SaidWhole { kind: *kind, n_known, until });
            }
            (Topic::Member { kind, id }, _, _) => {
                known.members.extend(decision(rows, *kind, id, &it.content)?);
            }
            (_, _, _) => (),
        }
    }
    Ok(known)
}

/// `None`: the device does not exist any more, or was seen after somebody said that it is gone.
fn decision(
    rows: &ClientSnapshot,
    kind: EstateKind,
    id: &str,
    said: &Content,
) -> Result<Option<MemberDecision>> {
    let is_retired = said.answer == StatedAnswer::Retired;
    let (at, until) = (said.from, said.until);
    if !kind.is_of_devices() {
        let names = vec![id.to_owned()];
        let counts = SystemCounts::NONE;
        return Ok(Some(MemberDecision { names, counts, is_retired, at, until }));
    }
    let Ok(asset) = id.parse::<AssetId>() else { return Ok(None) };
    let Some(asset) = rows.find_asset(asset)? else { return Ok(None) };
    if is_retired && at < asset.last_seen_at {
        return Ok(None);
    }
    let (names, counts) = (names(&asset), asset.device_counts());
    Ok(Some(MemberDecision { names, counts, is_retired, at, until }))
}

/// What a device is called by those that look at it.
fn names(asset: &Asset) -> Vec<String> {
    let names = [Some(&asset.name), asset.hostname.as_ref(), asset.ip.as_ref()];
    let names = names.into_iter().flatten().chain([&asset.external_id]);
    names.map(|it| it.to_lowercase()).collect()
}

/// Up to when what was new and is due counts. Only an assessment of its own moves it, so that nothing else changes with it.
pub(super) fn counted_to(before: &EstateRecord, cause: &Cause, now: Time) -> Time {
    before.counted_to.filter(|_| *cause != Cause::Due).unwrap_or(now)
}

/// Whether something that was new is due and does not count yet.
pub(in crate::app) fn is_due(
    rows: &ClientSnapshot,
    before: &EstateRecord,
    new_days: u16,
    now: Time,
) -> Result<bool> {
    let Some(counted_to) = before.counted_to else { return Ok(false) };
    let sights = first_sights(before, (new_days, counted_to));
    let is_over = |it: &FirstSight| sights.new_until(*it).is_some_and(|end| end <= now);
    let days = since(new_days, counted_to)..since(new_days, now);
    Ok(sights.members.values().any(is_over) || !days.is_empty() && rows.has_new_assets(days)?)
}

/// The first day of which devices are new.
pub(in crate::app) fn since(new_days: u16, counted_to: Time) -> u32 {
    match new_days {
        0 => u32::MAX,
        days => (counted_to.day() + 1).saturating_sub(u32::from(days)),
    }
}

fn first_sights(before: &EstateRecord, (new_days, counted_to): (u16, Time)) -> FirstSights {
    let members = before.members.iter().map(|it| (it.id.clone(), it.first_sight())).collect();
    FirstSights { members, sources: before.sources.clone(), new_days, counted_to }
}

/// The devices that are new or stale.
fn quiet(rows: &ClientSnapshot, (new_days, counted_to): (u16, Time)) -> Result<Vec<QuietDevice>> {
    let new = rows.list_new_assets(since(new_days, counted_to))?;
    let new = new.into_iter().filter(|it| it.status == AssetStatus::Active).map(|it| {
        let end = counts_from(it.first_discovered_at, new_days);
        (it, Some(end))
    });
    let stale = rows.list_stale_assets()?.into_iter().map(|it| (it, None));
    let of = |(it, new_until): (Asset, Option<Time>)| QuietDevice {
        names: names(&it),
        counts: it.device_counts(),
        new_until,
    };
    Ok(new.chain(stale).map(of).filter(|it| it.counts != SystemCounts::NONE).collect())
}

/// How many devices of the client are known, and whether some source listed all of them.
fn systems(rows: &ClientSnapshot) -> Result<SystemCounts> {
    let devices = rows.summary()?.devices.unwrap_or_default();
    let mut is_listed = false;
    for it in rows.list_sources()? {
        let roster = Roster { source: &it.source, scope: &it.scope, part: ListKind::Assets };
        if rows.find_reads(roster)?.is_some_and(|it| 0 < it.n) {
            is_listed = true;
            break;
        }
    }
    Ok(SystemCounts {
        n_computers: devices.computers,
        n_servers: devices.servers,
        n_phones: devices.phones,
        n_addressed: devices.addressed,
        is_listed,
    })
}

/// Returns what the assessment saw of the estate. `None`: it is as it was.
pub(super) fn record(
    before: &EstateRecord,
    posture: &mut Posture,
    counted_to: Time,
) -> Option<EstateRecord> {
    let SeenEstate { members, sources } = std::mem::take(&mut posture.estate);
    let unseen = std::mem::take(&mut posture.unseen);
    let record = EstateRecord { members, unseen, sources, counted_to: Some(counted_to) };
    Some(record).filter(|it| it != before)
}
