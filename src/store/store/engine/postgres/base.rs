//! The current state for the thread that commits: what is in memory. What is not is noted and fetched for all closures at
//! once, and then they run again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{try_join, try_join_all};
use tokio_postgres::Client;

use super::cache::RowCache;
use super::lease::Lease;
use super::rows;
use super::rows::KeyValue;
use super::server::{REQUEST_TIMEOUT, Server};
use super::view::has_row;
use crate::store::engine::{Answer, Direction, Fault, Find, View, Visit};
use crate::store::row_key::Span;

/// How often closures run again for rows that are not in memory. Then such a row is read at once, so that every group ends.
pub(super) const N_ROUNDS_MAX: usize = 3;
/// Rows of a span that are fetched in the first round, and how many times more in each further one.
const N_SPAN_ROWS: usize = 32;
const SPAN_GROWTH: usize = 4;
/// Rows in memory that are handed out at once.
const N_KNOWN: usize = 32;

/// What the committing thread knows, and what it has to fetch.
#[derive(Default)]
pub(super) struct Known {
    pub(super) cache: RowCache,
    pub(super) missing: Missing,
    /// How often closures ran again since the last commit.
    pub(super) n_rounds: usize,
}

/// Rows that were asked for and are not in memory.
#[derive(Default)]
pub(super) struct Missing {
    keys: BTreeSet<(String, Vec<u8>)>,
    spans: BTreeSet<(String, Span, Direction)>,
}

impl Missing {
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.spans.is_empty()
    }
}

/// The state after the last commit.
pub(super) struct BaseView {
    pub(super) server: Arc<Server>,
    pub(super) lease: Arc<Lease>,
    pub(super) known: Arc<Mutex<Known>>,
    /// What reads rows that are not in memory at once. `None`: they are noted instead.
    pub(super) client: Option<Arc<Client>>,
}

impl BaseView {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches what is missing, if it is to be read at once.
    fn fetch(&self, missing: Missing, n_span_rows: usize) -> Answer<()> {
        let Some(client) = &self.client else {
            let mut known = self.known();
            known.missing.keys.extend(missing.keys);
            known.missing.spans.extend(missing.spans);
            return Err(Fault::Refused("the row is not in memory yet".into()));
        };
        let at = (&*self.server, &self.lease);
        let fetched = fetch(at, client, Arc::new(missing), n_span_rows)?;
        fetched.keep(&mut self.known().cache);
        Ok(())
    }
}

impl View for BaseView {
    fn get(&self, table: &str, keys: &[&[u8]], each: Find<'_>) -> Answer<()> {
        let unknown = |known: &Known| -> BTreeSet<(String, Vec<u8>)> {
            let is_unknown = |it: &&&[u8]| known.cache.find(table, it).is_none();
            keys.iter().filter(is_unknown).map(|it| (table.to_owned(), it.to_vec())).collect()
        };
        let missing = unknown(&self.known());
        if !missing.is_empty() {
            self.fetch(Missing { keys: missing, ..Missing::default() }, 0)?;
        }
        for key in keys {
            // A copy: `each` may read on.
            let row = self.known().cache.find(table, key).flatten().map(<[u8]>::to_vec);
            each(key, row.as_deref());
        }
        Ok(())
    }

    fn visit(&self, table: &str, span: &Span, direction: Direction, each: Visit<'_>) -> Answer<()> {
        let mut n_fetched = N_SPAN_ROWS;
        let mut left = Some(span.clone()).filter(|it| !it.is_empty());
        while let Some(span) = left {
            let part = self.known().cache.part(table, &span, direction);
            let Some(part) = part else {
                let spans = BTreeSet::from([(table.to_owned(), span.clone(), direction)]);
                self.fetch(Missing { spans, ..Missing::default() }, n_fetched)?;
                n_fetched = (n_fetched * SPAN_GROWTH).min(N_SPAN_ROWS * SPAN_GROWTH * SPAN_GROWTH);
                left = Some(span);
                continue;
            };
            let mut known = part.known;
            loop {
                let rows = self.known().cache.list((table, &known, direction), N_KNOWN);
                for (key, value) in &rows {
                    if each(key, value).is_break() {
                        return Ok(());
                    }
                }
                let Some((last, _)) = rows.last().filter(|_| rows.len() == N_KNOWN) else { break };
                known = rows::behind(known, direction, last);
            }
            left = part.rest.filter(|it| !it.is_empty());
        }
        Ok(())
    }

    fn count(&self, table: &str) -> Answer<u64> {
        let mut n = 0;
        self.visit(table, &Span::all(), Direction::Rising, &mut |_, _| {
            n += 1;
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(n)
    }

    fn has_table(&self, table: &str) -> Answer<bool> {
        has_row(self, table)
    }

    /// No closure asks for it.
    fn list_tables(&self) -> Answer<Vec<String>> {
        Err(Fault::Refused("a write cannot list tables".into()))
    }
}

/// What was missing, as it is.
pub(super) struct Fetched {
    keys: Vec<(String, Vec<u8>)>,
    found: Vec<(String, Vec<u8>, Vec<u8>)>,
    spans: Vec<(String, Span, Direction, Vec<KeyValue>)>,
    n_span_rows: usize,
}

impl Fetched {
    pub(super) fn keep(self, cache: &mut RowCache) {
        for (table, key) in self.keys {
            cache.put(&table, &key, None);
        }
        for (table, key, value) in self.found {
            cache.put(&table, &key, Some(&value));
        }
        for (table, span, direction, rows) in self.spans {
            for (key, value) in &rows {
                cache.put(&table, key, Some(value));
            }
            let last = rows.last().filter(|_| self.n_span_rows <= rows.len());
            // Fewer than wanted are all of the span.
            let Span { from, until } = span;
            let whole = match (last, direction) {
                (None, _) => Span { from, until },
                (Some((last, _)), Direction::Rising) => Span { from, until: Some(next_key(last)) },
                (Some((last, _)), Direction::Falling) => Span { from: last.clone(), until },
            };
            cache.put_whole(&table, &whole);
        }
    }
}

/// The first key after this one.
fn next_key(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// How many rows of a span are fetched after so many rounds.
pub(super) fn n_span_rows(n_rounds: usize) -> usize {
    (0..n_rounds.min(N_ROUNDS_MAX - 1)).fold(N_SPAN_ROWS, |n, _| n * SPAN_GROWTH)
}

/// Fetches everything that is missing in one round trip.
pub(super) fn fetch(
    (server, lease): (&Server, &Arc<Lease>),
    client: &Arc<Client>,
    missing: Arc<Missing>,
    n_span_rows: usize,
) -> Answer<Fetched> {
    let client = client.clone();
    lease.wait(server, REQUEST_TIMEOUT, async move {
        let keys: Vec<_> = missing.keys.iter().cloned().collect();
        let (of_tables, of_keys): (Vec<_>, Vec<_>) = keys.iter().cloned().unzip();
        let found = async {
            // The server is not asked for nothing.
            if of_keys.is_empty() {
                Ok(Vec::new())
            } else {
                rows::find(&client, &of_tables, &of_keys).await
            }
        };
        let spans = missing.spans.iter().map(|(table, span, direction)| {
            rows::part(&client, (table, span, *direction), n_span_rows)
        });
        let (found, parts) = try_join(found, try_join_all(spans)).await?;
        let spans = missing.spans.iter().cloned().zip(parts);
        let spans = spans.map(|((table, span, direction), rows)| (table, span, direction, rows));
        Ok(Fetched { keys, found, spans: spans.collect(), n_span_rows })
    })
}
