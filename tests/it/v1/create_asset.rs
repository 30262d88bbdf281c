//! Operation 4.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{ASSET, NOBODY, assert_invalid, assert_problem, assert_shape, new_asset, push, rows};
use crate::harness::{Answer, Posture, send};

const TYPES: [&str; 14] = [
    "user",
    "device",
    "server",
    "workstation",
    "mobile",
    "network_device",
    "virtual_machine",
    "container",
    "saas_app",
    "cloud_resource",
    "identity",
    "mailbox",
    "file_share",
    "database",
];

struct Pushing {
    posture: Posture,
    key: String,
    client: String,
}

impl Pushing {
    fn start() -> Self {
        let posture = Posture::start();
        let (key, client) = (posture.key(), posture.client("Pushing"));
        Self { posture, key, client }
    }

    /// A valid body with members replaced.
    fn body(&self, change: &Value) -> Value {
        let mut body = new_asset(&self.client, "x-1");
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    }

    fn post(&self, change: &Value) -> Answer {
        self.posture.send("POST", &self.key, "/assets", &self.body(change))
    }

    fn post_bytes(&self, kind: Option<&str>, body: &[u8]) -> Answer {
        let mut headers = vec![("X-API-Key", self.key.as_str())];
        headers.extend(kind.map(|it| ("Content-Type", it)));
        send(self.posture.address, "POST", "/api/v1/assets", &headers, body)
    }

    fn post_text(&self, body: &str) -> Answer {
        self.post_bytes(Some("application/json"), body.as_bytes())
    }

    fn n_assets(&self) -> u64 {
        let path = format!("/clients/{}/assets", self.client);
        self.posture.read(&self.key, &path)["pagination"]["total"].as_u64().unwrap()
    }
}

#[test]
fn a_new_asset_is_answered_with_201_and_the_contracts_fields() {
    let it = Pushing::start();
    let answer = it.post(&json!({}));
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 1, "data alone");
    assert_shape(&body["data"], ASSET);
    let mut wanted = json!({
        "name": "x-1", "displayName": null, "category": null, "assetType": "server",
        "status": "active", "isCritical": false, "isManaged": true, "owner": null,
        "riskScore": null, "firstDiscoveredAt": "2026-03-10T09:00:00.000Z",
        "lastUpdatedAt": "2026-03-10T09:00:00.000Z",
    });
    wanted["id"] = body["data"]["id"].clone();
    assert_eq!(body["data"], wanted);
    assert_eq!(&body["data"]["id"].as_str().unwrap()[14..15], "7", "a UUIDv7");
    let path = format!("/clients/{}/assets", it.client);
    assert_eq!(rows(&it.posture.read(&it.key, &path)), &[wanted]);
    let events = it.posture.events();
    let found = events.iter().filter(|it| it["type"] == "asset_discovered").count();
    assert_eq!(found, 1, "a new asset is announced");
}

#[test]
fn every_optional_field_is_kept_and_unknown_ones_are_ignored() {
    let it = Pushing::start();
    let answer = it.post(&json!({
        "displayName": "Mail server", "category": "Mail", "isCritical": true, "owner": "ops",
        "description": "d", "tags": ["a", "b"], "id": NOBODY, "status": "retired",
        "isManaged": false, "riskScore": 99, "note": {"a": [1]},
    }));
    assert_eq!(answer.status, 201);
    let asset = &answer.json()["data"];
    assert_shape(asset, ASSET);
    assert_eq!(asset["displayName"], "Mail server");
    assert_eq!(asset["category"], "Mail");
    assert_eq!(asset["isCritical"], true);
    assert_eq!(asset["owner"], "ops");
    assert_ne!(asset["id"], NOBODY);
    assert_eq!(asset["status"], "active");
    assert_eq!(asset["isManaged"], true);
    assert!(asset["riskScore"].is_null());
}

#[test]
fn the_same_external_id_again_is_the_same_asset_and_what_is_not_sent_stays() {
    let it = Pushing::start();
    let full = json!({"displayName": "D", "category": "C", "isCritical": true, "owner": "O"});
    let first = it.post(&full).json()["data"].clone();
    it.posture.pass_s(90);
    let n_events = it.posture.events().len();
    let nulls = json!({
        "name": "renamed", "assetType": "database", "displayName": null, "category": null,
        "isCritical": null, "owner": null, "description": null, "tags": null,
    });
    for change in [json!({"name": "renamed", "assetType": "database"}), nulls] {
        let answer = it.post(&change);
        assert_eq!(answer.status, 200);
        let mut wanted = first.clone();
        wanted["name"] = json!("renamed");
        wanted["assetType"] = json!("database");
        wanted["lastUpdatedAt"] = json!("2026-03-10T09:01:30.000Z");
        assert_eq!(answer.json(), json!({"data": wanted}));
    }
    let answer = it.post(&json!({"owner": "P", "isCritical": false}));
    let asset = &answer.json()["data"];
    assert_eq!((&asset["owner"], &asset["isCritical"]), (&json!("P"), &json!(false)));
    assert_eq!((&asset["displayName"], &asset["category"]), (&json!("D"), &json!("C")));
    assert_eq!(it.n_assets(), 1);
    assert_eq!(it.posture.events().len(), n_events, "a known asset is not discovered again");
}

#[test]
fn an_external_id_belongs_to_its_client_and_to_its_keys_source() {
    let it = Pushing::start();
    let first = it.post(&json!({})).json()["data"]["id"].clone();
    let other = it.posture.client("Other");
    let there = it.post(&json!({"clientId": other}));
    assert_eq!(there.status, 201, "another client");
    let key = it.posture.key_with(&json!({"name": "another", "source": "rmm"}));
    let body = it.body(&json!({}));
    assert_eq!(it.posture.send("POST", &key, "/assets", &body).status, 201, "another source");
    let same = it.posture.key_with(&json!({"name": "third", "source": "rmm"}));
    assert_eq!(it.posture.send("POST", &same, "/assets", &body).status, 200, "the same source");
    for near in ["X-1", "x-1 ", " x-1", "x-1\u{200b}", "x-10"] {
        assert_eq!(it.post(&json!({"externalId": near})).status, 201, "{near:?}");
    }
    let again = it.post(&json!({"clientId": it.client.to_uppercase()}));
    assert_eq!((again.status, &again.json()["data"]["id"]), (200, &first));
}

#[test]
fn every_asset_type_of_the_contract_is_taken_and_no_other() {
    let it = Pushing::start();
    for kind in TYPES {
        let answer = it.post(&json!({"externalId": kind, "assetType": kind}));
        assert_eq!(answer.status, 201, "{kind}");
        assert_eq!(answer.json()["data"]["assetType"], kind);
    }
    for kind in ["Server", "", "printer", "server "] {
        let rule = assert_invalid(&it.post(&json!({"assetType": kind})), "assetType");
        assert!(TYPES.iter().all(|it| rule.contains(it)), "{rule}");
    }
}

#[test]
fn required_fields_are_required_and_named() {
    let it = Pushing::start();
    for field in ["clientId", "name", "externalId", "assetType"] {
        let mut body = it.body(&json!({}));
        body.as_object_mut().unwrap().remove(field);
        let answer = it.posture.send("POST", &it.key, "/assets", &body);
        assert_invalid(&answer, field);
        assert_invalid(&it.post(&json!({field: null})), field);
        assert_invalid(&it.post(&json!({field: 5})), field);
        assert_invalid(&it.post(&json!({field: ""})), field);
    }
    for blank in [" ", "\t\n", "\u{a0}\u{2003}"] {
        assert_invalid(&it.post(&json!({"name": blank})), "name");
        assert_invalid(&it.post(&json!({"externalId": blank})), "externalId");
    }
    for id in ["x", &it.client[1..], &it.client.replace('-', "")] {
        assert_invalid(&it.post(&json!({"clientId": id})), "clientId");
    }
    assert_eq!(it.n_assets(), 0);
}

#[test]
fn lengths_count_unicode_characters_up_to_the_limit() {
    let it = Pushing::start();
    let fields = [
        ("name", 500),
        ("externalId", 500),
        ("displayName", 500),
        ("category", 100),
        ("owner", 255),
    ];
    for (field, max) in fields {
        for letter in ["x", "\u{e9}", "\u{1f600}"] {
            let longest = letter.repeat(max);
            let answer = it.post(&json!({field: longest}));
            assert!(answer.status < 300, "{field} {letter}: {}", answer.status);
            if field != "externalId" {
                assert!(answer.json()["data"][field] == longest, "{field} {letter}");
            }
            let rule = assert_invalid(&it.post(&json!({field: longest + letter})), field);
            assert!(rule.contains(&max.to_string()), "{rule}");
            assert_invalid(&it.post(&json!({field: letter.repeat(max * 10)})), field);
        }
    }
}

#[test]
fn a_description_has_16_kib_and_tags_are_64_of_128_characters() {
    let it = Pushing::start();
    for (description, status) in [
        ("x".repeat(16_384), 201),
        ("\u{e9}".repeat(8_192), 200),
        ("x".repeat(16_385), 400),
        ("\u{e9}".repeat(8_193), 400),
    ] {
        let answer = it.post(&json!({"description": description}));
        assert_eq!(answer.status, status);
        if status == 400 {
            assert_invalid(&answer, "description");
        }
    }
    let tags = |n: usize, chars: usize| json!({"tags": vec!["\u{e9}".repeat(chars); n]});
    assert_eq!(it.post(&tags(64, 128)).status, 200);
    assert_eq!(it.post(&tags(0, 0)).status, 200);
    assert_invalid(&it.post(&tags(65, 1)), "tags");
    assert_invalid(&it.post(&tags(2, 129)), "tags[0]");
    for bad in [json!("a"), json!([1]), json!([null]), json!({"a": "b"}), json!([["a"]])] {
        let answer = it.post(&json!({"tags": bad}));
        let message = assert_problem(&answer, 400, "VALIDATION_ERROR");
        let field = answer.json()["error"]["details"][0]["field"].clone();
        assert!(field.as_str().unwrap().starts_with("tags"), "{message}");
    }
}

#[test]
fn the_largest_asset_that_every_limit_allows_is_taken() {
    let it = Pushing::start();
    let wide = |n: usize| "\u{1f600}".repeat(n);
    let answer = it.post(&json!({
        "name": wide(500), "externalId": wide(500), "displayName": wide(500),
        "category": wide(100), "owner": wide(255), "description": "x".repeat(16_384),
        "tags": vec![wide(128); 64],
    }));
    assert_eq!(answer.status, 201, "{}", answer.text().chars().take(200).collect::<String>());
    assert_eq!(it.n_assets(), 1);
}

#[test]
fn a_value_of_another_type_is_refused_by_name() {
    let it = Pushing::start();
    for (field, bad) in [
        ("displayName", json!(5)),
        ("category", json!(["a"])),
        ("owner", json!(true)),
        ("description", json!({})),
        ("isCritical", json!("true")),
        ("isCritical", json!(1)),
        ("assetType", json!(["server"])),
    ] {
        assert_invalid(&it.post(&json!({field: bad})), field);
    }
    assert_eq!(it.n_assets(), 0);
}

#[test]
fn a_key_that_comes_twice_is_refused() {
    let it = Pushing::start();
    let body = it.body(&json!({})).to_string();
    for (field, twice) in [("name", r#","name":"x-1"}"#), ("owner", r#","owner":"a","owner":"b"}"#)]
    {
        let text = format!("{}{twice}", body.trim_end_matches('}'));
        assert_invalid(&it.post_text(&text), field);
    }
    let escaped = format!("{},\"\\u006eame\":\"b\"}}", body.trim_end_matches('}'));
    assert_invalid(&it.post_text(&escaped), "name");
    assert_eq!(it.n_assets(), 0);
}

#[test]
fn a_body_that_is_no_json_object_is_refused() {
    let it = Pushing::start();
    let whole = it.body(&json!({})).to_string();
    let cut = &whole[..whole.len() - 1];
    let behind = format!("{whole}x");
    let two = format!("{whole}{whole}");
    let array = format!("[{whole}]");
    let comma = format!("{cut},}}");
    let texts = ["", " ", "null", "5", "\"x\"", "[]", "{", "x", cut, &behind, &two, &array, &comma];
    for text in texts {
        assert_problem(&it.post_text(text), 400, "VALIDATION_ERROR");
    }
    let json = Some("application/json");
    for (from, to) in [("x-1", "\\ud800"), ("x-1", "a\nb"), ("\"x-1\"", "NaN"), ("\"x-1\"", "'a'")]
    {
        assert_problem(&it.post_text(&whole.replace(from, to)), 400, "VALIDATION_ERROR");
    }
    let mut latin = whole.replace("x-1", "\u{7f}").into_bytes();
    latin.iter_mut().filter(|it| **it == 0x7f).for_each(|it| *it = 0xe9);
    assert_problem(&it.post_bytes(json, &latin), 400, "VALIDATION_ERROR");
    assert_eq!(it.n_assets(), 0);
    assert_eq!(it.post_text(&format!(" \r\n\t{whole}\n ")).status, 201, "white space is no matter");
}

#[test]
fn json_nests_32_deep_and_no_deeper() {
    let it = Pushing::start();
    let nested = |depth: usize, open: &str, close: &str| {
        let depth = depth - 1; // The object itself is one.
        let mut text = it.body(&json!({})).to_string();
        text.pop();
        format!("{text},\"pad\":{}1{}}}", open.repeat(depth), close.repeat(depth))
    };
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        assert!(it.post_text(&nested(32, open, close)).status < 300);
        for depth in [33, 34, 200, 9_000] {
            let message =
                assert_problem(&it.post_text(&nested(depth, open, close)), 400, "VALIDATION_ERROR");
            assert!(message.contains("32"), "{message}");
        }
    }
    let brackets = json!({"owner": "[".repeat(200) + "\"{\\"});
    assert_eq!(it.post(&brackets).status, 200, "brackets in a text nest nothing");
}

#[test]
fn a_body_has_64_kib_and_no_more() {
    let it = Pushing::start();
    let sized = |size: usize| {
        let mut text = it.body(&json!({"pad": ""})).to_string();
        let missing = size - text.len();
        text = text.replace("\"pad\":\"\"", &format!("\"pad\":\"{}\"", "x".repeat(missing)));
        assert_eq!(text.len(), size);
        text
    };
    assert_eq!(it.post_text(&sized(65_536)).status, 201);
    for size in [65_537, 1_000_000] {
        let answer = it.post_text(&sized(size));
        assert_problem(&answer, 413, "PAYLOAD_TOO_LARGE");
    }
}

#[test]
fn only_application_json_is_taken() {
    let it = Pushing::start();
    let body = it.body(&json!({})).to_string();
    let form = "application/x-www-form-urlencoded";
    for kind in [None, Some(""), Some("text/plain"), Some(form), Some("application/jsonp")] {
        let answer = it.post_bytes(kind, body.as_bytes());
        assert_problem(&answer, 415, "UNSUPPORTED_MEDIA_TYPE");
    }
    let kinds = ["application/json", "application/json; charset=utf-8", "Application/JSON"];
    for kind in kinds {
        assert!(it.post_bytes(Some(kind), body.as_bytes()).status < 300, "{kind}");
    }
}

#[test]
fn the_body_is_checked_before_the_client() {
    let it = Pushing::start();
    let restricted = it.posture.key_with(&json!({"clientIds": [it.client]}));
    let post =
        |key: &str, change: &Value| it.posture.send("POST", key, "/assets", &it.body(change));
    let absent = json!({"clientId": NOBODY});
    assert_problem(&post(&it.key, &absent), 404, "NOT_FOUND");
    assert_problem(&post(&restricted, &absent), 403, "FORBIDDEN");
    let other = it.posture.client("Other");
    assert_problem(&post(&restricted, &json!({"clientId": other})), 403, "FORBIDDEN");
    for (field, bad) in [
        ("name", json!(" ")),
        ("owner", json!("x".repeat(256))),
        ("assetType", json!("printer")),
        ("tags", json!(vec!["a"; 65])),
    ] {
        let change = json!({"clientId": NOBODY, field: bad});
        assert_invalid(&post(&it.key, &change), field);
        assert_invalid(&post(&restricted, &change), field);
    }
    assert_eq!(post(&restricted, &json!({})).status, 201);
}

#[test]
fn twins_pushed_at_once_make_one_asset_and_exactly_one_201() {
    let it = Pushing::start();
    let body = it.body(&json!({}));
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let push = || it.posture.send("POST", &it.key, "/assets", &body);
        let pushes: Vec<_> = (0..64).map(|_| scope.spawn(push)).collect();
        pushes.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let n = |status: u16| answers.iter().filter(|it| it.status == status).count();
    assert_eq!((n(201), n(200)), (1, 63));
    let id = |it: &Answer| it.json()["data"]["id"].as_str().unwrap().to_owned();
    let ids: BTreeSet<String> = answers.iter().map(id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(it.n_assets(), 1);
    let found = it.posture.events();
    assert_eq!(found.iter().filter(|it| it["type"] == "asset_discovered").count(), 1);
}

#[test]
fn an_acknowledged_push_survives_a_restart() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Durable"));
    let asset = push(&posture, &key, &client, "a", &json!({"owner": "me"}));
    let posture = posture.restart();
    let body = posture.read(&key, &format!("/clients/{client}/assets"));
    assert_eq!(rows(&body), std::slice::from_ref(&asset));
    let again = posture.send("POST", &key, "/assets", &new_asset(&client, "a"));
    assert_eq!((again.status, &again.json()["data"]), (200, &asset));
}
