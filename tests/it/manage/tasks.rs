//! Remediation tasks.

use serde_json::{Value, json};

use super::{MIXED, import, patched, posted, prowler, read, refused_field, told};
use crate::harness::{Answer, Posture};

const CREATED: &str = "remediation_task_created";
const COMPLETED: &str = "remediation_task_completed";
const OVERDUE: &str = "remediation_task_overdue";

fn try_add(posture: &Posture, body: &Value) -> Answer {
    posture.operator("POST", "/api/tasks", body)
}

fn add(posture: &Posture, client: &str, more: &Value) -> Value {
    let mut body = json!({"clientId": client, "title": "Turn on MFA"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    posted(posture, "/api/tasks", &body)
}

fn path(task: &Value) -> String {
    format!("/api/tasks/{}", task["id"].as_str().unwrap())
}

fn in_s(posture: &Posture, seconds: i64) -> String {
    posture.now().plus_s(seconds).to_string()
}

fn list(posture: &Posture, query: &str) -> Vec<Value> {
    read(posture, &format!("/api/tasks?{query}")).as_array().unwrap().clone()
}

#[test]
fn a_new_task_shows_what_it_was_given_and_is_told_of() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let risks = posture.read(&posture.key(), &format!("/clients/{client}/risks"));
    let risk = risks["data"][0]["id"].clone();
    let due_at = in_s(&posture, 86_400);
    let given = json!({
        "clientId": client, "title": "Turn on MFA", "description": "for root", "riskId": risk,
        "controlCode": "CLD-01", "assignee": "Ada", "dueAt": due_at,
    });
    let task = posted(&posture, "/api/tasks", &given);
    let mut expected = given.clone();
    let now = posture.now().to_string();
    let made = json!({
        "id": task["id"], "status": "open", "overdue": false, "createdAt": now, "updatedAt": now,
        "completedAt": null, "externalReferences": [],
    });
    expected.as_object_mut().unwrap().extend(made.as_object().unwrap().clone());
    assert_eq!(task, expected);
    let [event] = &told(&posture, CREATED)[..] else { panic!("one event") };
    let object = &event["object"];
    for member in ["id", "title", "description", "riskId", "controlCode", "assignee", "dueAt"] {
        assert_eq!(object[member], task[member], "{member}");
    }
    assert_eq!((&object["status"], &event["clientId"]), (&json!("open"), &json!(client)));
    assert_eq!(object["dedupKey"], format!("{client}/task/{}", task["id"].as_str().unwrap()));
    assert!(event.get("previous").is_none());
    let bare = add(&posture, &client, &json!({"description": null, "dueAt": null}));
    assert!(
        ["description", "riskId", "controlCode", "assignee", "dueAt"]
            .iter()
            .all(|it| bare[it].is_null())
    );
    let posture = posture.restart();
    assert!(list(&posture, "").contains(&task), "it survives a restart");
}

#[test]
fn a_task_of_a_risk_is_called_as_the_risk_unless_it_has_a_title() {
    let posture = Posture::start();
    let client = posture.client("A");
    let unknown = ("a_check_of_its_own", "FAIL", "critical", "root");
    let file = String::from_utf8(prowler(&[MIXED[0], unknown])).unwrap();
    let long = format!(";{};FAIL", "ü".repeat(300));
    let file = file.replace(";a_check_of_its_own;FAIL", &long);
    assert_eq!(posture.import(&client, "observedAt=now", file.as_bytes()).status, 200);
    let mut n_long = 0;
    for risk in read(&posture, &format!("/api/clients/{client}/risks")).as_array().unwrap() {
        let task =
            posted(&posture, "/api/tasks", &json!({"clientId": client, "riskId": risk["id"]}));
        let title = risk["title"].as_str().unwrap();
        n_long += usize::from(200 < title.chars().count());
        assert_eq!(task["title"], posture::text::line(title, 200), "{risk}");
        let named = add(&posture, &client, &json!({"riskId": risk["id"]}));
        assert_eq!(named["title"], "Turn on MFA");
    }
    assert_eq!(n_long, 1);
    let refused = try_add(&posture, &json!({"clientId": client}));
    let (field, message) = refused_field(&refused);
    assert_eq!((&*field, &*message), ("title", "is required without riskId"));
}

#[test]
fn a_task_that_is_done_is_told_of_with_what_it_was_before() {
    let posture = Posture::start();
    let client = posture.client("A");
    let task = add(&posture, &client, &json!({}));
    posture.pass_s(5);
    let begun = patched(&posture, &path(&task), &json!({"status": "in_progress"}));
    assert_eq!((&begun["status"], &begun["completedAt"]), (&json!("in_progress"), &Value::Null));
    assert!(told(&posture, COMPLETED).is_empty());
    posture.pass_s(5);
    let done = patched(&posture, &path(&task), &json!({"status": "done"}));
    let now = json!(posture.now().to_string());
    assert_eq!((&done["completedAt"], &done["updatedAt"]), (&now, &now));
    let [event] = &told(&posture, COMPLETED)[..] else { panic!("one event") };
    assert_eq!(event["previous"], json!({"status": "in_progress"}));
    assert_eq!(
        (&event["object"]["status"], &event["object"]["completedAt"]),
        (&json!("done"), &now)
    );
    let created = &told(&posture, CREATED)[0];
    assert_eq!(event["object"]["dedupKey"], created["object"]["dedupKey"], "one ticket");
    patched(&posture, &path(&task), &json!({"status": "done", "title": "Done"}));
    assert_eq!(told(&posture, COMPLETED).len(), 1, "it was done already");
    let again = patched(&posture, &path(&task), &json!({"status": "open"}));
    assert!(again["completedAt"].is_null());
    patched(&posture, &path(&task), &json!({"status": "cancelled"}));
    assert_eq!((told(&posture, COMPLETED).len(), told(&posture, CREATED).len()), (1, 1));
    patched(&posture, &path(&task), &json!({"status": "done"}));
    assert_eq!(told(&posture, COMPLETED)[1]["previous"], json!({"status": "cancelled"}));
}

#[test]
fn a_change_changes_only_what_it_names_and_null_clears() {
    let posture = Posture::start();
    let client = posture.client("A");
    let more = json!({"description": "d", "assignee": "Ada", "dueAt": in_s(&posture, 60)});
    let task = add(&posture, &client, &more);
    let changed = patched(&posture, &path(&task), &json!({"title": "Else"}));
    let mut expected = task.clone();
    expected["title"] = json!("Else");
    assert_eq!(changed, expected);
    let nothing = json!({"description": null, "assignee": null, "dueAt": null});
    let changed = patched(&posture, &path(&task), &nothing);
    assert!(["description", "assignee", "dueAt"].iter().all(|it| changed[it].is_null()));
    assert_eq!(list(&posture, ""), [changed]);
    posture.pass_days(1);
    assert!(told(&posture, OVERDUE).is_empty(), "it has no due date any more");
}

#[test]
fn each_due_date_that_passes_is_told_of_once() {
    let posture = Posture::start();
    let client = posture.client("A");
    let task = add(&posture, &client, &json!({"dueAt": in_s(&posture, 100)}));
    posture.pass_s(99);
    assert!(told(&posture, OVERDUE).is_empty());
    posture.pass_s(1);
    let overdue = told(&posture, OVERDUE);
    assert_eq!(overdue.len(), 1, "at its second, though nothing else is due");
    let object = &overdue[0]["object"];
    assert_eq!((&object["id"], &object["occurrence"]), (&task["id"], &json!(1)));
    assert_eq!(list(&posture, "")[0]["overdue"], true);
    posture.pass_days(3);
    patched(&posture, &path(&task), &json!({"status": "in_progress", "assignee": "Bob"}));
    assert_eq!(told(&posture, OVERDUE).len(), 1, "once");
    let changed = patched(&posture, &path(&task), &json!({"dueAt": in_s(&posture, 50)}));
    assert_eq!(changed["overdue"], false);
    posture.pass_s(49);
    assert_eq!(told(&posture, OVERDUE).len(), 1);
    posture.pass_s(1);
    assert_eq!(
        told(&posture, OVERDUE)[1]["object"]["occurrence"],
        2,
        "once more when it was moved"
    );
    let posture = posture.restart();
    posture.pass_days(2);
    assert_eq!(told(&posture, OVERDUE).len(), 2);
}

#[test]
fn what_is_not_to_be_done_any_more_is_never_overdue() {
    let posture = Posture::start();
    let client = posture.client("A");
    for status in ["done", "cancelled"] {
        let task = add(&posture, &client, &json!({"dueAt": in_s(&posture, 100)}));
        patched(&posture, &path(&task), &json!({ "status": status }));
    }
    posture.pass_days(1);
    assert!(told(&posture, OVERDUE).is_empty());
    assert!(list(&posture, "").iter().all(|it| it["overdue"] == false));
    let late = &list(&posture, "")[0];
    patched(&posture, &path(late), &json!({"status": "open"}));
    assert_eq!(told(&posture, OVERDUE).len(), 1, "open again, it is");
    add(&posture, &client, &json!({"dueAt": in_s(&posture, -60)}));
    assert_eq!(told(&posture, OVERDUE).len(), 2, "so is one that is late when it is made");
}

#[test]
fn tasks_are_listed_by_client_and_status_in_pages() {
    let posture = Posture::start();
    let clients = ["A", "B"].map(|it| posture.client(it));
    let mut made = Vec::new();
    for n in 0..7 {
        let task = add(&posture, &clients[n % 2], &json!({ "title": format!("{n}") }));
        posture.pass_s(1);
        let status = if n < 3 { "done" } else { "open" };
        made.push(patched(&posture, &path(&task), &json!({ "status": status })));
    }
    assert_eq!(list(&posture, ""), made, "oldest first");
    let of = |client: &str, status: &str| -> Vec<Value> {
        let all = made.iter();
        let all = all.filter(|it| client.is_empty() || it["clientId"] == client);
        all.filter(|it| status.is_empty() || it["status"] == status).cloned().collect()
    };
    for (client, status) in [("", "done"), (&clients[0], ""), (&clients[1], "open")] {
        let wanted = of(client, status);
        assert!(1 < wanted.len());
        let mut query = Vec::new();
        query.extend((!client.is_empty()).then(|| format!("clientId={client}")));
        query.extend((!status.is_empty()).then(|| format!("status={status}")));
        let query = query.join("&");
        assert_eq!(list(&posture, &query), wanted);
        let mut joined: Vec<Value> = Vec::new();
        while joined.len() < wanted.len() {
            let after = joined
                .last()
                .map_or(String::new(), |it| format!("&after={}", it["id"].as_str().unwrap()));
            let page = list(&posture, &format!("{query}&limit=1{after}"));
            assert_eq!(page.len(), 1);
            joined.extend(page);
        }
        assert_eq!(joined, wanted);
    }
    for (query, field) in [
        ("status=late", "status"),
        ("clientId=x", "clientId"),
        ("after=x", "after"),
        ("limit=0", "limit"),
    ] {
        let answer = posture.operator("GET", &format!("/api/tasks?{query}"), &Value::Null);
        assert_eq!(refused_field(&answer).0, field);
    }
    let absent = "/api/tasks?clientId=0195a000-0000-7000-8000-000000000000";
    assert_eq!(posture.operator("GET", absent, &Value::Null).status, 404);
}

#[test]
fn each_rule_of_a_task_is_told_by_its_field() {
    let posture = Posture::start();
    let (client, other) = (posture.client("A"), posture.client("B"));
    for client in [&client, &other] {
        import(&posture, client, "", MIXED);
    }
    let risks = posture.read(&posture.key(), &format!("/clients/{other}/risks"));
    let task = add(&posture, &client, &json!({}));
    let before = list(&posture, "");
    let long = |n: usize| "ü".repeat(n);
    for (field, value) in [
        ("title", json!("")),
        ("title", json!(" \t")),
        ("title", json!(null)),
        ("title", json!(long(201))),
        ("description", json!(long(8_193))),
        ("assignee", json!(long(256))),
        ("dueAt", json!("tomorrow")),
        ("dueAt", json!(7)),
        ("colour", json!("red")),
    ] {
        let answer = posture.operator("PATCH", &path(&task), &json!({ field: value }));
        assert_eq!(refused_field(&answer).0, field, "{value}");
        let mut body = json!({"clientId": client, "title": "t"});
        body[field] = value;
        assert_eq!(refused_field(&try_add(&posture, &body)).0, field);
    }
    for (field, value) in [
        ("clientId", json!("x")),
        ("riskId", json!("x")),
        ("riskId", risks["data"][0]["id"].clone()),
        ("controlCode", json!("NONE-1")),
        ("status", json!("open")),
    ] {
        let mut body = json!({"clientId": client, "title": "t"});
        body[field] = value;
        assert_eq!(refused_field(&try_add(&posture, &body)).0, field, "{body}");
    }
    for (field, value) in [("status", json!("late")), ("clientId", json!(other))] {
        let answer = posture.operator("PATCH", &path(&task), &json!({ field: value }));
        assert_eq!(refused_field(&answer).0, field);
    }
    assert_eq!(refused_field(&try_add(&posture, &json!({"clientId": client}))).0, "title");
    let absent = json!({"clientId": "0195a000-0000-7000-8000-000000000000", "title": "t"});
    assert_eq!(try_add(&posture, &absent).status, 404);
    assert_eq!(list(&posture, ""), before, "nothing was done");
    let most = json!({"title": long(200), "description": long(8_192), "assignee": long(255)});
    add(&posture, &client, &most);
}

#[test]
fn an_erased_client_takes_its_tasks_along() {
    let posture = Posture::start();
    let (kept, erased) = (posture.client("Kept"), posture.client("Erased"));
    let task = add(&posture, &erased, &json!({"dueAt": in_s(&posture, 60)}));
    let other = add(&posture, &kept, &json!({}));
    let client = format!("/api/clients/{erased}");
    assert_eq!(posture.operator("DELETE", &client, &Value::Null).status, 200);
    assert_eq!(list(&posture, ""), [other]);
    let answer = posture.operator("PATCH", &path(&task), &json!({"title": "x"}));
    assert_eq!((answer.status, answer.problem().1.as_str()), (404, "task not found"));
    posture.pass_days(1);
    assert!(told(&posture, OVERDUE).is_empty());
}
