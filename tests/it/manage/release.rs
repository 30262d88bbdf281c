//! The first start of a release with another catalog or other rules: what it makes of the same facts is no news.

use posture::engine::severity::Severity;
use serde_json::{Value, json};

use super::controls::attest;
use super::{posted, read};
use crate::harness::{Posture, catalog};

/// The types of the events after the first `n`, and how many there are in all.
fn told_since(posture: &Posture, n: usize) -> (Vec<String>, usize) {
    let events = posture.events();
    let mut kinds: Vec<String> =
        events.iter().skip(n).map(|it| it["type"].as_str().unwrap().to_owned()).collect();
    kinds.sort();
    (kinds, events.len())
}

fn notices(posture: &Posture) -> Vec<Value> {
    let all = read(posture, "/api/system")["notices"].as_array().unwrap().clone();
    all.into_iter().filter(|it| it["kind"] == "release_changed").collect()
}

#[test]
fn the_night_of_a_release_is_quiet() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "GOV-14", &json!({"status": "partial"}));
    let seen = json!([{"control": "END-04", "passed": 0, "failed": 1}]);
    let body = json!({"source": "script", "observations": seen});
    let path = format!("/api/clients/{client}/facts");
    assert_eq!(posture.operator("POST", &path, &body).status, 200);
    let rule = json!({
        "name": "Critical", "condition": {"type": "open_risks_at_least", "severity": "critical", "value": 2},
    });
    posted(&posture, "/api/alert-rules", &rule);
    posture.pass_days(1);
    assert_eq!(notices(&posture), Vec::<Value>::new(), "nothing changed yet");
    let (_, last) = told_since(&posture, 0);

    let mut next = catalog().clone();
    for it in &mut next.controls {
        if ["GOV-14", "END-04"].contains(&it.code.as_str()) {
            it.severity = Severity::Critical;
        }
    }
    next.seal();
    let posture = posture.restart_with(next.clone());
    let (mut told, last) = told_since(&posture, last);
    let moved = ["compliance_status_changed", "security_score_changed"];
    told.retain(|it| !moved.contains(&it.as_str()));
    let quiet = ["critical_risk_detected", "risk_assessment_completed"];
    assert_eq!(told, quiet, "the one that fails critically now");
    let risks = read(&posture, &format!("/api/clients/{client}/risks"));
    let critical = risks.as_array().unwrap().iter().filter(|it| it["severity"] == "critical");
    assert_eq!(critical.count(), 2, "both are open");
    let found = notices(&posture);
    assert_eq!(found.len(), 1);
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.contains("1 client was assessed again"), "{message}");
    // The alert opens a day later, if it is still true.
    posture.pass_s(86_400 - 1);
    assert!(!told_since(&posture, last).0.contains(&"alert_triggered".to_owned()));
    posture.pass_s(1);
    assert!(told_since(&posture, last).0.contains(&"alert_triggered".to_owned()));
    // Another start of the same release changes nothing, and the notice is closed after a week.
    let (_, last) = told_since(&posture, 0);
    let posture = posture.restart_with(next);
    assert_eq!(told_since(&posture, last).0, Vec::<String>::new());
    assert_eq!(notices(&posture), found);
    posture.pass_days(6);
    posture.block_on(posture.app.note_release()).unwrap();
    assert_eq!(notices(&posture), Vec::<Value>::new());
}

#[test]
fn a_framework_of_ones_own_does_not_make_a_night_quiet() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "GOV-14", &json!({"evidence": "dms://1"}));
    posture.pass_days(1);
    let toml = "id = 'OURS'\nname = 'Ours'\n[[row]]\nreference = '1'\ntitle = 'A row'\n\
        [[row.controls]]\ncode = 'GOV-14'\nrole = 'decides'\nalone = true\n";
    let answer = posture.operator("POST", "/api/own-frameworks", &json!({"toml": toml}));
    assert_eq!(answer.status, 201, "{}", answer.text());
    posture.sweep();
    let posture = posture.restart();
    assert_eq!(notices(&posture), Vec::<Value>::new());
}
