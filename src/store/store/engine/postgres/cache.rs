//! Rows of the current state in memory: what was read of it and what was committed since.
//!
//! It is true as long as no other process commits, which the head row of the database proves at each commit.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use crate::store::engine::{Direction, Overlay};
use crate::store::row_key::Span;

/// What a row takes in memory beside its key and value, about.
const ROW_BYTES: usize = 96;

#[derive(Debug, Default)]
pub(super) struct RowCache {
    tables: HashMap<String, KnownRows>,
    n_bytes: usize,
}

/// What is known of one table.
#[derive(Debug, Default)]
struct KnownRows {
    /// `None`: there is no such row.
    rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Spans of which every row is known, by their first key: the first key after each. They do not touch each other.
    whole: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    n_bytes: usize,
}

/// What is known of a span, from its beginning in a direction.
pub(super) struct KnownPart {
    /// All rows in it are known.
    pub(super) known: Span,
    /// What is behind it. `None`: nothing.
    pub(super) rest: Option<Span>,
}

impl RowCache {
    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// `None`: it is not known whether there is such a row.
    pub(super) fn find(&self, table: &str, key: &[u8]) -> Option<Option<&[u8]>> {
        let known = self.tables.get(table)?;
        match known.rows.get(key) {
            Some(row) => Some(row.as_deref()),
            None => known.whole_around(key).map(|_| None),
        }
    }

    /// `None`: nothing is known of the beginning of the span.
    pub(super) fn part(&self, table: &str, span: &Span, direction: Direction) -> Option<KnownPart> {
        let known = self.tables.get(table)?;
        match direction {
            Direction::Rising => {
                let until = known.whole_around(&span.from)?.1;
                let is_all = match (until, &span.until) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(known), Some(wanted)) => wanted <= known,
                };
                if is_all {
                    return Some(KnownPart { known: span.clone(), rest: None });
                }
                let end = until.clone();
                let known = Span { from: span.from.clone(), until: end.clone() };
                let rest = Span { from: end.unwrap_or_default(), until: span.until.clone() };
                Some(KnownPart { known, rest: Some(rest) })
            }
            Direction::Falling => {
                let from = known.whole_before(span.until.as_deref())?;
                if *from <= span.from {
                    return Some(KnownPart { known: span.clone(), rest: None });
                }
                let known = Span { from: from.clone(), until: span.until.clone() };
                let rest = Span { from: span.from.clone(), until: Some(from.clone()) };
                Some(KnownPart { known, rest: Some(rest) })
            }
        }
    }

    /// Rows of a known span in a direction, at most `n_max`.
    pub(super) fn list(
        &self,
        (table, span, direction): (&str, &Span, Direction),
        n_max: usize,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let Some(known) = self.tables.get(table).filter(|_| !span.is_empty()) else {
            return Vec::new();
        };
        let rows = known.rows.range::<[u8], _>(bounds(span));
        let there = |(key, row): (&Vec<u8>, &Option<Vec<u8>>)| Some((key.clone(), row.clone()?));
        match direction {
            Direction::Rising => rows.filter_map(there).take(n_max).collect(),
            Direction::Falling => rows.rev().filter_map(there).take(n_max).collect(),
        }
    }

    /// Notes what a row is. `None`: it is not there.
    pub(super) fn put(&mut self, table: &str, key: &[u8], row: Option<&[u8]>) {
        let known = self.table(table);
        let n_new = ROW_BYTES + key.len() + row.map_or(0, <[u8]>::len);
        let before = known.rows.insert(key.to_vec(), row.map(<[u8]>::to_vec));
        let n_old = before.map_or(0, |it| ROW_BYTES + key.len() + it.map_or(0, |it| it.len()));
        known.n_bytes = known.n_bytes + n_new - n_old;
        self.n_bytes = self.n_bytes + n_new - n_old;
    }

    /// Notes that every row of a span is known.
    pub(super) fn put_whole(&mut self, table: &str, span: &Span) {
        if span.is_empty() {
            return;
        }
        let known = self.table(table);
        known.add_whole(span.from.clone(), span.until.clone());
        // Never less than it takes: spans that are joined are counted until the table is forgotten.
        let n_bytes = ROW_BYTES + span.from.len() + span.until.as_ref().map_or(0, Vec::len);
        known.n_bytes += n_bytes;
        self.n_bytes += n_bytes;
    }

    /// Notes what was committed.
    pub(super) fn apply(&mut self, writes: &Overlay) {
        for (name, writes) in writes.tables() {
            if writes.is_deleted {
                self.forget(name);
                self.put_whole(name, &Span::all());
            }
            for (key, row) in &writes.rows {
                self.put(name, key, row.as_deref());
            }
        }
    }

    /// If it takes more than `n_bytes_max`, forgets whole tables until it takes an eighth less: those first that take most,
    /// because they are read least evenly.
    pub(super) fn trim(&mut self, n_bytes_max: usize) {
        if self.n_bytes <= n_bytes_max {
            return;
        }
        let sized = self.tables.iter().map(|(name, known)| (known.n_bytes, name.clone()));
        let mut sized: Vec<(usize, String)> = sized.collect();
        sized.sort_unstable_by(|a, b| b.cmp(a));
        for (_, name) in sized {
            if self.n_bytes <= n_bytes_max - n_bytes_max / 8 {
                return;
            }
            self.forget(&name);
        }
    }

    fn forget(&mut self, table: &str) {
        if let Some(known) = self.tables.remove(table) {
            self.n_bytes -= known.n_bytes;
        }
    }

    fn table(&mut self, name: &str) -> &mut KnownRows {
        if !self.tables.contains_key(name) {
            let n_bytes = ROW_BYTES + name.len();
            self.n_bytes += n_bytes;
            self.tables.insert(name.to_owned(), KnownRows { n_bytes, ..KnownRows::default() });
        }
        self.tables.get_mut(name).expect("it was just inserted")
    }
}

impl KnownRows {
    /// The known span that has a key: its first key, and the first key after it.
    fn whole_around(&self, key: &[u8]) -> Option<(&Vec<u8>, &Option<Vec<u8>>)> {
        let upto = (Bound::Unbounded, Bound::Included(key));
        let (from, until) = self.whole.range::<[u8], _>(upto).next_back()?;
        until.as_deref().is_none_or(|it| key < it).then_some((from, until))
    }

    /// The first key of the known span that reaches from below to this key, which need not be in it. `None`: to the end.
    fn whole_before(&self, until: Option<&[u8]>) -> Option<&Vec<u8>> {
        let below = (Bound::Unbounded, until.map_or(Bound::Unbounded, Bound::Excluded));
        let (from, end) = self.whole.range::<[u8], _>(below).next_back()?;
        let reaches = match (end.as_deref(), until) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(end), Some(until)) => until <= end,
        };
        reaches.then_some(from)
    }

    /// Joins a span with those that it touches.
    fn add_whole(&mut self, mut from: Vec<u8>, mut until: Option<Vec<u8>>) {
        let before = (Bound::Unbounded, Bound::Included(from.as_slice()));
        let touching = self.whole.range::<[u8], _>(before).next_back();
        if let Some((start, end)) = touching
            && end.as_ref().is_none_or(|it| from <= *it)
        {
            from.clone_from(start);
        }
        loop {
            let after = (Bound::Included(from.as_slice()), Bound::Unbounded);
            let next = self.whole.range::<[u8], _>(after).next();
            let Some((start, end)) = next else { break };
            if until.as_ref().is_some_and(|it| it < start) {
                break;
            }
            if until.as_ref().is_some_and(|it| end.as_ref().is_none_or(|end| it < end)) {
                until.clone_from(end);
            }
            let start = start.clone();
            self.whole.remove(&start);
        }
        self.whole.insert(from, until);
    }
}

fn bounds(span: &Span) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let until = span.until.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(&span.from), until)
}
