//! The caller of a request, and the only way from a caller to a client's rows.

use std::sync::Arc;

use super::keyring::HeldKey;
use crate::error::{Error, Result};
use crate::id::{ClientId, KeyId, UserId};
use crate::store::global::audit::{Act, PendingAct};
use crate::store::global::console_session::Proof;
use crate::store::global::key::Scope;
use crate::store::global::user::{Role, User};
use crate::store::per_client::statement::{Author, Channel};
use crate::store::{AccountKey, ClientStore, Store};

/// The caller of a request, and the act that the request is in the audit log.
#[derive(Clone, Debug)]
pub struct Caller {
    pub identity: Principal,
    /// How a user who is signed in to the console proved to be there. `None`: the caller is none.
    proof: Option<Proof>,
    /// `None`: the edge counts what the caller does.
    act: Option<PendingAct>,
}

/// Who an authenticated caller is.
#[derive(Clone, Debug)]
pub enum Principal {
    Key(Arc<HeldKey>),
    /// A user who logged in.
    User(Arc<User>),
    /// The administrator of this machine, over the control socket or on the command line with the database open.
    Operator {
        uid: u32,
    },
}

/// What the name of a key in records begins with. The beginning of its secret follows.
pub const OF_KEY: &str = "key ";

/// Identifies a caller. It stays the same as long as the API key or user exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    Key(KeyId),
    User(UserId),
    Operator,
}

impl Caller {
    #[must_use]
    pub fn new(identity: Principal) -> Self {
        Self { identity, proof: None, act: None }
    }

    /// The same caller with what is known of it now.
    #[must_use]
    pub fn known_as(&self, identity: Principal) -> Self {
        Self { identity, act: self.act.clone(), ..*self }
    }

    /// The same caller, in a session of the console.
    #[must_use]
    pub fn proven_by(self, proof: Proof) -> Self {
        Self { proof: Some(proof), ..self }
    }

    /// Returns true if the caller used a passkey, which is both factors.
    #[must_use]
    pub fn used_passkey(&self) -> bool {
        self.proof == Some(Proof::Passkey)
    }

    /// Names the caller as the actor of `act`, which the caller's changes record.
    #[must_use]
    pub fn acting(self, act: PendingAct) -> Self {
        act.set_actor(&self.name());
        Self { act: Some(act), ..self }
    }

    /// The caller's act, to count as refused because of `about`. `None`: the edge counts what the caller does.
    #[must_use]
    pub fn refused(&self, about: &str) -> Option<Act> {
        let Act { at, by, address, action, .. } = self.act.as_ref()?.act();
        Some(Act { at, by, address, action, about: about.to_owned(), fields: Vec::new() })
    }

    /// The database, for this caller: its changes are recorded as the caller's, and its reads count as those of the
    /// caller's account.
    #[must_use]
    pub fn acting_on(&self, store: &Store) -> Store {
        store.acting(self.act.clone()).reading_as(self.account().key())
    }

    /// Requires one of these scopes of an API key, or at least this role of a user.
    ///
    /// # Errors
    /// `Forbidden` with the contract's sentence for a key, and with the role for a user.
    pub fn require(&self, scopes: &[Scope], role: Role) -> Result<()> {
        match &self.identity {
            Principal::Operator { .. } => Ok(()),
            Principal::Key(held) if scopes.iter().any(|it| held.key.scopes.contains(it)) => Ok(()),
            Principal::Key(_) => Err(Error::forbidden(match scopes.first() {
                Some(scope) => format!("API key missing required scope: {}", scope.as_str()),
                None => "an API key cannot do this; log in as a user".to_owned(),
            })),
            Principal::User(user) if role <= user.role => Ok(()),
            Principal::User(user) => {
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
        let listed = match &self.identity {
            Principal::Key(held) => &held.key.clients,
            Principal::User(user) => &user.clients,
            Principal::Operator { .. } => return None,
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
        match &self.identity {
            Principal::Key(held) => &held.key.source,
            Principal::User(user) => &user.email,
            Principal::Operator { .. } => "operator",
        }
    }

    #[must_use]
    pub fn account(&self) -> Account {
        match &self.identity {
            Principal::Key(held) => Account::Key(held.key.id),
            Principal::User(user) => Account::User(user.id),
            Principal::Operator { .. } => Account::Operator,
        }
    }

    /// The caller's name in records. Never a secret.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.identity {
            Principal::Key(held) => format!("{OF_KEY}{}", held.key.prefix),
            Principal::User(user) => format!("user {}", user.email),
            Principal::Operator { uid } => format!("operator uid {uid}"),
        }
    }

    /// The name to store with a statement: of a user or API key always its own, also if it names another person.
    ///
    /// # Errors
    /// `Invalid` if the given name is blank.
    pub fn signature(&self, given: Option<String>) -> Result<Option<String>> {
        if given.as_ref().is_some_and(|it| it.trim().is_empty()) {
            return Err(Error::invalid_field("by", "must not be blank"));
        }
        Ok(match (&self.identity, given) {
            (Principal::User(user), Some(given)) => {
                Some(format!("{given}, entered by {}", user.email))
            }
            (Principal::User(_) | Principal::Key(_), None) => Some(self.own_signature()),
            (Principal::Key(_), Some(given)) => {
                Some(format!("{given}, entered by {}", self.name()))
            }
            (Principal::Operator { .. }, given) => given,
        })
    }

    /// The name to store with a statement in which the caller names nobody.
    fn own_signature(&self) -> String {
        match &self.identity {
            Principal::User(user) => user.email.clone(),
            Principal::Key(_) | Principal::Operator { .. } => self.name(),
        }
    }

    /// The author of a statement in which the caller names nobody.
    #[must_use]
    pub fn own_author(&self) -> Author {
        self.author(self.own_signature())
    }

    /// The author of a statement that carries this name.
    #[must_use]
    pub fn author(&self, by: String) -> Author {
        let channel = match &self.identity {
            Principal::Operator { .. } => Channel::Cli,
            Principal::User(_) if self.proof.is_some() => Channel::Console,
            Principal::User(_) | Principal::Key(_) => Channel::Api,
        };
        Author { by, account: self.name(), channel }
    }

    /// The rows of one client. Check only afterwards whether the client exists, so that a caller who may not access it
    /// learns nothing.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access the client, whether it exists or not.
    pub fn reach(&self, store: &Store, client: ClientId) -> Result<ClientStore> {
        if self.may_reach(client) {
            return Ok(self.acting_on(store).client_store(client));
        }
        Err(Error::forbidden(match &self.identity {
            Principal::Key(_) => "API key not authorized for this client",
            Principal::User(_) | Principal::Operator { .. } => {
                "you are not authorized for this client"
            }
        }))
    }
}

impl Account {
    /// What limits on work at the same time tell accounts apart by. `None` for the operator, who has no limits.
    #[must_use]
    pub fn key(self) -> Option<AccountKey> {
        match self {
            Self::Key(id) => Some(*id.as_bytes()),
            Self::User(id) => Some(*id.as_bytes()),
            Self::Operator => None,
        }
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
