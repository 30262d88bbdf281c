//! Users who sign in at an identity provider.

use bincode::{Decode, Encode};

use crate::error::Result;
use crate::id::UserId;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::IDENTITIES;

/// Who a user is at the identity provider. The pair of issuer and subject never names anyone else.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Identity {
    pub user: UserId,
    pub issuer: String,
    pub subject: String,
    /// The provider vouched for a second factor at the last sign-in.
    pub has_second_factor: bool,
}

impl<R: Rows> Transaction<R> {
    pub fn list_identities(&self) -> Result<Vec<Identity>> {
        self.rows.list_rows(IDENTITIES, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_identity(&mut self, identity: &Identity) -> Result<()> {
        self.rows.put_row(IDENTITIES, identity.user.as_bytes(), identity)
    }
}
