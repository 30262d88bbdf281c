//! Which endpoint gets events about which framework.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Receiver, path, start, try_add};
use crate::harness::{Answer, Posture};
use crate::manage::{findings_of_all_but, import};

/// An endpoint for readiness changes only, with more members.
fn add(posture: &Posture, receiver: &Receiver, more: &Value) -> Value {
    let mut body = json!({"url": receiver.sink.url(), "events": ["compliance_status_changed"]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = try_add(posture, &body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["data"].clone()
}

fn set(posture: &Posture, client: &str, frameworks: &Value) -> Answer {
    let body = json!({"settings": {"frameworks": frameworks}});
    posture.operator("PATCH", &format!("/api/clients/{client}"), &body)
}

/// The frameworks that the events of the log are about, once.
fn announced(posture: &Posture, client: &str) -> BTreeSet<String> {
    let path = format!("/api/events?clientId={client}&limit=100");
    let events = posture.operator("GET", &path, &Value::Null).json()["data"].clone();
    let of_kind = events.as_array().unwrap().iter();
    let of_kind = of_kind.filter(|it| it["type"] == "compliance_status_changed");
    of_kind.map(|it| it["data"]["object"]["framework"].as_str().unwrap().to_owned()).collect()
}

fn received(receiver: &Receiver, n: usize) -> BTreeSet<String> {
    receiver.wait(n);
    let about = receiver.requests().into_iter().map(|it| {
        let body: Value = serde_json::from_slice(&it.body).unwrap();
        body["data"]["object"]["framework"].as_str().unwrap().to_owned()
    });
    about.collect()
}

#[test]
fn events_about_other_frameworks_go_to_those_who_ask_for_them() {
    let posture = start();
    let client = posture.client("A");
    let scope = json!(["SOC2", "HIPAA", "CIS_V8", "GDPR"]);
    assert_eq!(set(&posture, &client, &scope).status, 200);
    let receivers = [Receiver::start(), Receiver::start(), Receiver::start()];
    let [contract, all, one] = &receivers;
    let first = add(&posture, contract, &json!({}));
    assert_eq!(first["frameworks"], json!(["contract"]));
    add(&posture, all, &json!({"frameworks": ["all"]}));
    add(&posture, one, &json!({"frameworks": ["cis_v8"]}));
    let passed = findings_of_all_but(&[]);
    import(&posture, &client, "", &passed);
    let failed: Vec<_> = passed.iter().map(|it| (it.0, "FAIL", it.2, it.3)).collect();
    import(&posture, &client, "", &failed);
    let told = announced(&posture, &client);
    assert!(told.contains("CIS_V8") && told.contains("SOC2"), "{told:?}");
    assert!(told.iter().all(|it| scope.as_array().unwrap().contains(&json!(it))), "{told:?}");
    assert_eq!(received(all, told.len()), told);
    assert_eq!(received(one, 1), BTreeSet::from(["CIS_V8".to_owned()]));
    let of_contract: BTreeSet<String> =
        told.into_iter().filter(|it| it != "CIS_V8" && it != "GDPR").collect();
    assert_eq!(received(contract, of_contract.len()), of_contract);
    contract.has_only(of_contract.len());
    one.has_only(1);
}

#[test]
fn a_subscription_names_frameworks_that_exist() {
    let posture = start();
    let receiver = Receiver::start();
    let webhook = add(&posture, &receiver, &json!({"frameworks": ["GDPR", "cis_v8", "gdpr"]}));
    assert_eq!(webhook["frameworks"], json!(["CIS_V8", "GDPR"]));
    let change =
        |body: &Value| posture.operator("PATCH", &path(&webhook), &json!({"frameworks": body}));
    for (given, says) in [
        (json!(["CIS_V9"]), "unknown framework"),
        (json!(["all", "GDPR"]), "must not name frameworks besides"),
        (json!([]), "must name at least one framework"),
        (json!(["a b"]), "must be contract, all, or framework identifiers"),
    ] {
        let answer = change(&given);
        assert_eq!(answer.status, 400, "{given}");
        assert!(answer.problem().1.contains(says), "{given}: {}", answer.problem().1);
    }
    assert_eq!(change(&json!(["all"])).json()["data"]["frameworks"], json!(["all"]));
    let client = posture.client("A");
    assert_eq!(set(&posture, &client, &json!(["CIS_V8", "nis2"])).status, 200);
    let refused = set(&posture, &client, &json!(["CIS_V9"]));
    assert_eq!(refused.status, 400);
    assert!(refused.problem().1.contains("must be one of SOC2, "), "{}", refused.problem().1);
}
