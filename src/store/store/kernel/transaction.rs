//! Reading and writing rows in one transaction. Returns records, never bytes or guards.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bincode::{Decode, Encode};

use super::envelope;
use crate::error::{Error, Result};
use crate::id::{BatchId, ClientId};
use crate::layout::Layout;
use crate::store::engine::{Answer, Direction, Engine, Fault, Find, Overlay, View, Visit};
use crate::store::kernel::audit_head::AuditHead;
use crate::store::kernel::delta::Delta;
use crate::store::kernel::envelope::Broken;
use crate::store::kernel::figure::ClientFigures;
use crate::store::kernel::health::Gauges;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::ClientPart;
use crate::store::table::SUMMARIES;

type Flow = Result<ControlFlow<()>>;

/// What both kinds of transaction can do: read rows. A table that was never written is empty.
pub trait Rows {
    /// Calls `each` with each key, in their order.
    fn get(&self, table: &str, keys: &[&[u8]], each: Find<'_>) -> Result<()>;

    /// Calls `each` with each row's key and bytes until it breaks.
    fn visit(&self, place: (&str, &Span, Direction), each: Visit<'_>) -> Result<()>;

    /// The error for bytes that are not what was written.
    fn damaged(&self, broken: Broken) -> Error;

    fn open_row<T: Decode<Layout>>(&self, table: &str, key: &[u8], bytes: &[u8]) -> Result<T> {
        envelope::open(table, key, bytes).map_err(|broken| self.damaged(broken))
    }

    fn find_row<T: Decode<Layout>>(&self, table: &str, key: &[u8]) -> Result<Option<T>> {
        let mut found = Ok(None);
        self.get(table, &[key], &mut |key, bytes| {
            found = bytes.map(|it| self.open_row(table, key, it)).transpose();
        })?;
        found
    }

    /// [`Rows::find_row`] of each key, in order.
    fn find_rows<T: Decode<Layout>>(&self, table: &str, keys: &[RowKey]) -> Result<Vec<Option<T>>> {
        let keys: Vec<&[u8]> = keys.iter().map(RowKey::as_slice).collect();
        let mut found = Vec::with_capacity(keys.len());
        self.get(table, &keys, &mut |key, bytes| {
            found.push(bytes.map(|it| self.open_row(table, key, it)).transpose());
        })?;
        found.into_iter().collect()
    }

    /// Calls `each` with each row's key and bytes until it breaks or fails.
    fn visit_rows(
        &self,
        table: &str,
        span: &Span,
        each: &mut dyn FnMut(&[u8], &[u8]) -> Flow,
    ) -> Result<()> {
        let mut outcome = Ok(());
        self.visit((table, span, Direction::Rising), &mut |key, bytes| {
            each(key, bytes).unwrap_or_else(|error| {
                outcome = Err(error);
                ControlFlow::Break(())
            })
        })?;
        outcome
    }

    /// The records of the span, at most `limit`.
    fn list_rows<T: Decode<Layout>>(
        &self,
        table: &str,
        span: &Span,
        limit: usize,
    ) -> Result<Vec<T>> {
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

    /// The first keys of the span in a direction, at most `limit`.
    fn list_keys(&self, place: (&str, &Span, Direction), limit: usize) -> Result<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        if limit == 0 {
            return Ok(keys);
        }
        self.visit(place, &mut |key, _| {
            keys.push(key.to_vec());
            if keys.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(keys)
    }

    /// The keys of the span, at most `limit`.
    fn list_keys_of(&self, table: &str, span: &Span, limit: usize) -> Result<Vec<Vec<u8>>> {
        self.list_keys((table, span, Direction::Rising), limit)
    }

    /// The last keys of the span, at most `limit`, falling.
    fn list_keys_back(&self, table: &str, span: &Span, limit: usize) -> Result<Vec<Vec<u8>>> {
        self.list_keys((table, span, Direction::Falling), limit)
    }

    /// The last key of a table whose keys have this length.
    fn last_key<const N: usize>(&self, table: &str) -> Result<Option<[u8; N]>> {
        let last = self.list_keys_back(table, &Span::all(), 1)?.pop();
        let key = last.map(<[u8; N]>::try_from).transpose();
        key.map_err(|_| self.damaged(Broken::new(table, "key of another length")))
    }
}

impl<R: Rows> Rows for &mut R {
    fn get(&self, table: &str, keys: &[&[u8]], each: Find<'_>) -> Result<()> {
        (**self).get(table, keys, each)
    }

    fn visit(&self, place: (&str, &Span, Direction), each: Visit<'_>) -> Result<()> {
        (**self).visit(place, each)
    }

    fn damaged(&self, broken: Broken) -> Error {
        (**self).damaged(broken)
    }
}

/// A state of the database that does not change while it is held. Hold it briefly: it keeps old
/// pages alive.
#[derive(Clone)]
pub struct Reading {
    view: Arc<dyn View>,
    opening: u64,
    gauges: Arc<Gauges>,
}

impl Reading {
    pub(in crate::store) fn begin(db: &dyn Engine, gauges: &Arc<Gauges>) -> Result<Self> {
        let opening = gauges.opening.load(Ordering::Acquire);
        let view = db.view().map_err(|fault| gauges.fault(opening, fault))?;
        Ok(Self { view, opening, gauges: gauges.clone() })
    }

    /// The rows of a file that is no database in use.
    pub(in crate::store) fn of_file(view: Arc<dyn View>) -> Self {
        Self { view, opening: 0, gauges: Arc::new(Gauges::default()) }
    }

    /// How many rows a table has.
    pub(in crate::store) fn count_rows(&self, table: &str) -> Result<u64> {
        self.view.count(table).map_err(|fault| self.fault(fault))
    }

    /// The names of all tables that were ever written, in order.
    pub(in crate::store) fn list_tables(&self) -> Result<Vec<String>> {
        self.view.list_tables().map_err(|fault| self.fault(fault))
    }

    fn fault(&self, fault: Fault) -> Error {
        self.gauges.fault(self.opening, fault)
    }
}

impl Rows for Reading {
    fn get(&self, table: &str, keys: &[&[u8]], each: Find<'_>) -> Result<()> {
        self.view.get(table, keys, each).map_err(|fault| self.fault(fault))
    }

    fn visit(
        &self,
        (table, span, direction): (&str, &Span, Direction),
        each: Visit<'_>,
    ) -> Result<()> {
        self.view.visit(table, span, direction, each).map_err(|fault| self.fault(fault))
    }

    fn damaged(&self, broken: Broken) -> Error {
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

/// What closures made of the state before them.
#[derive(Debug, Default)]
struct Layer {
    writes: Overlay,
    counts: Counts,
    effects: Effects,
}

/// The write transaction: one state, over it the layer of what is kept, and over that the layer of the closure that runs.
///
/// The engine takes the kept layer as a whole in the end. A closure that fails loses its own layer and no other.
pub struct Writing {
    base: Reading,
    kept: Layer,
    writes: Overlay,
    pub(in crate::store) counts: Counts,
    pub(in crate::store) effects: Effects,
    /// The figures of clients after this closure. They become rows when its layer is kept.
    pub(in crate::store) summaries: BTreeMap<ClientId, ClientFigures>,
    /// The id of what this closure added or changed.
    pub(in crate::store) object: Option<String>,
    /// The client whose rows it reached last.
    pub(in crate::store) client: Option<ClientId>,
    /// The batch that its statements are made in.
    pub(in crate::store) made_in: Option<BatchId>,
    /// A read of this closure failed, whatever it did with the error.
    unread: Cell<bool>,
}

impl Writing {
    pub(in crate::store) fn begin(
        db: &dyn Engine,
        gauges: &Arc<Gauges>,
        counts: Counts,
    ) -> Result<Self> {
        let opening = gauges.opening.load(Ordering::Acquire);
        let view = db.base().map_err(|fault| gauges.fault(opening, fault))?;
        Ok(Self {
            base: Reading { view, opening, gauges: gauges.clone() },
            kept: Layer { counts, ..Layer::default() },
            writes: Overlay::default(),
            counts,
            effects: Effects::default(),
            summaries: BTreeMap::new(),
            object: None,
            client: None,
            made_in: None,
            unread: Cell::new(false),
        })
    }

    /// Whether this closure wrote anything.
    pub(in crate::store) fn wrote(&self) -> bool {
        !self.writes.is_empty()
    }

    /// The memory that the kept writes take, about.
    pub(in crate::store) fn n_kept_bytes(&self) -> usize {
        self.kept.writes.n_bytes()
    }

    /// Adds the layer of this closure to what is kept, and begins one for the next.
    pub(in crate::store) fn keep(&mut self) -> Result<()> {
        if self.unread.get() {
            return Err(Error::internal("a write went on after it could not read a row"));
        }
        for (client, summary) in std::mem::take(&mut self.summaries) {
            self.put_row(SUMMARIES, client.as_bytes(), &summary)?;
        }
        self.kept.writes.absorb(std::mem::take(&mut self.writes));
        self.kept.counts = self.counts;
        let Effects { parts, mut deltas, has_deliveries } = std::mem::take(&mut self.effects);
        self.kept.effects.parts.extend(parts);
        self.kept.effects.deltas.append(&mut deltas);
        self.kept.effects.has_deliveries |= has_deliveries;
        self.discard();
        Ok(())
    }

    /// Drops the layer of this closure, and begins one for the next.
    pub(in crate::store) fn discard(&mut self) {
        self.writes = Overlay::default();
        self.counts = self.kept.counts;
        self.effects = Effects::default();
        self.summaries.clear();
        (self.object, self.client, self.made_in) = (None, None, None);
        self.unread.set(false);
    }

    /// Fetches rows that could not be read because they are not in memory. Returns true if all closures must run again.
    pub(in crate::store) fn fetch_missing(&self, db: &dyn Engine) -> Result<bool> {
        db.fetch_missing().map_err(|fault| self.base.fault(fault))
    }

    /// Makes everything durable that was kept. `None`: nothing was written.
    pub(in crate::store) fn commit(self, db: &dyn Engine) -> Result<Option<(Counts, Effects)>> {
        let Self { base: Reading { view, opening, gauges }, kept, .. } = self;
        drop(view); // Before the commit, which otherwise could not reuse the pages it frees.
        let Layer { writes, counts, effects } = kept;
        if writes.is_empty() {
            return Ok(None);
        }
        db.commit(writes).map_err(|fault| gauges.fault(opening, fault))?;
        Ok(Some((counts, effects)))
    }

    pub(in crate::store) fn put_row(
        &mut self,
        table: &str,
        key: &[u8],
        record: &impl Encode,
    ) -> Result<()> {
        self.writes.put(table, key, envelope::seal(table, key, record)?);
        Ok(())
    }

    /// Whether it was there.
    pub(in crate::store) fn remove_row(&mut self, table: &str, key: &[u8]) -> Result<bool> {
        let mut was_there = false;
        self.get(table, &[key], &mut |_, bytes| was_there = bytes.is_some())?;
        if was_there {
            self.writes.remove(table, key);
        }
        Ok(was_there)
    }

    /// Removes a table. Takes as long as removing its rows: empty it first.
    pub(in crate::store) fn delete_table(&mut self, name: &str) -> Result<()> {
        let written = self.writes.has_table(name).or_else(|| self.kept.writes.has_table(name));
        let is_there = match written {
            Some(it) => it,
            None => self.read(self.base.view.has_table(name))?,
        };
        if is_there {
            self.writes.delete_table(name);
        }
        Ok(())
    }

    /// Notes that a read failed.
    fn read<T>(&self, answer: Answer<T>) -> Result<T> {
        answer.map_err(|fault| {
            self.unread.set(true);
            self.base.fault(fault)
        })
    }
}

impl Rows for Writing {
    /// Asks the base once for all rows that were not written: it may be far away.
    fn get(&self, table: &str, keys: &[&[u8]], each: Find<'_>) -> Result<()> {
        let written =
            |key: &[u8]| self.writes.find(table, key).or_else(|| self.kept.writes.find(table, key));
        let below: Vec<&[u8]> = keys.iter().copied().filter(|key| written(key).is_none()).collect();
        if below.len() == keys.len() {
            return self.read(self.base.view.get(table, keys, each));
        }
        let mut found = Vec::with_capacity(below.len());
        if !below.is_empty() {
            let keep = &mut |_: &[u8], row: Option<&[u8]>| found.push(row.map(<[u8]>::to_vec));
            self.read(self.base.view.get(table, &below, keep))?;
        }
        let mut found = found.into_iter();
        for key in keys {
            match written(key) {
                Some(row) => each(key, row),
                None => each(key, found.next().flatten().as_deref()),
            }
        }
        Ok(())
    }

    fn visit(&self, place: (&str, &Span, Direction), each: Visit<'_>) -> Result<()> {
        let (table, span, direction) = place;
        let base = |each: Visit<'_>| self.base.view.visit(table, span, direction, each);
        let kept = |each: Visit<'_>| self.kept.writes.visit_over(place, each, base);
        self.read(self.writes.visit_over(place, each, kept))
    }

    fn damaged(&self, broken: Broken) -> Error {
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
