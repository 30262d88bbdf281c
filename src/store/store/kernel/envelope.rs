//! The envelope of every stored value: its layout, a checksum over table, key and payload, and the payload.
//!
//! An engine does not verify pages when it reads them, so each record has its own checksum. The table and
//! the key are part of it, so that a row in the wrong place is detected.

use std::fmt;

use bincode::config;
use bincode::{Decode, Encode};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::store::table::{FACT_OBSERVATION, FACT_PAST, FACT_UNDONE, FACTS, MANIFEST, META};

/// Larger records are refused when they are written.
pub const RECORD_BYTES_MAX: usize = 256 * 1024;
/// The same of observations, which have the hashes of all subjects that fail.
const OBSERVATION_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The maximum memory that decoding a record may claim. It counts sizes of types, not bytes on disk,
/// and neither a record of [`RECORD_BYTES_MAX`] nor an observation comes near it.
const DECODED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The layout and the checksum.
const HEAD_BYTES: usize = 1 + 8;

/// Why stored bytes are not the record that was written. Never shown to a caller.
#[derive(Debug)]
pub struct Broken {
    table: String,
    reason: &'static str,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a record of table `{}` is damaged: {}", self.table, self.reason)
    }
}

impl std::error::Error for Broken {}

impl Broken {
    pub(in crate::store) fn new(table: &str, reason: &'static str) -> Self {
        Self { table: table.to_owned(), reason }
    }

    pub(in crate::store) fn reason(&self) -> &'static str {
        self.reason
    }
}

/// # Errors
/// `TooLarge` beyond [`RECORD_BYTES_MAX`], or [`OBSERVATION_BYTES_MAX`] of observations.
pub(in crate::store) fn seal(table: &str, key: &[u8], record: &impl Encode) -> Result<Vec<u8>> {
    let layout = layout_of(table);
    let mut bytes = vec![layout.number(); HEAD_BYTES];
    bincode::encode_into_std_write(record, &mut bytes, config::standard())
        .map_err(Error::internal)?;
    let max = if is_observation(table, key) { OBSERVATION_BYTES_MAX } else { RECORD_BYTES_MAX };
    if max < bytes.len() {
        return Err(Error::too_large(format!(
            "a record of {} bytes is too large to store; the maximum is {max} bytes",
            bytes.len()
        )));
    }
    let sum = checksum(layout, (table, key), &bytes[HEAD_BYTES..]);
    bytes[1..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

fn is_observation(table: &str, key: &[u8]) -> bool {
    let is_of_facts = table.rsplit_once('/').is_some_and(|it| it.1 == FACTS.noun());
    let kinds = [FACT_OBSERVATION, FACT_PAST, FACT_UNDONE];
    is_of_facts && key.first().is_some_and(|it| kinds.contains(it))
}

/// In which layout records of a table are written. Every release has to read whose database a file is.
fn layout_of(table: &str) -> Layout {
    if [META, MANIFEST].contains(&table) { Layout::First } else { Layout::Second }
}

/// The layout and the payload of a record, if its layout is known and the checksum is right.
pub(in crate::store) fn verify<'b>(
    table: &str,
    key: &[u8],
    bytes: &'b [u8],
) -> std::result::Result<(Layout, &'b [u8]), Broken> {
    let broken = |reason| Broken::new(table, reason);
    let (head, payload) = bytes.split_at_checked(HEAD_BYTES).ok_or_else(|| broken("cut off"))?;
    let layout = Layout::of(head[0]).ok_or_else(|| broken("unknown layout"))?;
    if head[1..] != checksum(layout, (table, key), payload).to_le_bytes() {
        return Err(broken("wrong checksum"));
    }
    Ok((layout, payload))
}

pub(in crate::store) fn open<T: Decode<Layout>>(
    table: &str,
    key: &[u8],
    bytes: &[u8],
) -> std::result::Result<T, Broken> {
    let broken = |reason| Broken::new(table, reason);
    let (layout, payload) = verify(table, key, bytes)?;
    let limited = config::standard().with_limit::<DECODED_BYTES_MAX>();
    match bincode::decode_from_slice_with_context(payload, limited, layout) {
        Ok((record, n_read)) if n_read == payload.len() => Ok(record),
        Ok(_) => Err(broken("too long")),
        Err(_) => Err(broken("not decodable")),
    }
}

/// Each part seeds the checksum of the next, so that bytes cannot move from one part to another.
fn checksum(layout: Layout, (table, key): (&str, &[u8]), payload: &[u8]) -> u64 {
    let sum = xxh3_64_with_seed(table.as_bytes(), u64::from(layout.number()));
    xxh3_64_with_seed(payload, xxh3_64_with_seed(key, sum))
}
