//! Status changes of requirements, of all clients, in commit order.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::fact::Status;
use crate::engine::framework::{FrameworkId, Level};
use crate::error::Result;
use crate::id::ClientId;
use crate::store::global::merge::{MergedPlaces, Order, client_key, sequence_of, starts};
use crate::store::kernel::meta;
use crate::store::kernel::transaction::{Reading, Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::{CHANGES, CLIENT_CHANGES};
use crate::store::{Batch, ClientBatch};

/// The maximum number of rows in one record. More rows take another record.
const N_ROWS_MAX: usize = 1_000;

/// One row that changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RowChange {
    /// The framework's own reference.
    pub reference: String,
    pub level: Level,
    pub from: Status,
    pub to: Status,
}

/// Rows of one framework that changed in one commit, before the writer numbers them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChanges {
    pub framework: FrameworkId,
    pub at: Time,
    /// The label of a source, or `catalogue`, `scope`, `assets`, `attestation`, `lapse`, `undo`.
    pub cause: String,
    /// At least one.
    pub rows: Vec<RowChange>,
}

/// The same rows, numbered. Their sequences are consecutive.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct ChangeRecord {
    /// The sequence of the last row.
    last: u64,
    client: ClientId,
    framework: FrameworkId,
    at: Time,
    cause: String,
    rows: Vec<RowChange>,
}

/// One row's change with its sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Rises by one, in commit order, over all clients. The first is 1.
    pub sequence: u64,
    pub client: ClientId,
    pub framework: FrameworkId,
    pub at: Time,
    pub cause: String,
    pub row: RowChange,
}

impl ChangeRecord {
    /// The rows after a sequence.
    fn placed(self, after: u64) -> impl Iterator<Item = Placed> {
        let Self { last, client, framework, at, cause, rows } = self;
        let before_first = last - rows.len() as u64;
        let numbered = (before_first + 1..).zip(rows).skip_while(move |(it, _)| *it <= after);
        numbered.map(move |(sequence, row)| {
            let cause = cause.clone();
            Placed { sequence, client, framework, at, cause, row }
        })
    }
}

impl Transaction<Reading> {
    /// Up to `limit` changes after a sequence, oldest first, of some clients or of all.
    pub fn list_changes(
        &self,
        after: u64,
        limit: usize,
        clients: Option<&[ClientId]>,
    ) -> Result<Vec<Placed>> {
        if let Some(clients) = clients {
            return self.list_changes_of(clients, after, limit);
        }
        let mut found = Vec::new();
        let span = Span::all().after(&after.to_be_bytes());
        self.rows.visit_rows(CHANGES, &span, &mut |key, bytes| {
            let record: ChangeRecord = self.rows.open_row(CHANGES, key, bytes)?;
            let n_left = limit - found.len();
            found.extend(record.placed(after).take(n_left));
            let is_full = found.len() == limit;
            Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }

    fn list_changes_of(
        &self,
        clients: &[ClientId],
        after: u64,
        limit: usize,
    ) -> Result<Vec<Placed>> {
        let from = (Order::Rising, Some(after.to_be_bytes()));
        let mut places: MergedPlaces<'_, _, 8> =
            MergedPlaces::of((&self.rows, CLIENT_CHANGES), starts(clients), from, limit)?;
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(place) = places.next()?
        {
            let record: Option<ChangeRecord> = self.rows.find_row(CHANGES, &place)?;
            let n_left = limit - found.len();
            found.extend(record.into_iter().flat_map(|it| it.placed(after)).take(n_left));
        }
        Ok(found)
    }

    /// The last `limit` changes, oldest first, of some clients or of all.
    pub fn list_newest_changes(
        &self,
        limit: usize,
        clients: Option<&[ClientId]>,
    ) -> Result<Vec<Placed>> {
        let log = (CHANGES, CLIENT_CHANGES);
        let mut places: MergedPlaces<'_, _, 8> =
            MergedPlaces::newest(&self.rows, log, (clients, None), limit)?;
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(place) = places.next()?
        {
            let record: Option<ChangeRecord> = self.rows.find_row(CHANGES, &place)?;
            let rising: Vec<_> = record.into_iter().flat_map(|it| it.placed(0)).collect();
            found.extend(rising.into_iter().rev());
        }
        found.truncate(limit);
        found.reverse();
        Ok(found)
    }
}

impl ClientBatch<'_> {
    /// Numbers the rows and stores them.
    pub fn add_changes(&mut self, new: &NewChanges) -> Result<()> {
        let NewChanges { framework, at, cause, rows } = new;
        let (client, framework, at) = (self.client, *framework, *at);
        for rows in rows.chunks(N_ROWS_MAX) {
            let last = self.rows.counts.change + rows.len() as u64;
            self.rows.counts.change = last;
            let (cause, rows) = (cause.clone(), rows.to_vec());
            let record = ChangeRecord { last, client, framework, at, cause, rows };
            self.rows.put_row(CLIENT_CHANGES, client_key(client, last).as_slice(), &())?;
            self.rows.put_row(CHANGES, &last.to_be_bytes(), &record)?;
        }
        Ok(())
    }
}

impl Batch {
    /// Removes up to `n_max` records of changes from before `time`, oldest first. Returns true if more may remain.
    pub fn remove_changes_before(&mut self, time: Time, n_max: usize) -> Result<bool> {
        let mut old: Vec<ChangeRecord> = self.rows.list_rows(CHANGES, &Span::all(), n_max)?;
        let is_full = old.len() == n_max;
        let n_old = old.iter().take_while(|it| it.at < time).count();
        old.truncate(n_old);
        for record in &old {
            self.remove_changes(record.client, record.last)?;
        }
        Ok(is_full && n_old == n_max)
    }

    /// Removes up to `n_max` records of a client's changes, and returns how many.
    pub(in crate::store) fn remove_client_changes(
        &mut self,
        client: ClientId,
        n_max: usize,
    ) -> Result<usize> {
        let span = Span::prefix(client.as_bytes());
        let keys = self.rows.list_keys_of(CLIENT_CHANGES, &span, n_max)?;
        for key in &keys {
            self.remove_changes(client, sequence_of(key))?;
        }
        Ok(keys.len())
    }

    fn remove_changes(&mut self, client: ClientId, last: u64) -> Result<()> {
        if last == self.rows.counts.change {
            // The table no longer shows the last sequence.
            meta::put_last_change(&mut self.rows, last)?;
        }
        self.rows.remove_row(CLIENT_CHANGES, client_key(client, last).as_slice())?;
        self.rows.remove_row(CHANGES, &last.to_be_bytes())?;
        Ok(())
    }
}
