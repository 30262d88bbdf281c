//! Alarms agree with controls: what a person says of an account holds for its conditions too.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::controls::{attest, control, in_days};
use super::{read, told, undo};
use crate::harness::Posture;
use crate::harness::backend::Random;

const SCOPES: [&str; 2] = ["m365/t1", "m365/t2"];

/// Pushes a list of accounts of the first tenant, which is complete.
fn list(posture: &Posture, client: &str, identities: &Value) -> String {
    list_of(posture, client, SCOPES[0], true, identities)
}

fn list_of(posture: &Posture, client: &str, scope: &str, complete: bool, all: &Value) -> String {
    let body = json!({"source": "s", "scope": scope, "complete": complete, "identities": all});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
    answer.json()["data"]["importId"].as_str().unwrap().to_owned()
}

fn admin(user: &str, mfa: bool) -> Value {
    json!({"user": user, "externalId": &user[..1], "admin": true, "enabled": true, "mfa": mfa, "mfaEnforced": mfa})
}

fn subjects(client: &str, code: &str) -> String {
    format!("/api/clients/{client}/controls/{code}/subjects")
}

/// Decides that they are meant to be so; what the answer says.
fn intend(posture: &Posture, client: &str, code: &str, more: &Value) -> Value {
    let mut body = json!({"decision": "intended", "reason": "In the safe", "by": "Ada"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    super::posted(posture, &subjects(client, code), &body)
}

fn undo_statement(posture: &Posture, client: &str, number: &Value) -> u16 {
    let path = format!("/api/clients/{client}/statements/{number}/undo");
    posture.operator("POST", &path, &json!({"reason": "A mistake"})).status
}

fn withdraw(posture: &Posture, client: &str, code: &str, id: &Value) {
    let path = format!("{}/{}", subjects(client, code), id.as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
}

fn conditions(posture: &Posture, client: &str) -> Vec<Value> {
    let open = read(posture, &format!("/api/conditions?clientId={client}&limit=1000"));
    let mut open = open.as_array().unwrap().clone();
    open.retain(|it| it["object"]["source"] == "s" && it["object"]["scope"].is_string());
    open
}

/// Type and account of each that is open.
fn open(posture: &Posture, client: &str) -> Vec<String> {
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let of = |it: &Value| format!("{} {}", text(&it["type"]), text(&it["object"]["user"]));
    conditions(posture, client).iter().map(of).collect()
}

fn status(posture: &Posture, client: &str, code: &str) -> String {
    control(posture, client, code)["status"].as_str().unwrap().to_owned()
}

const MISSING: &str = "admin_mfa_missing";

#[test]
fn no_alarm_is_open_about_an_account_that_is_meant_so_until_the_decision_ends() {
    let posture = Posture::start();
    let client = posture.client("A");
    let accounts = json!([admin("ann", true), admin("breakglass-1", false)]);
    list(&posture, &client, &accounts);
    let is_open = || open(&posture, &client) == ["admin_mfa_missing breakglass-1"];
    assert!(is_open());
    let until = in_days(&posture, 20);
    let by_pattern = json!({"pattern": "BREAKGLASS-*", "until": until});
    intend(&posture, &client, "ID-03", &by_pattern);
    assert_eq!(status(&posture, &client, "ID-03"), "compliant");
    assert!(!is_open());
    list(&posture, &client, &accounts);
    let more =
        json!([admin("ann", true), admin("breakglass-1", false), admin("Breakglass-2", false)]);
    list(&posture, &client, &more);
    let new = ["privilege_escalation Breakglass-2"];
    assert_eq!(open(&posture, &client), new, "what happened did");
    assert_eq!(told(&posture, MISSING).len(), 1, "and announce none");
    let posture = posture.restart();
    posture.pass_days(21);
    assert_eq!(status(&posture, &client, "ID-03"), "non_compliant");
    let mut all = conditions(&posture, &client);
    all.retain(|it| it["type"] == MISSING);
    let shown: Vec<_> = all.iter().map(|it| (&it["object"]["user"], &it["occurrence"])).collect();
    let (one, two) = (json!("Breakglass-2"), json!("breakglass-1"));
    assert_eq!(shown, [(&one, &json!(1)), (&two, &json!(1))], "for longer than seven days");
    assert_eq!(told(&posture, MISSING).len(), 3, "whoever closed a ticket hears of it");
}

#[test]
fn a_decision_that_is_withdrawn_or_undone_opens_the_alarm_again_if_the_list_still_says_so() {
    let posture = Posture::start();
    let client = posture.client("A");
    let accounts = json!([admin("ann", true), admin("bob", false), admin("cat", false)]);
    list(&posture, &client, &accounts);
    let before = conditions(&posture, &client);
    assert_eq!(before.len(), 2);
    posture.pass_days(1);
    let both = json!({"ids": ["bob", "cat"]});
    let made = intend(&posture, &client, "ID-03", &both);
    assert_eq!(conditions(&posture, &client), [] as [Value; 0]);
    posture.pass_days(1);
    assert_eq!(undo_statement(&posture, &client, &made["statement"]), 200);
    let mut back = conditions(&posture, &client);
    for it in &mut back {
        assert_eq!(it["occurrence"].take(), json!(2), "it was announced once more");
        it["occurrence"] = json!(1);
    }
    assert_eq!(back, before, "open since they were before");

    let made = intend(&posture, &client, "ID-03", &both);
    list(&posture, &client, &json!([admin("ann", true), admin("bob", true), admin("cat", false)]));
    withdraw(&posture, &client, "ID-03", &made["id"]);
    let back = conditions(&posture, &client);
    assert_eq!(open(&posture, &client), ["admin_mfa_missing cat"], "Bob has one now");
    assert_eq!(
        (&back[0]["occurrence"], &back[0]["openedAt"]),
        (&json!(3), &json!(posture.now().to_string()))
    );
    let accepted = json!({"ids": ["cat"], "decision": "accepted"});
    intend(&posture, &client, "ID-03", &accepted);
    assert_eq!(open(&posture, &client), ["admin_mfa_missing cat"], "what is accepted fails");
    let said = read(&posture, &format!("/api/clients/{client}/statements?kind=subjects"));
    let withdrawal = said.as_array().unwrap().iter().find(|it| it["state"] == "recorded");
    let withdrawal = &withdrawal.unwrap()["number"];
    assert_eq!(undo_statement(&posture, &client, withdrawal), 200);
    assert_eq!(open(&posture, &client), ["admin_mfa_missing cat"], "the newer decision counts");
}

#[test]
fn an_account_that_breaks_two_controls_is_an_alarm_until_both_leave_it_out() {
    let posture = Posture::start();
    let client = posture.client("A");
    list(&posture, &client, &json!([admin("ann", true), admin("bob", true)]));
    list(&posture, &client, &json!([admin("ann", true), admin("bob", false)]));
    let both = ["admin_mfa_missing bob", "mfa_disabled bob"];
    assert_eq!(open(&posture, &client), both);
    let made = intend(&posture, &client, "ID-03", &json!({"ids": ["bob"]}));
    assert_eq!(open(&posture, &client), ["mfa_disabled bob"], "he is still one of ID-02");
    intend(&posture, &client, "ID-02", &json!({"ids": ["bob"]}));
    assert_eq!(open(&posture, &client), [] as [&str; 0]);
    // He has another name, about which nothing was decided.
    list(&posture, &client, &json!([admin("ann", true), admin("bobby", false)]));
    assert_eq!(open(&posture, &client), ["admin_mfa_missing bobby", "mfa_disabled bobby"]);
    list(&posture, &client, &json!([admin("ann", true), admin("bob", false)]));
    assert_eq!(open(&posture, &client), [] as [&str; 0]);
    withdraw(&posture, &client, "ID-03", &made["id"]);
    assert_eq!(open(&posture, &client), both);
}

#[test]
fn a_tenant_that_is_not_meant_has_no_alarms() {
    let posture = Posture::start();
    let client = posture.client("A");
    list(&posture, &client, &json!([admin("ann", true)]));
    let other = json!([admin("bob", false), {"user": "dee", "admin": true, "enabled": true, "mfa": true, "mfaEnforced": true}]);
    list_of(&posture, &client, SCOPES[1], true, &json!([admin("bob", false)]));
    list_of(&posture, &client, SCOPES[1], true, &other);
    let before = ["admin_mfa_missing bob", "privilege_escalation dee"];
    assert_eq!(open(&posture, &client), before);
    for (decision, is_back) in [("excluded", false), ("retired", true)] {
        decide_member(&posture, &client, SCOPES[1], decision);
        assert_eq!(open(&posture, &client), [] as [&str; 0], "{decision}");
        assert_eq!(status(&posture, &client, "ID-03"), "compliant", "{decision}");
        posture.pass_s(60);
        list_of(&posture, &client, SCOPES[1], true, &other);
        assert_eq!(!open(&posture, &client).is_empty(), is_back, "{decision}: it was seen again");
        decide_member(&posture, &client, SCOPES[1], "counted");
        assert_eq!(open(&posture, &client), before, "{decision}");
    }
}

#[test]
fn a_control_that_a_person_says_is_met_has_no_alarms_and_one_out_of_scope_has() {
    let posture = Posture::start();
    let client = posture.client("A");
    list(&posture, &client, &json!([admin("ann", true), admin("bob", false)]));
    let until = in_days(&posture, 300);
    let over = json!({"evidence": "dms://1", "override": true, "until": until});
    attest(&posture, &client, "ID-03", &over);
    assert_eq!(open(&posture, &client), [] as [&str; 0]);
    attest(&posture, &client, "ID-03", &json!({"status": "not_applicable"}));
    assert_eq!(open(&posture, &client), ["admin_mfa_missing bob"], "it is a fact all the same");
}

fn decide_member(posture: &Posture, client: &str, member: &str, decision: &str) -> bool {
    let body = json!({"members": [member], "decision": decision, "reason": "r", "by": "Ada"});
    let path = format!("/api/clients/{client}/estate/decisions");
    posture.operator("POST", &path, &body).status == 200
}

/// A random list of the accounts of a tenant: of each, whether it is an administrator or a guest stays.
fn random_list(random: &mut Random, scope: &str, now: &str) -> Value {
    let tenant = scope.split_once('/').unwrap().1;
    let mut all = Vec::new();
    for it in 0..8 {
        if random.below(6) == 0 {
            continue;
        }
        let name = if random.below(8) == 0 { "other" } else { "user" };
        let mfa = [json!(true), json!(true), json!(false), json!(false), Value::Null];
        let mfa = &mfa[random.pick(&[0, 1, 2, 3, 4])];
        let last = [json!(now), json!("2020-01-01T00:00:00Z"), json!("never"), Value::Null];
        let created = [json!("2019-01-01T00:00:00Z"), Value::Null];
        all.push(json!({
            "externalId": it.to_string(), "user": format!("{name}-{it}@{tenant}"),
            "admin": it < 3, "userType": if it == 7 { "guest" } else { "member" },
            "enabled": random.below(8) != 0, "mfa": mfa, "mfaEnforced": mfa,
            "lastSignIn": last[random.pick(&[0, 1, 2, 3])], "createdAt": created[random.pick(&[0, 1])],
        }));
    }
    Value::Array(all)
}

const CODES: [&str; 3] = ["ID-02", "ID-03", "ID-11"];

/// Something happens: a list comes or is undone, somebody decides or takes it back, time passes.
fn step(posture: &Posture, client: &str, random: &mut Random, imports: &mut Vec<String>) -> String {
    let (scope, code) = (random.pick(&SCOPES), random.pick(&CODES));
    let said = || read(posture, &format!("/api/clients/{client}/statements?limit=20"));
    match random.below(13) {
        0..=3 => {
            let complete = random.below(3) != 0;
            let all = random_list(random, scope, &posture.now().to_string());
            imports.push(list_of(posture, client, scope, complete, &all));
            format!("{scope} {complete} {all}")
        }
        4 | 5 => {
            let tenant = &scope[5..];
            let ids: Vec<_> = (0..8).filter(|_| random.below(2) == 0).collect();
            let ids: Vec<_> = ids.iter().map(|it| format!("user-{it}@{tenant}")).collect();
            let which = if ids.is_empty() {
                json!({"pattern": format!("*-?@{tenant}")})
            } else {
                json!({"ids": ids})
            };
            let mut more = which;
            more["until"] = json!(in_days(posture, random.pick(&[1, 2, 4, 8])));
            more["decision"] = json!(random.pick(&["intended", "intended", "accepted"]));
            intend(posture, client, code, &more);
            format!("{code} {more}")
        }
        6 => {
            let all = read(posture, &subjects(client, code))["decisions"].clone();
            let first = all.as_array().unwrap().first();
            if let Some(it) = first {
                withdraw(posture, client, code, &it["id"]);
            }
            format!("withdraw {code}")
        }
        7 | 8 => {
            let said = said();
            let Some(it) = said.as_array().unwrap().first() else { return "nothing".into() };
            let status = undo_statement(posture, client, &it["number"]);
            format!("undo {} {}: {status}", it["kind"], it["answer"])
        }
        9 => {
            let decision = random.pick(&["excluded", "retired", "counted", "counted"]);
            format!("{scope} {decision}: {}", decide_member(posture, client, scope, decision))
        }
        10 => {
            let end = in_days(posture, random.pick(&[1, 3]));
            let over = json!({"evidence": "dms://1", "override": true, "until": end});
            attest(posture, client, code, &over);
            format!("override {code}")
        }
        11 => {
            posture.pass_days(random.pick(&[1, 3, 6]));
            "time".into()
        }
        _ => {
            let Some(last) = imports.pop() else { return "nothing".into() };
            undo(posture, client, &last);
            "undo list".into()
        }
    }
}

/// The law, both ways: nothing is open whose control is met, and what a control counts as failing is open, and nothing else.
fn require_agreement(posture: &Posture, client: &str, about: &str) {
    let met: Vec<&str> =
        CODES.into_iter().filter(|it| status(posture, client, it) == "compliant").collect();
    let all = conditions(posture, client);
    for it in &all {
        let (kind, account) = (it["type"].as_str().unwrap(), &it["object"]);
        let is_admin = account["admin"] == true;
        // No control is about the second factor of a guest.
        let broken: &[&str] = match (kind, account["userType"] == "guest") {
            ("admin_mfa_missing", _) => &["ID-03"],
            ("mfa_disabled", false) if is_admin => &["ID-02", "ID-03"],
            ("mfa_disabled", false) => &["ID-02"],
            ("dormant_account_detected", _) => &["ID-11"],
            (_, _) => continue,
        };
        let is_met = broken.iter().all(|it| met.contains(it));
        assert!(!is_met, "{about}: {kind} {account} is open, and {broken:?} is met");
    }
    let estate = read(posture, &format!("/api/clients/{client}/estate"));
    let members = estate["members"].as_array().unwrap();
    let is_left = |user: &str| {
        members.iter().any(|it| {
            let id = it["id"].as_str().unwrap();
            SCOPES.contains(&id)
                && user.ends_with(&id[5..])
                && ["excluded", "retired"].contains(&it["state"].as_str().unwrap())
        })
    };
    for (code, kind) in [("ID-03", MISSING), ("ID-11", "dormant_account_detected")] {
        let failing = read(posture, &subjects(client, code))["subjects"].clone();
        let failing = failing.as_array().unwrap().iter();
        let user = |it: &Value| it["name"].as_str().unwrap().to_owned();
        let counted = failing.filter(|it| it["decision"] != "intended" && !is_left(&user(it)));
        let counted: BTreeSet<String> =
            counted.filter(|_| !met.contains(&code)).map(user).collect();
        let of_kind = all.iter().filter(|it| it["type"] == kind);
        let open: BTreeSet<String> =
            of_kind.map(|it| it["object"]["user"].as_str().unwrap().to_owned()).collect();
        assert_eq!(open, counted, "{about}: {code}");
    }
}

#[test]
fn alarms_agree_with_controls_whatever_lists_and_people_say() {
    for seed in 0..8 {
        let posture = Posture::start();
        let client = posture.client("A");
        let (mut random, mut imports) = (Random::from_seed(seed), Vec::new());
        let mut story = Vec::new();
        for _ in 0..40 {
            story.push(step(&posture, &client, &mut random, &mut imports));
            let last = story.len().saturating_sub(12);
            let about = format!("seed {seed}, step {}:\n{}", story.len(), story[last..].join("\n"));
            require_agreement(&posture, &client, &about);
        }
    }
}
