//! Secrets that must be readable again, such as those that sign webhooks: sealed with a key that is not in the database.
//!
//! The key is a file of its own beside the database. A copy of the database alone is a backup without these secrets.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
/// Of a key's digest: tells sealed values of one key from those of another.
const KEY_ID_BYTES: usize = 8;
const VERSION: u8 = 1;
/// Longer key files are no key files.
const FILE_BYTES_MAX: u64 = 256;
/// What group and world must not have of a key file.
const OTHERS: u32 = 0o077;

/// Seals and opens secrets with one key.
#[derive(Clone)]
pub struct Sealer {
    key: [u8; KEY_BYTES],
    id: [u8; KEY_ID_BYTES],
}

/// Why a sealed secret cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    /// It was sealed with a key that is not here.
    OtherKey,
    /// It is not what was sealed, or not for this place.
    Damaged,
}

impl Sealer {
    /// Reads the key from its file; makes both when the file is not there.
    ///
    /// # Errors
    /// `Invalid` when the file is no key, or group or world may read it; `Unavailable` when it cannot be read or made.
    pub fn open(path: &Path) -> Result<Self> {
        match File::open(path) {
            Ok(file) => Self::read(file, path),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::create(path),
            Err(error) => Err(unavailable("read", path, error)),
        }
    }

    /// A key that lives as long as the process.
    #[must_use]
    pub fn random() -> Self {
        Self::of(random())
    }

    fn of(key: [u8; KEY_BYTES]) -> Self {
        let digest = Sha256::digest(key);
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&digest[..KEY_ID_BYTES]);
        Self { key, id }
    }

    fn read(file: File, path: &Path) -> Result<Self> {
        let shown = path.display();
        let mode = file.metadata().map_err(|error| unavailable("read", path, error))?.mode();
        if mode & OTHERS != 0 {
            return Err(Error::invalid(format!(
                "others may read {shown}: run `chmod 600 {shown}`; if somebody may have read it, rotate every webhook secret"
            )));
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX)
            .read_to_string(&mut text)
            .map_err(|error| unavailable("read", path, error))?;
        let key = BASE64_STANDARD.decode(text.trim()).ok().and_then(|it| it.try_into().ok());
        let rule = format!("{shown} is no key file: it must hold {KEY_BYTES} bytes in base64");
        key.map(Self::of).ok_or_else(|| Error::invalid(rule))
    }

    fn create(path: &Path) -> Result<Self> {
        let key = random();
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| unavailable("make", path, error))?;
        let text = format!("{}\n", BASE64_STANDARD.encode(key));
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| unavailable("write", path, error))?;
        Ok(Self::of(key))
    }

    /// `place` says where the value belongs; it opens nowhere else.
    #[must_use]
    pub fn seal(&self, place: &str, secret: &str) -> Vec<u8> {
        let nonce: [u8; NONCE_BYTES] = random();
        let payload = Payload { msg: secret.as_bytes(), aad: place.as_bytes() };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.expect("a secret is far shorter than the cipher's limit");
        [&[VERSION], self.id.as_slice(), &nonce, &sealed].concat()
    }

    /// The text that was sealed for `place`.
    pub fn open_sealed(&self, place: &str, sealed: &[u8]) -> std::result::Result<String, Locked> {
        let (version, rest) = sealed.split_first().ok_or(Locked::Damaged)?;
        let (id, rest) = rest.split_at_checked(KEY_ID_BYTES).ok_or(Locked::Damaged)?;
        if *version != VERSION {
            return Err(Locked::Damaged);
        }
        if id != self.id {
            return Err(Locked::OtherKey);
        }
        let (nonce, rest) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(Locked::Damaged)?;
        let payload = Payload { msg: rest, aad: place.as_bytes() };
        let opened = self.cipher().decrypt(&XNonce::from(*nonce), payload);
        let opened = opened.map_err(|_| Locked::Damaged)?;
        String::from_utf8(opened).map_err(|_| Locked::Damaged)
    }

    /// A key for one purpose, which tells nothing of this one (HMAC-SHA256 of the purpose).
    #[must_use]
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut mac =
            <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(&self.key).expect("HMAC takes any key");
        mac.update(purpose.as_bytes());
        mac.finalize().into_bytes().into()
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.key.into())
    }
}

/// Shows nothing of the key.
impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

/// Bytes that nobody can guess.
///
/// Panics when the system has no randomness to give: nothing secret can be made then.
#[must_use]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

fn unavailable(verb: &str, path: &Path, error: std::io::Error) -> Error {
    Error::unavailable(format!("cannot {verb} {}: {error}", path.display())).caused_by(error)
}
