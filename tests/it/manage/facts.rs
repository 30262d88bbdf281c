//! Facts that connectors and integrators push, and the events that follow from them.

use serde_json::{Value, json};

use super::refused_field;
use crate::harness::{Answer, Posture, send};

fn try_push(posture: &Posture, client: &str, facts: &Value) -> Answer {
    posture.operator("POST", &format!("/api/clients/{client}/facts"), facts)
}

/// Pushes facts of source `entra`; the answer's data.
fn push(posture: &Posture, client: &str, facts: &Value) -> Value {
    let mut body = json!({ "source": "entra", "scope": "tenant" });
    for (name, value) in facts.as_object().unwrap() {
        body[name] = value.clone();
    }
    let answer = try_push(posture, client, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn user(name: &str) -> Value {
    json!({ "user": name, "admin": false, "mfa": true, "enabled": true })
}

fn with(mut value: Value, change: &Value) -> Value {
    for (name, it) in change.as_object().unwrap() {
        value[name] = it.clone();
    }
    value
}

/// A complete list of accounts.
fn accounts(all: &[Value]) -> Value {
    json!({ "complete": true, "identities": all })
}

/// What lists and runs are told of, beside what the posture makes of them.
const TOLD: [&str; 8] = [
    "mfa_disabled",
    "admin_mfa_missing",
    "privilege_escalation",
    "dormant_account_detected",
    "shadow_it_detected",
    "connector_health_changed",
    "asset_discovered",
    "integration_sync_failed",
];

/// Types of these events since a place.
fn news(posture: &Posture, since: usize) -> Vec<String> {
    let events = posture.events();
    let kinds = events[since..].iter().map(|it| it["type"].as_str().unwrap().to_owned());
    kinds.filter(|it| TOLD.contains(&&**it)).collect()
}

fn n_events(posture: &Posture) -> usize {
    posture.events().len()
}

fn last(posture: &Posture, kind: &str) -> Value {
    let events = posture.events();
    events.into_iter().rfind(|it| it["type"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

fn control(posture: &Posture, client: &str, code: &str) -> Value {
    let path = format!("/api/clients/{client}/posture");
    let shown = posture.operator("GET", &path, &Value::Null).json();
    let controls = shown["data"]["controls"].as_array().unwrap();
    controls.iter().find(|it| it["controlCode"] == code).unwrap().clone()
}

#[test]
fn a_first_complete_list_announces_only_administrators_without_mfa() {
    let posture = Posture::start();
    let client = posture.client("A");
    let long_ago = json!("2025-01-01T00:00:00Z");
    let all = [
        with(user("ann"), &json!({ "mfa": false })),
        with(user("root"), &json!({ "admin": true, "mfa": false })),
        with(user("bob"), &json!({ "lastSignIn": long_ago })),
        with(user("eve"), &json!({ "admin": true, "roles": ["Global Administrator"] })),
    ];
    let told = push(&posture, &client, &accounts(&all));
    assert_eq!(told["identities"], json!({"added": 4, "changed": 0, "gone": 0, "held": false}));
    assert_eq!(news(&posture, 0), ["admin_mfa_missing"]);
    let event = last(&posture, "admin_mfa_missing");
    let object = &event["data"]["object"];
    assert_eq!((&object["user"], &object["occurrence"]), (&json!("root"), &json!(1)));
    let n = n_events(&posture);
    push(&posture, &client, &accounts(&all));
    assert_eq!(news(&posture, n), [] as [&str; 0], "the same again is no news");
}

#[test]
fn mfa_is_disabled_when_it_was_there_and_never_when_it_is_unknown() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ann = |mfa: Value| accounts(&[with(user("ann"), &json!({ "mfa": mfa })), user("bob")]);
    push(&posture, &client, &ann(json!(true)));
    let n = n_events(&posture);
    push(&posture, &client, &ann(Value::Null));
    assert_eq!(news(&posture, n), [] as [&str; 0]);
    push(&posture, &client, &ann(json!(false)));
    assert_eq!(news(&posture, n), ["mfa_disabled"]);
    let event = last(&posture, "mfa_disabled");
    assert_eq!(event["data"]["previous"], json!({ "mfa": true }));
    let key = event["data"]["object"]["dedupKey"].clone();
    let n = n_events(&posture);
    push(&posture, &client, &ann(json!(true)));
    posture.pass_s(86_400);
    push(&posture, &client, &ann(json!(false)));
    assert_eq!(news(&posture, n), ["mfa_disabled"]);
    let object = last(&posture, "mfa_disabled")["data"]["object"].clone();
    assert_eq!((&object["dedupKey"], &object["occurrence"]), (&key, &json!(2)));
}

#[test]
fn gaining_privileges_is_told_with_what_was_gained() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ann = |change: Value| accounts(&[with(user("ann"), &change), user("bob")]);
    push(&posture, &client, &ann(json!({ "roles": ["Reader"] })));
    let n = n_events(&posture);
    push(&posture, &client, &ann(json!({ "roles": ["Reader", "Writer"] })));
    assert_eq!(news(&posture, n), [] as [&str; 0], "no privileged role");
    push(&posture, &client, &ann(json!({ "roles": ["Exchange Administrator"] })));
    assert_eq!(news(&posture, n), ["privilege_escalation"]);
    let object = last(&posture, "privilege_escalation")["data"]["object"].clone();
    assert_eq!(object["gained"], json!(["Exchange Administrator"]));
    let n = n_events(&posture);
    push(&posture, &client, &ann(json!({ "roles": ["Exchange Administrator"], "admin": true })));
    assert_eq!(news(&posture, n), ["privilege_escalation"], "more of it");
    let n = n_events(&posture);
    let new = with(user("eve"), &json!({ "admin": true }));
    push(&posture, &client, &accounts(&[user("ann"), user("bob"), new]));
    assert_eq!(news(&posture, n), ["privilege_escalation"], "a new administrator");
}

#[test]
fn an_account_that_nobody_used_for_long_is_dormant() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ann = |last: &str, enabled: bool| {
        accounts(&[
            with(user("ann"), &json!({ "lastSignIn": last, "enabled": enabled })),
            user("b"),
        ])
    };
    push(&posture, &client, &ann("2026-03-01T00:00:00Z", true));
    let n = n_events(&posture);
    posture.pass_days(80);
    push(&posture, &client, &ann("2026-03-01T00:00:00Z", true));
    assert!(!news(&posture, n).contains(&"dormant_account_detected".to_owned()));
    posture.pass_days(3);
    push(&posture, &client, &ann("2026-03-01T00:00:00Z", true));
    let found = news(&posture, n);
    let dormant =
        |all: &[String]| all.iter().filter(|it| *it == "dormant_account_detected").count();
    assert_eq!(dormant(&found), 1, "{found:?}");
    push(&posture, &client, &ann("2026-03-01T00:00:00Z", true));
    assert_eq!(dormant(&news(&posture, n)), 1, "once");
    push(&posture, &client, &ann("2026-03-01T00:00:00Z", false));
    posture.pass_days(30);
    push(&posture, &client, &ann("2026-03-01T00:00:00Z", true));
    assert_eq!(dormant(&news(&posture, n)), 2, "again after it was disabled meanwhile");
}

#[test]
fn an_app_that_nobody_sanctioned_is_told_after_the_first_list() {
    let posture = Posture::start();
    let client = posture.client("A");
    let path = format!("/api/clients/{client}");
    let settings = json!({ "settings": { "sanctionedApps": ["Slack"] } });
    assert_eq!(posture.operator("PATCH", &path, &settings).status, 200);
    let app = |name: &str, users: u32| json!({ "name": name, "users": users });
    let list = |all: &[Value]| json!({ "complete": true, "apps": all });
    push(&posture, &client, &list(&[app("Dropbox", 3)]));
    let n = n_events(&posture);
    let all = [app("Dropbox", 4), app("slack", 9), app("Unused", 0), app("WeTransfer", 1)];
    push(&posture, &client, &list(&all));
    assert_eq!(news(&posture, n), ["shadow_it_detected"]);
    assert_eq!(last(&posture, "shadow_it_detected")["data"]["object"]["app"], "WeTransfer");
}

#[test]
fn a_source_s_health_is_told_when_it_changes() {
    let posture = Posture::start();
    let client = posture.client("A");
    let run = |status: &str| {
        let n = n_events(&posture);
        push(&posture, &client, &json!({ "sync": { "status": status, "message": "why" } }));
        posture.pass_s(86_400);
        let kinds = posture.events()[n..].to_vec();
        let kinds = kinds.iter().map(|it| it["type"].as_str().unwrap().to_owned());
        kinds.filter(|it| it != "risk_assessment_completed").collect::<Vec<_>>()
    };
    assert_eq!(run("completed"), ["integration_sync_completed"]);
    assert_eq!(run("failed"), ["integration_sync_failed", "connector_health_changed"]);
    let health = last(&posture, "connector_health_changed")["data"].clone();
    assert_eq!(
        (&health["object"]["status"], &health["object"]["message"]),
        (&json!("degraded"), &json!("why"))
    );
    assert_eq!(health["previous"], json!({ "status": "healthy" }));
    assert_eq!(run("failed"), ["integration_sync_failed"]);
    assert_eq!(run("failed"), ["integration_sync_failed", "connector_health_changed"]);
    assert_eq!(last(&posture, "connector_health_changed")["data"]["object"]["status"], "failing");
    assert_eq!(run("completed"), ["integration_sync_completed", "connector_health_changed"]);
    let n = n_events(&posture);
    posture.pass_days(3);
    assert_eq!(news(&posture, n), ["connector_health_changed"]);
    assert_eq!(last(&posture, "connector_health_changed")["data"]["object"]["status"], "silent");
    assert_eq!(run("completed"), ["integration_sync_completed", "connector_health_changed"]);
}

#[test]
fn a_few_runs_in_a_day_are_no_interval_that_anybody_keeps() {
    let posture = Posture::start();
    let client = posture.client("A");
    for _ in 0..4 {
        push(&posture, &client, &json!({ "sync": { "status": "completed" } }));
        posture.pass_s(3_600);
    }
    let n = n_events(&posture);
    posture.pass_days(5);
    assert!(news(&posture, n).is_empty());
    push(&posture, &client, &json!({ "sync": { "status": "completed" } }));
    posture.pass_days(20);
    assert_eq!(news(&posture, n), ["connector_health_changed"]);
}

#[test]
fn a_truncated_list_is_not_believed_until_a_second_one_agrees() {
    let posture = Posture::start();
    let client = posture.client("A");
    let many: Vec<Value> = (0..20).map(|it| user(&format!("user-{it}"))).collect();
    push(&posture, &client, &accounts(&many));
    let told = push(&posture, &client, &accounts(&many[..8]));
    assert_eq!(told["identities"], json!({"added": 0, "changed": 0, "gone": 0, "held": true}));
    let told = push(&posture, &client, &accounts(&many));
    assert_eq!(told["identities"]["held"], false);
    assert_eq!(push(&posture, &client, &accounts(&many[..8]))["identities"]["held"], true);
    let told = push(&posture, &client, &accounts(&many[..8]));
    assert_eq!(told["identities"], json!({"added": 0, "changed": 0, "gone": 12, "held": false}));
    push(&posture, &client, &accounts(&many));
    let confirmed = with(accounts(&many[..8]), &json!({ "confirmShrink": true }));
    assert_eq!(push(&posture, &client, &confirmed)["identities"]["gone"], 12);
    let told = push(&posture, &client, &accounts(&many[..3]));
    assert_eq!(told["identities"]["gone"], 5, "5 fewer are not too many");
}

#[test]
fn absence_means_gone_only_in_a_complete_read() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = posture.key();
    let asset = |name: &str| json!({ "externalId": name, "name": name, "assetType": "server" });
    let list = |complete: bool, names: &[&str]| {
        let assets: Vec<_> = names.iter().map(|it| asset(it)).collect();
        json!({ "complete": complete, "assets": assets })
    };
    let statuses = || {
        let assets = posture.read(&key, &format!("/clients/{client}/assets"))["data"].clone();
        let assets = assets.as_array().unwrap().clone();
        let shown = |it: &Value| {
            format!("{} {}", it["name"].as_str().unwrap(), it["status"].as_str().unwrap())
        };
        assets.iter().map(shown).collect::<Vec<_>>()
    };
    push(&posture, &client, &list(true, &["a", "b"]));
    assert!(news(&posture, 0).is_empty(), "a first list is no discovery");
    posture.pass_s(60);
    let told = push(&posture, &client, &list(false, &["a"]));
    assert_eq!(told["assetsRetired"], 0);
    assert_eq!(statuses(), ["a active", "b active"]);
    posture.pass_s(60);
    let told = push(&posture, &client, &list(true, &["a", "c"]));
    assert_eq!((&told["assetsRetired"], &told["assetsAdded"]), (&json!(1), &json!(1)));
    assert_eq!(statuses(), ["a active", "b retired", "c active"]);
    assert_eq!(news(&posture, 0), ["asset_discovered"]);
    posture.pass_s(60);
    push(&posture, &client, &list(true, &["a", "b", "c"]));
    assert_eq!(statuses(), ["a active", "b active", "c active"]);
}

#[test]
fn what_a_source_says_of_an_asset_gives_way_to_what_a_person_set() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = posture.key();
    let asset = |owner: &str| {
        json!({ "assets": [{
            "externalId": "1", "name": "db", "assetType": "database",
            "owner": owner, "isCritical": true, "tags": ["x"],
        }] })
    };
    push(&posture, &client, &asset("Ada"));
    let path = format!("/clients/{client}/assets");
    let shown = posture.read(&key, &path)["data"][0].clone();
    assert_eq!((&shown["owner"], &shown["isCritical"]), (&json!("Ada"), &json!(true)));
    let id = shown["id"].as_str().unwrap();
    let change = json!({ "owner": "Grace" });
    assert_eq!(posture.send("PUT", &key, &format!("/assets/{id}"), &change).status, 200);
    push(&posture, &client, &asset("Linus"));
    assert_eq!(posture.read(&key, &path)["data"][0]["owner"], "Grace");
}

#[test]
fn complete_lists_of_accounts_decide_the_controls_about_accounts() {
    let posture = Posture::start();
    let client = posture.client("A");
    let all = [
        with(user("ann"), &json!({ "userType": "member" })),
        with(user("root"), &json!({ "userType": "member", "admin": true, "mfa": false })),
        with(user("guest"), &json!({ "userType": "guest", "mfa": null })),
    ];
    push(&posture, &client, &json!({ "identities": all }));
    assert_eq!(control(&posture, &client, "ID-03")["status"], "non_compliant", "root fails");
    assert_eq!(control(&posture, &client, "ID-10")["status"], "not_assessed", "not complete");
    push(&posture, &client, &accounts(&all));
    let admins = control(&posture, &client, "ID-03");
    assert_eq!(admins["status"], "non_compliant");
    assert_eq!(control(&posture, &client, "ID-02")["status"], "partial");
    assert_eq!(control(&posture, &client, "ID-10")["status"], "compliant");
    assert_eq!(control(&posture, &client, "ID-11")["status"], "not_assessed", "nothing is known");
}

#[test]
fn explicit_observations_decide_their_controls() {
    let posture = Posture::start();
    let client = posture.client("A");
    let told = push(
        &posture,
        &client,
        &json!({ "observations": [
            { "control": "DAT-01", "status": "compliant" },
            { "control": "END-04", "passed": 3, "total": 4, "findings": "pc-7" },
        ] }),
    );
    assert_eq!(told["observations"], 2);
    assert_eq!(control(&posture, &client, "DAT-01")["status"], "compliant");
    assert_eq!(control(&posture, &client, "END-04")["status"], "partial");
    let n = n_events(&posture);
    push(
        &posture,
        &client,
        &json!({ "observations": [{ "control": "DAT-01", "status": "compliant" }] }),
    );
    assert_eq!(posture.events().len(), n, "a push in passing that changes nothing tells nothing");
}

#[test]
fn the_same_key_answers_once_more_and_another_body_is_refused() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = posture.key_with(&json!({ "scopes": ["write:assessments"], "source": "entra" }));
    let ask = |once: &str, status: &str| {
        let body = json!({
            "source": "entra", "observations": [{ "control": "DAT-01", "status": status }],
        });
        let path = format!("/api/clients/{client}/facts");
        let headers = [
            ("X-API-Key", key.as_str()),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", once),
        ];
        send(posture.address, "POST", &path, &headers, body.to_string().as_bytes())
    };
    let first = ask("one", "compliant");
    assert_eq!(first.status, 200, "{}", first.text());
    let again = ask("one", "compliant");
    assert_eq!((again.status, again.text()), (200, first.text()));
    let other = ask("one", "partial");
    assert_eq!(other.status, 409);
    assert_eq!(control(&posture, &client, "DAT-01")["status"], "compliant", "nothing was done");
    assert_ne!(ask("two", "compliant").text(), first.text(), "another run");
    posture.pass_days(2);
    assert_eq!(ask("one", "partial").status, 200, "a key is forgotten after a day");
}

#[test]
fn a_key_pushes_facts_under_its_own_label_alone() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ask = |key: &str, source: &str| {
        let path = format!("/api/clients/{client}/facts");
        let headers = [("X-API-Key", key), ("Content-Type", "application/json")];
        let body = json!({ "source": source }).to_string();
        send(posture.address, "POST", &path, &headers, body.as_bytes())
    };
    let key = posture.key_with(&json!({ "scopes": ["write:assessments"], "source": "mine" }));
    assert_eq!(ask(&key, "mine").status, 200);
    assert_eq!(refused_field(&ask(&key, "theirs")).0, "source");
    let reader = posture.key_with(&json!({ "scopes": ["read:clients"] }));
    let (_, message) = ask(&reader, "test").problem();
    assert_eq!(message, "API key missing required scope: write:assessments");
}

#[test]
fn facts_are_taken_whole_or_not_at_all_and_the_refusal_names_the_place() {
    let posture = Posture::start();
    let client = posture.client("A");
    let good = json!({ "control": "DAT-01", "status": "compliant" });
    let cases = [
        (
            json!({ "observations": [good, { "control": "XX-99", "status": "compliant" }] }),
            "observations[1].control",
        ),
        (json!({ "observations": [good, good] }), "observations[1].check"),
        (
            json!({ "observations": [{ "control": "DAT-01", "status": "fine" }] }),
            "observations[0].status",
        ),
        (json!({ "observations": [{ "control": "DAT-01" }] }), "observations[0].status"),
        (
            json!({ "observations": [{ "control": "DAT-01", "passed": 5, "total": 4 }] }),
            "observations[0].status",
        ),
        (
            json!({ "observations": [{ "control": "DAT-01", "passed": 1, "failed": 1, "total": 3 }] }),
            "observations[0].total",
        ),
        (json!({ "identities": [user("a"), user("a")] }), "identities[1].externalId"),
        (
            json!({ "identities": [with(user("a"), &json!({ "lastSignIn": "soon" }))] }),
            "identities[0].lastSignIn",
        ),
        (
            json!({ "assets": [{ "externalId": "1", "name": "a", "assetType": "boat" }] }),
            "assets[0].assetType",
        ),
        (json!({ "apps": [{ "name": " ", "users": 1 }] }), "apps[0].name"),
        (json!({ "sync": { "status": "odd" } }), "sync.status"),
        (json!({ "observedAt": "2030-01-01T00:00:00Z" }), "observedAt"),
    ];
    for (facts, field) in cases {
        let body = with(json!({ "source": "s" }), &facts);
        let answer = try_push(&posture, &client, &body);
        assert_eq!(refused_field(&answer).0, field, "{facts}");
    }
    let answer = try_push(&posture, &client, &json!({ "source": "s", "observation": [] }));
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("observation"), "{}", answer.text());
    assert_eq!(control(&posture, &client, "DAT-01")["status"], "not_assessed");
    assert!(posture.events().is_empty());
}

#[test]
fn a_file_of_facts_is_imported_and_the_same_file_again_is_nothing() {
    let posture = Posture::start();
    let client = posture.client("A");
    let facts = json!({
        "source": "entra", "observedAt": "2026-03-10T08:00:00Z",
        "observations": [{ "control": "DAT-01", "status": "compliant" }],
    });
    let file = facts.to_string().into_bytes();
    let first = posture.import(&client, "format=facts&fileName=facts.json", &file);
    assert_eq!(first.status, 200, "{}", first.text());
    let first = first.json()["data"].clone();
    assert_eq!(
        (&first["import"]["facts"], &first["import"]["format"]),
        (&json!(1), &json!("facts"))
    );
    assert_eq!(first["import"]["fileName"], "facts.json");
    let again = posture.import(&client, "format=facts", &file).json()["data"].clone();
    assert_eq!(again["alreadyImported"], true);
    let path = format!("/api/clients/{client}/imports/{}", first["import"]["id"].as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    assert_eq!(control(&posture, &client, "DAT-01")["status"], "not_assessed");
    let broken = posture.import(&client, "format=facts", b"{\"source\": 1}");
    assert_eq!(refused_field(&broken).0, "source");
}

#[test]
fn a_complete_run_that_lost_most_of_its_checks_is_not_believed() {
    let posture = Posture::start();
    let client = posture.client("A");
    let run = |n: usize| {
        let one = |it: usize| json!({ "control": "DAT-01", "check": format!("c{it}"), "status": "compliant" });
        let all: Vec<_> = (0..n).map(one).collect();
        posture.pass_s(60);
        push(&posture, &client, &json!({ "complete": true, "observations": all }))
    };
    let bad = json!({ "observations": [{ "control": "DAT-01", "check": "c9", "status": "non_compliant" }] });
    run(20);
    posture.pass_s(60);
    push(&posture, &client, &bad);
    assert_eq!(run(5)["observationsHeld"], true);
    assert_eq!(control(&posture, &client, "DAT-01")["status"], "non_compliant", "it stays");
    assert_eq!(run(5)["observationsHeld"], false);
    assert_eq!(control(&posture, &client, "DAT-01")["status"], "compliant", "it is gone");
}
