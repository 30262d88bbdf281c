//! Risks that somebody accepts for a while.

use serde_json::{Value, json};

use super::{
    CONSOLE_MFA, Finding, GOOD, MIXED, ROOT_MFA, import, patched, prowler, refused_field, told,
};
use crate::harness::{Answer, Posture};

/// A posture with a client that has two risks, one of them critical.
fn with_risks() -> (Posture, String) {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    (posture, client)
}

fn listed(posture: &Posture, client: &str) -> Vec<Value> {
    let body = posture.read(&posture.key(), &format!("/clients/{client}/risks?limit=100"));
    assert_eq!(body["pagination"]["total"], body["data"].as_array().unwrap().len());
    body["data"].as_array().unwrap().clone()
}

fn ids(risks: &[Value]) -> Vec<String> {
    let mut ids: Vec<_> = risks.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    ids.sort_unstable();
    ids
}

/// The risk's id.
fn critical(posture: &Posture, client: &str) -> String {
    let all = listed(posture, client);
    let found = all.iter().find(|it| it["severity"] == "critical").expect("a critical risk");
    found["id"].as_str().unwrap().to_owned()
}

fn path(client: &str, risk: &str) -> String {
    format!("/api/clients/{client}/risks/{risk}")
}

fn in_days(posture: &Posture, days: i64) -> String {
    posture.now().plus_days(days).to_string()
}

fn try_change(posture: &Posture, client: &str, risk: &str, body: &Value) -> Answer {
    posture.operator("PATCH", &path(client, risk), body)
}

fn accept(posture: &Posture, client: &str, risk: &str, days: i64) -> Value {
    let until = in_days(posture, days);
    let body = json!({"accepted": true, "until": until, "reason": "budget of next quarter"});
    patched(posture, &path(client, risk), &body)
}

fn score(posture: &Posture, client: &str) -> Value {
    let body = posture.read(&posture.key(), &format!("/clients/{client}/scores"));
    body["data"]["current"].clone()
}

/// Sequences of the events of a kind about this risk, with the occurrence that each tells.
fn occurrences(posture: &Posture, kind: &str, risk: &str) -> Vec<u64> {
    let about = told(posture, kind).into_iter().filter(|it| it["object"]["id"] == risk);
    about.map(|it| it["object"]["occurrence"].as_u64().unwrap()).collect()
}

#[test]
fn an_accepted_risk_is_not_listed_and_is_told_of_as_resolved() {
    let (posture, client) = with_risks();
    let before = listed(&posture, &client);
    let (risk, shown) = (critical(&posture, &client), score(&posture, &client));
    let until = in_days(&posture, 30);
    let body = json!({"accepted": true, "until": until, "reason": "no budget", "by": "Ada"});
    let changed = patched(&posture, &path(&client, &risk), &body);
    let acceptance = json!({
        "until": until, "reason": "no budget", "by": "Ada", "at": posture.now().to_string(),
    });
    assert_eq!((&changed["id"], &changed["acceptance"]), (&json!(risk), &acceptance));
    assert_eq!((&changed["occurrence"], &changed["verified"]), (&json!(1), &json!(true)));
    let mut left = before.clone();
    left.retain(|it| it["id"] != risk.as_str());
    assert_eq!(listed(&posture, &client), left);
    let all = format!("/api/clients/{client}/risks");
    let all = posture.operator("GET", &all, &Value::Null).json()["data"].clone();
    assert_eq!(all.as_array().unwrap().len(), before.len(), "who manages them sees all");
    assert_eq!((&all[0]["id"], &all[0]["acceptance"]), (&json!(risk), &acceptance));
    assert_eq!((&all[1]["id"], &all[1]["acceptance"]), (&left[0]["id"], &Value::Null));
    let [event] = &told(&posture, "risk_item_resolved")[..] else { panic!("one event") };
    let object = &event["object"];
    assert_eq!((&object["id"], &object["resolution"]), (&json!(risk), &json!("accepted")));
    assert_eq!(object["dedupKey"], format!("{client}/risk/{risk}"));
    assert_eq!(object["acceptance"], json!({"until": until, "reason": "no budget", "by": "Ada"}));
    assert_eq!(score(&posture, &client), shown, "acceptance never raises a score");
}

#[test]
fn an_accepted_risk_stays_away_when_it_is_seen_again_and_after_a_restart() {
    let (posture, client) = with_risks();
    let risk = critical(&posture, &client);
    let shown = score(&posture, &client);
    accept(&posture, &client, &risk, 30);
    let left = listed(&posture, &client);
    assert!(left.iter().all(|it| it["id"] != risk.as_str()));
    posture.pass_s(60);
    import(&posture, &client, "again=true", MIXED);
    posture.pass_days(1);
    let posture = posture.restart();
    assert_eq!(listed(&posture, &client), left);
    assert_eq!(score(&posture, &client)["overallScore"], shown["overallScore"]);
    assert_eq!(occurrences(&posture, "critical_risk_detected", &risk), [1]);
    assert_eq!(told(&posture, "risk_item_resolved").len(), 1);
}

#[test]
fn a_risk_is_shown_again_when_its_acceptance_ends() {
    // Within the day, and days of assessments later.
    for life_s in [3_600, 3 * 86_400] {
        let (posture, client) = with_risks();
        let before = listed(&posture, &client);
        let risk = critical(&posture, &client);
        let until = posture.now().plus_s(life_s).to_string();
        let body = json!({"accepted": true, "until": until, "reason": "r"});
        patched(&posture, &path(&client, &risk), &body);
        posture.pass_s(life_s - 1);
        assert_eq!(listed(&posture, &client).len(), before.len() - 1, "not a second before");
        assert!(occurrences(&posture, "risk_item_created", &risk).is_empty());
        posture.pass_s(1);
        assert_eq!(ids(&listed(&posture, &client)), ids(&before), "with the id that it had");
        assert_eq!(occurrences(&posture, "risk_item_created", &risk), [2]);
        assert_eq!(occurrences(&posture, "critical_risk_detected", &risk), [1, 2]);
        let one = posture.operator("GET", &path(&client, &risk), &Value::Null).json();
        assert_eq!(one["data"]["openedAt"], one["data"]["createdAt"], "it was there all the time");
        posture.pass_days(2);
        assert_eq!(occurrences(&posture, "risk_item_created", &risk), [2], "once");
    }
}

#[test]
fn an_acceptance_may_be_taken_back() {
    let (posture, client) = with_risks();
    let before = listed(&posture, &client);
    let risk = critical(&posture, &client);
    let opened_at = accept(&posture, &client, &risk, 30)["openedAt"].clone();
    posture.pass_s(60);
    let no = json!({"accepted": false});
    let changed = patched(&posture, &path(&client, &risk), &no);
    assert_eq!((&changed["acceptance"], &changed["occurrence"]), (&Value::Null, &json!(2)));
    assert_eq!(changed["openedAt"], opened_at, "it was there all the time");
    assert_eq!(listed(&posture, &client), before);
    assert_eq!(occurrences(&posture, "risk_item_created", &risk), [2]);
    assert_eq!(occurrences(&posture, "critical_risk_detected", &risk), [1, 2]);
    let n_events = posture.events().len();
    assert_eq!(patched(&posture, &path(&client, &risk), &no), changed, "nothing to take back");
    posture.pass_days(31);
    let after = posture.events().split_off(n_events);
    let about = after.iter().filter(|it| it["data"]["object"]["id"] == risk.as_str());
    assert_eq!(about.count(), 0, "the end of what was taken back is nobody's news");
}

#[test]
fn a_longer_acceptance_replaces_a_shorter_one_without_a_word() {
    let (posture, client) = with_risks();
    let risk = critical(&posture, &client);
    accept(&posture, &client, &risk, 2);
    let changed = accept(&posture, &client, &risk, 5);
    assert_eq!(changed["acceptance"]["until"], in_days(&posture, 5));
    assert_eq!(
        changed["acceptance"]["by"].as_str().map(|it| it.starts_with("operator")),
        Some(true)
    );
    assert_eq!(told(&posture, "risk_item_resolved").len(), 1);
    posture.pass_days(3);
    assert!(occurrences(&posture, "risk_item_created", &risk).is_empty());
    posture.pass_days(2);
    assert_eq!(occurrences(&posture, "risk_item_created", &risk), [2]);
}

#[test]
fn nothing_more_is_said_of_an_accepted_risk_that_goes_away() {
    let (posture, client) = with_risks();
    let risk = critical(&posture, &client);
    accept(&posture, &client, &risk, 30);
    posture.pass_s(60);
    import(&posture, &client, "again=true", GOOD);
    let resolved = told(&posture, "risk_item_resolved");
    let about = resolved.iter().filter(|it| it["object"]["id"] == risk.as_str());
    assert_eq!(about.count(), 1, "its acceptance");
    assert_eq!(resolved.len(), 2, "the other risk is fixed");
    let answer = try_change(&posture, &client, &risk, &json!({"accepted": false}));
    assert_eq!((answer.status, answer.problem().0.as_str()), (404, "NOT_FOUND"), "it is not open");
    // It comes back while it is still accepted, then the acceptance ends.
    posture.pass_days(2);
    import(&posture, &client, "again=true", MIXED);
    assert!(listed(&posture, &client).iter().all(|it| it["id"] != risk.as_str()));
    assert_eq!(occurrences(&posture, "critical_risk_detected", &risk), [1]);
    let back_at = posture.now().to_string();
    posture.pass_days(29);
    assert_eq!(critical(&posture, &client), risk);
    assert_eq!(occurrences(&posture, "risk_item_created", &risk), [2]);
    let one = posture.operator("GET", &path(&client, &risk), &Value::Null).json();
    assert_eq!(one["data"]["openedAt"], back_at, "it was away until then");
}

#[test]
fn an_acceptance_covers_nothing_worse_than_it_was_given_for() {
    let posture = Posture::start();
    let client = posture.client("A");
    let found = |severity| -> [Finding<'static>; 1] { [("no_such_check", "FAIL", severity, "x")] };
    import(&posture, &client, "", &found("high"));
    let risk = ids(&listed(&posture, &client)).pop().expect("a risk without a control");
    accept(&posture, &client, &risk, 30);
    posture.pass_s(60);
    import(&posture, &client, "again=true", &found("high"));
    assert!(listed(&posture, &client).is_empty());
    posture.pass_s(60);
    import(&posture, &client, "again=true", &found("critical"));
    assert_eq!(critical(&posture, &client), risk);
    assert_eq!(occurrences(&posture, "risk_item_created", &risk), [2]);
    assert_eq!(occurrences(&posture, "critical_risk_detected", &risk), [2], "once");
    let shown =
        || posture.operator("GET", &path(&client, &risk), &Value::Null).json()["data"].clone();
    let acceptances = || {
        let said = super::read(&posture, &format!("/api/clients/{client}/statements?limit=1"));
        let is_there = |name: &str| !shown()[name].is_null();
        let state = said[0]["state"].as_str().unwrap().to_owned();
        (is_there("acceptance"), is_there("exceededAcceptance"), state)
    };
    assert_eq!(acceptances(), (false, true, "exceeded".to_owned()));
    // It is covered again while it is no worse than what was accepted, and is open again when that is withdrawn.
    posture.pass_s(60);
    import(&posture, &client, "again=true", &found("high"));
    assert_eq!(acceptances(), (true, false, "in_force".to_owned()));
    assert!(listed(&posture, &client).is_empty());
    let resolved = told(&posture, "risk_item_resolved").pop().expect("it is accepted");
    assert_eq!(resolved["object"]["resolution"], "accepted");
    posture.pass_s(60);
    import(&posture, &client, "again=true", &found("critical"));
    let n_events = posture.events().len();
    patched(&posture, &path(&client, &risk), &json!({"accepted": false}));
    assert_eq!(posture.events().len(), n_events, "it is open already");
    posture.pass_s(60);
    import(&posture, &client, "again=true", &found("high"));
    assert_eq!(acceptances(), (false, false, "recorded".to_owned()));
    assert_eq!(occurrences(&posture, "risk_item_created", &risk), [2, 3]);
}

#[test]
fn each_rule_of_an_acceptance_is_told_by_its_field() {
    let (posture, client) = with_risks();
    let risk = critical(&posture, &client);
    let good =
        json!({"accepted": true, "until": in_days(&posture, 731), "reason": "ü".repeat(500)});
    let refuses = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        let answer = try_change(&posture, &client, &risk, &body);
        assert_eq!(refused_field(&answer).0, field, "{body}");
    };
    refuses("accepted", json!("yes"));
    refuses("until", json!(null));
    refuses("until", json!("tomorrow"));
    refuses("until", json!(posture.now().to_string()));
    refuses("until", json!(posture.now().plus_days(731).plus_s(1).to_string()));
    refuses("reason", json!(""));
    refuses("reason", json!(" \n"));
    refuses("reason", json!("ü".repeat(501)));
    refuses("by", json!(""));
    refuses("by", json!("ü".repeat(256)));
    refuses("colour", json!("red"));
    for field in ["accepted", "until", "reason"] {
        let mut body = good.clone();
        body.as_object_mut().unwrap().remove(field);
        let answer = try_change(&posture, &client, &risk, &body);
        assert_eq!(refused_field(&answer), (field.to_owned(), "is required".to_owned()));
    }
    let body = json!({"accepted": false, "reason": "because", "by": "Ada"});
    assert_eq!(refused_field(&try_change(&posture, &client, &risk, &body)).0, "by");
    let body = json!({"reason": "because", "externalReferences": []});
    assert_eq!(refused_field(&try_change(&posture, &client, &risk, &body)).0, "reason");
    assert!(told(&posture, "risk_item_resolved").is_empty(), "nothing was done");
    patched(&posture, &path(&client, &risk), &good);
}

#[test]
fn a_risk_of_another_client_is_not_found() {
    let (posture, client) = with_risks();
    let risk = critical(&posture, &client);
    let other = posture.client("B");
    let file =
        prowler(&[(ROOT_MFA, "FAIL", "critical", "root"), (CONSOLE_MFA, "PASS", "high", "a")]);
    assert_eq!(posture.import(&other, "observedAt=now", &file).status, 200);
    let answer = try_change(&posture, &other, &risk, &json!({"accepted": false}));
    assert_eq!(answer.status, 404);
    assert_eq!(answer.problem().1, "risk not found, or no longer open");
}

#[test]
fn what_happened_to_one_risk_is_found() {
    let (posture, client) = with_risks();
    let risk = critical(&posture, &client);
    let body = json!({
        "accepted": true, "until": in_days(&posture, 30), "reason": "no budget", "by": "Ada",
    });
    patched(&posture, &path(&client, &risk), &body);
    patched(&posture, &path(&client, &risk), &json!({"accepted": false}));
    let task = json!({"clientId": client, "riskId": risk, "title": "Fix it"});
    assert_eq!(posture.operator("POST", "/api/tasks", &task).status, 201);
    let events = |query: &str| {
        let path = format!("/api/events?limit=500{query}");
        let page = posture.operator("GET", &path, &Value::Null).json();
        page["data"].as_array().unwrap().clone()
    };
    let about = events(&format!("&riskId={risk}"));
    let all = events("");
    let names = |it: &&Value| it["data"].to_string().contains(&risk);
    let wanted: Vec<_> = all.iter().filter(names).cloned().collect();
    assert!(about == wanted && about.len() < all.len(), "{about:?}");
    let kinds: Vec<_> = about.iter().map(|it| it["type"].as_str().unwrap()).collect();
    let back = ["risk_item_created", "critical_risk_detected", "remediation_task_created"];
    assert!(kinds.ends_with(&back), "{kinds:?}");
    let resolved = about.iter().find(|it| it["type"] == "risk_item_resolved").unwrap();
    assert_eq!(resolved["data"]["object"]["acceptance"]["by"], "Ada");
    let again = about.iter().rfind(|it| it["type"] == "risk_item_created").unwrap();
    let ended_by = again["data"]["object"]["acceptanceEndedBy"].as_str().unwrap();
    assert!(ended_by.starts_with("operator "), "{ended_by}");
    assert_eq!(events(&format!("&riskId={client}")), [Value::Null; 0], "of no risk");
    let newest = events(&format!("&riskId={risk}&newest=true&type=risk_item_resolved"));
    assert!(newest == [resolved.clone()]);
    assert_eq!(posture.operator("GET", "/api/events?riskId=one", &Value::Null).status, 400);
}
