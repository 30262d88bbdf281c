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
    let Some(needed) = needed.filter(|it| *it != sealer.id()) else { return Ok(()) };
    let (own, needed) = (hex::encode(sealer.id()), hex::encode(needed));
    Err(Error::invalid(format!(
        "the database belongs to the key file {needed}, and {KEY_FILE} here is {own}; copy {KEY_FILE} from the node that has \
         used this database, or give this installation a database of its own"
    )))
}

fn refused(error: std::io::Error) -> Error {
    Error::unavailable(format!("the key file cannot be replaced: {error}")).caused_by(error)
}
