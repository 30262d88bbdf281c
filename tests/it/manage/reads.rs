//! Complete reads, cut ones, late ones, and what of them stands.

use serde_json::{Value, json};

use super::{read, refused_field};
use crate::harness::{Answer, Posture};

fn try_push(posture: &Posture, client: &str, facts: &Value) -> Answer {
    let mut body = json!({ "source": "entra", "scope": "tenant", "complete": true });
    body.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
    posture.operator("POST", &format!("/api/clients/{client}/facts"), &body)
}

/// A complete read, a minute after the one before; the types of the events that it made, beside those of each run.
fn push(posture: &Posture, client: &str, facts: &Value) -> Vec<String> {
    posture.pass_s(60);
    let n_before = posture.events().len();
    let answer = try_push(posture, client, facts);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let events = posture.events().split_off(n_before);
    let kinds = events.iter().map(|it| it["type"].as_str().unwrap().to_owned());
    let of_run = ["integration_sync_completed", "risk_assessment_completed"];
    kinds.filter(|it| !of_run.contains(&&**it)).collect()
}

const NOTHING: [&str; 0] = [];

fn status(posture: &Posture, client: &str, code: &str) -> String {
    let shown = read(posture, &format!("/api/clients/{client}/posture"));
    let controls = shown["controls"].as_array().unwrap();
    let control = controls.iter().find(|it| it["controlCode"] == code).unwrap();
    control["status"].as_str().unwrap().to_owned()
}

/// So many accounts, all well but the first: an administrator without MFA.
fn accounts(n: usize) -> Value {
    let one = |it: usize| json!({ "user": format!("u{it}"), "admin": it == 0, "mfa": it != 0, "enabled": true });
    json!((0..n).map(one).collect::<Vec<_>>())
}

fn checks(n: usize) -> Value {
    let one = |it: usize| json!({ "control": "DAT-01", "check": format!("c{it}"), "status": "compliant" });
    json!((0..n).map(one).collect::<Vec<_>>())
}

#[test]
fn what_accounts_say_of_controls_stands_beside_what_checks_say() {
    let posture = Posture::start();
    let client = posture.client("A");
    let all = json!({ "identities": accounts(20), "observations": checks(20) });
    push(&posture, &client, &all);
    for _ in 0..4 {
        assert_eq!(push(&posture, &client, &all), NOTHING);
        assert_eq!(status(&posture, &client, "ID-03"), "non_compliant");
    }
    assert_eq!(push(&posture, &client, &json!({ "observations": checks(20) })), NOTHING);
    assert_eq!(status(&posture, &client, "ID-03"), "non_compliant", "no accounts were sent");
    let cut = json!({ "identities": json!([]), "observations": checks(20) });
    assert_eq!(push(&posture, &client, &cut), NOTHING);
    assert_eq!(status(&posture, &client, "ID-03"), "non_compliant", "the accounts were cut off");
}

#[test]
fn what_a_list_of_accounts_no_longer_says_of_a_control_is_gone() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, &json!({ "identities": accounts(20) }));
    let mut all = accounts(20);
    all.as_array_mut().unwrap().remove(0);
    let told = push(&posture, &client, &json!({ "identities": all }));
    assert!(told.contains(&"risk_item_resolved".to_owned()), "{told:?}");
    assert_eq!(status(&posture, &client, "ID-03"), "not_assessed", "there is no administrator");
    assert_eq!(status(&posture, &client, "ID-02"), "compliant");
}

#[test]
fn a_list_that_comes_late_tells_nothing() {
    let posture = Posture::start();
    let client = posture.client("A");
    let [first, late] = [3, 2].map(|it| posture.now().plus_days(-it));
    let all = json!({ "identities": accounts(20), "apps": [], "assets": [] });
    let at = |facts: &Value, at: &str| {
        let mut facts = facts.clone();
        facts["observedAt"] = json!(at);
        facts
    };
    push(&posture, &client, &at(&all, &first.to_string()));
    push(&posture, &client, &all);
    let mut before = accounts(20);
    before[0]["mfa"] = json!(true);
    before[1]["mfa"] = json!(false);
    before[2]["admin"] = json!(true);
    let mut before = json!({
        "identities": before, "assets": [], "apps": [{ "name": "WeTransfer", "users": 1 }],
    });
    assert_eq!(push(&posture, &client, &at(&before, &late.to_string())), NOTHING);
    before["complete"] = json!(false);
    assert_eq!(
        push(&posture, &client, &at(&before, &late.to_string())),
        NOTHING,
        "nor does a part"
    );
    assert_eq!(push(&posture, &client, &all), NOTHING, "and what came after it stands");
    let open = read(&posture, "/api/conditions");
    let kinds = open.as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap());
    let mut kinds: Vec<_> = kinds.collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["admin_mfa_missing", "critical_risk_detected", "risk_item_created"]);
}

#[test]
fn the_first_checks_and_accounts_of_a_known_source_are_a_baseline_too() {
    let posture = Posture::start();
    let client = posture.client("A");
    let failing = |code: &str| json!([{ "control": code, "status": "non_compliant" }]);
    push(&posture, &client, &json!({ "assets": [] }));
    let told = push(&posture, &client, &json!({ "assets": [], "identities": accounts(20) }));
    assert_eq!(told, ["critical_risk_detected", "admin_mfa_missing"]);
    let first = json!({ "identities": accounts(20), "observations": failing("END-04") });
    assert_eq!(push(&posture, &client, &first), NOTHING);
    let second = json!({ "identities": accounts(20), "observations": failing("END-01") });
    let told = push(&posture, &client, &second);
    assert!(told.contains(&"risk_item_created".to_owned()), "{told:?}");
}

#[test]
fn a_new_part_of_a_run_silences_nothing_of_the_others() {
    let posture = Posture::start();
    let client = posture.client("A");
    let check = |status: &str| json!([{ "control": "END-04", "status": status }]);
    let fine = json!({ "observations": check("compliant") });
    push(&posture, &client, &fine);
    let both = json!({ "observations": check("non_compliant"), "identities": accounts(20) });
    let told = push(&posture, &client, &both);
    let n = |kind: &str| told.iter().filter(|it| *it == kind).count();
    assert_eq!(n("risk_item_created"), 1, "what the accounts show is no news: {told:?}");
    let shown = posture.events();
    let risk = shown.iter().rfind(|it| it["type"] == "risk_item_created").unwrap();
    let title = risk["data"]["object"]["title"].as_str().unwrap();
    assert!(title.starts_with("Disk encryption is off"), "{risk}");
}

#[test]
fn an_open_condition_of_a_source_says_how_it_does_now() {
    let posture = Posture::start();
    let client = posture.client("A");
    let failed = json!({ "complete": false, "sync": { "status": "failed", "message": "401" } });
    push(&posture, &client, &json!({ "assets": [] }));
    for (n, expected) in [(1, "degraded"), (2, "degraded"), (3, "failing")] {
        push(&posture, &client, &failed);
        let open = read(&posture, "/api/conditions")[0].clone();
        assert_eq!((&open["object"]["status"], &open["occurrence"]), (&json!(expected), &json!(1)));
        assert_eq!(open["object"]["failures"], if expected == "failing" { 3 } else { 1 }, "{n}");
    }
}

#[test]
fn the_check_that_lists_of_accounts_make_is_theirs() {
    let posture = Posture::start();
    let client = posture.client("A");
    let check = json!([{ "control": "ID-02", "check": "identities", "status": "compliant" }]);
    let answer = try_push(&posture, &client, &json!({ "observations": check }));
    assert_eq!(refused_field(&answer).0, "observations[0].check");
}
