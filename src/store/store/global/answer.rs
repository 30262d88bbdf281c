//! Stored answers to requests that may be repeated, by their `Idempotency-Key`.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{RowKey, Span, rising};
use crate::store::table::{ANSWER_TIMES, ANSWERS};
use crate::store::{Batch, ClientBatch};

/// A digest of the caller and its `Idempotency-Key`.
pub type AnswerKey = [u8; 32];

/// A stored answer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Answer {
    /// SHA-256 of the request.
    pub digest: [u8; 32],
    pub at: Time,
    pub body: String,
}

fn time_key(at: Time, key: &AnswerKey) -> RowKey {
    RowKey::empty().bytes(&rising(at).to_be_bytes()).bytes(key)
}

impl<R: Rows> Transaction<R> {
    pub fn find_answer(&self, key: &AnswerKey) -> Result<Option<Answer>> {
        self.rows.find_row(ANSWERS, key)
    }
}

impl ClientBatch<'_> {
    pub fn put_answer(&mut self, key: &AnswerKey, answer: &Answer) -> Result<()> {
        if let Some(before) = self.rows.find_row::<Answer>(ANSWERS, key)? {
            self.rows.remove_row(ANSWER_TIMES, time_key(before.at, key).as_slice())?;
        }
        self.rows.put_row(ANSWER_TIMES, time_key(answer.at, key).as_slice(), &())?;
        self.rows.put_row(ANSWERS, key, answer)
    }
}

impl Batch {
    /// Removes up to `n_max` answers from before `time`. Returns true if more may remain.
    pub fn remove_answers_before(&mut self, time: Time, n_max: usize) -> Result<bool> {
        let until = rising(time).to_be_bytes().to_vec();
        let span = Span { from: Vec::new(), until: Some(until) };
        let keys = self.rows.list_keys_of(ANSWER_TIMES, &span, n_max)?;
        for key in &keys {
            self.rows.remove_row(ANSWERS, &key[size_of::<u64>()..])?;
            self.rows.remove_row(ANSWER_TIMES, key)?;
        }
        Ok(keys.len() == n_max)
    }
}
