//! What a schedule may hold, and how many there may be.

use serde_json::{Value, json};

use super::{NOBODY, add, at, every, list, schedule};
use crate::console::browser::{PASSWORD, add_user};
use crate::harness::Posture;

#[test]
fn a_schedule_that_breaks_a_rule_is_refused_and_the_rule_is_named() {
    let posture = Posture::start_with(at(NOBODY));
    let client = json!(posture.client("Acme"));
    let addresses =
        |n: usize| json!((0..n).map(|it| format!("a{it}@example.com")).collect::<Vec<_>>());
    let long = |n: usize| format!("{}@example.com", "a".repeat(n - "@example.com".len()));
    let when = |day: u32, hour: u32, zone: &str| every("month", day, hour, zone);
    let cases = [
        ("recipients", addresses(0), "must have 1 to 20 addresses"),
        ("recipients", addresses(21), "must have 1 to 20 addresses"),
        ("recipients", json!(["ada"]), "is not an e-mail address"),
        ("recipients", json!(["ada@example.com\r\nBcc: eve@example.com"]), "is not an e-mail"),
        ("recipients", json!(["ada@exämple.com"]), "is not an e-mail address"),
        ("recipients", json!([long(255)]), "is not an e-mail address"),
        ("recipients", json!(["ada@example.com", "ADA@example.com"]), "has an address twice"),
        ("when.day", when(0, 8, "UTC"), "must be from 1 to 31 for every month"),
        ("when.day", when(32, 8, "UTC"), "must be from 1 to 31 for every month"),
        ("when.day", when(287, 8, "UTC"), "must be from 1 to 31 for every month"),
        ("when.day", every("week", 8, 8, "UTC"), "must be from 1 to 7 for every week"),
        ("when.hour", when(1, 24, "UTC"), "must be from 0 to 23"),
        (
            "when.timeZone",
            when(1, 8, "Europe/Atlantis"),
            "must be a time zone of the IANA database",
        ),
        ("when.timeZone", when(1, 8, &"z".repeat(65)), "must be a time zone"),
        ("framework", json!("SOC9"), "framework"),
        ("clientId", Value::Null, "a report about a framework is about one client"),
    ];
    for (field, value, rule) in cases {
        let body = match field.split('.').next().unwrap() {
            "clientId" => schedule(&Value::Null, &json!({"framework": "SOC2"})),
            member => schedule(&client, &json!({ member: value })),
        };
        let answer = posture.operator("POST", "/api/report-schedules", &body);
        let details = &answer.json()["error"]["details"][0];
        assert_eq!((answer.status, &details["field"]), (400, &json!(field)), "{}", answer.text());
        assert!(details["message"].as_str().unwrap().contains(rule), "{details}");
    }
    for body in [
        schedule(&client, &json!({"recipients": addresses(20), "framework": "soc2"})),
        schedule(&client, &json!({"when": when(31, 23, "America/Argentina/Buenos_Aires")})),
        schedule(&client, &json!({"when": every("week", 7, 0, "UTC"), "language": "fr"})),
    ] {
        add(&posture, &body);
    }
    assert!(list(&posture).iter().any(|it| it["framework"] == "SOC2"));
}

#[test]
fn a_client_has_at_most_twenty_schedules() {
    let posture = Posture::start_with(at(NOBODY));
    for (client, of) in
        [(json!(posture.client("Acme")), "of this client"), (Value::Null, "about all clients")]
    {
        let body = schedule(&client, &json!({}));
        for _ in 0..20 {
            add(&posture, &body);
        }
        let answer = posture.operator("POST", "/api/report-schedules", &body);
        assert_eq!(answer.status, 409);
        let rule = format!("there are already 20 schedules {of}; remove one first");
        assert_eq!(answer.problem().1, rule);
    }
    add(&posture, &schedule(&json!(posture.client("Other")), &json!({})));
}

#[test]
fn a_user_has_twenty_reports_an_hour_sent() {
    let posture = Posture::start_with(at(NOBODY));
    let client = json!(posture.client("Acme"));
    let id = add(&posture, &schedule(&client, &json!({})));
    let path = format!("/api/report-schedules/{id}/send");
    let [ada, grace] = ["ada", "grace"].map(|name| {
        add_user(&posture, name, "admin", &[]);
        posture.log_in(name, PASSWORD)
    });
    let send = |token: &str| posture.as_user(token, "POST", &path, &json!({})).status;
    for n in 1..=20 {
        assert_ne!(send(&ada), 429, "{n}");
    }
    assert_eq!(send(&ada), 429);
    assert_ne!(send(&grace), 429);
    posture.pass_s(3_600);
    assert_ne!(send(&posture.log_in("ada", PASSWORD)), 429);
}
