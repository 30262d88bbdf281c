//! The app that the managed service provider registered once, and the tokens that it gets for each tenant.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PSS_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::cloud::Cloud;
use crate::clock::Time;
use crate::connect::call::{Call, TokenSource, Unread};
use crate::connect::kind::Values;

/// An assertion is used at once. It begins earlier, because clocks differ.
const ASSERTION_S: i64 = 300;

/// The app, without its secrets. Stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MicrosoftApp {
    /// Its application (client) id.
    pub app_id: String,
    /// The managed service provider's own tenant.
    pub tenant: String,
    pub cloud: Cloud,
    /// `None`: it has a client secret.
    pub certificate_pem: Option<String>,
    /// SHA-256 of the certificate.
    pub fingerprint: Option<[u8; 32]>,
}

/// What the app proves itself with. Without `Debug`.
pub enum AppKey {
    Certificate { pair: Box<RsaKeyPair>, fingerprint: [u8; 32] },
    Secret(String),
}

/// The names of the app's secret values.
pub const KEY_PEM: &str = "keyPem";
pub const CLIENT_SECRET: &str = "clientSecret";

impl MicrosoftApp {
    /// Where an administrator of a tenant consents.
    #[must_use]
    pub fn consent_link(&self, tenant: &str) -> String {
        let (login, back) = (self.cloud.login(), self.cloud.redirect_uri());
        format!("{login}/{tenant}/adminconsent?client_id={}&redirect_uri={back}", self.app_id)
    }

    /// # Errors
    /// `Credential` if the secret does not fit.
    pub fn key(&self, secrets: &Values) -> Result<AppKey, Unread> {
        if let Some(secret) = secrets.get(CLIENT_SECRET) {
            return Ok(AppKey::Secret(secret.clone()));
        }
        let unusable = || {
            Unread::credential(
                "the key of the Microsoft app cannot be used; renew it on the page Microsoft app of the console, or with \
                 `posture connect m365 init`",
            )
        };
        let pem = secrets.get(KEY_PEM).ok_or_else(unusable)?;
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| unusable())?;
        let pair =
            Box::new(RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|_| unusable())?);
        let fingerprint = self.fingerprint.ok_or_else(unusable)?;
        Ok(AppKey::Certificate { pair, fingerprint })
    }
}

/// The tokens for one tenant. `resource`: an origin of the cloud.
#[must_use]
pub fn token_source(
    app: &MicrosoftApp,
    key: Arc<AppKey>,
    tenant: &str,
    resource: &str,
) -> TokenSource {
    let url = format!("{}/{tenant}/oauth2/v2.0/token", app.cloud.login());
    let (app_id, scope) = (app.app_id.clone(), format!("{resource}/.default"));
    TokenSource::of(move |now| {
        let mut fields = vec![
            ("client_id", app_id.as_str()),
            ("scope", &scope),
            ("grant_type", "client_credentials"),
        ];
        let assertion;
        match &*key {
            AppKey::Secret(secret) => fields.push(("client_secret", secret)),
            AppKey::Certificate { pair, fingerprint } => {
                assertion = assert(pair, fingerprint, &app_id, &url, now)?;
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                fields.push(("client_assertion_type", kind));
                fields.push(("client_assertion", &assertion));
            }
        }
        Ok(Call::form(&url, &fields))
    })
}

/// A JSON Web Token that the app is this one, for this token endpoint.
fn assert(
    pair: &RsaKeyPair,
    fingerprint: &[u8; 32],
    app_id: &str,
    audience: &str,
    now: Time,
) -> Result<String, Unread> {
    let part = |it: serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(it.to_string());
    let head = part(json!({
        "alg": "PS256",
        "typ": "JWT",
        "x5t#S256": BASE64_URL_SAFE_NO_PAD.encode(fingerprint),
    }));
    let claims = part(json!({
        "aud": audience,
        "iss": app_id,
        "sub": app_id,
        "jti": Uuid::new_v4().to_string(),
        "nbf": now.s() - ASSERTION_S,
        "iat": now.s(),
        "exp": now.s() + ASSERTION_S,
    }));
    let text = format!("{head}.{claims}");
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PSS_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| Unread::credential("the key of the Microsoft app cannot sign"))?;
    Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}
