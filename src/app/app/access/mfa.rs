//! Second factors: set up, remove, reset, and the codes that a login needs.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use crate::app::App;
use crate::app::access::session::Login;
use crate::auth::caller::{Account, Caller};
use crate::auth::otp;
use crate::error::{Error, Result};
use crate::id::UserId;
use crate::store::global::audit::PendingAct;
use crate::store::global::user::User;
use crate::store::global::user::identity::Identity;
use crate::store::global::user::passkey::Passkey;
use crate::store::global::user::second_factor::SecondFactor;
use crate::store::{Batch, Store};

/// Longer codes are wrong.
const CODE_BYTES_MAX: usize = 64;

/// Whether a user has a second factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MfaState {
    /// Logins need a code.
    On,
    /// Neither is one required, unless the user has a passkey, which is both factors.
    Off,
    /// The role requires one. The user must set it up before anything else.
    Missing,
}

impl MfaState {
    pub const ALL: [Self; 3] = [Self::On, Self::Off, Self::Missing];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Missing => "missing",
        }
    }
}

/// What the user's app needs. Shown only this once.
pub struct Enrollment {
    /// In base32.
    pub secret: String,
    /// `otpauth://...`, for a QR code.
    pub url: String,
}

/// New recovery codes, shown only this once, and the session that goes on.
pub struct NewRecoveryCodes {
    pub codes: Vec<String>,
    pub login: Login,
}

/// A second factor whose code was right.
pub(super) struct ProvenFactor {
    /// As it is now that the code is used.
    pub(super) factor: SecondFactor,
    pub(super) by_recovery_code: bool,
}

/// Identifies the sealed secret of a user.
fn place(user: UserId) -> String {
    format!("second factor {user}")
}

/// Hands each sealed value out, to be sealed anew.
pub(in crate::app) fn reseal(
    batch: &mut Batch,
    each: &mut dyn FnMut(&str, &mut Vec<u8>),
) -> Result<()> {
    for mut factor in batch.list_second_factors()? {
        each(&place(factor.user), &mut factor.secret);
        batch.put_second_factor(&factor)?;
    }
    Ok(())
}

impl App {
    pub fn mfa_state(&self, user: &User) -> MfaState {
        if self.has_second_factor(user) {
            MfaState::On
        } else if self.must_set_up_mfa(user) && !self.must_use_passkey(user) {
            MfaState::Missing
        } else {
            MfaState::Off
        }
    }

    /// Returns true if the user's role requires a second factor and there is none. Who used a passkey needs none.
    pub fn must_set_up_mfa(&self, user: &User) -> bool {
        self.options.require_mfa.contains(&user.role) && !self.has_second_factor(user)
    }

    /// Here, or at the identity provider.
    fn has_second_factor(&self, user: &User) -> bool {
        let vouched = |it: Arc<Identity>| it.has_second_factor;
        self.confirmed_factor(user.id).is_some() || self.find_identity(user).is_some_and(vouched)
    }

    /// How many recovery codes were not used. `None`: the user has no second factor.
    pub fn recovery_codes_left(&self, id: UserId) -> Option<u32> {
        let factor = self.confirmed_factor(id)?;
        Some(u32::try_from(factor.recovery_codes.len()).expect("there are ten"))
    }

    /// Makes the secret of a second factor, which counts once [`App::confirm_mfa`] got a code of it.
    ///
    /// # Errors
    /// `Invalid` if the password is wrong; `RateLimited` after too many attempts; `Conflict` if the user has a factor;
    /// `Forbidden` if the password is not enough for one.
    pub async fn enroll_mfa(&self, by: &Caller, id: UserId, password: &str) -> Result<Enrollment> {
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let user = self.get_user(id)?;
        self.require_own_password(by, &user, password).await?;
        self.require_passkey(by, &user)?;
        if self.confirmed_factor(id).is_some() {
            let rule = "a second factor is on; remove it first: POST /api/me/mfa/remove";
            return Err(Error::conflict(rule));
        }
        let secret = otp::generate_secret();
        let url = otp::url(&secret, &user.email)?;
        let factor = SecondFactor {
            user: id,
            secret: self.access.sealer.seal(&place(id), &secret),
            confirmed_at: None,
            last_step: 0,
            recovery_codes: Vec::new(),
        };
        let store = by.acting_on(&self.store).reserved();
        self.store_user_and_factors(&store, user, Some(factor), Vec::new(), changing).await?;
        Ok(Enrollment { secret, url })
    }

    /// Turns the enrolled factor on. Ends all sessions of the user and starts a new one.
    ///
    /// # Errors
    /// `Invalid` if the code is wrong; `RateLimited` after too many attempts; `Conflict` if nothing is to be confirmed.
    pub async fn confirm_mfa(
        &self,
        by: &Caller,
        id: UserId,
        code: &str,
    ) -> Result<NewRecoveryCodes> {
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let enrolled = self.access.people.find_second_factor(id);
        let enrolled = enrolled.filter(|it| it.confirmed_at.is_none()).ok_or_else(|| {
            Error::conflict("no second factor waits for its first code: POST /api/me/mfa makes one")
        })?;
        let proven = self.require_own_code(by, &enrolled, code)?;
        let factor = SecondFactor { confirmed_at: Some(self.clock.now()), ..proven };
        self.store_recovery_codes(by, factor, changing).await
    }

    /// Replaces the recovery codes. Ends all sessions of the user and starts a new one.
    ///
    /// # Errors
    /// `Invalid` if the password or the code is wrong; `RateLimited` after too many attempts; `Conflict` without a factor.
    pub async fn replace_recovery_codes(
        &self,
        by: &Caller,
        id: UserId,
        password: &str,
        code: &str,
    ) -> Result<NewRecoveryCodes> {
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let factor = self.require_own_factor(by, id, password, code).await?;
        self.store_recovery_codes(by, factor, changing).await
    }

    /// Removes the user's own factor. Ends all sessions of the user and starts a new one.
    ///
    /// # Errors
    /// As [`App::replace_recovery_codes`].
    pub async fn remove_mfa(
        &self,
        by: &Caller,
        id: UserId,
        password: &str,
        code: &str,
    ) -> Result<Login> {
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        self.require_own_factor(by, id, password, code).await?;
        Ok(self.begin_session(self.change_factors(by, id, None, Vec::new(), changing).await?))
    }

    /// Removes the factor and the passkeys of another user, who lost them. Ends all sessions of that user.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` to the user, who must prove the factor to remove it.
    pub async fn reset_mfa(&self, by: &Caller, id: UserId) -> Result<()> {
        if by.account() == Account::User(id) {
            let rule = "remove your own second factor with POST /api/me/mfa/remove";
            return Err(Error::forbidden(rule));
        }
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        self.get_user(id)?;
        let passkeys = self.list_passkeys(id);
        if self.access.people.find_second_factor(id).is_some() || !passkeys.is_empty() {
            self.change_factors(by, id, None, passkeys, changing).await?;
        }
        Ok(())
    }

    /// The second factor of a user who logs in, if there is one. Call it after the password was right, with the user
    /// locked.
    ///
    /// # Errors
    /// `CodeRequired` without a code; `Unauthenticated` if it is wrong.
    pub(super) fn prove_login(
        &self,
        user: &User,
        code: Option<&str>,
        act: &PendingAct,
    ) -> Result<Option<ProvenFactor>> {
        let Some(factor) = self.confirmed_factor(user.id) else { return Ok(None) };
        let note = |what: &str| act.set_subject(&format!("user {}, {what}", user.email));
        let Some(code) = code else {
            note("no code");
            return Err(Error::code_required());
        };
        let Some(proven) = self.prove(&factor, code)? else {
            note("wrong code");
            return Err(Error::unauthenticated("the code is wrong, expired or already used"));
        };
        if proven.by_recovery_code {
            note("recovery code");
        }
        Ok(Some(proven))
    }

    /// Records a login, and that its code is used.
    pub(super) async fn store_login(
        &self,
        by: &Caller,
        user: Arc<User>,
        proven: Option<ProvenFactor>,
        changing: OwnedMutexGuard<()>,
    ) -> Result<Arc<User>> {
        let store = by.acting_on(&self.store);
        let Some(ProvenFactor { factor, by_recovery_code }) = proven else {
            return self.store_user(&store, user, changing).await;
        };
        // Before the commit, without which the login goes on: the code is used.
        if !by_recovery_code {
            self.access.people.put_second_factor(Arc::new(factor.clone()));
        }
        let store = store.reserved();
        self.store_user_and_factors(&store, user, Some(factor), Vec::new(), changing).await
    }

    /// The users whose second factor the key file cannot open.
    pub(in crate::app) fn users_with_locked_factor(&self) -> Vec<UserId> {
        let factors = self.access.people.list_second_factors().into_iter();
        factors.filter(|it| self.open_secret(it).is_err()).map(|it| it.user).collect()
    }

    fn confirmed_factor(&self, id: UserId) -> Option<Arc<SecondFactor>> {
        self.access.people.find_second_factor(id).filter(|it| it.confirmed_at.is_some())
    }

    /// The factor as it is once this code is used. `None`: the code is wrong.
    ///
    /// # Errors
    /// `Conflict` if the key file cannot open the secret.
    fn prove(&self, factor: &SecondFactor, code: &str) -> Result<Option<ProvenFactor>> {
        if CODE_BYTES_MAX < code.len() {
            return Ok(None);
        }
        let mut factor = factor.clone();
        if let Some(index) = otp::find_recovery_code(&factor.recovery_codes, code) {
            factor.recovery_codes.remove(index);
            return Ok(Some(ProvenFactor { factor, by_recovery_code: true }));
        }
        let secret = self.open_secret(&factor)?;
        let step = otp::find_step(&secret, code, factor.last_step, self.clock.now())?;
        Ok(step.map(|last_step| ProvenFactor {
            factor: SecondFactor { last_step, ..factor },
            by_recovery_code: false,
        }))
    }

    fn open_secret(&self, factor: &SecondFactor) -> Result<String> {
        let opened = self.access.sealer.open_sealed(&place(factor.user), &factor.secret);
        opened.map_err(|_| {
            Error::conflict(
                "posture.key cannot open the second factor; put the original key file back and restart, use a recovery code, or \
                 have an administrator reset the factor",
            )
        })
    }

    /// Verifies the password and a code of a user who is logged in. Returns the factor as it is once the code is used.
    async fn require_own_factor(
        &self,
        by: &Caller,
        id: UserId,
        password: &str,
        code: &str,
    ) -> Result<SecondFactor> {
        let user = self.get_user(id)?;
        self.require_own_password(by, &user, password).await?;
        let Some(factor) = self.confirmed_factor(id) else {
            return Err(Error::conflict("no second factor is on"));
        };
        self.require_own_code(by, &factor, code)
    }

    /// Verifies the password of a user who is logged in, and a code if there is a factor. Returns the factor as it is from now
    /// on.
    pub(super) async fn require_own_factors(
        &self,
        by: &Caller,
        id: UserId,
        password: &str,
        code: Option<&str>,
    ) -> Result<Option<SecondFactor>> {
        if self.confirmed_factor(id).is_some() {
            let code = code.ok_or_else(|| Error::invalid_field("otp", "is required"))?;
            return self.require_own_factor(by, id, password, code).await.map(Some);
        }
        self.require_own_password(by, &*self.get_user(id)?, password).await?;
        let enrolled = self.access.people.find_second_factor(id);
        Ok(enrolled.map(|it| SecondFactor::clone(&it)))
    }

    /// Counts an attempt of a user who is logged in, and verifies the code.
    fn require_own_code(
        &self,
        by: &Caller,
        factor: &SecondFactor,
        code: &str,
    ) -> Result<SecondFactor> {
        self.access.throttle.take_own_code(factor.user, self.clock.now())?;
        let Some(proven) = self.prove(factor, code)? else {
            self.tally_wrong(by, "wrong code");
            return Err(Error::invalid_field("otp", "is wrong, expired or already used"));
        };
        self.access.throttle.own_code_was_right(factor.user);
        Ok(proven.factor)
    }

    async fn store_recovery_codes(
        &self,
        by: &Caller,
        mut factor: SecondFactor,
        changing: OwnedMutexGuard<()>,
    ) -> Result<NewRecoveryCodes> {
        let codes = otp::generate_recovery_codes();
        factor.recovery_codes = codes.iter().map(|it| otp::recovery_digest(it)).collect();
        let user = self.change_factors(by, factor.user, Some(factor), Vec::new(), changing).await?;
        Ok(NewRecoveryCodes { codes, login: self.begin_session(user) })
    }

    /// Changes or removes the factor, removes passkeys, and ends all sessions of the user.
    pub(super) async fn change_factors(
        &self,
        by: &Caller,
        id: UserId,
        factor: Option<SecondFactor>,
        removed: Vec<Arc<Passkey>>,
        changing: OwnedMutexGuard<()>,
    ) -> Result<Arc<User>> {
        let mut user = User::clone(&*self.get_user(id)?);
        user.session_version += 1;
        user.updated_at = self.clock.now();
        let store = by.acting_on(&self.store).reserved();
        self.store_user_and_factors(&store, Arc::new(user), factor, removed, changing).await
    }

    /// [`App::store_user`], with the user's factor in the same commit, and without some passkeys. `None`: the user has no
    /// factor from now on.
    async fn store_user_and_factors(
        &self,
        store: &Store,
        user: Arc<User>,
        factor: Option<SecondFactor>,
        removed: Vec<Arc<Passkey>>,
        changing: OwnedMutexGuard<()>,
    ) -> Result<Arc<User>> {
        let (row, factor) = (Arc::clone(&user), factor.map(Arc::new));
        let (kept, kept_factor, gone) = (Arc::clone(&user), factor.clone(), removed.clone());
        let people = Arc::clone(&self.access.people);
        // After the commit: what memory grants must survive a restart.
        let put = move |(): &()| {
            match kept_factor {
                Some(factor) => people.put_second_factor(factor),
                None => people.remove_second_factor(kept.id),
            }
            for it in &gone {
                people.remove_passkey(it);
            }
            people.put(kept);
            drop(changing);
        };
        let write = move |batch: &mut Batch| {
            batch.note_object(&row.id);
            batch.put_user(&row)?;
            removed.iter().try_for_each(|it| batch.remove_passkey(it))?;
            match &factor {
                Some(factor) => batch.put_second_factor(factor),
                None => batch.remove_second_factor(row.id),
            }
        };
        store.write_then(write, put).await?;
        Ok(user)
    }
}
