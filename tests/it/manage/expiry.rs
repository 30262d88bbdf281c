//! What ends soon is told of once, and is open until somebody renews it or takes it back.

use serde_json::{Value, json};

use super::controls::{PERSONS, attest, in_days, try_attest};
use super::{evidence, patched, read, told};
use crate::harness::Posture;

const DAY_S: i64 = 86_400;

fn warnings(posture: &Posture) -> Vec<Value> {
    let all = told(posture, "evidence_expiring").into_iter();
    all.map(|it| it["object"].clone()).collect()
}

/// Keys of the warnings that are open.
fn open(posture: &Posture) -> Vec<String> {
    let all = read(posture, "/api/conditions?limit=100");
    let all = all.as_array().unwrap().iter().filter(|it| it["type"] == "evidence_expiring");
    let key = |it: &Value| {
        let client = format!("{}/", it["clientId"].as_str().unwrap());
        it["dedupKey"].as_str().unwrap().strip_prefix(&client).unwrap().to_owned()
    };
    all.map(key).collect()
}

/// Attests for so many days.
fn attest_for(posture: &Posture, client: &str, days: i64) {
    let until = in_days(posture, days);
    attest(posture, client, PERSONS, &json!({"evidence": "here", "until": until}));
}

/// Passes the time up to the moment of the next warning, to the second.
fn warned_after(posture: &Posture, days: i64) {
    let n_before = warnings(posture).len();
    posture.pass_s(days * DAY_S - 1);
    assert_eq!(warnings(posture).len(), n_before, "a second too early");
    posture.pass_s(1);
    assert_eq!(warnings(posture).len(), n_before + 1);
}

#[test]
fn a_warning_comes_at_the_last_fifth_of_a_short_term() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest_for(&posture, &client, 100);
    let end = in_days(&posture, 100);
    assert_eq!((warnings(&posture), open(&posture)), (vec![], vec![]));
    warned_after(&posture, 80);
    let expected = json!({
        "kind": "attestation", "controlCode": PERSONS, "title": "Conduct rules and sanctions apply",
        "validUntil": end, "dedupKey": format!("{client}/attestation/GOV-14"), "occurrence": 1,
    });
    let [warning] = &warnings(&posture)[..] else { panic!("one warning") };
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(warning[name], *value, "{name}");
    }
    assert!(told(&posture, "evidence_expiring")[0].get("previous").is_none());
    assert_eq!(open(&posture), ["attestation/GOV-14"]);
    for _ in 0..25 {
        posture.pass_days(1);
    }
    assert_eq!(warnings(&posture).len(), 1, "once, though it ended meanwhile");
    assert_eq!(open(&posture), ["attestation/GOV-14"], "what ended is still to be renewed");
}

#[test]
fn a_warning_comes_so_many_days_before_the_end_of_a_long_term() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest_for(&posture, &client, 300);
    warned_after(&posture, 270);
    let path = format!("/api/clients/{client}");
    patched(&posture, &path, &json!({"settings": {"evidenceWarningDays": 5}}));
    assert_eq!(open(&posture), Vec::<String>::new(), "it is not near its end any more");
    warned_after(&posture, 25);
    assert_eq!(warnings(&posture)[1]["dedupKey"], format!("{client}/attestation/GOV-14"));
}

#[test]
fn renewing_closes_a_warning_and_arms_the_next() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest_for(&posture, &client, 20);
    warned_after(&posture, 16);
    attest_for(&posture, &client, 5);
    assert_eq!(open(&posture), Vec::<String>::new());
    warned_after(&posture, 4);
    assert_eq!(warnings(&posture)[1]["occurrence"], 2, "soon again: the same ticket");
    attest_for(&posture, &client, 100);
    warned_after(&posture, 80);
    assert_eq!(warnings(&posture)[2]["occurrence"], 1);
    assert_eq!(open(&posture), ["attestation/GOV-14"]);
}

#[test]
fn taking_back_what_ends_closes_its_warning() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest_for(&posture, &client, 10);
    warned_after(&posture, 8);
    let answer = try_attest(&posture, &client, PERSONS, &json!({"status": null}));
    assert_eq!((answer.status, open(&posture)), (200, vec![]));
    attest_for(&posture, &client, 10);
    posture.pass_days(20);
    assert_eq!(open(&posture), ["attestation/GOV-14"]);
    try_attest(&posture, &client, PERSONS, &json!({"status": null}));
    assert_eq!(open(&posture), Vec::<String>::new(), "past its end too");
}

#[test]
fn evidence_is_warned_of_by_its_id() {
    let posture = Posture::start();
    let client = posture.client("A");
    let given = json!({"title": "Pen test", "validUntil": in_days(&posture, 50)});
    let id = evidence::add(&posture, &client, &given);
    evidence::add(&posture, &client, &json!({"reference": "no end"}));
    warned_after(&posture, 40);
    let warning = &warnings(&posture)[0];
    let key = format!("evidence/{id}");
    let expected = json!({
        "kind": "evidence", "controlCode": PERSONS, "title": "Pen test",
        "dedupKey": format!("{client}/{key}"),
        "validUntil": in_days(&posture, 10),
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(warning[name], *value, "{name}");
    }
    let renewed = json!({
        "controlCode": PERSONS, "title": "Pen test", "reference": "wiki/1", "by": "Ada",
        "validUntil": in_days(&posture, 100),
    });
    let path = format!("/api/clients/{client}/evidence");
    assert_eq!(posture.operator("POST", &path, &renewed).status, 200);
    assert_eq!(open(&posture), Vec::<String>::new());
    warned_after(&posture, 80);
    assert_eq!(open(&posture), std::slice::from_ref(&key));
    evidence::remove(&posture, &client, &id);
    assert_eq!(open(&posture), Vec::<String>::new());
}

#[test]
fn a_decision_about_a_row_is_warned_of_by_framework_and_reference() {
    let posture = Posture::start();
    let client = posture.client("A");
    let path = format!("/api/clients/{client}/compliance/hipaa/164.308(a)(1)(ii)(A)");
    let until = in_days(&posture, 60);
    let decide = |body: Value| {
        let answer = posture.operator("PUT", &path, &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    decide(json!({"decision": "out_of_scope", "reason": "r", "by": "Ada", "until": until}));
    warned_after(&posture, 48);
    let expected = json!({
        "kind": "decision", "framework": "HIPAA", "requirement": "164.308(a)(1)(ii)(A)",
        "title": "Risk analysis", "validUntil": until,
        "dedupKey": format!("{client}/decision/HIPAA/164.308(a)(1)(ii)(A)"),
    });
    let warning = &warnings(&posture)[0];
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(warning[name], *value, "{name}");
    }
    decide(json!({"decision": "out_of_scope", "reason": "r", "by": "Ada"}));
    assert_eq!(open(&posture), Vec::<String>::new(), "it has no end any more");
    decide(json!({"decision": null}));
    posture.pass_days(40);
    assert_eq!(warnings(&posture).len(), 1);
}

#[test]
fn what_came_due_while_the_service_was_off_is_told_of_at_the_start() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest_for(&posture, &client, 10);
    let clock = posture.clock.clone();
    let later = |_: &std::path::Path| clock.set(clock.now().plus_days(30));
    let posture = posture.restart_after(later, |_| ());
    posture.sweep();
    assert_eq!(warnings(&posture).len(), 1);
    assert_eq!(open(&posture), ["attestation/GOV-14"]);
}
