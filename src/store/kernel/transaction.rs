//! Reading and writing rows in one transaction. Returns records, never bytes or guards.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use bincode::{Decode, Encode};
use redb::{
    Database, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    StorageError, TableDefinition, TableError, WriteTransaction,
};

use super::envelope;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::kernel::audit_head::AuditHead;
use crate::store::kernel::delta::Delta;
use crate::store::kernel::envelope::Broken;
use crate::store::kernel::figure::ClientFigures;
use crate::store::kernel::health::Gauges;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::ClientPart;
use crate::store::table::SUMMARIES;

type Definition<'a> = TableDefinition<'a, &'static [u8], &'static [u8]>;
type Stored<T> = std::result::Result<T, StorageError>;
type Flow = Result<ControlFlow<()>>;

/// What both kinds of transaction can do: read rows. A table that was never written is empty.
pub trait Rows {
    fn find_row<T: Decode<()>>(&self, table: &str, key: &[u8]) -> Result<Option<T>>;

    /// [`Rows::find_row`] of each key, in order.
    fn find_rows<T: Decode<()>>(&self, table: &str, keys: &[RowKey]) -> Result<Vec<Option<T>>> {
        keys.iter().map(|it| self.find_row(table, it.as_slice())).collect()
    }

    /// Calls `each` with each row's key and bytes until it breaks.
    fn visit_rows(
        &self,
        table: &str,
        span: &Span,
        each: &mut dyn FnMut(&[u8], &[u8]) -> Flow,
    ) -> Result<()>;

    /// The error for bytes that are not what was written.
    fn damaged(&self, broken: Broken) -> crate::error::Error;

    fn open_row<T: Decode<()>>(&self, table: &str, key: &[u8], bytes: &[u8]) -> Result<T> {
        envelope::open(table, key, bytes).map_err(|broken| self.damaged(broken))
    }

    /// The records of the span, at most `limit`.
    fn list_rows<T: Decode<()>>(&self, table: &str, span: &Span, limit: usize) -> Result<Vec<T>> {
        let mut records = Vec::new();
        if limit == 0 {
            return Ok(records);
        }
        self.visit_rows(table, span, &mut |key, bytes| {
            records.push(self.open_row(table, key, bytes)?);
            Ok(if records.len() < limit {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        Ok(records)
    }

    /// The keys of the span, at most `limit`.
    fn list_keys_of(&self, table: &str, span: &Span, limit: usize) -> Result<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        if limit == 0 {
            return Ok(keys);
        }
        self.visit_rows(table, span, &mut |key, _| {
            keys.push(key.to_vec());
            Ok(if keys.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(keys)
    }
}

impl<R: Rows> Rows for &mut R {
    fn find_row<T: Decode<()>>(&self, table: &str, key: &[u8]) -> Result<Option<T>> {
        (**self).find_row(table, key)
    }

    fn find_rows<T: Decode<()>>(&self, table: &str, keys: &[RowKey]) -> Result<Vec<Option<T>>> {
        (**self).find_rows(table, keys)
    }

    fn visit_rows(
        &self,
        table: &str,
        span: &Span,
        each: &mut dyn FnMut(&[u8], &[u8]) -> Flow,
    ) -> Result<()> {
        (**self).visit_rows(table, span, each)
    }

    fn damaged(&self, broken: Broken) -> crate::error::Error {
        (**self).damaged(broken)
    }
}

fn find_in<T>(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
    read: impl FnOnce(&[u8]) -> Result<T>,
) -> Stored<Result<Option<T>>> {
    Ok(table.get(key)?.map(|it| read(it.value())).transpose())
}

fn visit_in(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    span: &Span,
    each: &mut dyn FnMut(&[u8], &[u8]) -> Flow,
) -> Stored<Result<()>> {
    let until = span.until.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    if span.until.as_ref().is_some_and(|it| *it <= span.from) {
        return Ok(Ok(()));
    }
    for row in table.range::<&[u8]>((Bound::Included(span.from.as_slice()), until))? {
        let (key, value) = row?;
        match each(key.value(), value.value()) {
            Ok(ControlFlow::Continue(())) => (),
            Ok(ControlFlow::Break(())) => break,
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(()))
}

fn keys_back_in(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    span: &Span,
    limit: usize,
) -> Stored<Vec<Vec<u8>>> {
    let until = span.until.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    if span.until.as_ref().is_some_and(|it| *it <= span.from) {
        return Ok(Vec::new());
    }
    let rows = table.range::<&[u8]>((Bound::Included(span.from.as_slice()), until))?;
    rows.rev().take(limit).map(|row| Ok(row?.0.value().to_vec())).collect()
}

/// A state of the database that does not change while it is held. Hold it briefly: it keeps old
/// pages alive.
#[derive(Clone)]
pub struct Reading {
    pub(super) tx: Arc<ReadTransaction>,
    opening: u64,
    gauges: Arc<Gauges>,
}

impl Reading {
    pub(in crate::store) fn begin(
        db: &impl ReadableDatabase,
        gauges: &Arc<Gauges>,
    ) -> Result<Self> {
        let opening = gauges.opening.load(std::sync::atomic::Ordering::Acquire);
        let tx = db.begin_read().map_err(|error| gauges.transaction(opening, error))?;
        Ok(Self { tx: Arc::new(tx), opening, gauges: gauges.clone() })
    }

    /// `None` if the table was never written.
    fn table(
        &self,
        name: &str,
    ) -> Result<Option<redb::ReadOnlyTable<&'static [u8], &'static [u8]>>> {
        match self.tx.open_table(Definition::new(name)) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(self.gauges.table(self.opening, error)),
        }
    }

    /// The last key of a table whose keys have this length.
    pub(in crate::store) fn last_key<const N: usize>(
        &self,
        table: &str,
    ) -> Result<Option<[u8; N]>> {
        let Some(rows) = self.table(table)? else { return Ok(None) };
        let last = rows.last().map_err(|error| self.fail(error))?;
        let Some((key, _)) = last else { return Ok(None) };
        let key = key.value().try_into();
        key.map(Some).map_err(|_| self.damaged(Broken::new(table, "key of another length")))
    }

    /// The last keys of the span, at most `limit`, falling.
    pub(in crate::store) fn list_keys_back(
        &self,
        table: &str,
        span: &Span,
        limit: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let Some(rows) = self.table(table)? else { return Ok(Vec::new()) };
        let keys = keys_back_in(&rows, span, limit);
        keys.map_err(|error| self.fail(error))
    }

    /// How many rows a table has.
    pub(in crate::store) fn count_rows(&self, table: &str) -> Result<u64> {
        let Some(rows) = self.table(table)? else { return Ok(0) };
        rows.len().map_err(|error| self.fail(error))
    }

    pub(super) fn fail(&self, error: StorageError) -> crate::error::Error {
        self.gauges.storage(self.opening, error)
    }
}

impl Rows for Reading {
    fn find_row<T: Decode<()>>(&self, table: &str, key: &[u8]) -> Result<Option<T>> {
        let Some(rows) = self.table(table)? else { return Ok(None) };
        find_in(&rows, key, |bytes| self.open_row(table, key, bytes)).map_err(|e| self.fail(e))?
    }

    /// Opens the table only once, because that takes longer than finding a row.
    fn find_rows<T: Decode<()>>(&self, table: &str, keys: &[RowKey]) -> Result<Vec<Option<T>>> {
        let Some(rows) = self.table(table)? else {
            return Ok(keys.iter().map(|_| None).collect());
        };
        let find = |key: &RowKey| {
            let key = key.as_slice();
            find_in(&rows, key, |bytes| self.open_row(table, key, bytes))
                .map_err(|e| self.fail(e))?
        };
        keys.iter().map(find).collect()
    }

    fn visit_rows(
        &self,
        table: &str,
        span: &Span,
        each: &mut dyn FnMut(&[u8], &[u8]) -> Flow,
    ) -> Result<()> {
        let Some(rows) = self.table(table)? else { return Ok(()) };
        visit_in(&rows, span, each).map_err(|e| self.fail(e))?
    }

    fn damaged(&self, broken: Broken) -> crate::error::Error {
        self.gauges.damaged(broken)
    }
}

/// The counters that the writer continues from one transaction to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::store) struct Counts {
    /// The highest asset id so far.
    pub(in crate::store) asset: [u8; 16],
    /// The sequence of the last event.
    pub(in crate::store) event: u64,
    /// The sequence of the last changed row.
    pub(in crate::store) change: u64,
    /// The last entry of the audit log.
    pub(in crate::store) audit: AuditHead,
}

/// What a transaction changes in memory once it is durable.
#[derive(Debug, Default)]
pub(in crate::store) struct Effects {
    pub(in crate::store) parts: std::collections::BTreeSet<(ClientId, ClientPart)>,
    pub(in crate::store) deltas: Vec<(ClientId, Delta)>,
    /// Deliveries are due.
    pub(in crate::store) has_deliveries: bool,
}

/// Whether a table in a write transaction is unchanged since the transaction began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touched {
    Written,
    Deleted,
}

/// The write transaction.
///
/// redb creates a table when a write transaction opens it, even to read. So tables that this
/// transaction has not written are read from the state it began with.
pub struct Writing {
    tx: WriteTransaction,
    base: Reading,
    touched: HashMap<String, Touched>,
    pub(in crate::store) counts: Counts,
    pub(in crate::store) effects: Effects,
    /// The figures of clients after this transaction. They are stored with the commit.
    pub(in crate::store) summaries: BTreeMap<ClientId, ClientFigures>,
    /// Something was written since the writer last cleared it.
    pub(in crate::store) wrote: bool,
    /// The id of what was added or changed since then.
    pub(in crate::store) object: Option<String>,
    /// The client whose rows were last reached since then.
    pub(in crate::store) client: Option<ClientId>,
    /// The database failed during this transaction, whatever the closure did with the error.
    pub(in crate::store) broken: bool,
}

impl Writing {
    pub(in crate::store) fn begin(
        db: &Database,
        gauges: &Arc<Gauges>,
        counts: Counts,
    ) -> Result<Self> {
        let opening = gauges.opening.load(std::sync::atomic::Ordering::Acquire);
        let mut tx = db.begin_write().map_err(|error| gauges.transaction(opening, error))?;
        tx.set_two_phase_commit(true);
        // A database that was not closed opens at once, whatever its size: the free pages are part of each commit.
        tx.set_quick_repair(true);
        // There is no other writer, so this is the state that the transaction began with.
        let base = Reading::begin(db, gauges)?;
        Ok(Self {
            tx,
            base,
            touched: HashMap::new(),
            counts,
            effects: Effects::default(),
            summaries: BTreeMap::new(),
            wrote: false,
            object: None,
            client: None,
            broken: false,
        })
    }

    pub(in crate::store) fn is_untouched(&self) -> bool {
        self.touched.is_empty()
    }

    /// Makes everything durable.
    pub(in crate::store) fn commit(mut self) -> Result<(Counts, Effects)> {
        for (client, summary) in std::mem::take(&mut self.summaries) {
            self.put_row(SUMMARIES, client.as_bytes(), &summary)?;
        }
        let Self { tx, base, counts, effects, .. } = self;
        let (opening, gauges) = (base.opening, base.gauges.clone());
        drop(base); // Before the commit, which otherwise could not reuse the pages it frees.
        tx.commit().map_err(|error| gauges.commit(opening, error))?;
        Ok((counts, effects))
    }

    pub(in crate::store) fn abort(self) -> Result<()> {
        let Self { tx, base, .. } = self;
        tx.abort().map_err(|error| base.fail(error))
    }

    fn failed(&mut self, error: StorageError) -> crate::error::Error {
        self.broken = true;
        self.base.fail(error)
    }

    /// Opens a table to write it. Creates it if necessary.
    fn with_table<T>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut redb::Table<'_, &'static [u8], &'static [u8]>) -> Stored<T>,
    ) -> Result<T> {
        self.wrote = true;
        if self.touched.get(name) != Some(&Touched::Written) {
            self.touched.insert(name.to_owned(), Touched::Written);
        }
        let written = match self.tx.open_table(Definition::new(name)) {
            Ok(mut table) => write(&mut table),
            Err(error) => {
                self.broken = true;
                return Err(self.base.gauges.table(self.base.opening, error));
            }
        };
        written.map_err(|error| self.failed(error))
    }

    pub(in crate::store) fn put_row(
        &mut self,
        table: &str,
        key: &[u8],
        record: &impl Encode,
    ) -> Result<()> {
        let bytes = envelope::seal(table, key, record)?;
        self.with_table(table, |rows| rows.insert(key, bytes.as_slice()).map(|_| ()))
    }

    /// Whether it was there.
    pub(in crate::store) fn remove_row(&mut self, table: &str, key: &[u8]) -> Result<bool> {
        if self.is_absent(table, key)? {
            return Ok(false);
        }
        self.with_table(table, |rows| rows.remove(key).map(|it| it.is_some()))
    }

    /// Returns true if a row does not exist, as far as is known without opening its table to write.
    fn is_absent(&self, table: &str, key: &[u8]) -> Result<bool> {
        match self.touched.get(table) {
            Some(Touched::Deleted) => Ok(true),
            Some(Touched::Written) => Ok(false),
            None => {
                let Some(rows) = self.base.table(table)? else { return Ok(true) };
                let found = find_in(&rows, key, |_| Ok(()));
                Ok(found.map_err(|error| self.base.fail(error))??.is_none())
            }
        }
    }

    /// Removes a table. Takes as long as removing its rows: empty it first.
    pub(in crate::store) fn delete_table(&mut self, name: &str) -> Result<()> {
        let is_there = match self.touched.get(name) {
            Some(Touched::Deleted) => false,
            Some(Touched::Written) => true,
            None => self.base.table(name)?.is_some(),
        };
        if !is_there {
            return Ok(());
        }
        self.wrote = true;
        self.touched.insert(name.to_owned(), Touched::Deleted);
        match self.tx.delete_table(Definition::new(name)) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.broken = true;
                Err(self.base.gauges.table(self.base.opening, error))
            }
        }
    }

    /// Reads a table that this transaction has written.
    fn with_written<T>(
        &self,
        name: &str,
        read: impl FnOnce(&redb::Table<'_, &'static [u8], &'static [u8]>) -> Stored<Result<T>>,
    ) -> Result<T> {
        let table = self.tx.open_table(Definition::new(name));
        let table = table.map_err(|error| self.base.gauges.table(self.base.opening, error))?;
        read(&table).map_err(|error| self.base.fail(error))?
    }
}

impl Rows for Writing {
    fn find_row<T: Decode<()>>(&self, table: &str, key: &[u8]) -> Result<Option<T>> {
        match self.touched.get(table) {
            None => self.base.find_row(table, key),
            Some(Touched::Deleted) => Ok(None),
            Some(Touched::Written) => self.with_written(table, |rows| {
                find_in(rows, key, |bytes| self.open_row(table, key, bytes))
            }),
        }
    }

    fn visit_rows(
        &self,
        table: &str,
        span: &Span,
        each: &mut dyn FnMut(&[u8], &[u8]) -> Flow,
    ) -> Result<()> {
        match self.touched.get(table) {
            None => self.base.visit_rows(table, span, each),
            Some(Touched::Deleted) => Ok(()),
            Some(Touched::Written) => self.with_written(table, |rows| visit_in(rows, span, each)),
        }
    }

    fn damaged(&self, broken: Broken) -> crate::error::Error {
        self.base.damaged(broken)
    }
}

/// All clients' rows and the global ones: [`crate::store::Snapshot`] or [`crate::store::Batch`].
#[derive(Clone)]
pub struct Transaction<R> {
    pub(in crate::store) rows: R,
}

/// One client's rows and no others: [`crate::store::ClientSnapshot`] or [`crate::store::ClientBatch`].
#[derive(Clone)]
pub struct ClientTransaction<R> {
    pub(in crate::store) rows: R,
    pub(in crate::store) client: ClientId,
}

impl Transaction<Reading> {
    /// One client's rows in the same state.
    #[must_use]
    pub fn client(&self, client: ClientId) -> ClientTransaction<Reading> {
        ClientTransaction { rows: self.rows.clone(), client }
    }
}

impl Transaction<Writing> {
    /// One client's rows in the same transaction.
    pub fn client(&mut self, client: ClientId) -> ClientTransaction<&mut Writing> {
        self.rows.client = Some(client);
        ClientTransaction { rows: &mut self.rows, client }
    }
}
