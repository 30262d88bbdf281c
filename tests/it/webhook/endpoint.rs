//! Endpoints: what they subscribe to, what happens while they are off, and when they go.

use posture::engine::event::EventKind;
use serde_json::{Value, json};

use super::{
    Receiver, add, allow_loopback, change, deliveries, path, push, shown, start, try_add, wait_for,
};
use crate::harness::process::wait_until;
use crate::openapi;

#[test]
fn an_endpoint_gets_what_it_subscribed_to_and_nothing_else() {
    let (posture, receiver) = (start(), Receiver::start());
    let (mine, other) = (posture.client("Mine"), posture.client("Other"));
    let body = json!({
        "url": receiver.sink.url(),
        "events": ["asset_discovered", "alert_triggered"],
        "clientIds": [mine],
    });
    let webhook = try_add(&posture, &body).json()["data"].clone();
    push(&posture, &other, "theirs");
    crate::manage::import(&posture, &mine, "", crate::manage::MIXED);
    push(&posture, &mine, "ours");
    let request = receiver.wait(1);
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["data"]["object"]["name"], "ours");
    receiver.has_only(1);
    assert_eq!(deliveries(&posture, &webhook).len(), 1);
}

#[test]
fn all_events_are_shown_as_they_are_asked_for() {
    let posture = start();
    let body = json!({ "url": "https://hooks.example.com/x", "events": ["all"] });
    let webhook = try_add(&posture, &body).json()["data"].clone();
    assert_eq!(webhook["events"], json!(["all"]));
    let some = change(&posture, &webhook, &json!({ "events": ["alert_triggered"] }));
    assert_eq!(some["events"], json!(["alert_triggered"]));
    let again = change(&posture, &webhook, &json!({ "events": webhook["events"] }));
    assert_eq!(again["events"], json!(["all"]), "what is shown can be sent");
}

#[test]
fn a_disabled_endpoint_gets_nothing_until_it_is_enabled_and_nothing_of_before_unless_recovered() {
    let (posture, receiver) = (start(), Receiver::start());
    receiver.answer_with(500);
    let webhook = add(&posture, &receiver.sink.url());
    let client = posture.client("A");
    push(&posture, &client, "waits");
    receiver.wait(1);
    wait_for(&posture, &webhook, "waiting");
    let off = change(&posture, &webhook, &json!({ "enabled": false }));
    assert_eq!((&off["enabled"], &off["disabledBecause"]), (&json!(false), &json!("operator")));
    receiver.answer_with(200);
    push(&posture, &client, "missed");
    posture.pass_s(3_600);
    receiver.has_only(1);
    change(&posture, &webhook, &json!({ "enabled": true }));
    posture.app.outbox().notify_one();
    wait_for(&posture, &webhook, "skipped");
    posture.pass_s(1);
    push(&posture, &client, "after");
    let request = receiver.wait(2);
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["data"]["object"]["name"], "after");
    let body = json!({ "since": "2026-03-10T00:00:00Z" });
    let recovered = posture.operator("POST", &format!("{}/recover", path(&webhook)), &body).json();
    assert_eq!(recovered["data"], json!({ "queued": 2, "next": null }));
    receiver.wait(4);
    let names: std::collections::BTreeSet<String> = receiver.requests()[2..]
        .iter()
        .map(|it| serde_json::from_slice::<Value>(&it.body).unwrap())
        .map(|it| it["data"]["object"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["missed".to_owned(), "waits".to_owned()].into());
    let waiting = || shown(&posture, &webhook)["waiting"] == 0;
    assert!(wait_until(super::SOON, waiting), "{}", shown(&posture, &webhook));
}

#[test]
fn a_removed_endpoint_leaves_nothing_behind() {
    let (posture, receiver) = (start(), Receiver::start());
    receiver.answer_with(500);
    let webhook = add(&posture, &receiver.sink.url());
    push(&posture, &posture.client("A"), "one");
    receiver.wait(1);
    assert_eq!(posture.operator("DELETE", &path(&webhook), &Value::Null).status, 204);
    posture.pass_days(1);
    receiver.has_only(1);
    let list = posture.operator("GET", "/api/webhooks", &Value::Null).json();
    assert_eq!(list["data"], json!([]));
    for (method, tail) in [("GET", "/deliveries"), ("POST", "/test"), ("DELETE", "")] {
        let answer = posture.operator(method, &format!("{}{tail}", path(&webhook)), &Value::Null);
        assert_eq!(answer.status, 404, "{method} {tail}: {}", answer.text());
    }
}

#[test]
fn an_erased_client_leaves_no_delivery_behind() {
    let (posture, receiver) = (start(), Receiver::start());
    let webhook = add(&posture, &receiver.sink.url());
    let (erased, kept) = (posture.client("Erased"), posture.client("Kept"));
    push(&posture, &erased, "one");
    push(&posture, &kept, "two");
    receiver.wait(2);
    let path = format!("/api/clients/{erased}");
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    let left = deliveries(&posture, &webhook);
    assert_eq!((left.len(), &left[0]["clientId"]), (1, &json!(kept)));
}

#[test]
fn a_test_delivery_shows_what_the_endpoint_said() {
    let (posture, receiver) = (start(), Receiver::start());
    let webhook = add(&posture, &receiver.sink.url());
    let path = format!("{}/test", path(&webhook));
    let tested = posture.operator("POST", &path, &json!({ "type": "mfa_disabled" })).json();
    assert_eq!(
        (&tested["data"]["delivered"], &tested["data"]["status"], &tested["data"]["answer"]),
        (&json!(true), &json!(200), &json!("ok"))
    );
    let request = receiver.wait(1);
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        (&body["type"], &body["data"]["object"]["test"]),
        (&json!("mfa_disabled"), &json!(true))
    );
    receiver.answer_with(500);
    let tested = posture.operator("POST", &path, &json!({})).json();
    assert_eq!(tested["data"]["delivered"], false);
    assert_eq!(deliveries(&posture, &webhook), [] as [Value; 0]);
    assert_eq!(posture.events(), [] as [Value; 0]);
}

/// A receiver that is made from the document refuses anything else.
#[test]
fn a_test_delivery_of_each_type_is_as_its_schema_says() {
    let (posture, receiver, document) = (start(), Receiver::start(), openapi::document());
    let webhook = add(&posture, &receiver.sink.url());
    let path = format!("{}/test", path(&webhook));
    for (index, kind) in EventKind::ALL.map(EventKind::as_str).into_iter().enumerate() {
        let tested = posture.operator("POST", &path, &json!({ "type": kind })).json();
        assert_eq!(tested["data"]["delivered"], true, "{tested}");
        let body: Value = serde_json::from_slice(&receiver.wait(index + 1).body).unwrap();
        let described = &document["x-webhooks"][kind]["post"]["requestBody"];
        let schema = &described["content"]["application/json"]["schema"];
        let faults = openapi::faults(&document, schema, &body, kind);
        assert!(schema.is_object() && faults.is_empty(), "{faults:?}: {body}");
        // With the bounds and patterns.
        let whole = document.pointer(schema["$ref"].as_str().unwrap().trim_start_matches('#'));
        let found = jsonschema::validate(whole.unwrap(), &body);
        assert!(found.is_ok(), "{kind}: {found:?}: {body}");
        assert_eq!(body["data"]["object"]["test"], true);
    }
}

#[test]
fn what_is_wrong_with_an_endpoint_is_said() {
    let posture = start();
    let refused = |body: &Value| {
        let answer = try_add(&posture, body);
        assert_eq!(answer.status, 400, "{}", answer.text());
        answer.problem().1
    };
    for (body, said) in [
        (json!({ "events": ["all"] }), "url: is required"),
        (json!({ "url": "https://example.com" }), "events: is required"),
        (
            json!({ "url": "https://example.com", "events": [] }),
            "must name at least one event type",
        ),
        (
            json!({ "url": "https://example.com", "events": ["nothing"] }),
            "must be one of all, compliance_status_changed",
        ),
        (json!({ "url": "ftp://example.com", "events": ["all"] }), "https"),
        (json!({ "url": "https://169.254.169.254/", "events": ["all"] }), "url:"),
        (json!({ "url": "https://e.com", "events": ["all"], "clientIds": ["x"] }), "clientIds"),
        (json!({ "url": "https://e.com", "events": ["all"], "enabled": false }), "enabled"),
        (json!({ "url": "https://e.com", "events": ["all"], "colour": 1 }), "colour"),
    ] {
        let message = refused(&body);
        assert!(message.contains(said), "{body}: {message}");
    }
}

#[test]
fn without_its_key_file_everything_works_but_the_sealed_secrets() {
    let (mut posture, receiver) = (start(), Receiver::start());
    let webhook = add(&posture, &receiver.sink.url());
    let client = posture.client("A");
    posture = posture.restart_after(
        |dir| std::fs::remove_file(dir.join("posture.key")).unwrap(),
        allow_loopback,
    );
    assert_eq!(shown(&posture, &webhook)["needsSecret"], true);
    push(&posture, &client, "kept");
    receiver.has_only(0);
    let body = json!({ "overlapS": 60 });
    let rotated = posture.operator("POST", &format!("{}/rotate-secret", path(&webhook)), &body);
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    receiver.wait(1);
    assert_eq!(shown(&posture, &webhook)["needsSecret"], false);
}
