//! The evidence register, and attestations that rest on it.

use serde_json::{Value, json};

use super::controls::{PERSONS, attest, control, in_days, try_attest};
use super::{refused_field, told};
use crate::harness::{Answer, Posture};

fn register(client: &str) -> String {
    format!("/api/clients/{client}/evidence")
}

fn try_add(posture: &Posture, client: &str, body: &Value) -> Answer {
    posture.operator("POST", &register(client), body)
}

/// Adds or renews; `more` replaces members. Status and entry.
fn enter(posture: &Posture, client: &str, more: &Value) -> (u16, Value) {
    let mut body =
        json!({"controlCode": PERSONS, "title": "Policy", "reference": "wiki/1", "by": "Ada"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = try_add(posture, client, &body);
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
    (answer.status, answer.json()["data"].clone())
}

/// Adds; its id.
pub(super) fn add(posture: &Posture, client: &str, more: &Value) -> String {
    let (status, entry) = enter(posture, client, more);
    assert_eq!(status, 201);
    entry["id"].as_str().unwrap().to_owned()
}

pub(super) fn remove(posture: &Posture, client: &str, id: &str) -> Answer {
    posture.operator("DELETE", &format!("{}/{id}", register(client)), &Value::Null)
}

fn list(posture: &Posture, client: &str, query: &str) -> Value {
    let answer = posture.operator("GET", &format!("{}?{query}", register(client)), &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn status(posture: &Posture, client: &str) -> String {
    control(posture, client, PERSONS)["status"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_added_is_listed_counted_and_kept() {
    let posture = Posture::start();
    let client = posture.client("A");
    let digest = "0123456789ABCDEFabcdef".repeat(3)[..64].to_owned();
    let until = in_days(&posture, 400);
    let given = json!({"sha256": digest, "validUntil": until});
    let (_, first) = enter(&posture, &client, &given);
    let expected = json!({
        "id": first["id"], "controlCode": PERSONS, "title": "Policy", "reference": "wiki/1",
        "sha256": digest.to_lowercase(), "validUntil": until, "addedAt": posture.now().to_string(),
        "by": "Ada", "source": null, "file": null,
    });
    assert_eq!(first, expected);
    posture.pass_s(1);
    let (_, second) = enter(&posture, &client, &json!({"reference": "wiki/2"}));
    assert_eq!((&second["sha256"], &second["validUntil"]), (&json!(null), &json!(null)));
    posture.pass_s(1);
    let (_, third) = enter(&posture, &client, &json!({"controlCode": "GOV-12"}));
    let all = list(&posture, &client, "");
    assert_eq!(all["data"], json!([first, second, third]), "in the order in which it came");
    assert_eq!(all["pagination"]["total"], 3);
    assert_eq!(list(&posture, &client, "limit=1&offset=1")["data"], json!([second]));
    let count = |code: &str| control(&posture, &client, code)["evidenceCount"].clone();
    assert_eq!((count(PERSONS), count("GOV-12"), count("GOV-09")), (json!(2), json!(1), json!(0)));
    assert_eq!(status(&posture, &client), "not_assessed", "evidence alone says nothing");
    let posture = posture.restart();
    assert_eq!(list(&posture, &client, ""), all);
    let other = posture.client("B");
    assert_eq!(list(&posture, &other, "")["data"], json!([]));
    let id = first["id"].as_str().unwrap();
    assert_eq!(remove(&posture, &other, id).status, 404, "it is another client's");
    assert_eq!(remove(&posture, &client, id).status, 204);
    assert_eq!(
        remove(&posture, &client, id).problem(),
        ("NOT_FOUND".into(), "evidence not found".into())
    );
    assert_eq!(list(&posture, &client, "")["data"], json!([second, third]));
    assert_eq!(control(&posture, &client, PERSONS)["evidenceCount"], 1);
}

#[test]
fn the_same_reference_for_the_same_control_is_the_same_evidence() {
    let posture = Posture::start();
    let client = posture.client("A");
    let (_, first) = enter(&posture, &client, &json!({"validUntil": in_days(&posture, 10)}));
    posture.pass_days(3);
    let (status, renewed) = enter(&posture, &client, &json!({"title": "Policy 2", "by": "Bob"}));
    assert_eq!(status, 200);
    assert_eq!(renewed["id"], first["id"]);
    assert_eq!((&renewed["title"], &renewed["by"]), (&json!("Policy 2"), &json!("Bob")));
    assert_eq!(renewed["addedAt"], posture.now().to_string());
    assert!(renewed["validUntil"].is_null(), "as it is said now");
    assert_eq!(list(&posture, &client, "")["data"], json!([renewed]));
    let (status, other) = enter(&posture, &client, &json!({"controlCode": "GOV-12"}));
    assert!(status == 201 && other["id"] != first["id"], "of another control");
}

/// What a source reports about the evidence `wiki/1`; `more` replaces members.
fn try_push(posture: &Posture, client: &str, source: &str, more: &Value) -> Answer {
    let mut entry = json!({"control": PERSONS, "title": "Pushed", "reference": "wiki/1"});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let body = json!({"source": source, "evidence": [entry]});
    posture.operator("POST", &format!("/api/clients/{client}/facts"), &body)
}

fn push(posture: &Posture, client: &str, source: &str, more: &Value) {
    let answer = try_push(posture, client, source, more);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn a_source_renews_only_what_it_reported_itself() {
    let posture = Posture::start();
    let client = posture.client("A");
    let given = json!({"validUntil": in_days(&posture, 100), "sha256": "ab".repeat(32)});
    let (_, persons) = enter(&posture, &client, &given);
    let id = persons["id"].as_str().unwrap();
    attest(&posture, &client, PERSONS, &json!({"evidenceId": id}));
    posture.pass_s(1); // Entries are listed in the order of their times.
    for source in ["dms", "script"] {
        push(&posture, &client, source, &json!({"validUntil": in_days(&posture, 10)}));
    }
    let all = list(&posture, &client, "")["data"].clone();
    let by = |name: &str| {
        let all = all.as_array().unwrap().iter();
        all.filter(|it| it["source"] == name).map(|it| it["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(all[0], persons, "it is as it was");
    assert_eq!((all.as_array().unwrap().len(), by("dms").len(), by("script").len()), (3, 1, 1));
    posture.pass_days(20);
    assert_eq!(status(&posture, &client), "compliant", "its evidence has not expired");
    push(&posture, &client, "dms", &json!({"title": "New"}));
    let (code, renewed) = enter(&posture, &client, &json!({"title": "Policy 2"}));
    assert_eq!((code, &renewed["id"]), (200, &persons["id"]), "a person renews a person's");
    let after = list(&posture, &client, "")["data"].clone();
    let ids =
        |it: &Value| it.as_array().unwrap().iter().map(|it| it["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&after), ids(&all), "each renewed its own");
    let title = |source: Value| {
        let all = after.as_array().unwrap().iter();
        all.filter(|it| it["source"] == source).map(|it| it["title"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(title(json!(null)), ["Policy 2"]);
    assert_eq!(title(json!("dms")), ["New"]);
    assert_eq!(title(json!("script")), ["Pushed"]);
    let dms = by("dms")[0].as_str().unwrap().to_owned();
    assert_eq!(remove(&posture, &client, &dms).status, 204);
    assert_eq!(list(&posture, &client, "")["pagination"]["total"], 2);
}

#[test]
fn an_entry_from_before_sources_were_recorded_is_renewed_by_its_sender_only() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, "dms", &json!({}));
    let pushed = list(&posture, &client, "")["data"][0].clone();
    assert_eq!(remove(&posture, &client, pushed["id"].as_str().unwrap()).status, 204);
    // As an earlier release stored it: who sent it, and no source.
    let old = add(&posture, &client, &json!({"by": pushed["by"]}));
    push(&posture, &client, "dms", &json!({"title": "Policy"}));
    let all = list(&posture, &client, "")["data"].clone();
    assert_eq!(all.as_array().unwrap().len(), 1);
    assert_eq!((&all[0]["id"], &all[0]["source"]), (&json!(old), &json!("dms")));
    push(&posture, &client, "script", &json!({"title": "Policy"}));
    assert_eq!(list(&posture, &client, "")["pagination"]["total"], 2);
}

#[test]
fn evidence_of_a_source_must_expire_in_the_future_as_that_of_a_person() {
    let posture = Posture::start();
    let client = posture.client("A");
    for end in ["2020-01-01T00:00:00Z".to_owned(), posture.now().to_string()] {
        let answer = try_push(&posture, &client, "dms", &json!({"validUntil": end}));
        let rule = "must be in the future".to_owned();
        assert_eq!(refused_field(&answer), ("evidence[0].validUntil".to_owned(), rule));
    }
    let soon = posture.now().plus_s(1).to_string();
    push(&posture, &client, "dms", &json!({"validUntil": soon}));
    assert_eq!(list(&posture, &client, "")["pagination"]["total"], 1);
}

#[test]
fn an_attestation_is_worth_what_its_evidence_is() {
    let posture = Posture::start();
    let client = posture.client("A");
    let id = add(&posture, &client, &json!({}));
    let shown = attest(&posture, &client, PERSONS, &json!({"evidenceId": id}));
    assert_eq!(shown["status"], "compliant");
    let said = &shown["attestation"];
    assert_eq!((&said["evidence"], &said["evidenceId"]), (&json!("wiki/1"), &json!(id)));
    assert_eq!(remove(&posture, &client, &id).status, 204);
    let shown = control(&posture, &client, PERSONS);
    assert_eq!((&shown["status"], &shown["score"]), (&json!("partial"), &json!(50)));
    let said = &shown["attestation"];
    assert_eq!((&said["evidence"], &said["evidenceId"]), (&json!(null), &json!(id)));
    assert_eq!(said["status"], "compliant");
    assert_eq!(shown["partialBecause"], "claimed");
    assert_eq!(told(&posture, "risk_item_created").len(), 0, "nobody says that anything fails");
    let changed = told(&posture, "compliance_drift_detected");
    assert!(changed.iter().any(|it| it["object"]["because"] == json!([PERSONS])));
    add(&posture, &client, &json!({}));
    assert_eq!(status(&posture, &client), "partial", "it is other evidence: attest with it");
    let posture = posture.restart();
    posture.pass_days(1);
    assert_eq!(status(&posture, &client), "partial");
}

#[test]
fn an_attestation_names_evidence_of_its_own_client_and_control() {
    let posture = Posture::start();
    let (client, other) = (posture.client("A"), posture.client("B"));
    let of_another_client = add(&posture, &other, &json!({}));
    let of_another_control = add(&posture, &client, &json!({"controlCode": "GOV-12"}));
    for id in [of_another_client, of_another_control] {
        let body = json!({"status": "compliant", "reason": "r", "by": "Ada", "evidenceId": id});
        let answer = try_attest(&posture, &client, PERSONS, &body);
        assert_eq!(refused_field(&answer).0, "evidenceId");
    }
    assert_eq!(status(&posture, &client), "not_assessed");
}

#[test]
fn evidence_past_its_end_shows_nothing_until_it_is_renewed() {
    let posture = Posture::start();
    let client = posture.client("A");
    let id = add(&posture, &client, &json!({"validUntil": in_days(&posture, 40)}));
    let until = in_days(&posture, 100);
    attest(&posture, &client, PERSONS, &json!({"evidenceId": id, "until": until}));
    posture.pass_s(40 * 86_400 - 1);
    assert_eq!(status(&posture, &client), "compliant");
    posture.pass_s(1);
    assert_eq!(status(&posture, &client), "partial", "at the very moment");
    assert!(control(&posture, &client, PERSONS)["attestation"]["evidence"].is_null());
    let (_, renewed) = enter(&posture, &client, &json!({"validUntil": in_days(&posture, 90)}));
    assert_eq!(renewed["id"], id);
    assert_eq!(status(&posture, &client), "compliant");
    posture.pass_days(60);
    assert_eq!(status(&posture, &client), "not_assessed", "the attestation ended");
    posture.pass_days(40);
    assert_eq!(status(&posture, &client), "not_assessed");
    let risks = posture.read(&posture.key(), &format!("/clients/{client}/risks"));
    assert_eq!(risks["pagination"]["total"], 0, "evidence that ends later opens no risk");
}

#[test]
fn each_broken_rule_is_told_by_its_field() {
    let posture = Posture::start();
    let client = posture.client("A");
    let good = json!({"controlCode": PERSONS, "title": "t", "reference": "r", "by": "Ada"});
    for (field, change) in [
        ("controlCode", json!({"controlCode": "GOV-00"})),
        ("title", json!({"title": " "})),
        ("title", json!({"title": "x".repeat(201)})),
        ("reference", json!({"reference": ""})),
        ("reference", json!({"reference": "x".repeat(1_001)})),
        ("by", json!({"by": ""})),
        ("sha256", json!({"sha256": "ab"})),
        ("sha256", json!({"sha256": "g".repeat(64)})),
        ("sha256", json!({"sha256": "a".repeat(65)})),
        ("sha256", json!({"sha256": null})),
        ("validUntil", json!({"validUntil": "soon"})),
        ("validUntil", json!({"validUntil": posture.now().to_string()})),
        ("id", json!({"id": "x"})),
    ] {
        let mut body = good.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        assert_eq!(refused_field(&try_add(&posture, &client, &body)).0, field, "{change}");
    }
    for field in ["controlCode", "title", "reference", "by"] {
        let mut body = good.clone();
        body.as_object_mut().unwrap().remove(field);
        let refused = refused_field(&try_add(&posture, &client, &body));
        assert_eq!(refused, (field.to_owned(), "is required".to_owned()));
    }
    assert_eq!(list(&posture, &client, "")["data"], json!([]));
}
