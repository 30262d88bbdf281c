//! Whether an ID token is genuine, and of this flow (OpenID Connect Core 1.0, 3.1.3.7).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::Deserialize;
use serde_json::{Map, Value};
use subtle::ConstantTimeEq;

use super::LEEWAY_S;
use super::algorithm::Algorithm;
use super::claims::Claims;
use super::date::NumericDate;
use super::fault::TokenFault;
use super::key_set::KeySet;

/// A longer token is not read. A token that lists a few hundred groups is shorter.
pub(super) const TOKEN_BYTES_MAX: usize = 64 * 1_024;

/// What a token of a flow says.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// When the flow began, in seconds since 1970.
    pub(super) begun_s: i64,
    pub(super) now_s: i64,
    /// The person must have signed in since the flow began.
    pub(super) is_fresh: bool,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Names extensions that a reader must know. None is known here.
    crit: Option<Value>,
}

/// # Errors
/// What is wrong with it. `UnknownKey` if the provider may have a new key by now.
pub(super) fn verify(
    token: &str,
    keys: &KeySet,
    expected: &Expected<'_>,
) -> Result<Claims, TokenFault> {
    let malformed = || TokenFault::Malformed;
    if TOKEN_BYTES_MAX < token.len() {
        return Err(TokenFault::Malformed);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
    let (header, claims) = signed.split_once('.').ok_or_else(malformed)?;
    let decoded = |it: &str| BASE64.decode(it).map_err(|_| TokenFault::Malformed);
    let header: Header =
        serde_json::from_slice(&decoded(header)?).map_err(|_| TokenFault::Malformed)?;
    // First of all: the token says how it is signed, but may only choose among those that a key of the set can
    // prove.
    let algorithm = Algorithm::parse(&header.alg).ok_or(TokenFault::Algorithm)?;
    if header.crit.is_some() {
        return Err(TokenFault::Algorithm);
    }
    let key = (header.kid.as_deref(), algorithm);
    match keys.verify(key, signed.as_bytes(), &decoded(signature)?) {
        None => return Err(TokenFault::UnknownKey),
        Some(false) => return Err(TokenFault::Signature),
        Some(true) => (),
    }
    let claims: Map<String, Value> =
        serde_json::from_slice(&decoded(claims)?).map_err(|_| TokenFault::Malformed)?;
    judge(&claims, expected)?;
    Claims::of(claims).ok_or(TokenFault::Subject)
}

fn judge(claims: &Map<String, Value>, expected: &Expected<'_>) -> Result<(), TokenFault> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let date = |name: &str| NumericDate::of(claims, name);
    if text("iss") != Some(expected.issuer) {
        return Err(TokenFault::Issuer);
    }
    let is_ours = |it: &Value| it.as_str() == Some(expected.client_id);
    let n_others = match claims.get("aud") {
        Some(Value::Array(all)) if all.iter().any(is_ours) => {
            all.iter().filter(|it| !is_ours(it)).count()
        }
        Some(one) if is_ours(one) => 0,
        Some(_) | None => return Err(TokenFault::Audience),
    };
    // A token for several must say that it was issued to us.
    let is_issued_to_us = claims.get("azp").map_or(n_others == 0, is_ours);
    if !is_issued_to_us {
        return Err(TokenFault::Party);
    }
    let nonce = text("nonce").unwrap_or_default();
    if !bool::from(nonce.as_bytes().ct_eq(expected.nonce.as_bytes())) {
        return Err(TokenFault::Nonce);
    }
    let now_s = expected.now_s;
    if date("exp").is_none_or(|it| it.floor_s.saturating_add(LEEWAY_S) <= now_s) {
        return Err(TokenFault::Expired);
    }
    let is_begun = |it: NumericDate| it.ceiling_s <= now_s + LEEWAY_S;
    if claims.contains_key("nbf") && !date("nbf").is_some_and(is_begun) {
        return Err(TokenFault::IssuedAt);
    }
    let is_of_now = |it: NumericDate| it.is_within(expected.begun_s - LEEWAY_S, now_s + LEEWAY_S);
    if !date("iat").is_some_and(is_of_now) {
        return Err(TokenFault::IssuedAt);
    }
    if expected.is_fresh && !date("auth_time").is_some_and(is_of_now) {
        return Err(TokenFault::AuthTime);
    }
    Ok(())
}
