//! Files that a command reads whole. `-` is standard input.

use std::io::{ErrorKind, stdin};
use std::path::Path;

use crate::bounded_file;
use crate::error::{Error, Result};

/// Returns true if the file is standard input.
pub(super) fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// What messages call the file.
pub(super) fn name(file: &Path) -> String {
    if is_stdin(file) { "standard input".to_owned() } else { file.display().to_string() }
}

/// # Errors
/// `Invalid` if the file cannot be read or is longer.
pub(super) fn bytes(file: &Path, n_bytes_max: usize) -> Result<Vec<u8>> {
    let name = name(file);
    let read = if is_stdin(file) {
        bounded_file::read_from(stdin().lock(), n_bytes_max as u64)
    } else {
        bounded_file::read(file, n_bytes_max as u64)
    };
    read.map_err(|error| {
        if error.kind() == ErrorKind::FileTooLarge {
            return Error::invalid(format!("{name}: must have at most {n_bytes_max} bytes"));
        }
        Error::invalid(format!("cannot read {name}: {error}"))
    })
}

/// # Errors
/// As [`bytes`]; `Invalid` if the content is not UTF-8.
pub(super) fn text(file: &Path, n_bytes_max: usize) -> Result<String> {
    String::from_utf8(bytes(file, n_bytes_max)?)
        .map_err(|_| Error::invalid(format!("{}: must be UTF-8", name(file))))
}
