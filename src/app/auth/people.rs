//! All users, their second factors, passkeys and identities in memory. They are found without disk access and changed after the commit.

use std::collections::HashMap;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::token::Session;
use crate::id::UserId;
use crate::store::global::user::identity::Identity;
use crate::store::global::user::passkey::Passkey;
use crate::store::global::user::second_factor::SecondFactor;
use crate::store::global::user::{Role, User};
use crate::text::LookIndex;

#[derive(Debug, Default)]
pub struct People {
    all: RwLock<All>,
    /// Locked from reading a user until its new state is stored, even if the caller has disconnected meanwhile, so that
    /// concurrent changes cannot undo each other.
    pub changing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct All {
    by_id: HashMap<UserId, Arc<User>>,
    /// In lower case.
    by_name: HashMap<String, UserId>,
    /// Users of earlier releases may look the same.
    by_look: LookIndex<UserId>,
    second_factors: HashMap<UserId, Arc<SecondFactor>>,
    /// Oldest first.
    passkeys: HashMap<UserId, Vec<Arc<Passkey>>>,
    /// By what the device calls them.
    by_credential: HashMap<Vec<u8>, Arc<Passkey>>,
    identities: HashMap<UserId, Arc<Identity>>,
    /// By issuer and subject, exactly as the provider writes them.
    by_identity: HashMap<(String, String), UserId>,
}

impl People {
    #[must_use]
    pub fn of(
        users: Vec<User>,
        second_factors: Vec<SecondFactor>,
        passkeys: Vec<Passkey>,
        identities: Vec<Identity>,
    ) -> Self {
        let people = Self::default();
        for passkey in passkeys {
            people.put_passkey(Arc::new(passkey));
        }
        for identity in identities {
            people.put_identity(Arc::new(identity));
        }
        for factor in second_factors {
            people.put_second_factor(Arc::new(factor));
        }
        for user in users {
            people.put(Arc::new(user));
        }
        people
    }

    /// Replaces all users, second factors, passkeys and identities.
    pub fn replace_all(
        &self,
        users: Vec<User>,
        second_factors: Vec<SecondFactor>,
        passkeys: Vec<Passkey>,
        identities: Vec<Identity>,
    ) {
        let new = Self::of(users, second_factors, passkeys, identities)
            .all
            .into_inner()
            .expect("no holder of this lock panics");
        *self.write() = new;
    }

    fn read(&self) -> RwLockReadGuard<'_, All> {
        self.all.read().expect("no holder of this lock panics")
    }

    fn write(&self) -> RwLockWriteGuard<'_, All> {
        self.all.write().expect("no holder of this lock panics")
    }

    pub fn find(&self, id: UserId) -> Option<Arc<User>> {
        self.read().by_id.get(&id).cloned()
    }

    /// By email or user name, without regard to case.
    pub fn find_named(&self, name: &str) -> Option<Arc<User>> {
        let all = self.read();
        all.by_name.get(&name.to_lowercase()).and_then(|it| all.by_id.get(it)).cloned()
    }

    /// Another user whose email or user name is this one, or looks like it.
    pub fn find_alike(&self, name: &str, id: UserId) -> Option<UserId> {
        let all = self.read();
        all.by_look.find(name).into_iter().find(|it| *it != id)
    }

    /// Oldest first.
    pub fn list(&self) -> Vec<Arc<User>> {
        let mut users: Vec<_> = self.read().by_id.values().cloned().collect();
        users.sort_by_key(|it| (it.created_at, it.id));
        users
    }

    /// Returns the user of a session, if the session is still valid.
    pub fn bearer(&self, session: &Session) -> Option<Arc<User>> {
        self.find(session.user).filter(|it| it.enabled && it.session_version == session.version)
    }

    /// A user who was logged in, as it is now. `None`: the sessions of that time have ended.
    pub fn current(&self, user: &User) -> Option<Arc<User>> {
        let is_same = |it: &Arc<User>| it.enabled && it.session_version == user.session_version;
        self.find(user.id).filter(is_same)
    }

    /// Returns true if another enabled user is an administrator.
    pub fn has_other_admin(&self, id: UserId) -> bool {
        let all = self.read();
        all.by_id.values().any(|it| it.id != id && it.enabled && it.role == Role::Admin)
    }

    /// Call it after the commit that added or changed the user. It takes effect with the next request.
    pub fn put(&self, user: Arc<User>) {
        let mut all = self.write();
        if let Some(before) = all.by_id.get(&user.id).cloned() {
            for name in names(&before) {
                all.by_look.remove(name, user.id);
                all.by_name.remove(&name.to_lowercase());
            }
        }
        for name in names(&user) {
            all.by_look.put(name, user.id);
            all.by_name.insert(name.to_lowercase(), user.id);
        }
        all.by_id.insert(user.id, user);
    }

    /// Whether it is confirmed or not.
    pub fn find_second_factor(&self, user: UserId) -> Option<Arc<SecondFactor>> {
        self.read().second_factors.get(&user).cloned()
    }

    pub fn list_second_factors(&self) -> Vec<Arc<SecondFactor>> {
        self.read().second_factors.values().cloned().collect()
    }

    /// Call it after the commit, as [`People::put`]; a factor whose code was used may come before it.
    pub fn put_second_factor(&self, factor: Arc<SecondFactor>) {
        self.write().second_factors.insert(factor.user, factor);
    }

    /// The passkeys of a user, oldest first.
    pub fn passkeys_of(&self, user: UserId) -> Vec<Arc<Passkey>> {
        self.read().passkeys.get(&user).cloned().unwrap_or_default()
    }

    /// The passkey that a device calls so.
    pub fn find_passkey(&self, credential: &[u8]) -> Option<Arc<Passkey>> {
        self.read().by_credential.get(credential).cloned()
    }

    /// Call it after the commit, as [`People::put`]; a passkey whose answer was accepted may come before it.
    pub fn put_passkey(&self, passkey: Arc<Passkey>) {
        let mut all = self.write();
        all.by_credential.insert(passkey.credential.clone(), Arc::clone(&passkey));
        let of_user = all.passkeys.entry(passkey.user).or_default();
        match of_user.iter_mut().find(|it| it.id == passkey.id) {
            Some(known) => *known = passkey,
            None => of_user.push(passkey),
        }
    }

    /// Call it after the commit, as [`People::put`].
    pub fn remove_passkey(&self, passkey: &Passkey) {
        let mut all = self.write();
        all.by_credential.remove(&passkey.credential);
        if let Some(of_user) = all.passkeys.get_mut(&passkey.user) {
            of_user.retain(|it| it.id != passkey.id);
        }
    }

    /// `None`: the user has a password here.
    pub fn find_identity(&self, user: UserId) -> Option<Arc<Identity>> {
        self.read().identities.get(&user).cloned()
    }

    /// The user with this identity.
    pub fn find_by_identity(&self, issuer: &str, subject: &str) -> Option<Arc<User>> {
        let all = self.read();
        let id = all.by_identity.get(&(issuer.to_owned(), subject.to_owned()))?;
        all.by_id.get(id).cloned()
    }

    /// Call it after the commit, as [`People::put`].
    pub fn put_identity(&self, identity: Arc<Identity>) {
        let mut all = self.write();
        let key = (identity.issuer.clone(), identity.subject.clone());
        all.by_identity.insert(key, identity.user);
        all.identities.insert(identity.user, identity);
    }

    /// Call it after the commit, as [`People::put`].
    pub fn remove_second_factor(&self, user: UserId) {
        self.write().second_factors.remove(&user);
    }
}

/// What a user can log in as.
fn names(user: &User) -> impl Iterator<Item = &str> {
    [Some(&user.email), user.username.as_ref()].into_iter().flatten().map(String::as_str)
}
