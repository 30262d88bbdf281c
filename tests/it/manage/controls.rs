//! A client's controls, and what a person says about them.

use serde_json::{Value, json};

use super::{GOOD, MIXED, import, read, refused_field, told};
use crate::harness::{Answer, Posture, catalog};

/// Only a person can decide it.
pub(super) const PERSONS: &str = "GOV-14";
const MANY: [&str; 8] =
    ["GOV-02", "GOV-03", "GOV-04", "GOV-08", "GOV-09", "GOV-10", "GOV-12", PERSONS];
/// An assessor's: its one check is in [`MIXED`] and fails.
const ASSESSORS: &str = "CLD-01";

pub(super) fn controls(posture: &Posture, client: &str) -> Vec<Value> {
    let all = read(posture, &format!("/api/clients/{client}/controls"));
    all.as_array().unwrap().clone()
}

pub(super) fn control(posture: &Posture, client: &str, code: &str) -> Value {
    let all = controls(posture, client);
    all.into_iter().find(|it| it["controlCode"] == code).unwrap()
}

pub(super) fn try_attest(posture: &Posture, client: &str, code: &str, body: &Value) -> Answer {
    posture.operator("PUT", &format!("/api/clients/{client}/controls/{code}"), body)
}

/// Attests with a reason; `more` replaces members. The control as it is answered.
pub(super) fn attest(posture: &Posture, client: &str, code: &str, more: &Value) -> Value {
    let mut body = json!({"status": "compliant", "reason": "seen by me", "by": "Ada"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = try_attest(posture, client, code, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let shown = answer.json()["data"].clone();
    assert_eq!(shown, control(posture, client, code), "the list shows the same");
    shown
}

fn withdraw(posture: &Posture, client: &str, code: &str) -> Value {
    let answer = try_attest(posture, client, code, &json!({"status": null}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

pub(super) fn in_days(posture: &Posture, days: i64) -> String {
    posture.now().plus_days(days).to_string()
}

fn standing(it: &Value) -> (&str, Option<u64>) {
    (it["status"].as_str().unwrap(), it["score"].as_u64())
}

/// Cause and controls of the last move of the score.
fn last_move(posture: &Posture, client: &str) -> (Value, Value) {
    let moves = read(posture, &format!("/api/clients/{client}/posture"))["moves"].clone();
    (moves[0]["cause"].clone(), moves[0]["controls"].clone())
}

/// Titles of a client's open risks.
fn risks(posture: &Posture, client: &str) -> Vec<Value> {
    let risks = posture.read(&posture.key(), &format!("/clients/{client}/risks"));
    risks["data"].as_array().unwrap().clone()
}

#[test]
fn every_control_is_listed_with_what_it_came_to() {
    let posture = Posture::start();
    let client = posture.client("A");
    let catalog = catalog();
    let all = controls(&posture, &client);
    assert_eq!(all.len(), catalog.controls.len());
    for (shown, control) in all.iter().zip(&catalog.controls) {
        let decided_by: Vec<_> = control.decided_by.iter().map(|it| it.as_str()).collect();
        let expected = json!({
            "controlCode": control.code, "title": control.title,
            "requires": control.requires,
            "category": catalog.categories[control.category].name,
            "severity": control.severity.as_str(), "decidedBy": decided_by,
            "status": "not_assessed", "partialBecause": null, "parts": [], "score": null, "findings": null, "remediation": null,
            "assessedAt": null, "validUntil": null, "attestation": null, "evidenceCount": 0,
        });
        assert_eq!(*shown, expected);
    }
    import(&posture, &client, "", MIXED);
    let failing = control(&posture, &client, ASSESSORS);
    assert_eq!(standing(&failing), ("non_compliant", Some(0)));
    assert_eq!(failing["assessedAt"], posture.now().to_string());
    assert_eq!(failing["validUntil"], in_days(&posture, 35));
    let explained = read(&posture, &format!("/api/clients/{client}/posture"))["controls"].clone();
    for (shown, explained) in controls(&posture, &client).iter().zip(explained.as_array().unwrap())
    {
        for (name, value) in explained.as_object().unwrap() {
            assert_eq!(shown[name], *value, "{name}");
        }
    }
}

#[test]
fn controls_are_found_by_framework_and_by_words() {
    let posture = Posture::start();
    let client = posture.client("A");
    let catalog = catalog();
    let codes = |query: &str| -> Vec<String> {
        let found = read(&posture, &format!("/api/clients/{client}/controls?{query}"));
        let found = found.as_array().unwrap().iter();
        found.map(|it| it["controlCode"].as_str().unwrap().to_owned()).collect()
    };
    for framework in &catalog.frameworks {
        let of_row = |it: &posture::engine::framework::FrameworkRow| {
            it.controls.iter().map(|it| it.control).collect::<Vec<_>>()
        };
        let named: std::collections::BTreeSet<usize> =
            framework.rows.iter().flat_map(of_row).collect();
        let wanted: Vec<_> = named.iter().map(|it| catalog.controls[*it].code.clone()).collect();
        assert_eq!(codes(&format!("framework={}", framework.id.as_str())), wanted);
        assert!(wanted.len() < catalog.controls.len(), "{}", framework.name);
    }
    let said = catalog.controls.iter().filter(|it| {
        let text = format!("{} {} {}", it.code, it.title, it.requires);
        text.to_lowercase().contains("backup")
    });
    let said: Vec<_> = said.map(|it| it.code.clone()).collect();
    assert!(3 < said.len(), "{said:?}");
    assert_eq!(codes("search=BackUp"), said);
    assert_eq!(codes("search=gov-14"), [PERSONS]);
    assert_eq!(codes("search=gov-14&status=compliant"), [""; 0]);
    assert_eq!(codes("search=gov-14&status=not_assessed&framework=HIPAA"), [PERSONS]);
    let path = format!("/api/clients/{client}/controls?framework=NONE");
    let refused = posture.operator("GET", &path, &Value::Null);
    assert_eq!(refused_field(&refused).0, "framework");
}

#[test]
fn a_persons_word_decides_what_nothing_else_does() {
    let posture = Posture::start();
    let (client, key) = (posture.client("A"), posture.key());
    let shown =
        attest(&posture, &client, PERSONS, &json!({"evidence": "https://wiki.example/sanctions"}));
    assert_eq!(standing(&shown), ("compliant", Some(100)));
    let attestation = json!({
        "status": "compliant", "reason": "seen by me", "evidence": "https://wiki.example/sanctions",
        "evidenceId": null, "by": "Ada", "at": posture.now().to_string(),
        "until": in_days(&posture, 365), "override": false, "decides": true,
    });
    assert_eq!(shown["attestation"], attestation, "it lasts as long as the control's evidence");
    assert_eq!(shown["validUntil"], attestation["until"]);
    assert!(shown["findings"].as_str().unwrap().contains("seen by me"));
    let scores = posture.read(&key, &format!("/clients/{client}/scores"))["data"].clone();
    assert!(scores["current"]["overallScore"].is_u64());
    assert_eq!(last_move(&posture, &client), (json!("attestation"), json!([PERSONS])));
    let hipaa = posture.read(&key, &format!("/clients/{client}/compliance/HIPAA"))["data"].clone();
    let rows = hipaa["requirements"].as_array().unwrap();
    let row = rows.iter().find(|it| it["requirement"] == "164.308(a)(1)(ii)(C)").unwrap();
    assert_eq!(row["overallStatus"], "compliant");
    let changed = told(&posture, "compliance_status_changed");
    assert!(!changed.is_empty());
    assert!(changed.iter().all(|it| it["object"]["cause"] == "attestation"));
    let row_change = read(&posture, "/api/changes")[0].clone();
    assert_eq!(row_change["cause"], "attestation");
    let posture = posture.restart();
    assert_eq!(control(&posture, &client, PERSONS), shown);
}

#[test]
fn compliant_without_evidence_is_half_the_truth() {
    let posture = Posture::start();
    let client = posture.client("A");
    let shown = attest(&posture, &client, PERSONS, &json!({}));
    assert_eq!(standing(&shown), ("partial", Some(50)));
    assert_eq!(shown["attestation"]["status"], "compliant", "as it was said");
    assert!(shown["attestation"]["evidence"].is_null());
    assert_eq!(shown["partialBecause"], "claimed");
    assert_eq!(risks(&posture, &client).len(), 0, "nobody says that anything fails");
    let shown = attest(&posture, &client, PERSONS, &json!({"status": "partial"}));
    assert_eq!(
        (standing(&shown), &shown["partialBecause"]),
        (("partial", Some(50)), &json!("failing"))
    );
    assert_eq!(risks(&posture, &client).len(), 1);
    assert_eq!(told(&posture, "risk_item_created").len(), 1);
    let shown = attest(&posture, &client, PERSONS, &json!({"evidence": "here"}));
    assert_eq!(
        (standing(&shown), &shown["partialBecause"]),
        (("compliant", Some(100)), &Value::Null)
    );
    assert_eq!(risks(&posture, &client).len(), 0);
    let resolved = told(&posture, "risk_item_resolved");
    assert_eq!(resolved[0]["object"]["resolution"], "fixed");
}

#[test]
fn a_word_covers_a_valid_observation_only_with_override_and_an_end() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let before = risks(&posture, &client).len();
    let shown = attest(&posture, &client, ASSESSORS, &json!({"evidence": "photo"}));
    assert_eq!(standing(&shown), ("non_compliant", Some(0)), "what was seen decides");
    assert_eq!(shown["attestation"]["decides"], false);
    assert_eq!(shown["validUntil"], in_days(&posture, 35));
    let body = json!({"status": "compliant", "reason": "r", "by": "Ada", "override": true});
    let (field, rule) = refused_field(&try_attest(&posture, &client, ASSESSORS, &body));
    assert!(field == "until" && rule.starts_with("is required with override"), "{rule}");
    let until = in_days(&posture, 10);
    let covering = json!({"evidence": "photo", "override": true, "until": until});
    let shown = attest(&posture, &client, ASSESSORS, &covering);
    assert_eq!(standing(&shown), ("compliant", Some(100)));
    assert_eq!(
        (&shown["attestation"]["decides"], &shown["validUntil"]),
        (&json!(true), &json!(until))
    );
    assert_eq!(risks(&posture, &client).len(), before - 1);
    posture.pass_days(10);
    let shown = control(&posture, &client, ASSESSORS);
    assert_eq!(standing(&shown), ("non_compliant", Some(0)), "the observation is back");
    assert_eq!(shown["attestation"]["decides"], false);
    assert_eq!(risks(&posture, &client).len(), before);
}

#[test]
fn out_of_scope_needs_no_end() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, PERSONS, &json!({"status": "non_compliant"}));
    let total = |posture: &Posture| {
        let scores = posture.read(&posture.key(), &format!("/clients/{client}/scores"));
        scores["data"]["current"]["controlsTotal"].as_u64().unwrap()
    };
    let before = total(&posture);
    let shown = attest(&posture, &client, PERSONS, &json!({"status": "not_applicable"}));
    assert_eq!(standing(&shown), ("not_applicable", None));
    assert!(shown["attestation"]["until"].is_null() && shown["validUntil"].is_null());
    assert_eq!(total(&posture), before - 1);
    let resolved = told(&posture, "risk_item_resolved");
    assert_eq!(resolved[0]["object"]["resolution"], "scoped_out");
    let changes = read(&posture, "/api/changes?limit=100");
    assert_eq!(changes.as_array().unwrap().last().unwrap()["cause"], "scope");
    posture.pass_days(4 * 365);
    assert_eq!(standing(&control(&posture, &client, PERSONS)), ("not_applicable", None));
    assert_eq!(standing(&withdraw(&posture, &client, PERSONS)), ("not_assessed", None));
    assert_eq!(total(&posture), before);
}

#[test]
fn what_was_said_can_be_taken_back() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, PERSONS, &json!({"evidence": "here"}));
    let before = posture.events().len();
    let shown = withdraw(&posture, &client, PERSONS);
    assert_eq!(standing(&shown), ("not_assessed", None));
    assert!(shown["attestation"].is_null());
    let changes = read(&posture, "/api/changes?limit=100");
    let last = changes.as_array().unwrap().last().unwrap();
    assert_eq!((&last["cause"], &last["to"]), (&json!("attestation"), &json!("not_assessed")));
    let after = posture.events().len();
    assert!(before < after);
    assert_eq!(withdraw(&posture, &client, PERSONS), shown);
    assert_eq!(posture.events().len(), after, "there was nothing more to take back");
}

#[test]
fn a_word_past_its_end_counts_no_more() {
    let posture = Posture::start();
    let client = posture.client("A");
    let until = in_days(&posture, 20);
    for code in MANY {
        attest(&posture, &client, code, &json!({"evidence": "here", "until": until}));
    }
    let all: Vec<_> = controls(&posture, &client);
    let all = all.iter().filter(|it| it["status"] == "compliant");
    let codes: Vec<_> = all.map(|it| it["controlCode"].clone()).collect();
    posture.pass_s(20 * 86_400 - 1);
    assert_eq!(standing(&control(&posture, &client, PERSONS)), ("compliant", Some(100)));
    posture.pass_s(1);
    let shown = control(&posture, &client, PERSONS);
    assert_eq!(standing(&shown), ("not_assessed", None));
    let said = &shown["attestation"];
    assert_eq!((&said["until"], &said["decides"]), (&json!(until), &json!(false)));
    assert_eq!(last_move(&posture, &client), (json!("lapse"), json!(codes)));
    let changed = told(&posture, "security_score_changed");
    assert_eq!(changed.last().unwrap()["object"]["cause"], "lapse");
    let renewed = attest(&posture, &client, PERSONS, &json!({"evidence": "here"}));
    assert_eq!(standing(&renewed), ("compliant", Some(100)));
}

#[test]
fn each_broken_rule_is_told_by_its_field() {
    let posture = Posture::start();
    let client = posture.client("A");
    let long = |n: usize| "ä".repeat(n);
    for (field, change) in [
        ("status", json!({"status": "not_assessed"})),
        ("status", json!({"status": "good"})),
        ("status", json!({"status": 1})),
        ("reason", json!({"reason": " "})),
        ("reason", json!({"reason": long(1_001)})),
        ("reason", json!({"reason": null})),
        ("by", json!({"by": ""})),
        ("by", json!({"by": long(201)})),
        ("evidence", json!({"evidence": ""})),
        ("evidence", json!({"evidence": long(1_001)})),
        ("evidenceId", json!({"evidenceId": "x"})),
        ("evidenceId", json!({"evidenceId": "0195a000-0000-7000-8000-000000000000"})),
        (
            "evidenceId",
            json!({
                "evidence": "e", "evidenceId": "0195a000-0000-7000-8000-000000000000",
            }),
        ),
        ("until", json!({"until": "tomorrow"})),
        ("until", json!({"until": posture.now().to_string()})),
        ("until", json!({"until": in_days(&posture, 1_097)})),
        ("until", json!({"until": in_days(&posture, 1_097), "status": "not_applicable"})),
        ("override", json!({"override": "yes"})),
        ("note", json!({"note": "x"})),
        ("by", json!({"status": null})),
    ] {
        let mut body = json!({"status": "partial", "reason": "r", "by": "Ada"});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = try_attest(&posture, &client, PERSONS, &body);
        assert_eq!(refused_field(&answer).0, field, "{change}");
    }
    for field in ["status", "reason", "by"] {
        let mut body = json!({"status": "partial", "reason": "r", "by": "Ada"});
        body.as_object_mut().unwrap().remove(field);
        let refused = refused_field(&try_attest(&posture, &client, PERSONS, &body));
        assert_eq!(refused, (field.to_owned(), "is required".to_owned()));
    }
    assert_eq!(posture.events(), Vec::<Value>::new());
    assert!(control(&posture, &client, PERSONS)["attestation"].is_null());
    let bounds = json!({
        "reason": long(1_000), "by": long(200), "evidence": long(1_000),
        "until": in_days(&posture, 1_096),
    });
    assert_eq!(standing(&attest(&posture, &client, PERSONS, &bounds)), ("compliant", Some(100)));
}

#[test]
fn a_control_that_the_catalogue_does_not_have_is_not_found() {
    let posture = Posture::start();
    let client = posture.client("A");
    for code in ["GOV-00", "gov-00", "GOV-14%20", "x", "%2e%2e"] {
        let answer = try_attest(&posture, &client, code, &json!({"status": 1}));
        assert_eq!(answer.status, 404, "{code}");
    }
}

#[test]
fn a_word_is_about_one_client() {
    let posture = Posture::start();
    let (one, other) = (posture.client("A"), posture.client("B"));
    let before = controls(&posture, &other);
    attest(&posture, &one, PERSONS, &json!({"evidence": "here"}));
    assert!(before == controls(&posture, &other));
    assert!(told(&posture, "security_score_changed").iter().all(|it| it["clientId"] == one));
}

#[test]
fn nothing_that_is_said_beside_imports_is_lost() {
    let posture = Posture::start();
    let client = posture.client("A");
    std::thread::scope(|scope| {
        for code in MANY {
            let (posture, client) = (&posture, &client);
            scope.spawn(move || {
                let body =
                    json!({"status": "compliant", "reason": "r", "by": "Ada", "evidence": code});
                let answer = try_attest(posture, client, code, &body);
                assert_eq!(answer.status, 200, "{}", answer.text());
                assert_eq!(answer.json()["data"]["status"], "compliant");
            });
        }
        for findings in [GOOD, MIXED, GOOD, MIXED] {
            import(&posture, &client, "again=true", findings);
        }
    });
    for code in MANY {
        assert_eq!(standing(&control(&posture, &client, code)), ("compliant", Some(100)), "{code}");
    }
}

/// The catalog of a later release, which splits one control in two.
fn split(code: &str, halves: [&str; 2]) -> posture::engine::catalog::Catalog {
    let mut catalog = catalog().clone();
    let old = catalog.find_control(code).unwrap();
    let half = |new: &str| posture::engine::catalog::Control {
        code: new.to_owned(),
        formerly: vec![code.to_owned()],
        ..catalog.controls[old].clone()
    };
    let [first, second] = halves.map(half);
    catalog.controls[old] = first;
    catalog.controls.push(second);
    catalog.seal();
    catalog
}

#[test]
fn what_was_said_of_a_control_counts_for_those_that_replace_it() {
    let posture = Posture::start();
    let client = posture.client("A");
    let stated = json!({"status": "partial"});
    attest(&posture, &client, PERSONS, &stated);
    let evidence = json!({"controlCode": PERSONS, "title": "t", "reference": "r", "by": "Ada"});
    let path = format!("/api/clients/{client}/evidence");
    assert_eq!(posture.operator("POST", &path, &evidence).status, 201);
    let fact = |posture: &Posture, at: &str, status: &str| {
        let body = json!({"source": "s", "observedAt": at, "observations": [
            {"control": ASSESSORS, "check": "c", "status": status}
        ]});
        posture.operator("POST", &format!("/api/clients/{client}/facts"), &body)
    };
    let at = posture.now().to_string();
    assert_eq!(fact(&posture, &at, "non_compliant").status, 200);

    let posture = posture.restart_with(split(ASSESSORS, ["CLD-97", "CLD-98"]));
    posture.sweep();
    for code in ["CLD-97", "CLD-98"] {
        assert_eq!(standing(&control(&posture, &client, code)), ("non_compliant", Some(0)));
    }
    posture.pass_s(60);
    let at = posture.now().to_string();
    assert_eq!(fact(&posture, &at, "compliant").status, 200, "the old code is taken");
    for code in ["CLD-97", "CLD-98"] {
        assert_eq!(standing(&control(&posture, &client, code)), ("compliant", Some(100)));
    }

    let posture = posture.restart_with(split(PERSONS, ["GOV-97", "GOV-98"]));
    posture.sweep();
    let of = |code: &str| control(&posture, &client, code);
    for code in ["GOV-97", "GOV-98"] {
        assert_eq!(standing(&of(code)), ("partial", Some(50)));
        assert_eq!(of(code)["attestation"]["by"], "Ada");
    }
    let register = read(&posture, &format!("/api/clients/{client}/evidence"));
    assert_eq!(register[0]["controlCode"], "GOV-97", "evidence goes to the first");
    assert_eq!(posture.operator("POST", &path, &evidence).status, 400, "people name the new one");
    let mut again = evidence;
    again["controlCode"] = json!("GOV-97");
    assert_eq!(posture.operator("POST", &path, &again).status, 200, "the same entry is renewed");
    assert!(withdraw(&posture, &client, "GOV-97")["attestation"].is_null());
    assert_eq!(standing(&of("GOV-97")), ("not_assessed", None));
    assert_eq!(standing(&of("GOV-98")), ("partial", Some(50)), "the other half keeps it");
    attest(&posture, &client, "GOV-98", &json!({"status": "non_compliant"}));
    assert_eq!(standing(&of("GOV-98")), ("non_compliant", Some(0)), "what is newer counts");
}
