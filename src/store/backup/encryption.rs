//! Encryption of backups to public keys of the operator, in the age format.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use age::x25519::Recipient;
use age::{DecryptError, Decryptor, Encryptor, IdentityFile};
use xxhash_rust::xxh3::Xxh3;

use super::file::target_refused;
use super::job::{Job, Phase};
use crate::error::{Error, Result};

/// Begins every file in the age format.
const MAGIC: &[u8] = b"age-encryption.org/";
/// Bytes that are read and written at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// Returns true for a public key of age, such as `age1...`.
#[must_use]
pub fn is_recipient(text: &str) -> bool {
    text.parse::<Recipient>().is_ok()
}

/// Encrypts a file, and reads the result again: the disk has what was written.
///
/// # Errors
/// `Unavailable` if the disk does not accept it, or has something else; `Invalid` for a key that is none.
pub(super) fn encrypt(from: &Path, to: &Path, recipients: &[String], job: &Job) -> Result<()> {
    let parse = |it: &String| it.parse::<Recipient>().map_err(|_| no_recipient());
    let recipients = recipients.iter().map(parse).collect::<Result<Vec<_>>>()?;
    let recipients = recipients.iter().map(|it| it as &dyn age::Recipient);
    let encryptor =
        Encryptor::with_recipients(recipients).map_err(|it| no_recipient().caused_by(it))?;
    let source = File::open(from).map_err(target_refused)?;
    job.begin(Phase::Encrypt, 2 * source.metadata().map_err(target_refused)?.len());
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    let made = made.map_err(target_refused)?;
    let hashed = Hashed { inner: made, hash: Xxh3::new() };
    let hashed = io::BufWriter::with_capacity(BUFFER_BYTES, hashed);
    let mut stream = encryptor.wrap_output(hashed).map_err(target_refused)?;
    pump(source, &mut stream, job)?;
    let buffered = stream.finish().map_err(target_refused)?;
    let written = buffered.into_inner().map_err(|it| target_refused(it.into_error()))?;
    written.inner.sync_all().map_err(target_refused)?;
    let mut read = Hashed { inner: io::sink(), hash: Xxh3::new() };
    pump(File::open(to).map_err(target_refused)?, &mut read, job)?;
    if read.hash.digest128() == written.hash.digest128() {
        return Ok(());
    }
    Err(Error::unavailable(
        "the disk did not keep what was written to the backup; do not use this disk",
    ))
}

/// Writes what is in a file to another, decrypted if it is encrypted.
///
/// # Errors
/// `Invalid` if the file cannot be read, `identity` is missing or does not open it, or it was changed.
pub(super) fn unpack(from: &Path, to: &Path, identity: Option<&str>, job: &Job) -> Result<()> {
    let source = File::open(from).map_err(|it| Error::invalid(format!("cannot be read: {it}")))?;
    let metadata = source.metadata().map_err(Error::internal)?;
    if !metadata.is_file() {
        return Err(Error::invalid("is not a file"));
    }
    job.begin(Phase::Unpack, metadata.len());
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    let made = made.map_err(target_refused)?;
    let mut source = BufReader::with_capacity(BUFFER_BYTES, source);
    let start = source.fill_buf().map_err(|it| Error::invalid(format!("cannot be read: {it}")))?;
    if start.starts_with(MAGIC) {
        let Some(identity) = identity else {
            let rule = "is encrypted; pass the file of the secret key with --identity FILE";
            return Err(Error::invalid(rule));
        };
        let identities = IdentityFile::from_buffer(identity.as_bytes());
        let identities = identities.ok().and_then(|it| it.into_identities().ok());
        let identities = identities.filter(|it| !it.is_empty()).ok_or_else(|| {
            Error::invalid("the identity file has no secret key of age (AGE-SECRET-KEY-1...)")
        })?;
        let decryptor = Decryptor::new_buffered(source).map_err(|it| undecryptable(&it))?;
        let identities = identities.iter().map(|it| &**it as &dyn age::Identity);
        pump(decryptor.decrypt(identities).map_err(|it| undecryptable(&it))?, &made, job)?;
    } else {
        pump(source, &made, job)?;
    }
    made.sync_all().map_err(target_refused)
}

fn undecryptable(error: &DecryptError) -> Error {
    let rule = if matches!(error, DecryptError::NoMatchingKeys) {
        "is encrypted to other keys than that of the identity file"
    } else {
        "is damaged: it cannot be decrypted"
    };
    Error::invalid(rule).caused_by(error.to_string())
}

/// Copies until the end. What cannot be read is damaged: age verifies each piece before it hands it out.
fn pump(mut from: impl Read, mut to: impl Write, job: &Job) -> Result<()> {
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

fn no_recipient() -> Error {
    Error::invalid("backup.recipients: not a public key of age")
}

/// A writer that also hashes.
struct Hashed<W> {
    inner: W,
    hash: Xxh3,
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
