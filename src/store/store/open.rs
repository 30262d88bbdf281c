//! Opening the database: by one process at a time, created atomically, never from a newer release,
//! never over another file.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::store::disk_space::{self, Shortage};
use crate::store::engine::{
    ActiveNode, Engine, FILE, FileEngine, Node, OpenFault, Opening, PostgresEngine,
    PostgresOptions, StorageBackend,
};
use crate::store::global::audit;
use crate::store::kernel::health::Gauges;
use crate::store::kernel::meta::{self, Identity, LAST_CHANGE, LAST_EVENT, Relocation};
use crate::store::kernel::transaction::{Counts, Reading, Rows};
use crate::store::migration::{FORMAT, migrate, write_alone};
use crate::store::spool;
use crate::store::table::{ASSET_CLIENTS, CHANGES, EVENTS, META};
use crate::store::{EngineOptions, StoreOptions, node};

/// Begins the trailer of a backup, which is behind the pages of the database.
pub(in crate::store) const TRAILER_MAGIC: [u8; 16] = *b"posture backup 1";
pub(in crate::store) const TRAILER_BYTES: usize = 40;
/// The name of a database while it is created. It is renamed once it is complete.
const NEW_FILE: &str = "posture.redb.new";
/// The name of the copy from before a migration while it is made.
const NEW_COPY: &str = "posture.redb.format.new";
/// So many upgrades from one format are kept apart.
const N_COPIES_MAX: u32 = 100;

/// Where the database is stored.
pub(in crate::store) enum DatabaseLocation {
    Dir {
        dir: PathBuf,
        cache_bytes: usize,
        /// Locked while the process has the database open, and while it is being reopened.
        _lock: File,
    },
    /// On a server. The data directory has what is of this process alone.
    Server {
        dir: PathBuf,
        options: Box<PostgresOptions>,
        cache_bytes: usize,
        node: Node,
        /// What a further opening goes on with.
        opening: Option<Opening>,
        /// As that of a file.
        _lock: File,
    },
    /// A backend that can be opened once.
    Once,
    /// A backend that can be opened again.
    Again(Reopen),
}

/// What a node that does not have the database open sees of it.
#[derive(Debug)]
pub struct Glimpse {
    /// The node that has it open now, if it is another one.
    pub active: Option<ActiveNode>,
    /// Identifies the key file that belongs to it.
    pub key_file: Option<[u8; 8]>,
    /// Why this release cannot open it, or that it is not the one in use.
    pub is_usable: Result<()>,
}

impl Glimpse {
    /// Of a file, which no other node has.
    pub(in crate::store) fn file() -> Self {
        Self { active: None, key_file: None, is_usable: Ok(()) }
    }
}

/// An open database, and the counters that the writer continues from.
pub(in crate::store) type OpenDatabase = (Box<dyn Engine>, Counts);

/// Opens the same database again.
pub(in crate::store) type Reopen = Box<dyn FnMut() -> Result<FileEngine> + Send>;

impl DatabaseLocation {
    /// Locks the data directory, which is created if it does not exist.
    pub(in crate::store) fn take(options: &StoreOptions) -> Result<Self> {
        let StoreOptions { dir, cache_bytes, engine } = options;
        let (dir, cache_bytes, lock) = (dir.clone(), *cache_bytes, lock(dir)?);
        let EngineOptions::Postgres(server) = engine else {
            return Ok(Self::Dir { dir, cache_bytes, _lock: lock });
        };
        let (node, options) = (node::of(&dir).map_err(dir_refused)?, server.clone());
        Ok(Self::Server { dir, options, cache_bytes, node, opening: None, _lock: lock })
    }

    /// The data directory.
    pub(in crate::store) fn dir(&self) -> Option<&Path> {
        match self {
            Self::Dir { dir, .. } | Self::Server { dir, .. } => Some(dir),
            Self::Once | Self::Again(_) => None,
        }
    }

    /// The database file.
    pub(in crate::store) fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Dir { dir, .. } => Some(dir.join(FILE)),
            Self::Server { .. } | Self::Once | Self::Again(_) => None,
        }
    }

    /// The database on the server, as it is.
    ///
    /// # Errors
    /// Those of [`PostgresEngine::open`].
    pub(in crate::store) fn open_server(&self) -> Result<PostgresEngine> {
        let Self::Server { options, cache_bytes, node, .. } = self else {
            return Err(Error::internal("the database is on no server"));
        };
        PostgresEngine::open(options, node, None, *cache_bytes)
    }

    /// What can be seen of the database on the server without opening it.
    ///
    /// # Errors
    /// Those of [`PostgresEngine::look`].
    pub(in crate::store) fn glimpse(&self) -> Result<Glimpse> {
        let Self::Server { options, node, .. } = self else { return Ok(Glimpse::file()) };
        let (active, rows) = PostgresEngine::look(options, node, (META, &meta::IDENTITY))?;
        let Identity { format, key_file, relocation } = Identity::of(&rows)?;
        let is_usable =
            format.map_or(Ok(()), require_known).and_then(|()| require_not_relocated(relocation));
        Ok(Glimpse { active, key_file, is_usable })
    }

    /// Whether another process can have opened the database since this one did.
    pub(in crate::store) fn is_shared(&self) -> bool {
        matches!(self, Self::Server { .. })
    }

    /// Opens the existing database. Never creates one.
    ///
    /// # Errors
    /// `Conflict` if another process has opened it since.
    pub(in crate::store) fn reopen(&mut self, gauges: &Arc<Gauges>) -> Result<OpenDatabase> {
        guarded(|| match self {
            Self::Dir { dir, cache_bytes, .. } => {
                with_counts(open_file(&dir.join(FILE), *cache_bytes)?, gauges)
            }
            Self::Server { options, cache_bytes, node, opening, .. } => {
                let db = PostgresEngine::open(options, node, opening.as_ref(), *cache_bytes)?;
                *opening = Some(db.opening().clone());
                if 0 < db.n_lost() {
                    gauges.n_lost.fetch_add(db.n_lost(), Ordering::Relaxed);
                    tracing::error!(
                        n_commits = db.n_lost(),
                        "the database server has lost commits that were acknowledged; a standby without them may have taken its \
                         place: see synchronous_standby_names in the guide \"PostgreSQL\""
                    );
                }
                with_counts(db, gauges)
            }
            Self::Once => Err(Error::unavailable("this database cannot be reopened")),
            Self::Again(open) => with_counts(open()?, gauges),
        })
    }

    /// Opens the database for the first time. Creates or migrates it if necessary.
    pub(in crate::store) fn open(
        &mut self,
        now: Time,
        gauges: &Arc<Gauges>,
    ) -> Result<OpenDatabase> {
        match self {
            Self::Dir { dir, cache_bytes, .. } => {
                guarded(|| with_counts(open_dir(dir, *cache_bytes, now, gauges)?, gauges))
            }
            Self::Server { options, cache_bytes, node, opening, .. } => {
                let db = PostgresEngine::open(options, node, None, *cache_bytes)?;
                *opening = Some(db.opening().clone());
                match open_rows(&db, now, gauges) {
                    Ok(()) => with_counts(db, gauges),
                    Err(error) => {
                        db.release();
                        Err(error)
                    }
                }
            }
            Self::Once | Self::Again(_) => self.reopen(gauges),
        }
    }
}

/// Locks a data directory for this process.
fn lock(dir: &Path) -> Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(dir_refused)?;
    let lock = File::open(dir).map_err(dir_refused)?;
    match lock.try_lock() {
        Ok(()) => (),
        Err(TryLockError::WouldBlock) => return Err(in_use()),
        Err(TryLockError::Error(error)) => return Err(dir_refused(error)),
    }
    spool::remove_leftovers(dir).map_err(dir_refused)?;
    Ok(lock)
}

/// Makes the first rows of a database on a server, or migrates those that are there.
fn open_rows(db: &PostgresEngine, now: Time, gauges: &Arc<Gauges>) -> Result<()> {
    let rows = Reading::begin(db, gauges)?;
    let Some(format) = meta::find_format(&rows)? else {
        if !rows.list_tables()?.is_empty() {
            return Err(Error::invalid(
                "the database on the server is not whole; restore it, or name another in database.url_file",
            ));
        }
        drop(rows);
        return create_rows(db, now, gauges);
    };
    require_in_use(&rows)?;
    drop(rows);
    require_known(format)?;
    migrate(db, format, gauges)
}

/// Whether this release can read the format of a database on a server.
fn require_known(format: u32) -> Result<()> {
    if format <= FORMAT {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the database on the server was written by a newer release (format {format}; this one reads up to {FORMAT})"
    )))
}

fn open_dir(dir: &Path, cache_bytes: usize, now: Time, gauges: &Arc<Gauges>) -> Result<FileEngine> {
    let (file, new_file) = (dir.join(FILE), dir.join(NEW_FILE));
    match std::fs::remove_file(&new_file) {
        Ok(()) => tracing::warn!("deleted a database file whose creation was interrupted"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (),
        Err(error) => return Err(dir_refused(error)),
    }
    if !file.try_exists().map_err(dir_refused)? {
        create_file(&new_file, cache_bytes, now, gauges)?;
        std::fs::rename(&new_file, &file).map_err(dir_refused)?;
        sync_dir(dir)?;
    }
    let db = open_file(&file, cache_bytes)?;
    let format = checked_format(&db, gauges)?;
    if format == FORMAT {
        return Ok(db);
    }
    drop(db); // The file is copied while it is not open.
    copy_file(dir, &file, format)?;
    let db = open_file(&file, cache_bytes)?;
    migrate(&db, format, gauges)?;
    Ok(db)
}

/// Opens a database on a backend. Creates or migrates it if necessary.
pub(in crate::store) fn open_backend(
    backend: impl StorageBackend,
    cache_bytes: usize,
    gauges: &Arc<Gauges>,
) -> Result<FileEngine> {
    let is_new = backend.len().map_err(dir_refused)? == 0;
    let db = FileEngine::on_backend(backend, cache_bytes).map_err(refused)?;
    if is_new {
        create_rows(&db, Time::EPOCH, gauges)?;
    }
    let format = checked_format(&db, gauges)?;
    migrate(&db, format, gauges)?;
    Ok(db)
}

pub(in crate::store) fn with_counts(
    db: impl Engine + 'static,
    gauges: &Arc<Gauges>,
) -> Result<OpenDatabase> {
    let counts = find_counts(&Reading::begin(&db, gauges)?)?;
    Ok((Box::new(db), counts))
}

pub(in crate::store) fn open_file(file: &Path, cache_bytes: usize) -> Result<FileEngine> {
    if file_bytes(file)? == 0 {
        return Err(Error::invalid(format!("{FILE} is empty and not a database; move it away")));
    }
    FileEngine::open(file, cache_bytes).map_err(|fault| {
        let error = refused(fault);
        if is_backup(file).unwrap_or(false) {
            let rule = format!(
                "{FILE} is a backup; move it away and put it in place by `posture restore`"
            );
            return Error::invalid(rule).caused_by(error);
        }
        error
    })
}

fn is_backup(file: &Path) -> io::Result<bool> {
    let file = File::open(file)?;
    let mut start = [0; TRAILER_MAGIC.len()];
    let at = file.metadata()?.len().saturating_sub(TRAILER_BYTES as u64);
    file.read_exact_at(&mut start, at)?;
    Ok(start == TRAILER_MAGIC)
}

/// Creates a complete, durable database under a temporary name.
fn create_file(file: &Path, cache_bytes: usize, now: Time, gauges: &Arc<Gauges>) -> Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let made = options.open(file).map_err(dir_refused)?;
    let db = FileEngine::create(made, cache_bytes).map_err(refused)?;
    create_rows(&db, now, gauges)?;
    drop(db);
    File::open(file).and_then(|it| it.sync_all()).map_err(dir_refused)
}

fn create_rows(db: &dyn Engine, now: Time, gauges: &Arc<Gauges>) -> Result<()> {
    write_alone(db, gauges, |rows| meta::create(rows, FORMAT, now))
}

/// The file's format.
///
/// # Errors
/// `Invalid` if it is not a posture database, is from a newer release, or is not in use.
fn checked_format(db: &dyn Engine, gauges: &Arc<Gauges>) -> Result<u32> {
    let rows = Reading::begin(db, gauges)?;
    require_in_use(&rows)?;
    file_format(&rows)
}

/// The file's format, whether or not it is in use.
///
/// # Errors
/// As [`checked_format`].
pub(in crate::store) fn file_format(rows: &Reading) -> Result<u32> {
    let format = meta::find_format(rows)?.ok_or_else(foreign)?;
    if FORMAT < format {
        return Err(Error::invalid(format!(
            "{FILE} was written by a newer release (format {format}; this one reads up to {FORMAT})"
        )));
    }
    Ok(format)
}

/// # Errors
/// `Invalid` if another database is in use instead: what was written to this one would be lost.
pub(in crate::store) fn require_in_use(rows: &Reading) -> Result<()> {
    require_not_relocated(meta::find_relocation(rows)?)
}

fn require_not_relocated(relocation: Option<Relocation>) -> Result<()> {
    let Some(relocation) = relocation else { return Ok(()) };
    Err(Error::invalid(match relocation {
        Relocation::Left { at, to_server: true } => format!(
            "{FILE} was moved to a PostgreSQL server at {at}; name that server in [database] of posture.toml (`posture restore` \
             of {FILE} takes up the state before the move)"
        ),
        Relocation::Left { at, to_server: false } => format!(
            "the database on the server was moved to a file at {at}; set database.engine = \"redb\" in posture.toml"
        ),
        Relocation::Arriving => {
            "a move of the database to here is not complete; run the same `posture move` again"
                .to_owned()
        }
    }))
}

/// Copies the file before the first step: a restore of the copy goes back to the release before.
///
/// # Errors
/// `Unavailable` if the disk has no space for it: nothing was changed.
fn copy_file(dir: &Path, file: &Path, format: u32) -> Result<()> {
    let (name, n_bytes) = (copy_name(dir, format), file_bytes(file)?);
    let new = dir.join(NEW_COPY);
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(dir_refused(error)),
        Ok(()) | Err(_) => (),
    }
    if let Some(Shortage { free_mib, needed_mib }) =
        disk_space::find_shortage(dir, n_bytes, Some(file))
    {
        return Err(Error::unavailable(format!(
            "the first start of this release keeps a copy of {FILE} as {name}, with which one can go back: that needs \
             {needed_mib} MiB free in {}, where {free_mib} MiB are free; nothing was changed",
            dir.display()
        )));
    }
    tracing::info!(format, n_bytes, copy = name, "copying the database before its migration");
    std::fs::copy(file, &new).map_err(dir_refused)?;
    File::open(&new).and_then(|it| it.sync_all()).map_err(dir_refused)?;
    std::fs::rename(&new, dir.join(name)).map_err(dir_refused)?;
    sync_dir(dir)
}

/// `posture.redb.format-1`, or with a number at its end if there is one.
fn copy_name(dir: &Path, format: u32) -> String {
    let name = format!("{FILE}.format-{format}");
    let further = (2..N_COPIES_MAX).map(|n| format!("{name}-{n}"));
    let is_free = |it: &String| !dir.join(it).exists();
    std::iter::once(name.clone()).chain(further).find(is_free).unwrap_or(name)
}

/// Migrates the database of a folder that is a copy itself: nothing of it is kept.
pub(in crate::store) fn migrate_scratch(dir: &Path, cache_bytes: usize) -> Result<()> {
    guarded(|| {
        let gauges = Arc::default();
        let db = open_file(&dir.join(FILE), cache_bytes)?;
        let format = checked_format(&db, &gauges)?;
        migrate(&db, format, &gauges)
    })
}

fn file_bytes(file: &Path) -> Result<u64> {
    std::fs::metadata(file).map(|it| it.len()).map_err(dir_refused)
}

pub(in crate::store) fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|it| it.sync_all()).map_err(dir_refused)
}

/// A damaged file may make the engine panic, which is reported like any other error.
pub(in crate::store) fn guarded<T>(open: impl FnOnce() -> Result<T>) -> Result<T> {
    let opened = catch_unwind(AssertUnwindSafe(open));
    opened.unwrap_or_else(|_| Err(damaged().caused_by("reading it panicked")))
}

fn refused(fault: OpenFault) -> Error {
    match fault {
        OpenFault::InUse => in_use(),
        OpenFault::Foreign(cause) => foreign().caused_by(cause),
        OpenFault::Damaged(cause) => damaged().caused_by(cause),
        OpenFault::Io(error) => io_refused(error),
    }
}

fn io_refused(error: io::Error) -> Error {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};

    if matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) {
        let rule = format!("this user may not read and write {FILE}");
        return Error::unavailable(rule).caused_by(error);
    }
    dir_refused(error)
}

fn in_use() -> Error {
    Error::conflict("another posture process has the database open")
}

fn foreign() -> Error {
    Error::invalid(format!("{FILE} is not a posture database; move it away"))
}

fn damaged() -> Error {
    Error::invalid(format!("{FILE} is damaged; restore a backup"))
}

pub(in crate::store) fn dir_refused(error: io::Error) -> Error {
    use io::ErrorKind::{
        AlreadyExists, NotADirectory, PermissionDenied, ReadOnlyFilesystem, StorageFull,
    };
    let is = |kinds: &[io::ErrorKind]| kinds.contains(&error.kind());
    let message = if is(&[PermissionDenied, ReadOnlyFilesystem]) {
        "the data directory is not writable"
    } else if is(&[AlreadyExists, NotADirectory]) {
        "the data directory is not a directory"
    } else if is(&[StorageFull]) {
        "the disk of the data directory is full"
    } else {
        "the data directory cannot be used"
    };
    Error::unavailable(message).caused_by(error)
}

/// What the writer goes on counting from.
pub(in crate::store) fn find_counts(rows: &Reading) -> Result<Counts> {
    let last = |table: &str, removed: &[u8]| -> Result<u64> {
        let kept = rows.last_key::<8>(table)?.map_or(0, u64::from_be_bytes);
        Ok(kept.max(rows.find_row(META, removed)?.unwrap_or(0)))
    };
    let asset = rows.last_key(ASSET_CLIENTS)?.unwrap_or_default();
    let (event, change) = (last(EVENTS, LAST_EVENT)?, last(CHANGES, LAST_CHANGE)?);
    Ok(Counts { asset, event, change, audit: audit::find_head(rows)? })
}
