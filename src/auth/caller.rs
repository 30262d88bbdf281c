//! Who is calling, and the one way from a caller to a client's rows.

use std::sync::Arc;

use super::keyring::Held;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::key::Scope;
use crate::store::{ClientStore, Store};

/// Somebody who has shown who they are.
#[derive(Clone, Debug)]
pub enum Caller {
    Key(Arc<Held>),
    /// The administrator of this machine: the control socket, or the command line with the database at hand.
    Operator {
        uid: u32,
    },
}

impl Caller {
    /// # Errors
    /// `Forbidden` with the contract's sentence.
    pub fn require(&self, scope: Scope) -> Result<()> {
        match self {
            Self::Operator { .. } => Ok(()),
            Self::Key(held) if held.key.scopes.contains(&scope) => Ok(()),
            Self::Key(_) => {
                let sentence = format!("API key missing required scope: {}", scope.as_str());
                Err(Error::forbidden(sentence))
            }
        }
    }

    /// `None`: all clients.
    #[must_use]
    pub fn allowed_clients(&self) -> Option<&[ClientId]> {
        match self {
            Self::Key(held) if !held.key.clients.is_empty() => Some(&held.key.clients),
            Self::Key(_) | Self::Operator { .. } => None,
        }
    }

    #[must_use]
    pub fn may_reach(&self, client: ClientId) -> bool {
        self.allowed_clients().is_none_or(|it| it.contains(&client))
    }

    /// Under which name this caller's facts and assets are kept.
    #[must_use]
    pub fn source(&self) -> &str {
        match self {
            Self::Key(held) => &held.key.source,
            Self::Operator { .. } => "operator",
        }
    }

    /// Tells one caller from all others, for as long as its key lives.
    #[must_use]
    pub fn account(&self) -> String {
        match self {
            Self::Key(held) => held.key.id.to_string(),
            Self::Operator { .. } => "operator".to_owned(),
        }
    }

    /// Who to name in a record: never a secret.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Key(held) => format!("key {}", held.key.prefix),
            Self::Operator { uid } => format!("operator uid {uid}"),
        }
    }

    /// The rows of one client. Whether the client exists is for the caller of this to ask, and only after it: a key
    /// outside its list learns nothing.
    ///
    /// # Errors
    /// `Forbidden` when the caller may not act on that client, existing or not.
    pub fn reach(&self, store: &Store, client: ClientId) -> Result<ClientStore> {
        if self.may_reach(client) {
            return Ok(store.client_store(client));
        }
        Err(Error::forbidden("API key not authorized for this client"))
    }
}
