//! Reports by e-mail on schedule, and the mail settings.

mod chosen;
mod limit;
mod needs_aiosmtpd;
mod needs_ipv6;
mod refusal;
mod relay;
mod server;
mod setting;
mod token;

use std::time::{Duration, Instant};

use posture::egress::TrustedRoots;
use posture::mail::{MailOptions, MailTls, sender};
use posture::serve::ServeOptions;
use serde_json::{Value, json};

use crate::harness::Posture;

const WAIT: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(50);
/// Nobody listens there.
pub(crate) const NOBODY: u16 = 9;

/// A server on this host, without TLS.
pub(crate) fn options(port: u16) -> MailOptions {
    MailOptions {
        host: "localhost".to_owned(),
        port,
        tls: MailTls::None,
        from: sender("Northwind <reports@northwind.example>").unwrap(),
        greeting_name: "posture.northwind.example".to_owned(),
        login: None,
        roots: TrustedRoots::default(),
        timeout: Duration::from_secs(20),
    }
}

/// Mail goes to this port.
pub(crate) fn at(port: u16) -> impl FnOnce(&mut ServeOptions) {
    move |it| it.app.mail = Some(options(port))
}

fn every(every: &str, day: u32, hour: u32, zone: &str) -> Value {
    json!({"every": every, "day": day, "hour": hour, "timeZone": zone})
}

/// A schedule of a client (null: about all clients), with these members instead.
fn schedule(client: &Value, change: &Value) -> Value {
    let mut body = json!({
        "recipients": ["ada@example.com"],
        "when": every("month", 31, 8, "Europe/Paris"),
    });
    if !client.is_null() {
        body["clientId"] = client.clone();
    }
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// Adds a schedule; its id.
fn add(posture: &Posture, body: &Value) -> String {
    let answer = posture.operator("POST", "/api/report-schedules", body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

fn list(posture: &Posture) -> Vec<Value> {
    let answer = posture.operator("GET", "/api/report-schedules", &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].as_array().unwrap().clone()
}

fn find(posture: &Posture, id: &str) -> Value {
    list(posture).into_iter().find(|it| it["id"] == id).unwrap()
}

/// Waits until an attempt has ended, and is not the one that ended at `before`.
fn ended(posture: &Posture, id: &str, before: &Value) -> Value {
    let start = Instant::now();
    loop {
        let found = find(posture, id);
        if !found["last"].is_null() && found["last"]["at"] != *before {
            return found;
        }
        assert!(start.elapsed() < WAIT, "{found}");
        std::thread::sleep(LOOK);
    }
}

fn move_to(posture: &Posture, time: &str) {
    posture.clock.set(time.parse().unwrap());
}

fn test_mail(posture: &Posture) -> Value {
    let answer = posture.operator("POST", "/api/mail/test", &json!({"to": "ada@example.com"}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn notices(posture: &Posture) -> Vec<Value> {
    let system = posture.operator("GET", "/api/system", &Value::Null).json();
    system["data"]["notices"].as_array().unwrap().clone()
}

#[test]
fn without_a_server_nothing_can_be_scheduled_and_it_is_said_what_to_set() {
    let posture = Posture::start();
    let client = json!(posture.client("Acme"));
    let body = schedule(&client, &json!({}));
    let to = json!({"to": "ada@example.com"});
    for (path, body) in [("/api/report-schedules", &body), ("/api/mail/test", &to)] {
        let answer = posture.operator("POST", path, body);
        assert_eq!(answer.status, 409);
        let said = answer.problem().1;
        assert!(said.contains("set one on the page Settings of the console, or mail.server and mail.from in posture.toml"), "{said}");
    }
}

#[test]
fn a_server_that_is_not_there_is_tried_again_and_then_given_up() {
    let posture = Posture::start_with(at(NOBODY));
    let id = add(&posture, &schedule(&json!(posture.client("Acme")), &json!({})));
    move_to(&posture, "2026-03-31T06:00:00Z");
    let mut found = ended(&posture, &id, &Value::Null);
    for wait_s in [300, 900, 3_600, 7_200, 14_400, 28_800, 43_200] {
        let last = &found["last"];
        assert_eq!(last["failure"]["kind"], "unreachable");
        assert_eq!((&last["retrying"], &last["delivered"]), (&json!(true), &json!([])));
        assert!(notices(&posture).is_empty(), "it may still arrive");
        posture.pass_s(wait_s * 6 / 5 + 1);
        found = ended(&posture, &id, &last["at"]);
    }
    assert_eq!(found["last"]["retrying"], false);
    let said = found["last"]["failure"]["message"].as_str().unwrap();
    assert!(said.starts_with("localhost:9 cannot be used ("), "{said}");
    assert!(
        said.ends_with(
            "check mail.server, the firewall, and that mail.tls is what this port expects"
        )
    );
    assert_eq!(found["nextAt"], "2026-04-30T06:00:00.000Z", "the next one is sent all the same");
    let start = Instant::now();
    while notices(&posture).is_empty() {
        assert!(start.elapsed() < WAIT, "no notice");
        std::thread::sleep(LOOK);
    }
    assert_eq!(notices(&posture)[0]["kind"], "reports_not_sent");
    let failing = posture.operator("GET", "/api/report-schedules?failing=true", &Value::Null);
    assert_eq!(failing.json()["data"][0]["id"], json!(id));
    let removed = posture.operator("DELETE", &format!("/api/report-schedules/{id}"), &Value::Null);
    assert_eq!(removed.status, 204);
    assert!(notices(&posture).is_empty());
}

#[test]
fn schedules_that_wait_for_a_server_are_a_notice() {
    let posture = Posture::start_with(at(NOBODY));
    let id = add(&posture, &schedule(&json!(posture.client("Acme")), &json!({})));
    let posture = posture.restart();
    let start = Instant::now();
    while notices(&posture).is_empty() {
        assert!(start.elapsed() < WAIT, "no notice");
        std::thread::sleep(LOOK);
    }
    let said = "1 report on schedule cannot be sent: there is no mail server; set one on the page Settings of the console, or mail.server and \
                mail.from in posture.toml, and restart the service";
    assert_eq!(notices(&posture)[0]["message"], said);
    let path = format!("/api/report-schedules/{id}");
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
    assert!(notices(&posture).is_empty());
}

#[test]
fn a_report_is_due_at_its_hour_over_changes_of_the_clock_and_on_the_last_day_of_short_months() {
    let posture = Posture::start_with(at(NOBODY));
    let client = json!(posture.client("Acme"));
    let next = |now: &str, when: Value| {
        move_to(&posture, now);
        let body = schedule(&client, &json!({ "when": when }));
        let id = add(&posture, &body);
        let next = find(&posture, &id)["nextAt"].clone();
        let path = format!("/api/report-schedules/{id}");
        assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
        next.as_str().unwrap().replace(":00.000Z", "Z")
    };
    let paris = "Europe/Paris";
    // The clock goes from 2 to 3 in the night to the 29th.
    assert_eq!(next("2026-03-28T12:00:00Z", every("week", 7, 2, paris)), "2026-03-29T01:00Z");
    assert_eq!(next("2026-03-29T01:00:00Z", every("week", 7, 2, paris)), "2026-04-05T00:00Z");
    assert_eq!(next("2026-03-30T00:00:00Z", every("month", 31, 8, paris)), "2026-03-31T06:00Z");
    assert_eq!(next("2026-03-31T06:00:00Z", every("month", 31, 8, paris)), "2026-04-30T06:00Z");
    assert_eq!(next("2026-04-01T00:00:00Z", every("quarter", 31, 8, "UTC")), "2026-04-30T08:00Z");
    assert_eq!(next("2026-04-30T08:00:00Z", every("quarter", 31, 8, "UTC")), "2026-07-31T08:00Z");
    // The hour comes twice in the night to the 25th.
    assert_eq!(next("2026-10-24T12:00:00Z", every("week", 7, 2, paris)), "2026-10-25T00:00Z");
    assert_eq!(next("2026-10-25T00:00:00Z", every("week", 7, 2, paris)), "2026-11-01T01:00Z");
    assert_eq!(next("2027-02-01T00:00:00Z", every("month", 31, 0, "UTC")), "2027-02-28T00:00Z");
    assert_eq!(next("2028-02-01T00:00:00Z", every("month", 30, 0, "UTC")), "2028-02-29T00:00Z");
    // It is already the 1st there.
    let kiribati = "Pacific/Kiritimati";
    assert_eq!(next("2028-04-30T11:00:00Z", every("month", 1, 8, kiribati)), "2028-04-30T18:00Z");
}

#[test]
fn an_erased_client_takes_its_schedules_along() {
    let posture = Posture::start_with(at(NOBODY));
    let (acme, other) = (posture.client("Acme"), posture.client("Other"));
    add(&posture, &schedule(&json!(acme), &json!({})));
    let kept = add(&posture, &schedule(&json!(other), &json!({})));
    posture.pass_s(1);
    let all = add(&posture, &schedule(&Value::Null, &json!({})));
    let removed = posture.operator("DELETE", &format!("/api/clients/{acme}"), &Value::Null);
    assert_eq!(removed.status, 200);
    let left: Vec<Value> = list(&posture).iter().map(|it| it["id"].clone()).collect();
    assert_eq!(left, [json!(kept), json!(all)]);
    move_to(&posture, "2026-03-31T06:00:00Z");
    ended(&posture, &kept, &Value::Null);
    ended(&posture, &all, &Value::Null);
}

#[test]
fn who_may_not_see_a_client_learns_nothing_of_its_schedules() {
    let posture = Posture::start_with(at(NOBODY));
    let (acme, other) = (posture.client("Acme"), posture.client("Other"));
    let id = add(&posture, &schedule(&json!(acme), &json!({"recipients": ["canary@example.com"]})));
    let all = add(&posture, &schedule(&Value::Null, &json!({})));
    let user = json!({
        "email": "eve@example.com", "role": "analyst", "clientIds": [other],
        "password": "ochre kettle, nine moths",
    });
    assert_eq!(posture.operator("POST", "/api/users", &user).status, 201);
    let token = posture.log_in("eve@example.com", "ochre kettle, nine moths");
    let ask = |method: &str, path: &str, body: &Value| {
        posture.as_user(&token, method, &format!("/api/report-schedules{path}"), body)
    };
    let own = add(&posture, &schedule(&json!(other), &json!({})));
    let shown = ask("GET", "", &Value::Null).json();
    assert_eq!(shown["data"].as_array().unwrap().len(), 1);
    assert_eq!(shown["data"][0]["id"], json!(own));
    assert_eq!(ask("GET", &format!("?clientId={acme}"), &Value::Null).status, 403);
    for id in [&id, &all] {
        assert_eq!(ask("POST", &format!("/{id}/send"), &json!({})).status, 404);
    }
    assert_eq!(ask("POST", &format!("/{own}/send"), &json!({})).status, 200);
    // Whose reports go where is for administrators, who may access all clients.
    let to = json!({"recipients": ["eve@example.com"]});
    assert_eq!(ask("PATCH", &format!("/{own}"), &to).status, 403);
    assert_eq!(ask("DELETE", &format!("/{own}"), &Value::Null).status, 403);
    assert_eq!(ask("POST", "", &schedule(&json!(other), &json!({}))).status, 403);
    assert_eq!(find(&posture, &id)["recipients"], json!(["canary@example.com"]));
}
