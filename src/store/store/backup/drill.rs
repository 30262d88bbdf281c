//! Restoring a backup beside the database, to see whether it can be.

use std::path::Path;

use super::file::{PendingFile, require_space};
use super::job::Job;
use super::restore::{RestoreOptions, Restored, restore};
use super::walk::CACHE_BYTES;
use crate::clock::Time;
use crate::error::Result;
use crate::store::open::migrate_scratch;
use crate::store::spool::SCRATCH_PREFIX;
use crate::store::{EngineOptions, Snapshot, Store, StoreOptions};

/// Restores a backup into a new folder inside of `folder`, migrates it, and calls `look` with it. The new folder is removed in the end.
/// Takes long: run it off the async threads.
///
/// # Errors
/// Those of [`restore`], of the migration and of `look`.
pub fn rehearse<T>(
    (file, identity): (&Path, Option<&str>),
    folder: &Path,
    job: &Job,
    now: Time,
    look: impl FnOnce(Restored, &Path) -> Result<T>,
) -> Result<T> {
    let scratch = PendingFile::scratch(folder, SCRATCH_PREFIX);
    let options = RestoreOptions { file, dir: scratch.path(), identity, replace: false };
    let restored = restore(&options, job, now)?;
    migrate_scratch(scratch.path(), CACHE_BYTES)?;
    look(restored, scratch.path())
}

impl Store {
    /// Restores a backup into a scratch folder beside the database, opens it there, and calls `read` with its state. The
    /// folder is removed in the end. Takes long: run it off the async threads.
    ///
    /// # Errors
    /// Those of [`restore`], of [`Store::open`] and of `read`.
    pub fn rehearse(
        &self,
        file: &Path,
        identity: Option<&str>,
        job: &Job,
        now: Time,
        read: impl FnOnce(&Snapshot) -> Result<()>,
    ) -> Result<Restored> {
        let database = self.inner.database.as_deref();
        let folder = self.inner.spool.folder();
        // Writes go on meanwhile. A file that is not there is refused by the restore.
        let n_bytes = file.metadata().map_or(0, |it| it.len());
        require_space(folder, n_bytes, database)?;
        rehearse((file, identity), folder, job, now, |restored, dir| {
            let engine = EngineOptions::File;
            let options = StoreOptions { dir: dir.to_owned(), cache_bytes: CACHE_BYTES, engine };
            let store = Self::open(&options, now)?;
            let read = store.snapshot().and_then(|it| read(&it));
            store.close();
            read.map(|()| restored)
        })
    }
}
