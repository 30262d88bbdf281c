//! Reading and writing the rows of one client inside a transaction.

use bincode::{Decode, Encode};

use super::transaction::{ClientTransaction, Rows, Writing};
use crate::error::Result;
use crate::id::ClientId;
use crate::layout::Layout;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::ClientPart;
use crate::store::table::PerClient;

impl<R: Rows> ClientTransaction<R> {
    pub fn id(&self) -> ClientId {
        self.client
    }

    pub(in crate::store) fn find<T: Decode<Layout>>(
        &self,
        table: PerClient,
        key: &RowKey,
    ) -> Result<Option<T>> {
        self.rows.find_row(&table.name(self.client), key.as_slice())
    }

    /// [`Self::find`] of each key, in order.
    pub(in crate::store) fn find_all<T: Decode<Layout>>(
        &self,
        table: PerClient,
        keys: &[RowKey],
    ) -> Result<Vec<Option<T>>> {
        self.rows.find_rows(&table.name(self.client), keys)
    }

    /// All records whose key begins with `start`, in key order.
    pub(in crate::store) fn list<T: Decode<Layout>>(
        &self,
        table: PerClient,
        start: &RowKey,
    ) -> Result<Vec<T>> {
        self.list_some(table, start, usize::MAX)
    }

    pub(in crate::store) fn list_some<T: Decode<Layout>>(
        &self,
        table: PerClient,
        start: &RowKey,
        limit: usize,
    ) -> Result<Vec<T>> {
        let span = Span::prefix(start.as_slice());
        self.rows.list_rows(&table.name(self.client), &span, limit)
    }
}

impl ClientTransaction<&mut Writing> {
    pub(in crate::store) fn put(
        &mut self,
        table: PerClient,
        key: &RowKey,
        record: &impl Encode,
    ) -> Result<()> {
        self.rows.put_row(&table.name(self.client), key.as_slice(), record)?;
        self.moved(table.part);
        Ok(())
    }

    /// Whether it was there.
    pub(in crate::store) fn remove(&mut self, table: PerClient, key: &RowKey) -> Result<bool> {
        let was_there = self.rows.remove_row(&table.name(self.client), key.as_slice())?;
        if was_there {
            self.moved(table.part);
        }
        Ok(was_there)
    }

    pub(in crate::store) fn moved(&mut self, part: ClientPart) {
        self.rows.effects.parts.insert((self.client, part));
    }
}
