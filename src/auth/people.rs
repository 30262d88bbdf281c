//! All users in memory: found without the disk, changed after the commit.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use super::token::Session;
use crate::id::UserId;
use crate::store::user::{Role, User};

#[derive(Debug, Default)]
pub struct People {
    users: RwLock<HashMap<UserId, Arc<User>>>,
    /// Held from the reading of a user to the keeping of its next state, so that no change undoes another.
    pub changing: tokio::sync::Mutex<()>,
}

impl People {
    #[must_use]
    pub fn of(users: Vec<User>) -> Self {
        let users = users.into_iter().map(|it| (it.id, Arc::new(it))).collect();
        Self { users: RwLock::new(users), changing: tokio::sync::Mutex::default() }
    }

    pub fn find(&self, id: UserId) -> Option<Arc<User>> {
        self.users.read().expect("no holder of this lock panics").get(&id).cloned()
    }

    /// By email or user name, without regard to case.
    pub fn find_named(&self, name: &str) -> Option<Arc<User>> {
        let name = name.to_lowercase();
        let users = self.users.read().expect("no holder of this lock panics");
        users.values().find(|it| names(it).any(|it| it == name)).cloned()
    }

    /// Oldest first.
    pub fn list(&self) -> Vec<Arc<User>> {
        let users = self.users.read().expect("no holder of this lock panics");
        let mut users: Vec<_> = users.values().cloned().collect();
        users.sort_by_key(|it| (it.created_at, it.id));
        users
    }

    /// Whose session it is, if it still counts.
    pub fn bearer(&self, session: &Session) -> Option<Arc<User>> {
        self.find(session.user).filter(|it| it.enabled && it.session_version == session.version)
    }

    /// Whether somebody but this one can administer.
    pub fn has_other_admin(&self, id: UserId) -> bool {
        let users = self.users.read().expect("no holder of this lock panics");
        users.values().any(|it| it.id != id && it.enabled && it.role == Role::Admin)
    }

    /// After the commit that changed or made it. Acts on the next request.
    pub fn put(&self, user: Arc<User>) {
        self.users.write().expect("no holder of this lock panics").insert(user.id, user);
    }
}

/// What a user can log in as, in lower case.
fn names(user: &User) -> impl Iterator<Item = String> {
    [Some(&user.email), user.username.as_ref()].into_iter().flatten().map(|it| it.to_lowercase())
}
