//! Signing in at the identity provider of the configuration.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio::sync::OwnedMutexGuard;

use super::grant::{Granted, OidcGrants};
use super::user::{EMAIL_CHARS_MAX, NAME_CHARS_MAX, check_email};
use crate::app::App;
use crate::app::access::console_session::{Browser, SignedIn};
use crate::auth::caller::{Caller, Principal};
use crate::auth::console_session::SessionSecret;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::UserId;
use crate::oidc::{Answered, Claims, Fault, Flow, LIFE_S, OidcProvider, OidcSettings, Wanted};
use crate::request;
use crate::store::Batch;
use crate::store::global::audit::PendingAct;
use crate::store::global::console_session::Proof;
use crate::store::global::user::identity::Identity;
use crate::store::global::user::{Role, User};
use crate::text::line;

/// What the sealed cookie is for.
const FLOW: &str = "sign-in at the identity provider";
/// So many used flows are remembered. The provider refuses a code that was used, too.
const N_USED_MAX: usize = 10_000;
/// A longer reason is cut in the log.
const CAUSE_CHARS_MAX: usize = 500;
/// A longer address to go on at is not kept in the cookie.
const NEXT_BYTES_MAX: usize = 1_024;

/// What the configuration says about signing in at an identity provider.
#[derive(Clone, Debug)]
pub struct OidcOptions {
    pub settings: OidcSettings,
    pub grants: OidcGrants,
}

/// The provider, what it grants, and which flows came to their end.
pub struct Oidc {
    provider: OidcProvider,
    grants: OidcGrants,
    /// By state, with the time of use.
    used: Mutex<HashMap<String, Time>>,
}

/// What the browser keeps while the person is at the provider.
#[derive(Serialize, Deserialize)]
struct Kept {
    flow: Flow,
    /// Where to go on: a page of the console.
    next: String,
    /// The user who is to prove to be there. `None`: somebody signs in.
    confirms: Option<String>,
}

/// What the browser brings back.
#[derive(Clone, Copy, Debug)]
pub struct OidcReturn<'a> {
    pub state: &'a str,
    pub answered: Answered<'a>,
}

/// How a flow ended.
pub struct OidcEnd {
    /// Where to go on.
    pub next: String,
    /// The new session. `None`: the session of before is confirmed.
    pub secret: Option<SessionSecret>,
}

impl Oidc {
    /// # Errors
    /// Those of [`OidcProvider::new`].
    pub(in crate::app) fn of(options: OidcOptions) -> Result<Self> {
        let provider = OidcProvider::new(options.settings)?;
        Ok(Self { provider, grants: options.grants, used: Mutex::default() })
    }

    fn name(&self) -> &str {
        &self.provider.settings.name
    }

    fn issuer(&self) -> &str {
        &self.provider.settings.issuer
    }

    /// # Errors
    /// `Unauthenticated` if the flow came to its end before.
    fn use_up(&self, flow: &Flow, now: Time) -> Result<()> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, at| (0..LIFE_S).contains(&now.s_since(*at)));
        if N_USED_MAX <= used.len() {
            used.clear();
        }
        if used.insert(flow.state(), now).is_some() {
            return Err(Error::unauthenticated(
                "This sign-in came to its end before. Begin again on the sign-in page, without the back button.",
            ));
        }
        Ok(())
    }
}

impl App {
    fn oidc(&self) -> Result<&Oidc> {
        self.access.oidc.as_ref().ok_or_else(|| Error::not_found("no identity provider is set"))
    }

    /// What people call the identity provider. `None`: there is none.
    pub fn oidc_name(&self) -> Option<&str> {
        self.access.oidc.as_ref().map(Oidc::name)
    }

    /// Who the user is at an identity provider. `None`: the user has a password here.
    pub fn find_identity(&self, user: &User) -> Option<Arc<Identity>> {
        self.access.people.find_identity(user.id)
    }

    /// Returns false for a user of another identity provider than that of the configuration.
    pub(super) fn is_of_provider(&self, user: &User) -> bool {
        let is_ours = |it: &Oidc, identity: &Identity| it.issuer() == identity.issuer;
        let oidc = self.access.oidc.as_ref();
        self.find_identity(user).is_none_or(|it| oidc.is_some_and(|oidc| is_ours(oidc, &it)))
    }

    /// Returns true if the provider says which clients a user may see.
    pub(super) fn grants_clients(&self) -> bool {
        self.access.oidc.as_ref().is_some_and(|it| it.grants.clients_claim.is_some())
    }

    /// Begins a sign-in, or asks a user who is signed in to prove to be there: where to lead the browser, and what it keeps
    /// until it comes back.
    ///
    /// # Errors
    /// `NotFound` without a provider; `Unavailable` if it cannot be reached.
    pub async fn begin_oidc(
        &self,
        confirms: Option<&User>,
        next: &str,
    ) -> Result<(String, String)> {
        let (oidc, now) = (self.oidc()?, self.clock.now());
        let flow = Flow::begin(now);
        let wanted = if confirms.is_some() { Wanted::SignInAgain } else { Wanted::SignIn };
        let url = oidc.provider.authorization_url(&flow, wanted, now).await;
        let url = url.map_err(|fault| failed(oidc, &fault, &PendingAct::default()))?;
        let next = if next.len() <= NEXT_BYTES_MAX { next } else { "/" };
        let kept =
            Kept { flow, next: next.to_owned(), confirms: confirms.map(|it| it.id.to_string()) };
        let kept = serde_json::to_string(&kept).map_err(Error::internal)?;
        Ok((url, BASE64.encode(self.access.sealer.seal(FLOW, &kept))))
    }

    /// Ends what [`App::begin_oidc`] began. `kept`: what the browser kept. `signed_in`: who is signed in with it. The role is
    /// that which the claims grant now.
    ///
    /// # Errors
    /// `Unauthenticated` if this is not the end of such a flow, or the provider's answer is not to be trusted; `Forbidden` if
    /// the person may do nothing here; `Conflict` if a new user breaks a rule; `Unavailable` if the provider or the disk does
    /// not answer; `RateLimited`.
    pub async fn finish_oidc(
        &self,
        kept: Option<&str>,
        returned: OidcReturn<'_>,
        signed_in: Option<&SignedIn>,
        browser: &Browser,
        act: PendingAct,
    ) -> Result<OidcEnd> {
        let (oidc, now) = (self.oidc()?, self.clock.now());
        let note = |error: &Error| {
            act.set_subject(&format!("identity provider: {}", error.message()));
        };
        let kept = self.open_flow(kept, returned.state, now).inspect_err(note)?;
        // From here on the provider is asked.
        self.access.throttle.take_return(browser.address.ip(), now)?;
        oidc.use_up(&kept.flow, now).inspect_err(note)?;
        let wanted = if kept.confirms.is_some() { Wanted::SignInAgain } else { Wanted::SignIn };
        let claims = oidc.provider.claims(&kept.flow, wanted, returned.answered, now).await;
        let claims = claims.map_err(|fault| failed(oidc, &fault, &act))?;
        act.set_subject(&format!("identity {}", claims.subject()));
        let note = |error: &Error| {
            act.set_subject(&format!("identity {}: {}", claims.subject(), error.message()));
        };
        let by = match &kept.confirms {
            Some(id) => Some(self.require_same(oidc, &claims, id, signed_in).inspect_err(note)?),
            None => None,
        };
        let user = self.put_identified(oidc, &claims, act.clone()).await.inspect_err(note)?;
        let proven_at = claims.auth_time_s().map_or(Time::EPOCH, Time::from_s).min(now);
        let secret = if let Some(by) = by {
            self.confirm_session(by, proven_at, Proof::Provider).await;
            None
        } else {
            let proof = Proof::Provider;
            Some(self.begin_console_session(&user, browser, proven_at, proof).await)
        };
        Ok(OidcEnd { next: kept.next, secret })
    }

    /// What the browser kept, if this state belongs to it.
    fn open_flow(&self, kept: Option<&str>, state: &str, now: Time) -> Result<Kept> {
        let opened = kept.and_then(|it| {
            let sealed = BASE64.decode(it).ok()?;
            let kept = self.access.sealer.open_sealed(FLOW, &sealed).ok()?;
            serde_json::from_str::<Kept>(&kept).ok()
        });
        let Some(kept) = opened.filter(|it| it.flow.is_live(now)) else {
            return Err(Error::unauthenticated(format!(
                "This browser did not begin this sign-in, or began it more than {} minutes ago. Begin again on the sign-in page. \
                 If it stays so, let the browser keep the cookies of this site.",
                LIFE_S / 60
            )));
        };
        if !bool::from(kept.flow.state().as_bytes().ct_eq(state.as_bytes())) {
            return Err(Error::unauthenticated(
                "This is the answer to another sign-in than the last one of this browser. Begin again on the sign-in page, in \
                 one window.",
            ));
        }
        Ok(kept)
    }

    /// The session of the user who was asked to prove to be there, if that user did.
    fn require_same<'a>(
        &self,
        oidc: &Oidc,
        claims: &Claims,
        id: &str,
        signed_in: Option<&'a SignedIn>,
    ) -> Result<&'a SignedIn> {
        let signed_in = signed_in.filter(|it| it.user.id.to_string() == id).ok_or_else(|| {
            Error::unauthenticated(
                "Your session here ended meanwhile. Sign in on the sign-in page.",
            )
        })?;
        let proven = self.access.people.find_by_identity(oidc.issuer(), claims.subject());
        let same = proven.filter(|it| it.id == signed_in.user.id).map(|_| signed_in);
        same.ok_or_else(|| {
            Error::forbidden(format!(
                "You signed in at {} as somebody else than here. Sign out here first, or sign in there as the same person.",
                oidc.name()
            ))
        })
    }

    /// The user with this identity, as the claims grant it. An unknown identity gets a user of its own, never one that is
    /// there.
    async fn put_identified(
        &self,
        oidc: &Oidc,
        claims: &Claims,
        act: PendingAct,
    ) -> Result<Arc<User>> {
        let is_client = |id| self.clients.directory.find(id).is_some();
        let granted =
            oidc.grants.grant(claims, oidc.name(), is_client).map_err(Error::forbidden)?;
        let changing = Arc::clone(&self.access.people.changing).lock_owned().await;
        let known = self.access.people.find_by_identity(oidc.issuer(), claims.subject());
        let before = known.as_deref();
        if before.is_some_and(|it| !it.enabled) {
            return Err(Error::forbidden(
                "Your user is disabled here. An administrator can enable it again.",
            ));
        }
        if self.options.require_mfa.contains(&granted.role) && !granted.has_second_factor {
            return Err(Error::forbidden(format!(
                "Your role, {}, requires a second factor, and {name} does not say that you used one. An administrator can have \
                 {name} ask for it and say so in the claim amr or acr, or set oidc.second_factor; the guide “Console” says how.",
                granted.role.as_str(),
                name = oidc.name()
            )));
        }
        let user = match before {
            Some(before) => self.signed_in_again(before, &granted)?,
            None => self.new_identified(oidc, claims, &granted)?,
        };
        let identity = Identity {
            user: user.id,
            issuer: oidc.issuer().to_owned(),
            subject: claims.subject().to_owned(),
            has_second_factor: granted.has_second_factor,
        };
        self.store_identified(user, identity, act, changing).await
    }

    fn signed_in_again(&self, before: &User, granted: &Granted) -> Result<User> {
        let mut user = before.clone();
        user.role = granted.role;
        if let Some(clients) = &granted.clients {
            user.clients.clone_from(clients);
        } else if user.role == Role::Admin && !user.clients.is_empty() {
            return Err(Error::forbidden(
                "You are to be an administrator, but your user is limited to some clients. An administrator can lift that limit \
                 on the page of the users, and then you can sign in.",
            ));
        }
        let now = self.clock.now();
        if user.role != before.role || user.clients != before.clients {
            user.updated_at = now;
        }
        user.last_login_at = Some(now);
        self.check_user(&user, Some(before))?;
        Ok(user)
    }

    fn new_identified(&self, oidc: &Oidc, claims: &Claims, granted: &Granted) -> Result<User> {
        self.require_place_for_user()?;
        let now = self.clock.now();
        let id = UserId::made_at(now);
        let is_free = |it: &&str| {
            it.len() <= EMAIL_CHARS_MAX
                && check_email(it).is_ok()
                && self.access.people.find_named(it).is_none()
                && self.access.people.find_alike(it, id).is_none()
        };
        let given = claims.text("email").filter(|_| claims.has_good_email());
        let email =
            given.filter(is_free).map_or_else(|| made_up_email(oidc, claims), str::to_owned);
        let name = claims.text("name").map(|it| line(it, NAME_CHARS_MAX));
        let user = User {
            id,
            email,
            username: None,
            display_name: name.filter(|it| !it.is_empty()),
            role: granted.role,
            clients: granted.clients.clone().unwrap_or_default(),
            enabled: true,
            password_hash: String::new(),
            must_change_password: false,
            session_version: 0,
            created_at: now,
            updated_at: now,
            last_login_at: Some(now),
        };
        self.check_user(&user, None)?;
        Ok(user)
    }

    /// [`App::store_user`], with the user's identity in the same commit.
    async fn store_identified(
        &self,
        user: User,
        identity: Identity,
        act: PendingAct,
        changing: OwnedMutexGuard<()>,
    ) -> Result<Arc<User>> {
        let (user, identity) = (Arc::new(user), Arc::new(identity));
        let by = Caller::new(Principal::User(Arc::clone(&user))).acting(act);
        let (row, identity_row) = (Arc::clone(&user), Arc::clone(&identity));
        let (kept, people) = (Arc::clone(&user), Arc::clone(&self.access.people));
        // After the commit: what memory grants must survive a restart.
        let put = move |(): &()| {
            people.put_identity(identity);
            people.put(kept);
            drop(changing);
        };
        let write = move |batch: &mut Batch| {
            batch.note_object(&row.id);
            batch.put_user(&row)?;
            batch.put_identity(&identity_row)
        };
        by.acting_on(&self.store).reserved().write_then(write, put).await?;
        Ok(user)
    }
}

/// A login that no one has, for a person whose email address is not known, or is another user's.
fn made_up_email(oidc: &Oidc, claims: &Claims) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(format!("{}\n{}", oidc.issuer(), claims.subject()));
    let (_, rest) = oidc.issuer().split_once("://").unwrap_or(("", "provider"));
    let host = rest.split(['/', ':']).next().unwrap_or(rest);
    format!("{}@{host}", hex::encode(&digest[..8]))
}

/// What to tell the person. The log and the audit log get the reason.
fn failed(oidc: &Oidc, fault: &Fault, act: &PendingAct) -> Error {
    let (name, id) = (oidc.name(), request::id());
    let cause = line(&fault.cause(), CAUSE_CHARS_MAX);
    act.set_subject(&format!("identity provider: {}", fault.word()));
    tracing::warn!(request_id = id.as_deref(), "a sign-in with {name} failed: {cause}");
    let advice = fault.advice(name);
    match fault {
        Fault::Unreachable(_) | Fault::Client(_) => Error::unavailable(advice),
        Fault::Refused { .. } | Fault::Code(_) | Fault::Token(_) => Error::unauthenticated(advice),
    }
}
