//! The caller of a request, and the only way from a caller to a client's rows.

use std::sync::Arc;

use super::keyring::HeldKey;
use crate::error::{Error, Result};
use crate::id::{ClientId, KeyId, UserId};
use crate::store::global::key::Scope;
use crate::store::global::user::{Role, User};
use crate::store::{ClientStore, Store};

/// An authenticated caller.
#[derive(Clone, Debug)]
pub enum Caller {
    Key(Arc<HeldKey>),
    /// A user who logged in.
    User(Arc<User>),
    /// The administrator of this machine, over the control socket or on the command line with the database open.
    Operator {
        uid: u32,
    },
}

/// Identifies a caller. It stays the same as long as the API key or user exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    Key(KeyId),
    User(UserId),
    Operator,
}

impl Caller {
    /// Requires one of these scopes of an API key, or at least this role of a user.
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
                Err(Error::forbidden(format!(
                    "this requires the role {needed}; your role is {has}"
                )))
            }
        }
    }

    /// The only clients that the caller may access. `None`: all clients.
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

    /// Returns true if the caller may access all clients of a list. An empty list means all clients.
    #[must_use]
    pub fn may_reach_all(&self, clients: &[ClientId]) -> bool {
        let Some(allowed) = self.allowed_clients() else { return true };
        !clients.is_empty() && clients.iter().all(|it| allowed.contains(it))
    }

    /// The label under which this caller's facts and assets are stored.
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

    /// The caller's name in records. Never a secret.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Key(held) => format!("key {}", held.key.prefix),
            Self::User(user) => format!("user {}", user.email),
            Self::Operator { uid } => format!("operator uid {uid}"),
        }
    }

    /// The name to store with a statement: of a user always the user's own, also if the user names somebody else.
    #[must_use]
    pub fn signature(&self, given: Option<String>) -> Option<String> {
        match (self, given) {
            (Self::User(user), None) => Some(user.email.clone()),
            (Self::User(user), Some(given)) => Some(format!("{given}, entered by {}", user.email)),
            (Self::Key(_) | Self::Operator { .. }, given) => given,
        }
    }

    /// The rows of one client. Check only afterwards whether the client exists, so that a caller who may not access it
    /// learns nothing.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access the client, whether it exists or not.
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
