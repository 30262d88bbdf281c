//! Statements that are made about many clients at once, and undone as one.

use std::cmp::Reverse;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::estate::EstateKind;
use crate::engine::fact::{RowDecisionKind, Status};
use crate::engine::framework::FrameworkId;
use crate::error::Result;
use crate::id::{BatchId, ClientId};
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::per_client::statement::Author;
use crate::store::row_key::Span;
use crate::store::table::{BATCHES, OPEN_BATCHES};

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BatchRecord {
    pub id: BatchId,
    pub at: Time,
    pub author: Author,
    pub deed: BatchDeed,
    pub n_clients: u32,
    /// Those that it is about, until it has come to all of them.
    pub clients: Vec<ClientId>,
    /// `None`: it is in progress, or was undone before.
    pub finished_at: Option<Time>,
    pub undo: Option<BatchUndo>,
}

/// What is stated of each client.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum BatchDeed {
    Attest {
        /// A code of the catalog.
        control: String,
        status: Status,
        reason: String,
        evidence: Option<String>,
        until: Option<Time>,
        overrides: bool,
    },
    Decide {
        framework: FrameworkId,
        reference: String,
        kind: RowDecisionKind,
        reason: String,
        until: Option<Time>,
    },
    /// Of the open risk about a control.
    Accept { control: String, reason: String, until: Time },
    /// There are no more than are known at the client.
    SayWhole { kind: EstateKind, reason: String, until: Option<Time> },
    /// A member of the estate is gone, or exists and is not meant.
    DecideMember { member: String, is_retired: bool, reason: String, until: Option<Time> },
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BatchUndo {
    pub at: Time,
    pub author: Author,
    pub reason: String,
    pub finished_at: Option<Time>,
}

impl BatchRecord {
    /// Whether something is left to do.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match &self.undo {
            Some(undo) => undo.finished_at.is_none(),
            None => self.finished_at.is_none(),
        }
    }
}

impl<R: Rows> Transaction<R> {
    /// Newest first.
    pub fn list_batches(&self) -> Result<Vec<BatchRecord>> {
        let mut all: Vec<BatchRecord> = self.rows.list_rows(BATCHES, &Span::all(), usize::MAX)?;
        all.sort_by_key(|it| Reverse(it.id));
        Ok(all)
    }

    pub fn find_batch(&self, id: BatchId) -> Result<Option<BatchRecord>> {
        self.rows.find_row(BATCHES, id.as_bytes())
    }

    /// Those in progress, oldest first.
    pub fn list_open_batches(&self) -> Result<Vec<BatchRecord>> {
        let keys = self.rows.list_keys_of(OPEN_BATCHES, &Span::all(), usize::MAX)?;
        let found = keys.iter().map(|key| self.rows.find_row(BATCHES, key));
        Ok(found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
}

impl Batch {
    /// Adds a batch, or replaces it.
    pub fn put_batch(&mut self, record: &BatchRecord) -> Result<()> {
        let key = record.id.as_bytes();
        if record.is_open() {
            self.rows.put_row(OPEN_BATCHES, key, &())?;
        } else {
            self.rows.remove_row(OPEN_BATCHES, key)?;
        }
        self.rows.put_row(BATCHES, key, record)
    }

    pub fn remove_batch(&mut self, id: BatchId) -> Result<()> {
        self.rows.remove_row(OPEN_BATCHES, id.as_bytes())?;
        self.rows.remove_row(BATCHES, id.as_bytes()).map(|_| ())
    }

    /// Removes up to `n_max` batches from before `time` that are not in progress. Returns how many.
    pub fn remove_batches_before(&mut self, time: Time, n_max: usize) -> Result<usize> {
        let until = BatchId::first_of(time).as_bytes().to_vec();
        let span = Span { until: Some(until), ..Span::all() };
        let all: Vec<BatchRecord> = self.rows.list_rows(BATCHES, &span, usize::MAX)?;
        let old: Vec<BatchId> =
            all.iter().filter(|it| !it.is_open()).map(|it| it.id).take(n_max).collect();
        for id in &old {
            self.rows.remove_row(BATCHES, id.as_bytes())?;
        }
        Ok(old.len())
    }
}
