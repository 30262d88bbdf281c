//! A deadline that is a date passes at the end of that day in the client's time zone, and people read days by it.

use posture::clock::zone::Zone;
use serde_json::{Value, json};

use super::controls::attest;
use super::documents::{ask, texts};
use super::{MIXED, import, patched, posted, read, refused_field};
use crate::harness::Posture;
use crate::mail::at;
use crate::openapi::document;

/// Its clocks skip the midnight after 2026-04-23.
const CAIRO: &str = "Africa/Cairo";
const MONTREAL: &str = "America/Montreal";
const KATHMANDU: &str = "Asia/Kathmandu";

fn client_in(posture: &Posture, zone: &str) -> String {
    let client = posture.client(zone);
    let settings = json!({"settings": {"timeZone": zone}});
    patched(posture, &format!("/api/clients/{client}"), &settings);
    client
}

fn set_zone(posture: &Posture, zone: &Value) -> u16 {
    posture.operator("PUT", "/api/settings/msp.time_zone", &json!({"value": zone})).status
}

/// Sends the day as every deadline of a client. What the answers have, by operation.
fn sent(posture: &Posture, client: &str, day: &str) -> Vec<(&'static str, Value)> {
    let of = |path: &str| format!("/api/clients/{client}/{path}");
    let risks = read(posture, &of("risks"));
    let risk = of(&format!("risks/{}", risks[0]["id"].as_str().unwrap()));
    let accepted = json!({"accepted": true, "until": day, "reason": "budget", "by": "Ada"});
    let decision = json!({"decision": "out_of_scope", "reason": "none", "until": day, "by": "Ada"});
    let row = of("compliance/HIPAA/164.310(a)(2)(i)");
    let decided = posture.operator("PUT", &row, &decision).json()["data"].clone();
    let entry = json!({
        "controlCode": "GOV-01", "title": "Policy", "reference": day, "validUntil": day, "by": "Ada",
    });
    let file = posture.bring_evidence(
        client,
        &format!("?controlCode=GOV-01&fileName=policy.pdf&by=Ada&validUntil={day}"),
        day.as_bytes(),
    );
    let task = posted(
        posture,
        "/api/tasks",
        &json!({"clientId": client, "title": "Mend it", "dueAt": day}),
    );
    let path = format!("/api/tasks/{}", task["id"].as_str().unwrap());
    patched(posture, &path, &json!({"dueAt": null}));
    let changed = patched(posture, &path, &json!({"dueAt": day}));
    let case = json!({"reason": "Case 4711", "until": day});
    let held = posture.operator("PUT", &of("hold"), &case).json()["data"].clone();
    let lifted = posture.operator("DELETE", &of("hold?reason=over"), &Value::Null);
    assert_eq!(lifted.status, 200, "{}", lifted.text());
    let said = json!({"all": true, "reason": "counted", "by": "Ada", "until": day});
    let said = posture.operator("PUT", &of("estate/cloud_accounts"), &said);
    let kinds = said.json()["data"]["kinds"].clone();
    let whole = kinds.as_array().unwrap().iter().find(|it| it["kind"] == "cloud_accounts");
    let out = json!({
        "members": ["aws/111122223333"], "decision": "excluded", "reason": "a sandbox", "by": "Ada", "until": day,
    });
    let out = posture.operator("POST", &of("estate/decisions"), &out);
    let members = out.json()["data"]["members"].clone();
    let back = json!({"members": ["aws/111122223333"], "decision": "counted", "by": "Ada"});
    assert_eq!(posture.operator("POST", &of("estate/decisions"), &back).status, 200);
    let left = members.as_array().unwrap().iter().find(|it| !it["decision"].is_null());
    let subjects = json!({
        "decision": "accepted", "pattern": "a*", "reason": "r", "by": "Ada", "until": day,
    });
    vec![
        ("say_estate_whole", whole.unwrap()["all"]["until"].clone()),
        ("decide_estate", left.unwrap()["decision"]["until"].clone()),
        (
            "attest_control",
            attest(posture, client, "GOV-04", &json!({"until": day}))["attestation"]["until"]
                .clone(),
        ),
        ("decide_requirement", decided["decision"]["until"].clone()),
        ("change_risk", patched(posture, &risk, &accepted)["acceptance"]["until"].clone()),
        ("add_evidence", posted(posture, &of("evidence"), &entry)["validUntil"].clone()),
        ("add_evidence_file", file.json()["data"]["validUntil"].clone()),
        ("add_task", task["dueAt"].clone()),
        ("change_task", changed["dueAt"].clone()),
        ("hold_client", held["hold"]["until"].clone()),
        (
            "decide_control_subjects",
            posted(posture, &of("controls/GOV-04/subjects"), &subjects)["until"].clone(),
        ),
    ]
}

#[test]
fn a_deadline_that_is_a_date_passes_with_that_day_there() {
    let posture = Posture::start();
    for (zone, day, end) in [
        (None, "2026-12-31", "2026-12-31T23:59:59.000Z"),
        (Some(MONTREAL), "2026-07-31", "2026-08-01T03:59:59.000Z"),
        // The day has 25 hours.
        (Some(MONTREAL), "2026-11-01", "2026-11-02T04:59:59.000Z"),
        (Some(KATHMANDU), "2026-12-31", "2026-12-31T18:14:59.000Z"),
        (Some(CAIRO), "2026-04-23", "2026-04-23T21:59:59.000Z"),
    ] {
        let client = zone.map_or_else(|| posture.client("A"), |it| client_in(&posture, it));
        import(&posture, &client, "", MIXED);
        for (operation, shown) in sent(&posture, &client, day) {
            assert_eq!(shown, end, "{operation} {zone:?} {day}");
        }
    }
    // What is no client's ends where the day of the service provider does, and so does that of a client without a zone.
    assert_eq!(set_zone(&posture, &json!(KATHMANDU)), 200);
    let (day, end) = ("2026-12-31", "2026-12-31T18:14:59.000Z");
    assert_eq!(posture.issue(&json!({"expiresAt": day}))["expiresAt"], end);
    let client = posture.client("B");
    assert_eq!(
        read(&posture, &format!("/api/clients/{client}"))["settings"]["timeZone"],
        KATHMANDU
    );
    import(&posture, &client, "", MIXED);
    assert!(sent(&posture, &client, day).iter().all(|it| it.1 == end));
    // A moment is one.
    let task = json!({"clientId": client, "title": "A", "dueAt": "2026-12-31T17:00:00-05:00"});
    assert_eq!(posted(&posture, "/api/tasks", &task)["dueAt"], "2026-12-31T22:00:00.000Z");
}

/// Every field of a body that says when something ends takes a date, and no other does.
#[test]
fn every_deadline_takes_a_date() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let is_of = |it: &Value, format: &str| {
        let text = it.to_string();
        text.contains(&format!("\"format\":\"{format}\""))
    };
    let ends = ["until", "validUntil", "dueAt", "expiresAt", "secretExpiresAt"];
    // A recovery is over deliveries of a stretch of time.
    let by_clock = ["WebhookRecovery"];
    let mut n_ends = 0;
    for body in document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|it| it.as_object().unwrap().values())
    {
        let Some(name) =
            body["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str()
        else {
            continue;
        };
        let name = name.rsplit('/').next().unwrap();
        let Some(fields) = schemas[name]["properties"].as_object() else { continue };
        for (field, schema) in fields {
            let schema = schema["$ref"].as_str().map_or_else(
                || schema.clone(),
                |it| schemas[it.rsplit('/').next().unwrap()].clone(),
            );
            let is_end = ends.contains(&field.as_str()) && !by_clock.contains(&name);
            if is_of(&schema, "date-time") {
                assert_eq!(is_of(&schema, "date"), is_end, "{name}.{field} {schema}");
                n_ends += usize::from(is_end);
            }
        }
    }
    assert_eq!(n_ends, 15);
}

#[test]
fn a_zone_is_one_of_the_database() {
    let posture = Posture::start();
    let client = posture.client("A");
    let path = format!("/api/clients/{client}");
    let zone = |it: Value| json!({"settings": {"timeZone": it}});
    for wrong in [
        json!("Mars/Olympus"),
        json!(""),
        json!(1),
        json!("+01:00"),
        json!("Etc/Unknown"),
        json!("x".repeat(65)),
    ] {
        let refused = posture.operator("PATCH", &path, &zone(wrong.clone()));
        let (field, rule) = refused_field(&refused);
        assert_eq!(field, "settings.timeZone", "{wrong}");
        assert!(rule.contains("Europe/Paris"), "{rule}");
        assert_eq!(set_zone(&posture, &wrong), 400, "{wrong}");
    }
    let set = patched(&posture, &path, &zone(json!("america/montreal")));
    assert_eq!(set["settings"]["timeZone"], MONTREAL);
    let none = patched(&posture, &path, &zone(Value::Null));
    assert_eq!(none["settings"]["timeZone"], "UTC");
    for wrong in ["2026-02-30", "1969-12-31", "31.12.2026", "2026-12-31T17:00", "tomorrow"] {
        let body = json!({"clientId": client, "title": "A", "dueAt": wrong});
        let refused = posture.operator("POST", "/api/tasks", &body);
        assert!(refused_field(&refused).1.contains("2026-12-31"), "{}", refused.text());
    }
}

/// The end of the last days cannot be shown everywhere: it is the last moment that can.
#[test]
fn the_last_day_of_all_is_one() {
    let posture = Posture::start();
    for zone in [MONTREAL, "Pacific/Kiritimati"] {
        let client = client_in(&posture, zone);
        for day in ["9999-12-29", "9999-12-30", "9999-12-31"] {
            let task = json!({"clientId": client, "title": "Mend it", "dueAt": day});
            let due = posted(&posture, "/api/tasks", &task)["dueAt"].clone();
            assert!(due.as_str().unwrap().starts_with("9999-12-"), "{due}");
        }
        assert_eq!(
            read(&posture, &format!("/api/tasks?clientId={client}")).as_array().unwrap().len(),
            3
        );
    }
}

#[test]
fn a_task_is_overdue_when_its_day_is_over_there() {
    let posture = Posture::start();
    let client = client_in(&posture, MONTREAL);
    let body = json!({"clientId": client, "title": "Mend it", "dueAt": "2026-03-10"});
    let task = posted(&posture, "/api/tasks", &body);
    let left_s =
        "2026-03-11T03:59:59Z".parse::<posture::clock::Time>().unwrap().s_since(posture.now());
    let overdue = |passed_s| {
        posture.pass_s(passed_s);
        posture.sweep();
        read(&posture, "/api/tasks")[0]["overdue"].clone()
    };
    assert_eq!(overdue(left_s - 1), false, "{task}");
    assert_eq!(overdue(1), true);
}

#[test]
fn reports_have_the_days_of_the_client() {
    let posture = Posture::start();
    let client = client_in(&posture, MONTREAL);
    import(&posture, &client, "", MIXED);
    let risks = read(&posture, &format!("/api/clients/{client}/risks"));
    let path = format!("/api/clients/{client}/risks/{}", risks[0]["id"].as_str().unwrap());
    let accepted =
        json!({"accepted": true, "until": "2026-07-31", "reason": "budget", "by": "Ada"});
    patched(&posture, &path, &accepted);
    // It is tomorrow in UTC, and still today there.
    posture.pass_s(17 * 3_600);
    for (language, now, until) in [
        ("en", "As of March 10, 2026, 22:00 UTC-4", "July 31, 2026"),
        ("fr", "En date du 10 mars 2026, 22\u{a0}h\u{a0}00 UTC-4", "31 juillet 2026"),
    ] {
        let texts = texts(&ask(&posture, &client, &format!("language={language}")).text());
        for wanted in [now, until] {
            assert!(texts.iter().any(|it| it.contains(wanted)), "no {wanted:?} in {texts:?}");
        }
    }
}

/// A schedule without a zone is due by the clocks of its client.
#[test]
fn a_schedule_is_due_by_the_clocks_of_its_client() {
    let posture = Posture::start_with(|it| {
        it.app.time_zone = Zone::named(CAIRO).unwrap();
        at(9)(it);
    });
    let client = client_in(&posture, MONTREAL);
    let body = |more: &Value| {
        let mut body = json!({
            "recipients": ["ada@example.com"], "when": {"every": "week", "day": 3, "hour": 8},
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let own = posted(&posture, "/api/report-schedules", &body(&json!({"clientId": client})));
    assert_eq!(own["when"]["timeZone"], MONTREAL);
    assert_eq!(own["nextAt"], "2026-03-11T12:00:00.000Z");
    let of_all = posted(&posture, "/api/report-schedules", &body(&json!({})));
    assert_eq!(of_all["when"]["timeZone"], CAIRO);
    assert_eq!(of_all["nextAt"], "2026-03-11T06:00:00.000Z");
    let path = format!("/api/report-schedules/{}", own["id"].as_str().unwrap());
    let changed = json!({"when": {"every": "week", "day": 4, "hour": 8}});
    assert_eq!(patched(&posture, &path, &changed)["when"]["timeZone"], MONTREAL);
}
