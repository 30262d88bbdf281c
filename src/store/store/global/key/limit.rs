//! Checkpoints of the rate limits, so that a restart does not reset them.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::KeyId;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::WINDOWS;

/// How much of each of its windows a key has used: a minute, an hour, a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Windows {
    pub started: [Time; 3],
    pub used: [u32; 3],
    pub last_used_at: Option<Time>,
}

impl<R: Rows> Transaction<R> {
    /// The windows of all keys that were ever used, in id order.
    pub fn list_windows(&self) -> Result<Vec<(KeyId, Windows)>> {
        self.rows.list_rows(WINDOWS, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_windows(&mut self, all: &[(KeyId, Windows)]) -> Result<()> {
        for row in all {
            self.rows.put_row(WINDOWS, row.0.as_bytes(), row)?;
        }
        Ok(())
    }
}
