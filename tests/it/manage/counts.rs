//! What `/metrics` says of scans, runs of sources and files.

use std::time::Duration;

use serde_json::{Value, json};

use super::{MIXED, import};
use crate::harness::Posture;
use crate::harness::process::wait_until;

const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until these metrics, with their labels, have these numbers.
fn says(posture: &Posture, expected: &[(&str, u64)]) {
    let mut text = String::new();
    let is_so = wait_until(PATIENCE, || {
        text = posture.operator("GET", "/metrics", &Value::Null).text();
        expected.iter().all(|(name, n)| {
            let line = format!("posture_{name} {n}");
            text.lines().any(|it| it == line)
        })
    });
    assert!(is_so, "not {expected:?}: {text}");
}

#[test]
fn scans_count_when_they_end_and_only_once() {
    let posture = Posture::start_with(|options| {
        options.app.scan.allowed = vec!["127.0.0.0/8".parse().unwrap()];
        options.app.scan.per_s = 1;
    });
    posture.client("Acme");
    let start = |last: u8, ports: &str| {
        let body = json!({"targets": [format!("127.33.20.{last}")], "ports": ports});
        let answer = posture.operator("POST", "/api/scan", &body);
        assert_eq!(answer.status, 202, "{}", answer.text());
        answer.json()["data"]["id"].as_str().unwrap().to_owned()
    };
    let cancel = |id: &str| {
        let path = format!("/api/scan/{id}/cancel");
        assert_eq!(posture.operator("POST", &path, &json!({})).status, 200);
    };
    let (completed, cancelled) =
        ("scans_ended_total{outcome=\"completed\"}", "scans_ended_total{outcome=\"cancelled\"}");
    says(&posture, &[("scans_running", 0), (completed, 0), (cancelled, 0)]);
    start(1, "9");
    says(&posture, &[("scans_running", 0), (completed, 1), (cancelled, 0)]);
    says(&posture, &[("source_runs_total{outcome=\"completed\"}", 1)]);
    let [running, _, queued] = [2, 3, 4].map(|it| start(it, "1-1000"));
    says(&posture, &[("scans_running", 2), (completed, 1)]);
    cancel(&queued);
    cancel(&queued);
    says(&posture, &[("scans_running", 2), (cancelled, 1)]);
    cancel(&running);
    cancel(&running);
    says(&posture, &[("scans_running", 1), (cancelled, 2)]);
    says(&posture, &[(completed, 1), ("scans_ended_total{outcome=\"failed\"}", 0)]);
}

#[test]
fn runs_count_by_how_they_went_and_files_by_what_became_of_them() {
    let posture = Posture::start();
    let client = posture.client("Acme");
    let outcome = import(&posture, &client, "", MIXED);
    let n_records = outcome["import"]["records"].as_u64().unwrap();
    assert!(0 < n_records);
    let runs = |outcomes: [u64; 5]| {
        let names = ["completed", "partial", "failed", "quiet", "refused"];
        for (name, n) in names.into_iter().zip(outcomes) {
            says(&posture, &[(&format!("source_runs_total{{outcome=\"{name}\"}}"), n)]);
        }
    };
    let files = |outcomes: [u64; 3]| {
        for (name, n) in ["taken", "known", "undone"].into_iter().zip(outcomes) {
            says(&posture, &[(&format!("imports_total{{outcome=\"{name}\"}}"), n)]);
        }
    };
    runs([1, 0, 0, 0, 0]);
    files([1, 0, 0]);
    import(&posture, &client, "", MIXED);
    files([1, 1, 0]);
    let id = outcome["import"]["id"].as_str().unwrap();
    let path = format!("/api/clients/{client}/imports/{id}");
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    files([1, 1, 1]);
    let push = |more: Value| {
        let mut body = json!({ "source": "entra", "scope": "tenant" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let path = format!("/api/clients/{client}/facts");
        posture.operator("POST", &path, &body).status
    };
    let observations = json!([{ "control": "DAT-01", "status": "compliant" }]);
    assert_eq!(push(json!({ "observations": observations })), 200);
    assert_eq!(push(json!({ "sync": { "status": "partial" } })), 200);
    assert_eq!(push(json!({ "sync": { "status": "failed" } })), 200);
    assert_eq!(push(json!({ "sync": { "status": "odd" } })), 400, "that is no run");
    runs([1, 1, 1, 1, 0]);
    files([1, 1, 1]);
    says(&posture, &[("source_records_total", n_records + 1)]);
}
