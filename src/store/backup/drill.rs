//! Restoring a backup beside the database, to see whether it can be.

use std::path::Path;

use super::file::PendingFile;
use super::job::Job;
use super::restore::{RestoreOptions, Restored, restore};
use super::walk::CACHE_BYTES;
use crate::clock::Time;
use crate::error::Result;
use crate::store::spool::SCRATCH_PREFIX;
use crate::store::{Snapshot, Store, StoreOptions};

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
        let folder = self.inner.database.as_deref().and_then(Path::parent).map(Path::to_owned);
        let scratch =
            PendingFile::scratch(&folder.unwrap_or_else(std::env::temp_dir), SCRATCH_PREFIX);
        let options = RestoreOptions { file, dir: scratch.path(), identity, replace: false };
        let restored = restore(&options, job, now)?;
        let dir = scratch.path().to_owned();
        let store = Self::open(&StoreOptions { dir, cache_bytes: CACHE_BYTES }, now)?;
        let read = store.snapshot().and_then(|it| read(&it));
        store.close();
        read.map(|()| restored)
    }
}
