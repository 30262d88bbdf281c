//! What is known to exist at a client, besides what observations are about: its devices, and what people say.

use crate::app::assessment::log::Entry;
use crate::engine::estate::{
    EstateKind, EstateMember, KnownEstate, MemberDecision, SaidWhole, SystemCounts,
};
use crate::engine::posture::Posture;
use crate::error::Result;
use crate::id::AssetId;
use crate::store::ClientSnapshot;
use crate::store::per_client::estate::{EstateRecord, KnownMember};
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

/// `said`: what counts until it expires.
pub(in crate::app) fn known(
    rows: &ClientSnapshot,
    said: &[EstateStatement],
) -> Result<KnownEstate> {
    let mut known = KnownEstate { systems: systems(rows)?, ..KnownEstate::default() };
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
    let counts = asset.device_counts();
    let names = [Some(asset.name), asset.hostname, asset.ip, Some(asset.external_id)];
    let names = names.into_iter().flatten().map(|it| it.to_lowercase()).collect();
    Ok(Some(MemberDecision { names, counts, is_retired, at, until }))
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
        n_addressed: devices.addressed,
        is_listed,
    })
}

/// Returns what the assessment saw of the estate, with when each member was seen first. `None`: it is as it was.
pub(super) fn record(rows: &ClientSnapshot, posture: &mut Posture) -> Result<Option<EstateRecord>> {
    let before = rows.estate()?;
    let first_seen = |it: &EstateMember| {
        let known = before.members.iter().find(|known| known.member.id == it.id);
        known.map_or(it.last_seen, |it| it.first_seen)
    };
    let members = std::mem::take(&mut posture.estate).into_iter();
    let members = members.map(|it| KnownMember { first_seen: first_seen(&it), member: it });
    let record =
        EstateRecord { members: members.collect(), unseen: std::mem::take(&mut posture.unseen) };
    Ok(Some(record).filter(|it| *it != before))
}
