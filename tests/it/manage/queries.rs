//! Names in the query that an operation does not have.

use serde_json::{Value, json};

use super::refused_field;
use crate::harness::Posture;

/// The contract's operations outside of `/api/v1`, whose callers may send more than they know.
const SECOND_GROUP: [&str; 6] =
    ["log_in", "start_scan", "get_scan", "list_scanned_assets", "add_user", "get_kpis"];

#[test]
fn the_management_api_refuses_parameters_that_it_does_not_have_and_the_contract_ignores_them() {
    let posture = Posture::start();
    let document = posture.operator("GET", "/openapi.json", &Value::Null).json();
    let (mut refusing, mut ignoring) = (0, Vec::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        let place = path.replace("{frameworkId}", "SOC2");
        let place = place.split('/').map(|it| if it.starts_with('{') { "none" } else { it });
        let place = place.collect::<Vec<_>>().join("/");
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let asked = format!("{place}?noSuchName=1");
            let answer = posture.operator(&method.to_uppercase(), &asked, &Value::Null);
            let is_named = answer.text().contains("noSuchName: unknown parameter");
            if path.starts_with("/api/v1/") || SECOND_GROUP.contains(&id) {
                assert!(!is_named, "{id}: {}", answer.text());
                ignoring.push(id.to_owned());
            } else {
                assert_eq!((answer.status, is_named), (400, true), "{id}: {}", answer.text());
                refusing += 1;
            }
        }
    }
    assert_eq!(ignoring.len(), 9 + SECOND_GROUP.len(), "{ignoring:?}");
    assert!(50 < refusing, "{refusing}");
}

#[test]
fn a_refused_parameter_is_named_with_the_nearest_known_one() {
    let posture = Posture::start();
    let ask = |path: &str| {
        let answer = posture.operator("GET", path, &Value::Null);
        assert_eq!((answer.status, answer.problem().0), (400, "VALIDATION_ERROR".to_owned()));
        refused_field(&answer)
    };
    let near = |it: &str| format!("unknown parameter; did you mean `{it}`?");
    assert_eq!(ask("/api/changes?clientid=x"), ("clientid".to_owned(), near("clientId")));
    assert_eq!(ask("/api/changes?after=0&Limt=5"), ("Limt".to_owned(), near("limit")));
    assert_eq!(ask("/api/changes?%6cimits"), ("limits".to_owned(), near("limit")), "decoded");
    let (name, rule) = ask("/api/changes?organization=x");
    assert_eq!(name, "organization");
    assert_eq!(rule, "unknown parameter; this operation has after, clientId, newest, limit");
    assert_eq!(ask("/api/system?a").1, "unknown parameter; this operation has none");
    for path in ["/api/changes?after=0&limit=1", "/api/changes?&limit=1&", "/api/changes?"] {
        assert_eq!(posture.operator("GET", path, &Value::Null).status, 200, "{path}");
    }
}

#[test]
fn the_caller_is_checked_before_the_names_in_the_query() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"scopes": ["read:scores"]}));
    let ask = |key: &str| {
        let headers = [("X-API-Key", key)];
        crate::harness::send(posture.address, "GET", "/api/changes?x=1", &headers, b"").status
    };
    assert_eq!((ask("garbage"), ask(&key)), (401, 403));
    assert_eq!(ask(&posture.key()), 400);
}
