//! People who left, and whether their accounts are still enabled: ID-12.

use serde_json::{Value, json};

use super::controls::control;
use super::undo;
use crate::harness::Posture;

/// Pushes a complete list of accounts.
fn accounts(posture: &Posture, client: &str, source: &str, all: &[(&str, bool)]) -> String {
    let account = |(user, enabled): &(&str, bool)| json!({"user": user, "admin": false, "enabled": enabled, "mfa": true});
    let all: Vec<Value> = all.iter().map(account).collect();
    let body = json!({"source": source, "scope": "x", "complete": true, "identities": all});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
    answer.json()["data"]["importId"].as_str().unwrap().to_owned()
}

/// Imports a list of people and how many days ago they left; the id of the import.
fn left(posture: &Posture, client: &str, query: &str, all: &[(&str, i64)]) -> String {
    let row = |(person, days): &(&str, i64)| {
        let day = posture.now().plus_days(-days).to_string();
        format!("{person},{}\n", &day[..10])
    };
    let rows: String = all.iter().map(row).collect();
    imported(posture, client, query, &format!("email,last day\n{rows}"))
}

fn imported(posture: &Posture, client: &str, query: &str, file: &str) -> String {
    let query = format!("format=leavers&again=true&{query}");
    let answer = posture.import(client, &query, file.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
    answer.json()["data"]["import"]["id"].as_str().unwrap().to_owned()
}

fn status(posture: &Posture, client: &str) -> String {
    control(posture, client, "ID-12")["status"].as_str().unwrap().to_owned()
}

const ALL: &[(&str, bool)] =
    &[("ann@acme.example", true), ("bob@acme.example", false), ("cy@acme.example", true)];

#[test]
fn an_account_that_is_enabled_after_the_last_day_fails() {
    let posture = Posture::start();
    let (client, other) = (posture.client("A"), posture.client("B"));
    accounts(&posture, &other, "s", ALL);
    left(&posture, &client, "", &[("ANN@acme.example", 30), ("bob@acme.example", 30)]);
    assert_eq!(status(&posture, &client), "not_assessed", "no list of accounts was read");
    accounts(&posture, &client, "s", ALL);
    let shown = control(&posture, &client, "ID-12");
    assert_eq!(shown["status"], "partial");
    assert_eq!(shown["findings"], "1 of 2 fails: ann@acme.example.");
    assert_eq!(status(&posture, &other), "not_assessed", "they did not leave from there");
    // The next list of accounts shows that it was disabled.
    accounts(&posture, &client, "s", &[("ann@acme.example", false), ("cy@acme.example", true)]);
    assert_eq!(status(&posture, &client), "compliant", "one has no account any more");
    // Nobody knows who left since.
    posture.pass_days(36);
    accounts(&posture, &client, "s", ALL);
    assert_eq!(status(&posture, &client), "partial", "what fails is sure");
    accounts(&posture, &client, "s", &[("cy@acme.example", true)]);
    assert_eq!(status(&posture, &client), "not_assessed");
    left(&posture, &client, "", &[("ann@acme.example", 66)]);
    assert_eq!(status(&posture, &client), "compliant");
}

#[test]
fn a_last_day_counts_once_it_and_a_day_of_grace_have_passed() {
    let posture = Posture::start();
    let client = posture.client("A");
    accounts(&posture, &client, "s", ALL);
    let n_events = posture.events().len();
    left(&posture, &client, "", &[("ann@acme.example", -1), ("bob@acme.example", 5)]);
    assert_eq!(
        status(&posture, &client),
        "compliant",
        "of one that is due, the account is disabled"
    );
    for days in [1, 1] {
        posture.pass_days(days);
        accounts(&posture, &client, "s", ALL);
        assert_eq!(status(&posture, &client), "compliant");
    }
    posture.pass_days(1);
    assert_eq!(status(&posture, &client), "compliant", "nobody looked again");
    accounts(&posture, &client, "s", ALL);
    assert_eq!(status(&posture, &client), "partial");
    let kinds: Vec<Value> =
        posture.events()[n_events..].iter().map(|it| it["type"].clone()).collect();
    assert!(kinds.contains(&json!("risk_item_created")), "{kinds:?}");
}

#[test]
fn who_comes_back_is_no_longer_one_who_left() {
    let posture = Posture::start();
    let client = posture.client("A");
    accounts(&posture, &client, "s", ALL);
    let two = [("ann@acme.example", 30), ("bob@acme.example", 30)];
    left(&posture, &client, "", &two);
    assert_eq!(status(&posture, &client), "partial");
    // A list of those who left this month says nothing of others.
    left(&posture, &client, "", &[("bob@acme.example", 10)]);
    assert_eq!(status(&posture, &client), "partial");
    let back = imported(&posture, &client, "", "email,last day\nann@acme.example,\n");
    assert_eq!(status(&posture, &client), "compliant");
    undo(&posture, &client, &back);
    assert_eq!(status(&posture, &client), "partial");
    let whole = left(&posture, &client, "complete=true", &[("bob@acme.example", 10)]);
    assert_eq!(status(&posture, &client), "compliant");
    undo(&posture, &client, &whole);
    assert_eq!(status(&posture, &client), "partial");
    left(&posture, &client, "", &[("ann@acme.example", -30)]);
    assert_eq!(status(&posture, &client), "compliant", "the last day was put off");
    let posture = posture.restart();
    assert_eq!(status(&posture, &client), "compliant");
}

#[test]
fn undoing_the_only_list_leaves_nothing() {
    let posture = Posture::start();
    let client = posture.client("A");
    let list = accounts(&posture, &client, "s", ALL);
    let only = left(&posture, &client, "", &[("ann@acme.example", 30)]);
    assert_eq!(status(&posture, &client), "non_compliant");
    undo(&posture, &client, &only);
    assert_eq!(status(&posture, &client), "not_assessed");
    left(&posture, &client, "", &[("ann@acme.example", 30)]);
    assert_eq!(status(&posture, &client), "non_compliant");
    undo(&posture, &client, &list);
    assert_eq!(status(&posture, &client), "not_assessed");
}

#[test]
fn a_whole_list_that_is_far_shorter_is_not_believed_at_once() {
    let posture = Posture::start();
    let client = posture.client("A");
    accounts(&posture, &client, "s", ALL);
    let names: Vec<String> = (0..20).map(|it| format!("p{it}@acme.example")).collect();
    let mut all: Vec<(&str, i64)> = names.iter().map(|it| (it.as_str(), 30)).collect();
    all.push(("ann@acme.example", 30));
    left(&posture, &client, "complete=true", &all);
    assert_eq!(status(&posture, &client), "partial");
    let few = [("bob@acme.example", 30)];
    left(&posture, &client, "complete=true", &few);
    assert_eq!(status(&posture, &client), "partial");
    left(&posture, &client, "complete=true", &few);
    assert_eq!(status(&posture, &client), "compliant", "a second list agrees");
}

#[test]
fn a_list_of_accounts_shows_only_people_whom_it_would_have() {
    let posture = Posture::start();
    let client = posture.client("A");
    accounts(&posture, &client, "aws", &[("alice-admin", true)]);
    left(&posture, &client, "", &[("ann@acme.example", 30)]);
    assert_eq!(status(&posture, &client), "not_assessed", "its names are of another kind");
    let list = accounts(&posture, &client, "m365", &[("cy@acme.example", true)]);
    assert_eq!(status(&posture, &client), "compliant");
    left(&posture, &client, "", &[("di@home.example", 30)]);
    let shown = control(&posture, &client, "ID-12");
    assert_eq!(shown["status"], "partial");
    assert_eq!(shown["findings"], "1 of 1 passes. 1 of 2 not seen.");
    // Another list has that domain.
    accounts(&posture, &client, "google", &[("ed@home.example", true)]);
    accounts(&posture, &client, "m365", &[("cy@acme.example", true)]);
    assert_eq!(status(&posture, &client), "compliant");
    undo(&posture, &client, &list);
    assert_eq!(status(&posture, &client), "compliant");
}

#[test]
fn logins_and_numbers_are_found_too() {
    let posture = Posture::start();
    let client = posture.client("A");
    let by_login = |file: &str| {
        imported(&posture, &client, "complete=true", file);
        status(&posture, &client)
    };
    accounts(
        &posture,
        &client,
        "s",
        &[("ACME\\Ann", true), ("bob@acme.example", true), ("cy", false)],
    );
    let columns = "email,username,employee id,last day\n";
    let gone = "2026-01-01\n";
    assert_eq!(by_login(&format!("{columns},ann,,{gone}")), "non_compliant");
    assert_eq!(by_login(&format!("{columns},bob,,{gone}")), "non_compliant", "before the @");
    assert_eq!(by_login(&format!("{columns},,cy,{gone}")), "compliant", "the source's id");
    assert_eq!(
        by_login(&format!("{columns},di,,{gone}")),
        "not_assessed",
        "no login is known here"
    );
    assert_eq!(by_login(&format!("{columns},di,,{gone},cy,,{gone}")), "compliant");
}

#[test]
fn lists_beyond_those_that_are_kept_still_count() {
    let posture = Posture::start();
    let client = posture.client("A");
    accounts(&posture, &client, "s", ALL);
    left(&posture, &client, "", &[("ann@acme.example", 30)]);
    for n in 0..8 {
        left(&posture, &client, "", &[(format!("p{n}@acme.example").as_str(), 30)]);
    }
    let shown = control(&posture, &client, "ID-12");
    assert_eq!(shown["findings"], "1 of 9 fails: ann@acme.example.");
    let large: Vec<String> = (0..3_000).map(|it| format!("q{it}@acme.example")).collect();
    let large: Vec<(&str, i64)> = large.iter().map(|it| (it.as_str(), 30)).collect();
    let large = left(&posture, &client, "", &large);
    let shown = control(&posture, &client, "ID-12");
    assert_eq!(shown["findings"], "1 of 3009 fails: ann@acme.example.");
    undo(&posture, &client, &large);
    let shown = control(&posture, &client, "ID-12");
    assert_eq!(shown["findings"], "1 of 9 fails: ann@acme.example.");
}
