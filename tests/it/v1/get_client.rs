//! Operation 2.

use serde_json::json;

use super::{NOBODY, assert_problem, assert_shape, deactivate};
use crate::harness::Posture;

const CLIENT_DETAIL: &[(&str, &str)] = &[
    ("id", "uuid"),
    ("name", "string"),
    ("industry", "string?"),
    ("employeeCount", "integer?"),
    ("createdAt", "date-time"),
    ("settings", "object"),
    ("updatedAt", "date-time"),
];

#[test]
fn a_client_has_the_contracts_fields_and_no_others() {
    let posture = Posture::start();
    let key = posture.key();
    let bare = posture.client("Bare");
    let full = posture.client_with(&json!({
        "name": "Full", "industry": "Legal", "employeeCount": 12,
    }));
    let body = posture.read(&key, &format!("/clients/{bare}"));
    assert_eq!(body.as_object().unwrap().len(), 1, "data alone");
    assert_shape(&body["data"], CLIENT_DETAIL);
    assert!(body["data"]["industry"].is_null());
    let client = &posture.read(&key, &format!("/clients/{full}"))["data"];
    assert_shape(client, CLIENT_DETAIL);
    assert_eq!(client["id"], full);
    assert_eq!(client["industry"], "Legal");
    assert_eq!(client["employeeCount"], 12);
    assert_eq!(client["updatedAt"], client["createdAt"]);
}

#[test]
fn settings_show_effective_values_and_keep_unknown_members() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Settled");
    let path = format!("/clients/{client}");
    let settings = posture.read(&key, &path)["data"]["settings"].clone();
    for member in [
        "profile",
        "frameworks",
        "scoreThresholds",
        "dormantAfterDays",
        "evidenceWarningDays",
        "staleAssetDays",
        "sanctionedApps",
        "tags",
    ] {
        assert!(!settings[member].is_null(), "{member}");
    }
    assert_eq!(settings["scoreThresholds"], json!([60, 70, 80, 90]));
    posture.pass_s(60);
    let change = json!({"settings": {"staleAssetDays": 7, "ticketQueue": {"id": 5}}});
    posture.operator("PATCH", &format!("/api/clients/{client}"), &change);
    let after = posture.read(&key, &path)["data"].clone();
    assert_eq!(after["settings"]["staleAssetDays"], 7);
    assert_eq!(after["settings"]["ticketQueue"], json!({"id": 5}));
    assert_eq!(after["settings"]["scoreThresholds"], settings["scoreThresholds"]);
    assert_eq!(after["createdAt"], "2026-03-10T09:00:00.000Z");
    assert_eq!(after["updatedAt"], "2026-03-10T09:01:00.000Z");
}

#[test]
fn an_id_in_upper_case_names_the_same_client() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Same");
    let body = posture.read(&key, &format!("/clients/{}", client.to_uppercase()));
    assert_eq!(body["data"]["id"], client);
}

#[test]
fn an_absent_malformed_or_inactive_client_is_not_found() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Sleeping");
    deactivate(&posture, &client);
    let short = &client[..35];
    let plain = client.replace('-', "");
    let braced = format!("{{{client}}}");
    for id in [NOBODY, &client, short, &plain, &braced, "x", "%00", "%F0%9F%98%80"] {
        let answer = posture.get(&key, &format!("/clients/{id}"));
        assert_problem(&answer, 404, "NOT_FOUND");
    }
}

#[test]
fn an_erased_client_is_not_found() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Gone");
    let answer = posture.operator("DELETE", &format!("/api/clients/{client}"), &json!(null));
    assert_eq!(answer.status, 200);
    assert_problem(&posture.get(&key, &format!("/clients/{client}")), 404, "NOT_FOUND");
    assert_eq!(posture.read(&key, "/clients")["pagination"]["total"], 0);
}
