//! Every event type of the contract, from a real transition, and none from a first look.

use std::collections::BTreeSet;

use posture::engine::event::EventKind;
use serde_json::{Value, json};

use super::posted;
use crate::harness::{Posture, catalog, snapshot};
use crate::openapi;

/// A posture with events of every type, all about one client.
pub(crate) struct Story {
    pub(crate) posture: Posture,
    client: String,
}

impl Story {
    fn push(&self, facts: &Value) {
        let mut body = json!({ "source": "everything", "scope": "all" });
        body.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
        let path = format!("/api/clients/{}/facts", self.client);
        let answer = self.posture.operator("POST", &path, &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    fn kinds(&self) -> BTreeSet<String> {
        let events = self.posture.events();
        events.iter().map(|it| it["type"].as_str().unwrap().to_owned()).collect()
    }
}

fn account(name: &str, mfa: bool, admin: bool) -> Value {
    json!({
        "user": name, "mfa": mfa, "admin": admin, "enabled": true,
        "lastSignIn": "2026-03-01T00:00:00Z", "userType": "member",
    })
}

/// Goes through the transitions that make all event types.
pub(crate) fn tell(posture: Posture) -> Story {
    let client = posture.client("A");
    let story = Story { posture, client };
    let catalog = catalog();
    let fine = |it: &posture::engine::catalog::Control| json!({ "control": it.code, "status": "compliant" });
    let all: Vec<Value> =
        catalog.controls.iter().filter(|it| it.is_automatic()).map(fine).collect();
    story.push(&json!({
        "complete": true,
        "observations": all,
        "identities": [account("ann", true, false), account("root", true, true)],
        "apps": [{ "name": "Dropbox", "users": 3 }],
        "assets": [{ "externalId": "1", "name": "srv", "assetType": "server" }],
    }));
    let first = ["integration_sync_completed", "risk_assessment_completed"];
    assert_eq!(story.kinds(), first.map(str::to_owned).into());

    story.posture.pass_s(60);
    story.push(&json!({ "observations": [{ "control": "DAT-01", "status": "non_compliant" }] }));
    let later = story.posture.now().plus_days(2).to_string();
    let rule = json!({
        "name": "Low", "condition": { "type": "score_below", "value": 95 }, "clientIds": [story.client],
    });
    posted(&story.posture, "/api/alert-rules", &rule);
    let evidence = json!({
        "controlCode": "GOV-01", "title": "Training list", "reference": "dms://1", "by": "Ada",
        "validUntil": story.posture.now().plus_days(40).to_string(),
    });
    posted(&story.posture, &format!("/api/clients/{}/evidence", story.client), &evidence);
    let task = |title: &str| json!({ "clientId": story.client, "title": title, "dueAt": later });
    let done = posted(&story.posture, "/api/tasks", &task("Restore the backup"));
    posted(&story.posture, "/api/tasks", &task("Call the vendor"));
    let path = format!("/api/tasks/{}", done["id"].as_str().unwrap());
    let answer = story.posture.operator("PATCH", &path, &json!({ "status": "done" }));
    assert_eq!(answer.status, 200, "{}", answer.text());

    story.posture.pass_s(60);
    story.push(&json!({
        "complete": true,
        "identities": [account("ann", false, true), account("root", true, true)],
        "apps": [{ "name": "Dropbox", "users": 3 }, { "name": "WeTransfer", "users": 1 }],
        "assets": [
            { "externalId": "1", "name": "srv", "assetType": "server" },
            { "externalId": "2", "name": "new", "assetType": "server" },
        ],
    }));
    story.push(&json!({ "observations": [{ "control": "DAT-01", "status": "compliant" }] }));
    story.push(&json!({ "sync": { "status": "failed", "message": "401" } }));
    story.posture.pass_days(3);
    story.posture.pass_days(35);
    story.posture.pass_days(60);
    story.push(&json!({
        "complete": true,
        "identities": [account("ann", false, true), account("root", true, true)],
    }));
    story
}

#[test]
fn each_of_the_22_types_comes_from_a_real_transition_and_none_from_a_first_look() {
    let story = tell(Posture::start());
    let wanted: BTreeSet<String> = EventKind::ALL.map(|it| it.as_str().to_owned()).into();
    let missing: Vec<_> = wanted.difference(&story.kinds()).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let mut last = 0;
    for event in story.posture.events() {
        let object = &event["data"]["object"];
        let sequence = object["sequence"].as_u64().unwrap();
        assert_eq!(sequence, last + 1);
        last = sequence;
        let key = object["dedupKey"].as_str().unwrap();
        assert!(key.starts_with(&format!("{}/", story.client)), "{event}");
        assert_eq!(object["clientName"], "A", "{event}");
    }
}

#[test]
fn every_event_is_as_its_schema_says() {
    let document = openapi::document();
    let story = tell(Posture::start_with(|it| {
        it.app.public_url = Some("https://posture.example.com".to_owned());
    }));
    for event in story.posture.events() {
        let kind = event["type"].as_str().unwrap();
        let body = &document["x-webhooks"][kind]["post"]["requestBody"];
        let schema = &body["content"]["application/json"]["schema"];
        let faults = openapi::faults(&document, schema, &event, kind);
        assert!(schema.is_object() && faults.is_empty(), "{faults:?}: {event}");
    }
    are_as_they_were(&story.posture.events());
}

/// The first event of each type is the one that its snapshot has, word for word.
fn are_as_they_were(events: &[Value]) {
    let mut names = BTreeSet::new();
    for kind in EventKind::ALL.map(EventKind::as_str) {
        let first = events.iter().find(|it| it["type"] == kind).unwrap();
        let mut event = snapshot::redacted(first);
        event["id"] = "[id]".into();
        event["data"]["object"]["sequence"] = "[sequence]".into();
        let name = format!("event-{kind}");
        snapshot::assert_json(&name, &event);
        names.insert(name);
    }
    assert_eq!(snapshot::names("event-"), names, "no snapshot is left over");
}
