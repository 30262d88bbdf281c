//! Writes that are not committed, as a layer over the rows below them.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::{Bound, ControlFlow};

use crate::store::engine::{Answer, Direction, Visit};
use crate::store::row_key::Span;

/// What a row takes in memory beside its key and value, about.
const ROW_BYTES: usize = 96;

/// Puts and removals over the rows of a view or of another overlay.
#[derive(Debug, Default)]
pub(in crate::store) struct Overlay {
    tables: BTreeMap<String, TableWrites>,
    n_bytes: usize,
}

/// What was written to one table.
#[derive(Debug, Default)]
pub(in crate::store) struct TableWrites {
    /// The table was deleted before these rows were written: none of those below is left.
    pub(in crate::store) is_deleted: bool,
    /// `None`: the row was removed.
    pub(in crate::store) rows: WrittenRows,
}

type WrittenRows = BTreeMap<Box<[u8]>, Option<Box<[u8]>>>;

impl TableWrites {
    pub(in crate::store) fn has_rows(&self) -> bool {
        self.rows.values().any(Option::is_some)
    }
}

impl Overlay {
    pub(in crate::store) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The memory that it takes, about. A row that is written again counts again.
    pub(in crate::store) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Each table, in the order of their names.
    pub(in crate::store) fn into_tables(self) -> impl Iterator<Item = (String, TableWrites)> {
        self.tables.into_iter()
    }

    /// Each table, in the order of their names.
    pub(in crate::store) fn tables(&self) -> impl Iterator<Item = (&str, &TableWrites)> {
        self.tables.iter().map(|(name, writes)| (name.as_str(), writes))
    }

    fn table(&mut self, name: &str) -> &mut TableWrites {
        if !self.tables.contains_key(name) {
            self.tables.insert(name.to_owned(), TableWrites::default());
        }
        self.tables.get_mut(name).expect("it was just inserted")
    }

    pub(in crate::store) fn put(&mut self, table: &str, key: &[u8], value: Vec<u8>) {
        self.n_bytes += ROW_BYTES + key.len() + value.len();
        self.table(table).rows.insert(key.into(), Some(value.into_boxed_slice()));
    }

    pub(in crate::store) fn remove(&mut self, table: &str, key: &[u8]) {
        self.n_bytes += ROW_BYTES + key.len();
        self.table(table).rows.insert(key.into(), None);
    }

    pub(in crate::store) fn delete_table(&mut self, name: &str) {
        self.n_bytes += ROW_BYTES + name.len();
        *self.table(name) = TableWrites { is_deleted: true, rows: BTreeMap::new() };
    }

    /// The row if it was written: `Some(None)` if it was removed. `None`: it is as it is below.
    pub(in crate::store) fn find(&self, table: &str, key: &[u8]) -> Option<Option<&[u8]>> {
        let writes = self.tables.get(table)?;
        match writes.rows.get(key) {
            Some(row) => Some(row.as_deref()),
            None => writes.is_deleted.then_some(None),
        }
    }

    /// Whether there is anything of a table, as far as was written. `None`: as below.
    pub(in crate::store) fn has_table(&self, name: &str) -> Option<bool> {
        let writes = self.tables.get(name)?;
        if writes.has_rows() { Some(true) } else { writes.is_deleted.then_some(false) }
    }

    /// Adds what was written over this one.
    pub(in crate::store) fn absorb(&mut self, above: Self) {
        self.n_bytes += above.n_bytes;
        for (name, writes) in above.tables {
            match self.tables.get_mut(&name) {
                Some(known) if !writes.is_deleted => known.rows.extend(writes.rows),
                Some(known) => *known = writes,
                None => drop(self.tables.insert(name, writes)),
            }
        }
    }

    /// Visits the rows of a span as they are with these writes over the rows that `below` visits in the same direction.
    pub(in crate::store) fn visit_over(
        &self,
        (table, span, direction): (&str, &Span, Direction),
        each: Visit<'_>,
        below: impl FnOnce(Visit<'_>) -> Answer<()>,
    ) -> Answer<()> {
        let Some(writes) = self.tables.get(table) else { return below(each) };
        let mut written = Written::of(&writes.rows, span, direction);
        if !writes.is_deleted {
            if written.is_empty() {
                return below(each);
            }
            let mut flow = ControlFlow::Continue(());
            below(&mut |key, value| {
                flow = written.merge(key, value, each);
                flow
            })?;
            if flow.is_break() {
                return Ok(());
            }
        }
        // Ends early if `each` breaks.
        let _ = written.finish(each);
        Ok(())
    }
}

/// The written rows of a span that are still to be visited.
struct Written<'a> {
    rows: Peekable<Box<dyn Iterator<Item = WrittenRow<'a>> + 'a>>,
    direction: Direction,
}

/// A key and its value. `None`: it was removed.
type WrittenRow<'a> = (&'a [u8], Option<&'a [u8]>);

impl<'a> Written<'a> {
    fn of(rows: &'a WrittenRows, span: &Span, direction: Direction) -> Self {
        let from = span.from.as_slice();
        let until = span.until.as_deref().map(|it| it.max(from));
        let until = until.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = rows.range::<[u8], _>((Bound::Included(from), until));
        let rows = rows.map(|(key, value)| (&**key, value.as_deref()));
        let rows: Box<dyn Iterator<Item = WrittenRow<'a>>> = match direction {
            Direction::Rising => Box::new(rows),
            Direction::Falling => Box::new(rows.rev()),
        };
        Self { rows: rows.peekable(), direction }
    }

    fn is_empty(&mut self) -> bool {
        self.rows.peek().is_none()
    }

    /// Visits what comes before a row below, and then that row as it is now.
    fn merge(&mut self, key: &[u8], value: &[u8], each: Visit<'_>) -> ControlFlow<()> {
        let direction = self.direction;
        let is_first = |written: &[u8]| match direction {
            Direction::Rising => written < key,
            Direction::Falling => key < written,
        };
        while let Some((written, row)) = self.rows.next_if(|(it, _)| is_first(it)) {
            row.map_or(ControlFlow::Continue(()), |it| each(written, it))?;
        }
        match self.rows.next_if(|(it, _)| *it == key) {
            Some((_, row)) => row.map_or(ControlFlow::Continue(()), |it| each(key, it)),
            None => each(key, value),
        }
    }

    /// Visits what is left.
    fn finish(mut self, each: Visit<'_>) -> ControlFlow<()> {
        self.rows
            .try_for_each(|(key, row)| row.map_or(ControlFlow::Continue(()), |it| each(key, it)))
    }
}
