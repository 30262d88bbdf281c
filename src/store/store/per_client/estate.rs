//! What is known to exist at a client, and what of it nobody looked at, as the last assessment saw it.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::estate::{EstateMember, Unseen};
use crate::error::Result;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::RowKey;
use crate::store::table::{POSTURE, POSTURE_ESTATE};

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct EstateRecord {
    /// Platforms and accounts.
    pub members: Vec<KnownMember>,
    /// That of which most depends first.
    pub unseen: Vec<Unseen>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KnownMember {
    pub member: EstateMember,
    pub first_seen: Time,
}

impl<R: Rows> ClientTransaction<R> {
    /// Empty before the first assessment.
    pub fn estate(&self) -> Result<EstateRecord> {
        Ok(self.find(POSTURE, &RowKey::of(POSTURE_ESTATE))?.unwrap_or_default())
    }
}

impl ClientBatch<'_> {
    pub fn put_estate(&mut self, estate: &EstateRecord) -> Result<()> {
        self.put(POSTURE, &RowKey::of(POSTURE_ESTATE), estate)
    }
}
