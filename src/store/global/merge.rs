//! Logs of several clients as one, in commit order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::error::Result;
use crate::id::ClientId;
use crate::store::kernel::transaction::Rows;
use crate::store::table::{RowKey, Span};

/// The key of a row in an index of a log by client.
pub(super) fn client_key(client: ClientId, sequence: u64) -> RowKey {
    RowKey::empty().bytes(client.as_bytes()).bytes(&sequence.to_be_bytes())
}

/// The sequence that such a key ends with.
pub(super) fn sequence_of(key: &[u8]) -> u64 {
    u64::from_be_bytes(*key.last_chunk().expect("every key of a log ends with its sequence"))
}

/// Sequences of one client that were read, and are not yet merged.
struct ClientLog {
    client: ClientId,
    read: VecDeque<u64>,
    /// No more were found behind those that were read.
    is_at_end: bool,
}

/// The sequences of some clients in an index by client, rising. Reads about as many keys as are taken, and one for each
/// client.
pub(super) struct MergedLog<'a, R> {
    rows: &'a R,
    table: &'a str,
    /// How many keys of one client are read at once.
    n_at_once: usize,
    logs: Vec<ClientLog>,
    /// The first sequence of each log that has one, and the log.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<'a, R: Rows> MergedLog<'a, R> {
    /// Those after a sequence, of which about `limit` will be taken.
    pub(super) fn of(
        (rows, table): (&'a R, &'a str),
        clients: &[ClientId],
        after: u64,
        limit: usize,
    ) -> Result<Self> {
        let mut clients = clients.to_vec();
        clients.sort_unstable();
        clients.dedup();
        let n_at_once = limit.div_ceil(clients.len().max(1)).max(1);
        let log = |client| ClientLog { client, read: VecDeque::new(), is_at_end: false };
        let logs = clients.into_iter().map(log).collect();
        let mut merged = Self { rows, table, n_at_once, logs, heads: BinaryHeap::new() };
        (0..merged.logs.len()).try_for_each(|log| merged.put_head(log, after))?;
        Ok(merged)
    }

    /// The next sequence. `None`: there are no more.
    pub(super) fn next(&mut self) -> Result<Option<u64>> {
        let Some(Reverse((sequence, log))) = self.heads.pop() else { return Ok(None) };
        self.put_head(log, sequence)?;
        Ok(Some(sequence))
    }

    /// Adds the first sequence of a log after the one that was taken from it.
    fn put_head(&mut self, index: usize, after: u64) -> Result<()> {
        let log = &mut self.logs[index];
        if log.read.is_empty() && !log.is_at_end {
            let after = client_key(log.client, after);
            let span = Span::prefix(log.client.as_bytes()).after(after.as_slice());
            let keys = self.rows.list_keys_of(self.table, &span, self.n_at_once)?;
            log.is_at_end = keys.len() < self.n_at_once;
            log.read = keys.iter().map(|it| sequence_of(it)).collect();
        }
        self.heads.extend(log.read.pop_front().map(|it| Reverse((it, index))));
        Ok(())
    }
}
