//! How far the audit log went.

use bincode::{Decode, Encode};

/// A place in the log: an entry's sequence and hash. Before the first entry, zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct AuditHead {
    pub sequence: u64,
    pub hash: [u8; 32],
}
