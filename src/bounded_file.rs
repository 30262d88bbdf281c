//! Files that are read whole, up to a length.

use std::fs::File;
use std::io::{ErrorKind, Read, Result};
use std::path::Path;

/// Reads a file. A longer one is not read to its end, even if it says that it is short, as a device does.
///
/// # Errors
/// `FileTooLarge` if it is longer; those of the system.
pub fn read(path: &Path, n_bytes_max: u64) -> Result<Vec<u8>> {
    read_from(File::open(path)?, n_bytes_max)
}

/// [`read`] of what is open.
///
/// # Errors
/// As there.
pub fn read_from(from: impl Read, n_bytes_max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(n_bytes_max + 1).read_to_end(&mut bytes)?;
    if n_bytes_max < bytes.len() as u64 {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}
