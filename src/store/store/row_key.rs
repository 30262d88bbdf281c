//! Keys of rows, and ranges of them. Parts of a key sort as what they stand for.

use sha2::{Digest, Sha256};

use crate::clock::Time;

/// Texts up to this length are stored in a key as they are; of longer ones, their SHA-256.
const KEY_TEXT_BYTES_MAX: usize = 254;
/// Stored instead of the length of a short text. No UTF-8 text begins with it.
const LONG_TEXT: u8 = 0xff;

/// A key under construction. Parts follow each other in the order in which the calls do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowKey(Vec<u8>);

impl RowKey {
    /// For tables with a single kind of keys.
    pub(super) fn empty() -> Self {
        Self(Vec::new())
    }

    pub(super) fn of(kind: u8) -> Self {
        Self(vec![kind])
    }

    /// Adds a part of fixed length.
    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a text that other parts follow. In this form no text is a prefix of another.
    pub(super) fn text(mut self, text: &str) -> Self {
        match u8::try_from(text.len()) {
            Ok(length) if text.len() <= KEY_TEXT_BYTES_MAX => {
                self.0.push(length);
                self.bytes(text.as_bytes())
            }
            _ => self.long_text(text),
        }
    }

    /// Adds a text that nothing follows. It sorts like the text.
    pub(super) fn last_text(self, text: &str) -> Self {
        if text.len() <= KEY_TEXT_BYTES_MAX {
            self.bytes(text.as_bytes())
        } else {
            self.long_text(text)
        }
    }

    fn long_text(mut self, text: &str) -> Self {
        self.0.push(LONG_TEXT);
        self.bytes(&Sha256::digest(text.as_bytes()))
    }

    /// Sorts the newest first.
    pub(super) fn falling(self, time: Time) -> Self {
        self.bytes(&falling(time).to_be_bytes())
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn is_start_of(&self, key: &[u8]) -> bool {
        key.starts_with(&self.0)
    }
}

/// The rest of a key after a text that [`RowKey::text`] added.
pub(super) fn after_text(key: &[u8]) -> &[u8] {
    let n_bytes = match key.first() {
        None => 0,
        Some(&LONG_TEXT) => 1 + 32,
        Some(length) => 1 + usize::from(*length),
    };
    key.get(n_bytes..).unwrap_or_default()
}

pub(super) fn falling(time: Time) -> u64 {
    !u64::try_from(time.micros()).expect("a Time is not negative")
}

/// Sorts the oldest first.
pub(super) fn rising(time: Time) -> u64 {
    u64::try_from(time.micros()).expect("a Time is not negative")
}

/// Some rows of a table, in key order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first key that belongs to it.
    pub(super) from: Vec<u8>,
    /// The first key after it. `None`: up to the end of the table.
    pub(super) until: Option<Vec<u8>>,
}

impl Span {
    pub(super) fn all() -> Self {
        Self { from: Vec::new(), until: None }
    }

    /// Whether no key can belong to it.
    pub(super) fn is_empty(&self) -> bool {
        self.until.as_ref().is_some_and(|it| *it <= self.from)
    }

    /// All keys that begin with `start`.
    pub(super) fn prefix(start: &[u8]) -> Self {
        let n_kept = start.iter().rposition(|it| *it != u8::MAX);
        let until = n_kept.map(|last| {
            let mut end = start[..=last].to_vec();
            end[last] += 1;
            end
        });
        Self { from: start.to_vec(), until }
    }

    /// All keys from `first` to `last`, both included.
    pub(super) fn between(first: &RowKey, last: &RowKey) -> Self {
        let mut until = last.0.clone();
        until.push(0);
        Self { from: first.0.clone(), until: Some(until) }
    }

    /// The part after `key`.
    pub(super) fn after(self, key: &[u8]) -> Self {
        let mut from = key.to_vec();
        from.push(0);
        Self { from: self.from.max(from), ..self }
    }

    /// The part before `key`.
    pub(super) fn before(self, key: &[u8]) -> Self {
        let until = self.until.map_or_else(|| key.to_vec(), |it| it.min(key.to_vec()));
        Self { until: Some(until), ..self }
    }

    /// The part from `key` on.
    pub(super) fn starting(self, key: &[u8]) -> Self {
        Self { from: self.from.max(key.to_vec()), ..self }
    }
}
