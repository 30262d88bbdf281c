//! How far work on the whole database is, and whether it should give up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::blocking::Cancellation;
use crate::error::Result;

/// A cancellation is looked at whenever so many rows are done.
const N_ROWS_PER_CHECK: u64 = 1_024;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Copy,
    Verify,
    /// The digest of the whole file.
    Digest,
    Encrypt,
    Unpack,
}

impl Phase {
    const ALL: [Self; 5] = [Self::Copy, Self::Verify, Self::Digest, Self::Encrypt, Self::Unpack];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Verify => "verify",
            Self::Digest => "digest",
            Self::Encrypt => "encrypt",
            Self::Unpack => "unpack",
        }
    }
}

/// How far it is: rows in the phases `copy` and `verify`, bytes in the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressFigures {
    pub phase: Phase,
    pub n_done: u64,
    pub n_total: u64,
}

/// One piece of work on the whole database. Its clones are the same piece.
#[derive(Clone, Debug, Default)]
pub struct Job {
    cancellation: Cancellation,
    progress: Arc<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    phase: AtomicU8,
    n_done: AtomicU64,
    n_total: AtomicU64,
}

impl Job {
    /// Work that `cancellation` ends.
    #[must_use]
    pub fn within(cancellation: Cancellation) -> Self {
        Self { cancellation, progress: Arc::default() }
    }

    #[must_use]
    pub fn figures(&self) -> ProgressFigures {
        let Progress { phase, n_done, n_total } = &*self.progress;
        ProgressFigures {
            phase: Phase::ALL[usize::from(phase.load(Ordering::Relaxed)) % Phase::ALL.len()],
            n_done: n_done.load(Ordering::Relaxed),
            n_total: n_total.load(Ordering::Relaxed),
        }
    }

    pub(super) fn begin(&self, phase: Phase, n_total: u64) {
        self.progress.n_done.store(0, Ordering::Relaxed);
        self.progress.n_total.store(n_total, Ordering::Relaxed);
        self.progress.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// One row more.
    ///
    /// # Errors
    /// `Unavailable` when the work is canceled.
    pub(super) fn step(&self) -> Result<()> {
        let n_done = self.progress.n_done.fetch_add(1, Ordering::Relaxed);
        if n_done.is_multiple_of(N_ROWS_PER_CHECK) { self.cancellation.check() } else { Ok(()) }
    }

    /// So many bytes more.
    ///
    /// # Errors
    /// As [`Job::step`].
    pub(super) fn advance(&self, n_bytes: u64) -> Result<()> {
        self.progress.n_done.fetch_add(n_bytes, Ordering::Relaxed);
        self.cancellation.check()
    }
}
