//! What clients, risks and tasks are called in other systems.

use serde_json::{Value, json};

use super::{GOOD, MIXED, import, patched, posted, read, refused_field, told};
use crate::harness::Posture;

fn psa(id: &str) -> Value {
    json!([{"system": "halo", "id": id}])
}

#[test]
fn a_ticket_number_is_written_back_and_the_closing_event_carries_it() {
    let posture = Posture::start();
    let company = json!({"name": "A", "externalReferences": psa("company-7")});
    let client = posted(&posture, "/api/clients", &company)["id"].as_str().unwrap().to_owned();
    import(&posture, &client, "", MIXED);
    let opened = told(&posture, "critical_risk_detected");
    let object = &opened[0]["object"];
    assert_eq!(object["clientExternalReferences"], psa("company-7"));
    assert!(object.get("externalReferences").is_none(), "there is no ticket yet: {object}");
    let path = format!("/api/clients/{client}/risks/{}", object["id"].as_str().unwrap());
    let risk = patched(&posture, &path, &json!({"externalReferences": psa("ticket-1")}));
    assert_eq!(
        (&risk["externalReferences"], &risk["acceptance"]),
        (&psa("ticket-1"), &Value::Null)
    );
    for list in [format!("/api/clients/{client}/risks"), "/api/portfolio/risks".to_owned()] {
        let all = read(&posture, &list);
        let of = |it: &&Value| it["id"] == object["id"];
        let risk = all.as_array().unwrap().iter().find(of).unwrap();
        assert_eq!(risk["externalReferences"], psa("ticket-1"), "{list}");
    }
    let conditions = read(&posture, "/api/conditions");
    let of = |it: &&Value| it["object"]["id"] == object["id"];
    let condition = conditions.as_array().unwrap().iter().find(of).unwrap();
    assert_eq!(condition["object"]["externalReferences"], psa("ticket-1"));
    assert_eq!(condition["object"]["clientExternalReferences"], psa("company-7"));
    posture.pass_s(60);
    import(&posture, &client, "", GOOD);
    let closed = told(&posture, "risk_item_resolved");
    let of = |it: &&Value| it["object"]["dedupKey"] == object["dedupKey"];
    let closed = closed.iter().find(of).expect("the same condition closes");
    assert_eq!(closed["object"]["externalReferences"], psa("ticket-1"));
    assert_eq!(closed["object"]["clientExternalReferences"], psa("company-7"));
}

#[test]
fn open_conditions_name_the_references_that_there_are_now() {
    let posture = Posture::start();
    let (client, other) = (posture.client("A"), posture.client("B"));
    let rule = json!({"name": "low", "condition": {"type": "score_below", "value": 99}});
    posted(&posture, "/api/alert-rules", &rule);
    for client in [&client, &other] {
        import(&posture, client, "", MIXED);
        let due = posture.now().plus_s(60).to_string();
        posted(&posture, "/api/tasks", &json!({"clientId": client, "title": "T", "dueAt": due}));
    }
    posture.pass_s(120);
    posture.sweep();
    let of_both = read(&posture, "/api/conditions");
    let named = |it: &Value| it["object"].get("clientExternalReferences").is_some();
    assert!(!of_both.as_array().unwrap().iter().any(named), "there are none yet");
    let references = |id: &str| json!({"externalReferences": psa(id)});
    patched(&posture, &format!("/api/clients/{client}"), &references("company-7"));
    let task = read(&posture, &format!("/api/tasks?clientId={client}"))[0]["id"].clone();
    patched(&posture, &format!("/api/tasks/{}", task.as_str().unwrap()), &references("ticket-2"));
    let after = read(&posture, "/api/conditions");
    let mut n_own = 0;
    for it in after.as_array().unwrap() {
        let is_own = it["clientId"] == client.as_str();
        n_own += usize::from(is_own);
        let company = it["object"].get("clientExternalReferences");
        assert_eq!(company, is_own.then(|| psa("company-7")).as_ref(), "{it}");
        let is_task = is_own && it["type"] == "remediation_task_overdue";
        let ticket = it["object"].get("externalReferences");
        assert_eq!(ticket, is_task.then(|| psa("ticket-2")).as_ref(), "{it}");
    }
    assert!(4 <= n_own, "risks, a task, an alert: {n_own}");
    let alerts = read(&posture, &format!("/api/alerts?clientId={client}"));
    assert_eq!(alerts[0]["object"]["clientExternalReferences"], psa("company-7"));
}

#[test]
fn a_change_replaces_all_references_or_keeps_them() {
    let posture = Posture::start();
    let client = posture.client("A");
    let path = format!("/api/clients/{client}");
    assert_eq!(read(&posture, &path)["externalReferences"], json!([]));
    let two = json!([{"system": "halo", "id": "1"}, {"system": "crm", "id": "1"}]);
    let set = |path: &str, references: &Value| {
        patched(&posture, path, &json!({ "externalReferences": references }))["externalReferences"]
            .clone()
    };
    assert_eq!(set(&path, &two), two);
    assert_eq!(patched(&posture, &path, &json!({"industry": "Legal"}))["externalReferences"], two);
    assert_eq!(read(&posture, "/api/clients")[0]["externalReferences"], two);
    assert_eq!(set(&path, &psa("2")), psa("2"));
    let task = json!({"clientId": client, "title": "T", "externalReferences": psa("9")});
    let task = posted(&posture, "/api/tasks", &task);
    assert_eq!(task["externalReferences"], psa("9"));
    assert_eq!(
        told(&posture, "remediation_task_created")[0]["object"]["externalReferences"],
        psa("9")
    );
    let at = format!("/api/tasks/{}", task["id"].as_str().unwrap());
    assert_eq!(patched(&posture, &at, &json!({"title": "U"}))["externalReferences"], psa("9"));
    assert_eq!(set(&at, &two), two);
    let posture = posture.restart();
    assert_eq!(read(&posture, "/api/tasks")[0]["externalReferences"], two);
    assert_eq!(read(&posture, &path)["externalReferences"], psa("2"));
    let export = posture.operator("GET", &format!("{path}/export"), &Value::Null).text();
    assert_eq!(export.matches("\"externalReferences\":[{").count(), 2, "the client and its task");
    let cleared = json!({"externalReferences": []});
    assert_eq!(patched(&posture, &at, &cleared)["externalReferences"], json!([]));
}

#[test]
fn an_acceptance_and_a_ticket_can_be_set_together() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    let risks = format!("/api/clients/{client}/risks");
    let path = format!("{risks}/{}", read(&posture, &risks)[0]["id"].as_str().unwrap());
    let both = json!({
        "accepted": true, "until": "2026-04-01T00:00:00Z", "reason": "replaced",
        "externalReferences": psa("1"),
    });
    let risk = patched(&posture, &path, &both);
    assert_eq!(risk["acceptance"]["reason"], "replaced");
    assert_eq!(risk["externalReferences"], psa("1"));
    let only = patched(&posture, &path, &json!({"externalReferences": psa("2")}));
    assert_eq!(only["acceptance"]["reason"], "replaced", "it stays accepted");
    let revoked = patched(&posture, &path, &json!({"accepted": false}));
    let told = (&revoked["acceptance"], &revoked["externalReferences"]);
    assert_eq!(told, (&Value::Null, &psa("2")));
    let nothing = posture.operator("PATCH", &path, &json!({}));
    assert_eq!(refused_field(&nothing), ("accepted".into(), "is required".into()));
}

#[test]
fn each_rule_of_references_is_told() {
    let posture = Posture::start();
    let client = posture.client("A");
    let path = format!("/api/clients/{client}");
    let change = |references: &Value| {
        posture.operator("PATCH", &path, &json!({ "externalReferences": references }))
    };
    let reference = |system: &str, id: &str| json!([{"system": system, "id": id}]);
    let (long, longer) = ("ü".repeat(100), "ü".repeat(101));
    for (references, rule) in [
        (reference("", "1"), ""),
        (reference(" ", "1"), ""),
        (reference("a", ""), ""),
        (reference(&longer, "1"), ""),
        (reference("a", &"ü".repeat(201)), ""),
        (
            json!([{"system": "a", "id": "1"}, {"system": "a", "id": "1"}]),
            "must not name one reference twice",
        ),
        (
            (0..11).map(|it| json!({"system": "a", "id": it.to_string()})).collect(),
            "must be at most 10",
        ),
        (json!([{"system": "a"}]), ""),
        (json!([{"system": "a", "id": "1", "url": "x"}]), ""),
        (json!("a"), ""),
    ] {
        let (field, told) = refused_field(&change(&references));
        assert!(field.starts_with("externalReferences") && told.contains(rule), "{field}: {told}");
    }
    let most: Value = (0..10)
        .map(|it| json!({"system": long, "id": format!("{it}{}", "ü".repeat(199))}))
        .collect();
    assert_eq!(change(&most).json()["data"]["externalReferences"], most);
}
