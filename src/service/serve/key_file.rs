//! The file in the data directory with the key that seals secrets, and what takes its place.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::secret::Sealer;

/// The file in the data directory whose key seals secrets.
pub const KEY_FILE: &str = "posture.key";
/// The key that takes its place, until everything is sealed with it.
pub const NEW_KEY_FILE: &str = "posture.key.new";

/// Opens the key file of a data directory, which is made if it is missing. A rotation that was interrupted is finished if
/// the database is sealed with the new key, and forgotten if not. `needed`: identifies the key of the database.
///
/// # Errors
/// Those of [`Sealer::open`] and [`replace`].
pub(super) fn open(dir: &Path, needed: Option<[u8; 8]>, now: Time) -> Result<Sealer> {
    let new = dir.join(NEW_KEY_FILE);
    if fs::symlink_metadata(&new).is_ok() {
        // A file that was not written to its end is no key, and nothing is sealed with it.
        let is_needed = Sealer::open_provided(&new).is_ok_and(|it| Some(it.id()) == needed);
        if is_needed {
            replace(dir, now)?;
            tracing::warn!("finished the rotation of {KEY_FILE} that was interrupted");
        } else {
            fs::remove_file(&new).map_err(refused)?;
            tracing::warn!(
                "removed {NEW_KEY_FILE}: its rotation was interrupted before it counted"
            );
        }
    }
    Sealer::open(&dir.join(KEY_FILE))
}

/// Puts the new key file in the place of the one before, which is kept. Returns its name.
///
/// # Errors
/// `Unavailable` if the directory does not accept it.
pub fn replace(dir: &Path, now: Time) -> Result<PathBuf> {
    let (current, new) = (dir.join(KEY_FILE), dir.join(NEW_KEY_FILE));
    let kept = dir.join(format!("{KEY_FILE}.until-{}", now.compact()));
    // A second name, so that there is a key file at any moment.
    fs::hard_link(&current, &kept).map_err(refused)?;
    fs::rename(&new, &current).map_err(refused)?;
    File::open(dir).and_then(|it| it.sync_all()).map_err(refused)?;
    Ok(kept)
}

/// Requires the key file that the database on a server is sealed with: another node, or another installation, has it.
///
/// # Errors
/// `Invalid` if it is another.
pub(super) fn require_same(sealer: &Sealer, needed: Option<[u8; 8]>) -> Result<()> {
    match needed {
        Some(needed) if needed != sealer.id() => Err(other_key(Some(sealer), needed)),
        Some(_) | None => Ok(()),
    }
}

/// Whether a node that is to open the database has its key: `provided`, or else the file in its data directory, or the one
/// of a rotation that was interrupted.
///
/// # Errors
/// `Invalid` if it has another one or none; those of [`Sealer::open_provided`].
pub(super) fn require_at(dir: &Path, provided: Option<&Path>, needed: [u8; 8]) -> Result<()> {
    let own = dir.join(KEY_FILE);
    let path = provided.unwrap_or(&own);
    let is_there = provided.is_some() || path.exists();
    let sealer = is_there.then(|| Sealer::open_provided(path)).transpose()?;
    let is_new =
        || Sealer::open_provided(&dir.join(NEW_KEY_FILE)).is_ok_and(|it| it.id() == needed);
    if sealer.as_ref().is_some_and(|it| it.id() == needed) || (provided.is_none() && is_new()) {
        return Ok(());
    }
    Err(other_key(sealer.as_ref(), needed))
}

fn other_key(own: Option<&Sealer>, needed: [u8; 8]) -> Error {
    let here = match own {
        Some(sealer) => format!("{KEY_FILE} here is {}", hex::encode(sealer.id())),
        None => format!("there is no {KEY_FILE} here"),
    };
    let needed = hex::encode(needed);
    Error::invalid(format!(
        "the database belongs to the key file {needed}, and {here}; copy {KEY_FILE} from the node that has used this database, \
         or give this installation a database of its own"
    ))
}

fn refused(error: std::io::Error) -> Error {
    Error::unavailable(format!("the key file cannot be replaced: {error}")).caused_by(error)
}
