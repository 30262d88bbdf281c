//! Who is calling, and the one way from a caller to a client's rows.

use std::sync::Arc;

use super::keyring::Held;
use crate::error::{Error, Result};
use crate::id::{ClientId, KeyId, UserId};
use crate::store::global::key::Scope;
use crate::store::global::user::{Role, User};
use crate::store::{ClientStore, Store};

/// Somebody who has shown who they are.
#[derive(Clone, Debug)]
pub enum Caller {
    Key(Arc<Held>),
    /// Somebody who has logged in.
    User(Arc<User>),
    /// The administrator of this machine: the control socket, or the command line with the database at hand.
    Operator {
        uid: u32,
    },
}

/// Tells one caller from all others, for as long as its key or user lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    Key(KeyId),
    User(UserId),
    Operator,
}

impl Caller {
    /// Whether the caller holds one of these scopes, or has at least this role.
    ///
    /// # Errors
    /// `Forbidden` with the contract's sentence for a key, and with the role for a user.
    pub fn require(&self, scopes: &[Scope], role: Role) -> Result<()> {
        match self {
            Self::Operator { .. } => Ok(()),
            Self::Key(held) if scopes.iter().any(|it| held.key.scopes.contains(it)) => Ok(()),
            Self::Key(_) => Err(Error::forbidden(match scopes.first() {
                Some(scope) => format!("API key missing required scope: {}", scope.as_str()),
                None => "an API key cannot do this; log in as a user".to_owned(),
            })),
            Self::User(user) if role <= user.role => Ok(()),
            Self::User(user) => {
                let (needed, has) = (role.as_str(), user.role.as_str());
                Err(Error::forbidden(format!("this needs the role {needed}; yours is {has}")))
            }
        }
    }

    /// `None`: all clients.
    #[must_use]
    pub fn allowed_clients(&self) -> Option<&[ClientId]> {
        let listed = match self {
            Self::Key(held) => &held.key.clients,
            Self::User(user) => &user.clients,
            Self::Operator { .. } => return None,
        };
        (!listed.is_empty()).then_some(listed)
    }

    #[must_use]
    pub fn may_reach(&self, client: ClientId) -> bool {
        self.allowed_clients().is_none_or(|it| it.contains(&client))
    }

    /// Whether a list of clients, of which an empty one means all, names none but the caller's.
    #[must_use]
    pub fn may_reach_all(&self, clients: &[ClientId]) -> bool {
        let Some(allowed) = self.allowed_clients() else { return true };
        !clients.is_empty() && clients.iter().all(|it| allowed.contains(it))
    }

    /// Under which name this caller's facts and assets are kept.
    #[must_use]
    pub fn source(&self) -> &str {
        match self {
            Self::Key(held) => &held.key.source,
            Self::User(user) => &user.email,
            Self::Operator { .. } => "operator",
        }
    }

    #[must_use]
    pub fn account(&self) -> Account {
        match self {
            Self::Key(held) => Account::Key(held.key.id),
            Self::User(user) => Account::User(user.id),
            Self::Operator { .. } => Account::Operator,
        }
    }

    /// Who to name in a record: never a secret.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Key(held) => format!("key {}", held.key.prefix),
            Self::User(user) => format!("user {}", user.email),
            Self::Operator { uid } => format!("operator uid {uid}"),
        }
    }

    /// Who says something that is kept: a user by name, whoever the user says it comes from.
    #[must_use]
    pub fn signature(&self, given: Option<String>) -> Option<String> {
        match (self, given) {
            (Self::User(user), None) => Some(user.email.clone()),
            (Self::User(user), Some(given)) => Some(format!("{given}, entered by {}", user.email)),
            (Self::Key(_) | Self::Operator { .. }, given) => given,
        }
    }

    /// The rows of one client. Whether the client exists is for the caller of this to ask, and only after it: who may
    /// not reach it learns nothing.
    ///
    /// # Errors
    /// `Forbidden` when the caller may not act on that client, existing or not.
    pub fn reach(&self, store: &Store, client: ClientId) -> Result<ClientStore> {
        if self.may_reach(client) {
            return Ok(store.client_store(client));
        }
        Err(Error::forbidden(match self {
            Self::Key(_) => "API key not authorized for this client",
            Self::User(_) | Self::Operator { .. } => "you are not authorized for this client",
        }))
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(id) => id.fmt(f),
            Self::User(id) => id.fmt(f),
            Self::Operator => f.write_str("operator"),
        }
    }
}
