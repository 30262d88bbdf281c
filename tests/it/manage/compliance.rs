//! Why requirements are not compliant, groups, and frameworks that the contract does not name.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::controls::attest;
use super::{MIXED, import, read};
use crate::harness::{Posture, catalog};

fn framework(posture: &Posture, client: &str, id: &str) -> Value {
    read(posture, &format!("/api/clients/{client}/compliance/{id}"))
}

fn row<'a>(framework: &'a Value, reference: &str) -> &'a Value {
    let rows = framework["requirements"].as_array().unwrap();
    rows.iter().find(|it| it["requirement"] == reference).unwrap()
}

fn because(row: &Value) -> Vec<String> {
    serde_json::from_value(row["because"].clone()).unwrap()
}

fn set_profile(posture: &Posture, client: &str, profile: &Value) {
    let path = format!("/api/clients/{client}");
    let answer = posture.operator("PATCH", &path, &json!({"settings": {"profile": profile}}));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn every_row_that_is_not_compliant_says_why() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    for summary in read(&posture, &format!("/api/clients/{client}/compliance")).as_array().unwrap()
    {
        let shown = framework(&posture, &client, summary["frameworkId"].as_str().unwrap());
        assert_eq!(shown["readinessScore"], summary["readinessScore"]);
        for row in shown["requirements"].as_array().unwrap() {
            let is_fine =
                ["compliant", "not_applicable"].iter().any(|it| row["overallStatus"] == *it);
            assert_eq!(because(row).is_empty(), is_fine, "{row}");
        }
    }
}

#[test]
fn reasons_name_the_control_its_state_and_the_open_question() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "GOV-06", &json!({"status": "non_compliant"}));
    let hipaa = framework(&posture, &client, "hipaa");
    let sentences = because(row(&hipaa, "164.310(a)(2)(i)"));
    assert!(sentences.iter().any(|it| it.starts_with("GOV-06 ") && it.ends_with("score 0")));
    assert!(sentences.iter().any(|it| it.starts_with("GOV-09 ") && it.ends_with(": not assessed")));
    assert!(
        sentences
            .last()
            .unwrap()
            .starts_with("the controls that apply only support this requirement")
    );
    // A row on which controls of cloud platforms wait.
    let access = because(row(&hipaa, "164.312(a)(1)"));
    let asked = |it: &Vec<String>| it.iter().any(|it| it.starts_with("aws: used or not? "));
    assert!(asked(&access), "{access:?}");
    // What was seen on a platform answers its question.
    import(&posture, &client, "", MIXED);
    let seen = because(row(&framework(&posture, &client, "hipaa"), "164.312(a)(1)"));
    assert!(!asked(&seen), "{seen:?}");
    let posture = Posture::start();
    let client = posture.client("A");
    set_profile(&posture, &client, &json!({"aws": "unused"}));
    let access = because(row(&framework(&posture, &client, "HIPAA"), "164.312(a)(1)"));
    assert!(!asked(&access), "{access:?}");
}

#[test]
fn questions_list_the_rows_that_wait_only_for_them() {
    let posture = Posture::start();
    let client = posture.client("A");
    let catalog = catalog();
    // Everything that no profile question decides is fine.
    for control in catalog.controls.iter().filter(|it| it.platforms.is_empty()) {
        let path = format!("/api/clients/{client}/controls/{}", control.code);
        let body = json!({
            "status": "compliant", "reason": "seen", "by": "Ada", "evidence": "here",
        });
        posture.operator("PUT", &path, &body);
    }
    let questions = |posture: &Posture| -> Vec<(String, u64)> {
        let shown = read(posture, &format!("/api/clients/{client}/posture"));
        let all = shown["questions"].as_array().unwrap().iter().map(|it| {
            assert!(it["requirements"].as_array().unwrap().len() <= 100);
            (it["question"].as_str().unwrap().to_owned(), it["count"].as_u64().unwrap())
        });
        all.collect()
    };
    let before = questions(&posture);
    let names: BTreeSet<&str> = before.iter().map(|it| it.0.as_str()).collect();
    assert!(names.contains("aws") && names.contains("m365"), "{before:?}");
    let unused = names.iter().map(|it| ((*it).to_owned(), json!("unused"))).collect();
    set_profile(&posture, &client, &Value::Object(unused));
    assert_eq!(questions(&posture), []);
}

#[test]
fn other_frameworks_have_groups_and_stay_out_of_the_versioned_interface() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let all = read(&posture, &format!("/api/clients/{client}/compliance"));
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 18);
    assert_eq!(all.iter().filter(|it| it["inScope"] == true).count(), 11);
    let essential = framework(&posture, &client, "ESSENTIAL_8");
    let groups: Vec<_> = essential["groups"].as_array().unwrap().iter().collect();
    let total = |it: usize| groups[it]["totalControls"].as_u64().unwrap();
    assert_eq!(groups[0]["group"], "ML1");
    assert!(total(0) < total(1) && total(1) < total(2), "{groups:?}");
    let rows = essential["requirements"].as_array().unwrap();
    let of = |group: &str| {
        let has = |it: &&Value| it["groups"].as_array().unwrap().contains(&json!(group));
        let applies = |it: &&Value| it["overallStatus"] != "not_applicable";
        rows.iter().filter(has).filter(applies).count() as u64
    };
    assert_eq!([total(0), total(1), total(2)], ["ML1", "ML2", "ML3"].map(of));
    let key = posture.key();
    let answer = posture.get(&key, &format!("/clients/{client}/compliance/CIS_V8"));
    assert_eq!(answer.status, 404);
    assert!(answer.problem().1.starts_with("unknown framework; supported framework identifiers:"));
    assert!(!answer.problem().1.contains("CIS_V8"));
    let summaries = posture.read(&key, &format!("/clients/{client}/compliance"));
    assert_eq!(summaries["data"].as_array().unwrap().len(), 11);
}

/// What the versioned API says of a client, as it is sent.
fn versioned(posture: &Posture, key: &str, client: &str) -> Vec<String> {
    let catalog = catalog();
    let ids = catalog.frameworks.iter().filter(|it| it.id.is_of_contract());
    let details = ids.map(|it| format!("/compliance/{}", it.id.as_str()));
    let rest = ["/scores", "/risks?limit=100", "/compliance"].map(str::to_owned);
    let read = |rest: String| {
        let answer = posture.get(key, &format!("/clients/{client}{rest}"));
        assert_eq!(answer.status, 200, "{rest}");
        answer.text()
    };
    rest.into_iter().chain(details).map(read).collect()
}

#[test]
fn the_versioned_interface_says_the_same_bytes_without_the_other_frameworks() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    attest(&posture, &client, "GOV-06", &json!({"evidence": "here"}));
    let key = posture.key();
    let with = versioned(&posture, &key, &client);
    let mut catalog = catalog().clone();
    catalog.frameworks.retain(|it| it.id.is_of_contract());
    catalog.seal();
    let posture = posture.restart_with(catalog);
    posture.sweep();
    assert_eq!(read(&posture, "/api/frameworks").as_array().unwrap().len(), 11);
    assert_eq!(versioned(&posture, &key, &client), with);
}
