//! The lease: which node is active. It is renewed while the database is open, and another node may take it over when it was
//! not. That no two nodes commit does not depend on it, nor on time: each commit names the epoch of its node.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::lapsed;
use super::server::Server;
use crate::error::Chain;
use crate::secret::random;
use crate::store::engine::{ActiveNode, Answer, Fault};

/// How often the lease is renewed.
const RENEW_EVERY: Duration = Duration::from_secs(3);
/// After a failure it is tried again so soon.
const RETRY_EVERY: Duration = Duration::from_millis(500);
/// When another node may take over, by the clock of the server.
const LEASE_S: f64 = 10.0;
/// When this node stops answering, by its own clock, from when it asked for the last renewal: before another one may begin.
const ANSWERS_FOR: Duration = Duration::from_secs(8);

/// Takes the lease and begins an epoch. At first ($5 is null) if it is free or was this node's; later on only if nobody else
/// had it since. A copy of a machine has its id and another name, so a node is identified by both. A commit of an earlier epoch that is
/// still in progress ends first, because it has locked the head row.
const TAKE: &str = "\
    WITH mine AS ( \
        UPDATE posture_lease SET node = $1, name = $2, token = $3, \
            until = clock_timestamp() + make_interval(secs => $4) \
        WHERE node = $1 AND token = $5 \
            OR $5 IS NULL AND (until IS NULL OR until < clock_timestamp() OR node = $1 AND name = $2) \
        RETURNING 1 \
    ) \
    UPDATE posture_head SET epoch = epoch + 1 WHERE EXISTS (SELECT FROM mine) RETURNING epoch, commit";

/// Does nothing after a release.
const RENEW: &str = "\
    UPDATE posture_lease SET until = clock_timestamp() + make_interval(secs => $2) WHERE token = $1 AND until IS NOT NULL";
const RELEASE: &str = "UPDATE posture_lease SET until = NULL WHERE token = $1";
const OTHER_HOLDER: &str = "\
    SELECT name, epoch, greatest(0, $2 - extract(epoch FROM until - clock_timestamp())::float8) \
    FROM posture_lease, posture_head WHERE clock_timestamp() < until AND (node <> $1 OR name <> $3)";
const HOLDER: &str = "SELECT name FROM posture_lease";

/// Who opens the database.
#[derive(Clone, Debug)]
pub(in crate::store) struct Node {
    /// The same for each process on a data directory, of which only one is alive.
    pub(in crate::store) id: [u8; 16],
    /// For messages to people.
    pub(in crate::store) name: String,
}

/// Names the lease of one process. Nobody else has it.
pub(in crate::store) type Token = [u8; 16];

/// The lease of this process.
pub(super) struct Lease {
    /// Of the node.
    name: String,
    pub(super) token: Token,
    /// No other node has committed while it is the epoch of the database.
    pub(super) epoch: i64,
    since: Instant,
    /// When the last renewal that succeeded was asked for: milliseconds after `since`.
    renewed_ms: AtomicU64,
    /// Another node has it.
    is_lost: AtomicBool,
}

impl Lease {
    /// The lease, and the number of the last commit. `None`: another node has it. `before`: the lease to go on with, whose
    /// token it keeps: an attempt whose answer was lost is no other node's.
    pub(super) async fn take(
        client: &Client,
        node: &Node,
        before: Option<Token>,
    ) -> Answer<Option<(Self, i64)>> {
        let since = Instant::now();
        let token: Token = before.unwrap_or_else(random);
        let (id, new) = (node.id.as_slice(), token.as_slice());
        let before = before.as_ref().map(<[u8; 16]>::as_slice);
        let params: [(&(dyn ToSql + Sync), Type); 5] = [
            (&id, Type::BYTEA),
            (&node.name, Type::TEXT),
            (&new, Type::BYTEA),
            (&LEASE_S, Type::FLOAT8),
            (&before, Type::BYTEA),
        ];
        let row = client.query_typed_opt(TAKE, &params).await?;
        let Some(row) = row else { return Ok(None) };
        let (epoch, commit) = (row.get(0), row.get(1));
        let (renewed_ms, is_lost) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Some((
            Self { name: node.name.clone(), token, epoch, since, renewed_ms, is_lost },
            commit,
        )))
    }

    /// Whether no other node can have it.
    pub(super) fn is_valid(&self) -> bool {
        self.left().is_some()
    }

    /// How long no other node can have it.
    fn left(&self) -> Option<Duration> {
        let left = ANSWERS_FOR.checked_sub(self.age());
        left.filter(|it| !it.is_zero() && !self.is_lost.load(Ordering::Acquire))
    }

    /// Since when it was not renewed.
    fn age(&self) -> Duration {
        let renewed = Duration::from_millis(self.renewed_ms.load(Ordering::Acquire));
        self.since.elapsed().saturating_sub(renewed)
    }

    pub(super) fn node(&self) -> ActiveNode {
        ActiveNode {
            name: self.name.clone(),
            epoch: self.epoch.unsigned_abs(),
            lease_age: self.age(),
        }
    }

    /// Runs `work` and blocks until it is done: no longer than `limit`, nor than no other node can have it.
    pub(super) fn wait<T: Send + 'static>(
        self: &Arc<Self>,
        server: &Server,
        limit: Duration,
        work: impl Future<Output = Answer<T>> + Send + 'static,
    ) -> Answer<T> {
        let lease = self.clone();
        server.wait(limit, async move {
            tokio::select! {
                biased;
                done = work => done,
                () = lease.end() => Err(lapsed()),
            }
        })
    }

    /// Waits until another node can have it.
    async fn end(&self) {
        while let Some(left) = self.left() {
            sleep(left).await;
        }
    }

    /// Returns false if another node has it.
    async fn renew(&self, client: &Client) -> Answer<bool> {
        let asked = self.since.elapsed();
        let token = self.token.as_slice();
        let params: [(&(dyn ToSql + Sync), Type); 2] =
            [(&token, Type::BYTEA), (&LEASE_S, Type::FLOAT8)];
        let is_mine = client.execute_typed(RENEW, &params).await? == 1;
        if is_mine {
            let asked_ms = u64::try_from(asked.as_millis()).unwrap_or(u64::MAX);
            self.renewed_ms.store(asked_ms, Ordering::Release);
        } else {
            self.is_lost.store(true, Ordering::Release);
        }
        Ok(is_mine)
    }

    /// Lets another node take it at once.
    pub(super) async fn release(&self, client: &Client) -> Answer<()> {
        let token = self.token.as_slice();
        let params: [(&(dyn ToSql + Sync), Type); 1] = [(&token, Type::BYTEA)];
        client.execute_typed(RELEASE, &params).await.map_err(Fault::from).map(|_| ())
    }
}

/// The name of the node that has the lease.
pub(super) async fn holder(client: &Client) -> Answer<String> {
    let row = client.query_typed_one(HOLDER, &[]).await?;
    row.try_get(0).map_err(Fault::from)
}

/// Another node that has the lease now.
pub(super) async fn other_holder(client: &Client, node: &Node) -> Answer<Option<ActiveNode>> {
    let id = node.id.as_slice();
    let params: [(&(dyn ToSql + Sync), Type); 3] =
        [(&id, Type::BYTEA), (&LEASE_S, Type::FLOAT8), (&node.name, Type::TEXT)];
    let Some(row) = client.query_typed_opt(OTHER_HOLDER, &params).await? else { return Ok(None) };
    let (name, epoch, age_s): (_, i64, f64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let lease_age = Duration::try_from_secs_f64(age_s).unwrap_or_default();
    Ok(Some(ActiveNode { name, epoch: epoch.unsigned_abs(), lease_age }))
}

/// Renews the lease on a connection of its own, until it is lost or the database is closed.
pub(super) async fn keep(server: Weak<Server>, lease: Arc<Lease>) {
    let mut client: Option<Client> = None;
    let mut pause = RENEW_EVERY;
    loop {
        sleep(pause).await;
        let Some(server) = server.upgrade() else { return };
        pause = match renew(&server, &lease, &mut client).await {
            Ok(true) => RENEW_EVERY,
            Ok(false) => return,
            Err(fault) => {
                let cause = fault.into_cause();
                tracing::warn!(error = %Chain(&*cause), "the lease on the database could not be renewed");
                RETRY_EVERY
            }
        };
    }
}

/// Renews the lease on its connection, or a new one if that was lost. Returns false if another node has it.
async fn renew(server: &Arc<Server>, lease: &Lease, client: &mut Option<Client>) -> Answer<bool> {
    let known = match client.take().filter(|it| !it.is_closed()) {
        Some(client) => client,
        None => server.connect().await?,
    };
    let renewed = timeout(RENEW_EVERY, lease.renew(&known)).await;
    let late = || Fault::Unavailable("the server does not answer".into());
    let is_mine = renewed.unwrap_or_else(|_| Err(late()))?;
    *client = Some(known);
    Ok(is_mine)
}
