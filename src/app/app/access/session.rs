//! Sessions: log in, log out, change one's own password.

use std::net::IpAddr;
use std::sync::Arc;

use crate::app::App;
use crate::app::access::Access;
use crate::app::access::user::NewPassword;
use crate::auth::caller::{Caller, Principal};
use crate::auth::password::BYTES_MAX;
use crate::auth::token::Session;
use crate::error::{Code, Error, Result};
use crate::id::UserId;
use crate::request;
use crate::store::global::audit::{AuditOutcome, PendingAct};
use crate::store::global::user::User;

/// No user has a longer name.
pub const NAME_BYTES_MAX: usize = 1_024;

/// The result of a successful login.
#[derive(Debug)]
pub struct Login {
    pub token: String,
    pub session: Session,
    pub user: Arc<User>,
}

impl App {
    /// Starts a session if the password is right, and the code of a user with a second factor. An unknown name takes as long
    /// and gets the same answer as a wrong password.
    ///
    /// # Errors
    /// `Unauthenticated`; `CodeRequired` if only `otp` is missing; `RateLimited` after too many attempts by name, by network
    /// or in total; `Unavailable` if too many logins are in progress.
    pub async fn log_in(
        &self,
        name: &str,
        password: &str,
        otp: Option<&str>,
        address: Option<IpAddr>,
        act: PendingAct,
    ) -> Result<Login> {
        let wrong = || Error::unauthenticated("user name or password is wrong");
        if NAME_BYTES_MAX < name.len() || BYTES_MAX < password.len() {
            return Err(wrong());
        }
        let known = self.access.people.find_named(name);
        if let Some(user) = &known {
            act.set_subject(&format!("user {}", user.email));
        }
        let id = known.as_ref().map(|it| it.id);
        self.access.throttle.take(name, id, address, self.clock.now())?;
        // Who signs in at an identity provider has no password that could be right.
        let known = known.filter(|it| it.enabled && self.find_identity(it).is_none());
        let hash = known.as_ref().map(|it| it.password_hash.as_str());
        let is_right = self.access.hasher.verify(password.to_owned(), hash).await?;
        let known = known.filter(|_| is_right).ok_or_else(wrong)?;
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let mut user = User::clone(&*self.get_user(known.id)?);
        // The user may have changed while the password was verified.
        if !user.enabled || user.password_hash != known.password_hash {
            return Err(wrong());
        }
        if self.must_use_passkey(&user) {
            act.set_subject(&format!("user {}, no passkey", user.email));
            return Err(Error::unauthenticated(
                "your role requires a second factor, and yours is a passkey: sign in to the console with it",
            ));
        }
        let proven = self.prove_login(&user, otp, &act)?;
        self.access.throttle.succeeded(&user, address, self.clock.now());
        user.last_login_at = Some(self.clock.now());
        let user = Arc::new(user);
        let by = Caller::new(Principal::User(Arc::clone(&user))).acting(act);
        let by_recovery_code = proven.as_ref().is_some_and(|it| it.by_recovery_code);
        match self.store_login(&by, user, proven, changing).await {
            Ok(user) => Ok(self.begin_session(user)),
            // Logging in must work even if the disk is full, so that an administrator can find out why. But a recovery code
            // that is not recorded as used could be used again.
            Err(error) if error.code == Code::Unavailable && !by_recovery_code => {
                let id = request::id();
                tracing::warn!(
                    request_id = id.as_deref(),
                    "the login of `{}` was not recorded: {error}",
                    known.email
                );
                Ok(self.begin_session(known))
            }
            Err(error) => Err(error),
        }
    }

    /// Ends all sessions of the user.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn log_out(&self, by: &Caller, id: UserId) -> Result<()> {
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let mut user = User::clone(&*self.get_user(id)?);
        user.session_version += 1;
        let store = by.acting_on(&self.store).reserved();
        self.store_user(&store, Arc::new(user), changing).await.map(|_| ())
    }

    /// Replaces the user's own password. Ends all sessions and starts a new one.
    ///
    /// # Errors
    /// `Invalid` if the current password is wrong or the new one is too weak; `RateLimited` after too many attempts.
    pub async fn change_own_password(
        &self,
        by: &Caller,
        id: UserId,
        present: &str,
        new: String,
    ) -> Result<Login> {
        let known = self.get_user(id)?;
        self.require_own_password(by, &known, present).await?;
        if new == present {
            return Err(Error::invalid_field(
                "newPassword",
                "must differ from the current password",
            ));
        }
        let made = self.make_password("newPassword", &known, NewPassword::Given(new)).await?;
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let mut user = User::clone(&*self.get_user(id)?);
        // It may have been replaced while the new one was made.
        if user.password_hash != known.password_hash {
            return Err(Error::invalid_field("currentPassword", "is wrong"));
        }
        made.put(&mut user);
        user.updated_at = self.clock.now();
        let store = by.acting_on(&self.store).reserved();
        Ok(self.begin_session(self.store_user(&store, Arc::new(user), changing).await?))
    }

    /// Counts an attempt of a user who is logged in, and verifies the password.
    ///
    /// # Errors
    /// `Invalid` if it is wrong; `RateLimited` after too many attempts; `Conflict` if there is none.
    pub(super) async fn require_own_password(
        &self,
        by: &Caller,
        user: &User,
        password: &str,
    ) -> Result<()> {
        if let Some(identity) = self.find_identity(user) {
            let issuer = &identity.issuer;
            return Err(Error::conflict(format!(
                "you sign in at {issuer}, which also asks for the second factor, and have no password here"
            )));
        }
        self.access.throttle.take_own_password(user.id, self.clock.now())?;
        let is_right = BYTES_MAX >= password.len()
            && self.access.hasher.verify(password.to_owned(), Some(&user.password_hash)).await?;
        if is_right {
            self.access.throttle.own_password_was_right(user.id);
            return Ok(());
        }
        self.tally_wrong(by, "wrong password");
        Err(Error::invalid_field("currentPassword", "is wrong"))
    }

    /// Counts a wrong password or code, which the status alone does not tell from other errors.
    pub(super) fn tally_wrong(&self, by: &Caller, what: &str) {
        if let Some(act) = by.refused(what) {
            self.tally(act, AuditOutcome::Refused(400));
        }
    }

    /// Returns the user of a session token.
    ///
    /// # Errors
    /// `Unauthenticated`, with the same message for every reason.
    pub fn bearer(&self, token: &str) -> Result<Arc<User>> {
        let session = self.access.token_key.verify(token, self.clock.now());
        let user = session.and_then(|it| self.access.people.bearer(&it));
        user.ok_or_else(|| Error::unauthenticated("the token is invalid or expired; log in again"))
    }

    /// The caller as it is now, for work that takes long: its key or user may have changed since the request began.
    ///
    /// # Errors
    /// `Unauthenticated` if a new request would be.
    pub fn current(&self, caller: &Caller) -> Result<Caller> {
        let Access { keyring, people, .. } = &self.access;
        let current = match &caller.identity {
            Principal::Key(held) => keyring.current(held, self.clock.now()).map(Principal::Key),
            Principal::User(user) => people.current(user).map(Principal::User),
            Principal::Operator { uid } => Some(Principal::Operator { uid: *uid }),
        };
        let ended =
            || Error::unauthenticated("the key or session has ended since the request began");
        Ok(caller.known_as(current.ok_or_else(ended)?))
    }

    pub(super) fn begin_session(&self, user: Arc<User>) -> Login {
        let now = self.clock.now();
        let (token, session) = self.access.token_key.issue(user.id, user.session_version, now);
        Login { token, session, user }
    }
}
