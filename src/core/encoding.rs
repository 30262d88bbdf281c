//! The one reader of text that others wrote: files, request bodies, answers of vendors. Such text is UTF-8. A byte order
//! mark before it, which Windows programs write, is no part of it, whatever it is.

use std::fmt;

/// U+FEFF in UTF-8. It says nothing of the order of bytes, but that the text is UTF-8.
pub const MARK: &str = "\u{feff}";

/// Why bytes are not such text. It goes on after the name of what was read, and says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotText {
    Utf16,
    /// `valid_up_to`: where the first byte is that is not UTF-8.
    NotUtf8 {
        valid_up_to: usize,
    },
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf16 => "is UTF-16, as PowerShell redirection writes it; save it as UTF-8",
            Self::NotUtf8 { .. } => "is not UTF-8; save it as UTF-8",
        })
    }
}

impl std::error::Error for NotText {}

/// The text of these bytes, without a mark before it.
///
/// # Errors
/// If they are not UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, NotText> {
    if is_utf16(bytes) {
        return Err(NotText::Utf16);
    }
    let text = str::from_utf8(bytes)
        .map_err(|error| NotText::NotUtf8 { valid_up_to: error.valid_up_to() })?;
    Ok(text.strip_prefix(MARK).unwrap_or(text))
}

/// [`text`] that is kept.
///
/// # Errors
/// As there.
pub fn owned_text(bytes: Vec<u8>) -> Result<String, NotText> {
    text(&bytes)?;
    let mut text = String::from_utf8(bytes).expect("it was read as UTF-8");
    if text.starts_with(MARK) {
        text.drain(..MARK.len());
    }
    Ok(text)
}

/// The bytes without a mark before them, for readers that judge the rest themselves.
#[must_use]
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK.as_bytes()).unwrap_or(bytes)
}

/// Returns true if text begins as UTF-16 does: with its mark, or with a character of ASCII in two bytes.
#[must_use]
pub fn is_utf16(start: &[u8]) -> bool {
    match start {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [first, second, ..] => {
            (*first == 0) != (*second == 0) && first.is_ascii() && second.is_ascii()
        }
        [] | [_] => false,
    }
}

/// Why a file is not PEM. It goes on after the name of the file, and says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPem {
    Utf16,
    /// A certificate or key in binary.
    Der,
    /// A certificate with its key, as Windows exports them.
    Pkcs12,
}

impl fmt::Display for NotPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf16 => NotText::Utf16.fmt(f),
            Self::Der => f.write_str(
                "is DER and not PEM; convert a certificate with `openssl x509 -inform DER -in FILE -out NEW`, a key with \
                 `openssl pkey -inform DER -in FILE -out NEW`",
            ),
            Self::Pkcs12 => f.write_str(
                "is PKCS #12 and not PEM; convert it with `openssl pkcs12 -in FILE -nodes -out NEW`",
            ),
        }
    }
}

/// PEM without a mark before it.
///
/// # Errors
/// If it is one of the other forms in which certificates and keys are kept.
pub fn pem(bytes: &[u8]) -> Result<&[u8], NotPem> {
    match bytes {
        _ if is_utf16(bytes) => Err(NotPem::Utf16),
        // A sequence with its length in two bytes, of which the first part is the version, 3.
        [0x30, 0x82, _, _, 0x02, 0x01, 0x03, ..] => Err(NotPem::Pkcs12),
        // A sequence with its length in more than one byte, or with a number as its first part.
        [0x30, 0x80..=0xff, ..] | [0x30, _, 0x02, 0x01, ..] => Err(NotPem::Der),
        _ => Ok(without_mark(bytes)),
    }
}
