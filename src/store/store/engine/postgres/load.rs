//! Filling a table beside that of all rows, and putting it in its place.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_postgres::Client;

use super::commit::{self, Commit, Outcome, Part};
use super::view::EPOCH;
use super::{PostgresEngine, lapsed};
use crate::secret::random;
use crate::store::engine::{Answer, Fault, Overlay};

/// How long a part may take, and the end, which counts all rows.
const LOAD_TIMEOUT: Duration = Duration::from_hours(1);

const PUT: &str = "INSERT INTO posture_rows_new (t, k, v) SELECT * FROM unnest($1, $2, $3)";
/// What the rows that are being loaded are together in the end.
const LOADED: &str = "SELECT obj_description(to_regclass('posture_rows_new'), 'pg_class')";
const COUNT: &str =
    "SELECT count(*), coalesce(sum(length(k) + length(v)), 0)::bigint FROM posture_rows_new";

impl PostgresEngine {
    /// Runs `work` in a transaction on the connection of the thread that commits, unless another node has begun an epoch.
    fn in_transaction<T, W>(&self, work: impl FnOnce(Arc<Client>) -> W) -> Answer<T>
    where
        T: Send + 'static,
        W: Future<Output = Answer<T>> + Send + 'static,
    {
        let client = self.client(&mut self.committer())?;
        let work = work(client.clone());
        let epoch = self.lease.epoch;
        self.wait(LOAD_TIMEOUT, async move {
            client.batch_execute("BEGIN").await?;
            let now: i64 = client.query_typed_one(EPOCH, &[]).await?.get(0);
            let done = if now == epoch { work.await } else { Err(lapsed()) };
            match done {
                Ok(done) => {
                    client.batch_execute("COMMIT").await.map(|()| done).map_err(Fault::from)
                }
                Err(fault) => {
                    // Fails with the connection, and the transaction with both.
                    drop(client.batch_execute("ROLLBACK").await);
                    Err(fault)
                }
            }
        })
    }

    /// Begins to load rows that take the place of all others in the end, or goes on with it. `digest`: what they are together.
    /// Returns how many rows of the same are loaded already.
    pub(in crate::store) fn begin_load(&self, digest: &str) -> Answer<u64> {
        let begin = format!(
            "DROP TABLE IF EXISTS posture_rows_new; \
             CREATE TABLE posture_rows_new (LIKE posture_rows INCLUDING ALL) WITH (fillfactor = 90); \
             COMMENT ON TABLE posture_rows_new IS '{digest}'"
        );
        let digest = digest.to_owned();
        self.in_transaction(|it| async move {
            let found: Option<String> = it.query_typed_one(LOADED, &[]).await?.get(0);
            if found.is_some_and(|it| it == digest) {
                let counted: i64 = it.query_typed_one(COUNT, &[]).await?.get(0);
                return Ok(counted.unsigned_abs());
            }
            it.batch_execute(&begin).await?;
            Ok(0)
        })
    }

    /// Loads rows, which were not loaded before: all of them or none.
    pub(in crate::store) fn load(&self, rows: Overlay) -> Answer<()> {
        self.in_transaction(|it| async move {
            for part in Part::of(&rows).0 {
                part.put(&it, PUT).await?;
            }
            Ok(())
        })
    }

    /// Puts the loaded rows in the place of all others, if they are so many with so many bytes. `kept`: the name of the
    /// table with the others from then on. `None`: they are dropped.
    pub(in crate::store) fn finish_load(
        &self,
        (n_rows, n_bytes): (u64, u64),
        kept: Option<&str>,
    ) -> Answer<()> {
        let aside = match kept {
            Some(name) => format!("ALTER TABLE posture_rows RENAME TO {name}"),
            None => "DROP TABLE posture_rows".to_owned(),
        };
        let end = format!(
            "{aside}; ALTER TABLE posture_rows_new RENAME TO posture_rows; COMMENT ON TABLE posture_rows IS NULL"
        );
        let after = self.opening.commit.load(Ordering::Relaxed);
        let (writes, epoch) = (Overlay::default(), self.lease.epoch);
        let commit = Arc::new(Commit { writes, after, epoch, mark: random() });
        let fenced = commit.clone();
        let finished = self.in_transaction(|it| async move {
            if !commit::fence(&it, &fenced).await? {
                return Err(lapsed());
            }
            let counted = it.query_typed_one(COUNT, &[]).await?;
            let found: (i64, i64) = (counted.get(0), counted.get(1));
            if (found.0.unsigned_abs(), found.1.unsigned_abs()) != (n_rows, n_bytes) {
                return Err(Fault::Damaged("the server has not kept all rows".into()));
            }
            Ok(it.batch_execute(&end).await?)
        });
        match finished {
            Ok(()) => (),
            Err(Fault::Damaged(cause)) => {
                // The next load must not go on with it.
                self.in_transaction(|it| async move {
                    Ok(it.batch_execute("DROP TABLE posture_rows_new").await?)
                })?;
                return Err(Fault::Damaged(cause));
            }
            Err(fault) => {
                let settle = |client: &Arc<Client>| self.settle(client, &commit);
                if self.patiently(&mut self.committer(), settle)? != Outcome::Durable {
                    return Err(fault);
                }
            }
        }
        self.opening.commit.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
