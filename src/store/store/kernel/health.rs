//! The health of the store: counters, and the only place that decides what a storage error means.

use std::error::Error as StdError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Chain, Error};
use crate::store::engine::Fault;
use crate::store::kernel::envelope::Broken;

/// How often it is logged that the server of the database cannot be used, at most.
const UNREACHABLE_EVERY: Duration = Duration::from_secs(10);

/// What readiness and metrics show. Numbers count since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// The database can be read and written. False while it is reopened after a storage error. A damaged record is refused
    /// alone, and does not count.
    pub ready: bool,
    /// Writes are refused because the disk is nearly full.
    pub disk_full: bool,
    /// Durable transactions. Each contains one or more writes.
    pub n_commits: u64,
    /// Durable writes.
    pub n_writes: u64,
    /// Writes that are queued or in progress.
    pub queue_len: u64,
    /// Reads that found a damaged record or page.
    pub n_damaged: u64,
    /// Storage errors after which the database had to be reopened.
    pub n_failures: u64,
    /// Failed attempts to reopen the database since the last successful one.
    pub n_reopen_failures: u64,
    /// Acknowledged commits that a database server had lost when the database was reopened.
    pub n_lost: u64,
}

/// What the store keeps in memory, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreMemory {
    /// Pages of the database, at most [`crate::store::StoreOptions::cache_bytes`].
    pub cache: u64,
    /// Indexes of assets.
    pub indexes: u64,
}

#[derive(Debug, Default)]
pub(in crate::store) struct Gauges {
    /// How often the database was reopened.
    pub(in crate::store) opening: AtomicU64,
    /// Set by a storage error, cleared by the writer once the database is open again.
    pub(in crate::store) failed: AtomicBool,
    pub(in crate::store) disk_full: AtomicBool,
    pub(in crate::store) n_commits: AtomicU64,
    pub(in crate::store) n_writes: AtomicU64,
    pub(in crate::store) queue_len: AtomicU64,
    pub(in crate::store) n_damaged: AtomicU64,
    pub(in crate::store) n_failures: AtomicU64,
    pub(in crate::store) n_reopen_failures: AtomicU64,
    pub(in crate::store) n_lost: AtomicU64,
    /// When a fault of the server was logged last.
    unreachable_logged: Mutex<Option<Instant>>,
}

impl Gauges {
    pub(in crate::store) fn health(&self) -> Health {
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        Health {
            ready: !self.failed.load(Ordering::Acquire),
            disk_full: self.disk_full.load(Ordering::Relaxed),
            n_commits: count(&self.n_commits),
            n_writes: count(&self.n_writes),
            queue_len: count(&self.queue_len),
            n_damaged: count(&self.n_damaged),
            n_failures: count(&self.n_failures),
            n_reopen_failures: count(&self.n_reopen_failures),
            n_lost: count(&self.n_lost),
        }
    }

    /// Counts a damaged record and hides the details.
    pub(in crate::store) fn damaged(&self, broken: Broken) -> Error {
        self.n_damaged.fetch_add(1, Ordering::Relaxed);
        Error::internal(broken)
    }

    /// Decides what the fault of an engine means: damage is counted, a broken engine must be opened again.
    ///
    /// `opening`: the opening of the database that the transaction belongs to. A fault of an earlier
    /// opening says nothing about the current one.
    pub(in crate::store) fn fault(&self, opening: u64, fault: Fault) -> Error {
        match fault {
            Fault::Damaged(cause) => {
                self.n_damaged.fetch_add(1, Ordering::Relaxed);
                Error::internal(cause)
            }
            Fault::Broken(cause) => {
                if opening == self.opening.load(Ordering::Acquire) {
                    self.fail();
                }
                reopening().caused_by(cause)
            }
            Fault::Refused(cause) => Error::internal(cause),
            Fault::Unavailable(cause) => {
                self.log_unreachable(&*cause);
                unreachable_database().caused_by(cause)
            }
        }
    }

    /// Not for each request that meets the same.
    fn log_unreachable(&self, cause: &(dyn StdError + 'static)) {
        let mut logged = self.unreachable_logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.is_none_or(|it| UNREACHABLE_EVERY <= it.elapsed()) {
            *logged = Some(Instant::now());
            tracing::warn!(error = %Chain(cause), "the database server cannot be used at the moment");
        }
    }

    /// Marks the database as failed; the writer reopens it.
    pub(in crate::store) fn fail(&self) {
        if !self.failed.swap(true, Ordering::AcqRel) {
            self.n_failures.fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(in crate::store) fn reopening() -> Error {
    Error::unavailable("the database is being reopened after a storage error; try again later")
}

fn unreachable_database() -> Error {
    Error::unavailable("the database server cannot be used at the moment; try again later")
}

pub(in crate::store) fn stopping() -> Error {
    Error::unavailable("the database is closed or closing")
}
