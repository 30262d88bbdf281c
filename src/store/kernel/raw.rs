//! All tables alike, for what copies or checks the whole database.

use crate::error::Result;
use crate::store::kernel::transaction::Reading;

impl Reading {
    /// The names of all tables that were ever written, in order.
    pub(in crate::store) fn list_tables(&self) -> Result<Vec<String>> {
        use redb::TableHandle;

        let tables = self.tx.list_tables().map_err(|error| self.fail(error))?;
        let mut names: Vec<String> = tables.map(|it| it.name().to_owned()).collect();
        names.sort_unstable();
        Ok(names)
    }
}
