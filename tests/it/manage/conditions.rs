//! What is open now.

use serde_json::{Value, json};

use super::{GOOD, MIXED, import, patched, posted, read, refused_field};
use crate::harness::Posture;

fn open(posture: &Posture, query: &str) -> Vec<Value> {
    read(posture, &format!("/api/conditions?{query}")).as_array().unwrap().clone()
}

fn mark(it: &Value) -> String {
    let (client, key) = (it["clientId"].as_str().unwrap(), it["dedupKey"].as_str().unwrap());
    format!("{client}/{key}")
}

fn kinds(all: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<_> = all.iter().map(|it| it["type"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds
}

/// A client with two risks, an alert and an overdue task.
fn burdened(posture: &Posture, name: &str) -> String {
    let client = posture.client(name);
    import(posture, &client, "", MIXED);
    let due_at = posture.now().to_string();
    let body = json!({"clientId": client, "title": "t", "dueAt": due_at});
    posted(posture, "/api/tasks", &body);
    posted(posture, "/api/tasks", &json!({"clientId": client, "title": "without a date"}));
    let condition = json!({"type": "control_failing", "controlCode": "CLD-01"});
    let rule = json!({"name": name, "clientIds": [client], "condition": condition});
    posted(posture, "/api/alert-rules", &rule);
    posture.pass_s(1); // The next one's id is behind this one's.
    client
}

#[test]
fn everything_that_is_open_is_listed_as_it_was_told() {
    let posture = Posture::start();
    let client = burdened(&posture, "A");
    let all = open(&posture, "");
    let expected = [
        "alert_triggered",
        "critical_risk_detected",
        "remediation_task_overdue",
        "risk_item_created",
    ];
    assert_eq!(kinds(&all), expected);
    let events = posture.events();
    for it in &all {
        assert_eq!((&it["clientId"], &it["occurrence"]), (&json!(client), &json!(1)));
        assert_eq!(it["object"]["dedupKey"], it["dedupKey"]);
        let told = events.iter().find(|event| {
            event["type"] == it["type"] && event["data"]["object"]["dedupKey"] == it["dedupKey"]
        });
        let Some(told) = told else {
            assert_eq!(
                it["type"], "risk_item_created",
                "a first read tells of critical ones alone"
            );
            continue;
        };
        for (name, value) in it["object"].as_object().unwrap() {
            assert_eq!(*value, told["data"]["object"][name], "{name}");
        }
    }
    let task = all.iter().find(|it| it["type"] == "remediation_task_overdue").unwrap();
    assert_eq!(task["openedAt"], task["object"]["dueAt"]);
}

#[test]
fn what_is_over_or_accepted_is_not_open() {
    let posture = Posture::start();
    let client = burdened(&posture, "A");
    let all = open(&posture, "");
    let find =
        |kind: &str| all.iter().find(|it| it["type"] == kind).unwrap()["object"]["id"].clone();
    let until = posture.now().plus_days(3).to_string();
    let risk = find("critical_risk_detected");
    let opened = all.iter().find(|it| it["type"] == "critical_risk_detected").unwrap();
    let path = format!("/api/clients/{client}/risks/{}", risk.as_str().unwrap());
    patched(&posture, &path, &json!({"accepted": true, "until": until, "reason": "r"}));
    let task = format!("/api/tasks/{}", find("remediation_task_overdue").as_str().unwrap());
    patched(&posture, &task, &json!({"status": "done"}));
    assert_eq!(kinds(&open(&posture, "")), ["alert_triggered", "risk_item_created"]);
    posture.pass_days(3);
    let back = open(&posture, "");
    let critical = back.iter().find(|it| it["type"] == "critical_risk_detected").unwrap();
    assert_eq!((&critical["object"]["id"], &critical["occurrence"]), (&risk, &json!(2)));
    assert_eq!(critical["openedAt"], opened["openedAt"], "the risk was there all the time");
    import(&posture, &client, "again=true", GOOD);
    assert!(open(&posture, "").is_empty());
}

#[test]
fn pages_over_all_clients_join() {
    let posture = Posture::start();
    let clients = ["A", "B", "C"].map(|it| burdened(&posture, it));
    let all = open(&posture, "limit=100");
    assert_eq!(all.len(), 12);
    assert!(all.is_sorted_by(|a, b| mark(a) < mark(b)), "by client, then by key");
    for limit in [1, 3, 5] {
        let mut joined: Vec<Value> = Vec::new();
        loop {
            let after = joined.last().map_or(String::new(), |it| format!("&after={}", mark(it)));
            let page = open(&posture, &format!("limit={limit}{after}"));
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            joined.extend(page);
            assert!(joined.len() <= all.len(), "pages come to an end");
        }
        assert_eq!(joined, all, "pages of {limit}");
    }
    let of_one = open(&posture, &format!("clientId={}", clients[1]));
    assert_eq!(of_one, all[4..8]);
    let path = format!("/api/clients/{}", clients[1]);
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    assert_eq!(open(&posture, ""), [&all[..4], &all[8..]].concat());
}

#[test]
fn each_parameter_tells_its_rule() {
    let posture = Posture::start();
    for (query, field) in [
        ("clientId=x", "clientId"),
        ("after=x", "after"),
        ("after=x/risk", "after"),
        ("limit=1001", "limit"),
    ] {
        let answer = posture.operator("GET", &format!("/api/conditions?{query}"), &Value::Null);
        assert_eq!(refused_field(&answer).0, field);
    }
    let absent = "/api/conditions?clientId=0195a000-0000-7000-8000-000000000000";
    assert_eq!(posture.operator("GET", absent, &Value::Null).status, 404);
}
