//! What a client, its risks and its tasks are called in other systems.

use bincode::{Decode, Encode};

use crate::error::Result;
use crate::id::{RiskId, TaskId};
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::RowKey;
use crate::store::table::{POSTURE, POSTURE_REFERENCES};

/// The id of something in another system, for example of a ticket.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ExternalReference {
    pub system: String,
    pub id: String,
}

/// What has references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Referenced {
    Client,
    Risk(RiskId),
    Task(TaskId),
}

fn row_key(about: Referenced) -> RowKey {
    let key = RowKey::of(POSTURE_REFERENCES);
    match about {
        Referenced::Client => key.bytes(&[1]),
        Referenced::Risk(id) => key.bytes(&[2]).bytes(id.as_bytes()),
        Referenced::Task(id) => key.bytes(&[3]).bytes(id.as_bytes()),
    }
}

impl<R: Rows> ClientTransaction<R> {
    /// In the order in which they were given.
    pub fn list_references(&self, about: Referenced) -> Result<Vec<ExternalReference>> {
        Ok(self.find(POSTURE, &row_key(about))?.unwrap_or_default())
    }
}

impl ClientBatch<'_> {
    /// Replaces all references of one thing.
    pub fn put_references(
        &mut self,
        about: Referenced,
        references: &[ExternalReference],
    ) -> Result<()> {
        if references.is_empty() {
            return self.remove(POSTURE, &row_key(about)).map(|_| ());
        }
        self.put(POSTURE, &row_key(about), &references.to_vec())
    }
}
