//! Bytes on their way from and to files.

use std::io::{self, Read, Write};

use xxhash_rust::xxh3::Xxh3;

use super::file::target_refused;
use super::job::Job;
use crate::error::{Error, Result};

/// Bytes that are read and written at once.
pub(super) const BUFFER_BYTES: usize = 256 * 1024;

/// Copies until the end. What cannot be read is damaged: age verifies each piece before it hands it out.
///
/// # Errors
/// `Invalid` if it cannot be read; `Unavailable` if the disk does not accept it, or `job` is canceled.
pub(super) fn pump(mut from: impl Read, mut to: impl Write, job: &Job) -> Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let n_bytes = from.read(&mut buffer).map_err(|error| {
            Error::invalid(format!("is damaged or cannot be read: {error}")).caused_by(error)
        })?;
        if n_bytes == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..n_bytes]).map_err(target_refused)?;
        job.advance(n_bytes as u64)?;
    }
}

/// A writer that also hashes.
pub(super) struct Hashed<W> {
    inner: W,
    hash: Xxh3,
}

impl<W> Hashed<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { inner, hash: Xxh3::new() }
    }

    pub(super) fn digest(&self) -> u128 {
        self.hash.digest128()
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_bytes = self.inner.write(bytes)?;
        self.hash.update(&bytes[..n_bytes]);
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
