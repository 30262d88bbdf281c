//! BER as far as LDAP uses it: tags of one byte and definite lengths.
//!
//! Nothing here recurses, so the depth of what a server sends does not matter.

use std::fmt;

/// A longer message is refused.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1_024 * 1_024;

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const ENUMERATED: u8 = 0x0a;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

const MULTI_BYTE_TAG: u8 = 0x1f;
const LONG_LENGTH: u8 = 0x80;
const LENGTH_BYTES_MAX: usize = 4;
const INTEGER_BYTES_MAX: usize = 4;

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Reads one element after the other.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the tag and the content of the next element.
    ///
    /// # Errors
    /// If it is not complete, or has a form that LDAP does not use.
    pub fn element(&mut self) -> Result<(u8, &'a [u8]), Malformed> {
        let Some((n_header, n_content)) = header(self.0)? else {
            return Err(Malformed("an element breaks off"));
        };
        let (element, rest) = self
            .0
            .split_at_checked(n_header + n_content)
            .ok_or(Malformed("an element breaks off"))?;
        self.0 = rest;
        Ok((element[0], &element[n_header..]))
    }

    /// Returns the content of the next element, which must have this tag.
    ///
    /// # Errors
    /// As [`Reader::element`].
    pub fn expect(&mut self, tag: u8) -> Result<&'a [u8], Malformed> {
        match self.element()? {
            (found, content) if found == tag => Ok(content),
            _ => Err(Malformed("an element of another kind is expected")),
        }
    }

    /// Returns the content of the next element if it has this tag. Otherwise it is still the next.
    ///
    /// # Errors
    /// As [`Reader::element`].
    pub fn find(&mut self, tag: u8) -> Result<Option<&'a [u8]>, Malformed> {
        if self.0.first() == Some(&tag) { self.expect(tag).map(Some) } else { Ok(None) }
    }

    /// Returns the integer in the next element, which must have this tag.
    ///
    /// # Errors
    /// As [`Reader::element`]; also if it has more than 32 bits.
    pub fn integer(&mut self, tag: u8) -> Result<i32, Malformed> {
        let content = self.expect(tag)?;
        if content.is_empty() || INTEGER_BYTES_MAX < content.len() {
            return Err(Malformed("an integer has 1 to 4 bytes"));
        }
        let mut bytes = if content[0] < 0x80 { [0; 4] } else { [0xff; 4] };
        bytes[INTEGER_BYTES_MAX - content.len()..].copy_from_slice(content);
        Ok(i32::from_be_bytes(bytes))
    }
}

/// Returns how many bytes the header and the content of the first element have. `None`: more bytes are needed to tell, at
/// most 6 in all.
///
/// # Errors
/// If it has a form that LDAP does not use, or is longer than [`MESSAGE_BYTES_MAX`].
pub fn header(bytes: &[u8]) -> Result<Option<(usize, usize)>, Malformed> {
    let [tag, first, rest @ ..] = bytes else { return Ok(None) };
    if tag & MULTI_BYTE_TAG == MULTI_BYTE_TAG {
        return Err(Malformed("a tag has more than one byte"));
    }
    if *first < LONG_LENGTH {
        return Ok(Some((2, usize::from(*first))));
    }
    // Servers of Microsoft use four bytes for every length, so leading zeros are right.
    let n_bytes = usize::from(first & !LONG_LENGTH);
    if !(1..=LENGTH_BYTES_MAX).contains(&n_bytes) {
        return Err(Malformed("a length is indefinite, or has more than 4 bytes"));
    }
    let Some(bytes) = rest.get(..n_bytes) else { return Ok(None) };
    let n_content = bytes.iter().fold(0_usize, |n, byte| n << 8 | usize::from(*byte));
    if MESSAGE_BYTES_MAX < n_content {
        return Err(Malformed("a message has more than 4 MiB"));
    }
    Ok(Some((2 + n_bytes, n_content)))
}

/// Encodes an element from the parts of its content.
///
/// # Panics
/// Never for requests, which are far shorter than 4 GiB.
#[must_use]
pub fn element<T: AsRef<[u8]>>(tag: u8, parts: &[T]) -> Vec<u8> {
    let n_content: usize = parts.iter().map(|it| it.as_ref().len()).sum();
    let mut bytes = vec![tag];
    match u8::try_from(n_content) {
        Ok(n) if n < LONG_LENGTH => bytes.push(n),
        _ => {
            let n = u32::try_from(n_content).expect("requests are short").to_be_bytes();
            let n_zeros = n.iter().take_while(|it| **it == 0).count();
            let length = &n[n_zeros..];
            bytes.push(LONG_LENGTH | u8::try_from(length.len()).expect("at most 4"));
            bytes.extend(length);
        }
    }
    for part in parts {
        bytes.extend(part.as_ref());
    }
    bytes
}

/// Encodes an integer in as few bytes as possible.
#[must_use]
pub fn integer(tag: u8, value: i32) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xff } else { 0 };
    let is_needless = |index: usize| bytes[index] == sign && bytes[index + 1] & 0x80 == sign & 0x80;
    let n_needless = (0..3).take_while(|it| is_needless(*it)).count();
    element(tag, &[&bytes[n_needless..]])
}
