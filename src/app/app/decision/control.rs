//! A client's controls: their outcomes, and what people attest about them.

use crate::app::App;
use crate::app::assessment::log::Entry;
use crate::app::assessment::part::AttestedPart;
use crate::app::assessment::statement::{
    BY_CHARS_MAX, REASON_CHARS_MAX, REFERENCE_CHARS_MAX, Statement, Statements, TERM_DAYS_MAX,
    require_term,
};
use crate::app::event::cause::Cause;
use crate::app::input::{require_length, require_name, require_text};
use crate::clock::Time;
use crate::engine::ControlPart;
use crate::engine::catalog::Control;
use crate::engine::fact::{Attestation, Status};
use crate::engine::posture::ControlOutcome;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::per_client::fact::Attested;
use crate::store::per_client::statement::{Author, Topic};
use crate::store::{ClientSnapshot, ClientStore};

/// One control of one client.
#[derive(Clone, Debug)]
pub struct ControlState {
    pub outcome: ControlOutcome,
    /// The last attestation of all of it, whether or not it counts.
    pub attested: Option<Attested>,
    /// What was attested about parts of it, whether or not it counts, and where the evidence is.
    pub parts: Vec<(AttestedPart, Option<String>)>,
    /// Where its evidence is. `None`: it has no evidence that counts.
    pub evidence: Option<String>,
    /// The number of entries in the evidence register about the control.
    pub n_evidence: u32,
}

/// An attestation to add.
#[derive(Clone, Debug)]
pub struct NewAttestation {
    /// What it is about.
    pub part: ControlPart,
    /// `Compliant`, `Partial`, `NonCompliant`, or `NotApplicable` for out of scope.
    pub status: Status,
    pub reason: String,
    pub evidence: Option<String>,
    pub evidence_id: Option<EvidenceId>,
    /// `None`: it expires like an observation of the control. Out of scope does not expire.
    pub until: Option<Time>,
    /// Counts even where a technical observation is valid.
    pub overrides: bool,
    pub by: Author,
}

impl App {
    /// Returns the state of each control, in the catalog's order.
    pub fn control_states(&self, rows: &ClientSnapshot) -> Result<Vec<ControlState>> {
        let now = self.clock.now();
        let statements = Statements::read(rows, &self.catalog())?;
        let state = |outcome: ControlOutcome| {
            let mut attested = statements.attested.iter();
            let attested = attested.find(|it| it.attestation.control == outcome.code);
            let evidence = attested.and_then(|it| statements.evidence_of(it, now));
            let parts = statements.parts.iter();
            let parts = parts.filter(|it| it.attested.attestation.control == outcome.code);
            let evidence_of =
                |it: &AttestedPart| statements.evidence_of(&it.attested, now).map(str::to_owned);
            let mut parts: Vec<_> = parts.map(|it| (it.clone(), evidence_of(it))).collect();
            parts.sort_by(|a, b| a.0.part.cmp(&b.0.part));
            let about = statements.evidence.iter().filter(|it| it.control == outcome.code);
            ControlState {
                attested: attested.cloned(),
                parts,
                evidence: evidence.map(str::to_owned),
                n_evidence: u32::try_from(about.count()).unwrap_or(u32::MAX),
                outcome,
            }
        };
        Ok(self.control_outcomes(rows)?.into_iter().map(state).collect())
    }

    /// Returns the state of one control.
    ///
    /// # Errors
    /// `NotFound` as [`App::control`].
    pub fn control_state(&self, rows: &ClientSnapshot, code: &str) -> Result<ControlState> {
        let mut all = self.control_states(rows)?.into_iter();
        let found = all.find(|it| it.outcome.code == code);
        found.ok_or_else(|| Error::not_found("control not found"))
    }

    /// Attests a control. This replaces the previous attestation.
    ///
    /// # Errors
    /// `NotFound` as [`App::control`]; `Invalid` with the field that breaks a rule; those of [`App::reassess`].
    pub async fn attest_control(
        &self,
        rows: &ClientStore,
        code: &str,
        new: NewAttestation,
    ) -> Result<()> {
        let now = self.clock.now();
        let catalog = self.catalog();
        let control = catalog.get_control(code)?;
        let until = checked_end(control, &new, now)?;
        let part = self.checked_part(rows, control, new.part).await?;
        let lock = self.clients.lock(rows.id()).await;
        if let Some(id) = new.evidence_id {
            let found = rows.read(move |snapshot| snapshot.find_evidence(id)).await?;
            if found.is_none_or(|it| it.control != code) {
                let rule = "must be the id of evidence that the client has for this control";
                return Err(Error::invalid_field("evidenceId", rule));
            }
        }
        let cause = cause_of(new.status);
        let attestation = Attestation {
            control: code.to_owned(),
            status: new.status,
            reason: new.reason,
            evidence: new.evidence,
            by: new.by.by.clone(),
            at: now,
            until,
            overrides: new.overrides,
        };
        let attested = Attested { attestation, evidence_id: new.evidence_id };
        let statement = if part.is_whole() {
            Statement::Attest(attested, new.by)
        } else {
            Statement::AttestPart(AttestedPart { part, attested }, new.by)
        };
        self.state(rows, statement, cause, &lock).await
    }

    /// Returns the part with the platform of its account.
    async fn checked_part(
        &self,
        rows: &ClientStore,
        control: &Control,
        part: ControlPart,
    ) -> Result<ControlPart> {
        let Some(scope) = part.scope.clone() else { return checked(control, part) };
        let platform = scope.split_once('/').map(|it| it.0.to_owned());
        let is_same = |it: &String| Some(it) == platform.as_ref();
        if !part.platform.as_ref().is_none_or(is_same) {
            let rule = "must be an account of the platform";
            return Err(Error::invalid_field("scope", rule));
        }
        let known = rows.read(|it: &ClientSnapshot| it.estate()).await?;
        if !known.members.iter().any(|it| it.id == scope) {
            let rule =
                "must be an account that the client's estate lists, such as aws/123456789012";
            return Err(Error::invalid_field("scope", rule));
        }
        checked(control, ControlPart { platform, ..part })
    }

    /// Withdraws the attestation of the control, or of the part of it, if there is one.
    ///
    /// # Errors
    /// `Invalid` for the reason; those of [`App::reassess`].
    pub async fn withdraw_attestation(
        &self,
        rows: &ClientStore,
        code: &str,
        part: ControlPart,
        (reason, by): (String, Author),
    ) -> Result<()> {
        require_length("reason", Some(&reason), REASON_CHARS_MAX)?;
        let catalog = self.catalog();
        let part = self.checked_part(rows, catalog.get_control(code)?, part).await?;
        let lock = self.clients.lock(rows.id()).await;
        let control = code.to_owned();
        let topic = if part.is_whole() {
            Topic::Control(control.clone())
        } else {
            Topic::Part { control: control.clone(), part }
        };
        let about = topic.clone();
        let find = move |snapshot: &ClientSnapshot| {
            let said = Statements::read(snapshot, &catalog)?;
            let of_part = said.parts.into_iter().find(|it| it.topic() == about);
            let is_whole = matches!(about, Topic::Control(_));
            let whole = said.attested.into_iter().filter(|_| is_whole);
            let mut whole = whole.filter(|it| it.attestation.control == control);
            Ok(of_part.map(|it| it.attested).or_else(|| whole.next()))
        };
        let Some(said) = rows.read(find).await? else { return Ok(()) };
        let cause = cause_of(said.attestation.status);
        let statement = Statement::Withdraw(Entry { topic, reason, author: by });
        self.state(rows, statement, cause, &lock).await
    }
}

/// Out of scope changes what applies to the client. Everything else changes how the client meets it.
fn cause_of(status: Status) -> Cause {
    if status == Status::NotApplicable { Cause::Scope } else { Cause::Attestation }
}

fn checked(control: &Control, part: ControlPart) -> Result<ControlPart> {
    match part.problem(control) {
        Some((field, rule)) => Err(Error::invalid_field(field, rule)),
        None => Ok(part),
    }
}

/// Checks an attestation. Returns when it expires.
pub(super) fn checked_end(
    control: &Control,
    new: &NewAttestation,
    now: Time,
) -> Result<Option<Time>> {
    require_text("reason", &new.reason, REASON_CHARS_MAX)?;
    require_name("by", &new.by.by, BY_CHARS_MAX)?;
    if !new.part.is_whole() && new.status == Status::NotApplicable {
        let rule = "a part cannot be out of scope: put the control out of scope, or exclude the account from the estate";
        return Err(Error::invalid_field("status", rule));
    }
    if let Some(evidence) = &new.evidence {
        require_text("evidence", evidence, REFERENCE_CHARS_MAX)?;
        if new.evidence_id.is_some() {
            return Err(Error::invalid_field("evidenceId", "give either evidence or evidenceId"));
        }
    }
    match new.until {
        Some(end) => require_term("until", end, now).map(|()| Some(end)),
        None if new.overrides && new.status != Status::NotApplicable => {
            let rule =
                "is required with override: an attestation that overrides observations must expire";
            Err(Error::invalid_field("until", rule))
        }
        None if new.status == Status::NotApplicable => Ok(None),
        None => Ok(Some(now.plus_days(i64::from(control.max_age_days).min(TERM_DAYS_MAX)))),
    }
}
