//! What connections sign in with.

use std::fmt;

use crate::app::App;
use crate::clock::Time;
use crate::connect::kind::Values;
use crate::connect::microsoft::MicrosoftApp;
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
    /// A certificate that Microsoft does not know yet. Until it does, the one before is used.
    pub next: Option<NextCertificate>,
}

/// A certificate to upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextCertificate {
    pub certificate_pem: String,
    pub fingerprint: [u8; 32],
    pub expires_at: Time,
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

    pub(super) fn seal_app(
        &self,
        owner: CredentialOwner,
        app: &MicrosoftApp,
        secrets: &Secrets,
        expires_at: Option<Time>,
    ) -> Credential {
        let details = serde_json::to_string(app).expect("it has a form in JSON");
        let now = self.clock.now();
        seal(&self.connects.sealer, owner, secrets, (details, expires_at), now)
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
        let Some((mut state, secrets)) = self.open_app(CredentialOwner::MicrosoftApp).await? else {
            return Ok(None);
        };
        let next = self.open_app(CredentialOwner::NextMicrosoftApp).await?;
        let is_over = state.expires_at.is_some_and(|it| it <= self.clock.now());
        if is_over && let Some(next) = next {
            // Only the new one can be right.
            return Ok(Some(next));
        }
        state.next = next.and_then(|(it, _)| next_certificate(it.app, it.expires_at));
        Ok(Some((state, secrets)))
    }

    /// # Errors
    /// `Internal` if it is damaged.
    pub(super) async fn open_app(
        &self,
        owner: CredentialOwner,
    ) -> Result<Option<(MicrosoftAppState, Result<Secrets>)>> {
        let Some(found) = self.store.read(move |it| it.find_credential(owner)).await? else {
            return Ok(None);
        };
        let secrets = self.open_secrets(owner, Some(&found));
        let state = MicrosoftAppState {
            app: serde_json::from_str(&found.details).map_err(Error::internal)?,
            expires_at: found.expires_at,
            updated_at: found.updated_at,
            is_usable: secrets.is_ok(),
            next: None,
        };
        Ok(Some((state, secrets)))
    }
}

/// What is said where there is no app.
#[must_use]
pub fn missing_app() -> Error {
    Error::not_found("there is no Microsoft app yet")
}

pub(super) fn next_certificate(
    app: MicrosoftApp,
    expires_at: Option<Time>,
) -> Option<NextCertificate> {
    Some(NextCertificate {
        certificate_pem: app.certificate_pem?,
        fingerprint: app.fingerprint?,
        expires_at: expires_at?,
    })
}
