//! What a person decides about one row of a framework: out of scope, or attested with evidence.

use crate::app::App;
use crate::app::assessment::log::Entry;
use crate::app::assessment::statement::{
    BY_CHARS_MAX, REASON_CHARS_MAX, REFERENCE_CHARS_MAX, Statement, Statements, require_term,
};
use crate::app::event::cause::Cause;
use crate::app::input::{require_length, require_name, require_text};
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{RowDecision, RowDecisionKind};
use crate::engine::framework::{Framework, FrameworkId};
use crate::engine::posture::RowOutcome;
use crate::error::Result;
use crate::store::per_client::statement::{Author, Topic};
use crate::store::{ClientSnapshot, ClientStore};

/// How many days an attested row counts by default.
pub const ATTESTED_DAYS: i64 = 365;

/// One row of one client.
#[derive(Clone, Debug)]
pub struct RowState {
    /// Index into the framework's rows.
    pub row: usize,
    pub outcome: RowOutcome,
    /// The last decision about it, whether or not it counts.
    pub decision: Option<RowDecision>,
}

/// A decision to add.
#[derive(Clone, Debug)]
pub struct NewDecision {
    pub kind: RowDecisionKind,
    pub reason: String,
    /// `None`: [`ATTESTED_DAYS`]. Out of scope does not expire.
    pub until: Option<Time>,
    pub by: Author,
}

impl App {
    /// Returns the state of a row. Its index must be in bounds.
    pub fn row_state(
        &self,
        rows: &ClientSnapshot,
        framework: &Framework,
        row: usize,
    ) -> Result<RowState> {
        let reference = &framework.rows[row].reference;
        let outcome = rows.framework_outcome(framework)?.rows[row];
        let decision = find_decision(rows, &self.catalog(), framework.id, reference)?;
        Ok(RowState { row, outcome, decision })
    }

    /// Decides about a row. This replaces the previous decision.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; those of [`App::reassess`].
    pub async fn decide_row(
        &self,
        rows: &ClientStore,
        framework: FrameworkId,
        reference: &str,
        new: NewDecision,
    ) -> Result<()> {
        let now = self.clock.now();
        let until = checked_end(&new, now)?;
        let lock = self.clients.lock(rows.id()).await;
        let cause = cause_of(&new.kind);
        let decision = RowDecision {
            framework,
            reference: reference.to_owned(),
            kind: new.kind,
            reason: new.reason,
            by: new.by.by.clone(),
            at: now,
            until,
        };
        self.state(rows, Statement::Decide(decision, new.by), cause, &lock).await
    }

    /// Withdraws the decision about the row, if there is one.
    ///
    /// # Errors
    /// `Invalid` for the reason; those of [`App::reassess`].
    pub async fn withdraw_decision(
        &self,
        rows: &ClientStore,
        (framework, reference): (FrameworkId, &str),
        reason: String,
        by: Author,
    ) -> Result<()> {
        require_length("reason", Some(&reason), REASON_CHARS_MAX)?;
        let lock = self.clients.lock(rows.id()).await;
        let (catalog, key) = (self.catalog(), reference.to_owned());
        let find =
            move |snapshot: &ClientSnapshot| find_decision(snapshot, &catalog, framework, &key);
        let Some(said) = rows.read(find).await? else { return Ok(()) };
        let topic = Topic::Requirement { framework, reference: reference.to_owned() };
        let statement = Statement::Withdraw(Entry { topic, reason, author: by });
        self.state(rows, statement, cause_of(&said.kind), &lock).await
    }
}

fn find_decision(
    rows: &ClientSnapshot,
    catalog: &Catalog,
    framework: FrameworkId,
    reference: &str,
) -> Result<Option<RowDecision>> {
    let mut all = Statements::read(rows, catalog)?.decisions.into_iter();
    Ok(all.find(|it| it.is_about(framework, reference)))
}

fn cause_of(kind: &RowDecisionKind) -> Cause {
    match kind {
        RowDecisionKind::OutOfScope => Cause::Scope,
        RowDecisionKind::Attested { .. } => Cause::Attestation,
    }
}

/// Checks a decision. Returns when it expires.
pub(super) fn checked_end(new: &NewDecision, now: Time) -> Result<Option<Time>> {
    require_text("reason", &new.reason, REASON_CHARS_MAX)?;
    require_name("by", &new.by.by, BY_CHARS_MAX)?;
    if let RowDecisionKind::Attested { evidence } = &new.kind {
        require_text("evidence", evidence, REFERENCE_CHARS_MAX)?;
    }
    match (new.until, &new.kind) {
        (Some(end), _) => require_term("until", end, now).map(|()| Some(end)),
        (None, RowDecisionKind::OutOfScope) => Ok(None),
        (None, RowDecisionKind::Attested { .. }) => Ok(Some(now.plus_days(ATTESTED_DAYS))),
    }
}
