//! Users, with hashes of their passwords.

pub mod identity;
pub mod passkey;
pub mod second_factor;

use std::str::FromStr;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::{ClientId, UserId};
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::USERS;

/// A user.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct User {
    pub id: UserId,
    /// Unique among the emails and usernames of all users, without regard to case.
    pub email: String,
    /// Unique like the email.
    pub username: Option<String>,
    pub display_name: Option<String>,
    pub role: Role,
    /// Empty: all clients.
    pub clients: Vec<ClientId>,
    pub enabled: bool,
    /// An argon2id hash in PHC format. Empty: the user has an identity at a provider, and no password.
    pub password_hash: String,
    /// The service generated the password, which the user must replace before anything else.
    pub must_change_password: bool,
    /// Tokens with an earlier version are invalid.
    pub session_version: u32,
    pub created_at: Time,
    pub updated_at: Time,
    pub last_login_at: Option<Time>,
}

/// Hides the password.
impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "User({} {} {})", self.id, self.email, self.role.as_str())
    }
}

/// What a user may do. Each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Role {
    /// Reads.
    Viewer,
    /// Also changes what belongs to clients: facts, controls, evidence, risks, tasks, alert rules, scans.
    Analyst,
    /// Also changes the installation: clients, keys, users, webhooks, audit.
    Admin,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Analyst, Self::Admin];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Analyst => "analyst",
            Self::Admin => "admin",
        }
    }
}

/// Accepts exactly the words of [`Role::as_str`].
impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Error::invalid(format!("must be one of {known}"))
        })
    }
}

impl<R: Rows> Transaction<R> {
    /// All users, oldest first.
    pub fn list_users(&self) -> Result<Vec<User>> {
        self.rows.list_rows(USERS, &Span::all(), usize::MAX)
    }
}

impl Batch {
    pub fn put_user(&mut self, user: &User) -> Result<()> {
        self.rows.put_row(USERS, user.id.as_bytes(), user)
    }
}
