//! The service about itself.

use serde_json::{Value, json};

use super::read;
use crate::harness::{Posture, catalog};

#[test]
fn the_service_counts_what_it_has() {
    let posture = Posture::start();
    let catalog = catalog();
    let n_checks: usize = catalog.tools.values().map(|it| it.checks.len()).sum();
    let (a, b) = (posture.client("A"), posture.client("B"));
    posture.client("C");
    posture.operator("PATCH", &format!("/api/clients/{a}"), &json!({"active": false}));
    posture.operator("DELETE", &format!("/api/clients/{b}"), &Value::Null);
    posture.key();
    posture.pass_s(90);
    let system = read(&posture, "/api/system");
    for (member, value) in [
        ("version", json!("0.1.0")),
        ("mspId", json!("msp-test")),
        ("ready", json!(true)),
        ("now", json!("2026-03-10T09:01:30.000Z")),
        ("clientsActive", json!(1)),
        ("clientsInactive", json!(1)),
        ("keys", json!(1)),
        ("frameworks", json!(18)),
        ("controls", json!(catalog.controls.len())),
        ("checksMapped", json!(n_checks)),
        ("damagedRecords", json!(0)),
        ("diskFull", json!(false)),
    ] {
        assert_eq!(system[member], value, "{member}");
    }
    let commits = system["commits"].as_u64().unwrap();
    assert!(6 <= commits && commits <= system["writes"].as_u64().unwrap(), "{system}");
    posture.key();
    assert_eq!(read(&posture, "/api/system")["writes"], system["writes"].as_u64().unwrap() + 1);
}

#[test]
fn an_id_of_the_msp_is_made_once_and_kept() {
    let posture = Posture::start_with(|it| it.app.msp_id = None);
    let id = read(&posture, "/api/system")["mspId"].clone();
    assert!(!id.as_str().unwrap().is_empty() && id != "msp-test");
    assert_ne!(read(&Posture::start_with(|it| it.app.msp_id = None), "/api/system")["mspId"], id);
}
