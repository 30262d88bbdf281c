//! The database: snapshots to read, one writer, and handles that reach one client only.
//!
//! Only this module knows how records are stored, and only `engine` what keeps them. Outside of it, code depends only on
//! closures over ordered keys that behave as if they ran one after the other.

pub mod backup;
mod disk_space;
mod engine;
pub mod global;
mod kernel;
mod migration;
mod node;
mod open;
pub mod per_client;
mod row_key;
mod spool;
mod table;
mod takeover;
mod writer;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::blocking;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::fair_limit::{Exhausted, FairLimit, permit};
use crate::id::ClientId;
use disk_space::DiskSpace;
use engine::{Engine, StorageBackend};
use global::audit::PendingAct;
use kernel::health::{Gauges, reopening, stopping};
use kernel::transaction::{ClientTransaction, Counts, Reading, Transaction, Writing};
use open::DatabaseLocation;
use spool::Spool;
use writer::{Message, WriteJob, Writer};

pub use engine::{ActiveNode, PostgresOptions};
pub use kernel::audit_head::AuditHead;
pub use kernel::envelope::RECORD_BYTES_MAX;
pub use kernel::figure::ClientFigures;
pub use kernel::health::{Health, StoreMemory};
pub use kernel::meta::ReleaseRecord;
pub use kernel::meta::{Installation, ReportKey};
pub use kernel::version::Versions;
pub use migration::FORMAT;
pub use open::Glimpse;
pub use per_client::handle::ClientStore;
pub use spool::{NamedFile, SpoolFile};

/// All clients' rows in one state of the database.
pub type Snapshot = Transaction<Reading>;
/// One client's rows in one state of the database.
pub type ClientSnapshot = ClientTransaction<Reading>;
/// All clients' rows in the write transaction.
pub type Batch = Transaction<Writing>;
/// One client's rows in the write transaction.
pub type ClientBatch<'a> = ClientTransaction<&'a mut Writing>;

/// The maximum number of queued writes. More wait for a place in the queue.
const QUEUE_LEN_MAX: usize = 4_096;
/// How long a write waits for a place before it is refused.
const QUEUE_WAIT: Duration = Duration::from_secs(5);
/// How many reads run at once. They leave threads of the blocking pool to others.
const N_READS_MAX: usize = 32;
/// How many of them one account may have at once.
const N_READS_PER_ACCOUNT_MAX: usize = 8;
/// How long a read waits for a free place before it is refused.
const READ_WAIT: Duration = Duration::from_secs(10);
/// When a caller whose account had too many reads in progress may try again.
const READ_RETRY_S: u32 = 1;
/// How often a thread outside of async checks for a place in the queue.
const SEAT_POLL: Duration = Duration::from_millis(2);

/// How to open the database.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The data directory, with the database file if there is one. Created if it does not exist.
    pub dir: PathBuf,
    /// Pages or rows kept in memory.
    pub cache_bytes: usize,
    pub engine: EngineOptions,
}

/// What keeps the rows.
#[derive(Clone, Debug)]
pub enum EngineOptions {
    /// A file in the data directory.
    File,
    /// A server, which only one process at a time uses.
    Postgres(Box<PostgresOptions>),
}

/// The database. Cheap to clone; the last handle closes it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    /// The act that is recorded with the next change.
    act: Option<PendingAct>,
    /// Its writes may use the space that is reserved on a disk that is nearly full.
    is_reserved: bool,
    /// The account whose reads count together. `None`: no account, such as a background task.
    account: Option<AccountKey>,
}

/// Identifies an account to the store, which only tells accounts apart.
pub type AccountKey = [u8; 16];

struct Inner {
    shared: Arc<Shared>,
    queue: SyncSender<Message>,
    seats: Arc<Semaphore>,
    reads: FairLimit<AccountKey>,
    spool: Spool,
    /// Other processes can open the database.
    is_shared: bool,
    /// The database file. `None`: it is not on a disk of this host.
    database: Option<PathBuf>,
    /// Locked while closing.
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// The state that handles and the writer share.
struct Shared {
    door: RwLock<DatabaseState>,
    gauges: Arc<Gauges>,
    versions: kernel::version::VersionTable,
    indexes: kernel::index::Indexes,
    /// Notified of each commit that leaves something to deliver.
    outbox: Notify,
    /// Notified when another process has taken over the database. This one answers nothing from then on.
    taken_over: Notify,
    /// Brings what others keep in memory to the state of the database.
    reload: Mutex<Option<writer::Reload>>,
}

enum DatabaseState {
    Open(Box<dyn Engine>),
    Reopening,
    Closed,
}

impl Shared {
    fn door(&self) -> RwLockReadGuard<'_, DatabaseState> {
        self.door.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn door_mut(&self) -> RwLockWriteGuard<'_, DatabaseState> {
        self.door.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Opens the database of a data directory. Creates both if they do not exist.
    ///
    /// # Errors
    /// `Conflict` if another process has it open; `Invalid` if the file or server is from a newer release,
    /// damaged or not a database; `Unavailable` if the directory cannot be used, or the server does not answer.
    pub fn open(options: &StoreOptions, now: Time) -> Result<Self> {
        let gauges = Arc::new(Gauges::default());
        let mut home = DatabaseLocation::take(options)?;
        let opened = home.open(now, &gauges)?;
        Self::start(opened, home, gauges)
    }

    /// Opens the database on a backend of the file engine, for tests and benchmarks. It remains unavailable after a
    /// storage error.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn on_backend(backend: impl StorageBackend, cache_bytes: usize) -> Result<Self> {
        let gauges = Arc::new(Gauges::default());
        let opened = open::guarded(|| {
            open::with_counts(open::open_backend(backend, cache_bytes, &gauges)?, &gauges)
        })?;
        Self::start(opened, DatabaseLocation::Once, gauges)
    }

    /// [`Store::on_backend`] for backends that can be created again over the same bytes: it reopens
    /// after a storage error.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn on_backends<B: StorageBackend>(
        mut make: impl FnMut() -> B + Send + 'static,
        cache_bytes: usize,
    ) -> Result<Self> {
        let gauges = Arc::new(Gauges::default());
        let again = gauges.clone();
        let open = move || open::open_backend(make(), cache_bytes, &again);
        let mut home = DatabaseLocation::Again(Box::new(open));
        let opened = home.open(Time::EPOCH, &gauges)?;
        Self::start(opened, home, gauges)
    }

    fn start(
        (db, counts): (Box<dyn Engine>, Counts),
        home: DatabaseLocation,
        gauges: Arc<Gauges>,
    ) -> Result<Self> {
        let shared = Arc::new(Shared {
            door: RwLock::new(DatabaseState::Open(db)),
            gauges,
            versions: kernel::version::VersionTable::default(),
            indexes: kernel::index::Indexes::default(),
            outbox: Notify::new(),
            taken_over: Notify::new(),
            reload: Mutex::default(),
        });
        // One more than there are places, so that the order to close always finds one.
        let (queue, orders) = sync_channel(QUEUE_LEN_MAX + 1);
        let database = home.file();
        let space = DiskSpace::around(database.clone());
        let spool = Spool::of(home.dir(), database.clone());
        let is_shared = home.is_shared();
        let writer = Writer { shared: shared.clone(), queue: orders, home, space, counts };
        let thread = std::thread::Builder::new().name("store-writer".to_owned());
        let thread = thread.spawn(move || writer.run()).map_err(Error::internal)?;
        let inner = Inner {
            shared,
            queue,
            seats: Arc::new(Semaphore::new(QUEUE_LEN_MAX)),
            reads: FairLimit::new(N_READS_MAX, N_READS_PER_ACCOUNT_MAX),
            spool,
            is_shared,
            database,
            writer: Mutex::new(Some(thread)),
        };
        Ok(Self { inner: Arc::new(inner), act: None, is_reserved: false, account: None })
    }

    fn shared(&self) -> &Shared {
        &self.inner.shared
    }

    /// A handle whose next change records this act in the audit log.
    #[must_use]
    pub fn acting(&self, act: Option<PendingAct>) -> Self {
        Self { act, ..self.clone() }
    }

    /// A handle whose reads count as those of an account.
    #[must_use]
    pub fn reading_as(&self, account: Option<AccountKey>) -> Self {
        Self { account, ..self.clone() }
    }

    /// A handle whose writes may use the space that is reserved on a disk that is nearly full: for small writes that take
    /// something away, such as a revocation, or keep the result of what was done already.
    #[must_use]
    pub fn reserved(&self) -> Self {
        Self { is_reserved: true, ..self.clone() }
    }

    /// The current state. Hold it briefly. Blocks for a page that is not in memory.
    ///
    /// # Errors
    /// `Unavailable` while the database is being reopened, or closed.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let shared = self.shared();
        match &*shared.door() {
            DatabaseState::Open(_) if shared.gauges.failed.load(Ordering::Acquire) => {
                Err(reopening())
            }
            DatabaseState::Open(db) => {
                Ok(Transaction { rows: Reading::begin(&**db, &shared.gauges)? })
            }
            DatabaseState::Reopening => Err(reopening()),
            DatabaseState::Closed => Err(stopping()),
        }
    }

    /// Runs `body` on a snapshot, off the async threads. It continues if the caller is dropped.
    ///
    /// # Errors
    /// Those of `body`; `RateLimited` if too many reads of the account are waiting; `Unavailable` if too many of all
    /// accounts are, or the database is not open; `Internal` if `body` panics.
    pub async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Snapshot) -> Result<T> + Send + 'static,
    {
        let store = self.clone();
        let place =
            self.inner.reads.acquire(self.account, READ_WAIT).await.map_err(too_many_reads)?;
        // A dropped caller does not free the place: the read continues.
        blocking::run(place, move || body(&store.snapshot()?)).await
    }

    /// Runs `body` in a write transaction that it may share with others, and answers once it is
    /// durable.
    ///
    /// `body` may run more than once; only its last run has an effect. An `Err` or a panic undoes what
    /// it wrote. It still runs if the caller is dropped. It must be fast, because all writes wait for
    /// it.
    ///
    /// # Errors
    /// Those of `body`; `Unavailable` if too many writes are waiting, the disk is nearly full, or the
    /// database is not open. It is then unknown whether the write happened.
    pub async fn write<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Batch) -> Result<T> + Send + 'static,
    {
        self.write_then(body, |_| ()).await
    }

    /// [`Store::write`], and `kept` once it is durable, in the order of the commits, for state in memory beside the database.
    /// If the caller is dropped, either both happen or neither does.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn write_then<T, F, K>(&self, body: F, kept: K) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Batch) -> Result<T> + Send + 'static,
        K: FnOnce(&T) + Send + 'static,
    {
        self.inner.require_writable()?;
        let end = tokio::time::Instant::now() + QUEUE_WAIT;
        let seat = permit(&self.inner.seats, end).await;
        let seat = seat.ok_or_else(|| Error::unavailable(QUEUE_FULL))?;
        self.order(body, kept, seat)?.await.map_err(|_| stopping())?
    }

    /// [`Store::write`] for threads outside of async. Panics on an async thread.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_now<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Batch) -> Result<T> + Send + 'static,
    {
        self.inner.require_writable()?;
        let until = Instant::now() + QUEUE_WAIT;
        let seat = loop {
            match self.inner.seats.clone().try_acquire_owned() {
                Ok(seat) => break seat,
                Err(_) if Instant::now() < until => std::thread::sleep(SEAT_POLL),
                Err(_) => return Err(Error::unavailable(QUEUE_FULL)),
            }
        };
        self.order(body, |_: &T| (), seat)?.blocking_recv().map_err(|_| stopping())?
    }

    fn order<T, F, K>(
        &self,
        body: F,
        kept: K,
        seat: OwnedSemaphorePermit,
    ) -> Result<tokio::sync::oneshot::Receiver<Result<T>>>
    where
        T: Send + 'static,
        F: FnMut(&mut Batch) -> Result<T> + Send + 'static,
        K: FnOnce(&T) + Send + 'static,
    {
        let (job, answer) = WriteJob::new(body, kept, seat, (self.act.clone(), self.is_reserved));
        self.shared().gauges.queue_len.fetch_add(1, Ordering::Relaxed);
        if self.inner.queue.try_send(Message::Write(job)).is_err() {
            self.shared().gauges.queue_len.fetch_sub(1, Ordering::Relaxed);
            return Err(stopping());
        }
        Ok(answer)
    }

    /// Makes a file for bytes that a caller sends.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept it.
    pub async fn create_spool_file(&self) -> Result<SpoolFile> {
        let store = self.clone();
        blocking::run((), move || store.inner.spool.create()).await
    }

    /// One client's rows and no others.
    #[must_use]
    pub fn client_store(&self, client: ClientId) -> ClientStore {
        ClientStore::new(self.clone(), client)
    }

    /// How often each part of a client changed. Read it before opening the snapshot that is cached under it.
    #[must_use]
    pub fn versions(&self, client: ClientId) -> Versions {
        self.shared().versions.of(client)
    }

    /// Is notified of each commit that leaves something to deliver.
    #[must_use]
    pub fn outbox(&self) -> &Notify {
        &self.shared().outbox
    }

    #[must_use]
    pub fn health(&self) -> Health {
        self.shared().gauges.health()
    }

    /// The length of the database file. 0: it is not on a disk.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        let file = self.inner.database.as_ref().and_then(|it| std::fs::metadata(it).ok());
        file.map_or(0, |it| it.len())
    }

    pub fn memory(&self) -> StoreMemory {
        let shared = self.shared();
        let cache = match &*shared.door() {
            DatabaseState::Open(db) => db.cache_bytes(),
            DatabaseState::Reopening | DatabaseState::Closed => 0,
        };
        StoreMemory { cache, indexes: shared.indexes.n_bytes() }
    }

    /// Finishes queued writes and closes the file cleanly. All handles answer `Unavailable` from then
    /// on.
    pub fn close(self) {
        self.inner.close();
    }
}

const QUEUE_FULL: &str = "too many writes are waiting for the database; try again later";

fn too_many_reads(exhausted: Exhausted) -> Error {
    match exhausted {
        Exhausted::ByHolder => Error::too_many(
            format!(
                "more than {N_READS_PER_ACCOUNT_MAX} reads of this account are in progress; send fewer requests at \
                 the same time"
            ),
            READ_RETRY_S,
        ),
        Exhausted::ByAll => {
            Error::unavailable("too many reads are waiting for the database; try again later")
        }
    }
}

impl Inner {
    fn require_writable(&self) -> Result<()> {
        if self.shared.gauges.failed.load(Ordering::Acquire) {
            return Err(reopening());
        }
        Ok(())
    }

    fn close(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(writer) = writer else { return };
        // Fails if the writer has already ended.
        drop(self.queue.try_send(Message::Close));
        if writer.thread().id() == std::thread::current().id() {
            return; // The last handle was in a closure: the writer ends after that closure.
        }
        if writer.join().is_err() {
            tracing::error!("the writer panicked");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}
