//! What connections, and the service itself, sign in with, sealed.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::ConnectionId;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::CONNECTION_CREDENTIALS;

/// Whose credential it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialOwner {
    Connection(ConnectionId),
    /// The app that the managed service provider registered with Microsoft. All connections to Microsoft share it.
    MicrosoftApp,
    /// The same app with a new certificate, from when it is made until Microsoft knows it.
    NextMicrosoftApp,
    /// The server that sends messages, where it is not the configuration's.
    MailServer,
}

impl CredentialOwner {
    /// Also the place for which the secret is sealed.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::Connection(id) => format!("connection {id}"),
            Self::MicrosoftApp => "microsoft app".to_owned(),
            Self::NextMicrosoftApp => "next microsoft app".to_owned(),
            Self::MailServer => "mail server".to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Credential {
    /// [`CredentialOwner::key`].
    pub owner: String,
    /// What everybody may know of it, as JSON.
    pub details: String,
    /// The secret, as JSON.
    pub sealed: Vec<u8>,
    /// `None`: it does not expire, or nobody can tell.
    pub expires_at: Option<Time>,
    pub updated_at: Time,
}

impl<R: Rows> Transaction<R> {
    pub fn find_credential(&self, owner: CredentialOwner) -> Result<Option<Credential>> {
        self.rows.find_row(CONNECTION_CREDENTIALS, owner.key().as_bytes())
    }

    pub fn list_credentials(&self) -> Result<Vec<Credential>> {
        self.rows.list_rows(CONNECTION_CREDENTIALS, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_credential(&mut self, credential: &Credential) -> Result<()> {
        self.rows.put_row(CONNECTION_CREDENTIALS, credential.owner.as_bytes(), credential)
    }

    pub fn remove_credential(&mut self, owner: CredentialOwner) -> Result<()> {
        self.rows.remove_row(CONNECTION_CREDENTIALS, owner.key().as_bytes()).map(|_| ())
    }
}
