//! Acts that are counted and written to the audit log at the next checkpoint.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, MutexGuard};

use crate::clock::Time;
use crate::store::global::audit::{Act, AuditOutcome};

/// Stands for the callers when there are too many kinds of acts.
const MANY: &str = "many";

/// What is counted between two checkpoints, and when the log's end was last written to the journal.
#[derive(Debug, Default)]
pub struct AuditTally {
    pub(super) known: Tally,
    pub(super) unauthenticated: Tally,
    /// The day when the end of the log was last written to the journal.
    pub(super) end_logged_on: AtomicU32,
}

/// Equal acts become one entry with a count.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<BTreeMap<Alike, u32>>);

/// An act without its time, and its outcome.
type Alike = (Act, AuditOutcome);

impl Tally {
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<Alike, u32>> {
        self.0.lock().expect("no holder of this lock panics")
    }

    /// Beyond `n_max` kinds only the operation is recorded.
    pub(super) fn put(&self, act: Act, outcome: AuditOutcome, n_max: usize) {
        let mut all = self.lock();
        let alike = (Act { at: Time::EPOCH, ..act }, outcome);
        if all.len() < n_max || all.contains_key(&alike) {
            *all.entry(alike).or_default() += 1;
            return;
        }
        let act = Act { by: MANY.to_owned(), action: alike.0.action, ..Act::default() };
        *all.entry((act, outcome)).or_default() += 1;
    }
}
