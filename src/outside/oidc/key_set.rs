//! The keys with which a provider signs (JSON Web Key Set, RFC 7517).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::Deserialize;
use serde_json::Value;

use super::algorithm::{Algorithm, Curve, Material};

/// More keys are not read.
const N_KEYS_MAX: usize = 100;
/// The point of a key on a NIST curve is not compressed.
const UNCOMPRESSED: u8 = 4;

#[derive(Clone, Debug)]
struct PublicKey {
    id: Option<String>,
    /// The only algorithm that it is for. `None`: any that it fits.
    algorithm: Option<&'static Algorithm>,
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

    /// Returns true if no key of it verifies anything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key that signed, if the set has it. Without an id it must be the only one for the algorithm.
    fn find(&self, id: Option<&str>, algorithm: &Algorithm) -> Option<&Material> {
        let fits = |it: &&PublicKey| {
            algorithm.fits(&it.material)
                && it.algorithm.is_none_or(|own| own.is(algorithm))
                && id.is_none_or(|id| it.id.as_deref() == Some(id))
        };
        let mut found = self.0.iter().filter(fits);
        let (first, more) = (found.next()?, found.next());
        more.is_none().then_some(&first.material)
    }

    /// Returns true if the key that is named signed the text. `None`: the set does not have that key.
    pub(super) fn verify(
        &self,
        (id, algorithm): (Option<&str>, &Algorithm),
        text: &[u8],
        signature: &[u8],
    ) -> Option<bool> {
        self.find(id, algorithm).map(|it| algorithm.verify(it, text, signature))
    }
}

/// `None`: it is not for signatures, or for signatures that are not accepted.
fn public_key(jwk: Jwk) -> Option<PublicKey> {
    let is_for_signatures = jwk.usage.as_deref().is_none_or(|it| it == "sig");
    let algorithm = match jwk.alg.as_deref() {
        Some(name) => Some(Algorithm::parse(name)?),
        None => None,
    };
    let decoded = |it: Option<String>| BASE64.decode(it?).ok();
    let point = |x: Option<String>, y: Option<String>| {
        Some([&[UNCOMPRESSED], decoded(x)?.as_slice(), decoded(y)?.as_slice()].concat())
    };
    let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => {
            let (n, e) = (decoded(jwk.n)?, decoded(jwk.e)?);
            // A leading zero is not of the number.
            let n = n.into_iter().skip_while(|it| *it == 0).collect();
            Material::Rsa { n, e }
        }
        ("EC", Some("P-256")) => Material::Point(Curve::P256, point(jwk.x, jwk.y)?),
        ("EC", Some("P-384")) => Material::Point(Curve::P384, point(jwk.x, jwk.y)?),
        ("OKP", Some("Ed25519")) => Material::Point(Curve::Ed25519, decoded(jwk.x)?),
        _ => return None,
    };
    let is_for_it = algorithm.is_none_or(|it| it.fits(&material));
    let key = PublicKey { id: jwk.kid, algorithm, material };
    (is_for_signatures && is_for_it).then_some(key)
}
