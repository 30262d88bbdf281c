//! Operation 9.

use serde_json::Value;

use super::{FRAMEWORKS, assert_invalid, assert_problem, assert_shape, import_sample};
use crate::harness::Posture;

const DETAIL: &[(&str, &str)] = &[
    ("frameworkId", "string"),
    ("frameworkName", "string"),
    ("frameworkVersion", "string"),
    ("requirements", "array"),
];
const REQUIREMENT: &[(&str, &str)] = &[
    ("requirement", "string"),
    ("description", "string"),
    ("overallStatus", "string"),
    ("complianceScore", "percent"),
    ("controls", "array"),
];
const CONTROL: &[(&str, &str)] = &[
    ("controlCode", "string"),
    ("title", "string"),
    ("status", "string"),
    ("score", "percent?"),
    ("findings", "string?"),
    ("remediation", "string?"),
    ("assessedAt", "date-time?"),
];
const STATUSES: [&str; 5] =
    ["compliant", "partial", "non_compliant", "not_assessed", "not_applicable"];

fn requirements(body: &Value) -> &Vec<Value> {
    body["data"]["requirements"].as_array().unwrap()
}

fn assert_detail(body: &Value, id: &str) {
    assert_eq!(body.as_object().unwrap().len(), 1, "data alone");
    assert_shape(&body["data"], DETAIL);
    assert_eq!(body["data"]["frameworkId"], id);
    assert!(!body["data"]["frameworkName"].as_str().unwrap().is_empty());
    for requirement in requirements(body) {
        assert_shape(requirement, REQUIREMENT);
        assert!(STATUSES.contains(&requirement["overallStatus"].as_str().unwrap()));
        assert!(!requirement["requirement"].as_str().unwrap().is_empty());
        let controls = requirement["controls"].as_array().unwrap();
        assert!(!controls.is_empty(), "{id} {} has controls", requirement["requirement"]);
        for control in controls {
            assert_shape(control, CONTROL);
            let status = control["status"].as_str().unwrap();
            assert!(STATUSES.contains(&status));
            let is_assessed = !["not_assessed", "not_applicable"].contains(&status);
            assert_eq!(control["score"].is_u64(), is_assessed, "{id} {}", control["controlCode"]);
        }
    }
}

#[test]
fn every_framework_shows_every_requirement_with_its_controls() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Detailed");
    // As many as the frameworks' own lists have; FERPA's checklist included.
    let n_rows = [36, 54, 250, 22, 93, 20, 17, 110, 72 + 18, 10, 49];
    for (id, n) in FRAMEWORKS.into_iter().zip(n_rows) {
        let body = posture.read(&key, &format!("/clients/{client}/compliance/{id}"));
        assert_detail(&body, id);
        assert_eq!(requirements(&body).len(), n, "{id}");
        let all = requirements(&body).iter().map(|it| it["requirement"].as_str().unwrap());
        let distinct: std::collections::BTreeSet<&str> = all.collect();
        assert_eq!(distinct.len(), n, "{id}: a reference names one requirement");
    }
}

#[test]
fn references_follow_each_frameworks_own_notation() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Joined");
    for (id, reference) in [
        ("SOC2", "CC6.1"),
        ("HIPAA", "164.312(a)(1)"),
        ("PCI_DSS", "8.3.1"),
        ("NIST_CSF", "PR.AA"),
        ("ISO_27001", "A.5.1"),
        ("CMMC_L2", "AC.L2-3.1.1"),
        ("FERPA", "99.31(c)"),
    ] {
        let body = posture.read(&key, &format!("/clients/{client}/compliance/{id}"));
        assert!(requirements(&body).iter().any(|it| it["requirement"] == reference), "{reference}");
    }
    let ferpa = posture.read(&key, &format!("/clients/{client}/compliance/FERPA"));
    let references: Vec<&str> =
        requirements(&ferpa).iter().map(|it| it["requirement"].as_str().unwrap()).collect();
    let of_list = |it: &str| it.starts_with("CHECKLIST-");
    let start = references.iter().position(|it| of_list(it)).unwrap();
    assert!(0 < start && references[start..].iter().all(|it| of_list(it)), "sections come first");
}

#[test]
fn the_framework_id_is_matched_without_regard_to_case() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Cased");
    let path = |id: &str| format!("/clients/{client}/compliance/{id}");
    let soc = posture.read(&key, &path("SOC2"));
    assert!(posture.read(&key, &path("soc2")) == soc);
    assert!(posture.read(&key, &path("sOc2")) == soc);
    assert_eq!(posture.read(&key, &path("loi_25"))["data"]["frameworkId"], "LOI_25");
    assert_eq!(posture.read(&key, &path("%4Eist_csf"))["data"]["frameworkId"], "NIST_CSF");
}

#[test]
fn an_unknown_framework_is_not_found_and_the_message_lists_all_eleven() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Asked");
    for id in ["GDPR", "SOC", "SOC2%20", "SOC-2", "%F0%9F%98%80", "NIST_CSF,HIPAA"] {
        let answer = posture.get(&key, &format!("/clients/{client}/compliance/{id}"));
        let message = assert_problem(&answer, 404, "NOT_FOUND");
        for known in FRAMEWORKS {
            assert!(message.contains(known), "{known} in {message}");
        }
    }
}

#[test]
fn level_detail_answers_the_finer_rows_where_there_are_any() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Fine");
    let path = |id: &str, level: &str| format!("/clients/{client}/compliance/{id}?level={level}");
    let fine = posture.read(&key, &path("nist_csf", "detail"));
    assert_detail(&fine, "NIST_CSF");
    assert_eq!(requirements(&fine).len(), 106);
    assert!(requirements(&fine).iter().any(|it| it["requirement"] == "PR.AA-01"));
    let coarse = posture.read(&key, &path("NIST_CSF", "requirement"));
    assert_eq!(requirements(&coarse).len(), 22);
    let refused = posture.get(&key, &path("SOC2", "detail"));
    let rule = assert_invalid(&refused, "level");
    assert!(rule.contains("SOC2"), "{rule}");
    for id in ["HIPAA", "PCI_DSS", "ISO_27001", "CMMC_L1", "CMMC_L2", "FERPA", "LOI_25"] {
        assert_invalid(&posture.get(&key, &path(id, "detail")), "level");
    }
    for level in ["", "Detail", "all", "1"] {
        let rule = assert_invalid(&posture.get(&key, &path("NIST_CSF", level)), "level");
        assert!(rule.contains("requirement, detail"), "{rule}");
    }
}

#[test]
fn an_import_moves_requirements_and_says_when_and_what_was_found() {
    let posture = Posture::start();
    let key = posture.key();
    let client = posture.client("Assessed");
    import_sample(&posture, &client, "prowler/m365.csv");
    let body = posture.read(&key, &format!("/clients/{client}/compliance/NIST_CSF"));
    assert_detail(&body, "NIST_CSF");
    let controls = requirements(&body).iter().flat_map(|it| it["controls"].as_array().unwrap());
    let failing: Vec<&Value> = controls.filter(|it| it["status"] == "non_compliant").collect();
    assert!(!failing.is_empty());
    for control in failing {
        assert_eq!(control["assessedAt"], "2026-03-10T09:00:00.000Z");
        assert!(control["findings"].as_str().is_some_and(|it| !it.is_empty()));
        assert!(control["remediation"].as_str().is_some_and(|it| !it.is_empty()));
    }
    for it in requirements(&body) {
        let is_zero =
            ["not_assessed", "not_applicable"].contains(&it["overallStatus"].as_str().unwrap());
        assert!(!is_zero || it["complianceScore"] == 0, "{}", it["requirement"]);
        assert!(it["overallStatus"] != "compliant" || it["complianceScore"] == 100);
    }
}
