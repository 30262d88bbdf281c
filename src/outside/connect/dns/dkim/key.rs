//! A DKIM key record (RFC 6376, section 3.6.1) and how good its key is.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::{PublicKey, RSAPublicKey};
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::connect::dns::tag;

/// Receivers refuse shorter RSA keys (RFC 8301).
pub(super) const N_BITS_MIN: usize = 1_024;
/// What a signer should use.
pub(super) const N_BITS_GOOD: usize = 2_048;
const ED25519_BYTES: usize = 32;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Best first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// RSA of at least [`N_BITS_GOOD`] bits, or Ed25519.
    Good,
    /// RSA with fewer bits, which receivers accept.
    Weak { n_bits: usize },
    /// The signer is still testing (`t=y`), so that receivers treat its mail as unsigned.
    Test,
    /// RSA with so few bits that receivers refuse it, and that others can find the private key.
    Short { n_bits: usize },
    /// No key (`p=` is empty): the signer has withdrawn it.
    Withdrawn,
    /// The text says why.
    Unusable(&'static str),
}

/// `None` if the record is not about DKIM, as where a wildcard answers for every name.
pub(super) fn parse(text: &str) -> Option<Key> {
    let tags = tag::tags(text)?;
    if tag::value(&tags, "v").is_some_and(|it| it != "DKIM1") {
        return None;
    }
    let encoded: String = tag::value(&tags, "p")?.split_whitespace().collect();
    if encoded.is_empty() {
        return Some(Key::Withdrawn);
    }
    let flags = |name: &str| tag::value(&tags, name).map(|it| it.split(':').map(str::trim));
    if flags("s").is_some_and(|mut it| !it.any(|it| matches!(it, "*" | "email"))) {
        return Some(Key::Unusable("it is not for mail"));
    }
    let Ok(bytes) = BASE64.decode(encoded) else {
        return Some(Key::Unusable("its p is not Base64"));
    };
    let key = match tag::value(&tags, "k").unwrap_or("rsa") {
        "ed25519" if bytes.len() == ED25519_BYTES => Key::Good,
        "ed25519" => Key::Unusable("its p is no Ed25519 key"),
        "rsa" => match n_rsa_bits(&bytes) {
            Some(N_BITS_GOOD..) => Key::Good,
            Some(n_bits @ N_BITS_MIN..) => Key::Weak { n_bits },
            Some(n_bits) => return Some(Key::Short { n_bits }),
            None => Key::Unusable("its p is no RSA key"),
        },
        _ => Key::Unusable("its kind of key is unknown"),
    };
    let is_test = flags("t").is_some_and(|mut it| it.any(|it| it == "y"));
    let is_usable = matches!(key, Key::Good | Key::Weak { .. });
    Some(if is_test && is_usable { Key::Test } else { key })
}

/// The key alone, or with its algorithm as most publish it.
fn n_rsa_bits(bytes: &[u8]) -> Option<usize> {
    let modulus_bits = |key: &RSAPublicKey| {
        let zeros = key.modulus.iter().take_while(|it| **it == 0).count();
        let modulus = &key.modulus[zeros..];
        let first = modulus.first()?;
        Some(8 * modulus.len() - usize::try_from(first.leading_zeros()).expect("at most 8"))
    };
    if let Ok((_, info)) = SubjectPublicKeyInfo::from_der(bytes) {
        let Ok(PublicKey::RSA(key)) = info.parsed() else { return None };
        return modulus_bits(&key);
    }
    let (_, key) = RSAPublicKey::from_der(bytes).ok()?;
    modulus_bits(&key)
}
