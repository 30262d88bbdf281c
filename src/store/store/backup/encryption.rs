//! Encryption of backups to public keys of the operator, in the age format.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use age::x25519::Recipient;
use age::{DecryptError, Decryptor, Encryptor, IdentityFile};

use super::file::{not_kept, sync, target_refused};
use super::job::{Job, Phase};
use super::stream::{BUFFER_BYTES, Hashed, pump};
use crate::error::{Error, Result};

/// Begins every file in the age format.
const MAGIC: &[u8] = b"age-encryption.org/";

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
    let hashed = io::BufWriter::with_capacity(BUFFER_BYTES, Hashed::new(made));
    let mut stream = encryptor.wrap_output(hashed).map_err(target_refused)?;
    pump(source, &mut stream, job)?;
    let buffered = stream.finish().map_err(target_refused)?;
    let written = buffered.into_inner().map_err(|it| target_refused(it.into_error()))?;
    sync(to)?;
    let mut read = Hashed::new(io::sink());
    pump(File::open(to).map_err(target_refused)?, &mut read, job)?;
    if read.digest() == written.digest() {
        return Ok(());
    }
    Err(not_kept())
}

/// Writes what is in a file to another, decrypted if it is encrypted.
///
/// # Errors
/// `Invalid` if the file cannot be read or is in use, `identity` is missing or does not open it, or it was changed.
pub(super) fn unpack(from: &Path, to: &Path, identity: Option<&str>, job: &Job) -> Result<()> {
    let source = File::open(from).map_err(|it| Error::invalid(format!("cannot be read: {it}")))?;
    let metadata = source.metadata().map_err(Error::internal)?;
    if !metadata.is_file() {
        return Err(Error::invalid("is not a file"));
    }
    // A database that is being written is not one state. Some file systems have no locks.
    if let Err(TryLockError::WouldBlock) = source.try_lock_shared() {
        return Err(Error::invalid(
            "is in use by a running service; name a file that `posture backup FILE` wrote",
        ));
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
        "is damaged: it cannot be decrypted; use another backup"
    };
    Error::invalid(rule).caused_by(error.to_string())
}

fn no_recipient() -> Error {
    Error::invalid("backup.recipients: not a public key of age")
}
