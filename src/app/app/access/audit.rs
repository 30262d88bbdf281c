//! The audit log: entries other than those of changes, and its verification.

use std::sync::atomic::Ordering;

use super::tally::Tally;
use crate::app::App;
use crate::auth::caller::OF_KEY;
use crate::auth::network::CallerAddress;
use crate::clock::Time;
use crate::error::{Code, Result};
use crate::id::ClientId;
use crate::store::AuditHead;
use crate::store::global::audit::{Act, AuditEntry, AuditOutcome, SERVICE};
use crate::store::global::event::COMMIT_S_MAX;
use crate::store::{Batch, Snapshot};

/// How long entries are kept: 13 months, for yearly audits.
pub const AUDIT_DAYS: i64 = 396;
/// Entries read or removed at once.
const N_AT_ONCE: usize = 1_000;
/// Kinds of entries counted between two checkpoints, of known callers and of unauthenticated ones.
const N_TALLIED_MAX: usize = 1_000;
const N_UNAUTHENTICATED_MAX: usize = 50;
/// How many entries one request for filtered ones looks at.
pub const N_SCANNED_MAX: usize = 20_000;
/// A caller without a valid credential.
const NOBODY: &str = "nobody";

/// Which entries are wanted. `None`: it does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// In lower case: a part of who did it.
    pub by: Option<String>,
    /// The operation.
    pub action: Option<String>,
    /// Named by the path of the request, or added by it.
    pub client: Option<ClientId>,
    pub from: Option<Time>,
    /// The first moment after the wanted ones.
    pub until: Option<Time>,
}

impl AuditFilter {
    fn takes(&self, entry: &AuditEntry) -> bool {
        let is_of = |client: &ClientId| {
            let id = client.to_string();
            entry.about.to_lowercase().contains(&id) || entry.object.as_ref() == Some(&id)
        };
        self.by.as_ref().is_none_or(|it| entry.by.to_lowercase().contains(it))
            && self.action.as_ref().is_none_or(|it| entry.action == *it)
            && self.client.as_ref().is_none_or(is_of)
            && self.from.is_none_or(|it| it <= entry.at)
            && self.until.is_none_or(|it| entry.at < it)
    }

    /// Lists entries before a sequence, newest first, and the sequence before which the list continues.
    fn list(
        &self,
        snapshot: &Snapshot,
        before: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<AuditEntry>, Option<u64>)> {
        let n_at_once = if *self == Self::default() { limit + 1 } else { N_AT_ONCE };
        let (mut before, mut n_scanned) = (self.end(snapshot, before)?, 0);
        let mut found: Vec<AuditEntry> = Vec::new();
        while n_scanned < N_SCANNED_MAX {
            let some = snapshot.list_audit_before(before, n_at_once)?;
            let is_start = some.len() < n_at_once;
            n_scanned += some.len();
            for entry in some {
                if self.from.is_some_and(|it| entry.at.plus_s(COMMIT_S_MAX) < it) {
                    return Ok((found, None));
                }
                let sequence = entry.sequence;
                if self.takes(&entry) {
                    if found.len() == limit {
                        return Ok((found, before));
                    }
                    found.push(entry);
                }
                before = Some(sequence);
            }
            if is_start {
                return Ok((found, None));
            }
        }
        Ok((found, before))
    }

    /// The sequence before which the last wanted entries are, by binary search: a log of months is long.
    fn end(&self, snapshot: &Snapshot, before: Option<u64>) -> Result<Option<u64>> {
        let Some(until) = self.until else { return Ok(before) };
        let until = until.plus_s(COMMIT_S_MAX);
        let (mut first, mut end) =
            (snapshot.audit_start()?.sequence, snapshot.audit_head()?.sequence);
        while first < end {
            let middle = first + (end - first) / 2;
            match snapshot.list_audit(middle, 1)?.first() {
                Some(entry) if entry.at < until => first = middle + 1,
                Some(_) | None => end = middle,
            }
        }
        Ok(Some(before.map_or(end + 1, |it| it.min(end + 1))))
    }
}

/// The result of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audit {
    pub n_entries: u64,
    pub first: Option<u64>,
    pub head: AuditHead,
    /// The first entry that does not follow the one before it.
    pub broken_at: Option<u64>,
}

impl App {
    /// Counts a refusal of a known caller, or one of many pushes; the next checkpoint writes it to the log.
    pub fn tally(&self, act: Act, outcome: AuditOutcome) {
        self.access.audit.known.put(act, outcome, N_TALLIED_MAX);
    }

    /// Counts a refusal of an unauthenticated caller. There can be many such callers, so they are recorded by network,
    /// with few kinds of entries and at long intervals. They can neither fill the disk nor hide known callers.
    pub fn tally_unauthenticated(&self, address: CallerAddress, act: Act, outcome: AuditOutcome) {
        let address = address.source().shown();
        let act = Act { by: NOBODY.to_owned(), address, ..act };
        self.access.audit.unauthenticated.put(act, outcome, N_UNAUTHENTICATED_MAX);
    }

    /// Writes what was counted of known callers to the log.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write. Then the counts are kept for the next checkpoint.
    pub async fn checkpoint_audit(&self) -> Result<()> {
        self.write_tally(&self.access.audit.known).await
    }

    /// Writes what was counted of unauthenticated callers to the log.
    ///
    /// # Errors
    /// As [`App::checkpoint_audit`].
    pub async fn checkpoint_unauthenticated(&self) -> Result<()> {
        self.write_tally(&self.access.audit.unauthenticated).await
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

    /// Writes an act of the service itself to the log.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn record(&self, action: &str) -> Result<()> {
        let (by, action) = (SERVICE.to_owned(), action.to_owned());
        let act = Act { at: self.clock.now(), by, action, ..Act::default() };
        self.store.write(move |batch| batch.add_audit(&act, AuditOutcome::Done, 1)).await
    }

    /// Lists entries before a sequence (`None`: the last ones), newest first, and the sequence before which the list
    /// continues. `None`: it does not.
    pub async fn list_audit(
        &self,
        filter: AuditFilter,
        before: Option<u64>,
        limit: u32,
    ) -> Result<(Vec<AuditEntry>, Option<u64>)> {
        self.store.read(move |it| filter.list(it, before, limit as usize)).await
    }

    /// The name of the API key that did something, if it still has the secret that it did it with, and if it was a key.
    pub fn key_name(&self, by: &str) -> Option<String> {
        let prefix = by.strip_prefix(OF_KEY)?;
        self.access.keyring.find_by_prefix(prefix).map(|it| it.key.name.clone())
    }

    /// Verifies the whole log.
    pub async fn verify_audit(&self) -> Result<Audit> {
        self.store.read(verify).await
    }

    /// Removes expired entries. Returns true if more remain.
    pub async fn forget_audit(&self) -> Result<bool> {
        let before = self.clock.now().plus_days(-AUDIT_DAYS);
        let store = self.store.reserved();
        store.write(move |batch| batch.remove_audit_before(before, N_AT_ONCE)).await
    }

    /// Writes the end of the log to the journal, which cannot be changed with access to the database alone. Once a day.
    pub async fn log_audit_head(&self) -> Result<()> {
        let today = self.clock.now().day();
        if self.access.audit.end_logged_on.load(Ordering::Relaxed) == today {
            return Ok(());
        }
        let AuditHead { sequence, hash } = self.store.read(Snapshot::audit_head).await?;
        let hash = hex::encode(hash);
        tracing::info!(audit.sequence = sequence, audit.hash = %hash, "the audit log ends with entry {sequence}, hash {hash}");
        self.access.audit.end_logged_on.store(today, Ordering::Relaxed);
        Ok(())
    }
}

fn verify(snapshot: &Snapshot) -> Result<Audit> {
    let start = snapshot.audit_start()?;
    let mut audit = Audit { n_entries: 0, first: None, head: start, broken_at: None };
    let mut n_at_once = N_AT_ONCE;
    loop {
        let next = audit.head.sequence + 1;
        let some = match snapshot.list_audit(audit.head.sequence, n_at_once) {
            Ok(some) => some,
            Err(error) if error.code != Code::Internal => return Err(error),
            Err(_) if n_at_once == 1 => {
                audit.broken_at = Some(next);
                return Ok(audit);
            }
            Err(_) => {
                // One of these is damaged. Those before it may be sound.
                n_at_once = 1;
                continue;
            }
        };
        for entry in &some {
            if entry.sequence != audit.head.sequence + 1 || !entry.follows(&audit.head.hash) {
                audit.broken_at = Some(entry.sequence);
                return Ok(audit);
            }
            audit.first = audit.first.or(Some(entry.sequence));
            audit.head = AuditHead { sequence: entry.sequence, hash: entry.hash };
            audit.n_entries += 1;
        }
        if some.len() < n_at_once {
            return Ok(audit);
        }
    }
}
