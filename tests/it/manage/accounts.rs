//! What lists of accounts show about controls: unknown is never yes, and never no.

use serde_json::{Value, json};

use super::controls::control;
use super::read;
use crate::harness::Posture;

fn list(posture: &Posture, client: &str, identities: &Value) {
    let body = json!({"source": "s", "scope": "x", "complete": true, "identities": identities});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
}

fn account(user: &str, mfa: Option<bool>) -> Value {
    json!({"user": user, "admin": false, "enabled": true, "mfa": mfa})
}

fn standing(posture: &Posture, client: &str, code: &str) -> (String, Option<u64>) {
    let it = control(posture, client, code);
    (it["status"].as_str().unwrap().to_owned(), it["score"].as_u64())
}

#[test]
fn an_unknown_second_factor_heals_nothing() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ann = |mfa| json!({"user": "ann", "admin": true, "enabled": true, "mfa": mfa});
    let bob = account("bob", Some(true));
    list(&posture, &client, &json!([ann(Some(false)), bob]));
    let of = |code| standing(&posture, &client, code);
    let before = [of("ID-02"), of("ID-03")];
    assert_eq!(before, [("partial".into(), Some(74)), ("non_compliant".into(), Some(0))]);
    let events = posture.events().len();
    list(&posture, &client, &json!([ann(None), bob]));
    assert_eq!([of("ID-02"), of("ID-03")], before);
    let types: Vec<_> = posture.events()[events..].iter().map(|it| it["type"].clone()).collect();
    assert!(types.iter().all(|it| it != "risk_item_resolved"), "{types:?}");
    list(&posture, &client, &json!([ann(Some(true)), bob]));
    assert_eq!(of("ID-03"), ("compliant".into(), Some(100)));
}

#[test]
fn a_list_that_does_not_know_all_decides_at_most_partly() {
    let of_list = |list_of: &[Option<bool>]| {
        let posture = Posture::start();
        let client = posture.client("A");
        let all = list_of.iter().enumerate().map(|(n, mfa)| account(&format!("u{n}"), *mfa));
        list(&posture, &client, &all.collect());
        let it = control(&posture, &client, "ID-02");
        let findings = it["findings"].as_str().unwrap_or_default().to_owned();
        (it["status"].as_str().unwrap().to_owned(), it["score"].as_u64(), findings)
    };
    let (yes, no) = (Some(true), Some(false));
    let partly = of_list(&[yes, None]);
    assert_eq!((partly.0.as_str(), partly.1), ("partial", Some(50)));
    assert_eq!(partly.2, "Reported as partly met. Unknown for 1 account.");
    let mostly = of_list(&[yes, None, None]);
    assert_eq!((mostly.0.as_str(), mostly.1), ("not_assessed", None), "it passes nothing");
    let failing = of_list(&[no, yes, None, None, None]);
    assert_eq!((failing.0.as_str(), failing.1), ("non_compliant", Some(0)), "what fails fails");
    assert_eq!(failing.2, "1 of 1 fails: u0. Unknown for 3 accounts.");
}

#[test]
fn a_privileged_role_makes_an_administrator_and_enforcement_counts() {
    let posture = Posture::start();
    let client = posture.client("A");
    let cat = json!({
        "user": "cat", "admin": false, "roles": ["Global Administrator"], "enabled": true, "mfa": false,
    });
    list(&posture, &client, &json!([cat, account("bob", Some(true))]));
    assert_eq!(standing(&posture, &client, "ID-03"), ("non_compliant".into(), Some(0)));
    let open = read(&posture, "/api/conditions");
    let is_missing = |it: &&Value| it["type"] == "admin_mfa_missing";
    assert_eq!(open.as_array().unwrap().iter().filter(is_missing).count(), 1);
    let ann = |enforced| json!({"user": "ann", "admin": true, "enabled": true, "mfa": true, "mfaEnforced": enforced});
    list(&posture, &client, &json!([ann(false), account("bob", Some(true))]));
    assert_eq!(standing(&posture, &client, "ID-03"), ("non_compliant".into(), Some(0)));
    assert_eq!(standing(&posture, &client, "ID-02"), ("compliant".into(), Some(100)));
    list(&posture, &client, &json!([ann(true), account("bob", Some(true))]));
    assert_eq!(standing(&posture, &client, "ID-03"), ("compliant".into(), Some(100)));
}
