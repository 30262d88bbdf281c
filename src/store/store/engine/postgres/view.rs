//! One state for readers: a transaction that sees what was committed before it began.

use std::ops::ControlFlow;
use std::sync::Arc;

use tokio_postgres::types::Type;

use super::lease::Lease;
use super::rows;
use super::server::{REQUEST_TIMEOUT, Seated, Server};
use crate::store::engine::{Answer, Direction, Fault, Find, View, Visit};
use crate::store::row_key::Span;

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// The first statement of a transaction is what fixes its state. It also says whether another node took over. A server that
/// is a standby returns no row: its state may be an older one.
pub(super) const EPOCH: &str = "SELECT epoch FROM posture_head WHERE NOT pg_is_in_recovery()";
/// All tables, by one step along the primary key for each.
const TABLES: &str = "\
    WITH RECURSIVE names AS ( \
        (SELECT t FROM posture_rows ORDER BY t LIMIT 1) \
        UNION ALL \
        SELECT (SELECT t FROM posture_rows WHERE t > names.t ORDER BY t LIMIT 1) FROM names WHERE names.t IS NOT NULL \
    ) SELECT t FROM names WHERE t IS NOT NULL";

/// A connection in a transaction.
pub(super) struct ServerView {
    server: Arc<Server>,
    lease: Arc<Lease>,
    /// `None` only while it is dropped.
    seated: Option<Arc<Seated>>,
}

impl ServerView {
    /// # Errors
    /// `Broken` if another node took over.
    pub(super) fn begin(server: &Arc<Server>, lease: &Arc<Lease>) -> Answer<Self> {
        let of = server.clone();
        let (seated, now) = lease.wait(server, REQUEST_TIMEOUT, async move {
            let seated = of.seat().await?;
            let begin = seated.client.batch_execute(BEGIN);
            let head = seated.client.query_typed(EPOCH, &[]);
            let ((), head) = futures_util::future::try_join(begin, head).await?;
            let Some(head) = head.first() else {
                return Err(Fault::Unavailable("the server is a standby".into()));
            };
            Ok((seated, head.get::<_, i64>(0)))
        })?;
        let (server, lease) = (server.clone(), lease.clone());
        let epoch = lease.epoch;
        let view = Self { server, lease, seated: Some(Arc::new(seated)) };
        if now == epoch {
            return Ok(view);
        }
        Err(Fault::Broken("another node has taken over the database".into()))
    }

    /// Sends a request on the connection and waits for its answer.
    fn ask<T, W>(&self, work: impl FnOnce(Arc<Seated>) -> W) -> Answer<T>
    where
        T: Send + 'static,
        W: Future<Output = Answer<T>> + Send + 'static,
    {
        let seated = self.seated.clone().expect("it is there until it is dropped");
        self.lease.wait(&self.server, REQUEST_TIMEOUT, work(seated))
    }
}

impl Drop for ServerView {
    fn drop(&mut self) {
        let seated = self.seated.take().and_then(Arc::into_inner);
        // A request that took too long may still have it: then it ends with the request.
        if let Some(seated) = seated {
            let server = self.server.clone();
            self.server.start(async move { server.leave(seated).await });
        }
    }
}

impl View for ServerView {
    fn get(&self, table: &str, keys: &[&[u8]], each: Find<'_>) -> Answer<()> {
        let tables = vec![table.to_owned(); keys.len()];
        let wanted: Vec<Vec<u8>> = keys.iter().map(|it| it.to_vec()).collect();
        let mut found =
            self.ask(|it| async move { rows::find(&it.client, &tables, &wanted).await })?;
        found.sort_unstable_by(|(_, a, _), (_, b, _)| a.cmp(b));
        for key in keys {
            let place = found.binary_search_by(|(_, it, _)| it.as_slice().cmp(key));
            each(key, place.ok().map(|it| found[it].2.as_slice()));
        }
        Ok(())
    }

    fn visit(&self, table: &str, span: &Span, direction: Direction, each: Visit<'_>) -> Answer<()> {
        rows::visit((span, direction), each, |span, n_max| {
            let (table, span) = (table.to_owned(), span.clone());
            self.ask(
                |it| async move { rows::part(&it.client, (&table, &span, direction), n_max).await },
            )
        })
    }

    fn count(&self, table: &str) -> Answer<u64> {
        let table = table.to_owned();
        let n: i64 = self.ask(|it| async move {
            let sql = "SELECT count(*) FROM posture_rows WHERE t = $1";
            let params = &[(&table as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT)];
            let counted = it.client.query_typed_one(sql, params).await?;
            counted.try_get(0).map_err(Fault::from)
        })?;
        Ok(n.unsigned_abs())
    }

    /// A table without rows leaves nothing here.
    fn has_table(&self, table: &str) -> Answer<bool> {
        has_row(self, table)
    }

    fn list_tables(&self) -> Answer<Vec<String>> {
        self.ask(|it| async move {
            let rows = it.client.query_typed(TABLES, &[]).await?;
            rows.iter().map(|it| it.try_get(0).map_err(Fault::from)).collect()
        })
    }
}

pub(super) fn has_row(view: &impl View, table: &str) -> Answer<bool> {
    let mut is_there = false;
    view.visit(table, &Span::all(), Direction::Rising, &mut |_, _| {
        is_there = true;
        ControlFlow::Break(())
    })?;
    Ok(is_there)
}
