//! When each client is to be reassessed.

use crate::clock::Time;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows, Transaction};
use crate::store::row_key::{RowKey, Span, rising};
use crate::store::table::{DUE, DUE_TIMES};

fn time_key(at: Time, client: ClientId) -> RowKey {
    RowKey::empty().bytes(&rising(at).to_be_bytes()).bytes(client.as_bytes())
}

impl<R: Rows> Transaction<R> {
    /// Up to `n_max` clients that are due at `until`, earliest due time first.
    pub fn list_due(&self, until: Time, n_max: usize) -> Result<Vec<(ClientId, Time)>> {
        let end = (rising(until) + 1).to_be_bytes().to_vec();
        let span = Span { from: Vec::new(), until: Some(end) };
        let mut due = Vec::new();
        for key in self.rows.list_keys_of(DUE_TIMES, &span, n_max)? {
            let client = key.last_chunk().expect("every key of a due time ends with a client id");
            let client = ClientId::from_bytes(*client);
            if let Some((at, _)) = self.rows.find_row::<(Time, u64)>(DUE, client.as_bytes())? {
                due.push((client, at));
            }
        }
        Ok(due)
    }
}

impl<R: Rows> ClientTransaction<R> {
    fn find_due_row(&self) -> Result<Option<(Time, u64)>> {
        self.rows.find_row(DUE, self.client.as_bytes())
    }

    /// How often a reassessment was requested since the due time was set. It shows whether one was requested after a read.
    pub fn n_asked(&self) -> Result<u64> {
        Ok(self.find_due_row()?.map_or(0, |(_, n_asked)| n_asked))
    }
}

impl ClientBatch<'_> {
    /// Requests a reassessment at `at`, or earlier if one is due before.
    pub fn put_due(&mut self, at: Time) -> Result<()> {
        let (known, n_asked) = self.find_due_row()?.unwrap_or((at, 0));
        self.write_due(Some((known.min(at), n_asked + 1)))
    }

    /// Makes the client due at `at` at the latest, because time alone will change something then. Does not count as a request.
    pub fn hasten_due(&mut self, at: Time) -> Result<()> {
        let (known, n_asked) = self.find_due_row()?.unwrap_or((at, 0));
        self.write_due(Some((known.min(at), n_asked)))
    }

    /// Makes the client due at exactly `at`, whatever was requested. `None`: not at all.
    pub fn set_due(&mut self, at: Option<Time>) -> Result<()> {
        self.write_due(at.map(|at| (at, 0)))
    }

    fn write_due(&mut self, row: Option<(Time, u64)>) -> Result<()> {
        let before = self.find_due_row()?;
        if before == row {
            return Ok(());
        }
        if let Some((before, _)) = before {
            self.rows.remove_row(DUE_TIMES, time_key(before, self.client).as_slice())?;
        }
        match row {
            Some((at, n_asked)) => {
                self.rows.put_row(DUE_TIMES, time_key(at, self.client).as_slice(), &())?;
                self.rows.put_row(DUE, self.client.as_bytes(), &(at, n_asked))
            }
            None => self.rows.remove_row(DUE, self.client.as_bytes()).map(|_| ()),
        }
    }
}
