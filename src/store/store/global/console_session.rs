//! Sessions of the console: who signed in with a browser.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::UserId;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::CONSOLE_SESSIONS;

/// The digest of the secret in a browser's cookie.
pub type SessionDigest = [u8; 32];

/// A session of the console.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ConsoleSession {
    pub digest: SessionDigest,
    pub user: UserId,
    /// The session version that the user had at the sign-in.
    pub version: u32,
    pub begun_at: Time,
    /// When it was last used.
    pub used_at: Time,
    /// When the user last proved to be there.
    pub confirmed_at: Time,
    /// How the user proved to be there.
    pub proof: Proof,
    /// From where the user signed in.
    pub address: String,
    /// What the browser called itself.
    pub agent: String,
}

/// How a user proved to be there, in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Proof {
    /// And with a code, if the user has an authenticator app.
    Password,
    Provider,
    /// At least once. It is both factors.
    Passkey,
}

impl Proof {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Provider => "identity provider",
            Self::Passkey => "passkey",
        }
    }
}

impl<R: Rows> Transaction<R> {
    pub fn list_console_sessions(&self) -> Result<Vec<ConsoleSession>> {
        self.rows.list_rows(CONSOLE_SESSIONS, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_console_session(&mut self, session: &ConsoleSession) -> Result<()> {
        self.rows.put_row(CONSOLE_SESSIONS, &session.digest, session)
    }

    /// Replaces a session, unless it ended meanwhile.
    pub fn replace_console_session(&mut self, session: &ConsoleSession) -> Result<()> {
        let known: Option<ConsoleSession> =
            self.rows.find_row(CONSOLE_SESSIONS, &session.digest)?;
        known.map_or(Ok(()), |_| self.put_console_session(session))
    }

    pub fn remove_console_session(&mut self, digest: &SessionDigest) -> Result<()> {
        self.rows.remove_row(CONSOLE_SESSIONS, digest).map(|_| ())
    }
}
