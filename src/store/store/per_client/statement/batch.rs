//! What became of a client in batches of statements.

use bincode::{Decode, Encode};

use super::{Deed, StatementNumber, StatementRecord};
use crate::clock::Time;
use crate::error::Result;
use crate::id::BatchId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_BATCH, FACTS};

/// What a batch came to at a client. Absent: it has not come to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct BatchEntry {
    /// The record that it made. `None`: it was refused.
    pub statement: Option<StatementNumber>,
    /// The record by which that was undone with the batch.
    pub undone_by: Option<StatementNumber>,
    /// Why nothing was stated, or why what was stated was not undone.
    pub refused: Option<String>,
}

fn entry_key(batch: BatchId) -> RowKey {
    RowKey::of(FACT_BATCH).bytes(batch.as_bytes())
}

impl<R: Rows> ClientTransaction<R> {
    pub fn find_batch_entry(&self, batch: BatchId) -> Result<Option<BatchEntry>> {
        self.find(FACTS, &entry_key(batch))
    }
}

impl ClientBatch<'_> {
    /// The batch that the handle writes for. `None`: none.
    #[must_use]
    pub fn made_in(&self) -> Option<BatchId> {
        self.rows.made_in
    }

    /// Takes note of a record that a batch made.
    pub fn note_in_batch(&mut self, batch: BatchId, record: &StatementRecord) -> Result<()> {
        let mut entry = self.find_batch_entry(batch)?.unwrap_or_default();
        match record.deed {
            Deed::State(_) => entry.statement = Some(record.number),
            Deed::Undo { .. } => entry.undone_by = Some(record.number),
            Deed::Withdraw { .. } => return Ok(()),
        }
        self.put(FACTS, &entry_key(batch), &entry)
    }

    /// Takes note that a batch could not state something here, or not undo it.
    pub fn refuse_in_batch(&mut self, batch: BatchId, reason: &str) -> Result<()> {
        let entry = self.find_batch_entry(batch)?.unwrap_or_default();
        let entry = BatchEntry { refused: Some(reason.to_owned()), ..entry };
        self.put(FACTS, &entry_key(batch), &entry)
    }

    /// Removes what became of batches from before `time`.
    pub fn remove_batch_entries_before(&mut self, time: Time) -> Result<()> {
        let table = FACTS.name(self.client);
        let until = entry_key(BatchId::first_of(time)).as_slice().to_vec();
        let span = Span { until: Some(until), ..Span::prefix(RowKey::of(FACT_BATCH).as_slice()) };
        for key in self.rows.list_keys_of(&table, &span, usize::MAX)? {
            self.rows.remove_row(&table, &key)?;
        }
        Ok(())
    }
}
