//! How tokens are signed.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
    RsaPublicKeyComponents,
};
use rsa::pkcs8::EncodePrivateKey;
use rsa::{Generate, PrivateKey};
use serde_json::{Value, json};

use super::scripted::{Provider, Visitor};
use crate::harness::Posture;

/// Signs a text with one algorithm and the key of that id.
struct Signer {
    algorithm: &'static str,
    key: &'static str,
    sign: fn(&[u8]) -> Vec<u8>,
}

static RSA: LazyLock<RsaKeyPair> = LazyLock::new(|| {
    let der = PrivateKey::generate().to_pkcs8_der().unwrap();
    RsaKeyPair::from_pkcs8(der.as_bytes()).unwrap()
});
static P256: LazyLock<EcdsaKeyPair> = LazyLock::new(|| curve(&ECDSA_P256_SHA256_FIXED_SIGNING));
static P384: LazyLock<EcdsaKeyPair> = LazyLock::new(|| curve(&ECDSA_P384_SHA384_FIXED_SIGNING));
static ED25519: LazyLock<Ed25519KeyPair> = LazyLock::new(|| {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()
});

fn curve(kind: &'static EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap()
}

fn rsa(rule: &'static dyn RsaEncoding, text: &[u8]) -> Vec<u8> {
    let mut signature = vec![0; RSA.public().modulus_len()];
    RSA.sign(rule, &SystemRandom::new(), text, &mut signature).unwrap();
    signature
}

fn ecdsa(pair: &EcdsaKeyPair, text: &[u8]) -> Vec<u8> {
    pair.sign(&SystemRandom::new(), text).unwrap().as_ref().to_vec()
}

const SIGNERS: [Signer; 10] = [
    Signer { algorithm: "RS256", key: "rsa", sign: |it| rsa(&RSA_PKCS1_SHA256, it) },
    Signer { algorithm: "RS384", key: "rsa", sign: |it| rsa(&RSA_PKCS1_SHA384, it) },
    Signer { algorithm: "RS512", key: "rsa", sign: |it| rsa(&RSA_PKCS1_SHA512, it) },
    Signer { algorithm: "PS256", key: "rsa", sign: |it| rsa(&RSA_PSS_SHA256, it) },
    Signer { algorithm: "PS384", key: "rsa", sign: |it| rsa(&RSA_PSS_SHA384, it) },
    Signer { algorithm: "PS512", key: "rsa", sign: |it| rsa(&RSA_PSS_SHA512, it) },
    Signer { algorithm: "ES256", key: "p256", sign: |it| ecdsa(&P256, it) },
    Signer { algorithm: "ES384", key: "p384", sign: |it| ecdsa(&P384, it) },
    Signer { algorithm: "EdDSA", key: "ed", sign: |it| ED25519.sign(it).as_ref().to_vec() },
    Signer { algorithm: "Ed25519", key: "ed", sign: |it| ED25519.sign(it).as_ref().to_vec() },
];

/// The public keys, which do not say what algorithm they are for.
fn keys() -> Value {
    let encoded = |it: &[u8]| BASE64.encode(it);
    let point = |pair: &EcdsaKeyPair, curve: &str, id: &str, n: usize| {
        let (x, y) = pair.public_key().as_ref()[1..].split_at(n);
        json!({"kty": "EC", "crv": curve, "kid": id, "x": encoded(x), "y": encoded(y)})
    };
    let RsaPublicKeyComponents { n, e } = RsaPublicKeyComponents::<Vec<u8>>::from(RSA.public());
    json!([
        {"kty": "RSA", "kid": "rsa", "n": encoded(&n), "e": encoded(&e)},
        {"kty": "RSA", "kid": "rsa", "use": "enc", "n": encoded(&n), "e": encoded(&e)},
        {"kty": "RSA", "kid": "rsa", "alg": "RSA-OAEP", "n": encoded(&n), "e": encoded(&e)},
        point(&P256, "P-256", "p256", 32),
        point(&P384, "P-384", "p384", 48),
        {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encoded(ED25519.public_key().as_ref())},
        {"kty": "oct", "kid": "shared", "k": "AAAA"},
    ])
}

/// Comes back with a token that says it is signed with `algorithm`.
fn sign_in(posture: &Posture, provider: &Provider, algorithm: &str, by: &Signer) -> (u16, String) {
    posture.pass_s(60); // Returns are limited.
    let mut visitor = Visitor::to(posture);
    let led = visitor.led("/sign-in/oidc");
    let part = |it: &Value| BASE64.encode(it.to_string());
    let head = part(&json!({ "alg": algorithm, "kid": by.key }));
    let text = format!("{head}.{}", part(&provider.claims(&led, posture.now())));
    let signature = (by.sign)(text.as_bytes());
    provider.answer_with(&format!("{text}.{}", BASE64.encode(signature)));
    let answer = visitor.back(&led);
    assert_eq!(visitor.is_signed_in(), answer.status == 303);
    (answer.status, answer.text())
}

#[test]
fn a_token_is_believed_with_every_algorithm_that_its_key_proves_and_with_no_other() {
    let provider = Provider::start();
    provider.script().keys = json!({ "keys": keys() });
    let posture = provider.posture(|_| ());
    let refused = |claimed: &str, signer: &Signer| {
        let (status, text) = sign_in(&posture, &provider, claimed, signer);
        assert_eq!(status, 401, "{} as {claimed:?}", signer.algorithm);
        assert!(text.contains("cannot be trusted"), "{text}");
    };
    for (n, signer) in SIGNERS.iter().enumerate() {
        let (status, text) = sign_in(&posture, &provider, signer.algorithm, signer);
        assert_eq!(status, 303, "{}: {text}", signer.algorithm);
        // Another digest, another padding, another kind of key.
        for apart in [1, 3, 6] {
            let claimed = &SIGNERS[(n + apart) % SIGNERS.len()];
            let is_same = claimed.algorithm.contains("Ed") && signer.algorithm.contains("Ed");
            if !is_same {
                refused(claimed.algorithm, signer);
            }
        }
    }
    for claimed in ["none", "HS256", "HS512", "ES512", "ES256K", "rs256", ""] {
        refused(claimed, &SIGNERS[0]);
    }
}

#[test]
fn a_key_for_one_algorithm_proves_no_other() {
    let provider = Provider::start();
    for (algorithm, wanted) in [("RS256", 303), ("PS256", 401), ("RSA-OAEP", 401), ("ES256", 401)] {
        let mut key = keys()[0].clone();
        key["alg"] = json!(algorithm);
        provider.script().keys = json!({ "keys": [key] });
        let posture = provider.posture(|_| ());
        let (status, text) = sign_in(&posture, &provider, "RS256", &SIGNERS[0]);
        assert_eq!(status, wanted, "{algorithm}: {text}");
    }
}
