//! The engine in one file on this machine: redb.

mod file;

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use redb::{
    AccessGuard, CommitError, Database, ReadOnlyTable, ReadTransaction, ReadableDatabase,
    ReadableTableMetadata, StorageError, TableDefinition, TableError, TableHandle,
    TransactionError, WriteTransaction,
};

use crate::store::engine::overlay::TableWrites;
use crate::store::engine::{Answer, Direction, Engine, Fault, Find, Overlay, View, Visit};
use crate::store::row_key::Span;

pub(in crate::store) use file::{FILE, OpenFault, view_file};
pub(in crate::store) use redb::StorageBackend;

type Definition<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;
type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// A database in one file.
pub(in crate::store) struct FileEngine {
    db: Database,
}

impl Engine for FileEngine {
    fn view(&self) -> Answer<Arc<dyn View>> {
        Ok(Arc::new(FileView { tx: self.db.begin_read()? }))
    }

    fn commit(&self, writes: Overlay) -> Answer<()> {
        let before = FileView { tx: self.db.begin_read()? };
        let mut tx = self.db.begin_write()?;
        tx.set_two_phase_commit(true);
        // A database that was not closed opens at once, whatever its size: the free pages are part of each commit.
        tx.set_quick_repair(true);
        for (name, writes) in writes.into_tables() {
            apply(&tx, &before, &name, writes)?;
        }
        drop(before); // Before the commit, which otherwise could not reuse the pages it frees.
        Ok(tx.commit()?)
    }

    fn cache_bytes(&self) -> u64 {
        self.db.cache_stats().used_bytes() as u64
    }
}

fn apply(tx: &WriteTransaction, before: &FileView, name: &str, writes: TableWrites) -> Answer<()> {
    if writes.is_deleted {
        tx.delete_table(Definition::new(name))?;
    }
    // A table is made when it is opened, and there is nothing to remove from one that is not there.
    if !writes.has_rows() && (writes.is_deleted || !before.has_table(name)?) {
        return Ok(());
    }
    let mut rows = tx.open_table(Definition::new(name))?;
    for (key, value) in writes.rows {
        match value {
            Some(value) => drop(rows.insert(&*key, &*value)?),
            None => drop(rows.remove(&*key)?),
        }
    }
    Ok(())
}

/// One state of the file. It keeps old pages alive.
struct FileView {
    tx: ReadTransaction,
}

impl FileView {
    /// `None` if the table was never written.
    fn table(&self, name: &str) -> Answer<Option<Table>> {
        match self.tx.open_table(Definition::new(name)) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl View for FileView {
    /// Opens the table only once, because that takes longer than finding a row.
    fn get(&self, table: &str, keys: &[&[u8]], each: Find<'_>) -> Answer<()> {
        let table = self.table(table)?;
        for key in keys {
            let row = match &table {
                Some(table) => table.get(*key)?,
                None => None,
            };
            each(key, row.as_ref().map(AccessGuard::value));
        }
        Ok(())
    }

    fn visit(&self, table: &str, span: &Span, direction: Direction, each: Visit<'_>) -> Answer<()> {
        if span.is_empty() {
            return Ok(());
        }
        let Some(table) = self.table(table)? else { return Ok(()) };
        let until = span.until.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut rows = table.range::<&[u8]>((Bound::Included(span.from.as_slice()), until))?;
        loop {
            let row = match direction {
                Direction::Rising => rows.next(),
                Direction::Falling => rows.next_back(),
            };
            let Some(row) = row else { return Ok(()) };
            let (key, value) = row?;
            if each(key.value(), value.value()) == ControlFlow::Break(()) {
                return Ok(());
            }
        }
    }

    fn count(&self, table: &str) -> Answer<u64> {
        let Some(table) = self.table(table)? else { return Ok(0) };
        Ok(table.len()?)
    }

    fn has_table(&self, table: &str) -> Answer<bool> {
        Ok(self.table(table)?.is_some())
    }

    fn list_tables(&self) -> Answer<Vec<String>> {
        let tables = self.tx.list_tables()?;
        let mut names: Vec<String> = tables.map(|it| it.name().to_owned()).collect();
        names.sort_unstable();
        Ok(names)
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Corrupted(_) => Self::Damaged(error.into()),
            // The kind of it tells a full disk from a broken one.
            StorageError::Io(error) => Self::Broken(error.into()),
            StorageError::ValueTooLarge(_)
            | StorageError::Unsupported
            | StorageError::PreviousIo
            | StorageError::DatabaseClosed
            | StorageError::LockPoisoned(_)
            | _ => Self::Broken(error.into()),
        }
    }
}

impl From<TransactionError> for Fault {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::Storage(error) => error.into(),
            TransactionError::ReadTransactionStillInUse(_) | _ => Self::Broken(error.into()),
        }
    }
}

impl From<TableError> for Fault {
    fn from(error: TableError) -> Self {
        if let TableError::Storage(error) = error {
            return error.into();
        }
        // The tables of this file are not ours, or the store is wrong about them.
        Self::Refused(error.into())
    }
}

/// After a failed commit the database cannot be used further, whatever the reason.
impl From<CommitError> for Fault {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Storage(StorageError::Io(error)) => Self::Broken(error.into()),
            CommitError::Storage(_) | CommitError::TransactionPoisoned | _ => {
                Self::Broken(error.into())
            }
        }
    }
}
