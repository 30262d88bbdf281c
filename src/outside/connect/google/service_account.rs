//! The service account that signs in, and the tokens that it gets in the name of an administrator.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::snapshot::StreamKind;
use crate::clock::Time;
use crate::connect::call::{Call, TokenSource, Unread};

/// Where tokens come from, and for whom the assertion is meant.
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
/// As key files name it, older ones too.
const TOKEN_URIS: [&str; 3] = [
    TOKEN_URI,
    "https://accounts.google.com/o/oauth2/token",
    "https://www.googleapis.com/oauth2/v4/token",
];
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// Google accepts an hour.
const ASSERTION_S: i64 = 3_000;
/// It begins earlier, because clocks differ.
const EARLY_S: i64 = 60;
const CONSENT: &str = "https://admin.google.com/ac/owl/domainwidedelegation";

/// A service account and one of its keys. Without `Debug`.
pub struct ServiceAccount {
    email: String,
    key_id: Option<String>,
    pair: RsaKeyPair,
}

/// The members of a key file that matter.
#[derive(Deserialize)]
struct KeyFile {
    #[serde(rename = "type")]
    kind: Option<String>,
    client_email: Option<String>,
    client_id: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

impl ServiceAccount {
    /// Reads a key file.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        const NO_KEY: &str = "is not the key of a service account; in the Google Cloud console, create a JSON key for the account";
        let json: Value = serde_json::from_str(text).map_err(|_| {
            "must be the whole JSON key file of a Google service account".to_owned()
        })?;
        let file: KeyFile = serde_json::from_value(json).map_err(|_| NO_KEY.to_owned())?;
        if file.kind.is_some_and(|it| it != "service_account") {
            return Err(NO_KEY.to_owned());
        }
        let lacks = |name: &str| format!("has no {name}; {NO_KEY}");
        let email = file.client_email.ok_or_else(|| lacks("client_email"))?;
        let pem = file.private_key.ok_or_else(|| lacks("private_key"))?;
        let uri = file.token_uri.ok_or_else(|| lacks("token_uri"))?;
        if !TOKEN_URIS.contains(&uri.as_str()) {
            return Err(format!("has a token_uri that is not Google's; it must be {TOKEN_URI}"));
        }
        let unreadable =
            "has a private_key that cannot be read; create a new key and use the file as it is";
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| unreadable)?;
        let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|_| unreadable)?;
        Ok(Self { email, key_id: file.private_key_id, pair })
    }

    /// The tokens of one OAuth scope, in the name of an administrator.
    #[must_use]
    pub(super) fn token_source(
        account: &Arc<Self>,
        admin: &str,
        scope: &'static str,
    ) -> TokenSource {
        let (account, admin) = (Arc::clone(account), admin.to_owned());
        TokenSource::of(move |now| {
            let assertion = account.assertion(&admin, scope, now)?;
            Ok(Call::form(TOKEN_URI, &[("grant_type", GRANT), ("assertion", &assertion)]))
        })
    }

    /// A JSON Web Token that asks for this scope.
    fn assertion(&self, admin: &str, scope: &str, now: Time) -> Result<String, Unread> {
        let part = |it: Value| BASE64_URL_SAFE_NO_PAD.encode(it.to_string());
        let mut head = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(id) = &self.key_id {
            head["kid"] = id.as_str().into();
        }
        let claims = json!({
            "iss": self.email,
            "sub": admin,
            "scope": scope,
            "aud": TOKEN_URI,
            "iat": now.s() - EARLY_S,
            "exp": now.s() + ASSERTION_S,
        });
        let text = format!("{}.{}", part(head), part(claims));
        let mut signature = vec![0; self.pair.public().modulus_len()];
        self.pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
            .map_err(|_| Unread::credential("the key of the service account cannot sign"))?;
        Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// Where an administrator of the client lets a service account read. The page is filled in.
///
/// `key`: its key file. `None`: it does not say by which number Google knows the account.
#[must_use]
pub fn consent_link(key: &str) -> Option<String> {
    let id = serde_json::from_str::<KeyFile>(key).ok()?.client_id?;
    let is_number = !id.is_empty() && id.bytes().all(|it| it.is_ascii_digit());
    let scopes = StreamKind::oauth_scopes().join(",");
    let link =
        format!("{CONSENT}?clientIdToAdd={id}&clientScopeToAdd={scopes}&overwriteClientId=true");
    is_number.then_some(link)
}
