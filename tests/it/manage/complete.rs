//! Until when observations count, and what a complete read ends.

use serde_json::{Value, json};

use super::controls::control;
use super::estate::say_all;
use super::{MIXED, ROOT_KEY, ROOT_MFA, import, told, undo};
use crate::harness::Posture;

#[test]
fn an_observation_ends_after_it_was_made() {
    let posture = Posture::start();
    let client = posture.client("A");
    let push = |valid_until: &str| {
        let body = json!({"source": "s", "observedAt": "2026-03-09T00:00:00Z", "observations": [
            {"control": "ID-06", "status": "compliant", "validUntil": valid_until}
        ]});
        posture.operator("POST", &format!("/api/clients/{client}/facts"), &body)
    };
    for early in ["2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z"] {
        let answer = push(early);
        assert_eq!(answer.status, 400);
        let rule = &answer.json()["error"]["details"][0];
        assert_eq!(rule["field"], "observations[0].validUntil");
        assert_eq!(rule["message"], "must be after observedAt");
    }
    assert_eq!(push("2026-03-09T00:00:01Z").status, 200);
}

#[test]
fn a_complete_read_that_finds_nothing_ends_what_was_there() {
    let posture = Posture::start();
    let client = posture.client("A");
    let send = |observations: Value, more: Value| {
        let mut body = json!({"source": "s", "scope": "x", "complete": true});
        body["observations"] = observations;
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        posture.pass_s(60);
        answer.json()["data"].clone()
    };
    let status = || control(&posture, &client, "ID-06")["status"].clone();
    send(many(2, "non_compliant"), json!({}));
    assert_eq!(status(), "non_compliant");
    let answer = send(json!([]), json!({}));
    assert_eq!((&answer["observationsHeld"], status()), (&json!(false), json!("not_assessed")));
    // Many at once are held first, as with any list that shrinks.
    send(many(7, "non_compliant"), json!({}));
    assert_eq!(send(json!([]), json!({}))["observationsHeld"], true);
    assert_eq!(status(), "non_compliant");
    assert_eq!(send(json!([]), json!({}))["observationsHeld"], false, "a second one agrees");
    assert_eq!(status(), "not_assessed");
    send(many(7, "non_compliant"), json!({}));
    send(json!([]), json!({"confirmShrink": true}));
    assert_eq!(status(), "not_assessed");
}

/// Pushes what a source saw so many minutes ago, and returns the id of the import.
fn push(posture: &Posture, client: &str, minutes_ago: i64, complete: bool, seen: &Value) -> String {
    let body = json!({
        "source": "s", "scope": "x", "complete": complete, "observations": seen,
        "observedAt": posture.now().plus_s(-60 * minutes_ago).to_string(),
    });
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"]["importId"].as_str().unwrap().to_owned()
}

/// Checks of ID-06 with a status each.
fn checks(all: &[(&str, &str)]) -> Value {
    let one = |(check, status): &(&str, &str)| json!({"control": "ID-06", "check": check, "status": status});
    all.iter().map(one).collect()
}

/// So many checks of ID-06 with the same status.
fn many(n: usize, status: &str) -> Value {
    let names: Vec<String> = (0..n).map(|it| format!("c{it}")).collect();
    checks(&names.iter().map(|it| (it.as_str(), status)).collect::<Vec<_>>())
}

fn standing(posture: &Posture, client: &str) -> (String, Option<u64>) {
    let it = control(posture, client, "ID-06");
    (it["status"].as_str().unwrap().to_owned(), it["score"].as_u64())
}

#[test]
fn what_a_complete_read_lacks_is_gone_also_when_it_arrives_later() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 20, true, &checks(&[("well", "compliant")]));
    push(&posture, &client, 30, false, &checks(&[("k", "non_compliant")]));
    assert_eq!(standing(&posture, &client), ("compliant".into(), Some(100)));
    assert_eq!(told(&posture, "risk_item_created"), [] as [Value; 0]);
    push(&posture, &client, 20, false, &checks(&[("k", "non_compliant")]));
    assert_eq!(standing(&posture, &client).0, "non_compliant", "at the same time it is not older");
}

#[test]
fn what_a_complete_read_ended_counts_again_when_the_read_is_undone() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 30, true, &checks(&[("well", "compliant"), ("k", "non_compliant")]));
    let before = standing(&posture, &client);
    let read = push(&posture, &client, 20, true, &checks(&[("well", "compliant")]));
    push(&posture, &client, 25, false, &checks(&[("late", "non_compliant")]));
    assert_eq!(standing(&posture, &client), ("compliant".into(), Some(100)));
    undo(&posture, &client, &read);
    assert_eq!(standing(&posture, &client).0, "non_compliant");
    let all = control(&posture, &client, "ID-06")["findings"].clone();
    assert!(all.to_string().contains('2'), "both checks fail: {all}");
    let posture = posture.restart();
    assert_eq!(standing(&posture, &client).0, before.0);
}

#[test]
fn a_check_of_which_nothing_counts_is_not_gone() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 30, true, &checks(&[("k", "non_compliant")]));
    let silent = json!([{"control": "ID-06", "check": "k", "passed": 0, "failed": 0}]);
    push(&posture, &client, 20, true, &silent);
    assert_eq!(standing(&posture, &client).0, "non_compliant");
}

#[test]
fn a_complete_file_has_what_it_observed_before_its_end() {
    let posture = Posture::start();
    let client = posture.client("A");
    let at = |file: &[u8], from: &str, to: &str| {
        String::from_utf8(file.to_vec()).unwrap().replacen(from, to, 1).into_bytes()
    };
    // Its first record was observed an hour before the others; what another run says of that check is between them.
    let file = at(&super::prowler(MIXED), "08:00:00", "07:00:00");
    let between = super::prowler(&[(ROOT_MFA, "PASS", "critical", "root")]);
    let between = at(&between, "08:00:00", "07:30:00");
    assert_eq!(posture.import(&client, "complete=true", &file).status, 200);
    assert_eq!(posture.import(&client, "", &between).status, 200);
    say_all(&posture, &client, "cloud_accounts");
    assert_eq!(control(&posture, &client, "CLD-01")["status"], "compliant");
    posture.pass_s(60);
    import(&posture, &client, "complete=true", &[(ROOT_KEY, "PASS", "critical", "root")]);
    assert_eq!(control(&posture, &client, "CLD-01")["status"], "not_assessed");
}

#[test]
fn a_late_complete_read_that_lost_most_of_its_checks_is_not_believed() {
    let posture = Posture::start();
    let client = posture.client("A");
    let seven = many(7, "compliant");
    push(&posture, &client, 30, true, &seven);
    push(&posture, &client, 25, false, &checks(&[("k", "non_compliant")]));
    push(&posture, &client, 10, false, &seven);
    assert_eq!(standing(&posture, &client).0, "non_compliant");
    push(&posture, &client, 20, true, &json!([]));
    assert_eq!(standing(&posture, &client).0, "non_compliant", "seven checks cannot all be gone");
    push(&posture, &client, 19, true, &seven);
    assert_eq!(standing(&posture, &client).0, "compliant", "it lacks k and nothing else");
}

#[test]
fn a_late_complete_read_is_compared_with_what_partial_ones_had_shown() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 30, false, &many(10, "non_compliant"));
    for minutes_ago in [10, 20] {
        push(&posture, &client, minutes_ago, true, &json!([]));
        assert_eq!(standing(&posture, &client).0, "non_compliant", "{minutes_ago}");
    }
}

#[test]
fn a_held_read_that_is_undone_is_not_the_first_of_two_that_agree() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 30, true, &many(10, "non_compliant"));
    let held = push(&posture, &client, 20, true, &many(1, "non_compliant"));
    undo(&posture, &client, &held);
    push(&posture, &client, 10, true, &checks(&[("c0", "compliant")]));
    assert_eq!(standing(&posture, &client).0, "non_compliant", "one run says so");
    push(&posture, &client, 5, true, &checks(&[("c0", "compliant")]));
    assert_eq!(standing(&posture, &client).0, "compliant", "two runs agree");
}

/// Of each source and scope, this many complete reads count.
#[test]
fn the_newest_ten_complete_reads_count() {
    let posture = Posture::start();
    let client = posture.client("A");
    let silent = json!([{"control": "ID-06", "check": "k", "passed": 0, "failed": 0}]);
    push(&posture, &client, 100, true, &checks(&[("well", "compliant")]));
    for minutes_ago in (91..100).rev() {
        push(&posture, &client, minutes_ago, true, &silent);
    }
    let late = push(&posture, &client, 101, false, &checks(&[("k", "non_compliant")]));
    assert_eq!(standing(&posture, &client).0, "not_assessed", "the first of 10 lacks it");
    undo(&posture, &client, &late);
    let newest = push(&posture, &client, 90, true, &silent);
    push(&posture, &client, 101, false, &checks(&[("k", "non_compliant")]));
    assert_eq!(standing(&posture, &client).0, "non_compliant", "the first of 11 counts no longer");
    undo(&posture, &client, &newest);
    assert_eq!(standing(&posture, &client).0, "not_assessed", "it is the first of 10 again");
}
