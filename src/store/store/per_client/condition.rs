//! Conditions of a client besides its risks, from when they open until they close: about an account, an app, a source, or an
//! alert. A ticket can be opened and closed with each.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{POSTURE, POSTURE_CONDITION, POSTURE_CONDITION_ASIDE};

/// A condition that opens again within this many days continues its occurrence count.
pub const REOPEN_DAYS: i64 = 7;

/// A condition that is open, or was until recently.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Condition {
    /// The `dedupKey` of its events. It stays the same as long as there may be a ticket for the condition.
    pub key: String,
    /// The contract's event type that announces it.
    pub kind: String,
    /// JSON: the object that was announced last.
    pub object: String,
    pub opened_at: Time,
    /// `None`: the condition is open.
    pub closed_at: Option<Time>,
    /// From 1.
    pub occurrence: u32,
}

impl Condition {
    /// Returns the condition when it opens. `before`: as it was stored. `None`: it is open already.
    #[must_use]
    pub fn opened(
        before: Option<&Self>,
        (key, kind): (&str, &str),
        object: String,
        now: Time,
    ) -> Option<Self> {
        let is_recent = |it: &&Self| it.closed_at.is_none_or(|at| now < at.plus_days(REOPEN_DAYS));
        let occurrence = match before.filter(is_recent) {
            Some(open) if open.closed_at.is_none() => return None,
            Some(closed) => closed.occurrence + 1,
            None => 1,
        };
        let (key, kind) = (key.to_owned(), kind.to_owned());
        Some(Self { key, kind, object, opened_at: now, closed_at: None, occurrence })
    }
}

/// By this, conditions are in the order of their keys. The end of a long key is replaced by a digest.
#[must_use]
pub fn order(key: &str) -> Vec<u8> {
    row_key(key).as_slice().to_vec()
}

fn row_key(key: &str) -> RowKey {
    RowKey::of(POSTURE_CONDITION).last_text(key)
}

fn aside_key(key: &str) -> RowKey {
    RowKey::of(POSTURE_CONDITION_ASIDE).last_text(key)
}

impl<R: Rows> ClientTransaction<R> {
    /// Those that would be open if a person had not said that what they are about is meant to be so, or not meant at all.
    /// `occurrence`: how many times they were.
    pub fn list_conditions_aside(&self) -> Result<Vec<Condition>> {
        self.list(POSTURE, &RowKey::of(POSTURE_CONDITION_ASIDE))
    }

    pub fn find_condition(&self, key: &str) -> Result<Option<Condition>> {
        self.find(POSTURE, &row_key(key))
    }

    /// The conditions whose keys begin with `start`, as in [`Self::list_conditions`].
    pub fn list_conditions_of(&self, start: &str) -> Result<Vec<Condition>> {
        self.list(POSTURE, &row_key(start))
    }

    /// Up to `limit` of them that `is_wanted`, after a key in [`order`]. Reads no more than it needs.
    pub fn list_conditions_after(
        &self,
        start: &str,
        after: Option<&str>,
        limit: usize,
        is_wanted: impl Fn(&Condition) -> bool,
    ) -> Result<Vec<Condition>> {
        let mut span = Span::prefix(row_key(start).as_slice());
        if let Some(after) = after {
            span = span.after(row_key(after).as_slice());
        }
        let table = POSTURE.name(self.client);
        let mut found = Vec::new();
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            if limit <= found.len() {
                return Ok(ControlFlow::Break(()));
            }
            found.extend(Some(self.rows.open_row(&table, key, bytes)?).filter(&is_wanted));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Open conditions and those that closed recently, ordered by key.
    pub fn list_conditions(&self) -> Result<Vec<Condition>> {
        self.list(POSTURE, &RowKey::of(POSTURE_CONDITION))
    }
}

impl ClientBatch<'_> {
    /// Opens a condition. Returns the number of the occurrence, or `None` if it is already open.
    pub fn open_condition(
        &mut self,
        key: &str,
        kind: &str,
        object: String,
        now: Time,
    ) -> Result<Option<u32>> {
        let before = self.find_condition(key)?;
        let Some(opened) = Condition::opened(before.as_ref(), (key, kind), object, now) else {
            return Ok(None);
        };
        self.put_condition(&opened)?;
        Ok(Some(opened.occurrence))
    }

    pub fn put_condition(&mut self, condition: &Condition) -> Result<()> {
        self.put(POSTURE, &row_key(&condition.key), condition)
    }

    pub fn remove_condition(&mut self, key: &str) -> Result<()> {
        self.remove(POSTURE, &row_key(key)).map(|_| ())
    }

    pub fn put_condition_aside(&mut self, condition: &Condition) -> Result<()> {
        self.put(POSTURE, &aside_key(&condition.key), condition)
    }

    pub fn remove_condition_aside(&mut self, key: &str) -> Result<()> {
        self.remove(POSTURE, &aside_key(key)).map(|_| ())
    }

    /// Replaces what an open condition shows.
    pub fn replace_condition(&mut self, key: &str, object: String) -> Result<()> {
        match self.find_condition(key)?.filter(|it| it.closed_at.is_none()) {
            Some(open) => self.put(POSTURE, &row_key(key), &Condition { object, ..open }),
            None => Ok(()),
        }
    }

    /// Closes a condition. Returns it as it was, or `None` if it is not open.
    pub fn close_condition(&mut self, key: &str, now: Time) -> Result<Option<Condition>> {
        let Some(open) = self.find_condition(key)?.filter(|it| it.closed_at.is_none()) else {
            return Ok(None);
        };
        let closed = Condition { closed_at: Some(now), ..open.clone() };
        self.put(POSTURE, &row_key(key), &closed)?;
        Ok(Some(open))
    }

    /// Removes conditions that closed too long ago to continue their occurrence count.
    pub fn forget_conditions(&mut self, now: Time) -> Result<()> {
        for it in self.list_conditions()? {
            if it.closed_at.is_some_and(|at| at.plus_days(REOPEN_DAYS) <= now) {
                self.remove(POSTURE, &row_key(&it.key))?;
            }
        }
        Ok(())
    }
}
