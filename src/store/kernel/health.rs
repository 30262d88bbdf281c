//! The health of the store: counters, and the only place that decides what a storage error means.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redb::{CommitError, StorageError, TableError, TransactionError};

use crate::error::Error;
use crate::store::kernel::envelope::Broken;

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
        }
    }

    /// Counts a damaged record and hides the details.
    pub(in crate::store) fn damaged(&self, broken: Broken) -> Error {
        self.n_damaged.fetch_add(1, Ordering::Relaxed);
        Error::internal(broken)
    }

    /// Decides what a storage error means: a damaged page is counted, anything else requires a reopen.
    ///
    /// `opening`: the opening of the database that the transaction belongs to. An error of an earlier
    /// opening says nothing about the current one.
    pub(in crate::store) fn storage(&self, opening: u64, error: StorageError) -> Error {
        if matches!(error, StorageError::Corrupted(_)) {
            self.n_damaged.fetch_add(1, Ordering::Relaxed);
            return Error::internal(error);
        }
        self.must_reopen(opening, error)
    }

    pub(in crate::store) fn transaction(&self, opening: u64, error: TransactionError) -> Error {
        if let TransactionError::Storage(error) = error {
            return self.storage(opening, error);
        }
        self.must_reopen(opening, error)
    }

    pub(in crate::store) fn table(&self, opening: u64, error: TableError) -> Error {
        if let TableError::Storage(error) = error {
            return self.storage(opening, error);
        }
        // The tables of this file are not ours, or this module is wrong about them. A reopen does not
        // help.
        Error::internal(error)
    }

    /// After a failed commit the database cannot be used further, whatever the reason.
    pub(in crate::store) fn commit(&self, opening: u64, error: CommitError) -> Error {
        self.must_reopen(opening, error)
    }

    fn must_reopen(
        &self,
        opening: u64,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> Error {
        if opening == self.opening.load(Ordering::Acquire) {
            self.fail();
        }
        reopening().caused_by(error)
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

pub(in crate::store) fn stopping() -> Error {
    Error::unavailable("the database is closed or closing")
}
