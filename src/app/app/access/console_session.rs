//! Sessions of the console: sign in, go on, sign out.

use std::sync::Arc;

use crate::app::App;
use crate::auth::caller::{Caller, Principal};
use crate::auth::console_session::{N_PER_USER_MAX, SessionSecret, is_live, session_id};
use crate::auth::network::CallerAddress;
use crate::auth::token::Session;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::store::Batch;
use crate::store::global::audit::PendingAct;
use crate::store::global::console_session::{ConsoleSession, Proof, SessionDigest};
use crate::store::global::user::User;
use crate::text::line;

/// The disk hears so much later that a session was used.
const NOTED_EVERY_S: i64 = 5 * 60;
/// Of what a browser calls itself, so much is kept.
const AGENT_CHARS_MAX: usize = 200;

/// The browser that a person signs in with.
#[derive(Clone, Debug)]
pub struct Browser {
    pub address: CallerAddress,
    /// What it calls itself.
    pub agent: String,
}

/// A user who is signed in.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub session: Arc<ConsoleSession>,
    pub user: Arc<User>,
}

impl App {
    /// Begins a session of the console if the password is right, and the code of a user with a second factor.
    ///
    /// # Errors
    /// Those of [`App::log_in`].
    pub async fn sign_in(
        &self,
        name: &str,
        password: &str,
        otp: Option<&str>,
        browser: &Browser,
        act: PendingAct,
    ) -> Result<SessionSecret> {
        let login = self.log_in(name, password, otp, browser.address.ip(), act).await?;
        Ok(self
            .begin_console_session(&login.user, browser, self.clock.now(), Proof::Password)
            .await)
    }

    /// Begins a session of a user who proved to be there, at that time and in this way. The secret is always a new one.
    pub(super) async fn begin_console_session(
        &self,
        user: &User,
        browser: &Browser,
        proven_at: Time,
        proof: Proof,
    ) -> SessionSecret {
        let (now, secret) = (self.clock.now(), SessionSecret::generate());
        let session = ConsoleSession {
            digest: secret.digest(),
            user: user.id,
            version: user.session_version,
            begun_at: now,
            used_at: now,
            confirmed_at: proven_at,
            proof,
            address: browser.address.shown().unwrap_or_else(|| "control socket".to_owned()),
            agent: line(&browser.agent, AGENT_CHARS_MAX),
        };
        let sessions = &self.access.console_sessions;
        let mut ended = sessions.expired(now);
        let others = sessions.of_user(user.id).into_iter().filter(|it| is_live(it, now));
        ended.extend(others.skip(N_PER_USER_MAX - 1).map(|it| it.digest));
        for it in &ended {
            sessions.remove(it);
        }
        let session = Arc::new(session);
        sessions.put(Arc::clone(&session));
        let write = move |batch: &mut Batch| {
            ended.iter().try_for_each(|it| batch.remove_console_session(it))?;
            batch.put_console_session(&session)
        };
        // As with a login, an administrator must be able to find out why the disk is full. The session ends with the process.
        if let Err(error) = self.store.clone().reserved().write(write).await {
            tracing::warn!("a session of the console was not recorded: {error}");
        }
        secret
    }

    /// Returns who is signed in with this secret, and notes that the session is in use. `None`: it has ended.
    pub async fn resume_console_session(&self, secret: &SessionSecret) -> Option<SignedIn> {
        let now = self.clock.now();
        let known = self.access.console_sessions.find(&secret.digest())?;
        let expires_at = known.used_at;
        let token = Session { user: known.user, version: known.version, expires_at };
        let user = self.access.people.bearer(&token).filter(|_| is_live(&known, now))?;
        let user = Some(user).filter(|it| self.is_of_provider(it))?;
        if now.s_since(known.used_at) < NOTED_EVERY_S {
            return Some(SignedIn { session: known, user });
        }
        let session = Arc::new(ConsoleSession { used_at: now, ..ConsoleSession::clone(&known) });
        self.keep_console_session(&session).await;
        Some(SignedIn { session, user })
    }

    /// Notes that the user proved to be there again.
    ///
    /// # Errors
    /// Those of [`App::log_in`].
    pub async fn confirm_console_session(
        &self,
        by: &SignedIn,
        password: &str,
        otp: Option<&str>,
        browser: &Browser,
        act: PendingAct,
    ) -> Result<()> {
        self.log_in(&by.user.email, password, otp, browser.address.ip(), act).await?;
        self.confirm_session(by, self.clock.now(), by.session.proof).await;
        Ok(())
    }

    /// Notes when and how the user proved to be there again.
    pub(super) async fn confirm_session(&self, by: &SignedIn, proven_at: Time, proof: Proof) {
        let session = ConsoleSession::clone(&by.session);
        let used_at = self.clock.now();
        let session = ConsoleSession { used_at, confirmed_at: proven_at, proof, ..session };
        self.keep_console_session(&Arc::new(session)).await;
    }

    /// Begins a session in place of one that ended because its user changed how to sign in. `None`: the user is gone.
    pub async fn renew_console_session(
        &self,
        by: &SignedIn,
        browser: &Browser,
    ) -> Option<SessionSecret> {
        let user = self.get_user(by.user.id).ok().filter(|it| it.enabled)?;
        // Without a passkey, a used one opens nothing more.
        let lost = by.session.proof == Proof::Passkey && self.list_passkeys(user.id).is_empty();
        let proof = if lost { Proof::Password } else { by.session.proof };
        Some(self.begin_console_session(&user, browser, self.clock.now(), proof).await)
    }

    /// Ends the session with this secret.
    pub async fn forget_console_session(&self, secret: &SessionSecret) {
        let digest = secret.digest();
        self.access.console_sessions.remove(&digest);
        let write = move |batch: &mut Batch| batch.remove_console_session(&digest);
        if let Err(error) = self.store.clone().reserved().write(write).await {
            tracing::warn!("the end of a session of the console was not recorded: {error}");
        }
    }

    async fn keep_console_session(&self, session: &Arc<ConsoleSession>) {
        self.access.console_sessions.replace(Arc::clone(session));
        let kept = Arc::clone(session);
        let write = move |batch: &mut Batch| batch.replace_console_session(&kept);
        if let Err(error) = self.store.write(write).await {
            tracing::warn!("the use of a session of the console was not recorded: {error}");
        }
    }

    /// The sessions of a user, the most recently used first.
    pub fn list_console_sessions(&self, user: &User) -> Vec<Arc<ConsoleSession>> {
        let now = self.clock.now();
        let is_valid =
            |it: &Arc<ConsoleSession>| it.version == user.session_version && is_live(it, now);
        let sessions = self.access.console_sessions.of_user(user.id);
        sessions.into_iter().filter(is_valid).collect()
    }

    /// Ends one session of the user.
    ///
    /// # Errors
    /// `NotFound` if the user has no such session.
    pub async fn end_console_session(
        &self,
        user: &Arc<User>,
        id: &str,
        act: PendingAct,
    ) -> Result<()> {
        let mut sessions = self.access.console_sessions.of_user(user.id).into_iter();
        let found = sessions.find(|it| session_id(it) == id);
        let digest: SessionDigest =
            found.ok_or_else(|| Error::not_found("session not found"))?.digest;
        self.access.console_sessions.remove(&digest);
        let by = Caller::new(Principal::User(Arc::clone(user))).acting(act);
        let write = move |batch: &mut Batch| batch.remove_console_session(&digest);
        by.acting_on(&self.store).reserved().write(write).await
    }
}
