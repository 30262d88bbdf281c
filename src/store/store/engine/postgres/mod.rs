//! The engine on a PostgreSQL server, for those who must survive the loss of a machine. One process at a time has it open.
//!
//! One table keeps all rows in order. Every commit moves the only row of another, by which commits of two processes can
//! never mix.

mod base;
mod cache;
mod commit;
mod lease;
mod load;
mod options;
mod rows;
mod schema;
mod server;
mod view;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tokio_postgres::Client;

use self::base::{BaseView, Known, N_ROUNDS_MAX};
use self::commit::{Commit, Outcome};
use self::lease::{Lease, Token};
use self::server::{REQUEST_TIMEOUT, Server};
use self::view::ServerView;
use crate::error::{Chain, Error, Result};
use crate::secret::random;
use crate::store::engine::{ActiveNode, Answer, Cause, Engine, Fault, Overlay, View};

pub(in crate::store) use lease::Node;
pub use options::PostgresOptions;

/// How long the lease of another process is waited for: it ends in this time if that process was killed.
const LEASE_WAIT: Duration = Duration::from_secs(12);
const LEASE_PAUSE: Duration = Duration::from_millis(500);
/// How long a commit or a fetch is tried again while the server does not answer.
const PATIENCE: Duration = Duration::from_secs(6);
const PATIENCE_PAUSE: Duration = Duration::from_millis(200);
/// How long it takes to open the database, but for the lease of another process.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);
/// How long one commit may take: a large import is one.
const COMMIT_TIMEOUT: Duration = Duration::from_mins(10);
/// How long the end of the process waits to release the lease.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// What one process goes on with when it opens the database again.
#[derive(Clone, Debug)]
pub(in crate::store) struct Opening {
    token: Token,
    /// The number of the last commit.
    commit: Arc<AtomicI64>,
}

/// Keys and values.
type FoundRows = Vec<(Vec<u8>, Vec<u8>)>;

/// A database on a server.
pub(in crate::store) struct PostgresEngine {
    server: Arc<Server>,
    lease: Arc<Lease>,
    opening: Opening,
    /// How many commits that were acknowledged the database does not have.
    n_lost: u64,
    /// The connection of the thread that commits. `None`: it was lost.
    committer: Mutex<Option<Arc<Client>>>,
    known: Arc<Mutex<Known>>,
    cache_bytes: usize,
}

impl PostgresEngine {
    /// Opens the database. Makes its tables if they are missing. `before`: it goes on with this opening, if no other process
    /// has opened the database since.
    ///
    /// # Errors
    /// `Invalid` if the server or the database cannot be used, `Unavailable` if the server does not answer, `Conflict` if
    /// another process has the database open. The message says what to do.
    pub(in crate::store) fn open(
        options: &PostgresOptions,
        node: &Node,
        before: Option<&Opening>,
        cache_bytes: usize,
    ) -> Result<Self> {
        let server = Server::new(options.clone()).map_err(Error::internal)?;
        let (of, node) = (server.clone(), node.clone());
        let lease_wait = if before.is_some() { Duration::ZERO } else { LEASE_WAIT };
        let token = before.map(|it| it.token);
        let opened = server.wait(lease_wait + OPEN_TIMEOUT, async move {
            Answer::Ok(take(&of, &node, token).await)
        });
        let (client, lease, commit) = opened.map_err(|it| unavailable(it.into_cause()))??;
        let n_acknowledged = before.map_or(commit, |it| it.commit.load(Ordering::Relaxed));
        let n_lost = u64::try_from(n_acknowledged - commit).unwrap_or(0);
        let lease = Arc::new(lease);
        server.start(lease::keep(Arc::downgrade(&server), lease.clone()));
        let opening = Opening { token: lease.token, commit: Arc::new(commit.into()) };
        let committer = Mutex::new(Some(Arc::new(client)));
        let known = Arc::default();
        Ok(Self { server, lease, opening, n_lost, committer, known, cache_bytes })
    }

    /// Looks at a database without opening it: which other node has it, and those of these rows of a table that are there.
    ///
    /// # Errors
    /// `Invalid` if the server or the database cannot be used, `Unavailable` if the server does not answer.
    pub(in crate::store) fn look(
        options: &PostgresOptions,
        node: &Node,
        (table, keys): (&str, &[&[u8]]),
    ) -> Result<(Option<ActiveNode>, FoundRows)> {
        let server = Server::new(options.clone()).map_err(Error::internal)?;
        let (of, node) = (server.clone(), node.clone());
        let tables = vec![table.to_owned(); keys.len()];
        let keys: Vec<Vec<u8>> = keys.iter().map(|it| it.to_vec()).collect();
        let asked = server.wait(OPEN_TIMEOUT, async move {
            let unconnected = |it| schema::unconnected(&it, &of.options);
            let client = match of.connect().await.map_err(unconnected) {
                Ok(client) => client,
                Err(error) => return Ok(Err(error)),
            };
            if let Err(error) = schema::prepare(&client, &of.options).await {
                return Ok(Err(error));
            }
            let active = lease::other_holder(&client, &node).await?;
            let rows = rows::find(&client, &tables, &keys).await?;
            let rows = rows.into_iter().map(|(_, key, value)| (key, value)).collect();
            Ok(Ok((active, rows)))
        });
        asked.map_err(|it| unavailable(it.into_cause()))?
    }

    pub(in crate::store) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// How many commits of the opening before, all of them acknowledged, the database does not have: another server has taken
    /// the place of the one that had them.
    pub(in crate::store) fn n_lost(&self) -> u64 {
        self.n_lost
    }

    fn committer(&self) -> MutexGuard<'_, Option<Arc<Client>>> {
        self.committer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn require_lease(&self) -> Answer<()> {
        if self.lease.is_valid() { Ok(()) } else { Err(lapsed()) }
    }

    fn wait<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = Answer<T>> + Send + 'static,
    ) -> Answer<T> {
        self.lease.wait(&self.server, limit, work)
    }

    /// The connection of the thread that commits, a new one if the last was lost.
    fn client(&self, committer: &mut Option<Arc<Client>>) -> Answer<Arc<Client>> {
        if let Some(client) = committer.as_ref().filter(|it| !it.is_closed()) {
            return Ok(client.clone());
        }
        *committer = None;
        let server = self.server.clone();
        let connect = async move { server.connect().await.map(Arc::new).map_err(Fault::from) };
        let client = self.wait(REQUEST_TIMEOUT, connect)?;
        self.server.forget_readers();
        Ok(committer.insert(client).clone())
    }

    /// Asks again while the server does not answer, on a new connection each time.
    fn patiently<T>(
        &self,
        committer: &mut Option<Arc<Client>>,
        mut ask: impl FnMut(&Arc<Client>) -> Answer<T>,
    ) -> Answer<T> {
        let until = Instant::now() + PATIENCE;
        loop {
            let failed = match self.client(committer).and_then(|client| ask(&client)) {
                Err(Fault::Unavailable(cause)) => cause,
                asked => return asked,
            };
            *committer = None;
            if until < Instant::now() {
                return Err(Fault::Unavailable(failed));
            }
            std::thread::sleep(PATIENCE_PAUSE);
        }
    }

    fn send(&self, client: &Arc<Client>, commit: &Arc<Commit>) -> Answer<Outcome> {
        let (client, commit) = (client.clone(), commit.clone());
        let send = async move { commit::send(&client, commit).await.map_err(|it| unanswered(&it)) };
        self.wait(COMMIT_TIMEOUT, send)
    }

    fn settle(&self, client: &Arc<Client>, commit: &Arc<Commit>) -> Answer<Outcome> {
        let (client, commit) = (client.clone(), commit.clone());
        let settle =
            async move { commit::settle(&client, &commit).await.map_err(|it| unanswered(&it)) };
        self.wait(REQUEST_TIMEOUT, settle)
    }
}

/// Connects, makes the tables, and takes the lease.
async fn take(
    server: &Arc<Server>,
    node: &Node,
    before: Option<Token>,
) -> Result<(Client, Lease, i64)> {
    let unconnected = |it| schema::unconnected(&it, &server.options);
    let client = server.connect().await.map_err(unconnected)?;
    schema::prepare(&client, &server.options).await?;
    let lost = |fault: Fault| unavailable(fault.into_cause());
    let until = Instant::now() + LEASE_WAIT;
    loop {
        if let Some((lease, commit)) = Lease::take(&client, node, before).await.map_err(lost)? {
            return Ok((client, lease, commit));
        }
        if before.is_some() || until < Instant::now() {
            let holder = lease::holder(&client).await.map_err(lost)?;
            return Err(Error::conflict(format!(
                "{holder} has this database open; stop the service there first, or name another database in \
                 database.url_file"
            )));
        }
        sleep(LEASE_PAUSE).await;
    }
}

impl Engine for PostgresEngine {
    fn view(&self) -> Answer<Arc<dyn View>> {
        self.require_lease()?;
        Ok(Arc::new(ServerView::begin(&self.server, &self.lease)?))
    }

    fn base(&self) -> Answer<Arc<dyn View>> {
        let is_last = N_ROUNDS_MAX <= self.known().n_rounds;
        let client = if is_last {
            Some(self.patiently(&mut self.committer(), |it| Ok(it.clone()))?)
        } else {
            None
        };
        let (server, lease, known) = (self.server.clone(), self.lease.clone(), self.known.clone());
        Ok(Arc::new(BaseView { server, lease, known, client }))
    }

    fn fetch_missing(&self) -> Answer<bool> {
        let (missing, n_rounds) = {
            let mut known = self.known();
            known.n_rounds += 1;
            (std::mem::take(&mut known.missing), known.n_rounds - 1)
        };
        if missing.is_empty() {
            let mut known = self.known();
            known.n_rounds = 0;
            known.cache.trim(self.cache_bytes);
            drop(known);
            // A group that only read is answered without a commit, which would notice another node.
            return self.require_lease().map(|()| false);
        }
        let missing = Arc::new(missing);
        let n_rows = base::n_span_rows(n_rounds);
        let fetched = self.patiently(&mut self.committer(), |client| {
            base::fetch((&self.server, &self.lease), client, missing.clone(), n_rows)
        })?;
        fetched.keep(&mut self.known().cache);
        Ok(true)
    }

    fn commit(&self, writes: Overlay) -> Answer<()> {
        let mut committer = self.committer();
        let (after, epoch) = (self.opening.commit.load(Ordering::Relaxed), self.lease.epoch);
        let commit = Arc::new(Commit { writes, after, epoch, mark: random() });
        let mut is_sent = false;
        let outcome = self.patiently(&mut committer, |client| {
            if is_sent {
                let known = self.settle(client, &commit)?;
                if known != Outcome::Undone {
                    return Ok(known);
                }
            }
            is_sent = true;
            self.send(client, &commit)
        });
        match outcome {
            Ok(Outcome::Durable) => (),
            Ok(Outcome::Fenced | Outcome::Undone) => return Err(lapsed()),
            Err(fault) => return Err(Fault::Broken(fault.into_cause())),
        }
        self.opening.commit.fetch_add(1, Ordering::Relaxed);
        let mut known = self.known();
        known.n_rounds = 0;
        known.cache.apply(&commit.writes);
        Ok(())
    }

    fn cache_bytes(&self) -> u64 {
        self.known().cache.n_bytes() as u64
    }

    fn is_current(&self) -> bool {
        self.lease.is_valid()
    }

    fn node(&self) -> Option<ActiveNode> {
        Some(self.lease.node())
    }

    fn release(&self) {
        let client = self.client(&mut self.committer());
        let lease = self.lease.clone();
        let released = client.and_then(|client| {
            self.server.wait(RELEASE_TIMEOUT, async move { lease.release(&client).await })
        });
        if let Err(fault) = released {
            let cause = fault.into_cause();
            tracing::warn!(error = %Chain(&*cause), "the lease on the database ends by itself: it could not be released");
        }
    }
}

/// Another node may have the database.
fn lapsed() -> Fault {
    Fault::Broken("the lease on the database has ended".into())
}

/// Whatever the error of a commit, its outcome is looked up.
fn unanswered(error: &tokio_postgres::Error) -> Fault {
    Fault::Unavailable(server::cause(error))
}

fn unavailable(cause: Cause) -> Error {
    Error::unavailable("the database server does not answer; check that it runs").caused_by(cause)
}
