//! A client's posture explained.

use posture::engine::severity::Severity;
use serde_json::{Value, json};

use super::estate::say_all;
use super::{Finding, GOOD, MIXED, import, patched, read, undo};
use crate::harness::{Posture, catalog};

fn explained(posture: &Posture, client: &str) -> Value {
    read(posture, &format!("/api/clients/{client}/posture"))
}

#[test]
fn a_new_client_is_provisional_and_has_no_score() {
    let posture = Posture::start();
    let client = posture.client("A");
    let shown = explained(&posture, &client);
    assert!(shown["score"].is_null() && shown["sprs"].is_null());
    assert_eq!((&shown["coverage"], &shown["provisional"]), (&json!(0), &json!(true)));
    assert_eq!(shown["moves"], json!([]));
    let catalog = catalog();
    let controls = shown["controls"].as_array().unwrap();
    assert_eq!(controls.len(), catalog.controls.len());
    for (shown, control) in controls.iter().zip(&catalog.controls) {
        assert_eq!(shown["controlCode"], control.code.as_str());
        assert_eq!((&shown["status"], &shown["score"]), (&json!("not_assessed"), &Value::Null));
    }
}

/// Share of the applicable weight that is assessed, from what is shown.
fn coverage(shown: &Value) -> u64 {
    let catalog = catalog();
    let (mut assessed, mut applicable) = (0, 0);
    for (shown, control) in shown["controls"].as_array().unwrap().iter().zip(&catalog.controls) {
        let weight = match control.severity {
            Severity::Critical => 10,
            Severity::High => 5,
            Severity::Medium => 3,
            Severity::Low => 1,
        };
        let status = shown["status"].as_str().unwrap();
        applicable += if status == "not_applicable" { 0 } else { weight };
        assessed += if status.starts_with("not_a") { 0 } else { weight };
    }
    assessed * 100 / applicable
}

#[test]
fn coverage_is_the_assessed_share_of_the_weight() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let shown = explained(&posture, &client);
    let few = coverage(&shown);
    assert!(0 < few && few < 40, "{few}");
    assert_eq!((&shown["coverage"], &shown["provisional"]), (&json!(few), &json!(true)));
    let catalog = catalog();
    let all = catalog.tools["prowler"].checks.keys();
    let all: Vec<Finding<'_>> = all.map(|it| (it.as_str(), "FAIL", "high", "everything")).collect();
    import(&posture, &client, "source=all", &all);
    let shown = explained(&posture, &client);
    let most = coverage(&shown);
    assert!(40 <= most, "{most}");
    assert_eq!((&shown["coverage"], &shown["provisional"]), (&json!(most), &json!(false)));
    assert!(shown["sprs"].is_null(), "no check shows a system security plan");
}

#[test]
fn the_score_is_the_one_of_the_versioned_interface() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let scores = posture.read(&posture.key(), &format!("/clients/{client}/scores"));
    let shown = explained(&posture, &client);
    assert_eq!(shown["score"], scores["data"]["current"]);
    assert!(shown["score"]["overallScore"].is_u64());
}

#[test]
fn moves_tell_what_moved_the_score_newest_first() {
    let posture = Posture::start();
    let client = posture.client("A");
    let first = import(&posture, &client, "source=first", GOOD);
    say_all(&posture, &client, "cloud_accounts");
    posture.pass_s(60);
    let second = import(&posture, &client, "source=first", MIXED);
    let scores = |it: &Value| it["changed"]["scoreAfter"].clone();
    let moves = explained(&posture, &client)["moves"].clone();
    let [worse, whole, begin] = moves.as_array().unwrap().as_slice() else { panic!("{moves}") };
    assert_eq!((&begin["from"], &begin["to"]), (&Value::Null, &scores(&first)));
    assert_eq!((&whole["from"], &whole["cause"]), (&scores(&first), &json!("estate")));
    assert_eq!((&worse["from"], &worse["to"]), (&whole["to"], &scores(&second)));
    assert!(worse["to"].as_u64() < worse["from"].as_u64());
    assert_eq!(worse["at"], "2026-03-10T09:01:00.000Z");
    assert_eq!((&begin["cause"], &worse["cause"]), (&json!("first"), &json!("first")));
    assert_eq!(begin["controls"], json!(["CLD-01", "CLD-02", "CLD-03"]));
    assert_eq!(worse["controls"], json!(["CLD-01", "CLD-03", "CLD-08"]));
}

#[test]
fn a_posture_survives_a_restart() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let before = explained(&posture, &client);
    assert!(explained(&posture.restart(), &client) == before);
}

fn expected_loss(posture: &Posture, client: &str) -> [Option<u64>; 3] {
    let shown = explained(posture, client)["expectedLoss"].clone();
    ["base", "now", "exposure"].map(|it| shown[it].as_u64())
}

#[test]
fn the_expected_loss_follows_the_size_and_what_fails_but_no_acceptance() {
    let posture = Posture::start();
    let client = posture.client("A");
    let path = format!("/api/clients/{client}");
    import(&posture, &client, "", MIXED);
    assert_eq!(expected_loss(&posture, &client), [None; 3], "its size is unknown");
    patched(&posture, &path, &json!({"employeeCount": 100}));
    let [base, now, exposure] = expected_loss(&posture, &client);
    // 5 of 1,000 x 100 x (50 x 160 + 72 x 50).
    assert_eq!(base, Some(5_800));
    assert!(base < now && exposure == Some(now.unwrap() - 5_800));
    let risks = posture.read(&posture.key(), &format!("/clients/{client}/risks"))["data"].clone();
    let risk = format!("{path}/risks/{}", risks[0]["id"].as_str().unwrap());
    let until = posture.now().plus_days(9).to_string();
    patched(&posture, &risk, &json!({"accepted": true, "until": until, "reason": "budget"}));
    assert_eq!(expected_loss(&posture, &client), [base, now, exposure]);
    patched(&posture, &path, &json!({"industry": "Healthcare"}));
    // 9 of 1,000 x 100 x (100 x 160 + 72 x 50).
    assert_eq!(expected_loss(&posture, &client)[0], Some(17_640));
    posture.pass_s(60);
    import(&posture, &client, "", GOOD);
    assert_eq!(expected_loss(&posture, &client), [Some(17_640), Some(17_640), Some(0)]);
    patched(&posture, &path, &json!({"employeeCount": null}));
    assert_eq!(expected_loss(&posture, &client), [None; 3]);
}

#[test]
fn no_loss_is_expected_of_a_client_of_which_nothing_was_seen() {
    let posture = Posture::start();
    let client = posture.client_with(&json!({"name": "A", "employeeCount": 100}));
    let before = expected_loss(&posture, &client);
    let imported = import(&posture, &client, "", MIXED);
    assert_ne!(expected_loss(&posture, &client), before);
    undo(&posture, &client, imported["import"]["id"].as_str().unwrap());
    assert_eq!(expected_loss(&posture, &client), [None; 3]);
    assert_eq!(before, [None; 3]);
}

#[test]
fn other_inputs_of_the_expected_loss_count_from_the_next_start() {
    let posture = Posture::start();
    let client = posture.client_with(&json!({"name": "A", "employeeCount": 100}));
    import(&posture, &client, "", MIXED);
    let before = expected_loss(&posture, &client);
    posture.sweep();
    let posture = posture.restart_after(|_| (), |it| it.app.loss.record_cost = 320);
    posture.sweep();
    let after = expected_loss(&posture, &client);
    assert_eq!((before[0], after[0]), (Some(5_800), Some(9_800)));
    let exposure = read(&posture, "/api/dashboard/kpis")["exposure"]["sum"].as_u64();
    assert!(before[2] < after[2] && after[2] == exposure, "{before:?} {after:?}");
}
