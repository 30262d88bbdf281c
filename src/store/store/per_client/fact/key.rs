//! What identifies an observation, and the rows of the log.

use crate::clock::Time;
use crate::engine::fact::{Observation, Subject};
use crate::id::ImportId;
use crate::store::row_key::RowKey;
use crate::store::table::FACT_OBSERVATION;

/// Identifies one observation of the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObservationKey {
    pub subject: Subject,
    pub source: String,
    pub scope: String,
    pub check: String,
    pub observed_at: Time,
    pub import: ImportId,
}

impl From<&Observation> for ObservationKey {
    fn from(it: &Observation) -> Self {
        Self {
            subject: it.subject.clone(),
            source: it.source.clone(),
            scope: it.scope.clone(),
            check: it.check.clone(),
            observed_at: it.observed_at,
            import: it.import,
        }
    }
}

const SUBJECT_CONTROL: u8 = 1;
const SUBJECT_CHECK: u8 = 2;

pub(super) fn log_start() -> RowKey {
    RowKey::of(FACT_OBSERVATION)
}

/// The key of an observation from its parts.
pub(in crate::store::per_client) fn log_key(key: &ObservationKey) -> RowKey {
    group_key(key).falling(key.observed_at).bytes(key.import.as_bytes())
}

/// The part of a key that names what was observed.
pub(in crate::store::per_client) fn group_key(key: &ObservationKey) -> RowKey {
    let (kind, subject) = match &key.subject {
        Subject::Control(code) => (SUBJECT_CONTROL, code),
        Subject::Check { tool } => (SUBJECT_CHECK, tool),
    };
    let group = log_start().bytes(&[kind]).text(subject);
    group.text(&key.source).text(&key.scope).text(&key.check)
}

/// Returns true if the key of an observation or a complete read is of one of these imports.
pub(in crate::store::per_client) fn is_of(imports: &[ImportId], key: &[u8]) -> bool {
    imports.iter().any(|it| key.ends_with(it.as_bytes()))
}
