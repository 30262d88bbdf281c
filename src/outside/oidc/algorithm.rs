//! How ID tokens are signed (RFC 7518, 3; RFC 8037; RFC 9864).

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// A public key: what it is made of.
#[derive(Clone, Debug)]
pub(super) enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point on a curve.
    Point(Curve, Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
    Ed25519,
}

/// A way to sign with a private key whose public key everyone may know. There is no other way to sign an ID token here: neither `none`
/// nor the ones with a shared secret.
#[derive(Debug)]
pub(super) struct Algorithm {
    /// As the header of a token and discovery documents write it. `EdDSA` has a second name.
    names: &'static [&'static str],
    check: Check,
}

/// The keys that an algorithm takes, and how it verifies.
enum Check {
    Rsa(&'static RsaParameters),
    Point(Curve, &'static dyn VerificationAlgorithm),
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Check")
    }
}

static ALGORITHMS: [Algorithm; 9] = [
    Algorithm { names: &["RS256"], check: Check::Rsa(&RSA_PKCS1_2048_8192_SHA256) },
    Algorithm { names: &["RS384"], check: Check::Rsa(&RSA_PKCS1_2048_8192_SHA384) },
    Algorithm { names: &["RS512"], check: Check::Rsa(&RSA_PKCS1_2048_8192_SHA512) },
    Algorithm { names: &["PS256"], check: Check::Rsa(&RSA_PSS_2048_8192_SHA256) },
    Algorithm { names: &["PS384"], check: Check::Rsa(&RSA_PSS_2048_8192_SHA384) },
    Algorithm { names: &["PS512"], check: Check::Rsa(&RSA_PSS_2048_8192_SHA512) },
    Algorithm { names: &["ES256"], check: Check::Point(Curve::P256, &ECDSA_P256_SHA256_FIXED) },
    Algorithm { names: &["ES384"], check: Check::Point(Curve::P384, &ECDSA_P384_SHA384_FIXED) },
    Algorithm { names: &["EdDSA", "Ed25519"], check: Check::Point(Curve::Ed25519, &ED25519) },
];

/// For people: what a provider may be set to.
pub(super) const ACCEPTED: &str =
    "RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA with Ed25519";

impl Algorithm {
    pub(super) fn parse(name: &str) -> Option<&'static Self> {
        ALGORITHMS.iter().find(|it| it.names.contains(&name))
    }

    /// Returns true if the other is this one.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.names == other.names
    }

    /// Returns true if a key of this kind can sign with it.
    pub(super) fn fits(&self, key: &Material) -> bool {
        match (&self.check, key) {
            (Check::Rsa(_), Material::Rsa { .. }) => true,
            (Check::Point(wanted, _), Material::Point(curve, _)) => wanted == curve,
            (Check::Rsa(_), Material::Point(..)) | (Check::Point(..), Material::Rsa { .. }) => {
                false
            }
        }
    }

    /// Returns true if the key signed the text in this way.
    pub(super) fn verify(&self, key: &Material, text: &[u8], signature: &[u8]) -> bool {
        let verified = match (&self.check, key) {
            (Check::Rsa(rule), Material::Rsa { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(rule, text, signature)
            }
            (Check::Point(wanted, rule), Material::Point(curve, point)) if wanted == curve => {
                UnparsedPublicKey::new(*rule, point).verify(text, signature)
            }
            (Check::Rsa(_) | Check::Point(..), Material::Rsa { .. } | Material::Point(..)) => {
                return false;
            }
        };
        verified.is_ok()
    }
}
