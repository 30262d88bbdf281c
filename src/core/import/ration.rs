//! How much of a file may be collected: by an XML reader at once, and of each kind of records.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use super::RECORD_BYTES_MAX;
use crate::error::{Error, Result};

/// Bounds the memory of the XML reader, which collects a whole tag, comment or text before it returns.
pub(super) struct Ration<'a> {
    input: &'a mut dyn BufRead,
    /// Bytes that the current tag may still have.
    n_left: usize,
}

impl<'a> Ration<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, n_left: RECORD_BYTES_MAX }
    }

    /// Lets the next tag have as much again.
    pub(super) fn renew(&mut self) {
        self.n_left = RECORD_BYTES_MAX;
    }
}

impl Read for Ration<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.fill_buf()?.read(buffer)?;
        self.consume(n_read);
        Ok(n_read)
    }
}

impl BufRead for Ration<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let chunk = self.input.fill_buf()?;
        if self.n_left == 0 && !chunk.is_empty() {
            let message = format!("an element is longer than {} MiB", RECORD_BYTES_MAX >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(&chunk[..chunk.len().min(self.n_left)])
    }

    fn consume(&mut self, n_bytes: usize) {
        self.n_left -= n_bytes;
        self.input.consume(n_bytes);
    }
}

/// What a reader says that could not go on at `offset`: an element is too long, or the file could not be read.
pub(super) fn unread(cause: Arc<io::Error>, offset: u64) -> Error {
    if cause.kind() == io::ErrorKind::FileTooLarge {
        return Error::invalid(format!("invalid XML at byte {offset}: {cause}"));
    }
    Error::unavailable("reading the file failed; try again").caused_by(cause)
}

/// # Errors
/// `Invalid` unless it is within the limit.
pub(super) fn refuse_beyond(within: bool, n_max: u64, what: &str) -> Result<()> {
    if within {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "more than {n_max} {what} in one file; split the run, for example by account, and import \
        the parts"
    )))
}
