//! Receipts of clients that were erased. They hold digests and counts, and nothing of the client itself.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};
use sha2::{Digest, Sha256};

use crate::clock::Time;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::ERASURES;

/// What was erased of a client, when and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ErasureReceipt {
    /// SHA-256 of the client's id as it is written.
    pub client_sha256: [u8; 32],
    pub begun_at: Time,
    /// `None`: it goes on.
    pub finished_at: Option<Time>,
    /// As in the audit log.
    pub by: String,
    /// When the last scheduled backup that has the client is removed. `None`: there are none on schedule.
    pub backups_until: Option<Time>,
    /// What there was when it began, by kind.
    pub counts: Vec<(String, u64)>,
    /// SHA-256 of the statements. `None`: there were none.
    pub statements_sha256: Option<[u8; 32]>,
    /// SHA-256 of each piece of evidence that had one.
    pub evidence_sha256: Vec<[u8; 32]>,
}

/// Returns the digest by which a receipt names its client.
#[must_use]
pub fn client_digest(client: ClientId) -> [u8; 32] {
    Sha256::digest(client.to_string()).into()
}

impl<R: Rows> Transaction<R> {
    /// Newest first.
    pub fn list_erasures(&self) -> Result<Vec<ErasureReceipt>> {
        let mut all: Vec<ErasureReceipt> =
            self.rows.list_rows(ERASURES, &Span::all(), usize::MAX)?;
        all.sort_by_key(|it| std::cmp::Reverse((it.begun_at, it.client_sha256)));
        Ok(all)
    }

    pub fn find_erasure(&self, client: ClientId) -> Result<Option<ErasureReceipt>> {
        self.rows.find_row(ERASURES, &client_digest(client))
    }
}

impl Batch {
    /// Replaces an earlier one of the client.
    pub fn put_erasure(&mut self, receipt: &ErasureReceipt) -> Result<()> {
        self.rows.put_row(ERASURES, &receipt.client_sha256, receipt)
    }

    /// Removes up to `n_max` receipts of erasures that ended before `time`. Returns how many.
    pub fn remove_erasures_before(&mut self, time: Time, n_max: usize) -> Result<usize> {
        let mut old = Vec::new();
        self.rows.visit_rows(ERASURES, &Span::all(), &mut |key, bytes| {
            let receipt: ErasureReceipt = self.rows.open_row(ERASURES, key, bytes)?;
            old.extend(receipt.finished_at.is_some_and(|it| it < time).then(|| key.to_vec()));
            let is_full = n_max <= old.len();
            Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        for key in &old {
            self.rows.remove_row(ERASURES, key)?;
        }
        Ok(old.len())
    }
}
