//! Connections to the server: made, kept for the next reader, and waited for by threads that are not async.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error};

use super::options::PostgresOptions;
use crate::error::Chain;
use crate::store::engine::{Answer, Cause, Fault};

/// Connections of readers at once. More wait for a free one.
pub(super) const N_READERS_MAX: usize = 40;
/// How long a reader waits for a free connection.
const READER_WAIT: Duration = Duration::from_secs(10);
/// Connections of readers that are kept while nobody reads.
const N_IDLE_MAX: usize = 8;
/// How long one request to the server may take.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// What every connection begins with. Rows are found by the primary key whatever the planner knows of the table, and a commit
/// is durable whatever the default of the database is. A large import is one statement, however long it takes. A
/// transaction whose process has gone ends, and its lock with it.
const SETTINGS: &str = "\
    SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
    SET enable_sort = off; SET jit = off; SET lock_timeout = '10s'; SET default_transaction_isolation = 'read committed'; \
    SET statement_timeout = 0; \
    SET idle_in_transaction_session_timeout = '5min'; \
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; \
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')";

/// The server, and the threads that talk to it.
pub(super) struct Server {
    pub(super) options: PostgresOptions,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    seats: Arc<Semaphore>,
    idle: Mutex<Idle>,
}

/// Connections of readers that nobody uses.
#[derive(Default)]
struct Idle {
    clients: Vec<Client>,
    /// How often they were forgotten.
    round: u64,
}

/// A connection of a reader.
pub(super) struct Seated {
    pub(super) client: Client,
    seat: OwnedSemaphorePermit,
    /// [`Idle::round`] when it was taken.
    round: u64,
}

impl Server {
    pub(super) fn new(options: PostgresOptions) -> std::io::Result<Arc<Self>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("store-postgres")
            .enable_all()
            .build()?;
        let seats = Arc::new(Semaphore::new(N_READERS_MAX));
        Ok(Arc::new(Self { options, runtime: Some(runtime), seats, idle: Mutex::default() }))
    }

    /// Runs `work` beside the caller.
    pub(super) fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(work);
        }
    }

    /// Runs `work` and blocks until it is done, on whatever thread.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = Answer<T>> + Send + 'static,
    ) -> Answer<T> {
        let (answer, answered) = sync_channel(1);
        self.start(async move {
            let done = timeout(limit, work).await;
            let late = || Fault::Unavailable("the server took too long to answer".into());
            drop(answer.send(done.unwrap_or_else(|_| Err(late()))));
        });
        answered.recv().unwrap_or_else(|_| Err(Fault::Unavailable("the engine is closed".into())))
    }

    /// A new connection: to the server that had the last one, or the next of the URL that can be used.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<Client, Unconnected> {
        let mut failed = Unconnected::Silent;
        for (number, server) in self.options.servers() {
            let connected = timeout(self.options.wait(), self.connect_to(server)).await;
            failed = match connected {
                Ok(Ok(client)) => {
                    self.options.begin_with(number);
                    return Ok(client);
                }
                Ok(Err(error)) => Unconnected::Refused(error),
                Err(_) => Unconnected::Silent,
            };
            self.options.begin_behind(number);
        }
        Err(failed)
    }

    async fn connect_to(self: &Arc<Self>, server: &Config) -> Result<Client, Error> {
        let (client, connection) = server.connect(self.options.connector()).await?;
        self.start(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = %Chain(&error), "a connection to the database server ended");
            }
        });
        client.batch_execute(SETTINGS).await?;
        Ok(client)
    }

    /// A connection for a reader: one that is idle, or a new one.
    pub(super) async fn seat(self: &Arc<Self>) -> Answer<Seated> {
        let seat = timeout(READER_WAIT, self.seats.clone().acquire_owned()).await;
        let Ok(Ok(seat)) = seat else {
            let cause = format!("all {N_READERS_MAX} connections to the server are in use");
            return Err(Fault::Unavailable(cause.into()));
        };
        let round = self.lock_idle().round;
        let mut idle = std::iter::from_fn(|| self.lock_idle().clients.pop());
        let known = idle.find(|it| !it.is_closed());
        let client = match known {
            Some(client) => client,
            None => self.connect().await?,
        };
        Ok(Seated { client, seat, round })
    }

    /// Readers take new connections from now on: existing ones may lead to a server that is no longer the primary.
    pub(super) fn forget_readers(&self) {
        let mut idle = self.lock_idle();
        idle.clients.clear();
        idle.round += 1;
    }

    /// Ends the transaction of a reader, and keeps its connection for the next.
    pub(super) async fn leave(&self, Seated { client, seat, round }: Seated) {
        let ended = timeout(REQUEST_TIMEOUT, client.batch_execute("ROLLBACK")).await;
        if matches!(ended, Ok(Ok(()))) {
            let mut idle = self.lock_idle();
            if idle.clients.len() < N_IDLE_MAX && idle.round == round {
                idle.clients.push(client);
            }
        }
        drop(seat);
    }

    fn lock_idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background(); // Waiting for it is not allowed on an async thread.
        }
    }
}

/// What an error of a request that only reads means.
impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let (code, cause) = (error.code(), cause(&error));
        if matches!(code, Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED)) {
            return Self::Damaged(cause);
        }
        // Classes of the standard: data, and syntax and rights, are wrong whenever they are sent.
        match code.and_then(|it| it.code().get(..2)) {
            Some("22" | "42") => Self::Refused(cause),
            Some(_) | None => Self::Unavailable(cause),
        }
    }
}

/// Why there is no connection.
pub(super) enum Unconnected {
    Refused(Error),
    /// The server takes connections, and does not answer on them.
    Silent,
}

impl From<Unconnected> for Fault {
    fn from(unconnected: Unconnected) -> Self {
        match unconnected {
            Unconnected::Refused(error) => error.into(),
            Unconnected::Silent => Self::Unavailable("the server does not answer".into()),
        }
    }
}

/// The whole chain in one text: the library's own says only `db error`.
pub(super) fn cause(error: &Error) -> Cause {
    Chain(error).to_string().into()
}
