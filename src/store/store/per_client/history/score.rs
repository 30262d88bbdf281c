//! The history of a client's score: one entry per day, and every change.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::posture::ScoreEntry;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{HISTORY, HISTORY_DAY, HISTORY_MOVE};

/// One change of the overall score.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ScoreMove {
    pub at: Time,
    /// `None` for the first score.
    pub from: Option<u8>,
    pub to: u8,
    /// The label of a source, or `attestation`, `scope`, `lapse`, `assets`, `catalogue`, `undo`.
    pub cause: String,
    /// The codes of the controls that changed.
    pub controls: Vec<String>,
}

fn day_key(at: Time) -> RowKey {
    RowKey::of(HISTORY_DAY).bytes(&(!at.day()).to_be_bytes())
}

impl<R: Rows> ClientTransaction<R> {
    /// The last score of each UTC day that has one, newest first.
    pub fn list_days(&self, limit: u32) -> Result<Vec<ScoreEntry>> {
        self.list_some(HISTORY, &RowKey::of(HISTORY_DAY), limit as usize)
    }

    /// The last score of the newest UTC day before that of `time`.
    pub fn find_day_before(&self, time: Time) -> Result<Option<ScoreEntry>> {
        let days = Span::prefix(RowKey::of(HISTORY_DAY).as_slice());
        let older = days.after(day_key(time).as_slice());
        Ok(self.rows.list_rows(&HISTORY.name(self.client), &older, 1)?.pop())
    }

    /// The changes since `time` with this cause, oldest first.
    pub fn list_moves_of(&self, cause: &str, time: Time) -> Result<Vec<ScoreMove>> {
        let (mut found, table) = (Vec::new(), HISTORY.name(self.client));
        let span = Span::prefix(RowKey::of(HISTORY_MOVE).as_slice());
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let it: ScoreMove = self.rows.open_row(&table, key, bytes)?;
            let is_older = it.at < time;
            found.extend((it.cause == cause && !is_older).then_some(it));
            Ok(if is_older { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        found.reverse();
        Ok(found)
    }

    /// Newest first.
    pub fn list_moves(&self, limit: u32) -> Result<Vec<ScoreMove>> {
        self.list_some(HISTORY, &RowKey::of(HISTORY_MOVE), limit as usize)
    }
}

impl ClientBatch<'_> {
    /// Replaces the entry of the same UTC day.
    pub fn put_day(&mut self, entry: &ScoreEntry) -> Result<()> {
        self.put(HISTORY, &day_key(entry.calculated_at), entry)
    }

    /// Of several changes at the same time, the last one added counts as the newest.
    pub fn add_move(&mut self, it: &ScoreMove) -> Result<()> {
        let start = RowKey::of(HISTORY_MOVE).falling(it.at);
        let span = Span::prefix(start.as_slice());
        let newest = self.rows.list_keys_of(&HISTORY.name(self.client), &span, 1)?.pop();
        let number = match newest.as_deref().and_then(<[u8]>::last_chunk) {
            Some(number) => u32::from_be_bytes(*number) - 1,
            None => u32::MAX,
        };
        self.put(HISTORY, &start.bytes(&number.to_be_bytes()), it)
    }

    /// Removes up to `n_max` days and up to `n_max` changes from before `time`. Returns how many. If it is
    /// none, none remains.
    pub fn remove_history_before(&mut self, time: Time, n_max: usize) -> Result<usize> {
        let table = HISTORY.name(self.client);
        let days = Span::prefix(RowKey::of(HISTORY_DAY).as_slice());
        let days = days.after(day_key(time).as_slice());
        let moves = Span::prefix(RowKey::of(HISTORY_MOVE).as_slice());
        let last_kept = RowKey::of(HISTORY_MOVE).falling(time).bytes(&[u8::MAX; 4]);
        let moves = moves.after(last_kept.as_slice());
        let mut n_removed = 0;
        for span in [days, moves] {
            let keys = self.rows.list_keys_of(&table, &span, n_max)?;
            for key in &keys {
                self.remove(HISTORY, &RowKey::empty().bytes(key))?;
            }
            n_removed += keys.len();
        }
        Ok(n_removed)
    }
}
