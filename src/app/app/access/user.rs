//! Users: add, change, list. A change takes effect with the user's next request.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use crate::app::App;
use crate::app::input::{refuse_invisible, require_length, require_name};
use crate::auth::caller::Caller;
use crate::auth::password;
use crate::error::{Error, Result};
use crate::id::{ClientId, UserId};
use crate::store::global::audit::{Act, PendingAct, SERVICE};
use crate::store::global::user::{Role, User};
use crate::store::{Batch, Store};

pub const N_USERS_MAX: usize = 10_000;
/// RFC 5321, 4.5.3.1.3: what fits between the brackets.
pub const EMAIL_CHARS_MAX: usize = 254;
pub const NAME_CHARS_MAX: usize = 200;
/// The user name of the first administrator.
pub const FIRST_ADMIN: &str = "admin";
const FIRST_ADMIN_EMAIL: &str = "admin@localhost";

/// A user to add.
#[derive(Clone)]
pub struct NewUser {
    pub email: String,
    pub username: Option<String>,
    pub display_name: Option<String>,
    pub role: Role,
    /// Empty: all.
    pub clients: Vec<ClientId>,
    /// `None`: a password is generated. The user must replace it at the first login.
    pub password: Option<String>,
}

/// What to change of a user. `None` leaves a field as it is.
#[derive(Clone, Default)]
pub struct UserChange {
    pub email: Option<String>,
    pub username: Option<Option<String>>,
    pub display_name: Option<Option<String>>,
    pub role: Option<Role>,
    pub clients: Option<Vec<ClientId>>,
    pub enabled: Option<bool>,
    pub password: Option<NewPassword>,
}

#[derive(Clone)]
pub enum NewPassword {
    Given(String),
    /// A password is generated. The user must replace it at the next login.
    Generated,
}

/// A password that may be given to a user.
pub(in crate::app) struct MadePassword {
    hash: String,
    /// `None`: the caller chose it.
    generated: Option<String>,
}

impl MadePassword {
    /// Gives it to the user, and ends the sessions. Returns it if it was generated.
    pub(in crate::app) fn put(self, user: &mut User) -> Option<String> {
        user.password_hash = self.hash;
        user.must_change_password = self.generated.is_some();
        user.session_version += 1;
        self.generated
    }
}

impl App {
    /// Adds a user. Returns the user, and the generated password if there is one. It is returned only this once.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; `Conflict` if the name is taken or there are too many users.
    pub async fn add_user(&self, by: &Caller, new: NewUser) -> Result<(Arc<User>, Option<String>)> {
        self.add_user_on(&by.acting_on(&self.store), new).await
    }

    async fn add_user_on(
        &self,
        store: &Store,
        new: NewUser,
    ) -> Result<(Arc<User>, Option<String>)> {
        self.require_place_for_user()?;
        let now = self.clock.now();
        let mut user = User {
            id: UserId::made_at(now),
            email: new.email,
            username: new.username,
            display_name: new.display_name,
            role: new.role,
            clients: new.clients,
            enabled: true,
            password_hash: String::new(),
            must_change_password: false,
            session_version: 0,
            created_at: now,
            updated_at: now,
            last_login_at: None,
        };
        self.check_user(&user, None)?;
        let wanted = new.password.map_or(NewPassword::Generated, NewPassword::Given);
        let shown = self.make_password("password", &user, wanted).await?.put(&mut user);
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        // Others may have been added while the password was made.
        self.require_place_for_user()?;
        self.check_user(&user, None)?;
        Ok((self.store_user(store, Arc::new(user), changing).await?, shown))
    }

    pub(super) fn require_place_for_user(&self) -> Result<()> {
        if N_USERS_MAX <= self.access.people.list().len() {
            let rule = format!("there are already {N_USERS_MAX} users, which is the limit");
            return Err(Error::conflict(rule));
        }
        Ok(())
    }

    /// Changes a user. Returns the user, and the generated password if there is one.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` with the field that breaks a rule; `Conflict` if another user has the name, or if no
    /// enabled administrator would remain.
    pub async fn change_user(
        &self,
        by: &Caller,
        id: UserId,
        change: impl FnOnce() -> Result<UserChange>,
    ) -> Result<(Arc<User>, Option<String>)> {
        let before = self.get_user(id)?;
        let change = change()?;
        let user = self.changed_user(&before, &change)?;
        // Making a password takes long, and nobody waits for it.
        let made = match change.password.clone() {
            Some(wanted) => Some(self.make_password("password", &user, wanted).await?),
            None => None,
        };
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let mut user = self.changed_user(&*self.get_user(id)?, &change)?;
        let shown = made.and_then(|it| it.put(&mut user));
        user.updated_at = self.clock.now();
        let store = by.acting_on(&self.store).reserved();
        Ok((self.store_user(&store, Arc::new(user), changing).await?, shown))
    }

    /// The user with all changes but that of the password.
    fn changed_user(&self, before: &User, change: &UserChange) -> Result<User> {
        self.require_own_to_change(before, change)?;
        let UserChange { email, username, display_name, role, clients, enabled, password: _ } =
            change.clone();
        let mut user = User {
            email: email.unwrap_or_else(|| before.email.clone()),
            username: username.unwrap_or_else(|| before.username.clone()),
            display_name: display_name.unwrap_or_else(|| before.display_name.clone()),
            role: role.unwrap_or(before.role),
            clients: clients.unwrap_or_else(|| before.clients.clone()),
            enabled: enabled.unwrap_or(before.enabled),
            ..before.clone()
        };
        self.check_user(&user, Some(before))?;
        let was_admin = before.enabled && before.role == Role::Admin;
        let is_admin = user.enabled && user.role == Role::Admin;
        if was_admin && !is_admin && !self.access.people.has_other_admin(before.id) {
            let rule =
                "at least one enabled administrator must remain; make another user an admin first";
            return Err(Error::conflict(rule));
        }
        if before.enabled && !user.enabled {
            user.session_version += 1;
        }
        Ok(user)
    }

    /// # Errors
    /// `NotFound`.
    pub fn get_user(&self, id: UserId) -> Result<Arc<User>> {
        self.access.people.find(id).ok_or_else(|| Error::not_found("user not found"))
    }

    /// Adds the first administrator if there are no users. Returns the name and the password, only this once.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn add_first_admin(&self) -> Result<Option<(String, String)>> {
        if !self.access.people.list().is_empty() {
            return Ok(None);
        }
        let new = NewUser {
            email: FIRST_ADMIN_EMAIL.to_owned(),
            username: Some(FIRST_ADMIN.to_owned()),
            display_name: None,
            role: Role::Admin,
            clients: Vec::new(),
            password: None,
        };
        let (at, by) = (self.clock.now(), SERVICE.to_owned());
        let act = Act { at, by, action: "first administrator".to_owned(), ..Act::default() };
        let store = self.store.acting(Some(PendingAct::new(act)));
        let (_, password) = self.add_user_on(&store, new).await?;
        Ok(password.map(|it| (FIRST_ADMIN.to_owned(), it)))
    }

    /// Checks a password for the user, and hashes it. `field`: the field that contained it.
    pub(in crate::app) async fn make_password(
        &self,
        field: &str,
        user: &User,
        wanted: NewPassword,
    ) -> Result<MadePassword> {
        let hasher = &self.access.hasher;
        match wanted {
            NewPassword::Given(text) => {
                let names = [Some(&user.email), user.username.as_ref(), user.display_name.as_ref()];
                let about = names.into_iter().flatten().cloned().collect();
                let hash = hasher.hash_checked(field, text, about).await?;
                Ok(MadePassword { hash, generated: None })
            }
            NewPassword::Generated => {
                let text = password::generate();
                Ok(MadePassword { hash: hasher.hash(text.clone()).await?, generated: Some(text) })
            }
        }
    }

    /// `changing`: locked since the user was read, and released once the new state is stored.
    pub(in crate::app) async fn store_user(
        &self,
        store: &Store,
        user: Arc<User>,
        changing: OwnedMutexGuard<()>,
    ) -> Result<Arc<User>> {
        let (row, kept, people) = (user.clone(), user.clone(), Arc::clone(&self.access.people));
        // After the commit: what memory grants must survive a restart.
        let put = move |(): &()| {
            people.put(kept);
            drop(changing);
        };
        let write = move |batch: &mut Batch| {
            batch.note_object(&row.id);
            batch.put_user(&row)
        };
        store.write_then(write, put).await?;
        Ok(user)
    }

    /// Refuses to change what the identity provider decides.
    fn require_own_to_change(&self, user: &User, change: &UserChange) -> Result<()> {
        let Some(identity) = self.find_identity(user) else { return Ok(()) };
        let issuer = &identity.issuer;
        let rule = |field: &str, what: &str| {
            Error::invalid_field(field, format!("the user signs in at {issuer}, {what}"))
        };
        if change.password.is_some() {
            return Err(rule("password", "and has no password here"));
        }
        if change.role.is_some_and(|it| it != user.role) {
            let what =
                "which grants the role at each sign-in; change it there, or disable the user";
            return Err(rule("role", what));
        }
        if change.clients.as_ref().is_some_and(|it| *it != user.clients) && self.grants_clients() {
            return Err(rule(
                "clientIds",
                "which grants the clients at each sign-in; change them there",
            ));
        }
        Ok(())
    }

    pub(super) fn check_user(&self, user: &User, before: Option<&User>) -> Result<()> {
        if before.is_none_or(|it| it.email != user.email) {
            check_email(&user.email)?;
        }
        let is_new_name = before.is_none_or(|it| it.username != user.username);
        if let Some(name) = user.username.as_ref().filter(|_| is_new_name) {
            require_name("username", name, NAME_CHARS_MAX)?;
            if name.contains('@') || name.chars().any(char::is_whitespace) {
                return Err(Error::invalid_field("username", "must not contain whitespace or `@`"));
            }
        }
        require_length("displayName", user.display_name.as_deref(), NAME_CHARS_MAX)?;
        if before.is_none_or(|it| it.display_name != user.display_name) {
            refuse_invisible("displayName", user.display_name.as_deref().unwrap_or_default())?;
        }
        if user.role == Role::Admin && !user.clients.is_empty() {
            let rule = "must be empty for an admin, because only analysts and viewers can be limited to clients";
            return Err(Error::invalid_field("clientIds", rule));
        }
        self.require_clients(&user.clients, before.map_or(&[], |it| &it.clients))?;
        for (field, name) in [("email", Some(&user.email)), ("username", user.username.as_ref())] {
            let is_new =
                before.is_none_or(|it| name != Some(&it.email) && name != it.username.as_ref());
            let alike = name.filter(|_| is_new);
            let people = &self.access.people;
            let is_taken = |it: &&String| people.find_named(it).is_some_and(|it| it.id != user.id);
            if alike.is_some_and(|it| is_taken(&it) || people.find_alike(it, user.id).is_some()) {
                let rule = format!("another user has this {field}, or one that looks like it");
                return Err(Error::conflict(rule));
            }
        }
        Ok(())
    }
}

/// Accepts addresses as people type them, not everything that RFC 5322 allows.
pub(super) fn check_email(email: &str) -> Result<()> {
    require_name("email", email, EMAIL_CHARS_MAX)?;
    let is_plain = !email.chars().any(|it| it.is_whitespace() || it.is_control());
    let is_address = email
        .split_once('@')
        .is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'));
    if is_plain && is_address {
        return Ok(());
    }
    Err(Error::invalid_field("email", "must be an address like `ada@example.com`"))
}
