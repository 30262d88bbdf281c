//! What people said about a client, from the first to the last: who, when, why, and what became of it.

use std::collections::BTreeMap;

use crate::app::assessment::log;
use crate::clock::Time;
use crate::engine::ControlPart;
use crate::engine::framework::FrameworkId;
use crate::error::Result;
use crate::id::RiskId;
use crate::store::ClientSnapshot;
use crate::store::per_client::posture::OpenRisk;
use crate::store::per_client::statement::{
    Deed, Fate, StatementNumber, StatementRecord, Topic, fates,
};

/// Which records to list. `None`: all.
#[derive(Clone, Debug, Default)]
pub struct StatementFilter {
    pub kind: Option<StatementKind>,
    /// A control code, a reference of a framework, a risk id or a question, in upper or lower case.
    pub subject: Option<String>,
    pub framework: Option<FrameworkId>,
}

/// What statements are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    Control,
    Requirement,
    Risk,
    Profile,
    Import,
    Hold,
    Estate,
    Subjects,
}

impl StatementKind {
    pub const ALL: [Self; 8] = [
        Self::Control,
        Self::Requirement,
        Self::Risk,
        Self::Profile,
        Self::Import,
        Self::Hold,
        Self::Estate,
        Self::Subjects,
    ];

    #[must_use]
    pub const fn of(topic: &Topic) -> Self {
        match topic {
            Topic::Control(_) | Topic::Part { .. } => Self::Control,
            Topic::Requirement { .. } => Self::Requirement,
            Topic::Risk(_) => Self::Risk,
            Topic::Profile(_) => Self::Profile,
            Topic::Import(_) => Self::Import,
            Topic::Hold => Self::Hold,
            Topic::Whole(_) | Topic::Member { .. } => Self::Estate,
            Topic::Subjects { .. } => Self::Subjects,
        }
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Requirement => "requirement",
            Self::Risk => "risk",
            Self::Profile => "profile",
            Self::Import => "import",
            Self::Hold => "hold",
            Self::Estate => "estate",
            Self::Subjects => "subjects",
        }
    }
}

/// A record, and what became of it.
#[derive(Clone, Debug)]
pub struct StatementState {
    pub record: StatementRecord,
    pub standing: Standing,
    /// What was asked or shown. `None`: nothing, or it was not kept.
    pub wording: Option<String>,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It counts.
    InForce,
    /// It counted until its end.
    Expired,
    /// The risk that it accepted is closed.
    Ended,
    /// The risk is worse than what it accepted. It counts again if the risk is no worse than that before its end.
    Exceeded,
    Superseded(StatementNumber),
    Withdrawn(StatementNumber),
    Undone(StatementNumber),
    /// It is a withdrawal, or an undoing.
    Recorded,
}

impl Standing {
    pub const WORDS: [&str; 8] = [
        "in_force",
        "expired",
        "ended",
        "exceeded",
        "superseded",
        "withdrawn",
        "undone",
        "recorded",
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InForce => "in_force",
            Self::Expired => "expired",
            Self::Ended => "ended",
            Self::Exceeded => "exceeded",
            Self::Superseded(_) => "superseded",
            Self::Withdrawn(_) => "withdrawn",
            Self::Undone(_) => "undone",
            Self::Recorded => "recorded",
        }
    }

    /// The record by which it ended.
    #[must_use]
    pub const fn ended_by(self) -> Option<StatementNumber> {
        match self {
            Self::Superseded(by) | Self::Withdrawn(by) | Self::Undone(by) => Some(by),
            Self::InForce | Self::Expired | Self::Ended | Self::Exceeded | Self::Recorded => None,
        }
    }
}

impl StatementFilter {
    fn includes(&self, record: &StatementRecord) -> bool {
        let subject = subject(&record.topic);
        self.kind.is_none_or(|it| it == StatementKind::of(&record.topic))
            && self.framework.is_none_or(|it| Some(it) == framework(&record.topic))
            && self.subject.as_ref().is_none_or(|it| it.eq_ignore_ascii_case(&subject))
    }
}

/// Returns what a statement is about, in words of the API.
#[must_use]
pub fn subject(topic: &Topic) -> String {
    match topic {
        Topic::Control(code)
        | Topic::Subjects { control: code, .. }
        | Topic::Part { control: code, .. } => code.clone(),
        Topic::Requirement { reference, .. } => reference.clone(),
        Topic::Risk(id) => id.to_string(),
        Topic::Profile(question) => question.clone(),
        Topic::Import(id) => id.to_string(),
        Topic::Hold => String::new(),
        Topic::Whole(kind) => kind.as_str().to_owned(),
        Topic::Member { id, .. } => id.clone(),
    }
}

#[must_use]
pub fn framework(topic: &Topic) -> Option<FrameworkId> {
    if let Topic::Requirement { framework, .. } = topic { Some(*framework) } else { None }
}

/// Returns the part of a control that a statement is about. `None`: it is about something else.
#[must_use]
pub const fn part(topic: &Topic) -> Option<&ControlPart> {
    if let Topic::Part { part, .. } = topic { Some(part) } else { None }
}

/// Up to `limit` records that are asked for, newest first, from before one.
pub fn list(
    rows: &ClientSnapshot,
    filter: &StatementFilter,
    before: Option<StatementNumber>,
    limit: usize,
    now: Time,
) -> Result<Vec<StatementState>> {
    let records = match log::records_to_begin_with(rows)? {
        // It begins with these, with these numbers, as soon as somebody says something more.
        Some(first) => {
            let older = first.into_iter().rev().filter(|it| before.is_none_or(|b| it.number < b));
            older.filter(|it| filter.includes(it)).take(limit).collect()
        }
        None => rows.list_statements(before, limit, |it| filter.includes(it))?,
    };
    let accepted = accepted_risks(rows, &records)?;
    let mut known: BTreeMap<Topic, BTreeMap<StatementNumber, Fate>> = BTreeMap::new();
    let mut found = Vec::with_capacity(records.len());
    for record in records {
        if !known.contains_key(&record.topic) {
            let all = rows.list_statements_about(&record.topic)?;
            let fates = all.iter().map(|it| it.number).zip(fates(&all)).collect();
            known.insert(record.topic.clone(), fates);
        }
        let fate = known[&record.topic].get(&record.number).copied().unwrap_or(Fate::Stands);
        let standing = match (fate, &record.deed) {
            (Fate::Superseded(by), _) => Standing::Superseded(by),
            (Fate::Withdrawn(by), _) => Standing::Withdrawn(by),
            (Fate::Undone(by), _) => Standing::Undone(by),
            (Fate::Stands, Deed::Withdraw { .. } | Deed::Undo { .. }) => Standing::Recorded,
            (Fate::Stands, Deed::State(it)) if it.until.is_some_and(|end| end <= now) => {
                Standing::Expired
            }
            (Fate::Stands, Deed::State(_)) => match &record.topic {
                Topic::Risk(id) => accepted.get(id).copied().unwrap_or(Standing::Ended),
                Topic::Control(_)
                | Topic::Requirement { .. }
                | Topic::Profile(_)
                | Topic::Import(_)
                | Topic::Hold
                | Topic::Whole(_)
                | Topic::Member { .. }
                | Topic::Subjects { .. }
                | Topic::Part { .. } => Standing::InForce,
            },
        };
        let wording = record.content().and_then(|it| it.wording);
        let wording = wording.map(|it| rows.find_wording(it)).transpose()?.flatten();
        found.push(StatementState { record, standing, wording });
    }
    Ok(found)
}

/// The open risks that are accepted, and whether that covers them, if any of the records is about one.
fn accepted_risks(
    rows: &ClientSnapshot,
    records: &[StatementRecord],
) -> Result<BTreeMap<RiskId, Standing>> {
    if !records.iter().any(|it| matches!(it.topic, Topic::Risk(_))) {
        return Ok(BTreeMap::new());
    }
    let all = rows.list_risks()?.into_iter();
    let accepted = all.filter(|it| it.closed.is_none() && it.accepted.is_some());
    let covers = |it: &OpenRisk| it.acceptance().is_some();
    let standing = |it: &OpenRisk| if covers(it) { Standing::InForce } else { Standing::Exceeded };
    Ok(accepted.map(|it| (it.id, standing(&it))).collect())
}
