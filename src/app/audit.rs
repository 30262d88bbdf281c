//! The audit log: what is written down beside the changes themselves, and whether it is whole.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

use super::App;
use crate::clock::Time;
use crate::error::Result;
use crate::store::audit::{Act, AuditEntry, AuditHead, AuditOutcome};
use crate::store::{Batch, Snapshot};

/// How long entries are kept: 13 months, for yearly audits.
pub const AUDIT_DAYS: i64 = 396;
/// Entries read or removed at once.
const N_AT_ONCE: usize = 1_000;
/// Kinds of refusals that are told apart between two checkpoints; of more only the operation is told.
const N_TALLIED_MAX: usize = 1_000;
/// Who does what nobody asked for.
const SERVICE: &str = "service";
/// Who did what too many did.
const MANY: &str = "many";

/// What is alike stands in one entry with its count, so that nobody can fill the disk.
#[derive(Debug, Default)]
pub struct Tally(Mutex<BTreeMap<Alike, u32>>);

/// Acts of any time, and how they ended.
type Alike = (Act, AuditOutcome);

/// What a walk along the log found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audit {
    pub n_entries: u64,
    pub first: Option<u64>,
    pub head: AuditHead,
    /// The first entry that does not follow the one before it.
    pub broken_at: Option<u64>,
}

impl Tally {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Alike, u32>> {
        self.0.lock().expect("no holder of this lock panics")
    }
}

impl App {
    /// Counts a refusal, or a change that comes by the thousand; the next checkpoint writes it down.
    pub fn tally(&self, act: Act, outcome: AuditOutcome) {
        let mut all = self.tally.lock();
        let act = Act { at: Time::EPOCH, ..act };
        let alike = (act, outcome);
        if all.len() < N_TALLIED_MAX || all.contains_key(&alike) {
            *all.entry(alike).or_default() += 1;
            return;
        }
        let act = Act { by: MANY.to_owned(), action: alike.0.action, ..Act::default() };
        *all.entry((act, outcome)).or_default() += 1;
    }

    /// Writes down what was counted.
    ///
    /// # Errors
    /// `Unavailable` when the disk does not take it; it is then counted on.
    pub async fn checkpoint_audit(&self) -> Result<()> {
        let all = std::mem::take(&mut *self.tally.lock());
        if all.is_empty() {
            return Ok(());
        }
        let at = self.clock.now();
        let kept = all.clone();
        let write = move |batch: &mut Batch| {
            all.iter().try_for_each(|((act, outcome), count)| {
                batch.add_audit(&Act { at, ..act.clone() }, *outcome, *count)
            })
        };
        let written = self.store.write(write).await;
        if written.is_err() {
            let mut again = self.tally.lock();
            for (alike, count) in kept {
                *again.entry(alike).or_default() += count;
            }
        }
        written
    }

    /// Writes down something that the service does by itself.
    ///
    /// # Errors
    /// `Unavailable` when the disk does not take it.
    pub async fn record(&self, action: &str) -> Result<()> {
        let (by, action) = (SERVICE.to_owned(), action.to_owned());
        let act = Act { at: self.clock.now(), by, action, ..Act::default() };
        self.store.write(move |batch| batch.add_audit(&act, AuditOutcome::Done, 1)).await
    }

    /// Entries before a sequence (`None`: the last ones), newest first.
    pub async fn list_audit(&self, before: Option<u64>, limit: u32) -> Result<Vec<AuditEntry>> {
        self.store.read(move |it| it.list_audit_before(before, limit as usize)).await
    }

    /// Walks along the log.
    pub async fn verify_audit(&self) -> Result<Audit> {
        self.store.read(verify).await
    }

    /// Removes entries past their time; whether there are more.
    pub async fn forget_audit(&self) -> Result<bool> {
        let before = self.clock.now().plus_days(-AUDIT_DAYS);
        self.store.write(move |batch| batch.remove_audit_before(before, N_AT_ONCE)).await
    }

    /// Says where the log ends in a place that nobody who has the database can change: the journal. Once a day.
    pub async fn tell_audit_head(&self) -> Result<()> {
        let today = self.clock.now().day();
        if self.audit_told_on.swap(today, Ordering::Relaxed) == today {
            return Ok(());
        }
        let AuditHead { sequence, hash } = self.store.read(Snapshot::audit_head).await?;
        let hash = crate::store::audit::hex(&hash);
        tracing::info!(audit.sequence = sequence, audit.hash = %hash, "the audit log ends with entry {sequence}, hash {hash}");
        Ok(())
    }
}

fn verify(snapshot: &Snapshot) -> Result<Audit> {
    let mut audit =
        Audit { n_entries: 0, first: None, head: AuditHead::default(), broken_at: None };
    loop {
        let some = snapshot.list_audit(audit.head.sequence, N_AT_ONCE)?;
        for entry in &some {
            // The hash before the first entry that is left is nowhere; it follows from what came after.
            let is_first = audit.first.is_none() && entry.sequence != 1;
            let follows =
                entry.sequence == audit.head.sequence + 1 && entry.follows(&audit.head.hash);
            if !follows && !is_first {
                audit.broken_at = Some(entry.sequence);
                return Ok(audit);
            }
            audit.first = audit.first.or(Some(entry.sequence));
            audit.head = AuditHead { sequence: entry.sequence, hash: entry.hash };
            audit.n_entries += 1;
        }
        if some.len() < N_AT_ONCE {
            return Ok(audit);
        }
    }
}
