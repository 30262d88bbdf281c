//! The end of a backup: the length and the digest of every byte before it, so that no byte of it can change unnoticed, not
//! even one that no row uses.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::file::target_refused;
use super::job::{Job, Phase};
use super::stream::{Hashed, pump};
use crate::error::{Error, Result};
use crate::store::open::{TRAILER_BYTES, TRAILER_MAGIC};

/// Ends a file with a trailer, durably.
///
/// # Errors
/// `Unavailable` if the disk does not accept it, or `job` is canceled.
pub(super) fn append(file: &Path, job: &Job) -> Result<()> {
    let mut opened =
        OpenOptions::new().read(true).write(true).open(file).map_err(target_refused)?;
    let n_bytes = opened.metadata().map_err(target_refused)?.len();
    let trailer = of(&opened, n_bytes, job)?;
    opened.seek(SeekFrom::End(0)).map_err(target_refused)?;
    opened.write_all(&trailer).map_err(target_refused)?;
    opened.sync_all().map_err(target_refused)
}

/// Removes the trailer of a file. Returns false if it has none.
///
/// # Errors
/// `Invalid` if the bytes before it are not those that were written; those of [`append`].
pub(super) fn remove(file: &Path, job: &Job) -> Result<bool> {
    let mut opened =
        OpenOptions::new().read(true).write(true).open(file).map_err(target_refused)?;
    let n_all = opened.metadata().map_err(target_refused)?.len();
    let Some(n_bytes) = n_all.checked_sub(TRAILER_BYTES as u64) else { return Ok(false) };
    let mut found = [0; TRAILER_BYTES];
    opened.seek(SeekFrom::Start(n_bytes)).map_err(target_refused)?;
    opened.read_exact(&mut found).map_err(target_refused)?;
    if !found.starts_with(&TRAILER_MAGIC) {
        return Ok(false);
    }
    opened.rewind().map_err(target_refused)?;
    if of(&opened, n_bytes, job)? != found {
        return Err(Error::invalid("is damaged: it is not what was written; use another backup"));
    }
    opened.set_len(n_bytes).map_err(target_refused)?;
    Ok(true)
}

/// The trailer for the first `n_bytes` of an open file: [`TRAILER_MAGIC`], `n_bytes` (little-endian), their XXH3 (128 bits).
fn of(file: &File, n_bytes: u64, job: &Job) -> Result<[u8; TRAILER_BYTES]> {
    job.begin(Phase::Digest, n_bytes);
    let mut read = Hashed::new(io::sink());
    pump(file.take(n_bytes), &mut read, job)?;
    let mut trailer = [0; TRAILER_BYTES];
    trailer[..16].copy_from_slice(&TRAILER_MAGIC);
    trailer[16..24].copy_from_slice(&n_bytes.to_le_bytes());
    trailer[24..].copy_from_slice(&read.digest().to_le_bytes());
    Ok(trailer)
}
