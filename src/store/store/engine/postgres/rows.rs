//! Rows of the table of all rows: a part of a span, and many by their keys.

use std::ops::ControlFlow;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::store::engine::{Answer, Direction, Fault, Visit};
use crate::store::row_key::Span;

type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// Rows of a span that are read at first.
const N_FIRST: usize = 16;
/// At most so many are read at once.
const N_MAX: usize = 1_024;
/// About so many bytes are read at once, as far as the rows before tell.
const PART_BYTES: usize = 1024 * 1024;

const RISING: &str =
    "SELECT k, v FROM posture_rows WHERE t = $1 AND k >= $2 ORDER BY t, k LIMIT $3";
const RISING_UNTIL: &str =
    "SELECT k, v FROM posture_rows WHERE t = $1 AND k >= $2 AND k < $4 ORDER BY t, k LIMIT $3";
const FALLING: &str =
    "SELECT k, v FROM posture_rows WHERE t = $1 AND k >= $2 ORDER BY t DESC, k DESC LIMIT $3";
const FALLING_UNTIL: &str = "SELECT k, v FROM posture_rows WHERE t = $1 AND k >= $2 AND k < $4 ORDER BY t DESC, k DESC LIMIT $3";

const FIND: &str = "SELECT r.t, r.k, r.v FROM unnest($1, $2) AS w(t, k) JOIN posture_rows r ON r.t = w.t AND r.k = w.k";

/// A row's key and value.
pub(super) type KeyValue = (Vec<u8>, Vec<u8>);

/// The first rows of a span in a direction, at most `n_max`.
pub(super) async fn part(
    client: &Client,
    (table, span, direction): (&str, &Span, Direction),
    n_max: usize,
) -> Answer<Vec<KeyValue>> {
    let limit = i64::try_from(n_max).unwrap_or(i64::MAX);
    let mut params: Vec<Param<'_>> =
        vec![(&table, Type::TEXT), (&span.from, Type::BYTEA), (&limit, Type::INT8)];
    let sql = match (direction, &span.until) {
        (Direction::Rising, None) => RISING,
        (Direction::Rising, Some(_)) => RISING_UNTIL,
        (Direction::Falling, None) => FALLING,
        (Direction::Falling, Some(_)) => FALLING_UNTIL,
    };
    if let Some(until) = &span.until {
        params.push((until, Type::BYTEA));
    }
    let rows = client.query_typed(sql, &params).await?;
    rows.iter().map(|it| Ok((bytes(it, 0)?, bytes(it, 1)?))).collect()
}

/// The rows of these tables and keys that are there, in any order: table, key and value.
pub(super) async fn find(
    client: &Client,
    tables: &[String],
    keys: &[Vec<u8>],
) -> Answer<Vec<(String, Vec<u8>, Vec<u8>)>> {
    let params: [Param<'_>; 2] = [(&tables, Type::TEXT_ARRAY), (&keys, Type::BYTEA_ARRAY)];
    let rows = client.query_typed(FIND, &params).await?;
    let row = |it: &Row| Ok((it.try_get(0)?, bytes(it, 1)?, bytes(it, 2)?));
    rows.iter().map(row).collect()
}

pub(super) fn bytes(row: &Row, column: usize) -> Answer<Vec<u8>> {
    row.try_get(column).map_err(Fault::from)
}

/// Visits a span part by part, as `read` reads them. Each part is about as long as the bytes of the one before allow.
pub(super) fn visit(
    (span, direction): (&Span, Direction),
    each: Visit<'_>,
    mut read: impl FnMut(&Span, usize) -> Answer<Vec<KeyValue>>,
) -> Answer<()> {
    let (mut span, mut n) = (span.clone(), N_FIRST);
    while !span.is_empty() {
        let rows = read(&span, n)?;
        for (key, value) in &rows {
            if each(key, value) == ControlFlow::Break(()) {
                return Ok(());
            }
        }
        let Some((last, _)) = rows.last().filter(|_| n <= rows.len()) else { return Ok(()) };
        span = behind(span, direction, last);
        let n_bytes: usize = rows.iter().map(|(key, value)| key.len() + value.len()).sum();
        n = (PART_BYTES * rows.len() / n_bytes.max(1)).clamp(N_FIRST, N_MAX);
    }
    Ok(())
}

/// What is left of a span after the row with this key.
pub(super) fn behind(span: Span, direction: Direction, key: &[u8]) -> Span {
    match direction {
        Direction::Rising => span.after(key),
        Direction::Falling => span.before(key),
    }
}
