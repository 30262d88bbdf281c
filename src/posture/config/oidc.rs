//! The section of the identity provider.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::reader::ConfigReader;
use super::rule::path;
use crate::egress::is_url;
use crate::origin::Origin;
use crate::toml_reader::{Ruled, Value, list, string, text, word, wrong};

const NAME_CHARS: RangeInclusive<usize> = 1..=40;
const TEXT_CHARS: RangeInclusive<usize> = 1..=256;
const N_VALUES: RangeInclusive<usize> = 0..=100;
const N_SCOPES: RangeInclusive<usize> = 1..=20;
/// `true`: the provider requires it of everyone.
const SECOND_FACTOR: [(&str, bool); 2] = [("claims", false), ("provider", true)];

/// The identity provider at which people sign in to the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcConfig {
    pub issuer: String,
    pub client_id: String,
    /// The file of the client secret. `None`: the client is public.
    pub client_secret_file: Option<PathBuf>,
    /// What people call the provider.
    pub name: String,
    pub scopes: Vec<String>,
    pub roles_claim: String,
    pub admin_values: Vec<String>,
    pub analyst_values: Vec<String>,
    pub viewer_values: Vec<String>,
    /// The claim with the clients that a user may see. `None`: administrators set them.
    pub clients_claim: Option<String>,
    /// The provider requires a second factor of everyone.
    pub provider_requires_mfa: bool,
    pub amr_values: Vec<String>,
    pub acr_values: Vec<String>,
    /// Authorities that the certificate of the provider may come from, besides the known ones.
    pub ca_file: Option<PathBuf>,
}

/// `None`: people sign in with passwords alone. Call it after the server's section.
pub(super) fn oidc(it: &mut ConfigReader<'_>, public_url: Option<&str>) -> Option<OidcConfig> {
    let issuer = it.find("oidc.issuer", issuer);
    let client_id = it.find("oidc.client_id", text(TEXT_CHARS));
    let values = |it: &mut ConfigReader<'_>, key| it.get(key, list(N_VALUES, text(TEXT_CHARS)));
    let config = OidcConfig {
        issuer: issuer.clone().unwrap_or_default(),
        client_id: client_id.clone().unwrap_or_default(),
        client_secret_file: it.find("oidc.client_secret_file", path),
        name: it.get("oidc.name", text(NAME_CHARS)),
        scopes: it.get("oidc.scopes", list(N_SCOPES, scope)),
        roles_claim: it.get("oidc.roles_claim", text(TEXT_CHARS)),
        admin_values: values(it, "oidc.admin_values"),
        analyst_values: values(it, "oidc.analyst_values"),
        viewer_values: values(it, "oidc.viewer_values"),
        clients_claim: it.find("oidc.clients_claim", text(TEXT_CHARS)),
        provider_requires_mfa: it.get("oidc.second_factor", word(&SECOND_FACTOR)),
        amr_values: values(it, "oidc.amr_values"),
        acr_values: values(it, "oidc.acr_values"),
        ca_file: it.find("oidc.ca_file", path),
    };
    if issuer.is_none() && client_id.is_none() {
        let others = [
            ("oidc.client_secret_file", config.client_secret_file.is_some()),
            ("oidc.clients_claim", config.clients_claim.is_some()),
            ("oidc.ca_file", config.ca_file.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|it| it.1) {
            it.clash(&[key], "must be set together with oidc.issuer and oidc.client_id");
        }
        return None;
    }
    if issuer.is_some() != client_id.is_some() {
        it.clash(&["oidc.issuer", "oidc.client_id"], "must be set together with oidc.client_id");
    }
    check(it, &config, public_url);
    Some(config)
}

fn check(it: &mut ConfigReader<'_>, config: &OidcConfig, public_url: Option<&str>) {
    let is_safe = |it: &str| it.starts_with("https://") || is_loopback(it);
    match public_url {
        None => {
            let rule =
                "must be set together with server.public_url: the provider leads people back to it";
            it.clash(&["oidc.issuer", "server.public_url"], rule);
        }
        Some(url) if !is_safe(url) => {
            let rule =
                "must begin with https:// for oidc.issuer: people come back to it with a code";
            it.clash(&["server.public_url", "oidc.issuer"], rule);
        }
        Some(_) => (),
    }
    let all = [&config.admin_values, &config.analyst_values, &config.viewer_values];
    let keys = ["oidc.admin_values", "oidc.analyst_values", "oidc.viewer_values", "oidc.issuer"];
    if all.iter().all(|it| it.is_empty()) {
        let rule = "one of oidc.admin_values, oidc.analyst_values and oidc.viewer_values must name a value, or nobody gets a role";
        it.clash(&keys, rule);
    }
    let mut sorted: Vec<_> = all.into_iter().flatten().collect();
    let n_values = sorted.len();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() != n_values {
        let rule = "a value may grant one role only; one is here, in oidc.analyst_values or in oidc.viewer_values again";
        it.clash(&keys, rule);
    }
    if !config.scopes.iter().any(|it| it == "openid") {
        it.clash(&["oidc.scopes"], "must have \"openid\"");
    }
}

/// Exactly as the provider writes it: a slash at its end belongs to it.
fn issuer(value: &Value<'_>) -> Ruled<String> {
    let text = string(value)?;
    if !is_url(text) || text.contains('?') {
        let sample = "https://login.example.com/tenant";
        let rule = format!("{text:?} is not an absolute URL without a query, such as {sample:?}");
        return wrong(value, rule);
    }
    if !text.starts_with("https://") && !is_loopback(text) {
        return wrong(value, "must begin with https://");
    }
    Ok(text.to_owned())
}

fn scope(value: &Value<'_>) -> Ruled<String> {
    let text = text(TEXT_CHARS)(value)?;
    if !text.bytes().all(|it| it.is_ascii_graphic() && !matches!(it, b'"' | b'\\')) {
        return wrong(value, format!("{text:?} is not a scope, such as \"openid\""));
    }
    Ok(text)
}

/// Returns true for a plain URL of this machine.
fn is_loopback(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split('/').next().unwrap_or(rest);
    let origin = Origin::parse(&format!("{scheme}://{authority}"));
    origin.is_some_and(|it| !it.is_https() && it.is_loopback())
}
