//! Encryption of secrets that must be readable again, such as those that sign webhooks, with a key that is not in the
//! database.
//!
//! The key is a separate file beside the database. A copy of the database alone is a backup without these secrets.

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

use crate::encoding;
use crate::error::{Error, Result};

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
/// The part of a key's digest that is stored with each sealed value and identifies the key.
const KEY_ID_BYTES: usize = 8;
const VERSION: u8 = 1;
/// A longer file is not a key file.
const FILE_BYTES_MAX: u64 = 256;
/// Permissions that group and others must not have on a key file.
const OTHERS: u32 = 0o077;
const GROUP_READS: u32 = 0o040;

/// Encrypts and decrypts secrets with one key.
#[derive(Clone)]
pub struct Sealer {
    key: [u8; KEY_BYTES],
    id: [u8; KEY_ID_BYTES],
    /// The key file did not exist.
    is_new: bool,
}

/// Why a sealed secret cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locked {
    /// It was encrypted with another key.
    OtherKey,
    /// It was changed, or it belongs to another place.
    Damaged,
}

impl Sealer {
    /// Reads the key from its file. Creates both if the file does not exist.
    ///
    /// # Errors
    /// `Invalid` if the file is not a key or other users can read it; `Unavailable` if it cannot be read or created.
    pub fn open(path: &Path) -> Result<Self> {
        match File::open(path) {
            Ok(file) => Self::read(file, path, |mode, _| mode & OTHERS == 0),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::create(path),
            Err(error) => Err(unavailable("read", path, error)),
        }
    }

    /// Reads the key from a file that the operator or the service manager provides. If it is root's, its group may read
    /// it: that is how systemd passes a credential on.
    ///
    /// # Errors
    /// As [`Sealer::open`]; `Unavailable` if the file does not exist, too.
    pub fn open_provided(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| unavailable("read", path, error))?;
        Self::read(file, path, |mode, owner| match owner {
            0 => mode & OTHERS & !GROUP_READS == 0,
            _ => mode & OTHERS == 0,
        })
    }

    /// A random key that is stored nowhere.
    #[must_use]
    pub fn random() -> Self {
        Self::of(random())
    }

    fn of(key: [u8; KEY_BYTES]) -> Self {
        let digest = Sha256::digest(key);
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&digest[..KEY_ID_BYTES]);
        Self { key, id, is_new: false }
    }

    /// `is_safe`: judges the permissions and the owner of the file.
    fn read(file: File, path: &Path, is_safe: impl Fn(u32, u32) -> bool) -> Result<Self> {
        let shown = path.display();
        let data = file.metadata().map_err(|error| unavailable("read", path, error))?;
        if !is_safe(data.mode(), data.uid()) {
            return Err(Error::invalid(format!(
                "other users can read {shown}; run `chmod 600 {shown}`, and rotate all webhook secrets if it may have been read"
            )));
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX)
            .read_to_end(&mut bytes)
            .map_err(|error| unavailable("read", path, error))?;
        let text = encoding::text(&bytes).unwrap_or_default();
        let key = BASE64_STANDARD.decode(text.trim()).ok().and_then(|it| it.try_into().ok());
        let rule =
            format!("{shown} is not a valid key file (expected {KEY_BYTES} bytes in base64)");
        key.map(Self::of).ok_or_else(|| Error::invalid(rule))
    }

    /// Makes a new key and its file.
    ///
    /// # Errors
    /// `Unavailable` if the file cannot be made, or exists.
    pub fn create(path: &Path) -> Result<Self> {
        let key = random();
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| unavailable("create", path, error))?;
        let text = format!("{}\n", BASE64_STANDARD.encode(key));
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| unavailable("write", path, error))?;
        Ok(Self { is_new: true, ..Self::of(key) })
    }

    /// Identifies the key. It reveals nothing about it.
    #[must_use]
    pub fn id(&self) -> [u8; KEY_ID_BYTES] {
        self.id
    }

    /// Returns true if the key file was missing and was created by this process.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Encrypts a secret. `place` says where the value belongs; it cannot be decrypted for another place.
    #[must_use]
    pub fn seal(&self, place: &str, secret: &str) -> Vec<u8> {
        let nonce: [u8; NONCE_BYTES] = random();
        let payload = Payload { msg: secret.as_bytes(), aad: place.as_bytes() };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.expect("a secret is far shorter than the cipher's limit");
        [&[VERSION], self.id.as_slice(), &nonce, &sealed].concat()
    }

    /// Decrypts what was encrypted for `place`.
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

    /// Encrypts what was encrypted for `place` with another key. `None`: this key does not decrypt it.
    #[must_use]
    pub fn reseal(&self, place: &str, sealed: &[u8], other: &Self) -> Option<Vec<u8>> {
        self.open_sealed(place, sealed).ok().map(|secret| other.seal(place, &secret))
    }

    /// Derives a key for one purpose (HMAC-SHA256 of the purpose). It reveals nothing about this key.
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

/// Hides the key.
impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

/// Returns random bytes.
///
/// Panics if the system provides no randomness, because no secret can be generated then.
#[must_use]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

fn unavailable(verb: &str, path: &Path, error: std::io::Error) -> Error {
    Error::unavailable(format!("cannot {verb} {}: {error}", path.display())).caused_by(error)
}
