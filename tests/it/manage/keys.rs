//! Issuing and changing keys: what is shown, what is refused.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread;

use serde_json::{Value, json};

use super::{read, refused_field};
use crate::harness::Posture;

fn issue(posture: &Posture, change: &Value) -> crate::harness::Answer {
    let mut body = json!({"name": "test", "scopes": ["read:clients"]});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    posture.operator("POST", "/api/keys", &body)
}

#[test]
fn a_new_key_shows_what_it_may() {
    let posture = Posture::start();
    let client = posture.client("A");
    let answer = issue(
        &posture,
        &json!({
            "scopes": ["read:risks", "read:clients"], "clientIds": [client], "source": "psa",
            "networks": ["10.0.0.0/8"], "perHour": 5, "expiresAt": "2027-01-01T00:00:00Z",
        }),
    );
    assert_eq!(answer.status, 201);
    let mut issued = answer.json()["data"].clone();
    let text = issued.as_object_mut().unwrap().remove("key").unwrap();
    let expected = json!({
        "id": issued["id"], "name": "test", "prefix": &text.as_str().unwrap()[8..18],
        "scopes": ["read:risks", "read:clients"], "clientIds": [client],
        "networks": ["10.0.0.0/8"], "perMinute": 5, "perHour": 5, "perDay": 10_000,
        "source": "psa", "expiresAt": "2027-01-01T00:00:00.000Z",
        "createdAt": "2026-03-10T09:00:00.000Z", "lastUsedAt": null, "revokedAt": null,
        "previousUntil": null,
    });
    assert_eq!(issued, expected);
    assert_eq!(read(&posture, "/api/keys"), json!([expected]));
    assert_eq!(read(&posture.restart(), "/api/keys"), json!([expected]));
}

#[test]
fn each_rule_of_a_key_is_told_by_its_field() {
    let posture = Posture::start();
    let issued = posture.issue(&json!({}));
    let path = format!("/api/keys/{}", issued["id"].as_str().unwrap());
    let before = read(&posture, "/api/keys");
    let absent = "0195a000-0000-7000-8000-000000000000";
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("  ")),
        ("name", json!("ü".repeat(201))),
        ("name", json!(null)),
        ("scopes", json!([])),
        ("scopes", json!(["read:everything"])),
        ("scopes", json!(["READ:CLIENTS"])),
        ("scopes", json!("read:clients")),
        ("scopes", json!(null)),
        ("clientIds", json!([absent])),
        ("clientIds", json!(["x"])),
        ("clientIds", json!("x")),
        ("networks", json!(["10.0.0.1/8"])),
        ("perMinute", json!(0)),
        ("perHour", json!(100_000_001)),
        ("perDay", json!(-1)),
        ("perDay", json!("10")),
        ("expiresAt", json!("2026-03-10T09:00:00Z")),
        ("expiresAt", json!("tomorrow")),
        ("expiresAt", json!(7)),
        ("admin", json!(true)),
    ] {
        let told = refused_field(&issue(&posture, &json!({ field: value }))).0;
        assert_eq!(told, field, "{value}");
        let told = refused_field(&posture.operator("PATCH", &path, &json!({ field: value }))).0;
        assert_eq!(told, field, "{value}");
    }
    assert_eq!(refused_field(&issue(&posture, &json!({"source": " "}))).0, "source");
    assert_eq!(refused_field(&issue(&posture, &json!({"source": "undo"}))).0, "source");
    let bare = posture.operator("POST", "/api/keys", &json!({"name": "a"}));
    assert_eq!(refused_field(&bare), ("scopes".into(), "is required".into()));
    let bare = posture.operator("POST", "/api/keys", &json!({"scopes": ["read:risks"]}));
    assert_eq!(refused_field(&bare), ("name".into(), "is required".into()));
    assert_eq!(read(&posture, "/api/keys"), before, "nothing was kept");
    let most = json!({"name": "ü".repeat(200), "perDay": 100_000_000, "perMinute": 1});
    assert_eq!(issue(&posture, &most).status, 201);
}

#[test]
fn an_unknown_scope_is_answered_with_the_known() {
    let posture = Posture::start();
    let (_, rule) = refused_field(&issue(&posture, &json!({"scopes": ["x"]})));
    for scope in crate::harness::ALL_SCOPES {
        assert!(rule.contains(scope), "{rule}");
    }
}

#[test]
fn keys_are_listed_once_and_oldest_first() {
    let posture = Posture::start();
    let mut expected = Vec::new();
    for name in ["c", "a", "b"] {
        let issued = posture.issue(&json!({"name": name}));
        let path = format!("/api/keys/{}/rotate", issued["id"].as_str().unwrap());
        assert_eq!(posture.operator("POST", &path, &json!({})).status, 200);
        expected.push(issued["id"].clone());
        posture.pass_s(1);
    }
    let all = read(&posture, "/api/keys");
    let ids: Vec<_> = all.as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, expected);
}

#[test]
fn a_change_beside_a_revocation_does_not_revive_the_key() {
    let posture = Posture::start();
    for _ in 0..10 {
        let issued = posture.issue(&json!({}));
        let path = format!("/api/keys/{}", issued["id"].as_str().unwrap());
        thread::scope(|scope| {
            let change = || {
                for n in 0..5 {
                    let body = json!({"name": n.to_string()});
                    assert_eq!(posture.operator("PATCH", &path, &body).status, 200);
                }
            };
            scope.spawn(change);
            scope.spawn(change);
            assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
        });
        assert_eq!(posture.get(issued["key"].as_str().unwrap(), "/clients").status, 401);
    }
    let posture = posture.restart();
    let all = read(&posture, "/api/keys");
    assert!(all.as_array().unwrap().iter().all(|it| it["revokedAt"].is_string()));
}

#[test]
fn a_revocation_whose_caller_went_away_is_done_or_not_done() {
    let posture = Posture::start();
    let keys: Vec<_> = (0..40).map(|_| posture.issue(&json!({}))).collect();
    for key in &keys {
        let mut stream = UnixStream::connect(posture.socket()).unwrap();
        let id = key["id"].as_str().unwrap();
        write!(stream, "DELETE /api/keys/{id} HTTP/1.1\r\nHost: posture\r\n\r\n").unwrap();
    }
    posture.key(); // Its write comes behind all others.
    let statuses = |posture: &Posture| {
        let status = |it: &Value| posture.get(it["key"].as_str().unwrap(), "/clients").status;
        keys.iter().map(status).collect::<Vec<_>>()
    };
    let before = statuses(&posture);
    assert_eq!(before, statuses(&posture.restart()), "memory and disk tell the same");
}

#[test]
fn a_key_that_nobody_issued_is_not_found() {
    let posture = Posture::start();
    for id in ["0195a000-0000-7000-8000-000000000000", "none", "%00"] {
        let path = format!("/api/keys/{id}");
        let rotate = posture.operator("POST", &format!("{path}/rotate"), &json!({}));
        assert_eq!(rotate.status, 404);
        assert_eq!(posture.operator("PATCH", &path, &json!({})).status, 404);
        assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 404);
    }
}

#[test]
fn a_longer_window_of_a_key_never_allows_less_than_a_shorter_one() {
    let posture = Posture::start_with(|it| it.app.quota = [60, 1_000, 10_000]);
    let issue = |limits: Value| {
        let name = limits.to_string();
        let mut body = json!({"name": name, "scopes": ["read:clients"]});
        body.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
        posture.operator("POST", "/api/keys", &body)
    };
    let limits =
        |key: &Value| ["perMinute", "perHour", "perDay"].map(|it| key[it].as_u64().unwrap());
    for (given, expected) in [
        (json!({}), [60, 1_000, 10_000]),
        (json!({"perMinute": 1_000}), [1_000, 1_000, 10_000]),
        (json!({"perMinute": 1_001}), [1_001, 1_001, 10_000]),
        (json!({"perMinute": 100_000}), [100_000; 3]),
        (json!({"perHour": 5}), [5, 5, 10_000]),
        (json!({"perDay": 5}), [5; 3]),
        (json!({"perMinute": 3, "perDay": 5}), [3, 5, 5]),
        (json!({"perMinute": 7, "perHour": 7, "perDay": 7}), [7; 3]),
    ] {
        let answer = issue(given.clone());
        assert_eq!((answer.status, limits(&answer.json()["data"])), (201, expected), "{given}");
    }
    for (given, field, rule) in [
        (json!({"perMinute": 8, "perHour": 7}), "perHour", "must not be less than perMinute (8)"),
        (json!({"perMinute": 8, "perDay": 7}), "perDay", "must not be less than perHour (8)"),
        (json!({"perHour": 8, "perDay": 7}), "perDay", "must not be less than perHour (8)"),
    ] {
        let refused = refused_field(&issue(given.clone()));
        assert_eq!(refused, (field.to_owned(), rule.to_owned()), "{given}");
    }
    let key = issue(json!({"source": "last"})).json()["data"].clone();
    let path = format!("/api/keys/{}", key["id"].as_str().unwrap());
    let refused = refused_field(&posture.operator("PATCH", &path, &json!({"perMinute": 1_001})));
    assert_eq!(
        refused,
        ("perHour".to_owned(), "must not be less than perMinute (1001)".to_owned())
    );
    let both = json!({"perMinute": 2_000, "perHour": 2_000});
    assert_eq!(
        limits(&posture.operator("PATCH", &path, &both).json()["data"]),
        [2_000, 2_000, 10_000]
    );
}

#[test]
fn a_scope_that_is_named_twice_is_stored_once() {
    let posture = Posture::start();
    let scopes = json!(["read:risks", "read:clients", "read:risks"]);
    let key = posture.issue(&json!({ "scopes": scopes }));
    assert_eq!(key["scopes"], json!(["read:risks", "read:clients"]));
}
