//! Alert rules, and the alerts that they make.

use posture::app::decision::alert_rule::{N_RULES_FOR_ALL_MAX, N_RULES_PER_CLIENT_MAX};
use serde_json::{Value, json};

use super::{
    CONSOLE_MFA, Finding, GOOD, MIXED, ROOT_MFA, findings_of_all_but, import, patched, posted,
    read, refused_field, told,
};
use crate::harness::{Answer, Posture};

const RULES: &str = "/api/alert-rules";
/// All well but for one of two people's sign-in, which is no critical control.
const BETTER: &[Finding<'_>] = &[
    (ROOT_MFA, "PASS", "critical", "root"),
    (CONSOLE_MFA, "FAIL", "high", "alice"),
    (CONSOLE_MFA, "PASS", "high", "bob"),
];

fn try_add(posture: &Posture, condition: &Value) -> Answer {
    posture.operator("POST", RULES, &json!({"name": "Rule", "condition": condition}))
}

fn add(posture: &Posture, condition: &Value) -> Value {
    posted(posture, RULES, &json!({"name": "Rule", "condition": condition}))
}

#[test]
fn the_code_of_a_control_may_be_spelled_in_lower_case() {
    let posture = Posture::start();
    let client = posture.client("A");
    let rule = add(&posture, &json!({"type": "control_failing", "controlCode": "id-01"}));
    assert_eq!(rule["condition"]["controlCode"], "ID-01");
    let body = json!({"status": "compliant", "reason": "seen", "by": "Ada"});
    let path = format!("/api/clients/{client}/controls/id-01");
    let answer = posture.operator("PUT", &path, &body);
    assert_eq!((answer.status, &answer.json()["data"]["controlCode"]), (200, &json!("ID-01")));
    let task = json!({"clientId": client, "title": "t", "controlCode": "Id-01"});
    assert_eq!(posted(&posture, "/api/tasks", &task)["controlCode"], "ID-01");
    let entry = json!({"controlCode": "id-01", "title": "t", "reference": "r", "by": "Ada"});
    let path = format!("/api/clients/{client}/evidence");
    assert_eq!(posted(&posture, &path, &entry)["controlCode"], "ID-01");
    assert_eq!(
        posture.operator("PUT", &format!("/api/clients/{client}/controls/id-99"), &body).status,
        404
    );
}

#[test]
fn the_words_of_a_library_do_not_reach_a_caller() {
    let posture = Posture::start();
    let wrong = json!({"name": "a", "condition": {"type": "score_bellow", "value": 5}});
    let text = posture.operator("POST", RULES, &wrong).problem().1;
    assert!(text.contains("must be one of score_below, "), "{text}");
    let bodies = ["{\"name\": \"\\ud800\"}", "{\"name\": ", "{\"name\" 1}"];
    for body in bodies {
        let answer = posture.operator_bytes("POST", RULES, "application/json", body.as_bytes());
        let text = answer.problem().1;
        assert!(text.starts_with("body: is not valid JSON at line 1 column "), "{text}");
        assert_eq!(text.split(" column ").count(), 2, "{text}");
    }
}

/// The rules besides the built-in one.
fn added(posture: &Posture) -> Vec<Value> {
    let mut all = read(posture, RULES).as_array().unwrap().clone();
    all.retain(|it| it["builtIn"] == false);
    all
}

fn path(rule: &Value) -> String {
    format!("{RULES}/{}", rule["id"].as_str().unwrap())
}

/// What was announced of alerts so far.
fn triggered(posture: &Posture) -> Vec<Value> {
    told(posture, "alert_triggered").into_iter().map(|it| it["object"].clone()).collect()
}

fn alerts(posture: &Posture) -> Vec<Value> {
    read(posture, "/api/alerts").as_array().unwrap().clone()
}

/// Whether the one alert that there is is open.
fn is_open(posture: &Posture) -> bool {
    let all = alerts(posture);
    let [alert] = all.as_slice() else { panic!("{all:?}") };
    alert["closedAt"].is_null()
}

/// A minute later another report comes.
fn report(posture: &Posture, client: &str, findings: &[Finding<'_>]) {
    posture.pass_s(60);
    import(posture, client, "again=true", findings);
}

/// Takes a rule through a crossing, back, and through another one; what it announced.
fn crossed(condition: &Value, good: &[Finding<'_>], bad: &[Finding<'_>]) -> (Value, Value) {
    let posture = Posture::start();
    let client = posture.client("A");
    let rule = add(&posture, condition);
    import(&posture, &client, "", good);
    posture.sweep();
    assert!(triggered(&posture).is_empty() && alerts(&posture).is_empty());
    report(&posture, &client, bad);
    let [first] = &triggered(&posture)[..] else { panic!("one event") };
    assert_eq!((&first["ruleId"], &first["name"]), (&rule["id"], &json!("Rule")));
    assert_eq!((&first["condition"], &first["occurrence"]), (condition, &json!(1)));
    assert_eq!(first["dedupKey"], format!("{client}/alert/{}", rule["id"].as_str().unwrap()));
    assert!(is_open(&posture));
    report(&posture, &client, bad);
    posture.pass_days(1);
    assert_eq!(triggered(&posture).len(), 1, "one event for each crossing");
    report(&posture, &client, good);
    assert!(!is_open(&posture));
    assert_eq!(triggered(&posture).len(), 1, "the end is no event");
    let posture = posture.restart();
    report(&posture, &client, bad);
    let all = triggered(&posture);
    assert_eq!((all.len(), &all[1]["occurrence"]), (2, &json!(2)));
    assert_eq!(all[1]["dedupKey"], first["dedupKey"]);
    let key = posture.key();
    let scores = posture.read(&key, &format!("/clients/{client}/scores"));
    (first.clone(), scores["data"]["current"].clone())
}

#[test]
fn a_score_below_a_value_triggers_once_for_each_crossing() {
    let good = &findings_of_all_but(&[]);
    let bad = &findings_of_all_but(&[ROOT_MFA, CONSOLE_MFA]);
    let posture = Posture::start();
    let client = posture.client("A");
    let score = |findings: &[Finding<'_>]| {
        report(&posture, &client, findings);
        let body = posture.read(&posture.key(), &format!("/clients/{client}/scores"));
        body["data"]["current"]["overallScore"].as_u64().unwrap()
    };
    let (best, worst) = (score(good), score(bad));
    assert!(worst < best, "{worst} {best}");
    let (first, current) = crossed(&json!({"type": "score_below", "value": best}), good, bad);
    assert_eq!((&first["value"], &current["overallScore"]), (&json!(worst), &json!(worst)));
}

#[test]
fn a_readiness_below_a_value_triggers_once_for_each_crossing() {
    let good = &findings_of_all_but(&[]);
    let failed = |it: &Finding<'static>| (it.0, "FAIL", it.2, it.3);
    let bad = &good.iter().map(failed).collect::<Vec<_>>();
    let posture = Posture::start();
    let client = posture.client("A");
    let readiness = |findings: &[Finding<'_>]| {
        report(&posture, &client, findings);
        let all = posture.read(&posture.key(), &format!("/clients/{client}/compliance"));
        let mut all = all["data"].as_array().unwrap().iter();
        all.find(|it| it["framework"] == "SOC2").unwrap()["readinessScore"].as_u64().unwrap()
    };
    let (best, worst) = (readiness(good), readiness(bad));
    assert!(worst < best, "{worst} {best}");
    let condition = json!({"type": "readiness_below", "framework": "SOC2", "value": best});
    assert_eq!(crossed(&condition, good, bad).0["value"], worst);
}

#[test]
fn so_many_open_risks_trigger_and_a_worse_one_counts() {
    let condition = json!({"type": "open_risks_at_least", "severity": "high", "value": 2});
    assert_eq!(crossed(&condition, BETTER, MIXED).0["value"], 2);
}

#[test]
fn a_failing_control_triggers() {
    let condition = json!({"type": "control_failing", "controlCode": "CLD-01"});
    assert_eq!(crossed(&condition, GOOD, MIXED).0["value"], "non_compliant");
}

#[test]
fn an_accepted_risk_counts_for_no_alert() {
    let posture = Posture::start();
    let client = posture.client("A");
    add(&posture, &json!({"type": "open_risks_at_least", "severity": "critical", "value": 1}));
    import(&posture, &client, "", MIXED);
    assert!(is_open(&posture));
    let risks = posture.read(&posture.key(), &format!("/clients/{client}/risks?severity=critical"));
    let risk = risks["data"][0]["id"].as_str().unwrap();
    let until = posture.now().plus_days(2).to_string();
    let body = json!({"accepted": true, "until": until, "reason": "r"});
    patched(&posture, &format!("/api/clients/{client}/risks/{risk}"), &body);
    assert!(!is_open(&posture), "at once");
    posture.pass_days(2);
    assert!(is_open(&posture));
    assert_eq!(triggered(&posture).len(), 2);
}

#[test]
fn a_silent_source_triggers_when_its_hours_are_over() {
    let posture = Posture::start();
    let client = posture.client("A");
    add(&posture, &json!({"type": "source_silent", "hours": 5}));
    posture.sweep();
    assert!(alerts(&posture).is_empty(), "who never spoke is not silent");
    import(&posture, &client, "", GOOD);
    posture.pass_s(5 * 3_600 - 1);
    assert!(triggered(&posture).is_empty());
    posture.pass_s(1);
    let [first] = &triggered(&posture)[..] else { panic!("one event") };
    assert_eq!((&first["value"], &first["sources"]), (&json!(5), &json!(["prowler"])));
    report(&posture, &client, GOOD);
    assert!(!is_open(&posture));
    posture.pass_s(5 * 3_600);
    assert_eq!(triggered(&posture)[1]["occurrence"], 2);
}

#[test]
fn so_many_overdue_tasks_trigger() {
    let posture = Posture::start();
    let client = posture.client("A");
    add(&posture, &json!({"type": "tasks_overdue_at_least", "value": 2}));
    let add_task = |seconds| {
        let due_at = posture.now().plus_s(seconds).to_string();
        let body = json!({"clientId": client, "title": "t", "dueAt": due_at});
        posted(&posture, "/api/tasks", &body)
    };
    add_task(10);
    let last = add_task(20);
    posture.pass_s(19);
    assert!(triggered(&posture).is_empty());
    posture.pass_s(1);
    assert_eq!(triggered(&posture)[0]["value"], 2);
    let last = format!("/api/tasks/{}", last["id"].as_str().unwrap());
    patched(&posture, &last, &json!({"status": "done"}));
    assert!(!is_open(&posture), "at once");
    add_task(-5);
    assert_eq!(triggered(&posture)[1]["occurrence"], 2, "at once");
}

#[test]
fn a_new_rule_looks_at_what_is_true_already() {
    let posture = Posture::start();
    let clients = ["A", "B", "C"].map(|it| posture.client(it));
    for (client, findings) in clients.iter().zip([MIXED, MIXED, GOOD]) {
        import(&posture, client, "", findings);
    }
    let condition = json!({"type": "control_failing", "controlCode": "CLD-01"});
    let body =
        json!({"name": "One", "clientIds": [clients[0], clients[2]], "condition": condition});
    let one = posted(&posture, RULES, &body);
    let body = json!({"name": "Off", "enabled": false, "condition": condition});
    let off = posted(&posture, RULES, &body);
    posture.sweep();
    let names = |posture: &Posture| {
        let all = told(posture, "alert_triggered").into_iter();
        let name = |it: Value| (it["object"]["name"].clone(), it["clientId"].clone());
        all.map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&posture), [(json!("One"), json!(clients[0]))]);
    patched(&posture, &path(&off), &json!({"enabled": true}));
    posture.sweep();
    assert_eq!(names(&posture).len(), 3, "it looks at all clients");
    let body = json!({"clientIds": [clients[1]]});
    patched(&posture, &path(&one), &body);
    posture.sweep();
    assert_eq!(names(&posture)[3], (json!("One"), json!(clients[1])));
    let open = |rule: &Value| {
        let of_rule =
            |it: &&Value| it["object"]["ruleId"] == rule["id"] && it["closedAt"].is_null();
        alerts(&posture).iter().filter(of_rule).map(|it| it["clientId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(open(&one), [json!(clients[1])], "the other one is closed");
    patched(&posture, &path(&off), &json!({"enabled": false}));
    assert_eq!(posture.operator("DELETE", &path(&one), &Value::Null).status, 204);
    posture.sweep();
    assert!(open(&one).is_empty() && open(&off).is_empty());
    assert_eq!(names(&posture).len(), 4);
}

#[test]
fn rules_wait_for_the_first_evidence() {
    let posture = Posture::start();
    let client = posture.client("A");
    add(&posture, &json!({"type": "score_below", "value": 100}));
    add(&posture, &json!({"type": "readiness_below", "framework": "SOC2", "value": 100}));
    posture.pass_days(2);
    assert!(alerts(&posture).is_empty(), "a client of whom nothing is known alarms nobody");
    import(&posture, &client, "", GOOD);
    assert_eq!(triggered(&posture).len(), 2);
}

#[test]
fn silence_closes_no_alert_of_a_control() {
    let posture = Posture::start();
    let client = posture.client("A");
    add(&posture, &json!({"type": "control_failing", "controlCode": "CLD-01"}));
    import(&posture, &client, "", MIXED);
    posture.pass_days(36);
    let shown = read(&posture, &format!("/api/clients/{client}/posture"));
    let mut controls = shown["controls"].as_array().unwrap().iter();
    let control = controls.find(|it| it["controlCode"] == "CLD-01").unwrap();
    assert_eq!(control["status"], "not_assessed", "it lapsed");
    assert!(is_open(&posture));
    assert_eq!(triggered(&posture).len(), 1);
}

#[test]
fn closed_alerts_are_listed_for_a_week() {
    let posture = Posture::start();
    let clients = ["A", "B"].map(|it| {
        posture.pass_s(1); // The next one's id is behind this one's.
        posture.client(it)
    });
    for n in 0..2 {
        let condition = json!({"type": "control_failing", "controlCode": "CLD-01"});
        posted(&posture, RULES, &json!({ "name": format!("{n}"), "condition": condition }));
    }
    for client in &clients {
        import(&posture, client, "", MIXED);
    }
    let all = alerts(&posture);
    assert_eq!(all.len(), 4);
    let mark = |it: &Value| {
        let (client, key) = (it["clientId"].as_str().unwrap(), it["dedupKey"].as_str().unwrap());
        format!("{client}/{key}")
    };
    assert!(all.is_sorted_by_key(mark));
    let mut joined: Vec<Value> = Vec::new();
    while joined.len() < all.len() {
        let after = joined.last().map_or(String::new(), |it| format!("&after={}", mark(it)));
        let page = read(&posture, &format!("/api/alerts?limit=1{after}"));
        assert_eq!(page.as_array().unwrap().len(), 1);
        joined.extend(page.as_array().unwrap().clone());
    }
    assert_eq!(joined, all);
    let of_one = read(&posture, &format!("/api/alerts?clientId={}", clients[1]));
    assert_eq!(of_one, json!(all[2..]));
    report(&posture, &clients[0], GOOD);
    let closed_at = posture.now();
    let closed = read(&posture, &format!("/api/alerts?clientId={}", clients[0]));
    assert_eq!(closed[0]["closedAt"], closed_at.to_string());
    posture.pass_days(6);
    assert_eq!(alerts(&posture).len(), 4);
    posture.pass_days(2);
    assert_eq!(alerts(&posture), all[2..]);
}

#[test]
fn a_rule_shows_what_it_was_given_and_changes_only_what_is_named() {
    let posture = Posture::start();
    let client = posture.client("A");
    let condition = json!({"type": "open_risks_at_least", "severity": "high", "value": 3});
    let rule = add(&posture, &condition);
    let now = posture.now().to_string();
    let expected = json!({
        "id": rule["id"], "name": "Rule", "enabled": true, "clientIds": [], "condition": condition,
        "builtIn": false, "createdAt": now, "updatedAt": now,
    });
    assert_eq!(rule, expected);
    posture.pass_s(5);
    let changed = patched(&posture, &path(&rule), &json!({"clientIds": [client]}));
    let mut expected = expected;
    expected["clientIds"] = json!([client]);
    expected["updatedAt"] = json!(posture.now().to_string());
    assert_eq!(changed, expected);
    let condition = json!({"type": "source_silent", "hours": 8_784});
    expected["condition"] = condition.clone();
    assert_eq!(patched(&posture, &path(&rule), &json!({ "condition": condition })), expected);
    let posture = posture.restart();
    assert_eq!(added(&posture), [expected]);
}

#[test]
fn each_rule_of_a_rule_is_told_by_its_field() {
    let posture = Posture::start();
    let rule = add(&posture, &json!({"type": "score_below", "value": 100}));
    let long = |n: usize| "ü".repeat(n);
    for (field, value) in [
        ("name", json!("")),
        ("name", json!(long(201))),
        ("name", json!(null)),
        ("enabled", json!("yes")),
        ("clientIds", json!(["x"])),
        ("clientIds", json!(["0195a000-0000-7000-8000-000000000000"])),
        ("condition", json!({})),
        ("condition", json!(null)),
        ("condition", json!({"type": "moon_full"})),
        ("condition", json!({"type": "score_below", "value": 5, "hours": 5})),
        ("condition", json!({"type": "score_below", "value": "5"})),
        ("colour", json!("red")),
    ] {
        let answer = posture.operator("PATCH", &path(&rule), &json!({ field: value }));
        let (told, text) = refused_field(&answer);
        let fits = told == field || told.starts_with(&format!("{field}."));
        assert!(fits, "{field}: {told}: {text}");
        assert!(!text.contains("Body") && !text.contains("enum"), "{text}");
    }
    let member = |condition: Value| refused_field(&try_add(&posture, &condition)).0;
    for (name, condition) in [
        ("value", json!({"type": "score_below"})),
        ("value", json!({"type": "score_below", "value": 0})),
        ("value", json!({"type": "score_below", "value": 101})),
        ("value", json!({"type": "score_below", "value": 256})),
        ("value", json!({"type": "readiness_below", "framework": "SOC2", "value": 101})),
        ("framework", json!({"type": "readiness_below", "framework": "SOC3", "value": 50})),
        ("severity", json!({"type": "open_risks_at_least", "severity": "bad", "value": 1})),
        ("value", json!({"type": "open_risks_at_least", "severity": "low", "value": 0})),
        ("controlCode", json!({"type": "control_failing", "controlCode": "NONE-1"})),
        ("hours", json!({"type": "source_silent", "hours": 0})),
        ("hours", json!({"type": "source_silent", "hours": 8_785})),
        ("value", json!({"type": "tasks_overdue_at_least", "value": 0})),
    ] {
        assert_eq!(member(condition.clone()), format!("condition.{name}"), "{condition}");
    }
    let nameless = json!({"condition": {"type": "score_below", "value": 5}});
    let answer = posture.operator("POST", RULES, &nameless);
    assert_eq!(refused_field(&answer), ("name".into(), "is required".into()));
    let answer = posture.operator("POST", RULES, &json!({"name": "n"}));
    assert_eq!(refused_field(&answer).0, "condition");
    assert_eq!(added(&posture), [rule], "nothing was done");
    assert_eq!(posture.operator("GET", "/api/alerts?after=x", &Value::Null).status, 400);
}

#[test]
fn rules_for_all_clients_and_of_each_have_limits_of_their_own() {
    let posture = Posture::start();
    let condition = json!({"type": "score_below", "value": 100});
    let rule = add(&posture, &condition);
    for _ in 1..N_RULES_FOR_ALL_MAX {
        add(&posture, &condition);
    }
    assert_eq!(try_add(&posture, &condition).problem().0, "CONFLICT");
    let [acme, beta] = ["Acme", "Beta"].map(|it| posture.client(it));
    let add_for = |client: &str| {
        let body = json!({"name": "n", "clientIds": [client], "condition": condition});
        posture.operator("POST", RULES, &body)
    };
    for _ in 0..N_RULES_PER_CLIENT_MAX {
        assert_eq!(add_for(&acme).status, 201);
    }
    let (code, message) = add_for(&acme).problem();
    assert_eq!(code, "CONFLICT");
    assert!(message.contains("20 alert rules of a client"), "{message}");
    let of_beta = add_for(&beta);
    assert_eq!(of_beta.status, 201, "another client has rules of its own");
    let change = json!({"clientIds": [acme]});
    let moved = posture.operator("PATCH", &path(&of_beta.json()["data"]), &change);
    assert_eq!(moved.status, 409, "{}", moved.text());
    assert_eq!(posture.operator("DELETE", &path(&rule), &Value::Null).status, 204);
    add(&posture, &condition);
}
