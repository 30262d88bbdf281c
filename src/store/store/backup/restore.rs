//! Putting a backup in the place of the database, after every row of it was verified.

use std::fs;
use std::path::{Path, PathBuf};

use super::encryption::unpack;
use super::file::{PendingFile, require_space, sync, take_alone, target_refused};
use super::inspect::{Verified, verify_pages};
use super::job::Job;
use super::walk::CACHE_BYTES;
use super::{Contents, Manifest, trailer};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::store::engine::{Cause, Engine, FILE, Fault, FileEngine, OpenFault, Overlay};
use crate::store::kernel::meta::RELOCATION;
use crate::store::open::guarded;
use crate::store::spool::SCRATCH_PREFIX;
use crate::store::table::{MANIFEST, META};

/// What to restore, and where.
pub struct RestoreOptions<'a> {
    /// A backup, or a copy of a database that was not open.
    pub file: &'a Path,
    /// The data directory. Created if it does not exist.
    pub dir: &'a Path,
    /// The text of the file with the secret key, for an encrypted backup.
    pub identity: Option<&'a str>,
    /// Whether it may take the place of a database, which is kept under another name.
    pub replace: bool,
}

/// What was restored.
#[derive(Clone, Debug)]
pub struct Restored {
    /// What the backup said of itself. `None`: a copy of a database.
    pub manifest: Option<Manifest>,
    pub contents: Contents,
    /// The format of the file. It is migrated when the database is opened, if it is not that of this release.
    pub format: u32,
    /// The length of the database.
    pub n_bytes: u64,
    /// Where the database is that was there before.
    pub kept: Option<String>,
    /// Identifies the key file that its secrets are sealed with. `None`: no service was started on it yet.
    pub key_file: Option<[u8; 8]>,
}

/// Restores a backup. The database changes only after every row and page of the backup was verified. It is migrated, if it
/// is of an older format, when it is opened.
///
/// # Errors
/// `Invalid` if the file cannot be read, is damaged, or is from a newer release; `Conflict` if a process has the database
/// open, or there is one that must not be replaced; `Unavailable` if the disk does not accept it.
pub fn restore(options: &RestoreOptions<'_>, job: &Job, now: Time) -> Result<Restored> {
    let RestoreOptions { file, dir, identity, replace } = *options;
    let named = |error: Error| error.at(&file.display().to_string());
    let n_bytes =
        fs::metadata(file).map_err(|it| named(Error::invalid(format!("cannot be read: {it}"))))?;
    let _home = take_alone(dir, CACHE_BYTES)?;
    let database = dir.join(FILE);
    let is_there = fs::symlink_metadata(&database).is_ok();
    if is_there && !replace {
        return Err(Error::conflict(format!(
            "{} exists; pass --replace to put the backup in its place (it is kept under another name)",
            database.display()
        )));
    }
    require_space(dir, n_bytes.len(), None)?;
    let scratch = PendingFile::scratch(dir, SCRATCH_PREFIX);
    unpack(file, scratch.path(), identity, job).map_err(named)?;
    let has_trailer = trailer::remove(scratch.path(), job).map_err(named)?;
    let Verified { manifest, contents, format, key_file, relocation } =
        verify_pages(scratch.path(), job).map_err(named)?;
    if manifest.is_some() && !has_trailer {
        return Err(named(Error::invalid("is damaged: its end is missing; use another backup")));
    }
    if manifest.is_some() || relocation.is_some() {
        guarded(|| begin_anew(scratch.path()))?;
    }
    let n_bytes = fs::metadata(scratch.path()).map_err(target_refused)?.len();
    let kept = put_in_place(scratch.path(), dir, "restore", now)?;
    let kept = kept.map(|it| it.display().to_string());
    Ok(Restored { manifest, contents, format, n_bytes, kept, key_file })
}

/// Makes a complete file in the data directory the database. Returns the name that the database has from then on that was
/// there. `before`: what this is done for, which is in that name.
pub(super) fn put_in_place(
    file: &Path,
    dir: &Path,
    before: &str,
    now: Time,
) -> Result<Option<PathBuf>> {
    let database = dir.join(FILE);
    sync(file)?;
    let is_there = fs::symlink_metadata(&database).is_ok();
    let kept = is_there.then(|| kept_name(dir, before, now));
    if let Some(kept) = &kept {
        // A second name, so that there is a database at any moment.
        fs::hard_link(&database, kept).map_err(target_refused)?;
        sync(dir)?; // It must not be lost with the database that takes its place.
    }
    fs::rename(file, &database).map_err(target_refused)?;
    sync(dir)?;
    Ok(kept)
}

/// Databases that are replaced within one second and kept.
const N_KEPT_AT_ONCE: u32 = 100;

/// `posture.redb.before-restore-20261123T101500Z`, or with a number at its end.
fn kept_name(dir: &Path, before: &str, now: Time) -> PathBuf {
    let name = format!("{FILE}.before-{before}-{}", now.compact());
    let is_free = |it: &PathBuf| fs::symlink_metadata(it).is_err();
    let further = (2..N_KEPT_AT_ONCE).map(|n| dir.join(format!("{name}-{n}")));
    // If all are taken, the link is refused.
    std::iter::once(dir.join(&name)).chain(further).find(is_free).unwrap_or(dir.join(&name))
}

/// A database that goes on is not what the backup was, and is in use whatever it was.
fn begin_anew(file: &Path) -> Result<()> {
    let refused =
        |cause: Cause| Error::unavailable("the backup cannot be put in place").caused_by(cause);
    let db = FileEngine::open(file, CACHE_BYTES).map_err(OpenFault::into_cause).map_err(refused)?;
    let mut writes = Overlay::default();
    writes.delete_table(MANIFEST);
    writes.remove(META, RELOCATION);
    db.commit(writes).map_err(Fault::into_cause).map_err(refused)
}
