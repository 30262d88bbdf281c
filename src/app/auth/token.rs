//! Session tokens: JSON Web Tokens (RFC 7519) of a single format, signed with HMAC-SHA256.
//!
//! The header is compared byte by byte, so that a token cannot choose how it is verified.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use uuid::Uuid;

use crate::clock::Time;
use crate::id::UserId;

/// How long a token is valid.
pub const LIFE_S: i64 = 3_600;
/// Longer tokens are not ours.
const TOKEN_BYTES_MAX: usize = 1_024;
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
const PARTY: &str = "posture";

/// The key that signs tokens.
#[derive(Clone)]
pub struct TokenKey([u8; 32]);

/// What a token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    pub user: UserId,
    /// The user's session version when the token was issued.
    pub version: u32,
    pub expires_at: Time,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    jti: String,
    iat: i64,
    exp: i64,
    sv: u32,
}

impl TokenKey {
    #[must_use]
    pub fn of(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Issues a token for a new session.
    #[must_use]
    pub fn issue(&self, user: UserId, version: u32, now: Time) -> (String, Session) {
        let exp = now.s() + LIFE_S;
        let claims = Claims {
            iss: PARTY.to_owned(),
            aud: PARTY.to_owned(),
            sub: user.to_string(),
            jti: Uuid::new_v4().to_string(),
            iat: now.s(),
            exp,
            sv: version,
        };
        let claims = serde_json::to_vec(&claims).expect("claims are plain JSON");
        let signed = format!("{}.{}", BASE64.encode(HEADER), BASE64.encode(claims));
        let signature = BASE64.encode(self.mac(&signed).finalize().into_bytes());
        (format!("{signed}.{signature}"), Session { user, version, expires_at: Time::from_s(exp) })
    }

    /// `None` if the token is not ours or has expired. The user's record decides whether the session is still valid.
    #[must_use]
    pub fn verify(&self, token: &str, now: Time) -> Option<Session> {
        if TOKEN_BYTES_MAX < token.len() {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        if header != BASE64.encode(HEADER) {
            return None;
        }
        let signature = BASE64.decode(signature).ok()?;
        self.mac(signed).verify_slice(&signature).ok()?;
        let claims: Claims = serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()?;
        let is_ours = claims.iss == PARTY && claims.aud == PARTY;
        let is_live = now.s() < claims.exp && claims.exp.checked_sub(claims.iat)? <= LIFE_S;
        let user = claims.sub.parse().ok()?;
        let expires_at = Time::from_s(claims.exp);
        (is_ours && is_live).then_some(Session { user, version: claims.sv, expires_at })
    }

    fn mac(&self, signed: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes any key");
        mac.update(signed.as_bytes());
        mac
    }
}

/// Shows nothing of the key.
impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenKey")
    }
}
