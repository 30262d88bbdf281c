//! What a person decides about rows of frameworks.

use posture::engine::framework::FrameworkId;
use serde_json::{Value, json};

use super::controls::{attest, in_days};
use super::{read, refused_field, told};
use crate::harness::{Answer, Posture, catalog};

/// Two controls support it, and none decides it.
const SUPPORTED: &str = "164.310(a)(2)(i)";
const SUPPORTING: [&str; 2] = ["GOV-06", "GOV-09"];
/// One control decides it.
const DECIDED: &str = "164.308(a)(1)(ii)(C)";

fn try_decide(posture: &Posture, client: &str, row: &str, body: &Value) -> Answer {
    posture.operator("PUT", &format!("/api/clients/{client}/compliance/{row}"), body)
}

/// Decides with a reason; `more` adds members. The row as it is answered.
fn decide(posture: &Posture, client: &str, row: &str, more: &Value) -> Value {
    let mut body = json!({"reason": "looked at", "by": "Ada"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = try_decide(posture, client, row, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn withdraw(posture: &Posture, client: &str, row: &str) -> Value {
    let answer = try_decide(posture, client, row, &json!({"decision": null}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// Status and score as the contract's operation 9 shows them.
fn shown(posture: &Posture, client: &str, requirement: &str) -> (String, u64) {
    let path = format!("/clients/{client}/compliance/HIPAA");
    let hipaa = posture.read(&posture.key(), &path)["data"].clone();
    let rows = hipaa["requirements"].as_array().unwrap();
    let row = rows.iter().find(|it| it["requirement"] == requirement).unwrap();
    let status = row["overallStatus"].as_str().unwrap();
    (status.to_owned(), row["complianceScore"].as_u64().unwrap())
}

fn supported(posture: &Posture) -> String {
    let client = posture.client("A");
    for code in SUPPORTING {
        attest(posture, &client, code, &json!({"evidence": "here"}));
    }
    client
}

#[test]
fn a_row_that_is_only_supported_is_met_once_it_is_attested() {
    let posture = Posture::start();
    let client = supported(&posture);
    assert_eq!(shown(&posture, &client, SUPPORTED), ("partial".into(), 99));
    let row = format!("hipaa/{SUPPORTED}");
    let given = json!({"decision": "attested", "evidence": "plan, page 3"});
    let answered = decide(&posture, &client, &row, &given);
    assert_eq!(shown(&posture, &client, SUPPORTED), ("compliant".into(), 100));
    let catalog = catalog();
    let hipaa = catalog.find_framework(FrameworkId::Hipaa).unwrap();
    let described = &hipaa.rows[hipaa.find_row(SUPPORTED).unwrap()].description;
    let expected = json!({
        "frameworkId": "HIPAA", "requirement": SUPPORTED, "description": described,
        "overallStatus": "compliant", "complianceScore": 100,
        "decision": {
            "decision": "attested", "reason": "looked at", "evidence": "plan, page 3", "by": "Ada",
            "at": posture.now().to_string(), "until": in_days(&posture, 365),
        },
    });
    assert_eq!(answered, expected);
    let changes = read(&posture, "/api/changes?limit=100");
    let last = changes.as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["requirement"], &last["cause"]), (&json!(SUPPORTED), &json!("attestation")));
    let back = withdraw(&posture, &client, &row);
    assert!(back["decision"].is_null());
    assert_eq!((&back["overallStatus"], &back["complianceScore"]), (&json!("partial"), &json!(99)));
    assert_eq!(shown(&posture, &client, SUPPORTED), ("partial".into(), 99));
    assert_eq!(withdraw(&posture, &client, &row), back, "there is nothing more to take back");
}

#[test]
fn attesting_a_row_does_not_make_up_for_its_controls() {
    let posture = Posture::start();
    let client = posture.client("A");
    let given = json!({"decision": "attested", "evidence": "plan"});
    let row = format!("HIPAA/{SUPPORTED}");
    assert_eq!(decide(&posture, &client, &row, &given)["overallStatus"], "not_assessed");
    attest(&posture, &client, SUPPORTING[0], &json!({"evidence": "here"}));
    assert_eq!(shown(&posture, &client, SUPPORTED).0, "partial");
}

#[test]
fn an_attested_row_ends_with_its_decision() {
    let posture = Posture::start();
    let client = supported(&posture);
    let until = in_days(&posture, 30);
    let given = json!({"decision": "attested", "evidence": "plan", "until": until});
    decide(&posture, &client, &format!("HIPAA/{SUPPORTED}"), &given);
    posture.pass_s(30 * 86_400 - 1);
    assert_eq!(shown(&posture, &client, SUPPORTED).0, "compliant");
    posture.pass_s(1);
    assert_eq!(shown(&posture, &client, SUPPORTED).0, "partial");
    let drift = told(&posture, "compliance_drift_detected");
    assert_eq!(drift.last().unwrap()["object"]["requirements"], json!([SUPPORTED]));
}

#[test]
fn a_row_out_of_scope_does_not_apply_until_that_is_taken_back() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "GOV-14", &json!({"status": "non_compliant"}));
    assert_eq!(shown(&posture, &client, DECIDED), ("non_compliant".into(), 0));
    let total = || {
        let path = format!("/clients/{client}/compliance");
        let all = posture.read(&posture.key(), &path)["data"].clone();
        let all = all.as_array().unwrap();
        let hipaa = all.iter().find(|it| it["framework"] == "HIPAA").unwrap();
        hipaa["totalControls"].as_u64().unwrap()
    };
    let before = total();
    let row = format!("HIPAA/{DECIDED}");
    let out = decide(&posture, &client, &row, &json!({"decision": "out_of_scope"}));
    assert_eq!(out["overallStatus"], "not_applicable");
    assert_eq!(
        (&out["decision"]["evidence"], &out["decision"]["until"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(shown(&posture, &client, DECIDED), ("not_applicable".into(), 0));
    assert_eq!(total(), before - 1);
    let changes = read(&posture, "/api/changes?limit=100");
    assert_eq!(changes.as_array().unwrap().last().unwrap()["cause"], "scope");
    posture.pass_days(30);
    assert_eq!(total(), before - 1, "it has no end");
    let posture = posture.restart();
    assert_eq!(withdraw(&posture, &client, &row)["overallStatus"], "non_compliant");
}

#[test]
fn references_come_as_they_are_or_percent_encoded() {
    let posture = Posture::start();
    let client = posture.client("A");
    let given = json!({"decision": "out_of_scope"});
    for (row, framework, requirement) in [
        ("HIPAA/164.308(a)(1)(ii)(A)", "HIPAA", "164.308(a)(1)(ii)(A)"),
        ("hipaa/164.308%28a%29%281%29%28ii%29%28A%29", "HIPAA", "164.308(a)(1)(ii)(A)"),
        ("FERPA/99.7(a)(2)(ii)", "FERPA", "99.7(a)(2)(ii)"),
        ("Pci_Dss/1.1.2", "PCI_DSS", "1.1.2"),
        ("CMMC_L2/AC.L2-3.1.9", "CMMC_L2", "AC.L2-3.1.9"),
        ("iso_27001/A%2E8%2e34", "ISO_27001", "A.8.34"),
        ("NIST_CSF/GV.RM-07", "NIST_CSF", "GV.RM-07"),
    ] {
        let answered = decide(&posture, &client, row, &given);
        assert_eq!(answered["frameworkId"], framework, "{row}");
        assert_eq!(answered["requirement"], requirement, "{row}");
        assert_eq!(answered["overallStatus"], "not_applicable", "{row}");
    }
}

#[test]
fn every_reference_of_the_catalogue_can_be_named() {
    let posture = Posture::start();
    let client = posture.client("A");
    let catalog = catalog();
    for framework in &catalog.frameworks {
        for row in &framework.rows {
            let lower = row.reference.to_lowercase();
            assert_eq!(
                framework.get_row(&lower).unwrap(),
                framework.find_row(&row.reference).unwrap()
            );
            let path = format!("{}/{}", framework.id.as_str(), row.reference);
            let answer = try_decide(&posture, &client, &path, &json!({"decision": null}));
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.json()["data"]["requirement"], row.reference.as_str());
        }
    }
}

#[test]
fn a_row_that_is_not_there_is_not_found() {
    let posture = Posture::start();
    let client = posture.client("A");
    for (row, says) in [
        ("HIPAA/164.308(a)(1)(ii)", "requirement not found in HIPAA"),
        ("HIPAA/164.308%28a%29%2899%29", "requirement not found in HIPAA"),
        ("SOC2/cc6", "requirement not found in SOC2"),
        ("HIPAA/%2F", "requirement not found in HIPAA"),
        ("NONE/1", "unknown framework"),
    ] {
        let answer = try_decide(&posture, &client, row, &json!({"decision": 1}));
        assert_eq!(answer.status, 404, "{row}");
        assert!(answer.problem().1.starts_with(says), "{row}: {}", answer.problem().1);
    }
}

#[test]
fn each_broken_rule_is_told_by_its_field() {
    let posture = Posture::start();
    let client = posture.client("A");
    let attested = json!({"decision": "attested", "reason": "r", "evidence": "e", "by": "Ada"});
    for (field, change) in [
        ("decision", json!({"decision": "compliant"})),
        ("decision", json!({"decision": 1})),
        ("evidence", json!({"evidence": " "})),
        ("evidence", json!({"evidence": "x".repeat(1_001)})),
        ("evidence", json!({"decision": "out_of_scope"})),
        ("reason", json!({"reason": ""})),
        ("by", json!({"by": " "})),
        ("until", json!({"until": "2026-13-01T00:00:00Z"})),
        ("until", json!({"until": posture.now().to_string()})),
        ("until", json!({"until": in_days(&posture, 1_097)})),
        ("evidenceId", json!({"evidenceId": "x"})),
        ("evidence", json!({"decision": null})),
    ] {
        let mut body = attested.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = try_decide(&posture, &client, &format!("HIPAA/{DECIDED}"), &body);
        assert_eq!(refused_field(&answer).0, field, "{change}");
    }
    for field in ["decision", "reason", "evidence", "by"] {
        let mut body = attested.clone();
        body.as_object_mut().unwrap().remove(field);
        let answer = try_decide(&posture, &client, &format!("HIPAA/{DECIDED}"), &body);
        assert_eq!(refused_field(&answer), (field.to_owned(), "is required".to_owned()));
    }
    assert_eq!(posture.events(), Vec::<Value>::new());
}

#[test]
fn a_decision_stays_with_a_row_that_gets_another_name() {
    let posture = Posture::start();
    let client = posture.client("A");
    let given = json!({"decision": "out_of_scope"});
    decide(&posture, &client, &format!("hipaa/{DECIDED}"), &given);
    let mut catalog = catalog().clone();
    let hipaa = catalog.frameworks.iter_mut().find(|it| it.id == FrameworkId::Hipaa).unwrap();
    let row = hipaa.find_row(DECIDED).unwrap();
    hipaa.rows[row].formerly =
        vec![std::mem::replace(&mut hipaa.rows[row].reference, "NEW".into())];
    catalog.seal();
    let posture = posture.restart_with(catalog);
    posture.sweep();
    assert_eq!(shown(&posture, &client, "NEW"), ("not_applicable".into(), 0));
    let back = withdraw(&posture, &client, "hipaa/NEW");
    assert!(back["decision"].is_null());
    assert_eq!(shown(&posture, &client, "NEW"), ("not_assessed".into(), 0));
}
