//! Files that are read whole, up to a length.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

use crate::encoding;

/// A longer file is not one of a single line.
const LINE_FILE_BYTES_MAX: u64 = 1_024;

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

/// Reads the only line of a small file, such as a password.
///
/// # Errors
/// `FileTooLarge` if the file is longer; `InvalidData`, with what to do, if it is not UTF-8; those of the system.
pub fn read_line(path: &Path) -> Result<String> {
    let bytes = read(path, LINE_FILE_BYTES_MAX)?;
    let no_text = |why| Error::new(ErrorKind::InvalidData, format!("it {why}"));
    let mut text = encoding::owned_text(bytes).map_err(no_text)?;
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    Ok(text)
}
