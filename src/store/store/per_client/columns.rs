//! Which columns of the lists of a source are what.

use crate::error::Result;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::RowKey;
use crate::store::table::{FACT_COLUMNS, FACTS};

/// Pairs of a field and the name of its column.
pub type ColumnPairs = Vec<(String, String)>;

fn row_key(source: &str) -> RowKey {
    RowKey::of(FACT_COLUMNS).last_text(source)
}

impl<R: Rows> ClientTransaction<R> {
    /// Those that were given last. Empty: none were.
    pub fn list_columns(&self, source: &str) -> Result<ColumnPairs> {
        Ok(self.find(FACTS, &row_key(source))?.unwrap_or_default())
    }
}

impl ClientBatch<'_> {
    /// Replaces those of a source.
    pub fn put_columns(&mut self, source: &str, columns: &ColumnPairs) -> Result<()> {
        if columns.is_empty() {
            return self.remove(FACTS, &row_key(source)).map(|_| ());
        }
        self.put(FACTS, &row_key(source), columns)
    }
}
