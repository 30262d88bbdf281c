//! What connections sign in with.

use std::fmt;

use super::microsoft::hasten_waiting;
use crate::app::App;
use crate::auth::caller::Caller;
use crate::blocking;
use crate::clock::Time;
use crate::connect::kind::Values;
use crate::connect::microsoft::{
    AppCertificate, CLIENT_SECRET, Cloud, KEY_PEM, MicrosoftApp, generate, read_pem,
};
use crate::error::{Error, Result};
use crate::secret::Sealer;
use crate::store::Batch;
use crate::store::global::connection::credential::{Credential, CredentialOwner};

/// Secret values by name. They are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(pub Values);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The Microsoft app as everybody may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicrosoftAppState {
    pub app: MicrosoftApp,
    /// Of its certificate, or of its client secret if somebody said it.
    pub expires_at: Option<Time>,
    pub updated_at: Time,
    /// False: the key file cannot open its secret.
    pub is_usable: bool,
}

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

/// Hands each sealed value out, to be sealed anew.
pub(in crate::app) fn reseal(
    batch: &mut Batch,
    each: &mut dyn FnMut(&str, &mut Vec<u8>),
) -> Result<()> {
    for mut credential in batch.list_credentials()? {
        each(&credential.owner, &mut credential.sealed);
        batch.put_credential(&credential)?;
    }
    Ok(())
}

fn seal(
    sealer: &Sealer,
    owner: CredentialOwner,
    secrets: &Secrets,
    (details, expires_at): (String, Option<Time>),
    now: Time,
) -> Credential {
    let place = owner.key();
    let text = serde_json::to_string(&secrets.0).expect("texts have a form in JSON");
    let hidden = sealer.seal(&place, &text);
    Credential { owner: place, details, sealed: hidden, expires_at, updated_at: now }
}

impl App {
    /// `None`: there is nothing to seal.
    pub(super) fn seal_secrets(
        &self,
        owner: CredentialOwner,
        secrets: &Secrets,
        now: Time,
    ) -> Option<Credential> {
        let nothing = (String::new(), None);
        let is_any = !secrets.0.is_empty();
        is_any.then(|| seal(&self.connects.sealer, owner, secrets, nothing, now))
    }

    /// # Errors
    /// `Conflict` if the key file cannot open them.
    pub(super) async fn find_secrets(&self, owner: CredentialOwner) -> Result<Secrets> {
        let found = self.store.read(move |it| it.find_credential(owner)).await?;
        self.open_secrets(owner, found.as_ref())
    }

    /// `None`: nothing was entered.
    ///
    /// # Errors
    /// `Conflict` if the key file cannot open them.
    pub(super) fn open_secrets(
        &self,
        owner: CredentialOwner,
        credential: Option<&Credential>,
    ) -> Result<Secrets> {
        let Some(credential) = credential else { return Ok(Secrets::default()) };
        let locked = || {
            Error::conflict(
                "posture.key cannot open the credential; put the original key file back and restart, or enter the credential again",
            )
        };
        let text = self.connects.sealer.open_sealed(&owner.key(), &credential.sealed);
        let text = text.map_err(|_| locked())?;
        serde_json::from_str(&text).map(Secrets).map_err(|_| locked())
    }

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
        let (certificate, mut secrets, mut expires_at) = match key {
            NewAppKey::Generated => {
                let made = blocking::run((), move || generate(now)).await?;
                (Some(made), Values::new(), None)
            }
            NewAppKey::Certificate { certificate_pem, key_pem } => {
                (Some(read_pem(&certificate_pem, &key_pem)?), Values::new(), None)
            }
            NewAppKey::Secret { secret, expires_at } => {
                (None, Values::from([(CLIENT_SECRET.to_owned(), secret)]), expires_at)
            }
        };
        let mut app =
            MicrosoftApp { app_id, tenant, cloud, certificate_pem: None, fingerprint: None };
        if let Some(made) = certificate {
            let AppCertificate { certificate_pem, key_pem, fingerprint, expires_at: until } = made;
            secrets.insert(KEY_PEM.to_owned(), key_pem);
            app.certificate_pem = Some(certificate_pem);
            app.fingerprint = Some(fingerprint);
            expires_at = Some(until);
        }
        let details = serde_json::to_string(&app).expect("it has a form in JSON");
        let owner = CredentialOwner::MicrosoftApp;
        let sealer = &self.connects.sealer;
        let credential = seal(sealer, owner, &Secrets(secrets), (details, expires_at), now);
        let write = move |batch: &mut Batch| {
            batch.put_credential(&credential)?;
            hasten_waiting(batch, now)
        };
        by.acting_on(&self.store).write(write).await?;
        self.connects.wake();
        Ok(MicrosoftAppState { app, expires_at, updated_at: now, is_usable: true })
    }

    /// The app that all connections to Microsoft use. Everybody may see it: a link for consent has its id.
    ///
    /// # Errors
    /// `Internal` if it is damaged.
    pub async fn microsoft_app(&self) -> Result<Option<MicrosoftAppState>> {
        Ok(self.open_microsoft_app().await?.map(|(state, _)| state))
    }

    /// The app with its secrets, which belong together.
    ///
    /// # Errors
    /// `Internal` if it is damaged.
    pub(super) async fn open_microsoft_app(
        &self,
    ) -> Result<Option<(MicrosoftAppState, Result<Secrets>)>> {
        let owner = CredentialOwner::MicrosoftApp;
        let Some(found) = self.store.read(move |it| it.find_credential(owner)).await? else {
            return Ok(None);
        };
        let secrets = self.open_secrets(owner, Some(&found));
        let state = MicrosoftAppState {
            app: serde_json::from_str(&found.details).map_err(Error::internal)?,
            expires_at: found.expires_at,
            updated_at: found.updated_at,
            is_usable: secrets.is_ok(),
        };
        Ok(Some((state, secrets)))
    }
}
