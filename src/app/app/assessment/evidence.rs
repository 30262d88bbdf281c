//! New evidence for a client's register.

use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::ClientSnapshot;
use crate::store::per_client::evidence::{Evidence, RegisteredEvidence};

pub const TITLE_CHARS_MAX: usize = 200;
/// How many entries one client's register may have.
pub const N_EVIDENCE_MAX: usize = 10_000;

/// Evidence for a control.
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

/// Returns the client's register. An entry about a control that was replaced is about the one that it has now.
///
/// # Errors
/// Those of the store.
pub fn register(rows: &ClientSnapshot, catalog: &Catalog) -> Result<Vec<RegisteredEvidence>> {
    let mut all = rows.list_registered_evidence()?;
    for entry in all.iter_mut().map(|it| &mut it.evidence) {
        entry.control = catalog.current_code(&entry.control).to_owned();
    }
    Ok(all)
}

/// Returns the entry of this reference for this control that a source may renew: one that it reported. What a person or
/// another source entered stays as it is. Of an entry from before sources were recorded, the sender decides.
fn find_own<'a>(
    all: &'a [RegisteredEvidence],
    source: &str,
    new: &NewEvidence,
) -> Option<&'a RegisteredEvidence> {
    all.iter().find(|it| {
        let entry = &it.evidence;
        let is_own = it.source.as_ref().map_or(entry.by == new.by, |it| it == source);
        is_own && entry.control == new.control && entry.reference == new.reference
    })
}

/// Returns the entry of this reference for this control that a person may renew: one that no source reports.
pub(in crate::app) fn find_stated<'a>(
    all: &'a [RegisteredEvidence],
    new: &NewEvidence,
) -> Option<&'a RegisteredEvidence> {
    all.iter().find(|it| {
        let entry = &it.evidence;
        it.source.is_none() && entry.control == new.control && entry.reference == new.reference
    })
}

/// Returns the register entries for a source's evidence: new entries, and renewed ones with their ids.
///
/// # Errors
/// `Conflict` if the register would have too many entries.
pub(in crate::app) fn entries(
    all: &[RegisteredEvidence],
    source: &str,
    new: &[NewEvidence],
    now: Time,
) -> Result<Vec<Evidence>> {
    let mut n_new = 0;
    let entries = new.iter().map(|new| {
        let known = find_own(all, source, new);
        n_new += usize::from(known.is_none());
        Evidence {
            id: known.map_or_else(|| EvidenceId::made_at(now), |it| it.evidence.id),
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
    // A source sends the same evidence every night. Only what changed is written.
    let is_news = |it: &Evidence| {
        let known = all.iter().find(|known| known.evidence.id == it.id);
        known.filter(|known| known.source.is_some()).is_none_or(|known| {
            let known = &known.evidence;
            (&known.title, known.sha256, known.valid_until)
                != (&it.title, it.sha256, it.valid_until)
        })
    };
    Ok(entries.into_iter().filter(is_news).collect())
}

/// Reads a SHA-256 of 64 hexadecimal digits.
#[must_use]
pub fn digest(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(text, &mut digest).ok()?;
    Some(digest)
}
