//! API keys over their life: made, shown once, used, rotated, revoked.

use posture::auth::key::KeyText;
use serde_json::{Value, json};

use crate::harness::{Posture, send};
use crate::manage::refused_field;

const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Six base62 characters of the CRC-32, as the documentation says.
fn checksum(text: &str) -> String {
    let crc = u64::from(crc32fast::hash(text.as_bytes()));
    let digit = |place: u32| char::from(BASE62[(crc / 62_u64.pow(place) % 62) as usize]);
    (0..6).rev().map(digit).collect()
}

/// A key with the prefix of a live one, another secret and a right checksum.
pub(crate) fn forged(key: &str) -> String {
    let body = format!("{}{}", &key[..19], "A".repeat(32));
    format!("{body}{}", checksum(&body))
}

fn id(key: &Value) -> String {
    key["id"].as_str().unwrap().to_owned()
}

fn text(key: &Value) -> String {
    key["key"].as_str().unwrap().to_owned()
}

fn change(posture: &Posture, key: &Value, change: &Value) {
    let answer = posture.operator("PATCH", &format!("/api/keys/{}", id(key)), change);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn rotate(posture: &Posture, key: &Value, body: &Value) -> Value {
    let answer = posture.operator("POST", &format!("/api/keys/{}/rotate", id(key)), body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn listed(posture: &Posture, key: &Value) -> Value {
    let all = posture.operator("GET", "/api/keys", &Value::Null).json();
    let all = all["data"].as_array().unwrap();
    all.iter().find(|it| it["id"] == key["id"]).unwrap().clone()
}

fn status(posture: &Posture, key: &str) -> u16 {
    posture.get(key, "/clients").status
}

#[test]
fn a_key_has_the_promised_form() {
    let posture = Posture::start();
    for _ in 0..20 {
        let issued = posture.issue(&json!({}));
        let key = text(&issued);
        let parts: Vec<_> = key.split('_').collect();
        let [lead, prefix, secret] = parts.as_slice() else { panic!("parts") };
        assert_eq!((*lead, prefix.len(), secret.len()), ("service", 10, 38));
        assert_eq!(issued["prefix"], *prefix);
        assert!(key.bytes().all(|it| it == b'_' || it.is_ascii_alphanumeric()));
        let (body, check) = key.split_at(key.len() - 6);
        assert_eq!(check, checksum(body));
        assert_eq!(status(&posture, &key), 200);
        assert_eq!(status(&posture, &forged(&key)), 401);
    }
}

#[test]
fn a_key_with_any_character_changed_is_malformed() {
    let key = KeyText::random().reveal().to_owned();
    assert!(KeyText::parse(&key).is_some());
    for index in 0..key.len() {
        for other in ["0", "Z", "_", "-", "", "ä"] {
            let changed = format!("{}{other}{}", &key[..index], &key[index + 1..]);
            assert!(changed == key || KeyText::parse(&changed).is_none(), "at {index}");
        }
    }
    for text in ["", "service_", "ä", &"ä".repeat(28), &format!("{key}\0"), &format!(" {key}")] {
        assert!(KeyText::parse(text).is_none());
    }
}

#[test]
fn a_key_does_not_show_its_secret_when_it_is_logged() {
    let key = KeyText::random();
    let shown = format!("{key:?}");
    assert!(shown.contains(key.prefix()) && !shown.contains(&key.reveal()[19..]));
}

#[test]
fn a_key_is_shown_once() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({"name": "once"}));
    let rotated = rotate(&posture, &issued, &json!({}));
    change(&posture, &issued, &json!({"name": "renamed"}));
    let secrets = [text(&issued), text(&rotated)].map(|it| it[19..].to_owned());
    let list = posture.operator("GET", "/api/keys", &Value::Null);
    let body = list.text();
    assert!(secrets.iter().all(|it| !body.contains(it.as_str())));
    assert!(list.json()["data"].as_array().unwrap().iter().all(|it| it["key"].is_null()));
    let events = posture.operator("GET", "/api/events", &Value::Null).text();
    let metrics = posture.operator("GET", "/metrics", &Value::Null).text();
    assert!(secrets.iter().all(|it| !events.contains(it) && !metrics.contains(it)));
    let path = format!("/api/keys/{}", id(&issued));
    let changed = posture.operator("PATCH", &path, &json!({"name": "again"}));
    assert!(changed.json()["data"]["key"].is_null());
    let made =
        posture.operator("POST", "/api/keys", &json!({"name": "a", "scopes": ["read:risks"]}));
    assert_eq!(made.header("cache-control"), Some("no-store"));
}

#[test]
fn the_database_file_holds_no_secret() {
    let posture = Posture::start();
    let key = posture.key();
    assert_eq!(status(&posture, &key), 200);
    let file = std::fs::read(posture.dir().join("posture.redb")).unwrap();
    let holds = |text: &str| file.windows(text.len()).any(|it| it == text.as_bytes());
    assert!(holds(&key[8..18]), "the prefix is there, so the search works");
    assert!(!holds(&key[19..51]) && !holds(&key));
}

#[test]
fn with_grace_both_secrets_work_until_it_ends() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({
        "name": "pump", "source": "psa", "perMinute": 7, "networks": ["127.0.0.0/8"],
        "scopes": ["read:clients", "read:risks"],
    }));
    let rotated = rotate(&posture, &issued, &json!({}));
    let (old, new) = (text(&issued), text(&rotated));
    assert_ne!(old, new);
    for member in
        ["id", "name", "scopes", "source", "perMinute", "perHour", "networks", "createdAt"]
    {
        assert_eq!(rotated[member], issued[member], "{member}");
    }
    assert_eq!(rotated["previousUntil"], "2026-03-11T09:00:00.000Z");
    assert_eq!((status(&posture, &old), status(&posture, &new)), (200, 200));
    posture.pass_s(86_399);
    assert_eq!((status(&posture, &old), status(&posture, &new)), (200, 200));
    posture.pass_s(1);
    assert_eq!((status(&posture, &old), status(&posture, &new)), (401, 200));
}

#[test]
fn both_secrets_share_one_quota() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({"perMinute": 3}));
    let rotated = rotate(&posture, &issued, &json!({}));
    let (old, new) = (text(&issued), text(&rotated));
    let answers = [&old, &new, &old, &new].map(|it| status(&posture, it));
    assert_eq!(answers, [200, 200, 200, 429]);
}

#[test]
fn without_grace_the_old_secret_stops_at_once() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({}));
    let rotated = rotate(&posture, &issued, &json!({"graceS": 0}));
    assert_eq!((status(&posture, &text(&issued)), status(&posture, &text(&rotated))), (401, 200));
    let path = format!("/api/keys/{}/rotate", id(&issued));
    let long = posture.operator("POST", &path, &json!({"graceS": 30 * 86_400 + 1}));
    assert_eq!(refused_field(&long).0, "graceS");
    let negative = posture.operator("POST", &path, &json!({"graceS": -1}));
    assert_eq!(refused_field(&negative).0, "graceS");
    assert_eq!(status(&posture, &text(&rotated)), 200, "a refused rotation changes nothing");
}

#[test]
fn rotation_survives_a_restart() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({}));
    let rotated = rotate(&posture, &issued, &json!({}));
    let gone = posture.issue(&json!({}));
    posture.operator("DELETE", &format!("/api/keys/{}", id(&gone)), &Value::Null);
    let posture = posture.restart();
    let keys = [text(&issued), text(&rotated), text(&gone)];
    assert_eq!(keys.map(|it| status(&posture, &it)), [200, 200, 401]);
}

#[test]
fn revocation_acts_on_the_next_request() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({}));
    let rotated = rotate(&posture, &issued, &json!({}));
    let path = format!("/api/keys/{}", id(&issued));
    assert_eq!(status(&posture, &text(&issued)), 200);
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
    assert_eq!((status(&posture, &text(&issued)), status(&posture, &text(&rotated))), (401, 401));
    let revoked_at = listed(&posture, &issued)["revokedAt"].clone();
    assert_eq!(revoked_at, "2026-03-10T09:00:00.000Z", "it stays listed");
    posture.pass_s(60);
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
    assert_eq!(listed(&posture, &issued)["revokedAt"], revoked_at, "revoking twice is the same");
    let again = posture.operator("POST", &format!("{path}/rotate"), &json!({}));
    assert_eq!((again.status, again.problem().0.as_str()), (409, "CONFLICT"));
    assert_eq!(posture.operator("PATCH", &path, &json!({"name": "x"})).status, 200);
    assert_eq!(status(&posture, &text(&issued)), 401, "a change does not revive it");
}

#[test]
fn a_key_works_until_it_expires() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({"expiresAt": "2026-03-10T11:00:00+01:00"}));
    assert_eq!(issued["expiresAt"], "2026-03-10T10:00:00.000Z");
    posture.pass_s(3_599);
    assert_eq!(status(&posture, &text(&issued)), 200);
    posture.pass_s(1);
    assert_eq!(status(&posture, &text(&issued)), 401);
    change(&posture, &issued, &json!({"expiresAt": null}));
    assert_eq!(status(&posture, &text(&issued)), 200);
}

#[test]
fn an_expired_key_may_be_renamed_and_stays_expired() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({"expiresAt": "2026-03-10T10:00:00Z"}));
    posture.pass_s(3_600);
    change(&posture, &issued, &json!({"name": "retired"}));
    assert_eq!(status(&posture, &text(&issued)), 401);
    let path = format!("/api/keys/{}", id(&issued));
    let past = posture.operator("PATCH", &path, &json!({"expiresAt": "2026-03-10T09:59:00Z"}));
    assert_eq!(refused_field(&past), ("expiresAt".into(), "must be in the future".into()));
}

#[test]
fn a_change_of_scopes_acts_on_the_next_request() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({}));
    let key = text(&issued);
    assert_eq!(status(&posture, &key), 200);
    change(&posture, &issued, &json!({"scopes": ["read:risks"]}));
    assert_eq!(status(&posture, &key), 403);
    change(&posture, &issued, &json!({"scopes": ["read:risks", "read:clients"]}));
    assert_eq!(status(&posture, &key), 200);
}

#[test]
fn a_change_of_clients_acts_on_the_next_list() {
    let posture = Posture::start();
    let a = posture.client("A");
    posture.pass_s(1);
    let b = posture.client("B");
    let issued = posture.issue(&json!({"clientIds": [a]}));
    let key = text(&issued);
    let seen = || {
        let page = posture.read(&key, "/clients");
        let all = page["data"].as_array().unwrap().clone();
        all.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<String>()
    };
    assert_eq!(seen(), "A");
    change(&posture, &issued, &json!({"clientIds": [b]}));
    assert_eq!(seen(), "B");
    change(&posture, &issued, &json!({"clientIds": [a, b]}));
    assert_eq!(seen(), "AB");
}

#[test]
fn a_key_whose_only_client_was_erased_reaches_nothing() {
    let posture = Posture::start();
    let (a, b) = (posture.client("A"), posture.client("B"));
    let issued = posture.issue(&json!({"clientIds": [a]}));
    let key = text(&issued);
    posture.operator("DELETE", &format!("/api/clients/{a}"), &Value::Null);
    assert_eq!(posture.read(&key, "/clients")["pagination"]["total"], 0);
    assert_eq!(posture.get(&key, &format!("/clients/{b}")).status, 403);
    let rotated = rotate(&posture, &issued, &json!({}));
    assert_eq!(posture.read(&text(&rotated), "/clients")["pagination"]["total"], 0);
    change(&posture, &issued, &json!({"name": "renamed"}));
}

#[test]
fn the_source_decides_which_asset_an_external_id_meets() {
    let posture = Posture::start();
    let client = posture.client("A");
    let push = |key: &Value| {
        let asset =
            json!({"clientId": client, "name": "x", "externalId": "1", "assetType": "server"});
        let answer = posture.send("POST", &text(key), "/assets", &asset);
        (answer.status, id(&answer.json()["data"]))
    };
    let first = posture.issue(&json!({"name": "a", "source": "psa"}));
    let second = posture.issue(&json!({"name": "b", "source": "psa"}));
    let third = posture.issue(&json!({"name": "c"}));
    let fourth = posture.issue(&json!({"name": "d", "source": "c"}));
    assert_eq!(third["source"], "c", "the name is the default");
    let (made, asset) = push(&first);
    let (other_made, other) = push(&third);
    assert_eq!((made, other_made), (201, 201));
    assert_ne!(asset, other);
    assert_eq!(push(&second), (200, asset.clone()));
    assert_eq!(push(&fourth), (200, other));
    let rotated = rotate(&posture, &first, &json!({}));
    assert_eq!(push(&rotated), (200, asset));
    let path = format!("/api/keys/{}", id(&first));
    let moved = posture.operator("PATCH", &path, &json!({"source": "crm"}));
    assert_eq!(refused_field(&moved).0, "source");
}

#[test]
fn the_last_use_is_shown() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({}));
    assert!(listed(&posture, &issued)["lastUsedAt"].is_null());
    posture.pass_s(5);
    assert_eq!(status(&posture, &text(&issued)), 200);
    posture.pass_s(5);
    assert_eq!(status(&posture, &forged(&text(&issued))), 401);
    assert_eq!(listed(&posture, &issued)["lastUsedAt"], "2026-03-10T09:00:05.000Z");
    let posture = posture.restart();
    assert_eq!(listed(&posture, &issued)["lastUsedAt"], "2026-03-10T09:00:05.000Z");
    posture.clock.set(posture.now().plus_days(1));
    let key = text(&issued);
    let answer = posture.fetch(&key, "/api/conditions");
    assert_eq!(answer.status, 200);
    let last = listed(&posture, &issued)["lastUsedAt"].clone();
    assert_eq!(last, posture.now().to_string(), "a use of the management API is one");
}

#[test]
fn header_names_are_told_without_regard_to_case() {
    let posture = Posture::start();
    let key = posture.key();
    for name in ["x-api-key", "X-API-KEY", "X-Api-Key"] {
        let answer = send(posture.address, "GET", "/api/v1/clients", &[(name, &key)], b"");
        assert_eq!(answer.status, 200, "{name}");
    }
}
