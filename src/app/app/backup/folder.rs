//! The folder of scheduled backups: names, and which are removed.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::clock::Time;
use crate::error::{Error, Result};

const START: &str = "posture-";
const END: &str = ".redb";
const ENCRYPTED_END: &str = ".redb.age";
const PENDING_END: &str = ".partial";
/// `20261123T101500Z`.
const TIME_CHARS: usize = 16;

/// Backups that are made within one second take the names of the seconds after it.
const N_PER_SECOND_MAX: i64 = 60;

/// The file of a backup that is made at a time.
pub(super) fn file_at(dir: &Path, at: Time, encrypted: bool) -> PathBuf {
    let end = if encrypted { ENCRYPTED_END } else { END };
    let file = |s: i64| dir.join(format!("{START}{}{end}", at.plus_s(s).compact()));
    // If all are taken, the backup is refused.
    let free = (0..N_PER_SECOND_MAX).map(file).find(|it| fs::symlink_metadata(it).is_err());
    free.unwrap_or_else(|| file(0))
}

/// The time in the name of a scheduled backup. `None`: it is another file.
fn time_in(name: &str) -> Option<&str> {
    let rest = name.strip_prefix(START)?;
    let (time, end) = rest.split_at_checked(TIME_CHARS)?;
    let is_digit = |it: &[u8]| it.iter().all(u8::is_ascii_digit);
    let bytes = time.as_bytes();
    let is_time =
        is_digit(&bytes[..8]) && bytes[8] == b'T' && is_digit(&bytes[9..15]) && bytes[15] == b'Z';
    (is_time && (end == END || end == ENCRYPTED_END)).then_some(time)
}

/// The names of backups, newest first.
fn list(dir: &Path) -> Result<Vec<String>> {
    let mut names = file_names(dir)?;
    names.retain(|it| time_in(it).is_some());
    names.sort_unstable_by(|one, other| time_in(other).cmp(&time_in(one)));
    Ok(names)
}

fn file_names(dir: &Path) -> Result<Vec<String>> {
    let unreadable = |error: std::io::Error| {
        Error::unavailable(format!("the folder of the backups cannot be read: {error}"))
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        if let Ok(name) = entry.map_err(unreadable)?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

/// The newest backup.
///
/// # Errors
/// `NotFound` if there is none.
pub(super) fn newest(dir: &Path) -> Result<PathBuf> {
    let name = list(dir)?.into_iter().next();
    let name =
        name.ok_or_else(|| Error::not_found("there is no backup in the folder of the backups"))?;
    Ok(dir.join(name))
}

/// The backup of this name, or else the newest.
///
/// # Errors
/// `NotFound` if there is none.
pub(super) fn named_or_newest(dir: &Path, name: &str) -> Result<PathBuf> {
    let dir = std::path::absolute(dir).map_err(Error::internal)?;
    let file = dir.join(name);
    if file.exists() { Ok(file) } else { newest(&dir) }
}

/// Whether this is the newest backup in the folder, by whatever path.
pub(super) fn is_newest(dir: &Path, file: &Path) -> bool {
    let newest = newest(dir).ok().and_then(|it| fs::canonicalize(it).ok());
    newest.is_some_and(|it| fs::canonicalize(file).is_ok_and(|named| named == it))
}

/// Makes the folder, for nobody else on the host.
pub(super) fn make(dir: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(dir).map_err(|error| {
        Error::unavailable(format!("the folder of the backups cannot be made: {error}"))
    })
}

/// Removes backups that a killed process did not finish.
pub(super) fn remove_unfinished(dir: &Path) -> Result<()> {
    for name in file_names(dir)? {
        if name.strip_suffix(PENDING_END).is_some_and(|it| time_in(it).is_some()) {
            remove(&dir.join(name))?;
        }
    }
    Ok(())
}

/// Removes all but `keep` backups: `made`, the one just made, and the newest others. Other files stay.
///
/// # Errors
/// `Unavailable` if a file cannot be removed; the rest is removed all the same.
pub(super) fn prune(dir: &Path, keep: u32, made: &str) -> Result<()> {
    let mut result = Ok(());
    // A clock that was ahead gave others a later time.
    let others = list(dir)?.into_iter().filter(|it| it != made);
    for name in others.skip((keep as usize).saturating_sub(1)) {
        match remove(&dir.join(&name)) {
            Ok(()) => tracing::info!("removed the old backup `{name}`"),
            Err(error) => result = Err(error),
        }
    }
    result
}

fn remove(file: &Path) -> Result<()> {
    fs::remove_file(file)
        .map_err(|error| Error::unavailable(format!("an old backup cannot be removed: {error}")))
}
