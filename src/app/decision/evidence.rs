//! The evidence register of a client: add, renew, remove.

use crate::app::App;
use crate::app::assessment::assess::Cause;
use crate::app::assessment::statement::{BY_CHARS_MAX, REFERENCE_CHARS_MAX, Statement};
use crate::app::input::{require_future, require_text};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::per_client::evidence::Evidence;
use crate::store::{ClientSnapshot, ClientStore};

pub const TITLE_CHARS_MAX: usize = 200;
/// Entries of one client's register. More are refused.
pub const N_EVIDENCE_MAX: usize = 2_000;

/// What a person can show for a control.
#[derive(Clone, Debug)]
pub struct NewEvidence {
    /// The control's code.
    pub control: String,
    pub title: String,
    /// Where it is kept.
    pub reference: String,
    pub sha256: Option<[u8; 32]>,
    pub valid_until: Option<Time>,
    pub by: String,
}

/// What became of an entry.
#[derive(Clone, Debug)]
pub enum Entered {
    Added(Evidence),
    /// The same reference was there for the same control: its entry is as new.
    Renewed(Evidence),
}

/// Reads a SHA-256 of 64 hexadecimal digits.
#[must_use]
pub fn digest(text: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|it| it.to_digit(16).and_then(|it| u8::try_from(it).ok())).collect();
    let digits = digits.filter(|it| it.len() == 64)?;
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Some(digest)
}

/// The entries that a source's evidence makes of a register: new ones, and renewed ones under their ids.
///
/// # Errors
/// `Conflict` when the register would be too full.
pub(in crate::app) fn entries(
    all: &[Evidence],
    new: &[NewEvidence],
    now: Time,
) -> Result<Vec<Evidence>> {
    let mut n_new = 0;
    let entries = new.iter().map(|new| {
        let is_same = |it: &&Evidence| it.control == new.control && it.reference == new.reference;
        let known = all.iter().find(is_same);
        n_new += usize::from(known.is_none());
        Evidence {
            id: known.map_or_else(|| EvidenceId::made_at(now), |it| it.id),
            control: new.control.clone(),
            title: new.title.clone(),
            reference: new.reference.clone(),
            sha256: new.sha256,
            valid_until: new.valid_until,
            added_at: now,
            by: new.by.clone(),
        }
    });
    let entries: Vec<_> = entries.collect();
    if N_EVIDENCE_MAX < all.len() + n_new {
        let sentence =
            format!("the client would have more than {N_EVIDENCE_MAX} pieces of evidence");
        return Err(Error::conflict(sentence));
    }
    // A source tells the same every night: only what changed is written.
    let is_news = |it: &Evidence| {
        let known = all.iter().find(|known| known.id == it.id);
        known.is_none_or(|known| {
            (&known.title, known.sha256, known.valid_until)
                != (&it.title, it.sha256, it.valid_until)
        })
    };
    Ok(entries.into_iter().filter(is_news).collect())
}

impl App {
    /// Adds to the register, or renews the entry with the same reference for the same control.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; `Conflict` when the register is full; those of [`App::reassess`].
    pub async fn add_evidence(&self, rows: &ClientStore, new: NewEvidence) -> Result<Entered> {
        let now = self.clock.now();
        self.check(&new, now)?;
        let assessing = self.assessing(rows.id()).lock_owned().await;
        let all = rows.read(ClientSnapshot::list_evidence).await?;
        let is_same = |it: &&Evidence| it.control == new.control && it.reference == new.reference;
        let known = all.iter().find(is_same).map(|it| it.id);
        if known.is_none() && N_EVIDENCE_MAX <= all.len() {
            let sentence = format!("the client has {N_EVIDENCE_MAX} pieces of evidence already");
            return Err(Error::conflict(sentence));
        }
        let evidence = Evidence {
            id: known.unwrap_or_else(|| EvidenceId::made_at(now)),
            control: new.control,
            title: new.title,
            reference: new.reference,
            sha256: new.sha256,
            valid_until: new.valid_until,
            added_at: now,
            by: new.by,
        };
        let statement = Statement::PutEvidence(evidence.clone());
        self.state(rows, statement, Cause::Attestation, &assessing).await?;
        Ok(if known.is_some() { Entered::Renewed(evidence) } else { Entered::Added(evidence) })
    }

    /// Removes an entry. What was attested with it counts as without evidence from then on.
    ///
    /// # Errors
    /// `NotFound`; those of [`App::reassess`].
    pub async fn remove_evidence(&self, rows: &ClientStore, id: EvidenceId) -> Result<()> {
        let assessing = self.assessing(rows.id()).lock_owned().await;
        let found = rows.read(move |snapshot| snapshot.find_evidence(id)).await?;
        found.ok_or_else(|| Error::not_found("evidence not found"))?;
        self.state(rows, Statement::RemoveEvidence(id), Cause::Attestation, &assessing).await
    }

    fn check(&self, new: &NewEvidence, now: Time) -> Result<()> {
        if self.catalog.find_control(&new.control).is_none() {
            return Err(Error::invalid_field("controlCode", "no such control in the catalogue"));
        }
        require_text("title", &new.title, TITLE_CHARS_MAX)?;
        require_text("reference", &new.reference, REFERENCE_CHARS_MAX)?;
        require_text("by", &new.by, BY_CHARS_MAX)?;
        new.valid_until.map_or(Ok(()), |it| require_future("validUntil", it, now))
    }
}
