//! Caps on what a caller sends, and one event in place of many.

use posture::app::decision::task::N_OPEN_MAX;
use posture::app::event::summary::{N_SAMPLE, N_SINGLE_MAX};
use posture::app::intake::limit::{
    N_LIST_ROWS_MAX, N_RUN_APPS_MAX, N_RUN_EVIDENCE_MAX, N_RUN_OBSERVATIONS_MAX,
};
use posture::id::{ClientId, ImportId};
use posture::store::per_client::account_list::{AccountRows, ListMark};
use serde_json::{Value, json};

use super::{Finding, import, patched, prowler, read};
use crate::harness::{Answer, Posture, open_store};
use crate::openapi;

fn push(posture: &Posture, client: &str, facts: &Value) -> Answer {
    let mut body = json!({"source": "entra", "scope": "tenant"});
    body.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
    posture.operator("POST", &format!("/api/clients/{client}/facts"), &body)
}

fn admins(n: usize, mfa: bool) -> Value {
    let admin = |i| json!({"user": format!("admin{i:05}"), "admin": true, "mfa": mfa, "mfaEnforced": mfa, "enabled": true});
    let all: Vec<Value> = (0..n).map(admin).collect();
    json!({"complete": true, "identities": all})
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|it| it["type"] == kind).collect()
}

#[test]
fn a_run_with_too_much_of_anything_is_refused_whole() {
    let posture = Posture::start();
    let client = posture.client("A");
    let observation =
        |i| json!({"control": "ID-01", "check": format!("c{i}"), "status": "compliant"});
    let identity = |i| json!({"user": format!("u{i}"), "admin": false, "enabled": true});
    let app = |i| json!({"name": format!("a{i}"), "users": 1});
    let evidence = |i| json!({"control": "ID-01", "title": "t", "reference": format!("r{i}")});
    let of = |name: &str, n: usize, item: &dyn Fn(usize) -> Value| {
        let all: Vec<Value> = (0..n).map(item).collect();
        push(&posture, &client, &json!({ name: all }))
    };
    for (name, max, item) in [
        ("observations", N_RUN_OBSERVATIONS_MAX, &observation as &dyn Fn(usize) -> Value),
        ("identities", N_RUN_OBSERVATIONS_MAX, &identity),
        ("apps", N_RUN_APPS_MAX, &app),
        ("evidence", N_RUN_EVIDENCE_MAX, &evidence),
    ] {
        let answer = of(name, max + 1, item);
        assert_eq!(answer.status, 413, "{name}");
        let (code, message) = answer.problem();
        assert_eq!(code, "PAYLOAD_TOO_LARGE");
        let expected = format!(
            "{name}: {} are more than the {max} that one run may have; split the run, for example by scope",
            max + 1
        );
        assert_eq!(message, expected);
    }
    assert_eq!(read(&posture, &format!("/api/clients/{client}/imports")), json!([]));
    assert_eq!(posture.events(), [] as [Value; 0]);
    assert_eq!(of("apps", N_RUN_APPS_MAX, &app).status, 200, "the most that is allowed");
}

#[test]
fn a_run_announces_five_hundred_of_a_kind_one_by_one_and_more_in_one_event() {
    for (n, n_events) in [(N_SINGLE_MAX, N_SINGLE_MAX), (N_SINGLE_MAX + 1, 1)] {
        let posture = Posture::start();
        let client = posture.client("A");
        assert_eq!(push(&posture, &client, &admins(n, true)).status, 200);
        let before = posture.events().len();
        assert_eq!(push(&posture, &client, &admins(n, false)).status, 200);
        let events = posture.events().split_off(before);
        let disabled = of_kind(&events, "mfa_disabled");
        assert_eq!(disabled.len(), n_events);
        assert_eq!(of_kind(&events, "admin_mfa_missing").len(), n_events);
        let path = format!("/api/conditions?clientId={client}&limit=100");
        let mfa = |it: &&Value| it["type"] == "mfa_disabled";
        if n_events == 1 {
            let object = &disabled[0]["data"]["object"];
            let run = &of_kind(&events, "integration_sync_completed")[0]["data"]["object"];
            let run = run["importId"].as_str().unwrap();
            let key = format!("{client}/summary/mfa_disabled/{run}");
            assert_eq!(object["dedupKey"], json!(key));
            assert_eq!((&object["summary"], &object["count"]), (&json!(true), &json!(n)));
            let sample = object["sample"].as_array().unwrap();
            assert_eq!(sample.len(), N_SAMPLE);
            assert_eq!(sample[0]["user"], "admin00000");
            assert_eq!(object["clientName"], "A");
            assert!(disabled[0]["data"].get("previous").is_none());
            let document = openapi::document();
            let content = &document["x-webhooks"]["mfa_disabled"]["post"]["requestBody"]["content"];
            let schema = &content["application/json"]["schema"];
            assert_eq!(openapi::faults(&document, schema, disabled[0], ""), [""; 0]);
            let mut after = String::new();
            let (mut n_marked, mut n_rows, mut summary) = (0, 0, None);
            loop {
                let page = read(&posture, &format!("{path}{after}"));
                let page = page.as_array().unwrap();
                let Some(last) = page.last() else { break };
                let (of, last_key) =
                    (last["clientId"].as_str().unwrap(), last["dedupKey"].as_str().unwrap());
                after = format!("&after={of}/{last_key}");
                n_rows += page.iter().filter(mfa).count();
                n_marked += page.iter().filter(|it| it["summaryKey"] == json!(key)).count();
                summary = page.iter().find(|it| it["dedupKey"] == json!(key)).cloned().or(summary);
            }
            assert_eq!((n_marked, n_rows), (n, n + 1), "each condition, and what stands for all");
            assert_eq!(summary.unwrap()["object"]["openCount"], n);
            // Some are mended, then all.
            let mut some = admins(n, false);
            for it in &mut some["identities"].as_array_mut().unwrap()[..10] {
                it["mfa"] = json!(true);
            }
            push(&posture, &client, &some);
            let open = read(&posture, &format!("{path}&after={client}/summary/"));
            let left = open.as_array().unwrap().iter().find(|it| it["dedupKey"] == json!(key));
            assert_eq!(left.unwrap()["object"]["openCount"], n - 10);
            push(&posture, &client, &admins(n, true));
            let open = read(&posture, &path);
            assert!(!open.as_array().unwrap().iter().any(|it| mfa(&it)), "{open}");
        } else {
            assert_eq!(disabled[0]["data"]["object"]["user"], "admin00000");
            let open = read(&posture, &path);
            assert!(open.as_array().unwrap().iter().all(|it| it["summaryKey"].is_null()));
        }
    }
}

#[test]
fn a_summary_of_risks_ends_with_the_last_of_them() {
    const N: usize = N_SINGLE_MAX + 1;
    let posture = Posture::start();
    let client = posture.client("A");
    // The first read of an account announces critical risks alone.
    import(&posture, &client, "", &[("iam_first", "PASS", "low", "alice")]);
    let names: Vec<String> = (0..N).map(|i| format!("made_up_{i:04}")).collect();
    let status = |n_failing: usize| {
        let findings = names.iter().enumerate().map(|(i, name)| {
            (name.as_str(), if N - n_failing <= i { "FAIL" } else { "PASS" }, "high", "alice")
        });
        findings.collect::<Vec<Finding<'_>>>()
    };
    let new_events = |findings: &[Finding<'_>]| {
        posture.pass_s(60);
        let before = posture.events().len();
        let answer = posture.import(&client, "observedAt=now", &prowler(findings));
        assert_eq!(answer.status, 200, "{}", answer.text());
        posture.events().split_off(before)
    };
    let events = new_events(&status(N));
    let created = of_kind(&events, "risk_item_created");
    assert_eq!(created.len(), 1);
    let object = created[0]["data"]["object"].clone();
    assert_eq!((&object["summary"], &object["count"]), (&json!(true), &json!(N)));
    assert_eq!(object["sample"].as_array().unwrap().len(), N_SAMPLE);
    assert!(object["sample"][0]["id"].is_string());
    // A person accepts one.
    let risk = object["sample"][0]["id"].as_str().unwrap();
    let body = json!({"accepted": true, "reason": "r", "until": "2026-09-01T00:00:00Z"});
    patched(&posture, &format!("/api/clients/{client}/risks/{risk}"), &body);
    let events = new_events(&status(1));
    let resolved = of_kind(&events, "risk_item_resolved");
    let is_ending = |it: &&&Value| it["data"]["object"]["dedupKey"] == object["dedupKey"];
    assert!(resolved.iter().all(|it| !is_ending(&it)), "one is still open");
    let events = new_events(&status(0));
    let resolved = of_kind(&events, "risk_item_resolved");
    let ending: Vec<_> = resolved.iter().filter(is_ending).collect();
    assert_eq!(ending.len(), 1, "{resolved:?}");
    assert_eq!(ending[0]["data"]["object"]["summary"], true);
}

#[test]
fn a_client_has_so_many_open_tasks_and_no_more() {
    let posture = Posture::start();
    let client = posture.client("A");
    let add = |client: &str| {
        posture.operator("POST", "/api/tasks", &json!({"clientId": client, "title": "t"}))
    };
    let first = add(&client).json()["data"]["id"].as_str().unwrap().to_owned();
    for _ in 1..N_OPEN_MAX {
        assert_eq!(add(&client).status, 201);
    }
    let answer = add(&client);
    assert_eq!(answer.status, 413);
    let expected =
        "the client has 10000 open tasks, and 10000 is the most; complete or cancel some first";
    assert_eq!(answer.problem().1, expected);
    let path = format!("/api/tasks/{first}");
    patched(&posture, &path, &json!({"status": "done"}));
    assert_eq!(add(&client).status, 201);
    let again = posture.operator("PATCH", &path, &json!({"status": "open"}));
    assert_eq!(again.status, 413, "nor is one opened again beyond them");
    assert_eq!(add(&posture.client("B")).status, 201);
}

#[test]
fn things_of_one_run_are_different_things_however_many_they_are() {
    let posture = Posture::start();
    let client = posture.client("A");
    let asset = |i: usize| {
        json!({"externalId": format!("c{i}"), "name": format!("c{i}"), "assetType": "container",
            "ip": format!("10.0.0.{}", i % 100)})
    };
    let assets: Vec<Value> = (0..1_000).map(asset).collect();
    assert_eq!(push(&posture, &client, &json!({"assets": assets})).status, 200);
    let listed = posture.read(&posture.key(), &format!("/clients/{client}/assets"));
    assert_eq!(listed["pagination"]["total"], 1_000);
    let record = read(&posture, &format!("/api/clients/{client}/imports"))[0].clone();
    assert_eq!(record["assetsAdded"], 1_000);
    let events = posture.events();
    let discovered = of_kind(&events, "asset_discovered");
    assert_eq!(discovered.len(), 0, "a baseline");
    // More that are new: one event says so.
    let other =
        |i: usize| json!({"externalId": format!("c{i}"), "name": "c", "assetType": "container"});
    let assets: Vec<Value> = (1_000..1_600).map(other).collect();
    assert_eq!(push(&posture, &client, &json!({"assets": assets})).status, 200);
    let events = posture.events();
    let discovered = of_kind(&events, "asset_discovered");
    assert_eq!(discovered.len(), 1);
    assert_eq!(discovered[0]["data"]["object"]["count"], 600);
    let completed = of_kind(&events, "integration_sync_completed");
    assert!(completed.is_empty(), "these were incidental pushes");
}

#[test]
fn a_large_run_that_is_refused_in_the_end_leaves_nothing() {
    let posture = Posture::start();
    let client = posture.client("A");
    let asset =
        |i: usize| json!({"externalId": format!("c{i}"), "name": "c", "assetType": "server"});
    let roles: Vec<String> = (0..200).map(|i| format!("{i:03}{}", "€".repeat(497))).collect();
    let facts = json!({
        "complete": true,
        "assets": (0..3_000).map(asset).collect::<Vec<_>>(),
        "identities": [{"user": "u", "admin": true, "enabled": true, "roles": roles}],
    });
    for _ in 0..2 {
        let answer = push(&posture, &client, &facts);
        assert_eq!(answer.status, 413, "{}", answer.text());
    }
    let listed = posture.read(&posture.key(), &format!("/clients/{client}/assets"));
    assert_eq!(listed["pagination"]["total"], 0);
    assert_eq!(read(&posture, &format!("/api/clients/{client}/imports")), json!([]));
    assert_eq!(posture.events(), [] as [Value; 0]);
}

#[test]
fn a_large_run_is_undone_whole() {
    let posture = Posture::start();
    let client = posture.client("A");
    let observation =
        |i| json!({"control": "ID-01", "check": format!("c{i}"), "status": "compliant"});
    let all: Vec<Value> = (0..5_000).map(observation).collect();
    assert_eq!(push(&posture, &client, &json!({"observations": all})).status, 200);
    let shown = |code: &str| {
        let shown = read(&posture, &format!("/api/clients/{client}/posture"));
        let controls = shown["controls"].as_array().unwrap();
        controls.iter().find(|it| it["controlCode"] == code).unwrap()["status"].clone()
    };
    assert_eq!(shown("ID-01"), "compliant");
    let import = read(&posture, &format!("/api/clients/{client}/imports"))[0]["id"].clone();
    let path = format!("/api/clients/{client}/imports/{}", import.as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    assert_eq!(shown("ID-01"), "not_assessed");
    assert_eq!(push(&posture, &client, &json!({"observations": all})).status, 200);
    assert_eq!(shown("ID-01"), "compliant");
}

#[test]
fn the_lists_of_accounts_that_are_kept_are_bounded() {
    let posture = Posture::start();
    let client = posture.client("A");
    let now = posture.now();
    let id: ClientId = client.parse().unwrap();
    let fill = |dir: &std::path::Path| {
        let store = open_store(dir, now);
        let mark = ListMark { at: now, arrived_at: now, import: ImportId::from_bytes([7; 16]) };
        let rows = AccountRows { is_complete: true, accounts: Vec::new(), is_doubted: false };
        let write = store.client_store(id).write_now(move |batch| {
            let mut all = 0..u32::try_from(N_LIST_ROWS_MAX).unwrap() - 1;
            all.try_for_each(|n| batch.put_account_rows(("s", "x"), mark, (n, &rows)))
        });
        write.unwrap();
    };
    let posture = posture.restart_after(fill, |_| ());
    assert_eq!(push(&posture, &client, &admins(500, true)).status, 200, "one row more");
    let imports = || read(&posture, &format!("/api/clients/{client}/imports"));
    let before = imports();
    let answer = push(&posture, &client, &admins(1, true));
    assert_eq!(answer.status, 413);
    assert_eq!(
        answer.problem().1,
        "identities: the lists of accounts that are kept for the client would take 20001 rows, and 20000 is the most; \
         undo imports of lists that are no longer needed (DELETE /api/clients/{clientId}/imports/{importId})"
    );
    assert_eq!(imports(), before);
    let metrics = posture.operator("GET", "/metrics", &Value::Null).text();
    assert!(metrics.contains("\nposture_source_runs_total{outcome=\"refused\"} 1\n"), "{metrics}");
    let undo = format!("/api/clients/{client}/imports/{}", before[0]["id"].as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &undo, &Value::Null).status, 200);
    assert_eq!(push(&posture, &client, &admins(1, true)).status, 200);
}
