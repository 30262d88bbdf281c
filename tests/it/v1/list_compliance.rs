//! Operation 8.

use serde_json::Value;

use super::{FRAMEWORKS, assert_shape, column, import_sample, rows};
use crate::harness::Posture;

const SUMMARY: &[(&str, &str)] = &[
    ("framework", "string"),
    ("totalControls", "integer"),
    ("passedControls", "integer"),
    ("partialControls", "integer"),
    ("failedControls", "integer"),
    ("readinessScore", "percent"),
];

fn count(summary: &Value, name: &str) -> usize {
    usize::try_from(summary[name].as_u64().unwrap()).unwrap()
}

#[test]
fn all_eleven_frameworks_are_listed_in_the_contracts_order_without_pagination() {
    let posture = Posture::start();
    let client = posture.client("All");
    let path = format!("/clients/{client}/compliance");
    for query in ["", "?limit=0&offset=x", "?limit=2"] {
        let body = posture.read(&posture.key(), &format!("{path}{query}"));
        assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["data"]);
        assert_eq!(column(&body, "framework"), FRAMEWORKS);
        for summary in rows(&body) {
            assert_shape(summary, SUMMARY);
        }
    }
}

#[test]
fn nothing_of_a_new_client_is_assessed_in_any_framework() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("New");
    let path = format!("/clients/{client}/compliance");
    for summary in rows(&posture.read(&key, &path)) {
        let id = summary["framework"].as_str().unwrap();
        for zero in ["passedControls", "partialControls", "failedControls", "readinessScore"] {
            assert_eq!(summary[zero], 0, "{id} {zero}");
        }
        let detail = posture.read(&key, &format!("{path}/{id}"));
        let requirements = detail["data"]["requirements"].as_array().unwrap();
        assert!(count(summary, "totalControls") <= requirements.len(), "{id}");
        assert!(0 < count(summary, "totalControls"), "{id}");
        for it in requirements {
            let status = it["overallStatus"].as_str().unwrap();
            // Rows for special cases apply only to clients that say they are one.
            assert!(["not_assessed", "not_applicable"].contains(&status), "{id}: {status}");
            assert_eq!(it["complianceScore"], 0, "{id}");
        }
    }
}

#[test]
fn the_counts_are_those_of_the_requirements() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Counted");
    import_sample(&posture, &client, "prowler/m365.csv");
    let path = format!("/clients/{client}/compliance");
    let mut n_assessed = 0;
    for summary in rows(&posture.read(&key, &path)) {
        let id = summary["framework"].as_str().unwrap();
        let detail = posture.read(&key, &format!("{path}/{id}"));
        let requirements = detail["data"]["requirements"].as_array().unwrap();
        let n =
            |status: &str| requirements.iter().filter(|it| it["overallStatus"] == status).count();
        assert_eq!(count(summary, "passedControls"), n("compliant"), "{id}");
        assert_eq!(count(summary, "partialControls"), n("partial"), "{id}");
        assert_eq!(count(summary, "failedControls"), n("non_compliant"), "{id}");
        let applicable = requirements.len() - n("not_applicable");
        assert_eq!(count(summary, "totalControls"), applicable, "{id}");
        n_assessed += applicable - n("not_assessed");
    }
    assert!(0 < n_assessed, "the file moved some requirement");
}

#[test]
fn readiness_moves_with_an_import_and_another_clients_does_not() {
    let posture = Posture::start();
    let key = posture.key();
    let (mine, other) = (posture.client("Mine"), posture.client("Other"));
    let read = |client: &str| posture.read(&key, &format!("/clients/{client}/compliance"));
    let before = read(&mine);
    import_sample(&posture, &mine, "prowler/m365.csv");
    assert!(read(&mine) != before);
    assert!(read(&other) == before);
}
