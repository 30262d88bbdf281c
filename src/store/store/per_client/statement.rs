//! The log of what people said about a client, in the order in which they said it. Nothing in it is ever changed: that
//! something was withdrawn, or was a mistake, is a record too. What counts now is derived from it.

pub mod batch;
pub mod ended;
pub mod subject;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bincode::{Decode, Encode};
use sha2::{Digest, Sha256};

use crate::clock::Time;
use crate::engine::ControlPart;
use crate::engine::estate::EstateKind;
use crate::engine::fact::{RowDecision, Status};
use crate::engine::framework::FrameworkId;
use crate::engine::posture::RiskExtent;
use crate::engine::severity::Severity;
use crate::engine::subject::SubjectRuling;
use crate::error::Result;
use crate::id::{BatchId, EvidenceId, ImportId, RiskId, SubjectDecisionId};
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::evidence::Evidence;
use crate::store::per_client::fact::Attested;
use crate::store::per_client::posture::OpenRisk;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{
    FACT_STATEMENT, FACT_STATEMENT_COUNT, FACT_STATEMENT_STANDING, FACT_STATEMENT_TOPIC,
    FACT_WORDING, FACTS,
};

/// The number of a record in its client's log, from 1.
pub type StatementNumber = u64;

/// One record of the log.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StatementRecord {
    pub number: StatementNumber,
    pub recorded_at: Time,
    pub topic: Topic,
    pub deed: Deed,
    /// Empty: none was given. Only a withdrawal may have none.
    pub reason: String,
    pub author: Author,
    /// Those that were made together. Undone as one.
    pub batch: Option<BatchId>,
}

impl StatementRecord {
    /// What it says. `None`: it ends what another record says.
    #[must_use]
    pub const fn content(&self) -> Option<&Content> {
        match &self.deed {
            Deed::State(content) => Some(content),
            Deed::Withdraw { .. } | Deed::Undo { .. } => None,
        }
    }
}

/// What a statement is about. Of the statements about one topic at most one counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Topic {
    /// A control, by its code.
    Control(String),
    /// A row of a framework.
    Requirement { framework: FrameworkId, reference: String },
    /// The acceptance of a risk.
    Risk(RiskId),
    /// A question of the profile.
    Profile(String),
    /// An import that was undone.
    Import(ImportId),
    /// A hold: nothing about the client is removed.
    Hold,
    /// That these are all.
    Whole(EstateKind),
    /// A member of the estate: a scope such as `aws/123456789012`, or the id of an asset.
    Member { kind: EstateKind, id: String },
    /// Subjects of a control that were decided about together.
    Subjects { control: String, id: SubjectDecisionId },
    /// Part of a control.
    Part { control: String, part: ControlPart },
}

/// What a record does.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Deed {
    /// Takes the place of what counts of the topic.
    State(Content),
    /// From then on this statement no longer counts, and none takes its place.
    Withdraw { statement: StatementNumber },
    /// This record was a mistake: what counts is as if it had never been made.
    Undo { record: StatementNumber },
}

/// What a statement says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Content {
    pub answer: StatedAnswer,
    pub from: Time,
    /// `None`: it does not expire.
    pub until: Option<Time>,
    pub evidence: Option<StatedEvidence>,
    /// It counts even where a technical observation is valid.
    pub overrides: bool,
    /// The statement that it takes the place of.
    pub supersedes: Option<StatementNumber>,
    /// The SHA-256 of what was asked or shown, whose text is kept once.
    pub wording: Option<[u8; 32]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum StatedAnswer {
    /// Of a control.
    Status(Status),
    /// Of a requirement.
    OutOfScope,
    Attested,
    /// Of a risk that is this severe, and of which so much fails. `None`: of a release that did not keep it.
    Accepted(Severity, Option<RiskExtent>),
    /// Of a platform of the profile.
    Used,
    Unused,
    Unknown,
    /// Of an import: what it showed does not count.
    Undone,
    /// Of a hold.
    Held,
    /// Of a kind of members: there are no more than these.
    Whole(u32),
    /// Of a member: it exists, and is not meant.
    Excluded,
    /// Of a member: it is gone.
    Retired,
    /// Of subjects of a control.
    Ruled(SubjectRuling),
}

impl StatedAnswer {
    /// All that [`Self::as_str`] returns.
    pub const WORDS: [&str; 17] = [
        "compliant",
        "partial",
        "non_compliant",
        "not_assessed",
        "not_applicable",
        "out_of_scope",
        "attested",
        "accepted",
        "used",
        "unused",
        "unknown",
        "undone",
        "held",
        "all",
        "excluded",
        "retired",
        "intended",
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Status(status) => status.as_str(),
            Self::OutOfScope => "out_of_scope",
            Self::Attested => "attested",
            Self::Accepted(..) => "accepted",
            Self::Used => "used",
            Self::Unused => "unused",
            Self::Unknown => "unknown",
            Self::Undone => "undone",
            Self::Held => "held",
            Self::Whole(_) => "all",
            Self::Excluded => "excluded",
            Self::Retired => "retired",
            Self::Ruled(ruling) => ruling.as_str(),
        }
    }
}

/// Where the evidence is, as it was when the statement was made.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StatedEvidence {
    pub reference: String,
    /// The entry of the register. `None`: it is only referred to.
    pub id: Option<EvidenceId>,
    pub sha256: Option<[u8; 32]>,
}

/// Who made a statement.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Author {
    /// Who says it, in the name that the statement carries.
    pub by: String,
    /// The user, key or operator that entered it. Empty: it was made before this was recorded.
    pub account: String,
    pub channel: Channel,
}

impl Author {
    /// Of what `by` said once, and a release records.
    #[must_use]
    pub fn of_upgrade(by: &str) -> Self {
        Self { by: by.to_owned(), account: String::new(), channel: Channel::Upgrade }
    }
}

/// How a statement arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Channel {
    Console,
    Api,
    Cli,
    /// A release that carried it over from an earlier one, or that found it as the only one that was kept.
    Upgrade,
}

impl Channel {
    pub const ALL: [Self; 4] = [Self::Console, Self::Api, Self::Cli, Self::Upgrade];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Api => "api",
            Self::Cli => "cli",
            Self::Upgrade => "upgrade",
        }
    }
}

/// What counts of a client now, in the rows that hold it, but for its profile. In a database of an earlier release all that
/// was kept.
#[derive(Clone, Debug)]
pub struct StoredStatements {
    pub attested: Vec<Attested>,
    pub decisions: Vec<RowDecision>,
    /// Accepted or not.
    pub risks: Vec<OpenRisk>,
    pub evidence: Vec<Evidence>,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stands. A statement that stands counts until it expires.
    Stands,
    /// By these records.
    Superseded(StatementNumber),
    Withdrawn(StatementNumber),
    Undone(StatementNumber),
}

/// Returns what became of each record. `records`: all those about one topic, in their order.
#[must_use]
pub fn fates(records: &[StatementRecord]) -> Vec<Fate> {
    let undone: BTreeMap<StatementNumber, StatementNumber> = records
        .iter()
        .filter_map(|it| match it.deed {
            Deed::Undo { record } => Some((record, it.number)),
            Deed::State(_) | Deed::Withdraw { .. } => None,
        })
        .collect();
    let mut fates = vec![Fate::Stands; records.len()];
    let mut standing: Option<usize> = None;
    for (n, it) in records.iter().enumerate() {
        if let Some(by) = undone.get(&it.number) {
            fates[n] = Fate::Undone(*by);
            continue;
        }
        match it.deed {
            Deed::State(_) => {
                if let Some(before) = standing.replace(n) {
                    fates[before] = Fate::Superseded(it.number);
                }
            }
            Deed::Withdraw { statement } => {
                let withdrawn = standing.filter(|before| records[*before].number == statement);
                if let Some(before) = withdrawn {
                    fates[before] = Fate::Withdrawn(it.number);
                    standing = None;
                }
            }
            Deed::Undo { .. } => (),
        }
    }
    fates
}

/// Returns the statement that counts until it expires. `records`: as in [`fates`].
#[must_use]
pub fn standing(records: &[StatementRecord]) -> Option<&StatementRecord> {
    let is_standing =
        |(it, fate): &(&StatementRecord, Fate)| *fate == Fate::Stands && it.content().is_some();
    records.iter().zip(fates(records)).find(is_standing).map(|(it, _)| it)
}

/// Returns the digest under which a wording is kept.
#[must_use]
pub fn wording_digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

const TOPIC_CONTROL: u8 = 1;
const TOPIC_REQUIREMENT: u8 = 2;
const TOPIC_RISK: u8 = 3;
const TOPIC_PROFILE: u8 = 4;
const TOPIC_IMPORT: u8 = 5;
const TOPIC_HOLD: u8 = 6;
const TOPIC_WHOLE: u8 = 7;
const TOPIC_MEMBER: u8 = 8;
const TOPIC_SUBJECTS: u8 = 9;
const TOPIC_PART: u8 = 10;

fn row_key(number: StatementNumber) -> RowKey {
    RowKey::of(FACT_STATEMENT).bytes(&(!number).to_be_bytes())
}

fn topic_key(topic: &Topic) -> RowKey {
    with_topic(RowKey::of(FACT_STATEMENT_TOPIC), topic)
}

fn standing_key(topic: &Topic) -> RowKey {
    with_topic(RowKey::of(FACT_STATEMENT_STANDING), topic)
}

fn with_topic(start: RowKey, topic: &Topic) -> RowKey {
    match topic {
        Topic::Control(code) => start.bytes(&[TOPIC_CONTROL]).text(code),
        Topic::Requirement { framework, reference } => {
            start.bytes(&[TOPIC_REQUIREMENT]).text(framework.as_str()).text(reference)
        }
        Topic::Risk(id) => start.bytes(&[TOPIC_RISK]).bytes(id.as_bytes()),
        Topic::Profile(question) => start.bytes(&[TOPIC_PROFILE]).text(question),
        Topic::Import(id) => start.bytes(&[TOPIC_IMPORT]).bytes(id.as_bytes()),
        Topic::Hold => start.bytes(&[TOPIC_HOLD]),
        Topic::Whole(kind) => start.bytes(&[TOPIC_WHOLE]).text(kind.as_str()),
        Topic::Member { kind, id } => start.bytes(&[TOPIC_MEMBER]).text(kind.as_str()).text(id),
        Topic::Subjects { id, .. } => start.bytes(&[TOPIC_SUBJECTS]).bytes(id.as_bytes()),
        Topic::Part { control, part } => {
            let names = [&part.facet, &part.platform, &part.scope].into_iter();
            let names = names.map(|it| it.as_deref().unwrap_or_default());
            names.fold(start.bytes(&[TOPIC_PART]).text(control), RowKey::text)
        }
    }
}

fn wording_key(digest: [u8; 32]) -> RowKey {
    RowKey::of(FACT_WORDING).bytes(&digest)
}

impl<R: Rows> ClientTransaction<R> {
    /// How many records were ever added. 0: the log has not begun, and what counts was stored by an earlier release.
    pub fn n_statements(&self) -> Result<u64> {
        Ok(self.find(FACTS, &RowKey::of(FACT_STATEMENT_COUNT))?.unwrap_or(0))
    }

    pub fn find_statement(&self, number: StatementNumber) -> Result<Option<StatementRecord>> {
        self.find(FACTS, &row_key(number))
    }

    /// Up to `limit` records that are wanted, newest first, from before a record.
    pub fn list_statements(
        &self,
        before: Option<StatementNumber>,
        limit: usize,
        is_wanted: impl Fn(&StatementRecord) -> bool,
    ) -> Result<Vec<StatementRecord>> {
        let table = FACTS.name(self.client);
        let span = Span::prefix(RowKey::of(FACT_STATEMENT).as_slice());
        let span = before.map_or(span.clone(), |it| span.after(row_key(it).as_slice()));
        let mut found = Vec::new();
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let record = self.rows.open_row::<StatementRecord>(&table, key, bytes)?;
            if is_wanted(&record) {
                found.push(record);
            }
            let is_full = limit <= found.len();
            Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }

    /// The number of the statement about a topic that counts until it expires.
    pub fn find_standing_statement(&self, topic: &Topic) -> Result<Option<StatementNumber>> {
        self.find(FACTS, &standing_key(topic))
    }

    /// The statements about the estate that count until they expire.
    pub fn list_standing_of_estate(&self) -> Result<Vec<StatementRecord>> {
        self.list_standing_of(&[TOPIC_WHOLE, TOPIC_MEMBER])
    }

    /// Those about parts of controls.
    pub fn list_standing_of_parts(&self) -> Result<Vec<StatementRecord>> {
        self.list_standing_of(&[TOPIC_PART])
    }

    fn list_standing_of(&self, topics: &[u8]) -> Result<Vec<StatementRecord>> {
        let mut numbers: Vec<StatementNumber> = Vec::new();
        for topic in topics {
            let start = RowKey::of(FACT_STATEMENT_STANDING).bytes(&[*topic]);
            numbers.append(&mut self.list(FACTS, &start)?);
        }
        let keys: Vec<RowKey> = numbers.into_iter().map(row_key).collect();
        Ok(self.find_all(FACTS, &keys)?.into_iter().flatten().collect())
    }

    /// All records about a topic, in their order.
    pub fn list_statements_about(&self, topic: &Topic) -> Result<Vec<StatementRecord>> {
        let span = Span::prefix(topic_key(topic).as_slice());
        let keys = self.rows.list_keys_of(&FACTS.name(self.client), &span, usize::MAX)?;
        let numbers = keys.iter().rev().filter_map(|it| it.last_chunk());
        let numbers = numbers.map(|it| !StatementNumber::from_be_bytes(*it));
        let keys: Vec<RowKey> = numbers.map(row_key).collect();
        Ok(self.find_all(FACTS, &keys)?.into_iter().flatten().collect())
    }

    /// The hold that the client is under.
    pub fn find_hold(&self, now: Time) -> Result<Option<StatementRecord>> {
        let Some(number) = self.find_standing_statement(&Topic::Hold)? else { return Ok(None) };
        let holds = |it: &StatementRecord| {
            it.content().is_some_and(|it| it.until.is_none_or(|end| now < end))
        };
        Ok(self.find_statement(number)?.filter(holds))
    }

    /// What counts now, whether or not it expired.
    pub fn stored_statements(&self) -> Result<StoredStatements> {
        Ok(StoredStatements {
            attested: self.list_attested()?,
            decisions: self.list_row_decisions()?,
            risks: self.list_risks()?,
            evidence: self.list_evidence()?,
        })
    }

    /// The text with this digest.
    pub fn find_wording(&self, digest: [u8; 32]) -> Result<Option<String>> {
        self.find(FACTS, &wording_key(digest))
    }
}

impl ClientBatch<'_> {
    /// Adds a record as the newest. Its number must be the next. `restored`: what counts of its topic if it undoes another.
    pub fn add_statement(
        &mut self,
        record: &StatementRecord,
        restored: Option<StatementNumber>,
    ) -> Result<()> {
        let StatementRecord { number, topic, .. } = record;
        let standing = match record.deed {
            Deed::State(_) => Some(*number),
            Deed::Withdraw { .. } => None,
            Deed::Undo { .. } => restored,
        };
        self.put(FACTS, &row_key(*number), record)?;
        self.put(FACTS, &topic_key(topic).bytes(&(!number).to_be_bytes()), &())?;
        match standing {
            Some(standing) => self.put(FACTS, &standing_key(topic), &standing)?,
            None => {
                self.remove(FACTS, &standing_key(topic))?;
            }
        }
        self.put(FACTS, &RowKey::of(FACT_STATEMENT_COUNT), number)
    }

    /// Keeps what was asked or shown. Returns its digest.
    pub fn keep_wording(&mut self, text: &str) -> Result<[u8; 32]> {
        let digest = wording_digest(text);
        if self.find_wording(digest)?.is_none() {
            self.put(FACTS, &wording_key(digest), &text.to_owned())?;
        }
        Ok(digest)
    }
}
