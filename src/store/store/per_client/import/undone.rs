//! What imports showed that were undone. No assessment reads it.

use crate::engine::fact::Observation;
use crate::error::Result;
use crate::id::ImportId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::fact::key::{ObservationKey, log_key};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_UNDONE, FACTS};

fn undone_of(import: ImportId) -> RowKey {
    RowKey::of(FACT_UNDONE).bytes(import.as_bytes())
}

fn undone_key(key: &ObservationKey) -> RowKey {
    undone_of(key.import).bytes(&log_key(key).as_slice()[1..])
}

impl<R: Rows> ClientTransaction<R> {
    /// How many observations are kept of an undone import.
    pub fn count_undone(&self, import: ImportId) -> Result<u64> {
        let span = Span::prefix(undone_of(import).as_slice());
        Ok(self.rows.list_keys_of(&FACTS.name(self.client), &span, usize::MAX)?.len() as u64)
    }

    /// Observations of an undone import, up to `n_max`, by what they are about.
    pub fn list_undone(&self, import: ImportId, n_max: usize) -> Result<Vec<Observation>> {
        let span = Span::prefix(undone_of(import).as_slice());
        self.rows.list_rows(&FACTS.name(self.client), &span, n_max)
    }
}

impl ClientBatch<'_> {
    /// Removes observations of an import that is undone from what counts, and keeps what they were.
    pub fn undo_observations(&mut self, keys: &[ObservationKey]) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let runs = self.list_past_runs()?;
        for key in keys {
            let kept = match self.find::<Observation>(FACTS, &log_key(key))? {
                Some(it) => Some(it),
                None => self
                    .list_past(Some(key), &runs)?
                    .into_iter()
                    .find(|it| ObservationKey::from(it) == *key),
            };
            self.remove_observation(key, &runs)?;
            kept.map_or(Ok(()), |it| self.put(FACTS, &undone_key(key), &it))?;
        }
        Ok(())
    }

    /// Removes up to `n_max` observations that are kept of an undone import. Returns how many.
    pub fn remove_undone(&mut self, import: ImportId, n_max: usize) -> Result<usize> {
        let table = FACTS.name(self.client);
        let span = Span::prefix(undone_of(import).as_slice());
        let keys = self.rows.list_keys_of(&table, &span, n_max)?;
        for key in &keys {
            self.rows.remove_row(&table, key)?;
        }
        Ok(keys.len())
    }
}
