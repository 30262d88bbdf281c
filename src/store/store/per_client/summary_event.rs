//! Events that announced many conditions of one type at once, as long as some of the conditions are open.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::RowKey;
use crate::store::table::{POSTURE, POSTURE_SUMMARIZED, POSTURE_SUMMARY_EVENT};

/// An event that stands for many conditions.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SummaryEvent {
    /// The `dedupKey` of the event, within its client.
    pub key: String,
    /// Its type.
    pub kind: String,
    /// JSON: the object of the event.
    pub object: String,
    pub opened_at: Time,
    /// How many of its conditions are still open.
    pub n_open: u32,
}

/// How a condition was announced that is part of a event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SummaryMark {
    /// The keys of the events that stand for it.
    pub summaries: Vec<String>,
    /// An event of its own announced it too.
    pub is_announced: bool,
}

fn event_key(key: &str) -> RowKey {
    RowKey::of(POSTURE_SUMMARY_EVENT).last_text(key)
}

fn mark_key(condition: &str) -> RowKey {
    RowKey::of(POSTURE_SUMMARIZED).last_text(condition)
}

impl<R: Rows> ClientTransaction<R> {
    pub fn list_summary_events(&self) -> Result<Vec<SummaryEvent>> {
        self.list(POSTURE, &RowKey::of(POSTURE_SUMMARY_EVENT))
    }

    pub fn find_summary_event(&self, key: &str) -> Result<Option<SummaryEvent>> {
        self.find(POSTURE, &event_key(key))
    }

    /// `None`: the condition with this key is not part of a event.
    pub fn find_summary_mark(&self, condition: &str) -> Result<Option<SummaryMark>> {
        self.find(POSTURE, &mark_key(condition))
    }
}

impl ClientBatch<'_> {
    /// Stores how many of its conditions are open. Removes it with the last of them.
    pub fn put_summary_event(&mut self, event: &SummaryEvent) -> Result<()> {
        if event.n_open == 0 {
            return self.remove(POSTURE, &event_key(&event.key)).map(|_| ());
        }
        self.put(POSTURE, &event_key(&event.key), event)
    }

    pub fn put_summary_mark(&mut self, condition: &str, mark: &SummaryMark) -> Result<()> {
        self.put(POSTURE, &mark_key(condition), mark)
    }

    pub fn remove_summary_mark(&mut self, condition: &str) -> Result<()> {
        self.remove(POSTURE, &mark_key(condition)).map(|_| ())
    }
}
