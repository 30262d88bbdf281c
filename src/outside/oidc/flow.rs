//! One sign-in, from the way to the provider to the way back.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::clock::Time;
use crate::secret::random;

/// A person has so long at the provider.
pub const LIFE_S: i64 = 600;

/// What makes the sign-ins of one browser different from all others. Without `Debug`, because it is a secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct Flow {
    /// 256 random bits, from which the state, the nonce and the verifier are derived: none of them tells another.
    secret: String,
    begun_s: i64,
}

impl Flow {
    #[must_use]
    pub fn begin(now: Time) -> Self {
        Self { secret: BASE64.encode(random::<32>()), begun_s: now.s() }
    }

    #[must_use]
    pub fn is_live(&self, now: Time) -> bool {
        (0..LIFE_S).contains(&(now.s() - self.begun_s))
    }

    /// Seconds since 1970.
    #[must_use]
    pub fn begun_s(&self) -> i64 {
        self.begun_s
    }

    /// Comes back with the person: this browser began the flow.
    #[must_use]
    pub fn state(&self) -> String {
        self.derived("state")
    }

    /// Comes back in the ID token: it was issued for this flow.
    pub(super) fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// Proves to the provider that the code comes from where the flow began.
    pub(super) fn verifier(&self) -> String {
        self.derived("verifier")
    }

    /// The digest of the verifier (RFC 7636, S256).
    pub(super) fn challenge(&self) -> String {
        BASE64.encode(Sha256::digest(self.verifier()))
    }

    fn derived(&self, purpose: &str) -> String {
        BASE64.encode(Sha256::digest(format!("posture oidc {purpose} {}", self.secret)))
    }
}
