//! The provider: where people are led, and what it says when they come back.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use form_urlencoded::{Serializer, byte_serialize};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use super::claims::Claims;
use super::fault::{Fault, TokenFault, said};
use super::flow::Flow;
use super::id_token::{self, Expected};
use super::key_set::KeySet;
use super::metadata::{self, Metadata, Proof};
use super::secret::ClientSecret;
use super::survey::Survey;
use crate::clock::Time;
use crate::egress::http::{Method, Request, header};
use crate::egress::{Egress, EgressPolicy};
use crate::encoding;
use crate::error::Result as OurResult;

/// What the provider publishes is read again after so long.
const KNOWN_S: i64 = 3_600;
/// After a failure, the provider is left alone for so long.
const PAUSE_S: i64 = 10;
const TIMEOUT: Duration = Duration::from_secs(10);
/// Requests to the provider at the same time.
const N_AT_ONCE_MAX: usize = 8;
/// Longer answers are not read.
const ANSWER_BYTES_MAX: u64 = 256 * 1_024;

/// An error if a part of it has a wrong form.
pub(super) type MadeRequest = Result<Request<Bytes>, crate::egress::http::Error>;

/// What the configuration says of the provider.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// What people call it.
    pub name: String,
    pub issuer: String,
    pub client_id: String,
    /// `None`: the client is public, and PKCE alone protects its codes.
    pub client_secret: Option<ClientSecret>,
    /// Where it leads people back to.
    pub redirect_url: String,
    pub scopes: Vec<String>,
    /// Contexts that it is asked to sign people in with.
    pub acr_values: Vec<String>,
    pub egress: EgressPolicy,
}

/// The provider, and what is known of it.
pub struct OidcProvider {
    pub settings: OidcSettings,
    egress: Egress,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    read: Option<(Time, Metadata, KeySet)>,
    failed: Option<(Time, Fault)>,
}

/// What a person is asked at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// To sign in, or nothing if the provider knows the person.
    SignIn,
    /// To sign in again, whether the provider knows the person or not.
    SignInAgain,
}

/// What a person brings back.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    pub code: Option<&'a str>,
    pub issuer: Option<&'a str>,
    pub error: Option<&'a str>,
    pub error_description: Option<&'a str>,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenError {
    error: String,
    error_description: String,
}

impl OidcProvider {
    /// # Errors
    /// `Internal` if its threads cannot be made.
    pub fn new(settings: OidcSettings) -> OurResult<Self> {
        let egress = Egress::new(settings.egress.clone(), TIMEOUT, N_AT_ONCE_MAX)?;
        Ok(Self { settings, egress, known: Mutex::default() })
    }

    /// Where to lead a person.
    ///
    /// # Errors
    /// `Unreachable`.
    pub async fn authorization_url(
        &self,
        flow: &Flow,
        wanted: Wanted,
        now: Time,
    ) -> Result<String, Fault> {
        let (metadata, _) = self.known(now).await?;
        let settings = &self.settings;
        let mut query = Serializer::new(String::new());
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &settings.client_id)
            .append_pair("redirect_uri", &settings.redirect_url)
            .append_pair("scope", &settings.scopes.join(" "))
            .append_pair("state", &flow.state())
            .append_pair("nonce", &flow.nonce())
            .append_pair("code_challenge", &flow.challenge())
            .append_pair("code_challenge_method", "S256");
        if !settings.acr_values.is_empty() {
            query.append_pair("acr_values", &settings.acr_values.join(" "));
        }
        if wanted == Wanted::SignInAgain {
            query.append_pair("prompt", "login").append_pair("max_age", "0");
        }
        if metadata.claims_parameter_supported {
            let claims = json!({ "id_token": { "auth_time": { "essential": true } } });
            query.append_pair("claims", &claims.to_string());
        }
        let endpoint = &metadata.authorization_endpoint;
        let sign = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{sign}{}", query.finish()))
    }

    /// Who the person is that came back with this answer.
    ///
    /// # Errors
    /// Why nobody is to be signed in.
    pub async fn claims(
        &self,
        flow: &Flow,
        wanted: Wanted,
        answered: Answered<'_>,
        now: Time,
    ) -> Result<Claims, Fault> {
        if let Some(error) = answered.error {
            let all = said(error, answered.error_description.unwrap_or_default());
            return Err(Fault::Refused { error: error.to_owned(), said: all });
        }
        let (metadata, keys) = self.known(now).await?;
        let settings = &self.settings;
        let is_from_it = match answered.issuer {
            Some(issuer) => issuer == settings.issuer,
            None => !metadata.authorization_response_iss_parameter_supported,
        };
        if !is_from_it {
            return Err(TokenFault::Issuer.into());
        }
        let code = answered.code.ok_or_else(|| Fault::Code("no code".to_owned()))?;
        let token = self.redeem(&metadata, flow, code).await?;
        let nonce = flow.nonce();
        let expected = Expected {
            issuer: &settings.issuer,
            client_id: &settings.client_id,
            nonce: &nonce,
            begun_s: flow.begun_s(),
            now_s: now.s(),
            is_fresh: wanted == Wanted::SignInAgain,
        };
        let verified = match id_token::verify(&token, &keys, &expected) {
            // The provider may sign with a new key since its keys were read.
            Err(TokenFault::UnknownKey) => {
                let keys = self.read_keys(&metadata).await?;
                let verified = id_token::verify(&token, &keys, &expected);
                self.known.lock().await.read = Some((now, metadata, keys));
                verified
            }
            verified => verified,
        };
        Ok(verified?)
    }

    /// What the provider publishes. One request reads it for all who wait.
    async fn known(&self, now: Time) -> Result<(Metadata, KeySet), Fault> {
        let mut known = self.known.lock().await;
        let is_of_now = |at: &Time, s| (0..s).contains(&now.s_since(*at));
        if let Some((at, metadata, keys)) = &known.read
            && is_of_now(at, KNOWN_S)
        {
            return Ok((metadata.clone(), keys.clone()));
        }
        if let Some((at, fault)) = &known.failed
            && is_of_now(at, PAUSE_S)
        {
            return Err(fault.clone());
        }
        match self.read().await {
            Ok((metadata, keys)) => {
                *known = Known { read: Some((now, metadata.clone(), keys.clone())), failed: None };
                Ok((metadata, keys))
            }
            Err(fault) => {
                known.failed = Some((now, fault.clone()));
                Err(fault)
            }
        }
    }

    async fn read(&self) -> Result<(Metadata, KeySet), Fault> {
        let issuer = &self.settings.issuer;
        let metadata = Metadata::parse(&self.get(&metadata::url(issuer)).await?, issuer)?;
        for problem in Survey::of(&metadata, self.settings.client_secret.is_some()).problems {
            tracing::warn!("{problem}");
        }
        let keys = self.read_keys(&metadata).await?;
        Ok((metadata, keys))
    }

    async fn read_keys(&self, metadata: &Metadata) -> Result<KeySet, Fault> {
        let url = &metadata.jwks_uri;
        let keys = KeySet::parse(&self.get(url).await?);
        keys.ok_or_else(|| Fault::Unreachable(format!("{url}: this is not a set of keys")))
    }

    pub(super) async fn get(&self, url: &str) -> Result<Bytes, Fault> {
        let (status, body) = self.send(url, Self::request(url)).await?;
        if status != 200 {
            return Err(Fault::Unreachable(format!("{url}: it answered with status {status}")));
        }
        Ok(body)
    }

    pub(super) fn request(url: &str) -> MadeRequest {
        Request::builder()
            .method(Method::GET)
            .uri(url)
            .header(header::ACCEPT, "application/json")
            .body(Bytes::new())
    }

    pub(super) async fn send(
        &self,
        url: &str,
        request: MadeRequest,
    ) -> Result<(u16, Bytes), Fault> {
        let unreachable = |why: String| Fault::Unreachable(format!("{url}: {why}"));
        let request = request.map_err(|error| unreachable(error.to_string()))?;
        let fetched = self.egress.fetch(request, ANSWER_BYTES_MAX).await;
        let (head, body) = fetched.map_err(|it| unreachable(it.to_string()))?.into_parts();
        let n_mark = body.len() - encoding::without_mark(&body).len();
        Ok((head.status.as_u16(), body.slice(n_mark..)))
    }

    /// The ID token for a code.
    async fn redeem(&self, metadata: &Metadata, flow: &Flow, code: &str) -> Result<String, Fault> {
        let url = &metadata.token_endpoint;
        let (status, body) = self.send(url, self.token_request(metadata, flow, code)).await?;
        if status == 200 {
            let tokens: Tokens = serde_json::from_slice(&body).map_err(|error| {
                Fault::Unreachable(format!("{url}: its answer has no tokens: {error}"))
            })?;
            return tokens.id_token.ok_or(TokenFault::Missing.into());
        }
        let TokenError { error, error_description } =
            serde_json::from_slice(&body).unwrap_or_default();
        let said = said(&error, &error_description);
        Err(match error.as_str() {
            "invalid_grant" => Fault::Code(said),
            "invalid_client" | "unauthorized_client" => Fault::Client(said),
            _ => Fault::Unreachable(format!("{url}: it answered with status {status}: {said}")),
        })
    }

    fn token_request(&self, metadata: &Metadata, flow: &Flow, code: &str) -> MadeRequest {
        let settings = &self.settings;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &settings.redirect_url)
            .append_pair("code_verifier", &flow.verifier());
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&metadata.token_endpoint)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        match (&settings.client_secret, metadata.proof()) {
            (Some(secret), Proof::Header) => {
                let [id, secret] = [settings.client_id.as_str(), secret.expose()]
                    .map(|it| byte_serialize(it.as_bytes()).collect::<String>());
                let both = BASE64_STANDARD.encode(format!("{id}:{secret}"));
                request = request.header(header::AUTHORIZATION, format!("Basic {both}"));
            }
            (Some(secret), Proof::Body) => {
                form.append_pair("client_id", &settings.client_id);
                form.append_pair("client_secret", secret.expose());
            }
            (None, _) => {
                form.append_pair("client_id", &settings.client_id);
            }
        }
        request.body(Bytes::from(form.finish()))
    }
}
