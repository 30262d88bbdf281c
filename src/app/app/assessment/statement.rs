//! What people stated about a client: attestations, decisions about rows, evidence. Stored and assessed in one commit.

use std::collections::BTreeSet;

use crate::app::assessment::estate::{EstateEntry, EstateStatement};
use crate::app::assessment::log::{self, Entry};
use crate::app::assessment::part::AttestedPart;
use crate::app::input::require_future;
use crate::clock::Time;
use crate::engine::StatedPart;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Attestation, RowDecision, anywhere, subject_hash};
use crate::engine::subject::{DecidedSubjects, SubjectDecision};
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::per_client::evidence::Evidence;
use crate::store::per_client::fact::Attested;
use crate::store::per_client::statement::subject::{StatedSubjects, SubjectStatement};
use crate::store::per_client::statement::{
    Author, Content, StatementNumber, StatementRecord, Topic,
};
use crate::store::{ClientBatch, ClientSnapshot};

pub const REASON_CHARS_MAX: usize = 1_000;
/// The limit of a text that says where evidence is.
pub const REFERENCE_CHARS_MAX: usize = 1_000;
pub const BY_CHARS_MAX: usize = 200;
/// The longest term of a statement: three years, one of them a leap year.
pub const TERM_DAYS_MAX: i64 = 3 * 365 + 1;

/// All statements about one client.
#[derive(Clone, Debug)]
pub struct Statements {
    pub attested: Vec<Attested>,
    pub parts: Vec<AttestedPart>,
    pub decisions: Vec<RowDecision>,
    /// Those that have not ended. Empty where only the others are read.
    pub subjects: Vec<SubjectStatement>,
    pub evidence: Vec<Evidence>,
    pub estate: Vec<EstateStatement>,
    /// What moves statements from names of earlier releases to those of this one. They count as moved at once, and are
    /// stored so with the next statement.
    pub(in crate::app) carried: Vec<Statement>,
}

/// A statement that is made or withdrawn.
#[derive(Clone, Debug)]
pub(in crate::app) enum Statement {
    Attest(Attested, Author),
    AttestPart(AttestedPart, Author),
    Decide(RowDecision, Author),
    Say(Vec<EstateEntry>),
    DecideSubjects(SubjectStatement, Author),
    /// What counts of a control, a requirement or subjects.
    Withdraw(Entry),
    /// The record was a mistake; this counts of its topic without it.
    Undo {
        entry: Entry,
        record: StatementNumber,
        standing: Option<Box<StatementRecord>>,
        subjects: Option<Box<SubjectStatement>>,
    },
    /// Adds the entry, or replaces the one with its id.
    PutEvidence(Evidence),
    RemoveEvidence(EvidenceId),
}

impl Statements {
    /// Returns everything that an assessment reads.
    pub fn read_all(rows: &ClientSnapshot, catalog: &Catalog, now: Time) -> Result<Self> {
        let subjects = rows.list_subject_statements(now)?;
        let subjects = subjects.into_iter().map(|it| it.1).collect();
        Ok(Self { subjects, ..Self::read(rows, catalog)? })
    }

    /// Returns all but the decisions about subjects.
    pub fn read(rows: &ClientSnapshot, catalog: &Catalog) -> Result<Self> {
        let stored = Self {
            attested: rows.list_attested()?,
            parts: rows.list_standing_of_parts()?.iter().filter_map(AttestedPart::of).collect(),
            decisions: rows.list_row_decisions()?,
            subjects: Vec::new(),
            evidence: rows.list_evidence()?,
            estate: rows
                .list_standing_of_estate()?
                .iter()
                .filter_map(EstateStatement::of)
                .collect(),
            carried: Vec::new(),
        };
        Ok(stored.carried_over(catalog))
    }

    /// Moves what was stated about controls and rows of an earlier release to those that replace them. What was stated
    /// about these themselves is newer and stays.
    fn carried_over(self, catalog: &Catalog) -> Self {
        let mut carried = Vec::new();
        let mut attested: Vec<&Attested> = self.attested.iter().collect();
        attested.sort_by_key(|it| it.attestation.at); // The newest is moved last, and stays.
        let has_own = |code: &str| self.attested.iter().any(|it| it.attestation.control == code);
        for it in attested {
            let old = &it.attestation.control;
            let next = catalog.codes_replacing(old);
            carried.extend(next.iter().filter(|it| !has_own(it)).map(|code| {
                let attestation =
                    Attestation { control: (*code).to_owned(), ..it.attestation.clone() };
                let author = Author::of_upgrade(&attestation.by);
                Statement::Attest(Attested { attestation, ..it.clone() }, author)
            }));
            if !next.is_empty() {
                let topic = Topic::Control(old.clone());
                carried.push(replaced(topic, &it.attestation.by, &next));
            }
        }
        let mut decisions: Vec<&RowDecision> = self.decisions.iter().collect();
        decisions.sort_by_key(|it| it.at);
        for it in decisions {
            let Some(framework) = catalog.find_framework(it.framework) else { continue };
            let has_own = |reference: &str| {
                self.decisions.iter().any(|own| own.is_about(it.framework, reference))
            };
            let next = framework.rows_named(&it.reference).into_iter();
            let next = next.map(|row| &framework.rows[row].reference);
            let next: Vec<_> = next.filter(|reference| **reference != it.reference).collect();
            carried.extend(next.iter().filter(|reference| !has_own(reference)).map(|reference| {
                let decision = RowDecision { reference: (*reference).clone(), ..it.clone() };
                Statement::Decide(decision, Author::of_upgrade(&it.by))
            }));
            if !next.is_empty() {
                let (framework, reference) = (it.framework, it.reference.clone());
                let topic = Topic::Requirement { framework, reference };
                let next: Vec<&str> = next.iter().map(|it| it.as_str()).collect();
                carried.push(replaced(topic, &it.by, &next));
            }
        }
        for it in &self.evidence {
            let control = catalog.current_code(&it.control);
            if control != it.control {
                let moved = Evidence { control: control.to_owned(), ..it.clone() };
                carried.push(Statement::PutEvidence(moved));
            }
        }
        let moved = carried.iter().fold(self, Self::with);
        Self { carried, ..moved }
    }

    /// Returns the attestations with the evidence that counts now.
    pub fn attestations(&self, now: Time) -> Vec<Attestation> {
        let with_evidence = |it: &Attested| Attestation {
            evidence: self.evidence_of(it, now).map(str::to_owned),
            ..it.attestation.clone()
        };
        self.attested.iter().map(with_evidence).collect()
    }

    /// Returns what was attested about parts, with the evidence that counts now.
    pub fn stated_parts(&self, catalog: &Catalog, now: Time) -> Vec<StatedPart> {
        let stated = |it: &AttestedPart| {
            let mut stated = it.stated(self.evidence_of(&it.attested, now));
            stated.said.control = catalog.current_code(&stated.said.control).to_owned();
            stated
        };
        self.parts.iter().map(stated).collect()
    }

    /// Returns what was decided about single subjects.
    pub fn subject_decisions(&self) -> Vec<SubjectDecision> {
        self.subjects.iter().map(decision_about).collect()
    }

    /// Returns where the evidence of an attestation is. `None`: it has no evidence that counts.
    pub fn evidence_of<'a>(&'a self, it: &'a Attested, now: Time) -> Option<&'a str> {
        let written = it.attestation.evidence.as_deref();
        let named = || {
            let found =
                self.evidence.iter().find(|evidence| Some(evidence.id) == it.evidence_id)?;
            // Evidence that outlasts the attestation does not change the status that the attestation had when it
            // expired.
            let end = it.attestation.until;
            let outlasts = end.zip(found.valid_until).is_some_and(|(end, valid)| end <= valid);
            (found.is_valid(now) || outlasts).then_some(found.reference.as_str())
        };
        written.or_else(named)
    }

    pub(in crate::app) fn with(mut self, statement: &Statement) -> Self {
        match statement {
            Statement::Attest(new, _) => {
                self.attested.retain(|it| it.attestation.control != new.attestation.control);
                self.attested.push(new.clone());
            }
            Statement::AttestPart(new, _) => {
                self.parts.retain(|it| it.topic() != new.topic());
                self.parts.push(new.clone());
            }
            Statement::Decide(new, _) => {
                self.decisions.retain(|it| !it.is_about(new.framework, &new.reference));
                self.decisions.push(new.clone());
            }
            Statement::Say(entries) => {
                let topics: BTreeSet<&Topic> = entries.iter().map(|it| &it.entry.topic).collect();
                self.estate.retain(|it| !topics.contains(&it.topic));
                self.estate.extend(entries.iter().filter_map(EstateEntry::statement));
            }
            Statement::DecideSubjects(new, _) => self.subjects.push(new.clone()),
            Statement::Withdraw(entry) => self.drop_about(&entry.topic),
            Statement::Undo { entry, standing, subjects, .. } => {
                self.drop_about(&entry.topic);
                self.attested.extend(standing.as_deref().and_then(log::attested_of));
                self.parts.extend(standing.as_deref().and_then(AttestedPart::of));
                self.decisions.extend(standing.as_deref().and_then(log::decision_of));
                self.estate.extend(standing.as_deref().and_then(EstateStatement::of));
                self.subjects.extend(subjects.as_deref().cloned());
            }
            Statement::PutEvidence(new) => {
                self.evidence.retain(|it| it.id != new.id);
                self.evidence.push(new.clone());
            }
            Statement::RemoveEvidence(id) => self.evidence.retain(|it| it.id != *id),
        }
        self
    }

    fn drop_about(&mut self, topic: &Topic) {
        match topic {
            Topic::Control(code) => self.attested.retain(|it| it.attestation.control != *code),
            Topic::Requirement { framework, reference } => {
                self.decisions.retain(|it| !it.is_about(*framework, reference));
            }
            Topic::Whole(_) | Topic::Member { .. } => self.estate.retain(|it| it.topic != *topic),
            Topic::Subjects { id, .. } => self.subjects.retain(|it| it.id != *id),
            Topic::Part { .. } => self.parts.retain(|it| it.topic() != *topic),
            Topic::Risk(_) | Topic::Profile(_) | Topic::Import(_) | Topic::Hold => (),
        }
    }
}

impl Statement {
    pub(in crate::app) fn write(
        &self,
        batch: &mut ClientBatch<'_>,
        catalog: &Catalog,
        at: Time,
    ) -> Result<()> {
        match self {
            Self::Attest(new, author) => {
                let it = &new.attestation;
                let topic = Topic::Control(it.control.clone());
                let entry =
                    new.evidence_id.map(|id| batch.find_evidence(id)).transpose()?.flatten();
                let content = log::of_attestation(new, entry.as_slice());
                record(batch, catalog, at, (topic, &it.reason, author), content)?;
                batch.put_attested(new)
            }
            Self::AttestPart(new, author) => {
                let (it, topic) = (&new.attested.attestation, new.topic());
                let entry =
                    new.attested.evidence_id.map(|id| batch.find_evidence(id)).transpose()?;
                let content = log::of_attestation(&new.attested, entry.flatten().as_slice());
                record(batch, catalog, at, (topic, &it.reason, author), content)
            }
            Self::Decide(new, author) => {
                let (framework, reference) = (new.framework, new.reference.clone());
                let topic = Topic::Requirement { framework, reference };
                record(batch, catalog, at, (topic, &new.reason, author), log::of_decision(new))?;
                batch.put_row_decision(new)
            }
            Self::Say(entries) => entries.iter().try_for_each(|it| {
                let entry = it.entry.clone();
                match &it.content {
                    Some(content) => {
                        log::state(batch, at, entry, it.wording.as_deref(), content.clone())
                    }
                    None => log::withdraw(batch, at, entry),
                }
            }),
            Self::DecideSubjects(new, author) => {
                let wording = log::subject_wording(catalog, new);
                let (topic, reason) = (new.topic(), new.reason.clone());
                let entry = Entry { topic, reason, author: author.clone() };
                log::state(batch, at, entry, Some(&wording), log::of_subjects(new))?;
                batch.note_object(&new.id);
                batch.put_subject_statement(new)
            }
            Self::Withdraw(entry) => {
                log::withdraw(batch, at, entry.clone())?;
                remove_about(batch, &entry.topic)
            }
            Self::Undo { entry, record, standing, .. } => {
                let restored = standing.as_ref().map(|it| it.number);
                log::undo(batch, at, entry.clone(), (*record, restored))?;
                remove_about(batch, &entry.topic)?;
                if let Some(attested) = standing.as_deref().and_then(log::attested_of) {
                    batch.put_attested(&attested)?;
                }
                let decision = standing.as_deref().and_then(log::decision_of);
                decision.map_or(Ok(()), |it| batch.put_row_decision(&it))
            }
            Self::PutEvidence(new) => {
                batch.note_object(&new.id);
                batch.put_evidence(new)
            }
            Self::RemoveEvidence(id) => batch.remove_evidence(*id).map(|_| ()),
        }
    }
}

/// Returns a decision about subjects as the engine reads it.
pub(in crate::app) fn decision_about(it: &SubjectStatement) -> SubjectDecision {
    let subjects = match &it.subjects {
        StatedSubjects::Named(names) => {
            let mut hashes: Vec<u64> = names.iter().map(|it| anywhere(subject_hash(it))).collect();
            hashes.sort_unstable();
            DecidedSubjects::Named(hashes)
        }
        StatedSubjects::Matching(pattern) => DecidedSubjects::Matching(pattern.clone()),
    };
    let SubjectStatement { control, ruling, at, until, .. } = it;
    SubjectDecision { control: control.clone(), ruling: *ruling, subjects, at: *at, until: *until }
}

fn remove_about(batch: &mut ClientBatch<'_>, topic: &Topic) -> Result<()> {
    match topic {
        Topic::Control(code) => batch.remove_attested(code).map(|_| ()),
        Topic::Requirement { framework, reference } => {
            batch.remove_row_decision(*framework, reference).map(|_| ())
        }
        Topic::Risk(_)
        | Topic::Profile(_)
        | Topic::Import(_)
        | Topic::Hold
        | Topic::Whole(_)
        | Topic::Member { .. }
        | Topic::Subjects { .. }
        | Topic::Part { .. } => Ok(()),
    }
}

fn record(
    batch: &mut ClientBatch<'_>,
    catalog: &Catalog,
    at: Time,
    (topic, reason, author): (Topic, &str, &Author),
    content: Content,
) -> Result<()> {
    let wording = log::wording(catalog, &topic);
    let entry = Entry { topic, reason: reason.to_owned(), author: author.clone() };
    log::state(batch, at, entry, wording.as_deref(), content)
}

/// Ends what was said about a control or row of an earlier release.
fn replaced(topic: Topic, by: &str, next: &[&str]) -> Statement {
    let reason = format!("This release has {} in its place.", next.join(", "));
    Statement::Withdraw(Entry { topic, reason, author: Author::of_upgrade(by) })
}

/// # Errors
/// `Invalid` unless the time is in the future and at most [`TERM_DAYS_MAX`] away.
pub(in crate::app) fn require_term(field: &str, end: Time, now: Time) -> Result<()> {
    require_future(field, end, now)?;
    if now.plus_days(TERM_DAYS_MAX) < end {
        return Err(Error::invalid_field(field, "must be within three years"));
    }
    Ok(())
}
