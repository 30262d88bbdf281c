//! What a delivery carries, and how it is proved.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{Receiver, add, path, push, start};
use crate::harness::sink::Request;

/// As the contract's receiver rule says: over the raw body, keyed with the secret as it was shown.
fn hex(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    mac.finalize().into_bytes().iter().fold(String::new(), |mut hex, it| {
        write!(hex, "{it:02x}").unwrap();
        hex
    })
}

fn signature(request: &Request) -> &str {
    request.header("x-service-signature").expect("it is signed")
}

#[test]
fn an_event_arrives_as_the_contract_says() {
    let (posture, receiver) = (start(), Receiver::start());
    let webhook = add(&posture, &receiver.sink.url());
    let client = posture.client("A");
    push(&posture, &client, "web-1");
    let request = receiver.wait(1);
    assert_eq!(request.line, "POST /hook");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("x-service-event-type"), Some("asset_discovered"));
    assert_eq!(request.header("x-service-delivery-attempt"), Some("1"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["type"], "asset_discovered");
    assert_eq!(body["id"], request.header("x-service-event-id").unwrap());
    assert!(body["id"].as_str().unwrap().starts_with("evt_"));
    assert_eq!(body["data"]["clientId"], client);
    assert_eq!(body["data"]["mspId"], "msp-test");
    assert_eq!(body["data"]["object"]["name"], "web-1");
    assert_eq!(
        body["data"]["object"]["sequence"].to_string(),
        request.header("x-service-event-sequence").unwrap()
    );
    assert!(body["data"].get("previous").is_none());
    assert_eq!(signature(&request), hex(webhook["secret"].as_str().unwrap(), &request.body));
    assert_eq!(posture.events()[0], body, "the log shows the very body");
}

#[test]
fn during_an_overlap_both_secrets_sign() {
    let (posture, receiver) = (start(), Receiver::start());
    let webhook = add(&posture, &receiver.sink.url());
    let client = posture.client("A");
    let rotate = |overlap_s: u32| {
        let body = json!({ "overlapS": overlap_s });
        let answer = posture.operator("POST", &format!("{}/rotate-secret", path(&webhook)), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"]["secret"].as_str().unwrap().to_owned()
    };
    let old = webhook["secret"].as_str().unwrap();
    let new = rotate(3_600);
    assert_ne!(old, new);
    push(&posture, &client, "one");
    let request = receiver.wait(1);
    assert_eq!(signature(&request), hex(&new, &request.body));
    let previous = request.header("x-service-signature-previous").unwrap();
    assert_eq!(previous, hex(old, &request.body));
    assert_eq!(request.header("webhook-signature").unwrap().split(' ').count(), 2);
    posture.pass_s(3_601);
    push(&posture, &client, "two");
    let request = receiver.wait(2);
    assert_eq!(signature(&request), hex(&new, &request.body));
    assert_eq!(request.header("x-service-signature-previous"), None);
    assert_eq!(request.header("webhook-signature").unwrap().split(' ').count(), 1);
}

#[test]
fn the_secret_is_shown_once_and_never_in_the_clear_on_disk() {
    let posture = start();
    let webhook = add(&posture, "https://example.com/hook");
    let secret = webhook["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"));
    let listed = posture.operator("GET", "/api/webhooks", &Value::Null).text();
    assert!(!listed.contains(secret));
    let bare = secret.strip_prefix("whsec_").unwrap().as_bytes();
    for file in ["posture.redb", "posture.key"] {
        let bytes = std::fs::read(posture.dir().join(file)).unwrap();
        assert!(!bytes.windows(bare.len()).any(|it| it == bare), "{file}");
    }
}
