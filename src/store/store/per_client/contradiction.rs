//! Decisions that are contradicted by what was seen, as of the last assessment.

use crate::engine::contradiction::Contradiction;
use crate::error::Result;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::RowKey;
use crate::store::table::{POSTURE, POSTURE_CONTRADICTION, POSTURE_N_CONTRADICTIONS};

fn row_key(key: &str) -> RowKey {
    RowKey::of(POSTURE_CONTRADICTION).last_text(key)
}

impl<R: Rows> ClientTransaction<R> {
    /// Ordered by what they are about.
    pub fn list_contradictions(&self) -> Result<Vec<Contradiction>> {
        self.list(POSTURE, &RowKey::of(POSTURE_CONTRADICTION))
    }

    /// `None`: they were never looked for.
    pub fn find_n_contradictions(&self) -> Result<Option<u32>> {
        self.find(POSTURE, &RowKey::of(POSTURE_N_CONTRADICTIONS))
    }
}

impl ClientBatch<'_> {
    pub fn put_contradiction(&mut self, contradiction: &Contradiction) -> Result<()> {
        self.put(POSTURE, &row_key(&contradiction.about.key()), contradiction)
    }

    /// `key`: of what it is about.
    pub fn remove_contradiction(&mut self, key: &str) -> Result<()> {
        self.remove(POSTURE, &row_key(key)).map(|_| ())
    }

    pub fn put_n_contradictions(&mut self, n: u32) -> Result<()> {
        self.put(POSTURE, &RowKey::of(POSTURE_N_CONTRADICTIONS), &n)
    }
}
