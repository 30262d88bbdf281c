//! The results of a client's last assessment.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::framework::{Framework, FrameworkId};
use crate::engine::posture::{
    ControlOutcome, ExpectedLoss, FrameworkOutcome, Risk, RiskExtent, Score,
};
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::id::{RiskId, ScoreId};
use crate::layout::{Layout, read_by_layout};
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::reference::Referenced;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::ClientPart;
use crate::store::table::{
    POSTURE, POSTURE_ASSESSED, POSTURE_CONTROL, POSTURE_DIGEST, POSTURE_FRAMEWORK, POSTURE_LOSS,
    POSTURE_RISK, POSTURE_SCORE, POSTURE_TOUCHED,
};

/// A score, and when it was calculated.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ScoreEntry {
    pub id: ScoreId,
    pub score: Score,
    pub calculated_at: Time,
}

/// A risk over time. Its id stays the same while it is open, and if it soon opens again.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[bincode(decode_context = "Layout")]
pub struct OpenRisk {
    pub id: RiskId,
    pub risk: Risk,
    pub created_at: Time,
    /// `None` while it is open.
    pub closed: Option<Closed>,
    /// How often it was announced as open, from 1: when it was opened, and when an acceptance ended.
    pub occurrence: u32,
    /// When it was last opened. An acceptance does not change it.
    pub opened_at: Time,
    /// What a person accepts of it, until the first assessment after that expired. It covers the risk while that is no worse.
    pub accepted: Option<Acceptance>,
}

impl OpenRisk {
    /// The acceptance that covers it, so that it is not shown.
    #[must_use]
    pub fn acceptance(&self) -> Option<&Acceptance> {
        self.accepted.as_ref().filter(|it| it.covers(&self.risk))
    }

    /// A person accepts it, or it is accepted in the tool that sees it.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.acceptance().is_some() || self.risk.is_muted
    }

    /// It is open, and nobody accepts it.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.closed.is_none() && !self.is_accepted()
    }
}

/// A person's decision to accept a risk for some time.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
pub struct Acceptance {
    /// When it expires.
    pub until: Time,
    pub reason: String,
    pub by: String,
    pub at: Time,
    /// The severity of the risk when it was accepted. A more severe risk is not covered.
    pub severity: Severity,
    /// How much failed then. `None`: of a release that did not keep it.
    pub extent: Option<RiskExtent>,
}

impl Acceptance {
    /// Returns false if a risk is clearly worse than what was accepted.
    #[must_use]
    pub fn covers(&self, risk: &Risk) -> bool {
        risk.severity <= self.severity && self.extent.is_none_or(|it| !risk.extent.exceeds(&it))
    }
}

read_by_layout!(Acceptance { until, reason, by, at, severity } and then { extent });

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Closed {
    pub at: Time,
    pub resolution: Resolution,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Resolution {
    Fixed,
    Accepted,
    ScopedOut,
    Gone,
    Overridden,
}

impl Resolution {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Accepted => "accepted",
            Self::ScopedOut => "scoped_out",
            Self::Gone => "gone",
            Self::Overridden => "overridden",
        }
    }
}

/// What the stored posture is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AssessmentRecord {
    pub catalog_digest: u64,
    pub facts_version: u64,
    pub at: Time,
    /// The share of the applicable controls, by weight, that is assessed, in percent.
    pub coverage: u8,
}

fn control_key(code: &str) -> RowKey {
    RowKey::of(POSTURE_CONTROL).last_text(code)
}

fn framework_key(id: FrameworkId) -> RowKey {
    RowKey::of(POSTURE_FRAMEWORK).last_text(id.as_str())
}

fn digest_key(id: FrameworkId) -> RowKey {
    RowKey::of(POSTURE_DIGEST).last_text(id.as_str())
}

fn risk_key(condition: &str) -> RowKey {
    RowKey::of(POSTURE_RISK).last_text(condition)
}

fn touched_key(subject: u64) -> RowKey {
    RowKey::of(POSTURE_TOUCHED).bytes(&subject.to_be_bytes())
}

impl<R: Rows> ClientTransaction<R> {
    /// Ordered by code.
    pub fn list_control_outcomes(&self) -> Result<Vec<ControlOutcome>> {
        self.list(POSTURE, &RowKey::of(POSTURE_CONTROL))
    }

    pub fn find_control_outcome(&self, code: &str) -> Result<Option<ControlOutcome>> {
        self.find(POSTURE, &control_key(code))
    }

    pub fn find_framework(&self, id: FrameworkId) -> Result<Option<FrameworkOutcome>> {
        self.find(POSTURE, &framework_key(id))
    }

    /// The outcome of a framework. If it was never assessed, or not as it is now, every row is shown as not assessed until
    /// the next assessment.
    pub fn framework_outcome(&self, framework: &Framework) -> Result<FrameworkOutcome> {
        let stored = self.find_framework(framework.id)?;
        let digest = self.find_framework_digest(framework.id)?;
        let is_current = |it: &FrameworkOutcome| {
            it.rows.len() == framework.rows.len() && digest.is_none_or(|it| it == framework.digest)
        };
        Ok(stored.filter(is_current).unwrap_or_else(|| FrameworkOutcome::unassessed(framework)))
    }

    /// Ordered by name.
    pub fn list_frameworks(&self) -> Result<Vec<FrameworkOutcome>> {
        self.list(POSTURE, &RowKey::of(POSTURE_FRAMEWORK))
    }

    /// The current score.
    pub fn find_score(&self) -> Result<Option<ScoreEntry>> {
        self.find(POSTURE, &RowKey::of(POSTURE_SCORE))
    }

    /// All stored risks, including closed ones, ordered by condition.
    pub fn list_risks(&self) -> Result<Vec<OpenRisk>> {
        self.list(POSTURE, &RowKey::of(POSTURE_RISK))
    }

    /// Calls `each` with every stored risk, including closed ones, without holding all of them.
    pub fn visit_risks(&self, mut each: impl FnMut(OpenRisk)) -> Result<()> {
        let table = POSTURE.name(self.client);
        let span = Span::prefix(RowKey::of(POSTURE_RISK).as_slice());
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            each(self.rows.open_row(&table, key, bytes)?);
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Up to `limit` open risks after a condition, ordered by condition. Includes accepted ones.
    pub fn list_open_risks_after(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<OpenRisk>> {
        let table = POSTURE.name(self.client);
        let mut span = Span::prefix(RowKey::of(POSTURE_RISK).as_slice());
        if let Some(after) = after {
            span = span.after(risk_key(after).as_slice());
        }
        let mut found = Vec::new();
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let risk = self.rows.open_row::<OpenRisk>(&table, key, bytes)?;
            found.extend(Some(risk).filter(|it| it.closed.is_none()));
            let is_full = limit <= found.len();
            Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }

    /// A stored risk, also a closed one, by its id. Reads all risks up to it: call it on a snapshot.
    pub fn find_risk_by_id(&self, id: RiskId) -> Result<Option<OpenRisk>> {
        let table = POSTURE.name(self.client);
        let span = Span::prefix(RowKey::of(POSTURE_RISK).as_slice());
        let mut found = None;
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let risk: OpenRisk = self.rows.open_row(&table, key, bytes)?;
            if risk.id != id {
                return Ok(ControlFlow::Continue(()));
            }
            found = Some(risk);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    pub fn find_risk(&self, condition: &str) -> Result<Option<OpenRisk>> {
        self.find(POSTURE, &risk_key(condition))
    }

    /// The score of the worst risk that affects each of these subjects, in the given order.
    pub fn touched_scores(&self, subjects: &[u64]) -> Result<Vec<Option<u8>>> {
        let keys: Vec<RowKey> = subjects.iter().map(|it| touched_key(*it)).collect();
        self.find_all(POSTURE, &keys)
    }

    /// All affected subjects with the score of the worst risk, by subject.
    pub fn list_touched(&self) -> Result<Vec<(u64, u8)>> {
        let span = Span::prefix(RowKey::of(POSTURE_TOUCHED).as_slice());
        let mut found = Vec::new();
        let table = POSTURE.name(self.client);
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let score = self.rows.open_row(&table, key, bytes)?;
            let subject = key.last_chunk().expect("every key of this kind ends with a subject");
            found.push((u64::from_be_bytes(*subject), score));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// `None` if the client was never assessed.
    pub fn find_assessed(&self) -> Result<Option<AssessmentRecord>> {
        self.find(POSTURE, &RowKey::of(POSTURE_ASSESSED))
    }

    /// What a framework was as it was last assessed. `None`: by a release that did not say.
    pub fn find_framework_digest(&self, id: FrameworkId) -> Result<Option<u64>> {
        self.find(POSTURE, &digest_key(id))
    }

    /// `None` if the client was never assessed, or an input is unknown.
    pub fn find_expected_loss(&self) -> Result<Option<ExpectedLoss>> {
        self.find(POSTURE, &RowKey::of(POSTURE_LOSS))
    }
}

impl ClientBatch<'_> {
    pub fn put_control_outcome(&mut self, outcome: &ControlOutcome) -> Result<()> {
        self.put(POSTURE, &control_key(&outcome.code), outcome)
    }

    pub fn put_framework(&mut self, outcome: &FrameworkOutcome) -> Result<()> {
        if let Some(index) = outcome.id.contract_index() {
            self.count(|it| it.readiness[index] = outcome.summary.readiness)?;
        }
        self.put(POSTURE, &framework_key(outcome.id), outcome)
    }

    /// Removes the outcome of a framework that is no longer assessed.
    pub fn remove_framework(&mut self, id: FrameworkId) -> Result<()> {
        self.remove(POSTURE, &framework_key(id))?;
        self.remove(POSTURE, &digest_key(id)).map(|_| ())
    }

    pub fn put_score(&mut self, score: &ScoreEntry) -> Result<()> {
        self.count(|it| it.score = Some(score.score.overall))?;
        self.put(POSTURE, &RowKey::of(POSTURE_SCORE), score)
    }

    /// There is no score to show any more.
    pub fn remove_score(&mut self) -> Result<()> {
        self.count(|it| it.score = None)?;
        self.remove(POSTURE, &RowKey::of(POSTURE_SCORE)).map(|_| ())
    }

    pub fn put_risk(&mut self, risk: &OpenRisk) -> Result<()> {
        let before = self.find_risk(&risk.risk.condition)?;
        self.count_risk(before.as_ref(), Some(risk))?;
        self.put(POSTURE, &risk_key(&risk.risk.condition), risk)
    }

    /// Whether it was there.
    pub fn remove_risk(&mut self, condition: &str) -> Result<bool> {
        let before = self.find_risk(condition)?;
        self.count_risk(before.as_ref(), None)?;
        if let Some(before) = before {
            self.put_references(Referenced::Risk(before.id), &[])?;
        }
        self.remove(POSTURE, &risk_key(condition))
    }

    pub fn put_touched(&mut self, subject: u64, score: u8) -> Result<()> {
        self.moved(ClientPart::Inventory); // Assets show the score.
        self.put(POSTURE, &touched_key(subject), &score)
    }

    /// Whether it was there.
    pub fn remove_touched(&mut self, subject: u64) -> Result<bool> {
        self.moved(ClientPart::Inventory); // Assets show the score.
        self.remove(POSTURE, &touched_key(subject))
    }

    pub fn put_assessed(&mut self, assessed: &AssessmentRecord) -> Result<()> {
        self.count(|it| it.coverage = assessed.coverage)?;
        self.put(POSTURE, &RowKey::of(POSTURE_ASSESSED), assessed)
    }

    pub fn put_framework_digest(&mut self, id: FrameworkId, digest: u64) -> Result<()> {
        self.put(POSTURE, &digest_key(id), &digest)
    }

    /// `None`: an input is unknown.
    pub fn put_expected_loss(&mut self, loss: Option<ExpectedLoss>) -> Result<()> {
        self.count(|it| it.exposure = loss.as_ref().map_or(0, ExpectedLoss::exposure))?;
        match loss {
            Some(loss) => self.put(POSTURE, &RowKey::of(POSTURE_LOSS), &loss),
            None => self.remove(POSTURE, &RowKey::of(POSTURE_LOSS)).map(|_| ()),
        }
    }
}
