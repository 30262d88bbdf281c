//! Files of the engine: made, opened, verified page by page, compacted.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use redb::{
    Builder, CompactionError, DatabaseError, ReadableDatabase, StorageBackend, StorageError,
};

use super::{FileEngine, FileView};
use crate::store::engine::{Answer, Cause, Fault, View};

/// The name of the database file in the data directory.
pub(in crate::store) const FILE: &str = "posture.redb";

/// Why a file cannot be opened.
#[derive(Debug)]
pub(in crate::store) enum OpenFault {
    /// Another process has it open.
    InUse,
    /// It is not a database of this engine.
    Foreign(Cause),
    Damaged(Cause),
    Io(io::Error),
}

impl OpenFault {
    pub(in crate::store) fn into_cause(self) -> Cause {
        match self {
            Self::InUse => "another process has the file open".into(),
            Self::Foreign(cause) | Self::Damaged(cause) => cause,
            Self::Io(error) => error.into(),
        }
    }
}

impl FileEngine {
    pub(in crate::store) fn open(file: &Path, cache_bytes: usize) -> Result<Self, OpenFault> {
        Ok(Self { db: builder(cache_bytes).open(file)? })
    }

    /// Makes an empty database in a new file.
    pub(in crate::store) fn create(file: File, cache_bytes: usize) -> Result<Self, OpenFault> {
        Ok(Self { db: builder(cache_bytes).create_file(file)? })
    }

    /// Opens the database on a backend, or makes an empty one if the backend is empty.
    pub(in crate::store) fn on_backend(
        backend: impl StorageBackend,
        cache_bytes: usize,
    ) -> Result<Self, OpenFault> {
        Ok(Self { db: builder(cache_bytes).create_with_backend(backend)? })
    }

    /// Whether all pages are as they were written. Nothing else may use the database.
    pub(in crate::store) fn verify_pages(&mut self) -> Result<bool, OpenFault> {
        Ok(self.db.check_integrity()?)
    }

    /// Rewrites the file so that it has no free pages. Nothing else may use the database.
    pub(in crate::store) fn compact(&mut self) -> Answer<()> {
        while self.db.compact()? {}
        Ok(())
    }
}

/// The state of a file that is only read.
pub(in crate::store) fn view_file(
    file: &Path,
    cache_bytes: usize,
) -> Result<Arc<dyn View>, OpenFault> {
    let db = builder(cache_bytes).open_read_only(file)?;
    let tx = db.begin_read().map_err(|error| OpenFault::Damaged(error.into()))?;
    Ok(Arc::new(FileView { tx }))
}

fn builder(cache_bytes: usize) -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes).set_repair_callback(|repair| {
        if repair.progress() <= 0.0 {
            tracing::warn!("the database was not closed cleanly; it is being verified");
        }
    });
    builder
}

impl From<DatabaseError> for OpenFault {
    fn from(error: DatabaseError) -> Self {
        use io::ErrorKind::{InvalidData, UnexpectedEof};

        match error {
            DatabaseError::DatabaseAlreadyOpen => Self::InUse,
            DatabaseError::Storage(StorageError::Io(error))
                if matches!(error.kind(), InvalidData | UnexpectedEof) =>
            {
                Self::Foreign(error.into())
            }
            DatabaseError::Storage(StorageError::Io(error)) => Self::Io(error),
            DatabaseError::Storage(StorageError::Corrupted(reason)) if reason.contains("magic") => {
                Self::Foreign(reason.into())
            }
            DatabaseError::UpgradeRequired(_) => Self::Foreign(error.into()),
            DatabaseError::Storage(_)
            | DatabaseError::RepairAborted
            | DatabaseError::TransactionInProgress
            | _ => Self::Damaged(error.into()),
        }
    }
}

impl From<CompactionError> for Fault {
    fn from(error: CompactionError) -> Self {
        Self::Broken(error.into())
    }
}
