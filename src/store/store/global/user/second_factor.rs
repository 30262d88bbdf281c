//! Second factors of users, with encrypted secrets and digests of recovery codes.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::UserId;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::SECOND_FACTORS;

/// A second factor: an app that shows one-time codes.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct SecondFactor {
    pub user: UserId,
    /// The secret that the app shares, in base32, encrypted.
    pub secret: Vec<u8>,
    /// When the app showed its first right code. `None`: it did not yet, and logins need no code.
    pub confirmed_at: Option<Time>,
    /// The time step of the last code that was accepted. Zero: none was.
    pub last_step: u64,
    /// SHA-256 digests of the recovery codes that were not used.
    pub recovery_codes: Vec<[u8; 32]>,
}

/// Hides the secret and the recovery codes.
impl std::fmt::Debug for SecondFactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecondFactor({})", self.user)
    }
}

impl<R: Rows> Transaction<R> {
    pub fn list_second_factors(&self) -> Result<Vec<SecondFactor>> {
        self.rows.list_rows(SECOND_FACTORS, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_second_factor(&mut self, factor: &SecondFactor) -> Result<()> {
        self.rows.put_row(SECOND_FACTORS, factor.user.as_bytes(), factor)
    }

    pub fn remove_second_factor(&mut self, user: UserId) -> Result<()> {
        self.rows.remove_row(SECOND_FACTORS, user.as_bytes()).map(|_| ())
    }
}
