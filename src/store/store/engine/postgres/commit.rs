//! Commits: all rows in one transaction, which the head row fences, and whose outcome is known even if the connection is lost.

use std::sync::Arc;

use futures_util::future::{try_join, try_join3};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};

use crate::store::engine::Overlay;

/// Rows are sent in parts of about so many bytes: one message to the server is at most 1 GiB.
const PART_BYTES: usize = 16 * 1024 * 1024;

/// A node that is lost in the middle of a commit does not hold the head row against the next one for longer.
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'";
/// Moves the head. It finds nothing if another node has begun an epoch, and waits for what still holds the row.
const FENCE: &str =
    "UPDATE posture_head SET commit = commit + 1, mark = $3 WHERE commit = $1 AND epoch = $2";
const DELETE_TABLES: &str = "DELETE FROM posture_rows WHERE t = ANY($1)";
const PUT: &str = "\
    INSERT INTO posture_rows (t, k, v) SELECT * FROM unnest($1, $2, $3) \
    ON CONFLICT (t, k) DO UPDATE SET v = excluded.v";
const REMOVE: &str = "\
    DELETE FROM posture_rows r USING unnest($1, $2) AS w(t, k) WHERE r.t = w.t AND r.k = w.k";
/// Waits for a commit that is still in progress.
const HEAD: &str = "SELECT commit, epoch, mark FROM posture_head FOR UPDATE";

/// Random bytes that name one commit.
pub(super) type Mark = [u8; 16];

/// One commit.
pub(super) struct Commit {
    pub(super) writes: Overlay,
    /// The number of the commit before it.
    pub(super) after: i64,
    pub(super) epoch: i64,
    pub(super) mark: Mark,
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Durable,
    /// It has had no effect, and may be tried again.
    Undone,
    /// Another node has begun an epoch.
    Fenced,
}

/// Rows to put or remove, in parts.
#[derive(Default)]
pub(super) struct Part<'a> {
    tables: Vec<&'a str>,
    keys: Vec<&'a [u8]>,
    /// Of each row. Empty: they are removed.
    values: Vec<&'a [u8]>,
    n_bytes: usize,
}

impl<'a> Part<'a> {
    /// The rows that an overlay puts and those that it removes.
    pub(super) fn of(writes: &'a Overlay) -> (Vec<Self>, Vec<Self>) {
        let (mut puts, mut removed) = (Vec::new(), Vec::new());
        for (table, writes) in writes.tables() {
            for (key, value) in &writes.rows {
                let parts = if value.is_some() { &mut puts } else { &mut removed };
                Self::add(parts, table, key, value.as_deref());
            }
        }
        (puts, removed)
    }

    fn add(parts: &mut Vec<Self>, table: &'a str, key: &'a [u8], value: Option<&'a [u8]>) {
        if parts.last().is_none_or(|it| PART_BYTES <= it.n_bytes) {
            parts.push(Self::default());
        }
        let part = parts.last_mut().expect("one was just added");
        part.tables.push(table);
        part.keys.push(key);
        part.values.extend(value);
        part.n_bytes += table.len() + key.len() + value.map_or(0, <[u8]>::len);
    }

    /// `sql` inserts them.
    pub(super) async fn put(&self, client: &Client, sql: &str) -> Result<u64, Error> {
        let Self { tables, keys, values, .. } = self;
        let params: [(&(dyn ToSql + Sync), Type); 3] =
            [(tables, Type::TEXT_ARRAY), (keys, Type::BYTEA_ARRAY), (values, Type::BYTEA_ARRAY)];
        client.execute_typed(sql, &params).await
    }

    async fn remove(&self, client: &Client) -> Result<u64, Error> {
        let params: [(&(dyn ToSql + Sync), Type); 2] =
            [(&self.tables, Type::TEXT_ARRAY), (&self.keys, Type::BYTEA_ARRAY)];
        client.execute_typed(REMOVE, &params).await
    }
}

/// Moves the head in the transaction that is begun. Returns false if another node has begun an epoch.
///
/// # Errors
/// Those of the connection or the server.
pub(super) async fn fence(client: &Client, commit: &Commit) -> Result<bool, Error> {
    let mark = commit.mark.as_slice();
    let params: [(&(dyn ToSql + Sync), Type); 3] =
        [(&commit.after, Type::INT8), (&commit.epoch, Type::INT8), (&mark, Type::BYTEA)];
    Ok(client.execute_typed(FENCE, &params).await? == 1)
}

/// Sends the whole transaction: the fence in one round trip, and the rows with the end in another.
///
/// # Errors
/// Those of the connection or the server. Then only [`settle`] knows the outcome.
pub(super) async fn send(client: &Client, commit: Arc<Commit>) -> Result<Outcome, Error> {
    let writes = &commit.writes;
    let begun = try_join(client.batch_execute(BEGIN), fence(client, &commit)).await;
    if !begun?.1 {
        client.batch_execute("ROLLBACK").await?;
        return Ok(Outcome::Fenced);
    }
    let deleted: Vec<&str> =
        writes.tables().filter(|(_, it)| it.is_deleted).map(|(table, _)| table).collect();
    let (mut puts, mut removed) = Part::of(writes);
    if !deleted.is_empty() {
        let tables: [(&(dyn ToSql + Sync), Type); 1] = [(&deleted, Type::TEXT_ARRAY)];
        client.execute_typed(DELETE_TABLES, &tables).await?;
    }
    let last = puts.pop().unwrap_or_default();
    for part in &puts {
        part.put(client, PUT).await?;
    }
    let last_removed = removed.pop().unwrap_or_default();
    for part in &removed {
        part.remove(client).await?;
    }
    try_join3(last.put(client, PUT), last_removed.remove(client), client.batch_execute("COMMIT"))
        .await?;
    Ok(Outcome::Durable)
}

/// What became of a commit whose connection was lost.
///
/// # Errors
/// Those of the connection or the server.
pub(super) async fn settle(client: &Client, commit: &Commit) -> Result<Outcome, Error> {
    let row = client.query_typed_one(HEAD, &[]).await?;
    let (number, epoch, mark): (i64, i64, Vec<u8>) = (row.get(0), row.get(1), row.get(2));
    Ok(if mark == commit.mark {
        Outcome::Durable
    } else if (number, epoch) == (commit.after, commit.epoch) {
        Outcome::Undone
    } else {
        Outcome::Fenced
    })
}
