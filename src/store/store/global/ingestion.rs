//! Files of findings that were pushed, and what became of them.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::{ClientId, ImportId, IngestionId, KeyId};
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::INGESTIONS;

/// One file of findings.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Ingestion {
    pub id: IngestionId,
    /// The key that pushed it.
    pub owner: KeyId,
    /// `None`: it is not known which client it is about.
    pub client: Option<ClientId>,
    pub status: IngestionStatus,
    pub file_name: String,
    /// Where the findings begin in the file that was received.
    pub content_at: u64,
    pub n_content_bytes: u64,
    /// Findings of the file, once it was read.
    pub n_total: u64,
    /// Those that could not be used.
    pub n_invalid: u64,
    /// Why nothing was imported.
    pub message: Option<String>,
    pub import: Option<ImportId>,
    /// The name of the key in records.
    pub by: String,
    pub requested_at: Time,
    pub started_at: Option<Time>,
    pub completed_at: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum IngestionStatus {
    Pending,
    Processing,
    Completed,
    Failed,
}

impl IngestionStatus {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    #[must_use]
    pub const fn has_ended(self) -> bool {
        match self {
            Self::Pending | Self::Processing => false,
            Self::Completed | Self::Failed => true,
        }
    }
}

fn key_of(owner: KeyId, id: IngestionId) -> RowKey {
    RowKey::empty().bytes(owner.as_bytes()).bytes(id.as_bytes())
}

impl<R: Rows> Transaction<R> {
    pub fn find_ingestion(&self, owner: KeyId, id: IngestionId) -> Result<Option<Ingestion>> {
        self.rows.find_row(INGESTIONS, key_of(owner, id).as_slice())
    }

    /// Those that the key pushed, newest first.
    pub fn list_ingestions(&self, owner: KeyId) -> Result<Vec<Ingestion>> {
        let span = Span::prefix(owner.as_bytes());
        let mut all: Vec<Ingestion> = self.rows.list_rows(INGESTIONS, &span, usize::MAX)?;
        all.reverse();
        Ok(all)
    }

    /// Those of all keys that have not ended, oldest first.
    pub fn list_open_ingestions(&self) -> Result<Vec<Ingestion>> {
        let mut open: Vec<Ingestion> = Vec::new();
        self.rows.visit_rows(INGESTIONS, &Span::all(), &mut |key, bytes| {
            let ingestion: Ingestion = self.rows.open_row(INGESTIONS, key, bytes)?;
            open.extend((!ingestion.status.has_ended()).then_some(ingestion));
            Ok(ControlFlow::Continue(()))
        })?;
        open.sort_by_key(|it| it.id);
        Ok(open)
    }
}

impl Batch {
    pub fn put_ingestion(&mut self, ingestion: &Ingestion) -> Result<()> {
        let key = key_of(ingestion.owner, ingestion.id);
        self.rows.put_row(INGESTIONS, key.as_slice(), ingestion)
    }

    pub fn remove_ingestion(&mut self, owner: KeyId, id: IngestionId) -> Result<bool> {
        self.rows.remove_row(INGESTIONS, key_of(owner, id).as_slice())
    }

    /// Removes up to `n_max` ingestions about a client, and returns how many. No index leads to them.
    pub(in crate::store) fn remove_client_ingestions(
        &mut self,
        client: ClientId,
        n_max: usize,
    ) -> Result<usize> {
        let mut keys = Vec::new();
        self.rows.visit_rows(INGESTIONS, &Span::all(), &mut |key, bytes| {
            let ingestion: Ingestion = self.rows.open_row(INGESTIONS, key, bytes)?;
            keys.extend((ingestion.client == Some(client)).then(|| key.to_vec()));
            let is_full = n_max <= keys.len();
            Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        for key in &keys {
            self.rows.remove_row(INGESTIONS, key)?;
        }
        Ok(keys.len())
    }
}
