//! Passkeys: add one, remove one, sign in with one, confirm with one.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedMutexGuard;

use crate::app::App;
use crate::app::access::console_session::{Browser, SignedIn};
use crate::app::access::session::Login;
use crate::app::input::require_name;
use crate::auth::caller::{Caller, Principal};
use crate::auth::console_session::SessionSecret;
use crate::clock::Time;
use crate::error::{Code, Error, Result};
use crate::id::{PasskeyId, UserId};
use crate::passkey::{self, Answer, Fault, Holder, NewKey, Site};
use crate::request;
use crate::store::Batch;
use crate::store::global::audit::PendingAct;
use crate::store::global::console_session::Proof;
use crate::store::global::user::User;
use crate::store::global::user::passkey::Passkey;
use crate::store::global::user::second_factor::SecondFactor;

/// Passkeys of one user.
pub const N_PASSKEYS_MAX: usize = 10;
pub const NAME_CHARS_MAX: usize = 100;
/// A person has so long to answer a question. The browser is told the same.
pub const ANSWER_S: i64 = 300;
/// A longer answer is refused. That of the largest key that devices make has a third of it.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// What is said to whoever is not let in, whatever the reason.
const NOT_ACCEPTED: &str = "This passkey was not accepted. Try again; if it stays so, sign in in another way, or ask an administrator.";

/// What a question is for. Its answer counts for nothing else.
#[derive(Clone, Copy)]
pub enum Ceremony<'a> {
    SignIn,
    /// In this session, and no other.
    Confirm(&'a SignedIn),
    Add(&'a SignedIn),
}

/// What the browser keeps until the answer.
#[derive(Serialize, Deserialize)]
struct Kept {
    question: String,
    /// Microseconds since 1970.
    asked_at: i64,
}

/// What the browser brings back.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    pub kept: Option<&'a str>,
    pub answer: &'a str,
}

impl Ceremony<'_> {
    /// What the sealed cookie is for.
    fn place(self) -> String {
        let of_session =
            |what: &str, by: &SignedIn| format!("{what} {}", hex::encode(by.session.digest));
        match self {
            Self::SignIn => "passkey sign-in".to_owned(),
            Self::Confirm(by) => of_session("passkey confirmation", by),
            Self::Add(by) => of_session("new passkey", by),
        }
    }
}

impl SignedIn {
    fn acting(&self, act: PendingAct) -> Caller {
        let caller = Caller::new(Principal::User(Arc::clone(&self.user)));
        caller.proven_by(self.session.proof).acting(act)
    }
}

impl App {
    /// The passkeys of a user, oldest first.
    pub fn list_passkeys(&self, user: UserId) -> Vec<Arc<Passkey>> {
        self.access.people.passkeys_of(user)
    }

    /// Returns true if the role requires a second factor, and the user has only passkeys: then a password is not enough.
    pub fn must_use_passkey(&self, user: &User) -> bool {
        self.must_set_up_mfa(user) && !self.list_passkeys(user.id).is_empty()
    }

    /// Who knows the password alone must neither add a factor to it nor take a passkey away.
    ///
    /// # Errors
    /// `Forbidden`.
    pub(super) fn require_passkey(&self, by: &Caller, user: &User) -> Result<()> {
        if self.must_use_passkey(user) && !by.used_passkey() {
            let rule = "your role requires a second factor, and yours is a passkey: sign in to the console with it first";
            return Err(Error::forbidden(rule));
        }
        Ok(())
    }

    /// Begins a ceremony: the question for the script of the page, and what the browser keeps until the answer.
    ///
    /// # Errors
    /// `Conflict` if the user can have no further passkey; `Forbidden` if the password is not enough for one.
    pub fn ask_for_passkey(&self, site: &Site, ceremony: Ceremony<'_>) -> Result<(String, String)> {
        let question = match ceremony {
            Ceremony::SignIn | Ceremony::Confirm(_) => passkey::ask(site),
            Ceremony::Add(by) => {
                self.require_place_for_passkey(&by.user)?;
                self.require_passkey(&by.acting(PendingAct::default()), &by.user)?;
                let holder = Holder {
                    id: by.user.id.as_bytes(),
                    email: &by.user.email,
                    display_name: by.user.display_name.as_deref(),
                };
                let known = self.list_passkeys(by.user.id).into_iter();
                let known = known.filter(|it| it.domain == site.domain());
                passkey::ask_for_new(site, holder, known.map(|it| it.credential.clone()))
            }
        };
        let question = question.map_err(|fault| Error::internal(fault.to_string()))?;
        let kept =
            Kept { question: BASE64.encode(question.kept), asked_at: self.clock.now().micros() };
        let kept = serde_json::to_string(&kept).map_err(Error::internal)?;
        let sealed = self.access.sealer.seal(&ceremony.place(), &kept);
        Ok((question.json, BASE64.encode(sealed)))
    }

    /// Adds the passkey that the browser made. Ends all sessions of the user and begins another one.
    ///
    /// # Errors
    /// `Invalid` if the name breaks a rule, or the answer is not accepted; `Unauthenticated` if it is not the answer to the
    /// question of this session; `Conflict` if the user can have no further passkey; `Forbidden` if the password is not
    /// enough for one; `RateLimited`.
    pub async fn add_passkey(
        &self,
        site: &Site,
        by: &SignedIn,
        name: &str,
        answered: Answered<'_>,
        browser: &Browser,
        act: PendingAct,
    ) -> Result<SessionSecret> {
        let now = self.clock.now();
        require_name("name", name, NAME_CHARS_MAX)?;
        let (question, asked_at) = self.open_question(Ceremony::Add(by), answered, now)?;
        self.access.throttle.take_answer(browser.address.ip(), now)?;
        let NewKey { credential, public_key, state } =
            passkey::make(site, &question, answered.answer)
                .map_err(|fault| not_made(&by.user, &fault))?;
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let mut user = User::clone(&*self.get_user(by.user.id)?);
        if !user.enabled || user.session_version != by.session.version {
            return Err(Error::unauthenticated("Your session ended meanwhile. Sign in again."));
        }
        let caller = by.acting(act.clone());
        self.require_place_for_passkey(&user)?;
        self.require_passkey(&caller, &user)?;
        if self.access.people.find_passkey(&credential).is_some() {
            return Err(Error::conflict("This passkey is there already. Use it, or remove it."));
        }
        let passkey = Arc::new(Passkey {
            id: PasskeyId::made_at(now),
            user: user.id,
            name: name.to_owned(),
            domain: site.domain().to_owned(),
            credential,
            public_key,
            state,
            made_at: now,
            used_at: None,
            asked_at,
        });
        act.set_subject(&format!("passkey {name}"));
        user.session_version += 1;
        user.updated_at = now;
        let user = self.store_passkey(&caller, user, passkey, changing).await?;
        Ok(self.begin_console_session(&user, browser, now, Proof::Passkey).await)
    }

    /// Removes a passkey of the user who is signed in. Ends all sessions of the user.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` if the password is not enough for it.
    pub async fn remove_passkey(
        &self,
        by: &SignedIn,
        id: PasskeyId,
        act: PendingAct,
    ) -> Result<()> {
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let factor = self.access.people.find_second_factor(by.user.id);
        let factor = factor.map(|it| SecondFactor::clone(&it));
        let passkey = self.find_own_passkey(by.user.id, id)?;
        act.set_subject(&format!("passkey {}", passkey.name));
        let caller = by.acting(act);
        self.require_passkey(&caller, &*self.get_user(by.user.id)?)?;
        self.change_factors(&caller, by.user.id, factor, vec![passkey], changing).await?;
        Ok(())
    }

    /// Removes a passkey of the user who calls. Ends all sessions of the user and starts a new one.
    ///
    /// # Errors
    /// `Invalid` if the password or the code is wrong; `RateLimited` after too many attempts; `NotFound`; `Conflict` for a
    /// user without a password; `Forbidden` if the password is not enough for it.
    pub async fn remove_own_passkey(
        &self,
        by: &Caller,
        user: UserId,
        id: PasskeyId,
        password: &str,
        otp: Option<&str>,
    ) -> Result<Login> {
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let factor = self.require_own_factors(by, user, password, otp).await?;
        self.require_passkey(by, &*self.get_user(user)?)?;
        let passkey = self.find_own_passkey(user, id)?;
        let user = self.change_factors(by, user, factor, vec![passkey], changing).await?;
        Ok(self.begin_session(user))
    }

    /// Begins a session of the user whose passkey answers.
    ///
    /// # Errors
    /// `Unauthenticated`, for every passkey with the same message; `RateLimited`.
    pub async fn sign_in_with_passkey(
        &self,
        site: &Site,
        answered: Answered<'_>,
        browser: &Browser,
        act: PendingAct,
    ) -> Result<SessionSecret> {
        let user = self.prove_passkey(site, Ceremony::SignIn, answered, browser, act).await?;
        Ok(self.begin_console_session(&user, browser, self.clock.now(), Proof::Passkey).await)
    }

    /// Notes that the user proved to be there again.
    ///
    /// # Errors
    /// As [`App::sign_in_with_passkey`].
    pub async fn confirm_with_passkey(
        &self,
        site: &Site,
        by: &SignedIn,
        answered: Answered<'_>,
        browser: &Browser,
        act: PendingAct,
    ) -> Result<()> {
        self.prove_passkey(site, Ceremony::Confirm(by), answered, browser, act).await?;
        self.confirm_session(by, self.clock.now(), Proof::Passkey).await;
        Ok(())
    }

    /// The user whose passkey answered. The answer counts once.
    async fn prove_passkey(
        &self,
        site: &Site,
        ceremony: Ceremony<'_>,
        answered: Answered<'_>,
        browser: &Browser,
        act: PendingAct,
    ) -> Result<Arc<User>> {
        let (now, address) = (self.clock.now(), browser.address.ip());
        let refused = |about: String| {
            act.set_subject(&about);
            Error::unauthenticated(NOT_ACCEPTED)
        };
        let (question, asked_at) = self.open_question(ceremony, answered, now)?;
        self.access.throttle.take_answer(address, now)?;
        let answer = Answer::read(answered.answer);
        let answer = answer.map_err(|fault| refused(format!("passkey: {fault}")))?;
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let known = self.access.people.find_passkey(answer.credential());
        let known = known.filter(|it| answer.is_of(it.user.as_bytes()));
        let Some(passkey) = known else { return Err(refused("unknown passkey".to_owned())) };
        let mut user = User::clone(&*self.get_user(passkey.user)?);
        let about = format!("user {}, passkey {}", user.email, passkey.name);
        let refused = |why: &str| refused(format!("{about}: {why}"));
        if !user.enabled {
            return Err(refused("disabled user"));
        }
        if matches!(ceremony, Ceremony::Confirm(by) if by.user.id != user.id) {
            return Err(refused("of another user"));
        }
        // If the clock was set back, the questions of the time before must not lock the user out.
        if asked_at <= passkey.asked_at && passkey.asked_at <= now {
            return Err(refused("an older question"));
        }
        let state = answer.verify(site, &question, &passkey.public_key, passkey.state);
        let state = state.map_err(|fault| refused(&fault.to_string()))?;
        act.set_subject(&about);
        self.access.throttle.succeeded(&user, address, now);
        user.last_login_at = Some(now);
        let passkey = Passkey { state, used_at: Some(now), asked_at, ..Passkey::clone(&passkey) };
        let passkey = Arc::new(passkey);
        // Before the commit, without which the sign-in goes on: the question is answered.
        self.access.people.put_passkey(Arc::clone(&passkey));
        let (kept, email) = (Arc::new(user.clone()), user.email.clone());
        let by = Caller::new(Principal::User(Arc::clone(&kept))).acting(act);
        match self.store_passkey(&by, user, passkey, changing).await {
            // As with a login, an administrator must be able to find out why the disk is full.
            Err(error) if error.code == Code::Unavailable => {
                let id = request::id();
                tracing::warn!(
                    request_id = id.as_deref(),
                    "the login of `{email}` was not recorded: {error}"
                );
                Ok(kept)
            }
            stored => stored,
        }
    }

    /// The question that the browser kept, and when it was asked.
    fn open_question(
        &self,
        ceremony: Ceremony<'_>,
        answered: Answered<'_>,
        now: Time,
    ) -> Result<(Vec<u8>, Time)> {
        if ANSWER_BYTES_MAX < answered.answer.len() {
            return Err(Error::invalid(format!(
                "The answer of the browser is longer than {ANSWER_BYTES_MAX} bytes. Use another device or browser."
            )));
        }
        let opened = answered.kept.and_then(|it| {
            let sealed = BASE64.decode(it).ok()?;
            let kept = self.access.sealer.open_sealed(&ceremony.place(), &sealed).ok()?;
            let kept: Kept = serde_json::from_str(&kept).ok()?;
            Some((BASE64.decode(kept.question).ok()?, Time::from_micros(kept.asked_at)))
        });
        opened.filter(|it| (0..ANSWER_S).contains(&now.s_since(it.1))).ok_or_else(|| {
            Error::unauthenticated(format!(
                "This browser was not asked for this passkey, or was asked more than {} minutes ago. Try again. If it stays so, let \
                 the browser keep the cookies of this site.",
                ANSWER_S / 60
            ))
        })
    }

    fn require_place_for_passkey(&self, user: &User) -> Result<()> {
        if self.find_identity(user).is_some() {
            let rule = "You sign in at your identity provider. Your passkeys are kept there.";
            return Err(Error::conflict(rule));
        }
        if N_PASSKEYS_MAX <= self.list_passkeys(user.id).len() {
            return Err(Error::conflict(format!(
                "You have {N_PASSKEYS_MAX} passkeys, which is the limit. Remove one first."
            )));
        }
        Ok(())
    }

    fn find_own_passkey(&self, user: UserId, id: PasskeyId) -> Result<Arc<Passkey>> {
        let mut passkeys = self.list_passkeys(user).into_iter();
        passkeys.find(|it| it.id == id).ok_or_else(|| Error::not_found("passkey not found"))
    }

    /// [`App::store_user`], with a passkey of the user in the same commit.
    async fn store_passkey(
        &self,
        by: &Caller,
        user: User,
        passkey: Arc<Passkey>,
        changing: OwnedMutexGuard<()>,
    ) -> Result<Arc<User>> {
        let user = Arc::new(user);
        let (row, kept, row_passkey) = (Arc::clone(&user), Arc::clone(&user), Arc::clone(&passkey));
        let people = Arc::clone(&self.access.people);
        // After the commit: what memory grants must survive a restart.
        let put = move |(): &()| {
            people.put_passkey(passkey);
            people.put(kept);
            drop(changing);
        };
        let write = move |batch: &mut Batch| {
            batch.note_object(&row.id);
            batch.put_user(&row)?;
            batch.put_passkey(&row_passkey)
        };
        by.acting_on(&self.store).reserved().write_then(write, put).await?;
        Ok(user)
    }
}

/// What to tell a person whose new passkey is not accepted. The log gets the reason.
fn not_made(user: &User, fault: &Fault) -> Error {
    let id = request::id();
    tracing::warn!(
        request_id = id.as_deref(),
        "a new passkey of `{}` was not accepted: {fault}",
        user.email
    );
    Error::invalid(
        "The answer of the browser was not accepted, and there is no new passkey. Try again, or use another device.",
    )
}
