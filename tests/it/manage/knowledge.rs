//! What is known of accounts: who was not seen is neither fine nor bad, what was seen long ago passes no longer, and alarms
//! say what controls say.

use serde_json::{Value, json};

use super::controls::control;
use super::read;
use crate::harness::Posture;
use crate::harness::backend::Random;

/// Pushes a list of accounts of a source. `days_ago`: when the source looked.
fn push(
    posture: &Posture,
    client: &str,
    (source, complete): (&str, bool),
    days_ago: i64,
    all: &Value,
) {
    let at = posture.now().plus_days(-days_ago);
    let body = json!({
        "source": source, "scope": "x", "complete": complete, "observedAt": at.to_string(), "identities": all,
    });
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
}

fn account(user: &str, admin: bool, mfa: Option<bool>) -> Value {
    json!({ "user": user, "admin": admin, "enabled": true, "mfa": mfa, "mfaEnforced": mfa })
}

/// So many accounts, the first three of them administrators.
fn accounts(n: usize, mfa: Option<bool>) -> Value {
    (0..n).map(|it| account(&format!("u{it}"), it < 3, mfa)).collect()
}

/// Status, why it is partial, and score.
fn standing(posture: &Posture, client: &str, code: &str) -> (String, Value, Option<u64>) {
    let it = control(posture, client, code);
    (it["status"].as_str().unwrap().to_owned(), it["partialBecause"].clone(), it["score"].as_u64())
}

fn failing(status: &str, score: u64) -> (String, Value, Option<u64>) {
    let why = if status == "partial" { json!("failing") } else { Value::Null };
    (status.to_owned(), why, Some(score))
}

fn risks(posture: &Posture, client: &str) -> Vec<String> {
    let all = read(posture, &format!("/api/clients/{client}/risks"));
    all.as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_part_of_a_list_fails_what_it_saw_failing() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ann = |mfa| json!([account("ann", true, Some(mfa))]);
    push(&posture, &client, ("alpha", true), 3, &ann(true));
    push(&posture, &client, ("alpha", false), 0, &ann(false));
    assert_eq!(standing(&posture, &client, "ID-03"), failing("non_compliant", 0));
    assert_eq!(standing(&posture, &client, "ID-02"), failing("non_compliant", 0));
    push(&posture, &client, ("alpha", false), 0, &ann(true));
    assert_eq!(standing(&posture, &client, "ID-03").0, "compliant", "seen to pass");
}

#[test]
fn a_list_that_is_held_fails_what_it_saw_failing() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, ("alpha", true), 1, &accounts(30, Some(true)));
    push(&posture, &client, ("alpha", true), 0, &accounts(10, Some(false)));
    assert_eq!(standing(&posture, &client, "ID-03"), failing("non_compliant", 0), "3 of 3");
    assert_eq!(standing(&posture, &client, "ID-02"), failing("partial", 82), "10 of 30");
}

#[test]
fn nothing_passes_by_lists_of_which_none_was_complete() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, ("alpha", false), 0, &accounts(2, Some(true)));
    assert_eq!(standing(&posture, &client, "ID-03").0, "not_assessed");
    push(&posture, &client, ("alpha", false), 0, &accounts(2, Some(false)));
    assert_eq!(standing(&posture, &client, "ID-03"), failing("non_compliant", 0));
    assert_eq!(risks(&posture, &client).len(), 2);
    push(&posture, &client, ("alpha", false), 0, &accounts(2, Some(true)));
    assert_eq!(standing(&posture, &client, "ID-03").0, "not_assessed", "no list names all");
    assert_eq!(risks(&posture, &client).len(), 0, "what failed was seen to pass");
}

#[test]
fn a_second_factor_that_was_seen_once_is_not_known_for_ever() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, ("alpha", true), 0, &accounts(4, Some(true)));
    for _ in 0..33 {
        posture.pass_s(24 * 3_600);
        push(&posture, &client, ("alpha", true), 0, &accounts(4, None));
        for code in ["ID-02", "ID-03"] {
            assert_eq!(standing(&posture, &client, code).0, "compliant");
        }
    }
    for _ in 0..2 {
        posture.pass_s(24 * 3_600);
        push(&posture, &client, ("alpha", true), 0, &accounts(4, None));
    }
    for code in ["ID-02", "ID-03"] {
        assert_eq!(standing(&posture, &client, code).0, "not_assessed", "{code}");
    }
    let without = json!([account("u0", true, Some(false)), account("u1", true, None)]);
    push(&posture, &client, ("alpha", false), 0, &without);
    for _ in 0..40 {
        posture.pass_s(24 * 3_600);
        push(&posture, &client, ("alpha", true), 0, &accounts(4, None));
    }
    assert_eq!(
        standing(&posture, &client, "ID-03").0,
        "non_compliant",
        "what fails does so until it is seen to pass"
    );
}

#[test]
fn what_is_not_seen_is_no_risk_and_one_that_turns_out_bad_never_raises() {
    let posture = Posture::start();
    let client = posture.client("A");
    let list = |third| {
        let all = [Some(true), Some(true), third];
        let all = all.iter().enumerate().map(|(n, mfa)| account(&format!("u{n}"), false, *mfa));
        push(&posture, &client, ("alpha", true), 0, &all.collect());
    };
    list(None);
    let of = |status: &str, why: &str, score| (status.to_owned(), json!(why), Some(score));
    assert_eq!(standing(&posture, &client, "ID-02"), of("partial", "unseen", 82));
    assert_eq!(control(&posture, &client, "ID-02")["findings"], "2 of 2 pass. 1 of 3 not seen.");
    assert_eq!(risks(&posture, &client), Vec::<String>::new());
    list(Some(false));
    assert_eq!(standing(&posture, &client, "ID-02"), of("partial", "failing", 82));
    assert_eq!(risks(&posture, &client).len(), 1);
}

#[test]
fn no_alarm_about_an_account_is_open_while_its_control_is_compliant() {
    let posture = Posture::start();
    let n_seeds = if std::env::var_os("POSTURE_LONG").is_some() { 400 } else { 40 };
    let (mut n_open, mut n_compliant) = (0, 0);
    for seed in 0..n_seeds {
        let mut random = Random::from_seed(seed);
        let client = posture.client("A");
        for _ in 0..6 {
            let source = random.pick(&["alpha", "beta"]);
            let complete = random.below(3) != 0;
            let n_first = random.below(3);
            let n = random.below(14);
            let mut listed = Vec::new();
            for user in n_first..n_first + n {
                let mfa = random.pick(&[Some(true), Some(true), Some(true), Some(false), None]);
                let mut it = account(&format!("u{user}"), user < 4, mfa);
                if random.below(4) == 0 {
                    let days = i64::try_from(random.below(200)).unwrap();
                    it["lastSignIn"] = json!(posture.now().plus_days(-days).to_string());
                }
                listed.push(it);
            }
            let days_ago = i64::try_from(random.below(3)).unwrap();
            push(&posture, &client, (source, complete), days_ago, &listed.into());
            let open = read(&posture, &format!("/api/conditions?clientId={client}&limit=100"));
            let open = open.as_array().unwrap();
            for (alarm, code) in [
                ("admin_mfa_missing", "ID-03"),
                ("mfa_disabled", "ID-02"),
                ("dormant_account_detected", "ID-11"),
            ] {
                let status = standing(&posture, &client, code).0;
                let is_open = open.iter().any(|it| it["type"] == alarm);
                assert!(!is_open || status != "compliant", "seed {seed}: {alarm}, {code}");
                n_open += usize::from(is_open);
                n_compliant += usize::from(status == "compliant");
            }
        }
        let path = format!("/api/clients/{client}");
        assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    }
    assert!(30 < n_open && 30 < n_compliant, "{n_open} alarms, {n_compliant} controls");
}

/// A list that was held because of one before it is judged as if that had never been.
#[test]
fn a_list_that_was_held_is_believed_once_the_one_before_it_is_undone() {
    let posture = Posture::start();
    let send = |client: &str, days_ago: i64, all: &Value| {
        let at = posture.now().plus_days(-days_ago).to_string();
        let body = json!({
            "source": "s", "scope": "x", "complete": true, "observedAt": at, "identities": all,
        });
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        posture.pass_s(60);
        answer.json()["data"]["importId"].as_str().unwrap().to_owned()
    };
    let both = |client: &str| ["ID-02", "ID-03"].map(|it| standing(&posture, client, it));
    let ann = || json!([account("ann", true, Some(true))]);
    let [client, other] = ["A", "B"].map(|it| posture.client(it));
    let wrong = send(&client, 2, &accounts(12, Some(true)));
    send(&client, 1, &ann());
    super::undo(&posture, &client, &wrong);
    send(&other, 1, &ann());
    assert_eq!(both(&client), both(&other));
    assert_eq!(both(&client)[0].0, "compliant");
    let count = |client: &str| {
        read(&posture, &format!("/api/clients/{client}/accounts")).as_array().unwrap().len()
    };
    assert_eq!(count(&client), 1);
    // Newer ones came since: who was not on the list that was held became an administrator after it.
    let [client, other] = ["C", "D"].map(|it| posture.client(it));
    let wrong = send(&client, 3, &accounts(12, Some(true)));
    for it in [&client, &other] {
        send(it, 2, &ann());
        send(it, 1, &accounts(12, Some(true)));
    }
    super::undo(&posture, &client, &wrong);
    let gained = |client: &str| {
        let open = read(&posture, &format!("/api/conditions?clientId={client}"));
        let gained = |it: &&Value| it["type"] == "privilege_escalation";
        open.as_array().unwrap().iter().filter(gained).count()
    };
    assert_eq!(gained(&client), gained(&other));
    assert_ne!(gained(&other), 0);
    // A list is held again once the one that agreed with it is undone.
    let [client, other] = ["E", "F"].map(|it| posture.client(it));
    for it in [&client, &other] {
        send(it, 3, &accounts(12, Some(true)));
    }
    let wrong = send(&client, 2, &accounts(4, Some(true)));
    for it in [&client, &other] {
        send(it, 1, &accounts(4, Some(true)));
    }
    assert_eq!((count(&client), count(&other)), (4, 12));
    super::undo(&posture, &client, &wrong);
    assert_eq!(count(&client), 12);
    assert_eq!(both(&client), both(&other));
}

#[test]
fn no_alarm_is_raised_for_guests_of_whom_the_control_does_not_speak() {
    let posture = Posture::start();
    let client = posture.client("A");
    let list = |mfa: bool| {
        let mut guest = account("guest", false, Some(mfa));
        guest["userType"] = json!("guest");
        json!([guest, account("ann", false, Some(true))])
    };
    push(&posture, &client, ("alpha", true), 1, &list(true));
    push(&posture, &client, ("alpha", true), 0, &list(false));
    assert_eq!(standing(&posture, &client, "ID-02").0, "compliant");
    let open = read(&posture, &format!("/api/conditions?clientId={client}"));
    let open: Vec<&Value> = open.as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert!(!open.contains(&&json!("mfa_disabled")), "{open:?}");
}
