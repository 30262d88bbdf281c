//! The catalogue, for whoever has a key.

use serde_json::{Value, json};

use crate::harness::Posture;

fn get(posture: &Posture, key: &str, path: &str) -> (u16, Value) {
    let answer = posture.fetch(key, path);
    (answer.status, answer.json())
}

#[test]
fn any_valid_key_reads_the_catalogue_without_spending_its_own_limits() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"scopes": ["read:clients"], "perMinute": 2}));
    let (status, frameworks) = get(&posture, &key, "/api/frameworks");
    assert_eq!(status, 200);
    assert_eq!(frameworks["data"].as_array().unwrap().len(), 18);
    assert_eq!(get(&posture, &key, "/api/controls").0, 200);
    assert_eq!(get(&posture, &key, "/api/frameworks").0, 429, "it has limits of its own");
    assert_eq!(posture.get(&key, "/clients").status, 200);
    assert_eq!(get(&posture, "garbage", "/api/controls").0, 401);
}

#[test]
fn a_framework_shows_its_rows_with_controls_and_reasons() {
    let posture = Posture::start();
    let key = posture.key();
    let (status, shown) = get(&posture, &key, "/api/frameworks/cmmc_l2");
    assert_eq!(status, 200);
    let rows = shown["data"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 110);
    assert_eq!(rows[0]["requirement"], "AC.L2-3.1.1");
    for row in rows {
        let controls = row["controls"].as_array().unwrap();
        assert!(!controls.is_empty(), "{}", row["requirement"]);
        assert!(controls.iter().all(|it| !it["why"].as_str().unwrap().is_empty()));
    }
    let (status, problem) = get(&posture, &key, "/api/frameworks/nope");
    assert_eq!(status, 404);
    assert!(problem["error"]["message"].as_str().unwrap().contains("LOI_25"));
}

#[test]
fn a_control_shows_what_decides_it_and_where_it_is_mapped() {
    let posture = Posture::start();
    let (_, shown) = get(&posture, &posture.key(), "/api/controls");
    let controls = shown["data"].as_array().unwrap();
    let found = controls.iter().find(|it| it["controlCode"] == "CLD-01").unwrap();
    assert_eq!(found["severity"], "critical");
    let checks = found["checks"]["prowler"].as_array().unwrap();
    assert!(checks.contains(&json!("iam_root_mfa_enabled")), "{checks:?}");
    assert!(!found["requirements"].as_object().unwrap().is_empty());
}
