//! Rows of several clients as one list, in the order in which they were added.

use std::collections::{BTreeSet, VecDeque};

use crate::error::Result;
use crate::id::ClientId;
use crate::store::kernel::transaction::Rows;
use crate::store::row_key::{RowKey, Span};

/// The key of a row in an index of a log by client.
pub(super) fn client_key(client: ClientId, sequence: u64) -> RowKey {
    RowKey::empty().bytes(client.as_bytes()).bytes(&sequence.to_be_bytes())
}

/// The sequence that such a key ends with.
pub(super) fn sequence_of(key: &[u8]) -> u64 {
    u64::from_be_bytes(*key.last_chunk().expect("every key of a log ends with its sequence"))
}

/// Where the keys of these clients start in an index by client, each client once.
pub(super) fn starts(clients: &[ClientId]) -> Vec<RowKey> {
    let clients: BTreeSet<&ClientId> = clients.iter().collect();
    clients.into_iter().map(|it| RowKey::empty().bytes(it.as_bytes())).collect()
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Rising,
    Falling,
}

/// What follows several starts in the keys of a table, in one order. Reads about as many keys as are taken, and a few for
/// each start.
pub(super) struct MergedPlaces<'a, R, const N: usize> {
    rows: &'a R,
    table: &'a str,
    order: Order,
    /// How many keys of one start are read at once.
    n_at_once: usize,
    /// Each start, and the places behind it that were read and are not yet merged.
    parts: Vec<(RowKey, VecDeque<[u8; N]>)>,
    /// The next place of each part that has one, and the part's index.
    heads: BTreeSet<([u8; N], usize)>,
}

impl<'a, R: Rows, const N: usize> MergedPlaces<'a, R, N> {
    /// Those beyond a place (`None`: from the first one in this order), of which about `n_taken` will be taken.
    pub(super) fn of(
        (rows, table): (&'a R, &'a str),
        starts: Vec<RowKey>,
        (order, beyond): (Order, Option<[u8; N]>),
        n_taken: usize,
    ) -> Result<Self> {
        let n_at_once = n_taken.div_ceil(starts.len().max(1)).max(1);
        let parts = starts.into_iter().map(|it| (it, VecDeque::new())).collect();
        let mut merged = Self { rows, table, order, n_at_once, parts, heads: BTreeSet::new() };
        (0..merged.parts.len()).try_for_each(|part| merged.put_head(part, beyond))?;
        Ok(merged)
    }

    /// The keys of a log from the last one on, or from before a place, of all or of some clients. `log`: its table, and that
    /// of its index by client.
    pub(super) fn newest(
        rows: &'a R,
        log: (&'a str, &'a str),
        (clients, before): (Option<&[ClientId]>, Option<[u8; N]>),
        n_taken: usize,
    ) -> Result<Self> {
        let (table, starts) = match clients {
            None => (log.0, vec![RowKey::empty()]),
            Some(clients) => (log.1, starts(clients)),
        };
        Self::of((rows, table), starts, (Order::Falling, before), n_taken)
    }

    /// The next place. `None`: there are no more.
    pub(super) fn next(&mut self) -> Result<Option<[u8; N]>> {
        let head = match self.order {
            Order::Rising => self.heads.pop_first(),
            Order::Falling => self.heads.pop_last(),
        };
        let Some((place, part)) = head else { return Ok(None) };
        self.put_head(part, Some(place))?;
        Ok(Some(place))
    }

    /// Adds the first place of a part beyond the one that was taken from it.
    fn put_head(&mut self, part: usize, beyond: Option<[u8; N]>) -> Result<()> {
        let (start, read) = &mut self.parts[part];
        if read.is_empty() {
            let (all, beyond) =
                (Span::prefix(start.as_slice()), beyond.map(|it| start.clone().bytes(&it)));
            let (table, n) = (self.table, self.n_at_once);
            let keys = match self.order {
                Order::Rising => {
                    let rest = beyond.iter().fold(all, |all, it| all.after(it.as_slice()));
                    self.rows.list_keys_of(table, &rest, n)?
                }
                Order::Falling => {
                    let rest = beyond.iter().fold(all, |all, it| all.before(it.as_slice()));
                    self.rows.list_keys_back(table, &rest, n)?
                }
            };
            let place = |key: &Vec<u8>| *key.last_chunk().expect("every key ends with its place");
            *read = keys.iter().map(place).collect();
        }
        self.heads.extend(read.pop_front().map(|it| (it, part)));
        Ok(())
    }
}
