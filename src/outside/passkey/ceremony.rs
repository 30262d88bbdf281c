//! The two ceremonies: a question for the browser, and what its answer proves.

use std::fmt::{self, Display, Formatter};

use webauthn_rp::bin::{Decode, Encode};
use webauthn_rp::request::PublicKeyCredentialDescriptor;
use webauthn_rp::request::auth::AuthenticationVerificationOptions;
use webauthn_rp::request::register::{
    CredProtect, PublicKeyCredentialUserEntity, RegistrationVerificationOptions, UserHandle,
};
use webauthn_rp::response::auth::DiscoverableAuthentication;
use webauthn_rp::response::register::{CompressedPubKey, DynamicState, Registration, StaticState};
use webauthn_rp::response::{AuthTransports, CredentialId};
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthenticationServerState,
    DiscoverableCredentialRequestOptions, PublicKeyCredentialCreationOptions,
    RegistrationServerState,
};

use super::site::Site;

/// The id of a user, by which a device knows for whom it keeps a passkey.
const HOLDER_BYTES: usize = 16;
/// What changes with each use: whether the device verified the user, whether the key is backed up, and the counter.
pub const STATE_BYTES: usize = 7;

/// How a device is reached is not kept: browsers ask all of them.
const NO_TRANSPORTS: u8 = 0;

type PublicKey = CompressedPubKey<[u8; 32], [u8; 32], [u8; 48], Vec<u8>>;

/// What a browser is asked.
pub struct Question {
    /// For the script of the page.
    pub json: String,
    /// What is needed to judge the answer. Only once, and not by the browser: it must be sealed.
    pub kept: Vec<u8>,
}

/// For whom a passkey is made.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    pub id: &'a [u8; HOLDER_BYTES],
    /// What devices show.
    pub email: &'a str,
    pub display_name: Option<&'a str>,
}

/// A passkey that a device made.
pub struct NewKey {
    /// What the device calls it.
    pub credential: Vec<u8>,
    pub public_key: Vec<u8>,
    pub state: [u8; STATE_BYTES],
}

/// Why an answer is not accepted. For the log.
#[derive(Debug)]
pub struct Fault(String);

impl Fault {
    fn unreadable(_: impl Display) -> Self {
        Self("unreadable answer".to_owned())
    }

    fn refused(why: impl Display) -> Self {
        Self(why.to_string())
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Asks for a new passkey of a device that has none of `known`.
///
/// # Errors
/// None that a caller can mend.
pub fn ask_for_new(
    site: &Site,
    holder: Holder<'_>,
    known: impl Iterator<Item = Vec<u8>>,
) -> Result<Question, Fault> {
    let id = UserHandle::<HOLDER_BYTES>::decode(*holder.id).map_err(Fault::refused)?;
    let plain = hex::encode(holder.id);
    // Devices show the name. One that the profile of names refuses gives way to the id.
    let name = holder.email.try_into().or_else(|_| plain.as_str().try_into());
    let user = PublicKeyCredentialUserEntity {
        name: name.map_err(Fault::refused)?,
        id: &id,
        display_name: holder.display_name.and_then(|it| it.try_into().ok()),
    };
    let known = known.filter_map(|it| {
        let id = CredentialId::<Vec<u8>>::decode(it).ok()?;
        let transports = AuthTransports::decode(NO_TRANSPORTS).ok()?;
        Some(PublicKeyCredentialDescriptor { id, transports })
    });
    let mut options = PublicKeyCredentialCreationOptions::passkey(&site.id, user, known.collect());
    // Many devices do not know this extension, and it protects what a device keeps, not this service.
    options.extensions.cred_protect = CredProtect::None;
    let (kept, asked) = options.start_ceremony().map_err(Fault::refused)?;
    let json = serde_json::to_string(&asked).map_err(Fault::refused)?;
    Ok(Question { json, kept: kept.encode().map_err(Fault::refused)? })
}

/// The passkey that a device made when [`ask_for_new`] asked.
///
/// # Errors
/// Why it is not accepted.
pub fn make(site: &Site, kept: &[u8], answer: &str) -> Result<NewKey, Fault> {
    let made = Registration::from_json_relaxed(answer.as_bytes()).map_err(Fault::unreadable)?;
    let asked = RegistrationServerState::<HOLDER_BYTES>::decode(kept).map_err(Fault::unreadable)?;
    let origins = [site.origin()];
    let options = RegistrationVerificationOptions::<&str, &str> {
        allowed_origins: &origins,
        error_on_unsolicited_extensions: false,
        ..Default::default()
    };
    let made = asked.verify(&site.id, &made, &options).map_err(Fault::refused)?;
    Ok(NewKey {
        credential: made.id().as_ref().to_vec(),
        public_key: made.static_state().encode().map_err(Fault::refused)?,
        state: made.dynamic_state().encode().map_err(Fault::refused)?,
    })
}

/// Asks for a passkey of anyone.
///
/// # Errors
/// None that a caller can mend.
pub fn ask(site: &Site) -> Result<Question, Fault> {
    let options = DiscoverableCredentialRequestOptions::passkey(&site.id);
    let (kept, asked) = options.start_ceremony().map_err(Fault::refused)?;
    let json = serde_json::to_string(&asked).map_err(Fault::refused)?;
    let kept = kept.encode().map_err(Fault::refused)?;
    Ok(Question { json, kept: AsRef::<[u8]>::as_ref(&kept).to_vec() })
}

/// What a device answers to [`ask`].
pub struct Answer(DiscoverableAuthentication<HOLDER_BYTES>);

impl Answer {
    /// # Errors
    /// It is no such answer.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let read = DiscoverableAuthentication::from_json_relaxed(text.as_bytes());
        read.map(Self).map_err(Fault::unreadable)
    }

    /// Which passkey it says that it is of.
    #[must_use]
    pub fn credential(&self) -> &[u8] {
        self.0.raw_id().into_inner()
    }

    /// Whether it says that it is of this user.
    #[must_use]
    pub fn is_of(&self, holder: &[u8; HOLDER_BYTES]) -> bool {
        self.0.response().user_handle().as_ref() == holder
    }

    /// Verifies that the answer is of this passkey, and returns its new state.
    ///
    /// # Errors
    /// Why it is not accepted.
    pub fn verify(
        &self,
        site: &Site,
        kept: &[u8],
        public_key: &[u8],
        state: [u8; STATE_BYTES],
    ) -> Result<[u8; STATE_BYTES], Fault> {
        let asked =
            DiscoverableAuthenticationServerState::decode(kept).map_err(Fault::unreadable)?;
        let fixed = StaticState::<PublicKey>::decode(public_key).map_err(Fault::unreadable)?;
        let state = DynamicState::decode(state).map_err(Fault::unreadable)?;
        let holder = self.0.response().user_handle();
        let key = AuthenticatedCredential::new(self.0.raw_id(), holder, fixed, state);
        let mut key = key.map_err(Fault::refused)?;
        let origins = [site.origin()];
        let options = AuthenticationVerificationOptions::<&str, &str> {
            allowed_origins: &origins,
            error_on_unsolicited_extensions: false,
            ..Default::default()
        };
        asked.verify(&site.id, &self.0, &mut key, &options).map_err(Fault::refused)?;
        key.dynamic_state().encode().map_err(Fault::refused)
    }
}
