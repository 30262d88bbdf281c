//! Values of attributes as Active Directory writes them.

use std::fmt::Write as _;

use super::message::Entry;
use crate::clock::Time;
use crate::text::line;

/// Longer names and texts are cut.
const TEXT_CHARS_MAX: usize = 256;
const TICKS_PER_MICRO: i64 = 10;
/// From 1601-01-01 to 1970-01-01.
const MICROS_BEFORE_1970: i64 = 11_644_473_600_000_000;
const GUID_BYTES: usize = 16;

/// The only or first value of an attribute. The name is in lower case.
pub(super) fn bytes<'a>(entry: &'a Entry, attribute: &str) -> Option<&'a [u8]> {
    entry.attributes.get(attribute)?.first().map(Vec::as_slice)
}

/// As it is, for names of other objects.
pub(super) fn raw(entry: &Entry, attribute: &str) -> Option<String> {
    bytes(entry, attribute).map(|it| String::from_utf8_lossy(it).into_owned())
}

/// One line to show. `None`: absent or empty.
pub(super) fn text(entry: &Entry, attribute: &str) -> Option<String> {
    let text = raw(entry, attribute)?;
    Some(line(&text, TEXT_CHARS_MAX)).filter(|it| !it.is_empty())
}

pub(super) fn number(entry: &Entry, attribute: &str) -> Option<i64> {
    str::from_utf8(bytes(entry, attribute)?).ok()?.parse().ok()
}

/// A set of bits, which is written as a signed number.
pub(super) fn bits(entry: &Entry, attribute: &str) -> Option<u32> {
    let number = number(entry, attribute)?;
    i32::try_from(number).map(i32::cast_unsigned).or_else(|_| u32::try_from(number)).ok()
}

pub(super) fn boolean(entry: &Entry, attribute: &str) -> Option<bool> {
    match bytes(entry, attribute)? {
        b"TRUE" => Some(true),
        b"FALSE" => Some(false),
        _ => None,
    }
}

/// A moment, or none: 0 and the largest number stand for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Never,
    At(Time),
}

/// Ticks of 100 ns since 1601. `None`: absent or not a number.
pub(super) fn moment(entry: &Entry, attribute: &str) -> Option<Moment> {
    match number(entry, attribute)? {
        i64::MIN..=0 | i64::MAX => Some(Moment::Never),
        ticks => Some(Moment::At(Time::from_micros(ticks / TICKS_PER_MICRO - MICROS_BEFORE_1970))),
    }
}

/// Such as `20261123101500.0Z`.
pub(super) fn generalized(entry: &Entry, attribute: &str) -> Option<Time> {
    let text = str::from_utf8(bytes(entry, attribute)?).ok()?;
    let digits = text.get(..14).filter(|it| it.bytes().all(|it| it.is_ascii_digit()))?;
    if !text.ends_with('Z') {
        return None;
    }
    let part = |from: usize, to: usize| &digits[from..to];
    let (date, time) = (
        [part(0, 4), part(4, 6), part(6, 8)].join("-"),
        [part(8, 10), part(10, 12), part(12, 14)].join(":"),
    );
    format!("{date}T{time}Z").parse().ok()
}

/// Such as `d1f3a5b7-0123-4567-89ab-cdef01234567`. Its first three parts are stored with the last byte first.
pub(super) fn guid(entry: &Entry, attribute: &str) -> Option<String> {
    let bytes = <[u8; GUID_BYTES]>::try_from(bytes(entry, attribute)?).ok()?;
    Some(uuid::Uuid::from_bytes_le(bytes).to_string())
}

/// Such as `S-1-5-21-1744501890-1492746933-1133689913-512`.
pub(super) fn sid(entry: &Entry, attribute: &str) -> Option<String> {
    sid_text(bytes(entry, attribute)?)
}

/// All values of an attribute that are SIDs.
pub(super) fn sids(entry: &Entry, attribute: &str) -> Vec<String> {
    let values = entry.attributes.get(attribute).into_iter().flatten();
    values.filter_map(|it| sid_text(it)).collect()
}

fn sid_text(bytes: &[u8]) -> Option<String> {
    let (head, rest) = bytes.split_first_chunk::<8>()?;
    let [1, n_parts, authority @ ..] = head else { return None };
    if rest.len() != 4 * usize::from(*n_parts) {
        return None;
    }
    let authority = authority.iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    let mut text = format!("S-1-{authority}");
    for part in rest.as_chunks::<4>().0 {
        write!(text, "-{}", u32::from_le_bytes(*part)).ok()?;
    }
    Some(text)
}

/// The bytes of a SID, for filters. `None`: the text is not one.
pub(super) fn sid_bytes(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.strip_prefix("S-1-")?.split('-');
    let authority: u64 = parts.next()?.parse().ok()?;
    let parts = parts.map(str::parse).collect::<Result<Vec<u32>, _>>().ok()?;
    let mut bytes = vec![1, u8::try_from(parts.len()).ok()?];
    bytes.extend(&authority.to_be_bytes()[2..]);
    bytes.extend(parts.iter().flat_map(|it| it.to_le_bytes()));
    Some(bytes)
}
