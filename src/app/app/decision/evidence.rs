//! The evidence register of a client: add, renew, remove.

use crate::app::App;
use crate::app::assessment::evidence::{
    N_EVIDENCE_MAX, NewEvidence, TITLE_CHARS_MAX, find_stated, register,
};
use crate::app::assessment::statement::{BY_CHARS_MAX, REFERENCE_CHARS_MAX, Statement};
use crate::app::event::cause::Cause;
use crate::app::input::{require_future, require_name, require_text};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::per_client::evidence::{Evidence, RegisteredEvidence};
use crate::store::{ClientSnapshot, ClientStore};

/// The result of adding evidence.
#[derive(Clone, Debug)]
pub enum Entered {
    Added(RegisteredEvidence),
    /// A person had entered the same reference for the same control. That entry was renewed.
    Renewed(RegisteredEvidence),
}

impl App {
    /// Adds a person's evidence to the register, or renews the entry with the same reference for the same control. An
    /// entry that a source reports stays as it is.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; `Conflict` if the register is full; those of [`App::reassess`].
    pub async fn add_evidence(&self, rows: &ClientStore, new: NewEvidence) -> Result<Entered> {
        let now = self.clock.now();
        self.check_evidence(&new, now)?;
        let lock = self.clients.lock(rows.id()).await;
        let catalog = self.catalog();
        let all = rows.read(move |it: &ClientSnapshot| register(it, &catalog)).await?;
        let known = find_stated(&all, &new);
        if known.is_none() && N_EVIDENCE_MAX <= all.len() {
            return Err(full());
        }
        let file = known.and_then(|it| it.file.clone());
        let digest = known.filter(|_| file.is_some()).and_then(|it| it.evidence.sha256);
        if digest.is_some() && new.sha256.is_some_and(|it| Some(it) != digest) {
            return Err(Error::invalid_field("sha256", "must be that of the entry's file"));
        }
        let evidence = Evidence {
            id: known.map_or_else(|| EvidenceId::made_at(now), |it| it.evidence.id),
            control: new.control,
            title: new.title,
            reference: new.reference,
            sha256: digest.or(new.sha256),
            valid_until: new.valid_until,
            added_at: now,
            by: new.by,
        };
        let statement = Statement::PutEvidence(evidence.clone());
        self.state(rows, statement, Cause::Attestation, &lock).await?;
        let is_known = known.is_some();
        let entry = RegisteredEvidence { evidence, source: None, file };
        Ok(if is_known { Entered::Renewed(entry) } else { Entered::Added(entry) })
    }

    /// Removes an entry. An attestation that used it counts as without evidence from then on.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` under a hold; those of [`App::reassess`].
    pub async fn remove_evidence(&self, rows: &ClientStore, id: EvidenceId) -> Result<()> {
        let lock = self.clients.lock(rows.id()).await;
        let found = rows.read(move |snapshot| snapshot.find_evidence(id)).await?;
        found.ok_or_else(|| Error::not_found("evidence not found"))?;
        self.require_no_hold(rows, "evidence is not removed").await?;
        self.state(rows, Statement::RemoveEvidence(id), Cause::Attestation, &lock).await
    }

    pub(in crate::app) fn check_evidence(&self, new: &NewEvidence, now: Time) -> Result<()> {
        if self.catalog().find_control(&new.control).is_none() {
            return Err(Error::invalid_field(
                "controlCode",
                "must be a control code of the catalog",
            ));
        }
        require_name("title", &new.title, TITLE_CHARS_MAX)?;
        require_text("reference", &new.reference, REFERENCE_CHARS_MAX)?;
        require_name("by", &new.by, BY_CHARS_MAX)?;
        new.valid_until.map_or(Ok(()), |it| require_future("validUntil", it, now))
    }
}

/// The error of a register that takes no more.
pub(in crate::app) fn full() -> Error {
    Error::conflict(format!(
        "the client already has {N_EVIDENCE_MAX} pieces of evidence; remove some first"
    ))
}
