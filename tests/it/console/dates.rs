//! What pages say of when things were seen, for the first time or again, and of when they end.

use serde_json::{Value, json};

use super::browser::Browser;
use super::forms::api;
use super::with_admin;
use crate::manage::{Finding, prowler};

const FAILING: [Finding<'static>; 1] = [("iam_root_mfa_enabled", "FAIL", "critical", "root")];

#[test]
fn an_old_file_that_is_declared_current_is_not_shown_as_seen_today() {
    let (posture, browser) = with_admin();
    let client = posture.client("Fabrikam");
    let path = format!("/clients/{client}/imports");
    let file = String::from_utf8(prowler(&FAILING)).unwrap().replace("2026-03-10", "2025-07-08");
    let token = browser.token(&path);
    let fields = [("token", token.as_str()), ("observedAt", "now")];
    let answer = browser.upload(&path, &fields, ("a.csv", file.as_bytes()));
    let page = browser.get(answer.header("location").unwrap()).text();
    let said = page.split("<dt>Observed</dt>").nth(1).unwrap().split("</dd>").next().unwrap();
    for part in ["Scan of ", "8 Jul 2025", "declared current by user ada@example.com on "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let control = browser.get(&format!("/clients/{client}/controls/CLD-01")).text();
    assert!(control.contains("<small>declared current</small>"), "{control}");
    let list = browser.get(&path).text();
    assert!(list.contains("declared current, scan of "), "{list}");
}

#[test]
fn the_page_of_an_import_says_how_many_facts_do_not_count() {
    let (posture, browser) = with_admin();
    let client = posture.client("Fabrikam");
    let facts = json!({
        "source": "rmm", "observedAt": "2026-01-01T00:00:00Z",
        "observations": [
            {"control": "DAT-01", "status": "compliant", "validUntil": "2027-01-01T00:00:00Z"},
            {"control": "END-04", "status": "compliant", "validUntil": "2026-01-02T00:00:00Z"},
        ],
    });
    let answer = posture.import(&client, "format=facts", facts.to_string().as_bytes()).json();
    let import = answer["data"]["import"]["id"].as_str().unwrap();
    let page = browser.get(&format!("/clients/{client}/imports/{import}")).text();
    let said = "1 of 2 facts were older than their controls allow when they were imported";
    assert!(page.contains(said), "{page}");
}

#[test]
fn a_timeline_tells_first_results_once_and_what_each_run_opened() {
    let (posture, browser) = with_admin();
    let client = posture.client("Fabrikam");
    let push = |scope: &str, control: &str, sync: &str| {
        let body = json!({
            "source": "rmm", "scope": scope, "sync": {"status": sync, "message": "no license"},
            "observations": [{"control": control, "status": "non_compliant"}],
        });
        posture.pass_s(60);
        posture.import(&client, "format=facts", body.to_string().as_bytes())
    };
    for (scope, control, sync) in
        [("a", "DAT-01", "completed"), ("b", "END-04", "completed"), ("b", "END-04", "partial")]
    {
        assert_eq!(push(scope, control, sync).status, 200);
    }
    let nothing = json!({"source": "other", "sync": {"status": "completed"}}).to_string();
    assert_eq!(posture.import(&client, "format=facts", nothing.as_bytes()).status, 200);
    let page = browser.get(&format!("/clients/{client}/timeline")).text();
    for (n, said) in [
        (1, "first results of rmm: 1 risk opened; the client has 1 open, "),
        (1, "assessed after rmm: 1 risk opened; the client has 2 open, "),
        (1, "assessed after rmm: no risk opened or closed; the client has 2 open, "),
        (1, "rmm could be read only in part (no license): 1 fact"),
        (0, "1 facts"),
        (1, "other was read, which brought no facts"),
    ] {
        assert_eq!(page.matches(said).count(), n, "{said}: {page}");
    }
}

#[test]
fn a_risk_whose_acceptance_is_taken_back_is_listed_again_and_not_detected() {
    let (posture, _) = with_admin();
    let client = posture.client("Fabrikam");
    assert_eq!(posture.import(&client, "observedAt=now", &prowler(&FAILING)).status, 200);
    let all = format!("/api/clients/{client}/risks?severity=critical");
    let risks = posture.operator("GET", &all, &json!(null)).json();
    let path = format!("/api/clients/{client}/risks/{}", risks["data"][0]["id"].as_str().unwrap());
    posture.pass_days(2);
    let browser = Browser::signed_in(posture.address, "ada");
    let until = posture.now().plus_days(9).to_string();
    let accepted = json!({"accepted": true, "until": until, "reason": "no budget", "by": "Bob"});
    for body in [accepted, json!({"accepted": false})] {
        assert_eq!(posture.operator("PATCH", &path, &body).status, 200);
    }
    let page = browser.get(path.strip_prefix("/api").unwrap()).text();
    assert!(page.contains("2 days ago</time> <small>listed 2 times"), "{page}");
    let timeline = browser.get(&format!("/clients/{client}/timeline")).text();
    assert_eq!(timeline.matches("critical risk is listed again: ").count(), 1, "{timeline}");
    assert_eq!(timeline.matches(" ended its acceptance: ").count(), 1, "{timeline}");
    assert_eq!(timeline.matches("critical risk detected: ").count(), 1, "{timeline}");
    // The page of the risk leads to what happened to it alone.
    let link = page.split('"').find(|it| it.contains("timeline?riskId=")).unwrap();
    let history = browser.get(link).text();
    assert!(history.contains(" by Bob: ") && history.contains(" (no budget)"), "{history}");
    assert_eq!(history.matches("critical risk detected: ").count(), 1, "{history}");
    assert!(timeline.contains("first results of ") && !history.contains("first results of "));
}

#[test]
fn pages_have_the_days_that_forms_were_given() {
    let (posture, mut browser) = with_admin();
    let token = browser.token("/settings");
    let client = posture.client("A");
    for (zone, path, field) in [
        ("Pacific/Kiritimati", "/settings/msp.time_zone".to_owned(), "value"),
        ("Pacific/Pago_Pago", format!("/clients/{client}/settings"), "settings.timeZone"),
    ] {
        let wrong = [("token", token.as_str()), ("name", "A"), (field, "Mars")];
        let refused = browser.post(&path, &wrong);
        assert_eq!(refused.status, 400, "{path}");
        assert!(refused.text().contains("Europe/Paris"), "{}", refused.text());
        let set = browser.post(&path, &[("token", token.as_str()), ("name", "A"), (field, zone)]);
        assert_eq!(set.status, 303, "{}", set.text());
    }
    let hold = [("token", token.as_str()), ("reason", "Case 4711"), ("until", "2026-12-31")];
    assert_eq!(browser.post(&format!("/clients/{client}/hold"), &hold).status, 303);
    let stored = &api(&posture, &format!("/api/clients/{client}"))["hold"]["until"];
    assert_eq!(stored, "2027-01-01T10:59:59.000Z");
    let task = json!({"clientId": client, "title": "Mend it", "dueAt": "2026-12-30"});
    assert_eq!(posture.operator("POST", "/api/tasks", &task).status, 201);
    posture.issue(&json!({"expiresAt": "2026-12-29"}));
    // On a page of the client, on one of all clients, and on one that is about no client.
    for (path, day, zone) in [
        (format!("/clients/{client}/settings"), "31 Dec 2026", "Pacific/Pago_Pago"),
        ("/tasks".to_owned(), "30 Dec 2026", "Pacific/Pago_Pago"),
        (format!("/clients/{client}/statements"), "31 Dec 2026", "Pacific/Pago_Pago"),
        ("/keys".to_owned(), "29 Dec 2026", "Pacific/Kiritimati"),
    ] {
        let page = browser.get(&path).text();
        assert!(page.contains(&format!("shown in {zone}\">{day}</time>")), "{path}: {page}");
    }
    // A form that leaves it empty leaves the client without a zone of its own.
    let other = posture.client("B");
    let path = format!("/clients/{other}/settings");
    let page = browser.get(&path).text();
    assert!(
        page.contains("name=\"settings.timeZone\" value=\"\" placeholder=\"Pacific/Kiritimati\"")
    );
    let empty = [("token", token.as_str()), ("name", "B"), ("settings.timeZone", "")];
    assert_eq!(browser.post(&path, &empty).status, 303);
    assert_eq!(posture.operator("DELETE", "/api/settings/msp.time_zone", &Value::Null).status, 204);
    assert_eq!(api(&posture, &format!("/api/clients/{other}"))["settings"]["timeZone"], "UTC");
}
