//! The text form of an API key: `service_<prefix>_<secret>`.
//!
//! Prefix: 10 base62 characters, for look-up and display. Secret: 32 base62 characters (190 bits), then 6 base62 characters
//! of the CRC-32 of everything before them, so that typing errors and guesses are rejected without a look-up.

use std::fmt;

use sha2::{Digest, Sha256};

const LEAD: &str = "service_";
const PREFIX_CHARS: usize = 10;
const SECRET_CHARS: usize = 32;
const CHECK_CHARS: usize = 6;
const KEY_CHARS: usize = LEAD.len() + PREFIX_CHARS + 1 + SECRET_CHARS + CHECK_CHARS;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The complete text of a key. `Debug` hides the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText(String);

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyText({}{}_...)", LEAD, self.prefix())
    }
}

impl KeyText {
    /// A new random key.
    #[must_use]
    pub fn random() -> Self {
        let mut text = String::with_capacity(KEY_CHARS);
        text.push_str(LEAD);
        push_random(&mut text, PREFIX_CHARS);
        text.push('_');
        push_random(&mut text, SECRET_CHARS);
        let check = check_of(&text);
        text.push_str(&check);
        Self(text)
    }

    /// `None` if the format or the checksum is wrong.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(LEAD)?;
        if text.len() != KEY_CHARS || rest.as_bytes()[PREFIX_CHARS] != b'_' {
            return None;
        }
        let (prefix, secret) =
            (&rest.as_bytes()[..PREFIX_CHARS], &rest.as_bytes()[PREFIX_CHARS + 1..]);
        if !prefix.iter().chain(secret).all(u8::is_ascii_alphanumeric) {
            return None;
        }
        let (body, check) = text.split_at(KEY_CHARS - CHECK_CHARS);
        (check_of(body) == check).then(|| Self(text.to_owned()))
    }

    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.0[LEAD.len()..LEAD.len() + PREFIX_CHARS]
    }

    /// The digest that is stored. A secret of 190 bits needs only a plain hash (ASVS 5.0, 6.5.2).
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// The complete key, to be shown once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

fn push_random(text: &mut String, n_chars: usize) {
    // The largest multiple of 62 in a byte. Bytes from there on would favor the first characters.
    const FAIR_BELOW: u8 = 248;
    let mut n_left = n_chars;
    while 0 < n_left {
        let mut bytes = [0; 64];
        getrandom::fill(&mut bytes).expect("the system's random source works");
        for byte in bytes.into_iter().filter(|it| *it < FAIR_BELOW).take(n_left) {
            text.push(char::from(BASE62[usize::from(byte % 62)]));
            n_left -= 1;
        }
    }
}

/// CRC-32 as six base62 digits, most significant first.
fn check_of(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut digits = [b'0'; CHECK_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|it| char::from(*it)).collect()
}
