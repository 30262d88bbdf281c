//! Rows of several clients as one list, in the order in which they were added.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use crate::error::Result;
use crate::id::ClientId;
use crate::store::kernel::transaction::{Reading, Rows};
use crate::store::table::{RowKey, Span};

/// The key of a row in an index of a log by client.
pub(super) fn client_key(client: ClientId, sequence: u64) -> RowKey {
    RowKey::empty().bytes(client.as_bytes()).bytes(&sequence.to_be_bytes())
}

/// The sequence that such a key ends with.
pub(super) fn sequence_of(key: &[u8]) -> u64 {
    u64::from_be_bytes(*key.last_chunk().expect("every key of a log ends with its sequence"))
}

/// Places of one client that were read, and are not yet merged.
struct ClientPlaces<const N: usize> {
    client: ClientId,
    read: VecDeque<[u8; N]>,
    /// No more were found behind those that were read.
    is_at_end: bool,
}

/// What follows the client in the keys of an index by client, of some clients, rising. Reads about as many keys as are
/// taken, and one for each client.
pub(super) struct MergedPlaces<'a, R, const N: usize> {
    rows: &'a R,
    table: &'a str,
    /// How many keys of one client are read at once.
    n_at_once: usize,
    clients: Vec<ClientPlaces<N>>,
    /// The first place of each client that has one, and the client's index.
    heads: BinaryHeap<Reverse<([u8; N], usize)>>,
}

impl<'a, R: Rows, const N: usize> MergedPlaces<'a, R, N> {
    /// Those after a place, of which about `limit` will be taken.
    pub(super) fn of(
        (rows, table): (&'a R, &'a str),
        clients: &[ClientId],
        after: [u8; N],
        limit: usize,
    ) -> Result<Self> {
        let mut clients = clients.to_vec();
        clients.sort_unstable();
        clients.dedup();
        let n_at_once = limit.div_ceil(clients.len().max(1)).max(1);
        let unread = |client| ClientPlaces { client, read: VecDeque::new(), is_at_end: false };
        let clients = clients.into_iter().map(unread).collect();
        let mut merged = Self { rows, table, n_at_once, clients, heads: BinaryHeap::new() };
        (0..merged.clients.len()).try_for_each(|index| merged.put_head(index, after))?;
        Ok(merged)
    }

    /// The next place. `None`: there are no more.
    pub(super) fn next(&mut self) -> Result<Option<[u8; N]>> {
        let Some(Reverse((place, index))) = self.heads.pop() else { return Ok(None) };
        self.put_head(index, place)?;
        Ok(Some(place))
    }

    /// Adds the first place of a client after the one that was taken from it.
    fn put_head(&mut self, index: usize, after: [u8; N]) -> Result<()> {
        let of_client = &mut self.clients[index];
        if of_client.read.is_empty() && !of_client.is_at_end {
            let client = of_client.client.as_bytes();
            let after = RowKey::empty().bytes(client).bytes(&after);
            let span = Span::prefix(client).after(after.as_slice());
            let keys = self.rows.list_keys_of(self.table, &span, self.n_at_once)?;
            of_client.is_at_end = keys.len() < self.n_at_once;
            let place = |key: &Vec<u8>| *key.last_chunk().expect("every key ends with its place");
            of_client.read = keys.iter().map(place).collect();
        }
        self.heads.extend(of_client.read.pop_front().map(|it| Reverse((it, index))));
        Ok(())
    }
}

/// The keys of one log that were read, and are not yet merged, falling.
struct LogTail {
    /// The client, or nothing for the log of all.
    start: RowKey,
    read: VecDeque<[u8; 8]>,
}

/// The sequences of a log, of all or of some clients, falling.
pub(super) struct Newest<'a> {
    rows: &'a Reading,
    table: &'a str,
    /// How many keys of one client are read at once.
    n_at_once: usize,
    tails: Vec<LogTail>,
    heads: BinaryHeap<([u8; 8], usize)>,
}

impl<'a> Newest<'a> {
    /// `log`: its table, and the table of its index by client. About `limit` will be taken.
    pub(super) fn of(
        rows: &'a Reading,
        log: (&'a str, &'a str),
        clients: Option<&[ClientId]>,
        limit: usize,
    ) -> Result<Self> {
        let (table, starts) = match clients {
            None => (log.0, vec![RowKey::empty()]),
            Some(clients) => {
                let clients: BTreeSet<&ClientId> = clients.iter().collect();
                let start = |it: &ClientId| RowKey::empty().bytes(it.as_bytes());
                (log.1, clients.into_iter().map(start).collect())
            }
        };
        let n_at_once = limit.div_ceil(starts.len().max(1)).max(1);
        let unread = |start| LogTail { start, read: VecDeque::new() };
        let tails = starts.into_iter().map(unread).collect();
        let mut newest = Self { rows, table, n_at_once, tails, heads: BinaryHeap::new() };
        (0..newest.tails.len()).try_for_each(|index| newest.put_head(index, None))?;
        Ok(newest)
    }

    /// The next sequence. `None`: there are no more.
    pub(super) fn next(&mut self) -> Result<Option<[u8; 8]>> {
        let Some((place, index)) = self.heads.pop() else { return Ok(None) };
        self.put_head(index, Some(place))?;
        Ok(Some(place))
    }

    fn put_head(&mut self, index: usize, before: Option<[u8; 8]>) -> Result<()> {
        let LogTail { start, read } = &mut self.tails[index];
        if read.is_empty() {
            let mut span = Span::prefix(start.as_slice());
            if let Some(before) = before {
                span = span.before(start.clone().bytes(&before).as_slice());
            }
            let keys = self.rows.list_keys_back(self.table, &span, self.n_at_once)?;
            let place = |key: &Vec<u8>| *key.last_chunk().expect("every key ends with its place");
            *read = keys.iter().map(place).collect();
        }
        self.heads.extend(read.pop_front().map(|it| (it, index)));
        Ok(())
    }
}
