//! Writing a backup: copied from one snapshot, verified, encrypted, and only then given its name.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{PendingFile, not_kept, require_space, sync, target_refused};
use super::inspect::verify;
use super::job::{Job, Phase};
use super::walk::{CACHE_BYTES, walk};
use super::{Contents, Manifest, encryption, trailer};
use crate::clock::Time;
use crate::error::{Code, Error, Result};
use crate::store::Store;
use crate::store::engine::{Cause, Engine, FileEngine, Overlay};
use crate::store::kernel::envelope;
use crate::store::kernel::transaction::Reading;
use crate::store::open::guarded;
use crate::store::spool::SCRATCH_PREFIX;
use crate::store::table::MANIFEST;

/// Rows in one commit of a backup. They are in memory until it.
const CHUNK_BYTES: usize = 16 * 1024 * 1024;

/// Where a backup goes.
#[derive(Clone, Debug)]
pub struct BackupOptions {
    /// The file. It must not exist; its folder must.
    pub file: PathBuf,
    /// Public keys that it is encrypted to. None: it is not encrypted.
    pub recipients: Vec<String>,
}

impl Store {
    /// Writes all rows of the current state to a new file, reads it again, and returns what it says of itself, with the
    /// length of the file. Writes go on meanwhile. Takes long: run it off the async threads.
    ///
    /// # Errors
    /// `Invalid` if the file cannot be made there, or exists; `Conflict` if a record is damaged; `Unavailable` if there is
    /// no space, the disk does not accept it, or `job` is canceled. Then there is no file.
    pub fn back_up(
        &self,
        options: &BackupOptions,
        job: &Job,
        now: Time,
    ) -> Result<(Manifest, u64)> {
        let rows = self.snapshot()?.rows;
        let database = self.inner.database.as_deref();
        let target = PendingFile::beside(&options.file)?;
        let n_bytes = database.and_then(|it| it.metadata().ok()).map_or(0, |it| it.len());
        require_space(target.folder(), n_bytes, database)?;
        let manifest = if options.recipients.is_empty() {
            write_verified(rows, job, target.path(), now)?
        } else {
            // In the data directory, where the same rows are anyway.
            let folder = self.inner.spool.folder();
            require_space(folder, n_bytes, database)?;
            let clear = PendingFile::scratch(folder, SCRATCH_PREFIX);
            let manifest = write_verified(rows, job, clear.path(), now)?;
            encryption::encrypt(clear.path(), target.path(), &options.recipients, job)?;
            manifest
        };
        let n_bytes = target.path().metadata().map_err(target_refused)?.len();
        target.keep_as(&options.file)?;
        Ok((manifest, n_bytes))
    }

    /// What all rows of the current state are together.
    ///
    /// # Errors
    /// `Conflict` if a record is damaged.
    pub fn contents(&self, job: &Job) -> Result<Contents> {
        let rows = self.snapshot()?.rows;
        guarded(|| walk(&rows, job, Phase::Verify, &mut |_, _, _| Ok(())))
    }
}

fn write_verified(rows: Reading, job: &Job, file: &Path, now: Time) -> Result<Manifest> {
    let manifest = guarded(|| copy(&rows, job, file, now))?;
    drop(rows); // It keeps pages of the database alive that could be used again.
    verify(file, Some(&manifest), job)
        .map_err(|it| if it.code == Code::Invalid { not_kept().caused_by(it) } else { it })?;
    trailer::append(file, job)?;
    Ok(manifest)
}

/// Writes all rows to a new file, which is durable then.
fn copy(rows: &Reading, job: &Job, file: &Path, at: Time) -> Result<Manifest> {
    let mut made = NewDatabase::create(file)?;
    let contents =
        walk(rows, job, Phase::Copy, &mut |table, key, bytes| made.put(table, key, bytes))?;
    let release = env!("CARGO_PKG_VERSION").to_owned();
    let manifest = Manifest { at, release, contents };
    made.finish(&manifest)?;
    sync(file)?;
    Ok(manifest)
}

/// A database file that is being filled, in the order of the tables and keys.
pub(super) struct NewDatabase {
    db: FileEngine,
    writes: Overlay,
}

impl NewDatabase {
    pub(super) fn create(file: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        let made = options.read(true).write(true).create_new(true).mode(0o600).open(file);
        let db = FileEngine::create(made.map_err(target_refused)?, CACHE_BYTES);
        let db = db.map_err(|fault| refused(fault.into_cause()))?;
        Ok(Self { db, writes: Overlay::default() })
    }

    /// One that was left unfinished, and how many rows it has.
    pub(super) fn go_on(file: &Path) -> Result<(Self, u64)> {
        let db = FileEngine::open(file, CACHE_BYTES);
        let db = db.map_err(|fault| refused(fault.into_cause()))?;
        let rows = Reading::begin(&db, &Arc::default())?;
        let n_rows =
            rows.list_tables()?.iter().map(|it| rows.count_rows(it)).sum::<Result<u64>>()?;
        drop(rows);
        Ok((Self { db, writes: Overlay::default() }, n_rows))
    }

    pub(super) fn put(&mut self, table: &str, key: &[u8], bytes: &[u8]) -> Result<()> {
        self.writes.put(table, key, bytes.to_vec());
        if self.writes.n_bytes() < CHUNK_BYTES { Ok(()) } else { self.commit() }
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        let writes = std::mem::take(&mut self.writes);
        self.db.commit(writes).map_err(|fault| refused(fault.into_cause()))
    }

    /// Commits what is left together with the manifest.
    fn finish(mut self, manifest: &Manifest) -> Result<()> {
        self.writes.put(MANIFEST, b"", envelope::seal(MANIFEST, b"", manifest)?);
        self.commit()
    }
}

fn refused(cause: Cause) -> Error {
    match cause.downcast::<io::Error>() {
        Ok(error) => target_refused(*error),
        Err(cause) => Error::unavailable("the backup cannot be written").caused_by(cause),
    }
}
