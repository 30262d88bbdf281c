//! Database files of releases before this one, from `tests/data/db`: this build opens each, everything in it is still
//! there, and a ticket that was opened with it is closed by the key that it was opened with.

mod back;
mod check;
mod file;
mod made;

use std::collections::BTreeSet;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::harness::Posture;
use crate::harness::process::wait_until;
use crate::harness::sink::Request;
use crate::webhook::Receiver;
use made::Account;

/// What has not happened by then never does.
const SOON: Duration = Duration::from_mins(1);
/// Names the pair of files in `tests/data/db` that this build is to write.
const KEEP_AS: &str = "POSTURE_KEEP_DATABASE";

/// Members that change by being read, by time alone, or with the catalog.
const MOVING: [&str; 5] = ["failingSince", "failures", "lastFailureAt", "lastUsedAt", "waiting"];

/// Returns where `new` lacks something that `old` has.
fn loss(at: &str, old: &Value, new: &Value) -> Option<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let mut all = old.iter().filter(|(name, _)| !MOVING.contains(&name.as_str()));
            all.find_map(|(name, it)| {
                loss(&format!("{at}.{name}"), it, new.get(name).unwrap_or(&Value::Null))
            })
        }
        // Up to 0.1 a subscription to all types was an empty list.
        (Value::Array(old), new) if old.is_empty() && *new == json!(["all"]) => None,
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let mut pairs = old.iter().zip(new).enumerate();
            pairs.find_map(|(n, (old, new))| loss(&format!("{at}[{n}]"), old, new))
        }
        _ => (old != new).then(|| format!("{at}: {old} -> {new}")),
    }
}

/// Up to 0.1 an operation without pages ignored `limit`, which the accounts of databases name throughout.
fn without_limit(path: &str) -> &str {
    let is_whole = ["keys", "users", "webhooks", "alert-rules"]
        .iter()
        .any(|it| path.starts_with(&format!("/api/{it}?")));
    if is_whole || path.contains("/controls?") || path.contains("/evidence?") {
        path.split('?').next().unwrap_or(path)
    } else {
        path
    }
}

fn read(posture: &Posture, path: &str) -> Value {
    let path = without_limit(path);
    let answer = posture.operator("GET", path, &Value::Null);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()["data"].clone()
}

/// Without the alert rule that every installation has, if a release made the database that had none.
fn without_built_in(path: &str, old: &Value, mut now: Value) -> Value {
    let is_listed = |it: &Value| it.get("builtIn").is_some();
    if path.starts_with("/api/alert-rules") && !old.as_array().unwrap().iter().any(is_listed) {
        now.as_array_mut().unwrap().retain(|it| it["builtIn"] == false);
    }
    now
}

fn write(posture: &Posture, method: &str, path: &str, body: &Value) -> Value {
    let answer = posture.operator(method, path, body);
    assert_eq!(answer.status / 100, 2, "{method} {path}: {}", answer.text());
    answer.json()["data"].clone()
}

fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

fn is_intact(posture: &Posture, account: &Account) {
    for (path, old) in &account.answers {
        let now = without_built_in(path, old, made::lasting(path, read(posture, path)));
        let old = without_claimed(posture, path, old, &now);
        let lost = loss(path, &old, &now);
        assert!(lost.is_none(), "{}", lost.unwrap());
    }
    let events = made::events(&posture.socket());
    assert!(events.starts_with(&account.events), "the bodies of old events are as they were");
    let verdict = read(posture, "/api/audit/verify");
    assert_eq!(verdict["whole"], true, "{verdict}");
}

/// The risks of before without those that are none any more: of controls of which somebody only says, without evidence, that
/// they are met. All other answers are as they were.
fn without_claimed(posture: &Posture, path: &str, old: &Value, now: &Value) -> Value {
    let of_client = path.split_once("/risks?").filter(|_| path.starts_with("/api/clients/"));
    let Some((client, _)) = of_client else { return old.clone() };
    let (old, now) = (old.as_array().unwrap(), now.as_array().unwrap());
    let is_kept = |it: &&Value| now.iter().any(|kept| kept["id"] == it["id"]);
    let kept: Vec<Value> = old.iter().filter(is_kept).cloned().collect();
    let controls = read(posture, &format!("{client}/controls"));
    let controls = controls.as_array().unwrap().iter();
    let n_claimed = controls.filter(|it| it["partialBecause"] == "claimed").count();
    let n_lost = old.len() - kept.len();
    assert!(n_lost == 0 || n_lost == n_claimed, "{path}: {n_lost} of {n_claimed}");
    kept.into()
}

/// Credentials of before are accepted.
fn admits(posture: &Posture, account: &Account) {
    let clients = posture.read(&account.api_key, "/clients");
    assert_eq!(clients["data"][0]["id"], account.client_id.as_str());
    let me = posture.as_user(&account.session_token, "GET", "/api/me", &Value::Null);
    assert_eq!((me.status, &me.json()["data"]["user"]["email"]), (200, &json!(account.user)));
    posture.log_in(&account.user, &account.password);
}

/// Deliveries that were queued go out byte for byte, signed with the secret of before.
fn delivers(posture: &Posture, account: &Account) {
    let receiver = Receiver::start();
    let path = format!("/api/webhooks/{}", account.webhook_id);
    write(posture, "PATCH", &path, &json!({ "url": receiver.sink.url() }));
    let is_of = |it: &Request, body: &str| it.body == body.as_bytes();
    let arrived = wait_until(SOON, || {
        posture.pass_s(60);
        let all = receiver.requests();
        account.events.iter().all(|body| all.iter().any(|it| is_of(it, body)))
    });
    assert!(arrived, "{} of {} came", receiver.requests().len(), account.events.len());
    for it in receiver.requests() {
        let signed = it.header("x-service-signature").unwrap();
        assert_eq!(signed, signature(&account.webhook_secret, &it.body));
    }
}

fn text<'a>(it: &'a Value, name: &str) -> &'a str {
    it[name].as_str().unwrap_or_else(|| panic!("no {name}: {it}"))
}

fn key_of(event: &Value) -> String {
    text(&event["data"]["object"], "dedupKey").to_owned()
}

/// What closes carries the key that was announced, and what opens after that names its client.
fn closes_and_opens(posture: &Posture, account: &Account) {
    let (client, rule) = (&account.client_id, &account.rule_id);
    let old = made::parsed(&account.events);
    let announced: BTreeSet<String> = old.iter().map(key_of).collect();
    let open = read(posture, "/api/conditions?limit=100");
    for it in open.as_array().unwrap() {
        assert_eq!(it["object"]["dedupKey"], it["dedupKey"], "{it}");
    }
    let n_old = made::events(&posture.socket()).len();

    let facts = format!("/api/clients/{client}/facts");
    write(posture, "POST", &facts, &made::facts(true));
    let tasks = read(posture, "/api/tasks?limit=100");
    for it in tasks.as_array().unwrap().iter().filter(|it| it["status"] != "done") {
        let path = format!("/api/tasks/{}", text(it, "id"));
        write(posture, "PATCH", &path, &json!({ "status": "done" }));
    }
    let closing = ["connector_health_changed", "remediation_task_completed", "risk_item_resolved"];
    let new = made::parsed(&made::events(&posture.socket())).split_off(n_old);
    for kind in closing {
        let of_kind: Vec<&Value> = new.iter().filter(|it| it["type"] == kind).collect();
        assert!(!of_kind.is_empty(), "no {kind}");
        for it in of_kind {
            assert!(announced.contains(&key_of(it)), "{kind} closes a condition of before: {it}");
        }
    }
    let alerts = read(posture, "/api/alerts");
    assert_eq!(alerts[0]["object"]["ruleId"], **rule);
    assert!(alerts[0]["closedAt"].is_string() && announced.contains(text(&alerts[0], "dedupKey")));

    let n_closed = n_old + new.len();
    posture.pass_days(1); // The day after an upgrade, no alert opens.
    let n_closed = n_closed.max(made::events(&posture.socket()).len());
    write(posture, "POST", &facts, &made::facts(false));
    let new = made::parsed(&made::events(&posture.socket())).split_off(n_closed);
    for kind in ["alert_triggered", "risk_item_created", "compliance_status_changed"] {
        assert!(new.iter().any(|it| it["type"] == kind), "no {kind}");
    }
    for it in &new {
        assert!(key_of(it).starts_with(&format!("{client}/")), "{it}");
    }
    let alert = new.iter().find(|it| it["type"] == "alert_triggered").unwrap();
    assert_eq!(key_of(alert), format!("{client}/alert/{rule}"));
    assert_eq!(alert["data"]["object"]["occurrence"], 2);
}

/// Once the client's size is known, what fails has its price, and the key figures show it.
fn is_priced(posture: &Posture, account: &Account) {
    let client = &account.client_id;
    write(posture, "PATCH", &format!("/api/clients/{client}"), &json!({ "employeeCount": 40 }));
    let loss = read(posture, &format!("/api/clients/{client}/posture"))["expectedLoss"].clone();
    assert!(loss["base"].as_u64() < loss["now"].as_u64(), "{loss}");
    assert_eq!(read(posture, "/api/dashboard/kpis")["exposure"]["sum"], loss["exposure"]);
}

/// What people said before is in the log, whether or not somebody says more. A release that had none kept the last.
fn keeps_what_was_said(posture: &Posture, account: &Account, channel: &str) {
    let client = &account.client_id;
    let path = format!("/api/clients/{client}/statements?limit=1000");
    let list = || read(posture, &path).as_array().unwrap().clone();
    let before = list();
    let old = before.iter().find(|it| it["subject"] == "GOV-14").unwrap();
    assert_eq!((&old["kind"], &old["state"]), (&json!("control"), &json!("in_force")));
    assert_eq!((text(old, "reason"), text(old, "by")), ("seen by me", "Ada"));
    assert_eq!((text(old, "channel"), old["account"].is_null()), (channel, channel == "upgrade"));

    let said = json!({ "status": "non_compliant", "reason": "It was another plan", "by": "Bob" });
    write(posture, "PUT", &format!("/api/clients/{client}/controls/GOV-14"), &said);
    let after = list();
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(
        (&after[0]["number"], &after[0]["supersedes"]),
        (&json!(after.len()), &old["number"])
    );
    for (before, now) in before.iter().zip(&after[1..]) {
        let mut expected = before.clone();
        if before == old {
            expected["state"] = json!("superseded");
            expected["endedBy"] = after[0]["number"].clone();
        }
        assert_eq!(*now, expected);
    }
    keeps_what_was_true(posture, client, channel == "upgrade");
}

/// What an earlier release left is where the history begins.
fn keeps_what_was_true(posture: &Posture, client: &str, is_upgraded: bool) {
    let history = read(posture, &format!("/api/clients/{client}/controls/GOV-14/history"));
    let spans = history.as_array().unwrap();
    let [now, before, ..] = &spans[..] else { panic!("what was true before is kept: {spans:?}") };
    assert_eq!((text(now, "status"), text(now, "cause")), ("non_compliant", "attestation"));
    assert_eq!((text(before, "status"), &before["to"]), ("partial", &now["from"]));
    assert_eq!(text(before, "restsOn"), "attested");
    let first = spans.last().unwrap();
    assert_eq!(text(first, "cause") == "upgrade", is_upgraded, "{first}");
    assert_eq!(first["rules"].is_null(), is_upgraded);
    let days = read(posture, &format!("/api/clients/{client}/days"));
    let today = posture.now().to_string();
    assert_eq!(text(&days[0], "day"), &today[..10]);
    assert!(!days[0]["frameworks"].as_array().unwrap().is_empty());
}

/// `channel`: how its log says that what it holds arrived.
fn is_taken_over(name: &str, folder: tempfile::TempDir, account: &Account, channel: &str) {
    eprintln!("{name}: made at {}", account.made_at);
    let posture = file::start(folder, account);
    is_intact(&posture, account);
    admits(&posture, account);
    closes_and_opens(&posture, account);
    delivers(&posture, account);
    is_priced(&posture, account);
    keeps_what_was_said(&posture, account, channel);
    let posture = posture.restart();
    let events = made::events(&posture.socket());
    assert!(events.starts_with(&account.events));
    assert_eq!(read(&posture, "/api/audit/verify")["whole"], true);
}

#[test]
fn every_database_of_an_earlier_release_is_taken_over() {
    let names = file::names();
    assert!(names.contains(&"832e0b9".to_owned()), "{names:?}");
    for name in names {
        let (folder, account) = file::unpack(&name);
        is_taken_over(&name, folder, &account, "upgrade");
    }
}

/// What makes the files works with this build. With `POSTURE_KEEP_DATABASE`, the file is kept for builds to come.
#[test]
fn a_database_that_this_build_made_is_taken_over() {
    let (made, account) = made::make();
    let database = std::fs::read(made.path().join("data/posture.redb")).unwrap();
    let kept = std::env::var_os(KEEP_AS);
    if let Some(name) = kept.as_ref().and_then(|it| it.to_str()) {
        file::keep(name, &database, &account);
    }
    let folder = file::folder_of(&database, &account.sealing_key);
    is_taken_over("this build", folder, &account, "cli");
}
