//! Operation 5.

use serde_json::{Value, json};

use super::{
    ASSET, NOBODY, assert_invalid, assert_problem, assert_shape, import_sample, push, rows,
};
use crate::harness::{Answer, Posture, send};

struct Updating {
    posture: Posture,
    key: String,
    client: String,
    /// As it was pushed, with every field set.
    asset: Value,
}

impl Updating {
    fn start() -> Self {
        let posture = Posture::start();
        let (key, client) = (posture.key(), posture.client("Updating"));
        let more = json!({
            "displayName": "D", "category": "C", "isCritical": true, "owner": "O",
            "description": "text", "tags": ["t"],
        });
        let asset = push(&posture, &key, &client, "a", &more);
        Self { posture, key, client, asset }
    }

    fn path(&self) -> String {
        format!("/assets/{}", self.asset["id"].as_str().unwrap())
    }

    fn put(&self, body: &Value) -> Answer {
        self.posture.send("PUT", &self.key, &self.path(), body)
    }

    fn put_text(&self, kind: &str, body: &str) -> Answer {
        let headers = [("X-API-Key", self.key.as_str()), ("Content-Type", kind)];
        let path = format!("/api/v1{}", self.path());
        send(self.posture.address, "PUT", &path, &headers, body.as_bytes())
    }

    /// As the list has it.
    fn listed(&self) -> Value {
        let body = self.posture.read(&self.key, &format!("/clients/{}/assets", self.client));
        rows(&body)[0].clone()
    }
}

#[test]
fn only_the_fields_that_are_sent_change() {
    let it = Updating::start();
    it.posture.clock.set(it.posture.now().plus_s(60));
    let mut wanted = it.asset.clone();
    wanted["lastUpdatedAt"] = json!("2026-03-10T09:01:00.000Z");
    for (field, value) in [
        ("name", json!("renamed")),
        ("displayName", json!("shown")),
        ("category", json!("Mail")),
        ("isCritical", json!(false)),
        ("owner", json!("me")),
    ] {
        let answer = it.put(&json!({field: value}));
        assert_eq!(answer.status, 200, "{field}");
        wanted[field] = value;
        let body = answer.json();
        assert_shape(&body["data"], ASSET);
        assert_eq!(body, json!({"data": wanted}));
        assert_eq!(it.listed(), wanted);
    }
    let all = json!({
        "name": "n", "displayName": "d", "category": "c", "isCritical": true, "owner": "o",
        "description": "e", "tags": [],
    });
    let asset = it.put(&all).json()["data"].clone();
    for field in ["name", "displayName", "category", "isCritical", "owner"] {
        assert_eq!(asset[field], all[field]);
    }
}

#[test]
fn null_clears_what_may_be_null() {
    let it = Updating::start();
    for field in ["displayName", "category", "owner", "description"] {
        let answer = it.put(&json!({field: null}));
        assert_eq!(answer.status, 200, "{field}");
        assert!(answer.json()["data"].get(field).is_none_or(Value::is_null));
    }
    let listed = it.listed();
    assert!(["displayName", "category", "owner"].iter().all(|it| listed[it].is_null()));
    assert_eq!((&listed["name"], &listed["isCritical"]), (&json!("a"), &json!(true)));
}

#[test]
fn null_is_refused_where_there_is_no_null() {
    let it = Updating::start();
    for field in ["name", "isCritical", "tags"] {
        assert_invalid(&it.put(&json!({field: null, "owner": "lost"})), field);
    }
    assert_eq!(it.listed(), it.asset, "a refused change changes nothing");
}

#[test]
fn an_empty_change_and_fields_outside_asset_update_change_nothing() {
    let it = Updating::start();
    let foreign = json!({
        "id": NOBODY, "clientId": NOBODY, "externalId": "b", "assetType": "printer",
        "status": "retired", "isManaged": false, "riskScore": 5, "source": 7,
        "firstDiscoveredAt": "2020-01-01T00:00:00Z", "lastUpdatedAt": null, "x": [{}],
    });
    it.posture.clock.set(it.posture.now().plus_s(60));
    for body in [json!({}), foreign] {
        let answer = it.put(&body);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json()["data"], it.asset);
        assert_eq!(it.listed(), it.asset);
    }
    let again = super::new_asset(&it.client, "a");
    assert_eq!(it.posture.send("POST", &it.key, "/assets", &again).status, 200, "still its id");
}

#[test]
fn lengths_and_types_are_those_of_creation() {
    let it = Updating::start();
    for (field, max) in [("name", 500), ("displayName", 500), ("category", 100), ("owner", 255)] {
        let longest = "\u{1f600}".repeat(max);
        let answer = it.put(&json!({field: longest}));
        assert!(answer.status == 200 && answer.json()["data"][field] == longest, "{field}");
        let rule = assert_invalid(&it.put(&json!({field: longest + "x"})), field);
        assert!(rule.contains(&max.to_string()), "{rule}");
        assert_invalid(&it.put(&json!({field: 5})), field);
    }
    assert_eq!(it.put(&json!({"description": "x".repeat(16_384)})).status, 200);
    assert_invalid(&it.put(&json!({"description": "x".repeat(16_385)})), "description");
    assert_eq!(it.put(&json!({"tags": vec!["\u{e9}".repeat(128); 64]})).status, 200);
    assert_invalid(&it.put(&json!({"tags": vec!["x"; 65]})), "tags");
    assert_invalid(&it.put(&json!({"tags": ["a", "x".repeat(129)]})), "tags[1]");
    assert_invalid(&it.put(&json!({"tags": ["a", 5]})), "tags[1]");
    for blank in ["", " ", "\u{2003}"] {
        assert_invalid(&it.put(&json!({"name": blank})), "name");
    }
    assert_invalid(&it.put(&json!({"isCritical": "true"})), "isCritical");
}

#[test]
fn a_body_that_is_no_json_object_changes_nothing() {
    let it = Updating::start();
    let json = "application/json";
    for body in
        ["", "null", "[]", "[{\"owner\":\"x\"}]", "{\"owner\":\"x\"", "{\"owner\":\"x\"}}", "5"]
    {
        assert_problem(&it.put_text(json, body), 400, "VALIDATION_ERROR");
    }
    assert_invalid(&it.put_text(json, r#"{"owner":"x","owner":"y"}"#), "owner");
    let answer = it.put_text("text/plain", "{\"owner\":\"x\"}");
    assert_problem(&answer, 415, "UNSUPPORTED_MEDIA_TYPE");
    let padded = |n: usize| format!("{{\"owner\":\"O\",\"pad\":\"{}\"}}", "x".repeat(n - 22));
    assert_eq!(padded(65_536).len(), 65_536);
    assert_problem(&it.put_text(json, &padded(65_537)), 413, "PAYLOAD_TOO_LARGE");
    let deep = |n: usize| format!("{{\"pad\":{}{}}}", "[".repeat(n - 1), "]".repeat(n - 1));
    assert_problem(&it.put_text(json, &deep(33)), 400, "VALIDATION_ERROR");
    assert_eq!(it.listed(), it.asset);
    assert_eq!(it.put_text(json, &padded(65_536)).status, 200);
    assert_eq!(it.put_text(json, &deep(32)).status, 200);
}

#[test]
fn an_absent_or_malformed_id_is_not_found_whatever_the_body_says() {
    let it = Updating::start();
    let id = it.asset["id"].as_str().unwrap();
    for id in [NOBODY, "x", &id[1..], &id.replace('-', ""), &it.client, "%20"] {
        for body in [json!({}), json!({"name": " "}), json!([])] {
            let answer = it.posture.send("PUT", &it.key, &format!("/assets/{id}"), &body);
            assert_problem(&answer, 404, "NOT_FOUND");
        }
    }
    let upper = format!("/assets/{}", id.to_uppercase());
    assert_eq!(it.posture.send("PUT", &it.key, &upper, &json!({})).status, 200);
}

#[test]
fn an_asset_of_a_client_that_the_key_may_not_see_is_forbidden() {
    let it = Updating::start();
    let other = it.posture.client("Other");
    let restricted = it.posture.key_with(&json!({"clientIds": [other]}));
    for body in [json!({"owner": "thief"}), json!({"name": " "})] {
        let answer = it.posture.send("PUT", &restricted, &it.path(), &body);
        assert_problem(&answer, 403, "FORBIDDEN");
    }
    assert_eq!(it.listed(), it.asset);
    let own = it.posture.key_with(&json!({"clientIds": [other, it.client]}));
    assert_eq!(it.posture.send("PUT", &own, &it.path(), &json!({})).status, 200);
}

#[test]
fn an_asset_of_an_inactive_client_is_not_found() {
    let it = Updating::start();
    super::deactivate(&it.posture, &it.client);
    assert_problem(&it.put(&json!({"owner": "x"})), 404, "NOT_FOUND");
}

#[test]
fn what_a_person_set_survives_the_next_import() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Kept"));
    let file = "prowler/aws.csv";
    import_sample(&posture, &client, file);
    let list = format!("/clients/{client}/assets?limit=100");
    let before = rows(&posture.read(&key, &list)).clone();
    let set = json!({
        "name": "ours", "displayName": "Ours", "category": "mine", "owner": "me",
        "isCritical": true,
    });
    let found = before.iter().find(|it| it["riskScore"].is_number()).expect("one at risk");
    let path = format!("/assets/{}", found["id"].as_str().unwrap());
    let answer = posture.send("PUT", &key, &path, &set).json()["data"].clone();
    assert_eq!(answer["riskScore"], found["riskScore"], "a write shows the risk too");
    posture.pass_days(2);
    let file = crate::harness::sample::own(file);
    assert_eq!(posture.import(&client, "observedAt=now&again=true", &file).status, 200);
    let after = rows(&posture.read(&key, &list)).clone();
    assert_eq!(after.len(), before.len());
    let after = after.iter().find(|it| it["id"] == found["id"]).unwrap();
    for field in ["name", "displayName", "category", "owner", "isCritical"] {
        assert_eq!(after[field], set[field], "{field}");
    }
    assert_eq!(after["firstDiscoveredAt"], found["firstDiscoveredAt"]);
}
