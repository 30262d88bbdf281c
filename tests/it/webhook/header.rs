//! Headers of an operator's own.

use serde_json::{Value, json};

use super::{Receiver, add, path, push, start};
use crate::manage::refused_field;

#[test]
fn own_headers_are_sent_with_every_delivery_and_their_values_are_never_shown() {
    let (posture, receiver) = (start(), Receiver::start());
    let body = json!({
        "url": receiver.sink.url(), "events": ["all"],
        "headers": [
            {"name": "Authorization", "value": "Basic Y2FuYXJ5"},
            {"name": "X-Tenant", "value": "Canary 7f3a"},
        ],
    });
    let made = posture.operator("POST", "/api/webhooks", &body);
    assert_eq!(made.status, 201, "{}", made.text());
    let webhook = made.json()["data"].clone();
    assert_eq!(webhook["headers"], json!(["Authorization", "X-Tenant"]));
    let client = posture.client("A");
    push(&posture, &client, "web-1");
    let request = receiver.wait(1);
    assert_eq!(request.header("authorization"), Some("Basic Y2FuYXJ5"));
    assert_eq!(request.header("x-tenant"), Some("Canary 7f3a"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert!(request.header("x-service-signature").is_some(), "it is signed all the same");
    let tested = posture.operator("POST", &format!("{}/test", path(&webhook)), &json!({}));
    assert_eq!(tested.json()["data"]["delivered"], true);
    assert_eq!(receiver.wait(2).header("x-tenant"), Some("Canary 7f3a"));
    let posture = posture.restart_after(|_| (), super::allow_loopback);
    push(&posture, &client, "web-2");
    assert_eq!(receiver.wait(3).header("authorization"), Some("Basic Y2FuYXJ5"));
    let deliveries = format!("{}/deliveries", path(&webhook));
    for path in ["/api/webhooks", "/api/audit", "/api/events", &deliveries] {
        let text = posture.operator("GET", path, &Value::Null).text();
        assert!(!text.contains("Y2FuYXJ5") && !text.contains("7f3a"), "{path}");
    }
}

#[test]
fn a_change_replaces_all_headers_or_keeps_them() {
    let (posture, receiver) = (start(), Receiver::start());
    let webhook = add(&posture, &receiver.sink.url());
    assert_eq!(webhook["headers"], json!([]));
    let change = |body: Value| {
        let answer = posture.operator("PATCH", &path(&webhook), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"]["headers"].clone()
    };
    let two = json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]);
    assert_eq!(change(json!({"headers": two})), json!(["A", "B"]));
    assert_eq!(change(json!({"description": "kept"})), json!(["A", "B"]));
    assert_eq!(change(json!({"headers": [{"name": "C", "value": "3"}]})), json!(["C"]));
    push(&posture, &posture.client("A"), "web-1");
    let request = receiver.wait(1);
    assert_eq!((request.header("a"), request.header("c")), (None, Some("3")));
    // Values that nobody can read again are not sent elsewhere.
    let elsewhere = receiver.sink.url() + "/elsewhere";
    let moved = posture.operator("PATCH", &path(&webhook), &json!({"url": elsewhere}));
    assert_eq!(moved.status, 400, "{}", moved.text());
    assert!(moved.problem().1.starts_with("headers: must be in the same request as another url"));
    let both = json!({"url": elsewhere, "headers": [{"name": "D", "value": "4"}]});
    assert_eq!(change(both), json!(["D"]));
    assert_eq!(change(json!({"url": receiver.sink.url(), "headers": []})), json!([]));
    assert_eq!(change(json!({"url": elsewhere})), json!([]));
    assert_eq!(change(json!({"url": receiver.sink.url()})), json!([]));
    push(&posture, &posture.client("B"), "web-2");
    assert_eq!(receiver.wait(2).header("c"), None);
}

#[test]
fn headers_of_the_service_the_body_and_the_connection_are_refused() {
    let (posture, receiver) = (start(), Receiver::start());
    let webhook = add(&posture, &receiver.sink.url());
    let refused = |headers: Value| {
        let body = json!({ "headers": headers });
        refused_field(&posture.operator("PATCH", &path(&webhook), &body))
    };
    for name in [
        "Host",
        "CONNECTION",
        "Keep-Alive",
        "Proxy-Authorization",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Expect",
        "Content-Type",
        "content-length",
        "X-Service-Signature",
        "x-service-anything",
        "webhook-id",
    ] {
        let rule = refused(json!([{"name": name, "value": "x"}])).1;
        assert_eq!(rule, format!("{name} is set by the service or belongs to the connection"));
    }
    for name in ["", "a b", "a:b", "ä", "a\r\nb", &"n".repeat(101)] {
        let (field, _) = refused(json!([{"name": name, "value": "x"}]));
        assert!(field.starts_with("headers"), "{name}: {field}");
    }
    for value in ["", " x", "x ", "a\r\nHost: b", "ä", "a\u{0}", &"v".repeat(2_001)] {
        let (field, _) = refused(json!([{"name": "X-A", "value": value}]));
        assert!(field.starts_with("headers"), "{value}: {field}");
    }
    let twice = json!([{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "2"}]);
    assert_eq!(refused(twice).1, "x-a is named twice");
    let named = |n: usize| -> Value {
        (0..n).map(|it| json!({"name": format!("X-{it}"), "value": "v".repeat(2_000)})).collect()
    };
    assert_eq!(refused(named(6)).1, "must be at most 5 headers");
    let most = posture.operator("PATCH", &path(&webhook), &json!({"headers": named(5)}));
    assert_eq!(most.status, 200, "{}", most.text());
    let longest = json!([{"name": "n".repeat(100), "value": "x"}]);
    let most = posture.operator("PATCH", &path(&webhook), &json!({ "headers": longest }));
    assert_eq!(most.status, 200, "{}", most.text());
}
