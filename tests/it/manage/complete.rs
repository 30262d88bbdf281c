//! Until when observations count, and what a complete read ends.

use serde_json::{Value, json};

use super::controls::control;
use crate::harness::Posture;

#[test]
fn an_observation_ends_after_it_was_made() {
    let posture = Posture::start();
    let client = posture.client("A");
    let push = |valid_until: &str| {
        let body = json!({"source": "s", "observedAt": "2026-03-09T00:00:00Z", "observations": [
            {"control": "ID-05", "status": "compliant", "validUntil": valid_until}
        ]});
        posture.operator("POST", &format!("/api/clients/{client}/facts"), &body)
    };
    for early in ["2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z"] {
        let answer = push(early);
        assert_eq!(answer.status, 400);
        let rule = &answer.json()["error"]["details"][0];
        assert_eq!(rule["field"], "observations[0].validUntil");
        assert_eq!(rule["message"], "must be after observedAt");
    }
    assert_eq!(push("2026-03-09T00:00:01Z").status, 200);
}

#[test]
fn a_complete_read_that_finds_nothing_ends_what_was_there() {
    let posture = Posture::start();
    let client = posture.client("A");
    let send = |observations: Value, more: Value| {
        let mut body = json!({"source": "s", "scope": "x", "complete": true});
        body["observations"] = observations;
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        posture.pass_s(60);
        answer.json()["data"].clone()
    };
    let checks = |n: usize| -> Value {
        let of =
            |n| json!({"control": "ID-05", "check": format!("c{n}"), "status": "non_compliant"});
        (0..n).map(of).collect()
    };
    let status = || control(&posture, &client, "ID-05")["status"].clone();
    send(checks(2), json!({}));
    assert_eq!(status(), "non_compliant");
    let answer = send(json!([]), json!({}));
    assert_eq!((&answer["observationsHeld"], status()), (&json!(false), json!("not_assessed")));
    // Many at once are held first, as with any list that shrinks.
    send(checks(7), json!({}));
    assert_eq!(send(json!([]), json!({}))["observationsHeld"], true);
    assert_eq!(status(), "non_compliant");
    assert_eq!(send(json!([]), json!({}))["observationsHeld"], false, "a second one agrees");
    assert_eq!(status(), "not_assessed");
    send(checks(7), json!({}));
    send(json!([]), json!({"confirmShrink": true}));
    assert_eq!(status(), "not_assessed");
}
