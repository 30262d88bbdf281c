//! Statements and rules about controls and requirements that a later release does not have.

use posture::engine::catalog::{Catalog, Control};
use posture::engine::framework::FrameworkId;
use serde_json::{Value, json};

use super::controls::attest;
use super::read;
use crate::harness::{Posture, catalog};

const CONTROL: &str = "GOV-06";
const ROW: &str = "164.310(a)(2)(i)";

fn add_rule(posture: &Posture, control: &str) {
    let body = json!({
        "name": "Watch", "condition": {"type": "control_failing", "controlCode": control},
    });
    assert_eq!(posture.operator("POST", "/api/alert-rules", &body).status, 201);
}

fn rules(posture: &Posture) -> Vec<(String, String)> {
    let all = read(posture, "/api/alert-rules");
    let of = |it: &Value| {
        let text = |it: &Value| it.as_str().unwrap().to_owned();
        (text(&it["name"]), text(&it["condition"]["controlCode"]))
    };
    let added = all.as_array().unwrap().iter().filter(|it| it["builtIn"] == false);
    added.map(of).collect()
}

/// A release in which the control and the row have other names, and nothing says so.
fn without() -> Catalog {
    let mut catalog = catalog().clone();
    let control = catalog.find_control(CONTROL).unwrap();
    catalog.controls[control].code = String::from("GOV-99");
    let hipaa = catalog.frameworks.iter_mut().find(|it| it.id == FrameworkId::Hipaa).unwrap();
    let row = hipaa.find_row(ROW).unwrap();
    hipaa.rows[row].reference = String::from("164.310(z)");
    catalog.seal();
    catalog
}

#[test]
fn what_counts_for_nothing_any_more_is_listed() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, CONTROL, &json!({"evidence": "here"}));
    let evidence = json!({"controlCode": CONTROL, "title": "t", "reference": "r", "by": "Ada"});
    let path = format!("/api/clients/{client}/evidence");
    assert_eq!(posture.operator("POST", &path, &evidence).status, 201);
    let decided = json!({"decision": "out_of_scope", "reason": "seen", "by": "Ada"});
    let path = format!("/api/clients/{client}/compliance/HIPAA/{ROW}");
    assert_eq!(posture.operator("PUT", &path, &decided).status, 200);
    add_rule(&posture, CONTROL);
    let system = read(&posture, "/api/system");
    assert_eq!((&system["orphanCount"], &system["orphans"]), (&json!(0), &json!([])));
    let posture = posture.restart_with(without());
    let system = read(&posture, "/api/system");
    assert_eq!(system["orphanCount"], 4);
    let expected = json!([
        {"clientId": null, "kind": "alert_rule", "about": CONTROL},
        {"clientId": client, "kind": "attestation", "about": CONTROL},
        {"clientId": client, "kind": "evidence", "about": CONTROL},
        {"clientId": client, "kind": "decision", "about": format!("HIPAA {ROW}")},
    ]);
    assert_eq!(system["orphans"], expected);
}

#[test]
fn a_rule_about_a_control_that_was_split_watches_each_part() {
    let posture = Posture::start();
    add_rule(&posture, CONTROL);
    add_rule(&posture, "GOV-09");
    let mut catalog = catalog().clone();
    let old = catalog.find_control(CONTROL).unwrap();
    let part = |code: &str| Control {
        code: code.to_owned(),
        formerly: vec![CONTROL.to_owned()],
        ..catalog.controls[old].clone()
    };
    let [first, second] = ["GOV-97", "GOV-98"].map(part);
    catalog.controls[old] = first;
    catalog.controls.push(second);
    catalog.seal();
    let posture = posture.restart_with(catalog.clone());
    let watched = |posture: &Posture| {
        let mut codes: Vec<_> = rules(posture).into_iter().map(|it| it.1).collect();
        codes.sort();
        codes
    };
    assert_eq!(watched(&posture), ["GOV-09", "GOV-97", "GOV-98"]);
    let posture = posture.restart_with(catalog);
    assert_eq!(watched(&posture).len(), 3, "once");
    assert_eq!(read(&posture, "/api/system")["orphanCount"], 0);
}
