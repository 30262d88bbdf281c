//! What sources saw of a client, as the management API lists it.

use serde_json::{Value, json};

use super::{GOOD, MIXED, import, read, refused_field};
use crate::harness::Posture;

fn path(client: &str, query: &str) -> String {
    format!("/api/clients/{client}/observations?{query}")
}

/// The checks of the rows of a query.
fn checks(posture: &Posture, client: &str, query: &str) -> Vec<String> {
    let rows = read(posture, &path(client, query));
    rows.as_array().unwrap().iter().map(|it| it["check"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_observation_says_what_failed_where_who_saw_it_and_how_long_it_counts() {
    let posture = Posture::start();
    let client = posture.client("A");
    let imported = import(&posture, &client, "", MIXED);
    let rows = read(&posture, &path(&client, "check=iam_user_mfa_enabled_console_access"));
    let [row] = rows.as_array().unwrap().as_slice() else { panic!("{rows}") };
    assert_eq!(row["importId"], imported["import"]["id"]);
    for (member, value) in [
        ("check", json!("iam_user_mfa_enabled_console_access")),
        ("tool", json!("prowler")),
        ("source", json!("prowler")),
        ("scope", json!("aws/111122223333")),
        ("failing", json!(true)),
        ("passed", json!(1)),
        ("failed", json!(1)),
        ("status", Value::Null),
        ("accepted", json!(0)),
        ("severity", json!("high")),
        ("observedAt", json!("2026-03-10T09:00:00.000Z")),
        ("valid", json!(true)),
    ] {
        assert_eq!(row[member], value, "{member} of {row}");
    }
    assert!(row["findings"].as_str().unwrap().contains("alice"), "{row}");
    assert!(!row["findings"].as_str().unwrap().contains("bob"), "{row}");
    let control = row["controlCodes"][0].as_str().unwrap();
    let controls = read(&posture, &format!("/api/clients/{client}/controls"));
    let of = |it: &&Value| it["controlCode"] == control;
    let controls = controls.as_array().unwrap();
    assert_eq!(controls.iter().find(of).unwrap()["status"], "partial");
    let until = row["validUntil"].as_str().unwrap().to_owned();
    posture.pass_s(400 * 86_400);
    let rows = read(&posture, &path(&client, "check=iam_user_mfa_enabled_console_access"));
    assert_eq!((&rows[0]["validUntil"], &rows[0]["valid"]), (&json!(until), &json!(false)));
}

#[test]
fn only_the_newest_of_each_check_source_and_scope_is_listed() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "", MIXED);
    posture.pass_s(60);
    let newer = import(&posture, &client, "", GOOD);
    let rows = read(&posture, &path(&client, "limit=1000"));
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(
        rows.iter().all(|it| it["importId"] == newer["import"]["id"] && it["failing"] == false)
    );
    let undone =
        format!("/api/clients/{client}/imports/{}", newer["import"]["id"].as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &undone, &Value::Null).status, 200);
    assert_eq!(checks(&posture, &client, "failing=true").len(), 2, "the older ones count again");
}

#[test]
fn a_source_that_names_a_control_states_its_status_and_what_is_gone_is_not_listed() {
    let posture = Posture::start();
    let client = posture.client("A");
    let push = |observations: Value| {
        let body = json!({
            "source": "rmm", "scope": "site", "complete": true, "confirmShrink": true,
            "observations": observations,
        });
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        posture.pass_s(1);
    };
    push(json!([
        {"control": "END-01", "check": "av", "status": "partial"},
        {"control": "END-02", "check": "edr", "passed": 1, "failed": 2},
    ]));
    let rows = read(&posture, &path(&client, "control=end-01"));
    let [row] = rows.as_array().unwrap().as_slice() else { panic!("{rows}") };
    let stated = (&row["status"], &row["passed"], &row["failed"], &row["tool"]);
    assert_eq!(stated, (&json!("partial"), &Value::Null, &Value::Null, &Value::Null));
    assert_eq!((&row["controlCodes"], &row["failing"]), (&json!(["END-01"]), &json!(true)));
    push(json!([{"control": "END-02", "check": "edr", "passed": 3, "failed": 0}]));
    assert_eq!(checks(&posture, &client, ""), ["edr"]);
}

#[test]
fn filters_narrow_the_list_and_pages_of_any_size_join() {
    let posture = Posture::start();
    let client = posture.client("A");
    import(&posture, &client, "source=one", MIXED);
    import(&posture, &client, "source=two", GOOD);
    let rows = |query: &str| read(&posture, &path(&client, query)).as_array().unwrap().clone();
    let all = rows("limit=1000");
    assert_eq!(all.len(), 6);
    assert_eq!(rows("source=two").len(), 3);
    assert_eq!(rows("source=none").len(), 0);
    assert_eq!(rows("failing=true").len(), 2);
    assert_eq!(rows("failing=true&source=two").len(), 0);
    let control = all[0]["controlCodes"][0].as_str().unwrap();
    let of_control = |it: &&Value| it["controlCodes"].as_array().unwrap().contains(&json!(control));
    let expected: Vec<_> = all.iter().filter(of_control).cloned().collect();
    assert_eq!(rows(&format!("control={control}")), expected);
    for query in ["", "failing=true"] {
        for limit in 1..4 {
            let mut joined = Vec::new();
            let mut at = path(&client, &format!("{query}&limit={limit}"));
            loop {
                let page = posture.operator("GET", &at, &Value::Null).json();
                joined.extend(page["data"].as_array().unwrap().iter().cloned());
                let Some(next) = page["next"].as_str() else { break };
                at = path(&client, &format!("{query}&limit={limit}&after={next}"));
            }
            assert_eq!(joined, rows(&format!("{query}&limit=1000")), "{query} {limit}");
        }
    }
}

#[test]
fn each_parameter_tells_its_rule() {
    let posture = Posture::start();
    let client = posture.client("A");
    for (query, field) in [
        ("control=x", "control"),
        ("failing=false", "failing"),
        ("after=x", "after"),
        ("after=ff", "after"),
        ("after=", "after"),
        ("limit=1001", "limit"),
        ("checks=x", "checks"),
    ] {
        let answer = posture.operator("GET", &path(&client, query), &Value::Null);
        assert_eq!(refused_field(&answer).0, field, "{query}");
    }
}

#[test]
fn a_cursor_of_another_client_shows_nothing_of_it() {
    let posture = Posture::start();
    let (own, other) = (posture.client("Own"), posture.client("Other"));
    import(&posture, &own, "", GOOD);
    import(&posture, &other, "source=canary", MIXED);
    let foreign = posture.operator("GET", &path(&other, "limit=1"), &Value::Null).json();
    let next = foreign["next"].as_str().unwrap();
    let key = posture.key_with(&json!({"scopes": ["read:compliance"], "clientIds": [own]}));
    let get = |path: &str| posture.fetch(&key, path);
    let page = get(&path(&own, &format!("after={next}")));
    assert!(page.status == 200 && !page.text().contains("canary"), "{}", page.text());
    assert_eq!(get(&path(&other, "")).status, 403);
}
