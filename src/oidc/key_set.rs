//! The keys with which a provider signs (JSON Web Key Set, RFC 7517).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

/// More keys are not read.
const N_KEYS_MAX: usize = 100;
/// The point of a key on P-256 is not compressed.
const UNCOMPRESSED: u8 = 4;

/// How a token is signed. There are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
}

impl Algorithm {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
}

#[derive(Clone, Debug)]
struct PublicKey {
    id: Option<String>,
    material: Material,
}

/// The keys that verify signatures. Others of the set are left out.
#[derive(Clone, Debug)]
pub(super) struct KeySet(Vec<PublicKey>);

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// `None` if it is no set of keys, or too large.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let Jwks { keys } = serde_json::from_slice(bytes).ok()?;
        if N_KEYS_MAX < keys.len() {
            return None;
        }
        // A key of a kind that is not known is not one of ours.
        let known = keys.into_iter().filter_map(|it| public_key(serde_json::from_value(it).ok()?));
        Some(Self(known.collect()))
    }

    /// The key that signed, if the set has it. Without an id it must be the only one of its kind.
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Material> {
        let fits = |it: &&PublicKey| match (&it.material, algorithm) {
            (Material::Rsa { .. }, Algorithm::Rs256) | (Material::P256(_), Algorithm::Es256) => {
                id.is_none_or(|id| it.id.as_deref() == Some(id))
            }
            (Material::Rsa { .. }, Algorithm::Es256) | (Material::P256(_), Algorithm::Rs256) => {
                false
            }
        };
        let mut found = self.0.iter().filter(fits);
        let (first, more) = (found.next()?, found.next());
        more.is_none().then_some(&first.material)
    }

    /// Returns true if the key that is named signed the text. `None`: the set does not have that key.
    pub(super) fn verify(
        &self,
        (id, algorithm): (Option<&str>, Algorithm),
        text: &[u8],
        signature: &[u8],
    ) -> Option<bool> {
        let verified = match self.find(id, algorithm)? {
            Material::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, text, signature)
            }
            Material::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(text, signature)
            }
        };
        Some(verified.is_ok())
    }
}

fn public_key(jwk: Jwk) -> Option<PublicKey> {
    let is_for_signatures = jwk.usage.as_deref().is_none_or(|it| it == "sig");
    let decoded = |it: Option<String>| BASE64.decode(it?).ok();
    let (algorithm, material) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => {
            let (n, e) = (decoded(jwk.n)?, decoded(jwk.e)?);
            // A leading zero is not of the number.
            let n = n.into_iter().skip_while(|it| *it == 0).collect();
            ("RS256", Material::Rsa { n, e })
        }
        ("EC", Some("P-256")) => {
            let (x, y) = (decoded(jwk.x)?, decoded(jwk.y)?);
            ("ES256", Material::P256([&[UNCOMPRESSED], x.as_slice(), y.as_slice()].concat()))
        }
        _ => return None,
    };
    let is_for_it = jwk.alg.as_deref().is_none_or(|it| it == algorithm);
    (is_for_signatures && is_for_it).then_some(PublicKey { id: jwk.kid, material })
}
