//! What ended long ago is removed, and what is open stays however old it is.

use posture::id::ClientId;
use serde_json::{Value, json};

use super::{evidence, patched, posted, prowler, read};
use crate::harness::{Posture, open_store};

/// How long is kept what ended.
const KEPT_DAYS: i64 = 396;
const CODE: &str = "END-04";

/// Pushes facts of the source `script`; the answer's data.
fn push(posture: &Posture, client: &str, more: &Value) -> Value {
    let mut body = json!({"source": "script"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// What one check saw in a scope: the id of the import.
fn seen(posture: &Posture, client: &str, scope: &str, (passed, failed): (u32, u32)) -> Value {
    let observation = json!({"control": CODE, "passed": passed, "failed": failed});
    push(posture, client, &json!({"scope": scope, "observations": [observation]}))["importId"]
        .clone()
}

/// The ids of the imports that are listed, and how many there are.
fn imports(posture: &Posture, client: &str, query: &str) -> (Vec<Value>, Value) {
    let path = format!("/api/clients/{client}/imports?{query}");
    let answer = posture.operator("GET", &path, &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    let all = answer["data"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    (all, answer["pagination"]["total"].clone())
}

#[test]
fn an_import_is_removed_once_all_of_its_results_were_replaced() {
    let posture = Posture::start();
    let client = posture.client("A");
    let own = json!({"settings": {"retention": {"observationsDays": KEPT_DAYS}}});
    patched(&posture, &format!("/api/clients/{client}"), &own);
    let replaced = seen(&posture, &client, "x", (1, 0));
    let failing = seen(&posture, &client, "y", (0, 1));
    let file = prowler(super::GOOD);
    let import = || {
        let answer = posture.import(&client, "observedAt=now", &file);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"].clone()
    };
    let first = import()["import"]["id"].clone();
    assert_eq!(import()["alreadyImported"], true);
    posture.pass_days(1);
    let newest = seen(&posture, &client, "x", (1, 0));
    let other = super::import(&posture, &client, "", super::MIXED)["import"]["id"].clone();
    posture.pass_days(KEPT_DAYS - 1);
    let (listed, total) = imports(&posture, &client, "");
    assert_eq!(total, 5, "not yet");
    assert!(listed.contains(&replaced) && listed.contains(&first));
    posture.pass_days(1);
    let (mut listed, total) = imports(&posture, &client, "");
    let mut kept = vec![failing.clone(), newest, other];
    listed.sort_by_key(Value::to_string);
    kept.sort_by_key(Value::to_string);
    assert_eq!((listed, total), (kept, json!(3)));
    assert_eq!(import()["alreadyImported"], false, "it is not known any more");
    assert_eq!(imports(&posture, &client, "").1, 4);
    // What it saw fail is not forgotten, and it can be undone.
    let key = posture.key();
    let risks = || posture.read(&key, &format!("/clients/{client}/risks"))["pagination"].clone();
    let n_risks = risks()["total"].as_u64().unwrap();
    let undo = format!("/api/clients/{client}/imports/{}", failing.as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &undo, &Value::Null).status, 200);
    assert_eq!(risks()["total"], n_risks - 1);
    let posture = posture.restart();
    posture.pass_days(1);
    assert_eq!(imports(&posture, &client, "").1, 2, "one was undone, one replaced");
}

#[test]
fn imports_are_listed_by_pages_newest_first() {
    let posture = Posture::start();
    let client = posture.client("A");
    let mut all: Vec<Value> = (0..7)
        .map(|it| {
            posture.pass_s(1);
            seen(&posture, &client, &format!("{it}"), (1, 0))
        })
        .collect();
    all.reverse();
    assert_eq!(imports(&posture, &client, ""), (all.clone(), json!(7)));
    for (query, rows) in [
        ("limit=1", 0..1),
        ("limit=3&offset=2", 2..5),
        ("limit=3&offset=6", 6..7),
        ("offset=7", 7..7),
        ("offset=1000000000", 7..7),
    ] {
        assert_eq!(imports(&posture, &client, query), (all[rows].to_vec(), json!(7)), "{query}");
    }
}

fn accounts(names: &[&str], mfa: bool) -> Value {
    let account = |it: &&str| json!({"user": it, "admin": true, "mfa": mfa, "mfaEnforced": mfa, "enabled": true});
    json!(names.iter().map(account).collect::<Vec<_>>())
}

#[test]
fn the_lists_of_a_silent_scope_are_removed_unless_something_about_it_is_open() {
    let posture = Posture::start();
    let client = posture.client("A");
    let list = |scope: &str, mfa: bool| {
        let names = accounts(&["ann", "bob"], mfa);
        let body = json!({"scope": scope, "complete": true, "identities": names});
        push(&posture, &client, &body)["identities"].clone()
    };
    let n_added = |moved: &Value| moved["added"].as_u64().unwrap();
    list("quiet", true);
    list("quiet", true);
    list("open", false);
    seen(&posture, &client, "failing", (0, 1));
    push(&posture, &client, &json!({"scope": "failing", "identities": accounts(&["eve"], true)}));
    posture.pass_days(1);
    list("alive", true);
    let app = json!({"source": "other", "scope": "last", "complete": true, "apps": []});
    push(&posture, &client, &app);
    posture.pass_days(KEPT_DAYS - 1);
    assert_eq!(n_added(&list("alive", true)), 0);
    posture.pass_s(86_400 - 1);
    posture.pass_s(1);
    let known = |scope: &str, mfa: bool| n_added(&list(scope, mfa)) == 0;
    assert!(known("alive", true));
    assert!(known("open", false), "an administrator without MFA is still to be dealt with");
    let again = json!({"scope": "failing", "identities": accounts(&["eve"], true)});
    let moved = push(&posture, &client, &again)["identities"].clone();
    assert_eq!(n_added(&moved), 0, "a risk is open");
    assert!(!known("quiet", true), "nothing of it is open");
    let (now, id) = (posture.now(), client.parse::<ClientId>().unwrap());
    let n_reads = |dir: &std::path::Path| {
        let rows = open_store(dir, now).client_store(id).snapshot().unwrap();
        let reads = rows.list_complete_reads().unwrap();
        let n = reads.iter().filter(|it| it.scope == "quiet" && it.is_of_accounts).count();
        assert_eq!(
            n, 2,
            "the newest of before, so that what it lacked stays gone, and the new one"
        );
    };
    posture.restart_after(n_reads, |_| ());
}

#[test]
fn tasks_that_ended_are_removed_and_open_ones_stay() {
    let posture = Posture::start();
    let client = posture.client("A");
    let add = |title: &str| {
        posture.clock.set(posture.now().plus_s(1)); // They are listed in the order of their times.
        let task = posted(&posture, "/api/tasks", &json!({"clientId": client, "title": title}));
        format!("/api/tasks/{}", task["id"].as_str().unwrap())
    };
    let (open, done, cancelled, late) = (add("open"), add("done"), add("cancelled"), add("late"));
    patched(&posture, &done, &json!({"status": "done"}));
    patched(&posture, &cancelled, &json!({"status": "cancelled"}));
    posture.pass_days(1);
    patched(&posture, &late, &json!({"status": "done"}));
    let titles = || {
        let all = read(&posture, "/api/tasks?limit=100");
        let all = all.as_array().unwrap().iter();
        all.map(|it| it["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    posture.pass_days(KEPT_DAYS - 1);
    assert_eq!(titles(), ["open", "done", "cancelled", "late"]);
    posture.pass_days(1);
    assert_eq!(titles(), ["open", "late"]);
    posture.pass_days(1);
    assert_eq!(titles(), ["open"]);
    patched(&posture, &open, &json!({"status": "in_progress"}));
}

#[test]
fn retired_assets_are_removed_and_are_new_when_they_are_seen_again() {
    let posture = Posture::start();
    let client = posture.client("A");
    let key = posture.key();
    let list = |names: &[&str]| {
        let asset = |it: &&str| json!({"externalId": it, "name": it, "assetType": "server", "hostname": it});
        let assets: Vec<_> = names.iter().map(asset).collect();
        let body = json!({"complete": true, "confirmShrink": true, "assets": assets});
        push(&posture, &client, &body)
    };
    let shown = || {
        let all = posture.read(&key, &format!("/clients/{client}/assets"));
        let all = all["data"].as_array().unwrap().iter();
        let of = |it: &Value| [it["name"].clone(), it["status"].clone(), it["id"].clone()];
        all.map(of).collect::<Vec<_>>()
    };
    let states = || {
        let name =
            |it: [Value; 3]| format!("{} {}", it[0].as_str().unwrap(), it[1].as_str().unwrap());
        shown().into_iter().map(name).collect::<Vec<_>>()
    };
    list(&["one", "two", "three"]);
    // Another source has a name of its own for it.
    let same =
        json!({"externalId": "host-2", "name": "two", "assetType": "server", "hostname": "two"});
    push(&posture, &client, &json!({"source": "other", "assets": [same]}));
    posture.pass_days(1);
    list(&["one"]);
    posture.pass_days(1);
    list(&["one"]);
    assert_eq!(states(), ["one active", "two retired", "three retired"]);
    let before = shown();
    posture.pass_days(KEPT_DAYS - 1);
    assert_eq!(states().len(), 3);
    posture.pass_days(1);
    posture.pass_days(1);
    assert_eq!(states(), ["one stale"]);
    let two = before[1][2].as_str().unwrap();
    let answer = posture.send("PUT", &key, &format!("/assets/{two}"), &json!({"name": "x"}));
    assert_eq!(answer.status, 404, "{}", answer.text());
    push(&posture, &client, &json!({"source": "other", "assets": [same]}));
    assert_eq!(states(), ["one stale", "two active"]);
    assert_ne!(shown()[1][2], before[1][2], "it is a new asset");
    let posture = posture.restart();
    let assets = posture.read(&posture.key(), &format!("/clients/{client}/assets"));
    assert_eq!(assets["pagination"]["total"], 2);
}

#[test]
fn revoked_keys_are_removed_with_what_the_audit_log_says_of_them() {
    let posture = Posture::start();
    let client = posture.client("A");
    let gone = posture.issue(&json!({"name": "gone"}));
    posture.clock.set(posture.now().plus_s(1)); // Keys are listed in the order of their times.
    let stays = posture.key_with(&json!({"name": "stays"}));
    posture.read(gone["key"].as_str().unwrap(), &format!("/clients/{client}"));
    let path = format!("/api/keys/{}", gone["id"].as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
    let names = |posture: &Posture| {
        while posture.block_on(posture.app.forget_keys()).unwrap() {}
        let all = read(posture, "/api/keys");
        let all = all.as_array().unwrap().iter();
        all.map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    posture.pass_days(KEPT_DAYS);
    assert_eq!(names(&posture), ["gone", "stays"]);
    posture.pass_s(1);
    assert_eq!(names(&posture), ["stays"]);
    posture.read(&stays, &format!("/clients/{client}"));
    assert_eq!(posture.get(gone["key"].as_str().unwrap(), "/clients").status, 401);
    assert_eq!(posture.operator("PATCH", &path, &json!({"name": "x"})).status, 404);
    let posture = posture.restart();
    assert_eq!(names(&posture), ["stays"]);
}

#[test]
fn evidence_is_never_removed_by_age() {
    let posture = Posture::start();
    let client = posture.client("A");
    let id = evidence::add(&posture, &client, &json!({}));
    posture.pass_days(KEPT_DAYS + 2);
    let path = format!("/api/clients/{client}/evidence");
    assert_eq!(read(&posture, &path)[0]["id"], json!(id));
}
