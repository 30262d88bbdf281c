//! What a provider publishes about itself (OpenID Connect Discovery 1.0).

use serde::Deserialize;
use serde_json::Value;

use super::fault::Fault;
use crate::egress::is_url;

/// Where the document is, below the issuer.
const PLACE: &str = "/.well-known/openid-configuration";

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) jwks_uri: String,
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Offered,
    #[serde(default)]
    pub(super) id_token_signing_alg_values_supported: Offered,
    #[serde(default)]
    pub(super) response_types_supported: Offered,
    #[serde(default)]
    pub(super) response_modes_supported: Offered,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Offered,
    /// It names itself where it leads people back (RFC 9207).
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
    /// It can be asked for single claims.
    #[serde(default)]
    pub(super) claims_parameter_supported: bool,
}

/// What a list of the document has, apart from what is no text. Empty if there is no such list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Value")]
pub(super) struct Offered(Vec<String>);

impl From<Value> for Offered {
    fn from(value: Value) -> Self {
        let all = value.as_array().into_iter().flatten();
        Self(all.filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

impl Offered {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub(super) fn has(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        self.iter().any(is_wanted)
    }
}

/// How the service proves to be the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    Header,
    Body,
}

pub(super) fn url(issuer: &str) -> String {
    format!("{}{PLACE}", issuer.strip_suffix('/').unwrap_or(issuer))
}

impl Metadata {
    /// # Errors
    /// `Unreachable` if it is not the document of this issuer.
    pub(super) fn parse(bytes: &[u8], issuer: &str) -> Result<Self, Fault> {
        let unusable = |why: String| Fault::Unreachable(format!("{}: {why}", url(issuer)));
        let metadata: Self = serde_json::from_slice(bytes)
            .map_err(|error| unusable(format!("this is not a discovery document: {error}")))?;
        if metadata.issuer != issuer {
            return Err(unusable(format!(
                "the issuer there is {:?}; set oidc.issuer to exactly the one of your tenant",
                metadata.issuer
            )));
        }
        let scheme = issuer.split_once(':').map(|it| it.0);
        let endpoints =
            [&metadata.authorization_endpoint, &metadata.token_endpoint, &metadata.jwks_uri];
        let is_safe = |it: &&&String| {
            is_url(it) && (it.starts_with("https:") || scheme == it.split_once(':').map(|it| it.0))
        };
        if let Some(wrong) = endpoints.iter().find(|it| !is_safe(it)) {
            return Err(unusable(format!("{wrong:?} is not an https URL")));
        }
        Ok(metadata)
    }

    /// How to send the client secret. The header is what the protocol has where a provider does not say.
    pub(super) fn proof(&self) -> Proof {
        let methods = &self.token_endpoint_auth_methods_supported;
        let has = |name: &str| methods.is_empty() || methods.has(|it| it == name);
        if has("client_secret_basic") || !has("client_secret_post") {
            Proof::Header
        } else {
            Proof::Body
        }
    }
}
