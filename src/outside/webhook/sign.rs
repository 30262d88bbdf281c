//! Signatures of deliveries: the contract's, and those of Standard Webhooks 1.0.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::secret::random;

const PREFIX: &str = "whsec_";
const SECRET_BYTES: usize = 32;

pub const SIGNATURE: &str = "x-service-signature";
/// Signed with the secret before the last rotation, until the overlap ends.
pub const SIGNATURE_PREVIOUS: &str = "x-service-signature-previous";
pub const EVENT_ID: &str = "x-service-event-id";
pub const EVENT_TYPE: &str = "x-service-event-type";
pub const EVENT_SEQUENCE: &str = "x-service-event-sequence";
pub const DELIVERY_ATTEMPT: &str = "x-service-delivery-attempt";

/// The secret with which a receiver verifies deliveries: `whsec_` and 32 bytes in base64.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(String);

impl SigningSecret {
    #[must_use]
    pub fn random() -> Self {
        Self(format!("{PREFIX}{}", BASE64_STANDARD.encode(random::<SECRET_BYTES>())))
    }

    /// # Errors
    /// `Invalid` if it is not such a secret.
    pub fn parse(text: &str) -> Result<Self> {
        let decoded = text.strip_prefix(PREFIX).map(|it| BASE64_STANDARD.decode(it));
        match decoded {
            Some(Ok(bytes)) if bytes.len() == SECRET_BYTES => Ok(Self(text.to_owned())),
            _ => Err(Error::invalid(
                "a signing secret must be `whsec_` followed by 32 bytes in base64",
            )),
        }
    }

    /// For the only response that shows it, and for encryption.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The contract's signature: HMAC-SHA256 of the raw body in lower-case hexadecimal, keyed with the secret's text.
    #[must_use]
    pub fn sign(&self, body: &[u8]) -> String {
        hex::encode(mac(self.0.as_bytes(), &[body]))
    }

    /// The signature of Standard Webhooks: `v1,` and the HMAC of id, timestamp and body in base64, keyed with the decoded
    /// part.
    #[must_use]
    pub fn sign_standard(&self, id: &str, at: Time, body: &[u8]) -> String {
        let key = self.0.strip_prefix(PREFIX).and_then(|it| BASE64_STANDARD.decode(it).ok());
        let key = key.expect("a signing secret was parsed or generated here");
        let at = at.s().to_string();
        let mac = mac(&key, &[id.as_bytes(), b".", at.as_bytes(), b".", body]);
        format!("v1,{}", BASE64_STANDARD.encode(mac))
    }

    /// Returns true if a signature of the contract's kind matches the body. Takes the same time for any signature of the right
    /// length.
    #[must_use]
    pub fn verifies(&self, signature: &str, body: &[u8]) -> bool {
        self.sign(body).as_bytes().ct_eq(signature.as_bytes()).into()
    }
}

/// Hides the secret.
impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningSecret")
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// One attempt at one event.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    /// With the prefix `evt_`.
    pub event_id: &'a str,
    pub kind: &'a str,
    pub sequence: u64,
    /// From 1.
    pub attempt: u32,
    pub at: Time,
    pub body: &'a str,
}

/// The headers of an attempt. `previous`: the secret before the last rotation, until the overlap ends.
#[must_use]
pub fn headers(
    sending: &Sending<'_>,
    secret: &SigningSecret,
    previous: Option<&SigningSecret>,
) -> Vec<(&'static str, String)> {
    let body = sending.body.as_bytes();
    let standard = |it: &SigningSecret| it.sign_standard(sending.event_id, sending.at, body);
    let all = [Some(secret), previous].into_iter().flatten();
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        (SIGNATURE, secret.sign(body)),
        (EVENT_ID, sending.event_id.to_owned()),
        (EVENT_TYPE, sending.kind.to_owned()),
        (EVENT_SEQUENCE, sending.sequence.to_string()),
        (DELIVERY_ATTEMPT, sending.attempt.to_string()),
        ("webhook-id", sending.event_id.to_owned()),
        ("webhook-timestamp", sending.at.s().to_string()),
        ("webhook-signature", all.map(standard).collect::<Vec<_>>().join(" ")),
    ];
    headers.extend(previous.map(|it| (SIGNATURE_PREVIOUS, it.sign(body))));
    headers
}
