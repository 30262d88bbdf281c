//! The first start of a release with another catalog or other rules: what it makes of the same facts is no news.

use posture::engine::severity::Severity;
use serde_json::{Value, json};

use super::controls::attest;
use super::documents::{ask, texts};
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

/// A release with stricter rules makes nobody worse: what is compared begins after it, and charts have a mark.
#[test]
fn what_is_before_a_release_is_not_compared_with_what_follows() {
    let posture = Posture::start();
    let client = posture.client("A");
    let seen = json!([{"control": "END-04", "passed": 9, "failed": 1}]);
    let body = json!({"source": "script", "observations": seen});
    let path = format!("/api/clients/{client}/facts");
    let push = |posture: &Posture, body: &Value| {
        assert_eq!(posture.operator("POST", &path, body).status, 200);
    };
    push(&posture, &body);
    let standing =
        |posture: &Posture| read(posture, "/api/portfolio/scores")[0]["score30DaysAgo"].clone();
    for _ in 0..4 {
        posture.pass_days(10);
        push(&posture, &body);
    }
    assert!(standing(&posture).is_u64());

    // Nothing of the score moves: the severity of a control without results is another.
    let mut next = catalog().clone();
    next.controls.iter_mut().find(|it| it.code == "GOV-14").unwrap().severity = Severity::Critical;
    let mut stricter = next.clone();
    next.seal();
    let posture = posture.restart_with(next);
    assert_eq!(standing(&posture), Value::Null);
    let moves = || read(&posture, &format!("/api/clients/{client}/posture"))["moves"].clone();
    let newest = moves()[0].clone();
    assert_eq!((&newest["cause"], &newest["from"]), (&json!("catalogue"), &newest["to"]));

    // The score falls, and a risk is critical: of the rules.
    stricter.controls.iter_mut().find(|it| it.code == "END-04").unwrap().severity =
        Severity::Critical;
    stricter.seal();
    posture.pass_days(1);
    let posture = posture.restart_with(stricter);
    let today = ask(&posture, &client, "language=en").text();
    assert!(today.contains("The rules of assessment changed today, so"), "{today}");
    posture.pass_days(5);
    push(&posture, &body);
    for (language, wanted) in [
        (
            "en",
            [
                "Since April 20, 2026, when the rules of assessment changed:",
                "No risk appeared.",
                "A dashed line is where the rules of assessment changed",
            ],
        ),
        (
            "fr",
            [
                "Depuis le 20 avril 2026, quand les règles d’évaluation ont changé\u{a0}:",
                "Aucun risque n’est apparu.",
                "Un trait tireté marque un changement des règles d’évaluation",
            ],
        ),
    ] {
        let page = ask(&posture, &client, &format!("language={language}")).text();
        assert_eq!(page.matches("stroke-dasharray").count(), 2, "{page}");
        let texts = texts(&page);
        for wanted in wanted {
            assert!(texts.iter().any(|it| it.contains(wanted)), "no {wanted:?} in {texts:?}");
        }
        assert!(!texts.iter().any(|it| it.contains("The score fell")), "{texts:?}");
    }
    let all = posture.operator("GET", "/api/portfolio/report?format=html", &Value::Null);
    let all = texts(&all.text());
    for wanted in ["Scores rose at 0 clients and fell at 0 clients.", "are compared from then on."]
    {
        assert!(all.iter().any(|it| it.contains(wanted)), "no {wanted:?} in {all:?}");
    }
}
