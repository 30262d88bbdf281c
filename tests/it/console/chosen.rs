//! Risks that are chosen on a page: each is accepted, or made a task of, as if it were alone.

use serde_json::Value;

use super::browser::{Browser, add_user};
use super::with_admin;
use crate::harness::Posture;
use crate::manage::prowler;

/// A page shows so many.
const N_MAX: usize = 50;
const UNTIL: &str = "2026-12-31";

fn api(posture: &Posture, path: &str) -> Vec<Value> {
    let answer = posture.operator("GET", path, &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].as_array().unwrap().clone()
}

/// A client with two open risks, and their ids.
fn with_risks(posture: &Posture, name: &str, account: &str) -> (String, Vec<String>) {
    let client = posture.client(name);
    let findings = [
        ("iam_root_mfa_enabled", "FAIL", "critical", "root"),
        ("iam_no_root_access_key", "FAIL", "critical", "root"),
    ];
    let file = crate::manage::prowler_of(account, &findings);
    assert_eq!(posture.import(&client, "observedAt=now", &file).status, 200);
    let risks = api(posture, &format!("/api/clients/{client}/risks?limit=100"));
    let ids: Vec<_> = risks.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    assert!(1 < ids.len(), "{risks:?}");
    (client, ids)
}

fn accepted(posture: &Posture, client: &str) -> usize {
    api(posture, &format!("/api/clients/{client}/risks?accepted=true&limit=100")).len()
}

/// The fields of the form, with these risks.
fn form<'a>(
    token: &'a str,
    chosen: &'a [String],
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let mut fields = vec![("token", token)];
    fields.extend(chosen.iter().map(|it| ("chosen", it.as_str())));
    fields.extend(more);
    fields
}

#[test]
fn chosen_risks_of_a_client_are_accepted_and_become_tasks() {
    let (posture, mut browser) = with_admin();
    let (client, risks) = with_risks(&posture, "A", "111122223333");
    let path = format!("/clients/{client}/risks");
    let page = browser.get(&format!("{path}?severity=critical")).text();
    for it in &risks {
        assert!(
            page.contains(&format!("name=\"chosen\" value=\"{it}\" form=\"chosen\"")),
            "{page}"
        );
    }
    let action = format!("{path}/accept?severity=critical");
    assert!(page.contains(&format!("action=\"{action}\"")), "{page}");
    let token = browser.token(&path);
    let accept = [("reason", "the tool goes next month"), ("until", UNTIL)];
    let done = browser.post(&action, &form(&token, &risks[..2], &accept));
    let to = format!("{path}?severity=critical&done=accept-client-risks");
    assert_eq!((done.status, done.header("location")), (303, Some(&*to)), "{}", done.text());
    assert!(browser.get(&to).text().contains("The chosen risks are accepted."));
    assert_eq!(accepted(&posture, &client), 2);
    let audit = api(&posture, "/api/audit?limit=100");
    let acts =
        audit.iter().filter(|it| it["action"] == "PATCH /api/clients/{clientId}/risks/{riskId}");
    assert_eq!(acts.filter(|it| it["by"] == "user ada@example.com").count(), 2, "{audit:?}");

    let more = [("assignee", "Bob"), ("dueAt", UNTIL)];
    let done = browser.post(&format!("{path}/tasks"), &form(&token, &risks, &more));
    assert_eq!(done.status, 303, "{}", done.text());
    let tasks = api(&posture, "/api/tasks");
    assert_eq!(tasks.len(), risks.len());
    let titles = api(&posture, &format!("/api/clients/{client}/risks?limit=100"));
    for task in &tasks {
        let risk = titles.iter().find(|it| it["id"] == task["riskId"]).unwrap();
        assert_eq!((&task["title"], &task["assignee"]), (&risk["title"], &"Bob".into()));
    }
}

#[test]
fn chosen_risks_of_several_clients_are_accepted() {
    let (posture, mut browser) = with_admin();
    let (a, of_a) = with_risks(&posture, "A", "111122223333");
    let (b, of_b) = with_risks(&posture, "B", "444455556666");
    let chosen = [format!("{a}/{}", of_a[0]), format!("{b}/{}", of_b[0])];
    let page = browser.get("/risks").text();
    assert!(chosen.iter().all(|it| page.contains(&format!("value=\"{it}\""))), "{page}");
    let token = browser.token("/risks");
    let accept = [("reason", "known"), ("until", UNTIL)];
    let done = browser.post("/risks/accept?severity=critical", &form(&token, &chosen, &accept));
    let to = "/risks?severity=critical&done=accept-risks";
    assert_eq!((done.status, done.header("location")), (303, Some(to)), "{}", done.text());
    assert_eq!((accepted(&posture, &a), accepted(&posture, &b)), (1, 1));
    let done = browser.post("/risks/tasks", &form(&token, &chosen, &[]));
    assert_eq!(done.header("location"), Some("/tasks?done=make-tasks"));
    assert_eq!(api(&posture, "/api/tasks").len(), 2);
}

#[test]
fn what_is_wrong_with_a_choice_is_said_with_what_was_done() {
    let (posture, mut browser) = with_admin();
    let (client, risks) = with_risks(&posture, "A", "111122223333");
    let path = format!("/clients/{client}/risks/accept");
    let token = browser.token(&format!("/clients/{client}/risks"));
    let accept = [("reason", "a reason of ours"), ("until", UNTIL)];
    let unknown = "0195a000-0000-7000-8000-000000000000".to_owned();
    let many = |n: usize| vec![unknown.clone(); n];
    let then_unknown = vec![risks[0].clone(), unknown.clone(), risks[1].clone()];
    for (chosen, status, said) in [
        (vec![], 400, "Choose something first."),
        (many(N_MAX + 1), 400, "At most 50 can be chosen at once. Nothing was done."),
        (many(N_MAX), 404, "risk not found"),
        (vec!["/".to_owned()], 404, ""),
        (then_unknown, 404, "1 of 3 were done. The next was not: "),
    ] {
        let refused = browser.post(&path, &form(&token, &chosen, &accept));
        let text = refused.text();
        assert_eq!(refused.status, status, "{text}");
        assert!(text.contains("role=\"alert\"") && text.contains(said), "{said}: {text}");
        assert!(text.contains("a reason of ours"), "what was filled in is still there: {text}");
    }
    assert_eq!(accepted(&posture, &client), 1);
}

#[test]
fn who_may_not_decide_or_see_a_client_chooses_nothing() {
    let (posture, _) = with_admin();
    let (mine, of_mine) = with_risks(&posture, "A", "111122223333");
    let (theirs, of_theirs) = with_risks(&posture, "B", "444455556666");
    add_user(&posture, "vic", "viewer", &[&mine]);
    add_user(&posture, "ann", "analyst", &[&mine]);
    let mut vic = Browser::signed_in(posture.address, "vic");
    for page in ["/risks".to_owned(), format!("/clients/{mine}/risks")] {
        assert!(!vic.get(&page).text().contains("name=\"chosen\""));
    }
    let token = vic.token("/me");
    let accept = [("reason", "known"), ("until", UNTIL)];
    let path = format!("/clients/{mine}/risks/accept");
    assert_eq!(vic.post(&path, &form(&token, &of_mine, &accept)).status, 403);
    let mut ann = Browser::signed_in(posture.address, "ann");
    let token = ann.token("/me");
    // Whatever the form names: the client of another stays closed, and one's own page does not lead to it.
    let foreign = [format!("{theirs}/{}", of_theirs[0])];
    let refused = ann.post("/risks/accept", &form(&token, &foreign, &accept));
    assert!([403, 404].contains(&refused.status), "{}", refused.text());
    assert_eq!(ann.post("/risks/tasks", &form(&token, &foreign, &[])).status, refused.status);
    let own_page = format!("/clients/{mine}/risks/accept");
    assert_eq!(ann.post(&own_page, &form(&token, &of_theirs[..1], &accept)).status, 404);
    assert_eq!((accepted(&posture, &mine), accepted(&posture, &theirs)), (0, 0));
    assert!(api(&posture, "/api/tasks").is_empty());
}

#[test]
fn a_client_without_facts_has_nothing_to_choose() {
    let (posture, browser) = with_admin();
    let client = posture.client("A");
    assert_eq!(
        posture.import(&client, "observedAt=now", &prowler(crate::manage::GOOD)).status,
        200
    );
    let page = browser.get(&format!("/clients/{client}/risks?severity=critical")).text();
    assert!(!page.contains("With the chosen risks"), "{page}");
}
