//! Files of backups: under a temporary name until they are complete, and only where there is space.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, CWD, RenameFlags, fadvise, renameat_with};
use rustix::io::Errno;

use crate::error::{Code, Error, Result};
use crate::secret;
use crate::store::disk_space::{self, Shortage};
use crate::store::open::DatabaseLocation;
use crate::store::spool::SCRATCH_NAME_BYTES;
use crate::store::{EngineOptions, StoreOptions};

/// Ends the name of a backup that is being written.
const PENDING: &str = ".partial";

/// A file that is being written. Dropping it removes it.
pub(super) struct PendingFile {
    folder: PathBuf,
    path: PathBuf,
}

impl PendingFile {
    /// What becomes `file`, in the same folder.
    ///
    /// # Errors
    /// `Invalid` if there is no such folder, or either name is taken.
    pub(super) fn beside(file: &Path) -> Result<Self> {
        let parent = file.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new(".")).to_owned();
        if !folder.is_dir() {
            return Err(Error::invalid("the folder of the backup does not exist; create it first"));
        }
        let Some(name) = file.file_name() else {
            return Err(Error::invalid("the backup must have a file name"));
        };
        let mut pending = OsString::from(name);
        pending.push(PENDING);
        let path = folder.join(pending);
        if fs::metadata(file).is_ok_and(|it| it.is_dir()) {
            let shown = file.display();
            return Err(Error::invalid(format!(
                "{shown} is a folder; name a file in it that does not exist yet"
            )));
        }
        if fs::symlink_metadata(file).is_ok() {
            return Err(taken());
        }
        if fs::symlink_metadata(&path).is_ok() {
            return Err(Error::invalid(format!(
                "a backup of that name was interrupted; remove the file with {PENDING} at its end, then try again"
            )));
        }
        Ok(Self { folder, path })
    }

    /// A file or folder in `folder` that is removed in the end.
    pub(super) fn scratch(folder: &Path, prefix: &str) -> Self {
        let path =
            folder.join(format!("{prefix}{}", hex::encode(secret::random::<SCRATCH_NAME_BYTES>())));
        Self { folder: folder.to_owned(), path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives it its name, durably. It never replaces a file.
    ///
    /// # Errors
    /// `Invalid` if the name was taken meanwhile; `Unavailable` if the disk does not accept it.
    pub(super) fn keep_as(self, file: &Path) -> Result<()> {
        match renameat_with(CWD, &self.path, CWD, file, RenameFlags::NOREPLACE) {
            Ok(()) => (),
            Err(Errno::EXIST) => return Err(taken()),
            Err(Errno::INVAL | Errno::NOSYS) => {
                // This file system cannot do both at once.
                if fs::symlink_metadata(file).is_ok() {
                    return Err(taken());
                }
                fs::rename(&self.path, file).map_err(target_refused)?;
            }
            Err(error) => return Err(target_refused(error.into())),
        }
        sync(&self.folder)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        let removed = match fs::symlink_metadata(&self.path) {
            Ok(it) if it.is_dir() => fs::remove_dir_all(&self.path),
            Ok(_) => fs::remove_file(&self.path),
            Err(_) => Ok(()), // It was kept or never made.
        };
        if let Err(error) = removed {
            tracing::warn!(%error, "{} could not be removed: {error}", self.path.display());
        }
    }
}

/// Takes the data directory for work that no server may be beside.
///
/// # Errors
/// `Conflict` if a process has the database open; those of [`DatabaseLocation::take`].
pub(super) fn take_alone(dir: &Path, cache_bytes: usize) -> Result<DatabaseLocation> {
    let engine = EngineOptions::File;
    take_alone_as(&StoreOptions { dir: dir.to_owned(), cache_bytes, engine })
}

/// As [`take_alone`], with any engine.
///
/// # Errors
/// As there.
pub(super) fn take_alone_as(options: &StoreOptions) -> Result<DatabaseLocation> {
    DatabaseLocation::take(options).map_err(|error| {
        if error.code != Code::Conflict {
            return error;
        }
        let (dir, what) = (options.dir.display(), error.message());
        Error::conflict(format!("{dir}: {what}; stop the service first"))
    })
}

/// Makes a file or the names in a folder durable. Who reads the file next reads the disk, not what is still in memory.
pub(super) fn sync(path: &Path) -> Result<()> {
    let opened = File::open(path).map_err(target_refused)?;
    opened.sync_all().map_err(target_refused)?;
    // Some file systems cannot, and then memory is what can be read.
    let _ = fadvise(&opened, 0, None, Advice::DontNeed);
    Ok(())
}

/// Requires space for so many bytes in a folder. On the disk of the database, the space that its writes need stays free.
///
/// # Errors
/// `Unavailable` if there is less.
pub(super) fn require_space(folder: &Path, n_bytes: u64, database: Option<&Path>) -> Result<()> {
    let short = disk_space::find_shortage(folder, n_bytes, database);
    short.map_or(Ok(()), |Shortage { free_mib, needed_mib }| {
        Err(Error::unavailable(format!(
            "there is not enough space: {free_mib} MiB are free, {needed_mib} MiB are needed"
        )))
    })
}

/// What was read again is not what was written.
pub(super) fn not_kept() -> Error {
    Error::unavailable("the disk did not keep what was written to the backup; do not use this disk")
}

fn taken() -> Error {
    Error::invalid("a file of that name exists; a backup never replaces one")
}

/// The file of a backup cannot be written.
pub(super) fn target_refused(error: io::Error) -> Error {
    use io::ErrorKind::{AlreadyExists, PermissionDenied, ReadOnlyFilesystem, StorageFull};
    let is = |kinds: &[io::ErrorKind]| kinds.contains(&error.kind());
    if is(&[AlreadyExists]) {
        taken()
    } else if is(&[PermissionDenied, ReadOnlyFilesystem]) {
        let rule = "the user of the service may not write there; choose a folder that it owns";
        Error::invalid(rule).caused_by(error)
    } else if is(&[StorageFull]) {
        Error::unavailable("the disk is full").caused_by(error)
    } else {
        let rule = format!("the file cannot be written ({})", error.kind());
        Error::unavailable(rule).caused_by(error)
    }
}
