//! Decisions about single subjects of a control: meant to be so, or accepted.

use serde_json::{Value, json};

use super::controls::control;
use super::{read, told};
use crate::harness::{Answer, Posture};

const CODE: &str = "ID-06";

/// So many pass and so many fail of a check of a control, and the client is assessed.
fn push(posture: &Posture, client: &str, passed: usize, failed: &[String]) {
    push_of(posture, client, CODE, passed, failed);
}

fn push_of(posture: &Posture, client: &str, code: &str, passed: usize, failed: &[String]) {
    let passing = (0..passed).map(|it| json!({"id": format!("ok-{it}"), "outcome": "passed"}));
    let failing =
        failed.iter().map(|it| json!({"id": format!("id-{it}"), "name": it, "outcome": "failed"}));
    let subjects: Vec<Value> = passing.chain(failing).collect();
    let observations = json!([{"control": code, "subjects": subjects}]);
    let body = json!({"source": "s", "scope": "x", "complete": true, "observations": observations});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
}

fn names(start: &str, n: usize) -> Vec<String> {
    (0..n).map(|it| format!("{start}-{it:04}")).collect()
}

fn path(client: &str) -> String {
    format!("/api/clients/{client}/controls/{CODE}/subjects")
}

fn decide(posture: &Posture, client: &str, more: &Value) -> Answer {
    let mut body = json!({"decision": "intended", "reason": "Kept in the safe", "by": "Ada"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    posture.operator("POST", &path(client), &body)
}

fn decided(posture: &Posture, client: &str, more: &Value) -> Value {
    let answer = decide(posture, client, more);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["data"].clone()
}

fn outcome(posture: &Posture, client: &str) -> (String, Option<u64>) {
    let it = control(posture, client, CODE);
    (it["status"].as_str().unwrap().to_owned(), it["score"].as_u64())
}

fn refusal(answer: &Answer) -> (u16, String) {
    let error = &answer.json()["error"];
    let detail = &error["details"][0];
    let text =
        detail["message"].as_str().map(|it| format!("{}: {it}", detail["field"].as_str().unwrap()));
    (answer.status, text.unwrap_or_else(|| error["message"].as_str().unwrap().to_owned()))
}

#[test]
fn subjects_that_are_meant_so_are_no_members_until_the_decision_ends() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 2, &["breakglass-1".into(), "breakglass-2".into(), "bob".into()]);
    assert_eq!(outcome(&posture, &client).0, "non_compliant");
    let until = posture.now().plus_days(20).to_string();
    let made = decided(&posture, &client, &json!({"pattern": "BREAKGLASS-?", "until": until}));
    assert_eq!((&made["matchedCount"], &made["ids"]), (&json!(2), &Value::Null));
    assert_eq!(outcome(&posture, &client).0, "partial", "Bob still fails");
    let says = control(&posture, &client, CODE)["findings"].as_str().unwrap().to_owned();
    assert!(says.ends_with("Not counted, because they are meant to be so: 2."), "{says}");
    decided(&posture, &client, &json!({"ids": ["bob"], "until": until}));
    assert_eq!(outcome(&posture, &client), ("compliant".into(), Some(100)));
    let resolved = told(&posture, "risk_item_resolved");
    let resolved: Vec<&Value> = resolved.iter().map(|it| &it["object"]["resolution"]).collect();
    assert_eq!(resolved, ["overridden"]);
    let listed = read(&posture, &path(&client));
    let shown: Vec<(&Value, &Value)> = listed["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["name"], &it["decision"]))
        .collect();
    let meant = json!("intended");
    let all = ["bob", "breakglass-1", "breakglass-2"].map(|it| json!(it));
    assert_eq!(shown, all.iter().map(|it| (it, &meant)).collect::<Vec<_>>());
    assert_eq!((&listed["unnamedCount"], &listed["unlistedCount"]), (&json!(0), &json!(0)));
    posture.pass_days(21);
    assert_eq!(outcome(&posture, &client).0, "non_compliant", "they fail as before");
    assert_eq!(read(&posture, &path(&client))["decisions"], json!([]));
    assert_eq!(told(&posture, "risk_item_created").last().unwrap()["object"]["occurrence"], 1);
    let said = read(&posture, &format!("/api/clients/{client}/statements?kind=subjects"));
    let states: Vec<&Value> = said.as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(states, ["expired", "expired"]);
}

#[test]
fn a_thousand_subjects_are_accepted_at_once_and_one_more_is_refused() {
    let posture = Posture::start();
    let client = posture.client("A");
    let all = names("user", 1_001);
    push(&posture, &client, 2_000, &all);
    let before = outcome(&posture, &client);
    let ids: Vec<String> = all.iter().map(|it| format!("id-{it}")).collect();
    let too_many = decide(&posture, &client, &json!({"decision": "accepted", "ids": ids}));
    let rule = "ids: must have 1 to 1000 entries; send more in further requests";
    assert_eq!(refusal(&too_many), (400, rule.to_owned()));
    let made = decided(&posture, &client, &json!({"decision": "accepted", "ids": ids[..1_000]}));
    assert_eq!(made["matchedCount"], 1_000);
    assert_eq!(outcome(&posture, &client), before, "they still fail");
    let risk = || read(&posture, &format!("/api/clients/{client}/risks"))[0]["muted"].clone();
    assert_eq!(risk(), false, "one is not accepted");
    decided(&posture, &client, &json!({"decision": "accepted", "ids": ids[1_000..]}));
    assert_eq!((risk(), outcome(&posture, &client)), (json!(true), before));
    assert_eq!(told(&posture, "risk_item_resolved")[0]["object"]["resolution"], "accepted");
    // Only the first 200 of a check are known by name.
    let listed = read(&posture, &path(&client));
    assert_eq!(listed["subjects"].as_array().unwrap().len(), 200);
    assert_eq!(listed["unnamedCount"], 801);
    let made = decided(&posture, &client, &json!({"pattern": "user-*"}));
    assert_eq!(made["matchedCount"], 200, "who is not known by name is not matched");
    assert_eq!(
        read(&posture, &format!("/api/clients/{client}/statements"))[0]["answer"],
        "intended"
    );
}

#[test]
fn what_breaks_a_rule_is_refused() {
    let posture = Posture::start();
    let client = posture.client("A");
    let long = "x".repeat(501);
    let late = posture.now().plus_days(367).to_string();
    let past = posture.now().to_string();
    for (more, rule) in [
        (json!({}), "ids: give either ids or pattern"),
        (json!({"ids": ["a"], "pattern": "a*"}), "pattern: give either ids or pattern"),
        (json!({"ids": []}), "ids: must have 1 to 1000 entries; send more in further requests"),
        (json!({"ids": ["a", ""]}), "ids[1]: must be 1 to 500 characters"),
        (json!({"ids": [long]}), "ids[0]: must be 1 to 500 characters"),
        (json!({"pattern": "x".repeat(201)}), "pattern: must be 1 to 200 characters"),
        (
            json!({"pattern": "*?*"}),
            "pattern: must have another character than * and ?; to decide about all of a control, attest it",
        ),
        (json!({"ids": ["a"], "until": late}), "until: must be within one year"),
        (json!({"ids": ["a"], "until": past}), "until: must be in the future"),
        (json!({"ids": ["a"], "reason": " "}), "reason: must be 1 to 1000 characters"),
        (json!({"ids": ["a"], "decision": "muted"}), "decision: must be one of intended, accepted"),
    ] {
        assert_eq!(refusal(&decide(&posture, &client, &more)), (400, rule.to_owned()), "{more}");
    }
    let last = posture.now().plus_days(366).to_string();
    decided(&posture, &client, &json!({"ids": ["y".repeat(500)], "until": last}));
    decided(&posture, &client, &json!({"pattern": format!("{}*", "z".repeat(199))}));
    let body = json!({"decision": "intended", "ids": ["a"], "reason": "r", "by": "Ada"});
    let absent = format!("/api/clients/{client}/controls/XX-99/subjects");
    for (method, path) in [("POST", absent.clone()), ("GET", absent)] {
        assert_eq!(refusal(&posture.operator(method, &path, &body)).0, 404, "{method}");
    }
}

#[test]
fn so_many_decisions_count_at_once_and_no_more() {
    let posture = Posture::start();
    let client = posture.client("A");
    for it in 0..100 {
        decided(&posture, &client, &json!({"pattern": format!("p{it}-*")}));
    }
    let rule = "decisions about 100 patterns can count for a client at once: withdraw some, or use a pattern";
    let one_more = json!({"pattern": "q*"});
    assert_eq!(refusal(&decide(&posture, &client, &one_more)), (409, rule.to_owned()));
    let ended = posture.now().plus_days(1).to_string();
    for it in 0..10 {
        let ids = names(&format!("n{it}"), 1_000);
        decided(&posture, &client, &json!({"ids": ids, "until": ended}));
    }
    let answer = decide(&posture, &client, &json!({"ids": ["one-more"]}));
    assert_eq!(answer.status, 409, "{}", answer.text());
    posture.pass_days(2);
    decided(&posture, &client, &json!({"ids": ["one-more"]}));
}

#[test]
fn to_withdraw_and_to_undo_bring_back_what_was_before() {
    let posture = Posture::start();
    let (client, other) = (posture.client("A"), posture.client("B"));
    for it in [&client, &other] {
        push(&posture, it, 3, &["ann".into(), "bob".into()]);
    }
    let told_of = |client: &str| {
        let paths = ["posture", "controls", "risks", "controls/ID-06/subjects"];
        let mut all = paths.map(|it| read(&posture, &format!("/api/clients/{client}/{it}")));
        // It was calculated once more.
        for it in ["id", "calculatedAt"] {
            all[0]["score"].as_object_mut().unwrap().remove(it).unwrap();
        }
        // It was announced once more.
        for it in all[2].as_array_mut().unwrap() {
            it.as_object_mut().unwrap().remove("occurrence").unwrap();
        }
        all.map(|it| it.to_string())
    };
    let (before, of_other) = (told_of(&client), told_of(&other));
    let made = decided(&posture, &client, &json!({"ids": ["ann", "bob"]}));
    let number = made["statement"].as_u64().unwrap();
    let meant = told_of(&client);
    assert_ne!(meant, before);
    assert_eq!(told_of(&other), of_other, "another client sees nothing of it");
    let undo = |number: u64| {
        let path = format!("/api/clients/{client}/statements/{number}/undo");
        let answer =
            posture.operator("POST", &path, &json!({"reason": "Another control was meant"}));
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    undo(number);
    assert_eq!(told_of(&client), before);
    let made = decided(&posture, &client, &json!({"ids": ["ann", "bob"]}));
    let one = format!("{}/{}", path(&client), made["id"].as_str().unwrap());
    let elsewhere = one.replace(&client, &other);
    assert_eq!(posture.operator("DELETE", &elsewhere, &Value::Null).status, 404);
    let withdraw =
        || posture.operator("DELETE", &format!("{one}?reason=They+left"), &Value::Null).status;
    assert_eq!((withdraw(), withdraw()), (204, 404));
    assert_eq!(outcome(&posture, &client).0, "partial");
    let said =
        read(&posture, &format!("/api/clients/{client}/statements?kind=subjects&subject=id-06"));
    assert_eq!(said[0]["reason"], "They left");
    assert_eq!(
        (&said[1]["state"], &said[1]["wording"]),
        (&json!("withdrawn"), &said[3]["wording"])
    );
    assert!(said[1]["wording"].as_str().unwrap().ends_with("\nann, bob"), "{said}");
    undo(said[0]["number"].as_u64().unwrap());
    assert_eq!(outcome(&posture, &client).0, "compliant", "the withdrawal was the mistake");
    assert_eq!(read(&posture, &path(&client))["decisions"][0]["id"], made["id"]);
}

#[test]
fn accounts_of_a_list_are_decided_about_by_name() {
    let posture = Posture::start();
    let client = posture.client("A");
    let user = |name: &str, mfa: bool| json!({"user": name, "mfa": mfa, "mfaEnforced": mfa, "admin": true, "enabled": true});
    let body = json!({"source": "idp", "scope": "x", "complete": true, "identities": [
        user("ann@a.example", true), user("bob@a.example", true), user("breakglass@a.example", false),
    ]});
    posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    posture.pass_s(60);
    let of = || control(&posture, &client, "ID-03")["status"].clone();
    let before = of();
    let path = format!("/api/clients/{client}/controls/ID-03/subjects");
    let listed = read(&posture, &path);
    assert_eq!(listed["subjects"][0]["name"], "breakglass@a.example", "{listed}");
    let body =
        json!({"decision": "intended", "pattern": "breakglass@*", "reason": "r", "by": "Ada"});
    assert_eq!(posture.operator("POST", &path, &body).json()["data"]["matchedCount"], 1);
    assert_ne!(of(), before);
    assert!(!control(&posture, &client, "ID-03")["findings"].to_string().contains("breakglass"));
}
