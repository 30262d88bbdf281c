//! What the checks of a file came to for each subject.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::engine::fact::{Observation, Subject, subject_hash};
use crate::import::{CheckOutcome, CheckSubject};

/// What the checks of a file came to for each subject.
#[derive(Clone, Debug, Default)]
pub struct SubjectOutcomes {
    /// [`hash`](Self::hash) -> outcome. Hashes, so that a large file fits into memory.
    by_hash: HashMap<u64, CheckOutcome>,
}

impl SubjectOutcomes {
    /// The key of a check in a scope.
    pub(super) fn group(scope: &str, tool: &str, check: &str) -> u64 {
        [scope, tool, check].into_iter().fold(0, |seed, it| xxh3_64_with_seed(it.as_bytes(), seed))
    }

    fn hash(group: u64, subject: u64) -> u64 {
        xxh3_64_with_seed(&subject.to_le_bytes(), group)
    }

    fn key(of: &Observation, subject: u64) -> u64 {
        let (Subject::Check { tool: name } | Subject::Control(name)) = &of.subject;
        Self::hash(Self::group(&of.scope, name, &of.check), subject)
    }

    /// Returns whether a subject was seen passing a check.
    #[must_use]
    pub fn passes(&self, of: &Observation, subject: u64) -> bool {
        self.by_hash.get(&Self::key(of, subject)) == Some(&CheckOutcome::Pass)
    }

    /// Notes what a check came to for a subject. Returns false if it was noted before.
    pub fn note(&mut self, of: &Observation, subject: u64, outcome: CheckOutcome) -> bool {
        self.by_hash.insert(Self::key(of, subject), outcome).is_none()
    }

    /// Notes what a record says of a subject of a check. Returns what was known before, or `Err` if that was as bad.
    pub(super) fn worsen(
        &mut self,
        group: u64,
        subject: &CheckSubject,
        outcome: CheckOutcome,
    ) -> Result<Option<CheckOutcome>, ()> {
        if subject.region.is_some() {
            // Earlier releases know it without the region. Those that it is in now answer for it.
            let anywhere = Self::hash(group, subject_hash(&subject.id));
            self.by_hash.entry(anywhere).or_insert(CheckOutcome::Pass);
        }
        let hash = Self::hash(group, subject.hash());
        let before = self.by_hash.get(&hash).copied();
        if Some(outcome) <= before {
            return Err(());
        }
        self.by_hash.insert(hash, outcome);
        Ok(before)
    }
}
