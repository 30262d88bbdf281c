//! The last line of a document: who made it, when, and a signature (Ed25519) over every byte before the signature itself.
//!
//! Both formats ignore the line: it is a comment in each. It ends with the signature in hexadecimal and the end of the
//! comment, so that no byte of the file is outside of what is signed, but the signature.

use std::fmt::Write as _;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha2::{Digest, Sha256};

use crate::clock::Time;

pub const SEED_BYTES: usize = 32;
pub const PUBLIC_KEY_BYTES: usize = 32;
const SIGNATURE_HEX: usize = 128;
/// Before the fields. The number is the version of this line.
const MARK: &str = "Posture-Signature: 1;";
const SIGNATURE: &str = " signature=";
/// Of the digest of a key, as people compare it.
const FINGERPRINT_BYTES: usize = 16;

/// How a format writes a comment: before and after its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    start: &'static str,
    end: &'static str,
}

pub const OF_HTML: Comment = Comment { start: "<!-- ", end: " -->\n" };
pub const OF_PDF: Comment = Comment { start: "% ", end: "\n" };

/// A key that signs. Without `Debug`: it is secret.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// `None`: these are not the bytes of a key.
    #[must_use]
    pub fn of(seed: &[u8]) -> Option<Self> {
        Ed25519KeyPair::from_seed_unchecked(seed).ok().map(Self)
    }

    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        let bytes = self.0.public_key().as_ref().try_into();
        PublicKey(bytes.expect("public keys of Ed25519 have this length"))
    }

    /// Adds the line with the signature to a document.
    pub fn sign(&self, document: &mut Vec<u8>, comment: Comment, by: &str, at: Time) {
        let (key, by) = (hex::encode(self.public_key().0), BASE64_STANDARD.encode(by));
        let line = format!("{}{MARK} key={key}; at={at}; by={by};{SIGNATURE}", comment.start);
        document.extend_from_slice(line.as_bytes());
        let signature = hex::encode(self.0.sign(document).as_ref());
        document.extend_from_slice(signature.as_bytes());
        document.extend_from_slice(comment.end.as_bytes());
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(pub [u8; PUBLIC_KEY_BYTES]);

impl PublicKey {
    /// Reads hexadecimal digits. `None`: they are not those of a key.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        hex::decode(text).ok()?.try_into().ok().map(Self)
    }

    #[must_use]
    pub fn hex(self) -> String {
        hex::encode(self.0)
    }

    /// The first half of the key's SHA-256, in groups of four digits: short enough to compare.
    #[must_use]
    pub fn fingerprint(self) -> String {
        let digest = Sha256::digest(self.0);
        let mut shown = String::new();
        for pair in digest[..FINGERPRINT_BYTES].chunks(2) {
            let space = if shown.is_empty() { "" } else { " " };
            let _ = write!(shown, "{space}{}", hex::encode(pair));
        }
        shown
    }
}

/// A signature that is right: the document is as it was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub key: PublicKey,
    pub by: String,
    pub at: Time,
}

/// Why a file does not have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsigned {
    /// It does not end with the line of a signature.
    Absent,
    /// The line is there, in a way that no release writes.
    Malformed,
    /// The signature is of other bytes, or by another key than the line names.
    Altered,
}

/// Checks the signature of a document with the key that it names. Who has that key, a reader has to know from elsewhere.
///
/// # Errors
/// Why there is no right signature.
pub fn verify(document: &[u8]) -> Result<Signature, Unsigned> {
    // The last one: a text in the document may say it, too.
    let start = rfind(document, MARK.as_bytes()).ok_or(Unsigned::Absent)?;
    let comments = [OF_HTML, OF_PDF];
    let is_after = |it: &&Comment| document[..start].ends_with(it.start.as_bytes());
    let comment = comments.iter().find(is_after).ok_or(Unsigned::Malformed)?;
    let line = document[start..].strip_suffix(comment.end.as_bytes());
    let line = line.ok_or(Unsigned::Altered)?;
    let (fields, signature) = line
        .split_at_checked(line.len().saturating_sub(SIGNATURE_HEX))
        .ok_or(Unsigned::Malformed)?;
    let signature = hex::decode(signature).map_err(|_| Unsigned::Altered)?;
    let claimed = read(fields).ok_or(Unsigned::Malformed)?;
    let signed = &document[..start + fields.len()];
    let key = UnparsedPublicKey::new(&ED25519, claimed.key.0);
    key.verify(signed, &signature).map_err(|_| Unsigned::Altered)?;
    Ok(claimed)
}

/// Reads the fields between the mark and the signature.
fn read(fields: &[u8]) -> Option<Signature> {
    let fields = std::str::from_utf8(fields).ok()?;
    let fields = fields.strip_prefix(MARK)?.strip_suffix(SIGNATURE)?.strip_suffix(';')?;
    let mut fields = fields.split(';').map(str::trim_start);
    let key = PublicKey::read(fields.next()?.strip_prefix("key=")?)?;
    let at = fields.next()?.strip_prefix("at=")?.parse().ok()?;
    let by = BASE64_STANDARD.decode(fields.next()?.strip_prefix("by=")?).ok()?;
    let by = String::from_utf8(by).ok()?;
    fields.next().is_none().then_some(Signature { key, by, at })
}

fn rfind(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|it| it == wanted)
}
