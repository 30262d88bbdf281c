//! Tokens that are not to be believed.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::scripted::{CLIENT, Provider, Visitor};

/// Makes a token of claims.
type Attack<'a> = &'a dyn Fn(&Value) -> String;

/// How far clocks may be apart.
const LEEWAY_S: i64 = 60;

/// Half a second later.
fn half(s: i64) -> Value {
    serde_json::from_str(&format!("{s}.5")).unwrap()
}

#[test]
fn claims_of_another_flow_service_or_time_sign_nobody_in() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let now = posture.now().s();
    let set = |name: &'static str, value: Value| (name, value);
    for (name, value) in [
        set("nonce", json!("another")),
        set("nonce", Value::Null),
        set("iss", json!("https://other.example")),
        set("iss", json!(format!("{}/", provider.issuer))),
        set("aud", json!("another")),
        set("aud", json!(["another"])),
        set("aud", json!([])),
        set("aud", json!([CLIENT, "another"])),
        set("azp", json!("another")),
        set("sub", Value::Null),
        set("sub", json!("")),
        set("sub", json!("x".repeat(256))),
        set("exp", json!(now - LEEWAY_S)),
        set("exp", Value::Null),
        set("exp", json!("soon")),
        set("iat", json!(now + LEEWAY_S + 1)),
        set("iat", json!(now - LEEWAY_S - 1)),
        set("iat", Value::Null),
    ] {
        let mut eve = Visitor::to(&posture);
        let refused = eve.sign_in(&posture, &provider, |it| it[name] = value.clone());
        assert_eq!(refused.status, 401, "{name} {value}: {}", refused.text());
        assert!(refused.text().contains("Sign in again"), "{name} {value}");
        assert!(!eve.is_signed_in());
    }
    let users = posture.operator("GET", "/api/users", &Value::Null).json();
    assert_eq!(users["data"].as_array().unwrap().len(), 0, "{users}");
}

#[test]
fn of_a_time_with_a_fraction_the_side_counts_that_refuses_more() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let now = posture.now().s();
    for (name, value) in [
        ("exp", half(now - LEEWAY_S)),
        ("exp", json!(1e300)),
        ("iat", half(now + LEEWAY_S)),
        ("iat", half(now - LEEWAY_S - 1)),
        ("nbf", json!(now + LEEWAY_S + 1)),
        ("nbf", half(now + LEEWAY_S)),
        ("nbf", json!("soon")),
    ] {
        let mut eve = Visitor::to(&posture);
        let refused = eve.sign_in(&posture, &provider, |it| it[name] = value.clone());
        assert_eq!(refused.status, 401, "{name} {value}: {}", refused.text());
        assert!(refused.text().contains("is not of now"), "{name} {value}");
    }
}

#[test]
fn clocks_may_be_a_minute_apart() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let now = posture.now().s();
    for (name, value) in [
        ("exp", json!(now - LEEWAY_S + 1)),
        ("iat", json!(now + LEEWAY_S)),
        ("iat", json!(now - LEEWAY_S)),
        ("exp", half(now - LEEWAY_S + 1)),
        ("iat", half(now + LEEWAY_S - 1)),
        ("iat", half(now - LEEWAY_S)),
        ("nbf", json!(now + LEEWAY_S)),
        ("nbf", half(now)),
        ("aud", json!([CLIENT])),
        ("azp", json!(CLIENT)),
        ("sub", json!("x".repeat(255))),
    ] {
        let mut ada = Visitor::to(&posture);
        let done = ada.sign_in(&posture, &provider, |it| it[name] = value.clone());
        assert_eq!(done.status, 303, "{name} {value}: {}", done.text());
    }
    let mut ada = Visitor::to(&posture);
    let both = |it: &mut Value| {
        it["aud"] = json!([CLIENT, "another"]);
        it["azp"] = json!(CLIENT);
    };
    assert_eq!(ada.sign_in(&posture, &provider, both).status, 303);
}

#[test]
fn a_token_is_believed_for_its_signature_alone() {
    let provider = Provider::start();
    let stranger = Provider::start();
    let posture = provider.posture(|_| ());
    let attacks: [(&str, Attack<'_>); 10] = [
        ("alg none", &|claims| {
            let signed = provider.sign(&json!({"alg": "none"}), claims);
            format!("{}.", signed.rsplit_once('.').unwrap().0)
        }),
        ("alg none with the signature", &|claims| {
            provider.sign(&json!({"alg": "none", "kid": "k1"}), claims)
        }),
        ("HS256 with the public key", &|claims| {
            let part = |it: Value| BASE64.encode(it.to_string());
            let head = part(json!({"alg": "HS256", "kid": "k1"}));
            let text = format!("{head}.{}", part(claims.clone()));
            let key = provider.script().keys["keys"][1]["x"].as_str().unwrap().to_owned();
            let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
            mac.update(text.as_bytes());
            format!("{text}.{}", BASE64.encode(mac.finalize().into_bytes()))
        }),
        ("another key", &|claims| stranger.sign(&json!({"alg": "ES256", "kid": "k1"}), claims)),
        ("a key of its own", &|claims| {
            let jwk = stranger.script().keys["keys"][1].clone();
            stranger.sign(&json!({"alg": "ES256", "kid": "k1", "jwk": jwk}), claims)
        }),
        ("an unknown key", &|claims| provider.sign(&json!({"alg": "ES256", "kid": "k9"}), claims)),
        ("another algorithm for the key", &|claims| {
            provider.sign(&json!({"alg": "RS256", "kid": "k1"}), claims)
        }),
        ("an extension that must be known", &|claims| {
            provider
                .sign(&json!({"alg": "ES256", "kid": "k1", "crit": ["b64"], "b64": false}), claims)
        }),
        ("other claims than were signed", &|claims| {
            let signed = provider.sign(&json!({"alg": "ES256", "kid": "k1"}), claims);
            let parts: Vec<_> = signed.split('.').collect();
            let mut more = claims.clone();
            more["sub"] = json!("somebody-else");
            format!("{}.{}.{}", parts[0], BASE64.encode(more.to_string()), parts[2])
        }),
        ("no token", &|_| "a.b.c".to_owned()),
    ];
    for (what, attack) in attacks {
        let mut eve = Visitor::to(&posture);
        let led = eve.led("/sign-in/oidc");
        let token = attack(&provider.claims(&led, posture.now()));
        provider.answer_with(&token);
        let refused = eve.back(&led);
        assert_eq!(refused.status, 401, "{what}: {}", refused.text());
        assert!(refused.text().contains("cannot be trusted"), "{what}: {}", refused.text());
        assert!(!eve.is_signed_in(), "{what}");
    }
    // Without the name of a key it is the only one of its kind.
    let mut ada = Visitor::to(&posture);
    let led = ada.led("/sign-in/oidc");
    let claims = provider.claims(&led, posture.now());
    provider.answer_with(&provider.sign(&json!({"alg": "ES256"}), &claims));
    assert_eq!(ada.back(&led).status, 303);
}

#[test]
fn a_time_with_a_fraction_says_when_somebody_signed_in() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let now = posture.now().s();
    for (time, status) in [(half(now - 1), 200), (half(now - 16 * 60), 303)] {
        let mut ada = Visitor::to(&posture);
        let done = ada.sign_in(&posture, &provider, |it| it["auth_time"] = time.clone());
        assert_eq!(done.status, 303, "{time}: {}", done.text());
        assert_eq!(ada.get("/users").status, status, "{time}");
    }
}
