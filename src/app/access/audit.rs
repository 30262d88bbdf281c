//! The audit log: what is written down beside the changes themselves, and whether it is whole.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

use crate::app::App;
use crate::auth::network;
use crate::clock::Time;
use crate::error::Result;
use crate::store::AuditHead;
use crate::store::global::audit::{Act, AuditEntry, AuditOutcome};
use crate::store::{Batch, Snapshot};

/// How long entries are kept: 13 months, for yearly audits.
pub const AUDIT_DAYS: i64 = 396;
/// Entries read or removed at once.
const N_AT_ONCE: usize = 1_000;
/// What is told apart between two checkpoints, of those who are known and of strangers.
const N_TALLIED_MAX: usize = 1_000;
const N_STRANGERS_MAX: usize = 50;
/// Who showed nothing that is known.
const NOBODY: &str = "nobody";
/// Who does what nobody asked for.
const SERVICE: &str = "service";
/// Who did what too many did.
const MANY: &str = "many";

/// What is alike stands in one entry with its count.
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

    /// Beyond `n_max` kinds only the operation is told.
    fn put(&self, act: Act, outcome: AuditOutcome, n_max: usize) {
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

impl App {
    /// Counts a refusal of somebody known, or a change that comes by the thousand; the next checkpoint writes it down.
    pub fn tally(&self, act: Act, outcome: AuditOutcome) {
        self.tally.put(act, outcome, N_TALLIED_MAX);
    }

    /// Counts a refusal of somebody who is not known. Strangers cost nothing and can be many: they are told by network,
    /// few kinds at a time and seldom, so that they can neither fill the disk nor hide who is known.
    pub fn tally_stranger(&self, address: Option<IpAddr>, act: Act, outcome: AuditOutcome) {
        let address = address.map(|it| network::source_of(it).to_string());
        let act = Act { by: NOBODY.to_owned(), address, ..act };
        self.strangers.put(act, outcome, N_STRANGERS_MAX);
    }

    /// Writes down what was counted of those who are known.
    ///
    /// # Errors
    /// `Unavailable` when the disk does not take it; it is then counted on.
    pub async fn checkpoint_audit(&self) -> Result<()> {
        self.write_tally(&self.tally).await
    }

    /// The same of strangers.
    ///
    /// # Errors
    /// As there.
    pub async fn checkpoint_strangers(&self) -> Result<()> {
        self.write_tally(&self.strangers).await
    }

    async fn write_tally(&self, tally: &Tally) -> Result<()> {
        let all = std::mem::take(&mut *tally.lock());
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
            let mut again = tally.lock();
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
        if self.audit_told_on.load(Ordering::Relaxed) == today {
            return Ok(());
        }
        let AuditHead { sequence, hash } = self.store.read(Snapshot::audit_head).await?;
        let hash = hex::encode(hash);
        tracing::info!(audit.sequence = sequence, audit.hash = %hash, "the audit log ends with entry {sequence}, hash {hash}");
        self.audit_told_on.store(today, Ordering::Relaxed);
        Ok(())
    }
}

fn verify(snapshot: &Snapshot) -> Result<Audit> {
    let start = snapshot.audit_start()?;
    let mut audit = Audit { n_entries: 0, first: None, head: start, broken_at: None };
    loop {
        let some = snapshot.list_audit(audit.head.sequence, N_AT_ONCE)?;
        for entry in &some {
            if entry.sequence != audit.head.sequence + 1 || !entry.follows(&audit.head.hash) {
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
