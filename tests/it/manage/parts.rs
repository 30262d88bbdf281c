//! Parts of a control that a person answers for.

use serde_json::{Value, json};

use super::controls::{attest, control, in_days, try_attest};
use super::{read, refused_field, told};
use crate::harness::Posture;

/// Three facets: length, banned, reuse.
const CODE: &str = "ID-15";

fn observe(posture: &Posture, client: &str, status: &str) {
    let observations = json!([{"control": CODE, "facet": "banned", "status": status}]);
    let body = json!({"source": "s", "observations": observations});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
}

fn standing(it: &Value) -> (&str, &str) {
    (it["status"].as_str().unwrap(), it["partialBecause"].as_str().unwrap_or(""))
}

#[test]
fn a_person_answers_for_the_facets_that_no_tool_sees() {
    let posture = Posture::start();
    let client = posture.client("A");
    observe(&posture, &client, "compliant");
    assert_eq!(standing(&control(&posture, &client, CODE)), ("partial", "unseen"));
    let claim = |facet: &str| attest(&posture, &client, CODE, &json!({"facet": facet}));
    claim("length");
    assert_eq!(standing(&claim("reuse")), ("partial", "claimed"));
    let says = control(&posture, &client, CODE)["findings"].as_str().unwrap().to_owned();
    assert!(says.contains("Said, not shown: \"The password policy requires"), "{says}");
    assert_eq!(told(&posture, "risk_item_created"), Vec::<Value>::new());
    let shown = json!({"facet": "length", "evidence": "screenshot 1"});
    attest(&posture, &client, CODE, &shown);
    let both = attest(&posture, &client, CODE, &json!({"facet": "reuse", "evidence": "2"}));
    assert_eq!(standing(&both), ("compliant", ""));
    assert_eq!(both["attestation"], Value::Null, "nobody speaks of all of it");
    let parts: Vec<_> = both["parts"].as_array().unwrap().iter().collect();
    let facets: Vec<&Value> = parts.iter().map(|it| &it["facet"]).collect();
    assert_eq!(facets, [&json!("length"), &json!("reuse")]);
    let end = posture.now().plus_days(35).to_string();
    assert_eq!(parts[0]["until"], json!(end), "as long as an observation counts");
    // What a tool sees failing fails all the same.
    observe(&posture, &client, "non_compliant");
    attest(&posture, &client, CODE, &json!({"facet": "banned", "evidence": "3"}));
    assert_eq!(control(&posture, &client, CODE)["status"], "non_compliant");
    let over = json!({"facet": "banned", "evidence": "3", "override": true});
    let mut body = json!({"status": "compliant", "reason": "seen by me", "by": "Ada"});
    body.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
    let refused = try_attest(&posture, &client, CODE, &body);
    assert_eq!(refused_field(&refused).0, "until");
    body["until"] = json!(in_days(&posture, 20));
    let over = try_attest(&posture, &client, CODE, &body).json()["data"].clone();
    assert_eq!(over["status"], "compliant");
    assert!(over["findings"].as_str().unwrap().ends_with("which Ada overrides."), "{over}");
    let resolved = told(&posture, "risk_item_resolved");
    assert_eq!(resolved.last().unwrap()["object"]["resolution"], "overridden");
    assert_eq!(told(&posture, "alert_triggered").len(), 1, "the override is contradicted");
    posture.pass_days(21);
    assert_eq!(control(&posture, &client, CODE)["status"], "non_compliant", "it has ended");
}

#[test]
fn what_is_said_of_a_part_is_withdrawn_undone_and_listed() {
    let posture = Posture::start();
    let client = posture.client("A");
    observe(&posture, &client, "compliant");
    let before = control(&posture, &client, CODE);
    attest(&posture, &client, CODE, &json!({"facet": "length", "evidence": "1"}));
    let statements = format!("/api/clients/{client}/statements?subject={CODE}");
    let said = read(&posture, &statements)[0].clone();
    let part = json!({"facet": "length", "platform": null, "scope": null});
    assert_eq!(
        (&said["kind"], &said["part"], &said["state"]),
        (&json!("control"), &part, &json!("in_force"))
    );
    let asked = said["wording"].as_str().unwrap();
    assert!(asked.ends_with("\"The password policy requires at least 12 characters\""), "{asked}");
    // All of it is another statement.
    attest(&posture, &client, CODE, &json!({"status": "partial"}));
    assert_eq!(control(&posture, &client, CODE)["parts"].as_array().unwrap().len(), 1);
    let none = json!({"status": null, "facet": "length", "reason": "The policy was changed"});
    let answer = try_attest(&posture, &client, CODE, &none);
    assert_eq!(answer.json()["data"]["parts"], json!([]), "{}", answer.text());
    let states: Vec<Value> = read(&posture, &statements)
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["state"].clone())
        .collect();
    assert_eq!(states, ["recorded", "in_force", "withdrawn"]);
    for number in [3, 2, 1] {
        let path = format!("/api/clients/{client}/statements/{number}/undo");
        let answer = posture.operator("POST", &path, &json!({"reason": "a mistake"}));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(control(&posture, &client, CODE), before);
}

#[test]
fn a_part_that_the_control_does_not_have_is_refused() {
    let posture = Posture::start();
    let client = posture.client("A");
    let refused = |code: &str, more: &Value| {
        let mut body = json!({"status": "compliant", "reason": "seen by me", "by": "Ada"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = try_attest(&posture, &client, code, &body);
        assert_eq!(answer.status, 400, "{}", answer.text());
        let (field, rule) = refused_field(&answer);
        format!("{field}: {rule}")
    };
    let one = refused(CODE, &json!({"facet": "lenght"}));
    assert_eq!(one, "facet: must be one of ID-15: length, banned, reuse");
    assert_eq!(
        refused("GOV-14", &json!({"facet": "x"})),
        "facet: must be absent: GOV-14 has one part"
    );
    let one = refused(CODE, &json!({"platform": "aws"}));
    assert_eq!(one, "platform: must be one of ID-15: google, m365, onPremNetwork, otherIdentity");
    let one = refused("GOV-14", &json!({"platform": "aws"}));
    assert_eq!(one, "platform: must be absent: GOV-14 names no platforms");
    let one = refused(CODE, &json!({"scope": "google/nobody.example"}));
    assert!(one.starts_with("scope: must be an account that the client's estate lists"), "{one}");
    let one = refused(CODE, &json!({"scope": "google/x", "platform": "m365"}));
    assert_eq!(one, "scope: must be an account of the platform");
    let one = refused(CODE, &json!({"facet": "length", "status": "not_applicable"}));
    assert!(one.starts_with("status: a part cannot be out of scope"), "{one}");
}
