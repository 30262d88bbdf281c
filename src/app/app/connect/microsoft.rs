//! The app at Microsoft that all connections to it share: whether it works, and what waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::credential::{MicrosoftAppState, Secrets, missing_app, next_certificate};
use super::environment::with_key;
use crate::app::App;
use crate::auth::caller::Caller;
use crate::blocking;
use crate::clock::Time;
use crate::clock::zone::Zone;
use crate::connect::kind::{Values, uses_microsoft_app};
use crate::connect::microsoft::check::{Found, own_tokens, registration, sign_in};
use crate::connect::microsoft::{
    self, AppCertificate, AppKey, CLIENT_SECRET, Cloud, KEY_PEM, MicrosoftApp, generate, read_pem,
};
use crate::connect::settings::Settings;
use crate::error::{Error, Result};
use crate::store::Batch;
use crate::store::global::connection::credential::{Credential, CredentialOwner};
use crate::store::global::connection::{ConnectionHealth, ConnectionState};

/// A test of the app ends after this, with what was not found out.
const TEST_MAX: Duration = Duration::from_mins(1);

/// How the app is to prove itself.
pub enum NewAppKey {
    /// A key and a certificate are made.
    Generated,
    Certificate {
        certificate_pem: String,
        key_pem: String,
    },
    Secret {
        secret: String,
        expires_at: Option<Time>,
    },
}

/// The Microsoft app to use from now on.
pub struct NewMicrosoftApp {
    pub app_id: String,
    pub tenant: String,
    pub cloud: Cloud,
    pub key: NewAppKey,
}

/// What is to be corrected. `None`: it stays.
#[derive(Clone)]
pub struct AppChange {
    pub app_id: Option<String>,
    pub tenant: Option<String>,
    pub cloud: Option<Cloud>,
}

/// A test of the app.
pub struct AppTest {
    /// In their order. `None`: it was not reached.
    pub steps: [(&'static str, Option<Found>); 4],
    /// Connections that waited for the app and are read now.
    pub n_due: usize,
}

/// Has connections to Microsoft run now that were never read, or of which the last run read nothing. Returns how many.
fn hasten_waiting(batch: &mut Batch, now: Time) -> Result<usize> {
    let mut n_due = 0;
    for connection in batch.list_connections()? {
        let id = connection.id;
        let is_of_microsoft = uses_microsoft_app(&Settings::parse(&connection.settings)?.kind);
        if !is_of_microsoft || connection.state != ConnectionState::Active {
            continue;
        }
        let run = batch.with_run(connection)?.run;
        if run.is_none_or(|it| it.health == ConnectionHealth::Failing) {
            batch.put_due_connection(id, Some(now))?;
            n_due += 1;
        }
    }
    Ok(n_due)
}

impl App {
    /// Sets the app that all connections to Microsoft use. Those that waited for it run now.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients; `Invalid` about the certificate or its key.
    pub async fn set_microsoft_app(
        &self,
        by: &Caller,
        new: NewMicrosoftApp,
    ) -> Result<MicrosoftAppState> {
        self.reach_connection(by, None)?;
        let now = self.clock.now();
        let NewMicrosoftApp { app_id, tenant, cloud, key } = new;
        let app = MicrosoftApp { app_id, tenant, cloud, certificate_pem: None, fingerprint: None };
        let (app, secrets, expires_at) = match key {
            NewAppKey::Generated => certified(app, blocking::run((), move || generate(now)).await?),
            NewAppKey::Certificate { certificate_pem, key_pem } => {
                certified(app, read_pem(&certificate_pem, &key_pem)?)
            }
            NewAppKey::Secret { secret, expires_at } => {
                (app, Secrets(Values::from([(CLIENT_SECRET.to_owned(), secret)])), expires_at)
            }
        };
        let credential = self.seal_app(CredentialOwner::MicrosoftApp, &app, &secrets, expires_at);
        let write = move |batch: &mut Batch| {
            batch.put_credential(&credential)?;
            batch.remove_credential(CredentialOwner::NextMicrosoftApp)?;
            hasten_waiting(batch, now)
        };
        by.acting_on(&self.store).write(write).await?;
        self.connects.wake();
        Ok(MicrosoftAppState { app, expires_at, updated_at: now, is_usable: true, next: None })
    }

    /// Corrects what the app is, as entered. Its credential stays.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients; `NotFound` if there is no app; `Conflict` if the key file cannot open
    /// its credential, or if it was set meanwhile.
    pub async fn change_microsoft_app(
        &self,
        by: &Caller,
        change: AppChange,
    ) -> Result<MicrosoftAppState> {
        self.reach_connection(by, None)?;
        let now = self.clock.now();
        let (mut rows, mut known) = (Vec::new(), Vec::new());
        for owner in [CredentialOwner::MicrosoftApp, CredentialOwner::NextMicrosoftApp] {
            let found = self.open_app(owner).await?;
            known.push((owner, found.as_ref().map(|it| it.0.updated_at)));
            let Some((state, secrets)) = found else { continue };
            let change = change.clone();
            let app = MicrosoftApp {
                app_id: change.app_id.unwrap_or(state.app.app_id),
                tenant: change.tenant.unwrap_or(state.app.tenant),
                cloud: change.cloud.unwrap_or(state.app.cloud),
                ..state.app
            };
            rows.push(self.seal_app(owner, &app, &secrets?, state.expires_at));
        }
        if rows.is_empty() {
            return Err(missing_app());
        }
        let write = move |batch: &mut Batch| {
            require_same(batch, &known)?;
            rows.iter().try_for_each(|it| batch.put_credential(it))?;
            hasten_waiting(batch, now)
        };
        by.acting_on(&self.store).write(write).await?;
        self.connects.wake();
        self.microsoft_app().await?.ok_or_else(missing_app)
    }

    /// Makes a new certificate for the app. What it has now is used until Microsoft knows the new one.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients; `NotFound` if there is no app; `Conflict` if it was set meanwhile.
    pub async fn renew_microsoft_app(&self, by: &Caller) -> Result<MicrosoftAppState> {
        self.reach_connection(by, None)?;
        let main = self.open_app(CredentialOwner::MicrosoftApp).await?;
        let (state, _) = main.ok_or_else(missing_app)?;
        let now = self.clock.now();
        let made = blocking::run((), move || generate(now)).await?;
        let (app, secrets, expires_at) = certified(state.app.clone(), made);
        let owner = CredentialOwner::NextMicrosoftApp;
        let credential = self.seal_app(owner, &app, &secrets, expires_at);
        let known = [(CredentialOwner::MicrosoftApp, Some(state.updated_at))];
        let write = move |batch: &mut Batch| {
            require_same(batch, &known)?;
            batch.put_credential(&credential)
        };
        by.acting_on(&self.store).write(write).await?;
        Ok(MicrosoftAppState { next: next_certificate(app, expires_at), ..state })
    }

    /// Asks Microsoft, in the managed service provider's own tenant, whether the app is as it has to be. If it lets the app in,
    /// the connections that waited for it run now.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients; `NotFound` if there is no app; `Conflict` if it is being tested, or
    /// in the demonstration, which asks nobody.
    pub async fn test_microsoft_app(&self, by: &Caller) -> Result<AppTest> {
        self.reach_connection(by, None)?;
        if self.connects.options.made_up.is_some() {
            let rule =
                "the demonstration asks nobody; an installation of your own tests its app here";
            return Err(Error::conflict(rule));
        }
        let Ok(_place) = self.connects.app_test.try_lock() else {
            return Err(Error::conflict("the app is being tested; try again when that has ended"));
        };
        let now = self.clock.now();
        // A certificate that was made anew is tried in place of the one that is used.
        let next = self.open_app(CredentialOwner::NextMicrosoftApp).await?;
        let is_next = next.is_some();
        let tried = match next {
            Some(next) => next,
            None => self.open_microsoft_app().await?.ok_or_else(missing_app)?,
        };
        let expires_at = tried.0.expires_at;
        let secrets = tried.1.as_ref().cloned().unwrap_or_default();
        let (credential, key) = match with_key(tried) {
            Ok(_) if expires_at.is_some_and(|it| it <= now) => {
                (Err("its credential has expired; renew it".to_owned()), None)
            }
            Ok(key) => (Ok(valid_until(expires_at, &self.time_zone())), Some(key)),
            Err(unread) => (Err(unread.reason), None),
        };
        let mut found = [Some(credential), None, None, None];
        let mut n_due = 0;
        if let Some((state, key)) = key {
            let [_, signed_in, registered, permissions] = &mut found;
            let (first, more) = self.ask_microsoft(&state.app, &key).await;
            if first.is_ok() {
                let known = is_next.then(|| self.known_app(&state, &secrets));
                let write = move |batch: &mut Batch| {
                    if let Some(known) = &known {
                        take_next(batch, known)?;
                    }
                    hasten_waiting(batch, now)
                };
                n_due = by.acting_on(&self.store).write(write).await?;
                self.connects.wake();
            }
            let old = "; until Microsoft knows the new certificate, the one before is used";
            *signed_in = Some(first.map_err(|it| if is_next { it + old } else { it }));
            (*registered, *permissions) = more.unzip();
        }
        let [credential, signed_in, registered, permissions] = found;
        let steps = [
            ("credential", credential),
            ("sign_in", signed_in),
            ("registration", registered),
            ("permissions", permissions),
        ];
        Ok(AppTest { steps, n_due })
    }

    /// The app with the new certificate, which Microsoft knows by now.
    fn known_app(&self, it: &MicrosoftAppState, secrets: &Secrets) -> Credential {
        self.seal_app(CredentialOwner::MicrosoftApp, &it.app, secrets, it.expires_at)
    }

    async fn ask_microsoft(
        &self,
        app: &MicrosoftApp,
        key: &Arc<AppKey>,
    ) -> (Found, Option<(Found, Found)>) {
        let deadline = Instant::now() + TEST_MAX;
        let api = self.connects.api(&microsoft::DIALECT, &self.clock, deadline);
        let tokens = own_tokens(app, key);
        let first = sign_in(&api, &tokens, app).await;
        let more = match first {
            Ok(_) => Some(registration(&api, &tokens, app).await),
            Err(_) => None,
        };
        (first, more)
    }
}

/// Refuses what was read before somebody else set it.
fn require_same(batch: &Batch, known: &[(CredentialOwner, Option<Time>)]) -> Result<()> {
    for (owner, updated_at) in known {
        if batch.find_credential(*owner)?.map(|it| it.updated_at) != *updated_at {
            return Err(Error::conflict("the Microsoft app changed meanwhile; try again"));
        }
    }
    Ok(())
}

/// The app with this certificate.
fn certified(app: MicrosoftApp, made: AppCertificate) -> (MicrosoftApp, Secrets, Option<Time>) {
    let AppCertificate { certificate_pem, key_pem, fingerprint, expires_at } = made;
    let secrets = Secrets(Values::from([(KEY_PEM.to_owned(), key_pem)]));
    let (certificate_pem, fingerprint) = (Some(certificate_pem), Some(fingerprint));
    (MicrosoftApp { certificate_pem, fingerprint, ..app }, secrets, Some(expires_at))
}

/// The new certificate takes the place of the old one, unless another app was set meanwhile.
fn take_next(batch: &mut Batch, known: &Credential) -> Result<()> {
    let next = batch.find_credential(CredentialOwner::NextMicrosoftApp)?;
    if next.is_some_and(|it| it.details == known.details) {
        batch.put_credential(known)?;
        batch.remove_credential(CredentialOwner::NextMicrosoftApp)?;
    }
    Ok(())
}

fn valid_until(expires_at: Option<Time>, zone: &Zone) -> String {
    expires_at.map_or_else(
        || "it can be used".to_owned(),
        |it| format!("it can be used until {}", zone.local(it).day()),
    )
}
