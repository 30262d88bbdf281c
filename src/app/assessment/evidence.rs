//! New evidence for a client's register.

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::per_client::evidence::Evidence;

pub const TITLE_CHARS_MAX: usize = 200;
/// How many entries one client's register may have.
pub const N_EVIDENCE_MAX: usize = 2_000;

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

/// Returns the register entries for a source's evidence: new entries, and renewed ones with their ids.
///
/// # Errors
/// `Conflict` if the register would have too many entries.
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
    // A source sends the same evidence every night. Only what changed is written.
    let is_news = |it: &Evidence| {
        let known = all.iter().find(|known| known.id == it.id);
        known.is_none_or(|known| {
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
