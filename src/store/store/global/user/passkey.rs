//! Passkeys of users: public keys, whose private halves never leave the users' devices.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::{PasskeyId, UserId};
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::PASSKEYS;

/// A passkey.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Passkey {
    pub id: PasskeyId,
    pub user: UserId,
    /// What the user calls it.
    pub name: String,
    /// The domain that it is for. Browsers hand it to no other.
    pub domain: String,
    /// What the device calls it. No other passkey is called so.
    pub credential: Vec<u8>,
    /// The public key, as the library of the ceremonies encodes it.
    pub public_key: Vec<u8>,
    /// What changes with each use, the signature counter among it.
    pub state: [u8; 7],
    pub made_at: Time,
    pub used_at: Option<Time>,
    /// When the last ceremony that was accepted began. Only one that began later counts: each question has one answer.
    pub asked_at: Time,
}

fn key(user: UserId, id: PasskeyId) -> RowKey {
    RowKey::empty().bytes(user.as_bytes()).bytes(id.as_bytes())
}

impl<R: Rows> Transaction<R> {
    /// All passkeys, those of a user oldest first.
    pub fn list_passkeys(&self) -> Result<Vec<Passkey>> {
        self.rows.list_rows(PASSKEYS, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_passkey(&mut self, passkey: &Passkey) -> Result<()> {
        self.rows.put_row(PASSKEYS, key(passkey.user, passkey.id).as_slice(), passkey)
    }

    pub fn remove_passkey(&mut self, passkey: &Passkey) -> Result<()> {
        let key = key(passkey.user, passkey.id);
        self.rows.remove_row(PASSKEYS, key.as_slice()).map(|_| ())
    }
}
