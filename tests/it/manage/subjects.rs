//! A subject that failed fails until it was seen to pass: what a narrower run leaves out, what is muted, and what got worse.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::controls::control;
use super::estate::say_all;
use super::{Finding, posted, prowler, read, told, undo};
use crate::harness::Posture;
use crate::harness::backend::Random;

const KEYS: &str = "iam_user_mfa_enabled_console_access";

/// A file of Prowler, whose findings are muted if their status is `MUTED`. Returns the id of the import.
fn bring(posture: &Posture, client: &str, query: &str, findings: &[Finding<'_>]) -> String {
    brought(posture, client, query, findings)["import"]["id"].as_str().unwrap().to_owned()
}

fn brought(posture: &Posture, client: &str, query: &str, findings: &[Finding<'_>]) -> Value {
    let file = String::from_utf8(prowler(findings)).unwrap();
    let rows: Vec<String> = file
        .lines()
        .map(|row| {
            let is_muted = row.starts_with("aws;") && row.contains(";MUTED;");
            let flag = if is_muted { ";True;" } else { ";False;" };
            let row = row.replace(";False;", flag);
            if is_muted { row.replace(";MUTED;", ";FAIL;") } else { row }
        })
        .collect();
    let file = format!("{}\n", rows.join("\n"));
    let query = format!("observedAt=now&again=true{query}");
    let answer = posture.import(client, &query, file.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
    answer.json()["data"].clone()
}

fn standing(posture: &Posture, client: &str) -> (String, Option<u64>) {
    let it = control(posture, client, "CLD-03");
    (it["status"].as_str().unwrap().to_owned(), it["score"].as_u64())
}

fn resolutions(posture: &Posture) -> Vec<String> {
    let all = told(posture, "risk_item_resolved");
    all.iter().map(|it| it["object"]["resolution"].as_str().unwrap().to_owned()).collect()
}

fn observation(posture: &Posture, client: &str) -> Value {
    read(posture, &format!("/api/clients/{client}/observations?check={KEYS}"))[0].clone()
}

#[test]
fn a_narrower_run_heals_nothing_elsewhere() {
    let posture = Posture::start();
    let client = posture.client("A");
    let user = |name: &'static str, status: &'static str| (KEYS, status, "high", name);
    bring(&posture, &client, "", &[user("ann", "FAIL"), user("bob", "PASS"), user("cy", "PASS")]);
    say_all(&posture, &client, "cloud_accounts");
    assert_eq!(standing(&posture, &client), ("partial".into(), Some(82)));
    // Another service, region or tag: Ann is not looked at.
    let answer = brought(&posture, &client, "", &[user("bob", "PASS"), user("cy", "PASS")]);
    assert_eq!(answer["notLookedAt"], 1);
    let narrow = answer["import"]["id"].as_str().unwrap();
    assert_eq!(standing(&posture, &client), ("partial".into(), Some(82)));
    let it = observation(&posture, &client);
    assert_eq!((&it["failed"], &it["carried"], &it["passed"]), (&json!(1), &json!(1), &json!(2)));
    assert_eq!(it["findings"], "ann", "it is known by name");
    let says = control(&posture, &client, "CLD-03")["findings"].clone();
    assert!(
        says.as_str().unwrap().ends_with("Failed before, and not looked at since: 1 of them."),
        "{says}"
    );
    assert_eq!(resolutions(&posture), [""; 0]);
    undo(&posture, &client, narrow);
    assert_eq!(observation(&posture, &client)["carried"], 0);
    bring(&posture, &client, "", &[user("ann", "PASS")]);
    assert_eq!(standing(&posture, &client).0, "compliant");
    assert_eq!(resolutions(&posture), ["fixed"]);
}

/// One account has a recorder in each region. Region, status, and the same rows a day later.
#[test]
fn what_fails_in_one_region_is_not_fixed_by_another_one() {
    let posture = Posture::start();
    let client = posture.client("A");
    let run = |rows: &[(&str, &str)]| {
        let header =
            "PROVIDER;ACCOUNT_UID;CHECK_ID;STATUS;SEVERITY;RESOURCE_UID;RESOURCE_NAME;REGION\n";
        let row = |(region, status): &(&str, &str)| {
            format!(
                "aws;111122223333;config_recorder_all_regions_enabled;{status};high;\
                 arn:aws:iam::111122223333:root;root;{region}\n"
            )
        };
        let file = format!("{header}{}", rows.iter().map(row).collect::<String>());
        let answer = posture.import(&client, "observedAt=now&again=true", file.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        posture.pass_days(1);
        let it = control(&posture, &client, "CLD-23");
        let status = it["status"].as_str().unwrap().to_owned();
        (status, answer.json()["data"]["notLookedAt"].clone())
    };
    let (east, west) = (("us-east-1", "FAIL"), ("eu-west-1", "PASS"));
    assert_eq!(run(&[east, west]).0, "partial");
    assert_eq!(run(&[west]), ("partial".to_owned(), json!(1)));
    assert_eq!(resolutions(&posture), [""; 0]);
    // Who names the account means it in each region.
    let path = format!("/api/clients/{client}/controls/CLD-23/subjects");
    let listed = read(&posture, &path)["subjects"][0].clone();
    assert_eq!(listed["name"], "root (us-east-1)");
    let said = json!({
        "decision": "accepted", "ids": ["arn:aws:iam::111122223333:root"], "reason": "Closed soon", "by": "Ada",
    });
    assert_eq!(posted(&posture, &path, &said)["matchedCount"], 1);
    let healed = run(&[("us-east-1", "PASS")]);
    assert_eq!(healed, ("partial".to_owned(), json!(0)), "there may be other accounts");
    assert!(!resolutions(&posture).contains(&"fixed".to_owned()), "it was accepted");
}

/// Ann was deleted, so that no run names her any more.
#[test]
fn what_a_complete_run_lacks_is_gone_and_a_suddenly_short_one_is_asked_twice() {
    let posture = Posture::start();
    let client = posture.client("A");
    let names = ["ann", "bob", "cy", "dee", "eve", "fay", "gus", "hal"];
    let all = |n: usize| -> Vec<Finding<'static>> {
        let status = |it: &str| if it == "ann" { "FAIL" } else { "PASS" };
        names.iter().rev().take(n).map(|it| (KEYS, status(it), "high", *it)).collect()
    };
    bring(&posture, &client, "&complete=true", &all(8));
    say_all(&posture, &client, "cloud_accounts");
    bring(&posture, &client, "&complete=true", &all(4));
    assert_eq!(standing(&posture, &client).0, "partial", "half of them are missing");
    posture.pass_days(1);
    bring(&posture, &client, "&complete=true", &all(4));
    assert_eq!(standing(&posture, &client).0, "compliant", "a second run agrees");
    bring(&posture, &client, "&complete=true", &all(8));
    bring(&posture, &client, "&complete=true", &all(7));
    assert_eq!(standing(&posture, &client).0, "compliant", "one of eight is gone");
}

#[test]
fn what_is_muted_did_not_pass() {
    let posture = Posture::start();
    let client = posture.client("A");
    let user = |name: &'static str, status: &'static str| (KEYS, status, "high", name);
    bring(&posture, &client, "", &[user("ann", "FAIL"), user("bob", "FAIL"), user("cy", "PASS")]);
    say_all(&posture, &client, "cloud_accounts");
    let before = standing(&posture, &client);
    assert_eq!(before.0, "non_compliant");
    bring(&posture, &client, "", &[user("ann", "MUTED"), user("bob", "MUTED"), user("cy", "PASS")]);
    assert_eq!(standing(&posture, &client), before);
    assert_eq!(observation(&posture, &client)["accepted"], 2);
    let risk = || read(&posture, &format!("/api/clients/{client}/risks"))[0].clone();
    assert_eq!((&risk()["muted"], &risk()["acceptance"]), (&json!(true), &Value::Null));
    assert_eq!(resolutions(&posture), ["accepted"]);
    let key = posture.key();
    assert_eq!(posture.read(&key, &format!("/clients/{client}/risks"))["data"], json!([]));
    // A narrower run forgets neither that they fail nor that they are muted.
    bring(&posture, &client, "", &[user("cy", "PASS")]);
    assert_eq!((standing(&posture, &client), &risk()["muted"]), (before, &json!(true)));
    bring(&posture, &client, "", &[user("ann", "FAIL"), user("bob", "MUTED")]);
    assert_eq!(risk()["muted"], false);
    assert_eq!(told(&posture, "risk_item_created").len(), 1, "it is back");
    bring(&posture, &client, "", &[user("ann", "PASS"), user("bob", "PASS")]);
    assert_eq!(standing(&posture, &client).0, "compliant");
    assert_eq!(resolutions(&posture), ["accepted", "fixed"]);
}

#[test]
fn a_script_names_its_subjects_its_facet_and_how_many_there_are() {
    let posture = Posture::start();
    let client = posture.client("A");
    let push = |observation: Value| {
        let body = json!({"source": "s", "scope": "x", "observations": [observation]});
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        posture.pass_s(60);
        answer
    };
    let of = |code: &str| {
        let it = control(&posture, &client, code);
        (it["status"].clone(), it["partialBecause"].clone(), it["score"].clone())
    };
    let subject = |id: &str, outcome: &str| json!({"id": id, "outcome": outcome});
    let sent = |all: &[Value]| push(json!({"control": "ID-06", "subjects": all})).status;
    assert_eq!(
        sent(&[subject("a", "failed"), subject("b", "passed"), subject("c", "passed")]),
        200
    );
    assert_eq!(of("ID-06"), (json!("partial"), json!("failing"), json!(82)));
    assert_eq!(sent(&[subject("b", "passed"), subject("c", "passed")]), 200);
    assert_eq!(of("ID-06"), (json!("partial"), json!("failing"), json!(82)));
    assert_eq!(sent(&[subject("a", "passed")]), 200);
    assert_eq!(of("ID-06").0, "compliant");
    assert_eq!(push(json!({"control": "ID-06", "passed": 8, "failed": 0, "of": 10})).status, 200);
    assert_eq!(of("ID-06"), (json!("partial"), json!("unseen"), json!(89)));
    assert_eq!(
        push(json!({"control": "ID-15", "facet": "length", "status": "compliant"})).status,
        200
    );
    assert_eq!(of("ID-15"), (json!("partial"), json!("unseen"), json!(50)));
    for (more, field, rule) in [
        (
            json!({"facet": "lenght", "passed": 1, "failed": 0}),
            "facet",
            "must be absent: ID-06 has one part",
        ),
        (
            json!({"platform": "lotus", "passed": 1, "failed": 0}),
            "platform",
            "must be one of ID-06: ",
        ),
        (json!({"passed": 3, "failed": 0, "of": 2}), "of", "must be at least the sum"),
        (json!({"status": "compliant", "of": 2}), "of", "needs passed and failed, or subjects"),
        (json!({"passed": 1, "failed": 0, "subjects": []}), "subjects", "give either subjects"),
        (
            json!({"subjects": [subject("a", "fine")]}),
            "subjects[0].outcome",
            "must be one of passed",
        ),
        (
            json!({"subjects": [subject("a", "failed"), subject("a", "failed")]}),
            "subjects[1].id",
            "is a duplicate",
        ),
    ] {
        let mut body = json!({"control": "ID-06"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = push(body);
        assert_eq!(answer.status, 400, "{more}");
        let detail = &answer.json()["error"]["details"][0];
        assert_eq!(detail["field"], format!("observations[0].{field}"), "{more}");
        assert!(detail["message"].as_str().unwrap().starts_with(rule), "{detail}");
    }
}

#[test]
fn what_people_do_is_said_by_people() {
    let posture = Posture::start();
    let client = posture.client("A");
    let body = json!({"source": "s", "observations": [
        {"control": "GOV-16", "status": "compliant"},
        {"control": "ID-06", "status": "compliant", "validUntil": "2036-01-01T00:00:00Z"},
        {"control": "GOV-14", "status": "compliant"},
    ]});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 400);
    let fields: Vec<Value> = answer.json()["error"]["details"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["field"].clone())
        .collect();
    assert_eq!(fields, ["observations[0].control", "observations[2].control"]);
    let answer = posture.import(&client, "format=facts", body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let skipped = answer.json()["data"]["import"]["skipped"].to_string();
    assert!(skipped.contains("only people can speak of") && skipped.contains('2'), "{skipped}");
    assert_eq!(control(&posture, &client, "GOV-16")["status"], "not_assessed");
    let body = json!({"source": "s", "observations": [body["observations"][1]]});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.json()["data"]["adjusted"], 1);
    let it = control(&posture, &client, "ID-06");
    let end = it["validUntil"].as_str().unwrap();
    assert!(end.starts_with("2026-0"), "four times 35 days: {end}");
}

#[test]
fn an_accepted_risk_comes_back_when_it_gets_worse() {
    let posture = Posture::start();
    let client = posture.client("A");
    let push = |failed: u32| {
        let body = json!({"source": "s", "complete": true, "observations": [
            {"control": "ID-01", "passed": 100 - failed, "failed": failed}
        ]});
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        assert_eq!(answer.status, 200);
        posture.pass_s(60);
    };
    push(2);
    let risk = || read(&posture, &format!("/api/clients/{client}/risks"))[0].clone();
    let path = format!("/api/clients/{client}/risks/{}", risk()["id"].as_str().unwrap());
    let until = posture.now().plus_days(300).to_string();
    let accept = || {
        let body = json!({"accepted": true, "until": until, "reason": "Two emergency accounts"});
        assert_eq!(posture.operator("PATCH", &path, &body).status, 200);
    };
    accept();
    push(3);
    assert!(!risk()["acceptance"].is_null(), "a little more");
    push(4);
    assert!(risk()["acceptance"].is_null(), "twice as many");
    let back = told(&posture, "risk_item_created").pop().unwrap()["object"].clone();
    assert_eq!((&back["cause"], &back["occurrence"]), (&json!("acceptance_exceeded"), &json!(2)));
    accept();
    push(100);
    assert!(risk()["acceptance"].is_null(), "not met any more");
    assert_eq!(told(&posture, "critical_risk_detected").len(), 3);
}

/// Less is never better: each subject is as it was said last, whatever a later file leaves out.
///
/// Over files that are not complete, of one check in one account.
#[test]
fn less_is_never_better() {
    let n_seeds = if std::env::var_os("POSTURE_LONG").is_some() { 400 } else { 20 };
    let posture = Posture::start();
    for seed in 0..n_seeds {
        let mut random = Random::from_seed(seed);
        let client = posture.client(&format!("Client {seed}"));
        let names: Vec<String> = (0..6).map(|it| format!("u{it}")).collect();
        let mut said: BTreeMap<&str, &str> = BTreeMap::new();
        for turn in 0..5 {
            let is_left_out = |random: &mut Random| turn != 0 && random.below(2) == 0;
            let mut file: Vec<Finding<'_>> = Vec::new();
            for name in &names {
                let status = random.pick(&["PASS", "FAIL", "MUTED"]);
                if !is_left_out(&mut random) {
                    file.push((KEYS, status, "high", name));
                }
            }
            if file.is_empty() {
                continue;
            }
            bring(&posture, &client, "", &file);
            said.extend(file.iter().map(|it| (it.3, it.1)));
            let n = |status: &str| said.values().filter(|it| **it == status).count();
            let is_named = |name: &str| file.iter().any(|it| it.3 == name);
            let carried = said.iter().filter(|(name, it)| **it != "PASS" && !is_named(name));
            let expect = json!([n("FAIL") + n("MUTED"), n("MUTED"), carried.count()]);
            let it = observation(&posture, &client);
            let found = json!([it["failed"], it["accepted"], it["carried"]]);
            assert_eq!(found, expect, "seed {seed}, turn {turn}: {said:?}");
        }
    }
}

/// Pushes one observation of a control, as seen so many days ago.
fn push(posture: &Posture, client: &str, days_ago: i64, observation: &Value) {
    let at = posture.now().plus_days(-days_ago).to_string();
    let body =
        json!({"source": "s", "scope": "x", "observedAt": at, "observations": [observation]});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
}

/// Passed, failed, and how many of those were not looked at since.
fn counts(posture: &Posture, client: &str) -> [Value; 3] {
    let it = read(posture, &format!("/api/clients/{client}/observations"))[0].clone();
    ["passed", "failed", "carried"].map(|name| it[name].clone())
}

#[test]
fn neither_a_word_nor_fewer_numbers_heal_what_was_counted_or_named() {
    let posture = Posture::start();
    let client = posture.client("A");
    let of = |what: &Value| {
        let mut it = json!({"control": "ID-06"});
        it.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        push(&posture, &client, 0, &it);
        let it = control(&posture, &client, "ID-06");
        (it["status"].as_str().unwrap().to_owned(), counts(&posture, &client))
    };
    let numbers =
        |passed: u32, failed: u32, carried: u32| [json!(passed), json!(failed), json!(carried)];
    let word = || json!({"status": "compliant"});
    let failing = |it| ("non_compliant".to_owned(), it);
    assert_eq!(of(&json!({"passed": 2, "failed": 10})), failing(numbers(2, 10, 0)));
    assert_eq!(of(&word()), failing(numbers(2, 10, 10)));
    let says = control(&posture, &client, "ID-06")["findings"].as_str().unwrap().to_owned();
    assert!(says.contains("Failed before, and not looked at since: 10 of them."), "{says}");
    assert_eq!(of(&json!({"passed": 11, "failed": 0})), failing(numbers(2, 10, 10)));
    assert_eq!(resolutions(&posture), [""; 0]);
    assert_eq!(of(&json!({"passed": 12, "failed": 0})).0, "compliant");
    assert_eq!(resolutions(&posture), ["fixed"]);
    let named = |outcome: &str| {
        let all = ["a", "b"].map(|it| json!({"id": it, "outcome": outcome}));
        json!({"subjects": all})
    };
    assert_eq!(of(&named("failed")).0, "non_compliant");
    assert_eq!(of(&word()).0, "non_compliant");
    assert_eq!(of(&json!({"passed": 20, "failed": 0})).1[1], json!(2));
    assert_eq!(of(&named("passed")).0, "compliant");
    of(&named("failed"));
    assert_eq!(of(&json!({"status": "compliant", "whole": true})).0, "compliant");
}

#[test]
fn a_few_of_many_are_met_where_seen() {
    let posture = Posture::start();
    let client = posture.client("A");
    let standing = || {
        let it = control(&posture, &client, "ID-06");
        assert_eq!(it["findings"].as_str().unwrap().matches("40 of 50").count(), 1, "{it}");
        (it["status"].clone(), it["partialBecause"].clone(), it["score"].clone())
    };
    let expect = (json!("partial"), json!("unseen"), json!(50));
    let few = || json!({"control": "ID-06", "passed": 10, "failed": 0, "of": 50});
    push(&posture, &client, 2, &few());
    assert_eq!(standing(), expect);
    push(&posture, &client, 1, &json!({"control": "ID-06", "passed": 10, "failed": 0}));
    assert_eq!(control(&posture, &client, "ID-06")["status"], "compliant");
    push(&posture, &client, 0, &few());
    assert_eq!(standing(), expect);
}

/// Whichever run comes first, what counts is what was seen last.
#[test]
fn an_older_run_that_comes_late_fails_nothing_that_passed_since() {
    let posture = Posture::start();
    let client = posture.client("A");
    let subjects = |all: &[(&str, &str)]| {
        let one = |it: &(&str, &str)| json!({"id": it.0, "outcome": it.1});
        json!({"control": "ID-06", "subjects": all.iter().map(one).collect::<Vec<_>>()})
    };
    push(&posture, &client, 1, &subjects(&[("ann", "passed"), ("bob", "failed")]));
    push(&posture, &client, 2, &subjects(&[("ann", "failed"), ("cy", "failed")]));
    assert_eq!(counts(&posture, &client), [json!(1), json!(2), json!(1)], "bob, and cy");
    push(&posture, &client, 3, &subjects(&[("cy", "passed"), ("dee", "failed")]));
    push(&posture, &client, 0, &subjects(&[("bob", "passed"), ("cy", "passed")]));
    assert_eq!(counts(&posture, &client), [json!(2), json!(1), json!(1)], "dee");
}

/// Each file has so many accounts of people. Of 25,000 the last ones are not forgotten, and each is healed by its name.
#[test]
fn many_thousand_failing_subjects_are_known_one_by_one() {
    const N: usize = 25_000;
    let posture = Posture::start();
    let client = posture.client("A");
    let names: Vec<String> = (0..N).map(|it| format!("u{it:05}")).collect();
    let run = |status: &'static str, names: &[String]| {
        let all: Vec<Finding<'_>> =
            names.iter().map(|it| (KEYS, status, "high", it.as_str())).collect();
        bring(&posture, &client, "", &all);
        let it = observation(&posture, &client);
        (it["failed"].clone(), it["carried"].clone())
    };
    assert_eq!(run("FAIL", &names), (json!(N), json!(0)));
    assert_eq!(run("PASS", &names[..N / 2]), (json!(N / 2), json!(N / 2)));
    assert_eq!(run("PASS", &names[N / 2..]), (json!(0), json!(0)));
    assert_eq!(resolutions(&posture), ["fixed"]);
    for it in read(&posture, &format!("/api/clients/{client}/imports")).as_array().unwrap() {
        undo(&posture, &client, it["id"].as_str().unwrap());
    }
    assert_eq!(read(&posture, &format!("/api/clients/{client}/observations")), json!([]));
}
