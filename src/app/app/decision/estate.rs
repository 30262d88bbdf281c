//! What exists at a client: what was seen of it, and what people say: that these are all, or that one is not meant or gone.

use std::collections::{BTreeMap, BTreeSet};

use super::member::{self, MemberStanding, MemberState};
use crate::app::App;
use crate::app::assessment::estate::{EstateEntry, EstateStatement, known};
use crate::app::assessment::log::{self, Entry};
use crate::app::assessment::statement::{
    BY_CHARS_MAX, REASON_CHARS_MAX, Statement, Statements, require_term,
};
use crate::app::event::cause::Cause;
use crate::app::input::{require_future, require_length, require_name, require_text};
use crate::clock::Time;
use crate::engine::estate::{EstateKind, KnownEstate};
use crate::error::{Error, Result};
use crate::id::AssetId;
use crate::store::per_client::estate::EstateRecord;
use crate::store::per_client::statement::{Author, StatedAnswer, Topic};
use crate::store::{ClientSnapshot, ClientStore};

/// How many members one request decides about.
pub const N_DECIDED_AT_ONCE_MAX: usize = 1_000;
/// How many members of a client are excluded or retired at most.
pub const N_DECIDED_MAX: usize = 1_000;
/// How many days the answer that these are all counts by default.
pub const WHOLE_DAYS: i64 = 365;
/// How many days it counts at most.
pub const WHOLE_DAYS_MAX: i64 = 2 * 365 + 1;
/// How many days a member is excluded by default.
pub const EXCLUDED_DAYS: i64 = 365;
/// How many of the known are named in what a person sees who says that they are all.
const N_NAMED_MAX: usize = 100;

/// What is known to exist at a client.
#[derive(Clone, Debug)]
pub struct EstateState {
    /// In the order of [`EstateKind::ALL`].
    pub kinds: Vec<KindState>,
    /// Platforms and accounts that were seen, and every member that somebody decided about.
    pub members: Vec<MemberState>,
    pub record: EstateRecord,
}

/// How many of a kind are known.
#[derive(Clone, Debug)]
pub struct KindState {
    pub kind: EstateKind,
    pub n_known: u32,
    /// A source lists all that there are.
    pub is_listed: bool,
    /// Somebody says that these are all.
    pub said: Option<EstateStatement>,
    /// What was said counts: it has not expired, and no more are known since.
    pub is_said_whole: bool,
}

/// That these are all.
#[derive(Clone, Debug)]
pub struct NewWhole {
    pub reason: String,
    /// `None`: [`WHOLE_DAYS`].
    pub until: Option<Time>,
    pub by: Author,
}

/// What is decided about members.
#[derive(Clone, Debug)]
pub struct NewMemberDecision {
    /// Platforms with accounts, such as `aws/123456789012`, and ids of assets.
    pub members: Vec<String>,
    /// `Counted` withdraws what was decided.
    pub standing: MemberStanding,
    /// Required unless `Counted`.
    pub reason: Option<String>,
    /// `None`: of an excluded one [`EXCLUDED_DAYS`]; a retired one stays so until it is seen again.
    pub until: Option<Time>,
    pub by: Author,
}

impl App {
    /// Returns what is known to exist at a client.
    pub fn estate(&self, rows: &ClientSnapshot) -> Result<EstateState> {
        let now = self.clock.now();
        let said = Statements::read(rows, &self.catalog())?.estate;
        let record = rows.estate()?;
        let counting = self.counting(&record, now);
        let known = known(rows, &said, &record, counting)?;
        let kinds =
            EstateKind::ALL.into_iter().map(|kind| kind_state(kind, &known, &said, &record, now));
        Ok(EstateState {
            kinds: kinds.collect(),
            members: member::members(rows, &said, (&record, &known.sights), now)?,
            record,
        })
    }

    /// For how many days members are new, and up to which time those that are due count.
    fn counting(&self, record: &EstateRecord, now: Time) -> (u16, Time) {
        (self.options.settings.new_member_days, record.counted_to.unwrap_or(now))
    }

    /// Records that there are no more of a kind than are known. This replaces what was said before.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; those of [`App::reassess`].
    pub async fn say_whole(
        &self,
        rows: &ClientStore,
        kind: EstateKind,
        new: NewWhole,
    ) -> Result<()> {
        let now = self.clock.now();
        let until = checked_end(kind, &new, now)?;
        let lock = self.clients.lock(rows.id()).await;
        let new_days = self.options.settings.new_member_days;
        let read = move |it: &ClientSnapshot| known_now(it, kind, (new_days, now));
        let (n_known, record) = rows.read(read).await?;
        let entry = Entry { topic: Topic::Whole(kind), reason: new.reason, author: new.by };
        let content = log::of_estate(StatedAnswer::Whole(n_known), now, Some(until));
        let wording = Some(whole_wording(kind, n_known, &record));
        let said = EstateEntry { entry, content: Some(content), wording };
        self.state(rows, Statement::Say(vec![said]), Cause::Estate, &lock).await
    }

    /// Withdraws that these are all, if somebody said so.
    ///
    /// # Errors
    /// `Invalid` for the kind or the reason; those of [`App::reassess`].
    pub async fn withdraw_whole(
        &self,
        rows: &ClientStore,
        kind: EstateKind,
        reason: String,
        by: Author,
    ) -> Result<()> {
        require_said_whole(kind)?;
        require_length("reason", Some(&reason), REASON_CHARS_MAX)?;
        let lock = self.clients.lock(rows.id()).await;
        let entry = Entry { topic: Topic::Whole(kind), reason, author: by };
        let said = EstateEntry { entry, content: None, wording: None };
        self.state(rows, Statement::Say(vec![said]), Cause::Estate, &lock).await
    }

    /// Takes members out of what must be seen, or back in. Each is a statement; all count from one commit on.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule, and the members that do not exist; `Conflict` beyond [`N_DECIDED_MAX`];
    /// those of [`App::reassess`].
    pub async fn decide_members(&self, rows: &ClientStore, new: NewMemberDecision) -> Result<()> {
        let now = self.clock.now();
        check_decision(&new, now)?;
        let NewMemberDecision { members, standing, reason, until, by } = new;
        let reason = reason.unwrap_or_default();
        let excluded_until = || Some(now.plus_days(EXCLUDED_DAYS));
        let answer = match standing {
            MemberStanding::Counted => None,
            MemberStanding::Excluded => {
                Some((StatedAnswer::Excluded, until.or_else(excluded_until)))
            }
            MemberStanding::Retired => Some((StatedAnswer::Retired, until)),
        };
        let lock = self.clients.lock(rows.id()).await;
        let catalog = self.catalog();
        let find = move |it: &ClientSnapshot| {
            let said = Statements::read(it, &catalog)?.estate;
            topics_of(it, &members, &said)
        };
        let (topics, n_others) = rows.read(find).await?;
        if answer.is_some() && N_DECIDED_MAX < n_others + topics.len() {
            return Err(Error::conflict(format!(
                "at most {N_DECIDED_MAX} members of a client are excluded or retired; {n_others} others are"
            )));
        }
        let entry = |(topic, name): (Topic, String)| EstateEntry {
            entry: Entry { topic, reason: reason.clone(), author: by.clone() },
            content: answer.map(|(answer, until)| log::of_estate(answer, now, until)),
            wording: answer.map(|_| name),
        };
        let said = topics.into_iter().map(entry).collect();
        self.state(rows, Statement::Say(said), Cause::Estate, &lock).await
    }
}

/// Until when the answer that these are all counts.
///
/// # Errors
/// `Invalid` with the field that breaks a rule.
pub(super) fn checked_end(kind: EstateKind, new: &NewWhole, now: Time) -> Result<Time> {
    require_said_whole(kind)?;
    require_text("reason", &new.reason, REASON_CHARS_MAX)?;
    require_name("by", &new.by.by, BY_CHARS_MAX)?;
    let until = new.until.unwrap_or_else(|| now.plus_days(WHOLE_DAYS));
    require_future("until", until, now)?;
    if now.plus_days(WHOLE_DAYS_MAX) < until {
        return Err(Error::invalid_field("until", "must be within two years"));
    }
    Ok(until)
}

/// # Errors
/// `Invalid` with the field that breaks a rule.
pub(super) fn check_decision(new: &NewMemberDecision, now: Time) -> Result<()> {
    require_number(&new.members)?;
    if new.standing != MemberStanding::Counted || new.reason.is_some() {
        let reason = new.reason.as_deref().unwrap_or_default();
        require_text("reason", reason, REASON_CHARS_MAX)?;
    }
    require_name("by", &new.by.by, BY_CHARS_MAX)?;
    new.until.map_or(Ok(()), |it| require_term("until", it, now))
}

/// How many of a kind are known, and what the last assessment saw.
pub(super) fn known_now(
    rows: &ClientSnapshot,
    kind: EstateKind,
    (new_days, now): (u16, Time),
) -> Result<(u32, EstateRecord)> {
    let record = rows.estate()?;
    let known = known(rows, &[], &record, (new_days, record.counted_to.unwrap_or(now)))?;
    Ok((n_known(kind, &known, &record), record))
}

fn require_said_whole(kind: EstateKind) -> Result<()> {
    if EstateKind::SAID_WHOLE.contains(&kind) {
        return Ok(());
    }
    let all: Vec<&str> = EstateKind::SAID_WHOLE.iter().map(|it| it.as_str()).collect();
    let rule = if kind == EstateKind::Platforms {
        "which platforms the client uses is answered by its profile"
    } else {
        "each tenant and domain that is known is asked for"
    };
    Err(Error::invalid_field("kind", format!("must be one of {}; {rule}", all.join(", "))))
}

fn require_number(members: &[String]) -> Result<()> {
    if members.is_empty() || N_DECIDED_AT_ONCE_MAX < members.len() {
        let rule = format!("must name 1 to {N_DECIDED_AT_ONCE_MAX} members");
        return Err(Error::invalid_field("members", rule));
    }
    Ok(())
}

fn n_known(kind: EstateKind, known: &KnownEstate, record: &EstateRecord) -> u32 {
    let n_seen = record.members.iter().filter(|it| it.kind == kind).count();
    match kind {
        EstateKind::Computers => known.systems.n_computers,
        EstateKind::Servers => known.systems.n_servers,
        EstateKind::Phones => known.systems.n_phones,
        EstateKind::Systems => known.systems.n_addressed,
        EstateKind::Platforms
        | EstateKind::Scopes
        | EstateKind::CloudAccounts
        | EstateKind::Domains => u32::try_from(n_seen).unwrap_or(u32::MAX),
    }
}

/// What a person sees who says that these are all.
fn whole_wording(kind: EstateKind, n_known: u32, record: &EstateRecord) -> String {
    let members = record.members.iter().filter(|it| it.kind == kind);
    let names: Vec<&str> = members.take(N_NAMED_MAX).map(|it| it.id.as_str()).collect();
    let these = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    format!("{n_known} {} are known{these}. These are all.", kind.name())
}

fn kind_state(
    kind: EstateKind,
    known: &KnownEstate,
    said: &[EstateStatement],
    record: &EstateRecord,
    now: Time,
) -> KindState {
    let n_known = n_known(kind, known, record);
    let said = said.iter().find(|it| it.topic == Topic::Whole(kind));
    let mut of_kind = known.said_whole.iter().filter(|it| it.kind == kind);
    KindState {
        kind,
        n_known,
        is_listed: kind.is_of_devices() && known.systems.is_listed,
        is_said_whole: of_kind.any(|it| it.holds(n_known, now)),
        said: said.cloned(),
    }
}

/// The topic of each member with what people call it, and of how many others something is decided.
///
/// # Errors
/// `Invalid` with the members that do not exist.
pub(super) fn topics_of(
    rows: &ClientSnapshot,
    members: &[String],
    said: &[EstateStatement],
) -> Result<(Vec<(Topic, String)>, usize)> {
    let record = rows.estate()?;
    let seen: BTreeMap<&str, EstateKind> =
        record.members.iter().map(|it| (it.id.as_str(), it.kind)).collect();
    let mut decided: BTreeMap<&str, &Topic> = BTreeMap::new();
    for it in said {
        if let Topic::Member { id, .. } = &it.topic {
            decided.insert(id, &it.topic);
        }
    }
    let (mut topics, mut unknown) = (BTreeMap::new(), Vec::new());
    for id in members.iter().map(|it| it.trim()) {
        let found = match (decided.get(id), seen.get(id)) {
            (Some(topic), _) => Some(((*topic).clone(), id.to_owned())),
            (None, Some(EstateKind::Platforms)) => {
                let rule = format!("{id}: whether a platform is used is answered by the profile");
                return Err(Error::invalid_field("members", rule));
            }
            (None, Some(kind)) => {
                Some((Topic::Member { kind: *kind, id: id.to_owned() }, id.to_owned()))
            }
            (None, None) => of_device(rows, id)?,
        };
        match found {
            Some((topic, name)) => drop(topics.insert(topic, name)),
            None => unknown.push(id),
        }
    }
    if let Some(first) = unknown.first() {
        let more = match unknown.len() - 1 {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        let rule = format!(
            "{first}{more}: no account or domain that was seen, such as aws/123456789012, and no id of a device in the inventory"
        );
        return Err(Error::invalid_field("members", rule));
    }
    let chosen: BTreeSet<&Topic> = topics.keys().collect();
    let n_others = decided.values().filter(|it| !chosen.contains(*it)).count();
    Ok((topics.into_iter().collect(), n_others))
}

fn of_device(rows: &ClientSnapshot, id: &str) -> Result<Option<(Topic, String)>> {
    let Ok(asset) = id.parse::<AssetId>() else { return Ok(None) };
    let Some(asset) = rows.find_asset(asset)? else { return Ok(None) };
    let Some(kind) = member::kind_of(&asset) else { return Ok(None) };
    let topic = Topic::Member { kind, id: asset.id.to_string() };
    Ok(Some((topic, asset.name)))
}
