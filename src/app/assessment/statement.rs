//! What people stated about a client: attestations, decisions about rows, evidence. Stored and assessed in one commit.

use crate::app::input::require_future;
use crate::clock::Time;
use crate::engine::catalog::FrameworkId;
use crate::engine::fact::{Attestation, RowDecision};
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::per_client::evidence::Evidence;
use crate::store::per_client::fact::Attested;
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
    pub decisions: Vec<RowDecision>,
    pub evidence: Vec<Evidence>,
}

/// A statement that is made or withdrawn.
#[derive(Clone, Debug)]
pub(in crate::app) enum Statement {
    Attest(Attested),
    /// By control.
    WithdrawAttestation(String),
    Decide(RowDecision),
    WithdrawDecision(FrameworkId, String),
    /// Adds the entry, or replaces the one with its id.
    PutEvidence(Evidence),
    RemoveEvidence(EvidenceId),
}

impl Statements {
    pub fn read(rows: &ClientSnapshot) -> Result<Self> {
        Ok(Self {
            attested: rows.list_attested()?,
            decisions: rows.list_row_decisions()?,
            evidence: rows.list_evidence()?,
        })
    }

    /// Returns the attestations with the evidence that counts now.
    pub fn attestations(&self, now: Time) -> Vec<Attestation> {
        let with_evidence = |it: &Attested| Attestation {
            evidence: self.evidence_of(it, now).map(str::to_owned),
            ..it.attestation.clone()
        };
        self.attested.iter().map(with_evidence).collect()
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
            Statement::Attest(new) => {
                self.attested.retain(|it| it.attestation.control != new.attestation.control);
                self.attested.push(new.clone());
            }
            Statement::WithdrawAttestation(control) => {
                self.attested.retain(|it| it.attestation.control != *control);
            }
            Statement::Decide(new) => {
                let is_same = |it: &RowDecision| {
                    (it.framework, &it.reference) == (new.framework, &new.reference)
                };
                self.decisions.retain(|it| !is_same(it));
                self.decisions.push(new.clone());
            }
            Statement::WithdrawDecision(framework, reference) => {
                self.decisions
                    .retain(|it| (it.framework, &it.reference) != (*framework, reference));
            }
            Statement::PutEvidence(new) => {
                self.evidence.retain(|it| it.id != new.id);
                self.evidence.push(new.clone());
            }
            Statement::RemoveEvidence(id) => self.evidence.retain(|it| it.id != *id),
        }
        self
    }
}

impl Statement {
    pub(in crate::app) fn write(&self, batch: &mut ClientBatch<'_>) -> Result<()> {
        match self {
            Self::Attest(new) => batch.put_attested(new),
            Self::WithdrawAttestation(control) => batch.remove_attested(control).map(|_| ()),
            Self::Decide(new) => batch.put_row_decision(new),
            Self::WithdrawDecision(framework, reference) => {
                batch.remove_row_decision(*framework, reference).map(|_| ())
            }
            Self::PutEvidence(new) => {
                batch.note_object(&new.id);
                batch.put_evidence(new)
            }
            Self::RemoveEvidence(id) => batch.remove_evidence(*id).map(|_| ()),
        }
    }
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
