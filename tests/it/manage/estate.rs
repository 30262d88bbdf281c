//! What exists at a client: that these are all, and what is not meant or gone.

use serde_json::{Value, json};

use super::controls::control;
use super::{GOOD, by_key, prowler_of, read, refused_field};
use crate::harness::{Answer, Posture};

/// Over cloud accounts, and decided by what [`GOOD`] finds.
const CONTROL: &str = "CLD-01";
const OTHER: &str = "444455556666";

fn estate(posture: &Posture, client: &str) -> Value {
    read(posture, &format!("/api/clients/{client}/estate"))
}

fn try_say(posture: &Posture, client: &str, kind: &str, body: &Value) -> Answer {
    posture.operator("PUT", &format!("/api/clients/{client}/estate/{kind}"), body)
}

pub(crate) fn say_all(posture: &Posture, client: &str, kind: &str) -> Value {
    let said = json!({"all": true, "reason": "Confirmed", "by": "Ada"});
    let answer = try_say(posture, client, kind, &said);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn try_decide(posture: &Posture, client: &str, body: &Value) -> Answer {
    posture.operator("POST", &format!("/api/clients/{client}/estate/decisions"), body)
}

fn decide(posture: &Posture, client: &str, member: &str, decision: &str) -> Value {
    let body =
        json!({"members": [member], "decision": decision, "reason": "A sandbox", "by": "Ada"});
    let answer = try_decide(posture, client, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn look(posture: &Posture, client: &str, account: &str, findings: &[super::Finding<'_>]) {
    let answer = posture.import(client, "observedAt=now", &prowler_of(account, findings));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn status(posture: &Posture, client: &str) -> String {
    control(posture, client, CONTROL)["status"].as_str().unwrap().to_owned()
}

fn kind<'a>(estate: &'a Value, kind: &str) -> &'a Value {
    let all = estate["kinds"].as_array().unwrap();
    all.iter().find(|it| it["kind"] == kind).unwrap()
}

fn member<'a>(estate: &'a Value, id: &str) -> &'a Value {
    let all = estate["members"].as_array().unwrap();
    all.iter().find(|it| it["id"] == id).unwrap_or_else(|| panic!("{id}: {estate:#}"))
}

#[test]
fn that_these_are_all_counts_until_there_are_more_or_it_ends() {
    let posture = Posture::start();
    let client = posture.client("A");
    look(&posture, &client, "111122223333", GOOD);
    let now = posture.now();
    assert_eq!(status(&posture, &client), "partial");
    let unseen = read(&posture, &format!("/api/clients/{client}/posture"))["unseen"].clone();
    let first = &unseen[0];
    assert_eq!(
        (&first["kind"], &first["what"]),
        (&json!("cloud_accounts"), &json!("other cloud accounts, if there are any"))
    );
    assert!(first["controlCodes"].as_array().unwrap().contains(&json!(CONTROL)), "{first}");
    assert_eq!(estate(&posture, &client)["unseen"], unseen);

    let said = say_all(&posture, &client, "cloud_accounts");
    let until = now.plus_days(365).to_string();
    assert_eq!(
        kind(&said, "cloud_accounts"),
        &json!({"kind": "cloud_accounts", "known": 1, "listed": false, "all": {
            "reason": "Confirmed", "by": "Ada", "at": now.to_string(), "until": until, "known": 1, "counts": true,
        }})
    );
    assert_eq!(status(&posture, &client), "compliant");
    let seen = member(&said, "aws/111122223333");
    assert_eq!(
        seen,
        &json!({"kind": "cloud_accounts", "id": "aws/111122223333", "name": "aws/111122223333", "state": "counted",
                "countsFrom": null, "firstSeen": now.to_string(), "lastSeen": now.to_string(), "source": "prowler", "decision": null})
    );
    let log = read(&posture, &format!("/api/clients/{client}/statements?kind=estate"));
    assert_eq!((&log[0]["subject"], &log[0]["answer"]), (&json!("cloud_accounts"), &json!("all")));
    assert_eq!(log[0]["wording"], "1 cloud accounts are known: aws/111122223333. These are all.");

    posture.pass_days(1);
    look(&posture, &client, OTHER, GOOD);
    assert_eq!(status(&posture, &client), "partial", "there are more");
    let more = estate(&posture, &client);
    assert_eq!(kind(&more, "cloud_accounts")["all"]["counts"], false);
    say_all(&posture, &client, "cloud_accounts");
    assert_eq!(status(&posture, &client), "compliant");
    let withdrawn = json!({"all": false, "reason": "There may be one more"});
    assert_eq!(try_say(&posture, &client, "cloud_accounts", &withdrawn).status, 200);
    assert_eq!(status(&posture, &client), "partial");
    let posture = posture.restart();
    assert_eq!(kind(&estate(&posture, &client), "cloud_accounts")["all"], Value::Null);
}

#[test]
fn an_account_that_is_not_meant_is_left_out_until_the_decision_is_undone() {
    let posture = Posture::start();
    let client = posture.client("A");
    look(&posture, &client, "111122223333", GOOD);
    look(&posture, &client, OTHER, super::MIXED);
    say_all(&posture, &client, "cloud_accounts");
    let before = read(&posture, &format!("/api/clients/{client}/posture"));
    assert_eq!(status(&posture, &client), "non_compliant");
    let id = format!("aws/{OTHER}");
    let out = decide(&posture, &client, &id, "excluded");
    assert_eq!(member(&out, &id)["state"], "excluded");
    assert_eq!(member(&out, &id)["decision"]["until"], posture.now().plus_days(365).to_string());
    assert_eq!(status(&posture, &client), "compliant");
    let closed = super::told(&posture, "risk_item_resolved");
    assert!(!closed.is_empty() && closed.iter().all(|it| it["object"]["resolution"] == "gone"));
    let assessed = super::told(&posture, "risk_assessment_completed");
    assert_eq!(assessed.last().unwrap()["object"]["cause"], "estate");

    let log = read(&posture, &format!("/api/clients/{client}/statements?kind=estate&subject={id}"));
    let undo = format!("/api/clients/{client}/statements/{}/undo", log[0]["number"]);
    let answer = posture.operator("POST", &undo, &json!({"reason": "Wrong account"}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(status(&posture, &client), "non_compliant");
    let after = read(&posture, &format!("/api/clients/{client}/posture"));
    assert_eq!(before["controls"], after["controls"]);

    decide(&posture, &client, &id, "excluded");
    posture.pass_days(2);
    decide(&posture, &client, &id, "counted");
    assert_eq!(status(&posture, &client), "non_compliant");
}

#[test]
fn a_device_that_is_gone_is_asked_for_no_more() {
    let posture = Posture::start();
    let client = posture.client("A");
    let asset = |n: u32| json!({"externalId": format!("pc{n}"), "name": format!("PC{n}"), "assetType": "workstation"});
    let body = json!({"source": "rmm", "assets": [asset(1), asset(2)]});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let known = |it: &Value| kind(it, "computers")["known"].clone();
    assert_eq!(known(&estate(&posture, &client)), 2);
    let assets = read(&posture, &format!("/api/clients/{client}/assets"));
    let gone = assets.as_array().unwrap().iter().find(|it| it["name"] == "PC2").unwrap();
    let id = gone["id"].as_str().unwrap();
    posture.pass_s(60);
    let out = decide(&posture, &client, id, "retired");
    let shown = member(&out, id);
    assert_eq!(
        (&shown["kind"], &shown["name"], &shown["state"]),
        (&json!("computers"), &json!("PC2"), &json!("retired"))
    );
    posture.pass_days(2);
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200);
    assert_eq!(member(&estate(&posture, &client), id)["state"], "counted", "it was seen again");
}

#[test]
fn what_cannot_be_said_is_refused_with_what_can() {
    let posture = Posture::start();
    let client = posture.client("A");
    look(&posture, &client, "111122223333", GOOD);
    let said = json!({"all": true, "reason": "Confirmed", "by": "Ada"});
    let refused = |kind: &str, body: &Value| refused_field(&try_say(&posture, &client, kind, body));
    assert_eq!(refused("platforms", &said).0, "kind");
    assert!(
        refused("scopes", &said).1.contains("cloud_accounts, computers, servers, phones, systems")
    );
    assert_eq!(try_say(&posture, &client, "planets", &said).status, 404);
    let with = |name: &str, value: Value| {
        let mut body = said.clone();
        body[name] = value;
        body
    };
    assert_eq!(refused("computers", &with("reason", json!(" "))).0, "reason");
    let now = posture.now();
    assert_eq!(refused("computers", &with("until", json!(now.to_string()))).0, "until");
    let two_years = now.plus_days(2 * 365 + 1);
    let late = with("until", json!(two_years.plus_s(1).to_string()));
    assert_eq!(refused("computers", &late).0, "until");
    let edge = with("until", json!(two_years.to_string()));
    assert_eq!(try_say(&posture, &client, "computers", &edge).status, 200);

    let decision = |members: Value| json!({"members": members, "decision": "excluded", "reason": "A sandbox", "by": "Ada"});
    let refused = |members: Value| {
        let (field, rule) = refused_field(&try_decide(&posture, &client, &decision(members)));
        assert_eq!(field, "members");
        rule
    };
    assert!(refused(json!(["aws/999"])).starts_with("aws/999: no account or domain that was seen"));
    assert!(refused(json!(["aws"])).contains("the profile"));
    assert!(refused(json!([])).contains("1 to 1000"));
    let many = |n: usize| (0..n).map(|_| json!("aws/111122223333")).collect::<Value>();
    assert!(refused(many(1_001)).contains("1 to 1000"));
    assert_eq!(try_decide(&posture, &client, &decision(many(1_000))).status, 200);
    let mut bare = decision(json!(["aws/111122223333"]));
    bare["reason"] = json!("");
    assert_eq!(refused_field(&try_decide(&posture, &client, &bare)).0, "reason");
}

#[test]
fn a_key_says_it_with_the_right_and_learns_nothing_of_another_client() {
    let posture = Posture::start();
    let [own, other] = ["A", "B"].map(|it| posture.client(it));
    let key = |scopes: Value| posture.key_with(&json!({"clientIds": [own], "scopes": scopes}));
    let reads = key(json!(["read:compliance"]));
    let decides = key(json!(["read:compliance", "manage:decisions"]));
    let said = json!({"all": true, "reason": "Confirmed"});
    let path = |client: &str, rest: &str| format!("/api/clients/{client}/estate{rest}");
    let status =
        |key: &str, method: &str, path: String| by_key(&posture, key, method, &path, &said).status;
    assert_eq!(status(&reads, "GET", path(&own, "")), 200);
    assert_eq!(status(&reads, "PUT", path(&own, "/computers")), 403);
    assert_eq!(status(&decides, "PUT", path(&own, "/computers")), 200);
    assert_eq!(status(&decides, "PUT", path(&other, "/computers")), 403);
    assert_eq!(status(&reads, "GET", path(&other, "")), 403);
    assert_eq!(kind(&estate(&posture, &other), "computers")["all"], Value::Null);
}

/// Over computers, and decided by what is said of single ones.
const OF_COMPUTERS: &str = "END-05";

fn list(posture: &Posture, client: &str, names: &[&str], complete: bool) {
    let asset = |name: &&str| json!({"externalId": name, "name": name, "hostname": name, "assetType": "workstation"});
    let assets: Vec<Value> = names.iter().map(asset).collect();
    let body = json!({"source": "rmm", "complete": complete, "assets": assets});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn look_at(posture: &Posture, client: &str, names: &[&str], status: &str) {
    for name in names {
        let seen = json!([{"control": OF_COMPUTERS, "status": status}]);
        let body =
            json!({"source": "agent", "scope": format!("host/{name}"), "observations": seen});
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

fn of_computers(posture: &Posture, client: &str) -> Value {
    control(posture, client, OF_COMPUTERS)
}

fn named<'a>(estate: &'a Value, name: &str) -> &'a Value {
    let all = estate["members"].as_array().unwrap();
    all.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {estate:#}"))
}

/// Three computers that a source lists, all fine.
fn three_computers(posture: &Posture) -> String {
    let client = posture.client("A");
    list(posture, &client, &["PC1", "PC2", "PC3"], true);
    look_at(posture, &client, &["PC1", "PC2", "PC3"], "compliant");
    assert_eq!(of_computers(posture, &client)["status"], "compliant");
    client
}

#[test]
fn a_new_computer_is_asked_for_after_a_week_and_nothing_is_announced() {
    let posture = Posture::start();
    let client = three_computers(&posture);
    assert_eq!(estate(&posture, &client)["members"], json!([]), "they were there before");
    posture.pass_days(8);
    list(&posture, &client, &["PC1", "PC2", "PC3", "PC4"], true);
    posture.pass_s(3_600);
    let known = estate(&posture, &client);
    let new = named(&known, "PC4");
    let due = posture.now().plus_days(7).to_string();
    assert_eq!(
        (&new["state"], new["countsFrom"].as_str().unwrap()),
        (&json!("new"), format!("{}T00:00:00.000Z", &due[..10]).as_str())
    );
    assert_eq!(kind(&known, "computers")["known"], 4);
    let before = posture.events().len();
    for _ in 0..6 {
        posture.pass_days(1);
        assert_eq!(of_computers(&posture, &client)["status"], "compliant");
    }
    posture.pass_days(1);
    let now = of_computers(&posture, &client);
    assert_eq!((&now["status"], &now["partialBecause"]), (&json!("partial"), &json!("unseen")));
    let why = now["findings"].as_str().unwrap();
    assert!(why.ends_with("Not seen: 1 of 4 computers."), "{why}");
    assert_eq!(posture.events().len(), before, "{:#?}", &posture.events()[before..]);
    let changes = read(&posture, "/api/changes?limit=100");
    let last = changes.as_array().unwrap().last().unwrap();
    assert_eq!(last["cause"], "estate", "{last}");
    assert_eq!(estate(&posture, &client)["members"], json!([]));
    look_at(&posture, &client, &["PC4"], "compliant");
    assert_eq!(of_computers(&posture, &client)["status"], "compliant");
}

#[test]
fn a_run_on_the_day_when_a_computer_is_due_does_not_announce_it() {
    let posture = Posture::start();
    let client = three_computers(&posture);
    posture.pass_days(8);
    list(&posture, &client, &["PC1", "PC2", "PC3", "PC4"], true);
    posture.pass_days(6);
    let before = super::told(&posture, "security_score_changed").len();
    posture.clock.set(posture.now().plus_days(1));
    look_at(&posture, &client, &["PC1"], "compliant");
    assert_eq!(of_computers(&posture, &client)["status"], "compliant");
    posture.sweep();
    assert_eq!(of_computers(&posture, &client)["status"], "partial");
    assert_eq!(super::told(&posture, "security_score_changed").len(), before);
}

#[test]
fn what_fails_on_a_new_computer_counts_at_once() {
    let posture = Posture::start();
    let client = three_computers(&posture);
    posture.pass_days(8);
    list(&posture, &client, &["PC1", "PC2", "PC3", "PC4"], true);
    look_at(&posture, &client, &["PC4"], "non_compliant");
    assert_eq!(of_computers(&posture, &client)["status"], "non_compliant");
}

#[test]
fn a_stale_computer_is_not_asked_for_until_it_is_seen_and_its_failures_stay() {
    let posture = Posture::start();
    let client = posture.client("A");
    list(&posture, &client, &["PC1", "PC2", "PC3"], true);
    look_at(&posture, &client, &["PC1", "PC2"], "compliant");
    assert_eq!(of_computers(&posture, &client)["status"], "partial");
    posture.pass_days(20);
    list(&posture, &client, &["PC1", "PC2"], false);
    look_at(&posture, &client, &["PC1", "PC2"], "compliant");
    posture.pass_days(11);
    assert_eq!(named(&estate(&posture, &client), "PC3")["state"], "stale");
    assert_eq!(of_computers(&posture, &client)["status"], "compliant");
    list(&posture, &client, &["PC3"], false);
    posture.pass_days(1);
    assert_eq!(of_computers(&posture, &client)["status"], "partial");
    assert_eq!(estate(&posture, &client)["members"], json!([]));

    look_at(&posture, &client, &["PC3"], "non_compliant");
    posture.pass_days(20);
    list(&posture, &client, &["PC1", "PC2"], false);
    look_at(&posture, &client, &["PC1", "PC2"], "compliant");
    posture.pass_days(11);
    assert_eq!(named(&estate(&posture, &client), "PC3")["state"], "stale");
    assert_eq!(of_computers(&posture, &client)["status"], "non_compliant");
}

#[test]
fn that_the_answers_end_soon_is_announced_once_for_all_kinds() {
    let posture = Posture::start();
    let client = posture.client("A");
    say_all(&posture, &client, "cloud_accounts");
    say_all(&posture, &client, "servers");
    let until = posture.now().plus_days(365).to_string();
    posture.pass_days(334);
    assert_eq!(super::told(&posture, "evidence_expiring"), [] as [Value; 0]);
    posture.pass_days(1);
    posture.pass_days(1);
    let told = super::told(&posture, "evidence_expiring");
    assert_eq!(told.len(), 1, "{told:#?}");
    let said = &told[0]["object"];
    assert_eq!(
        (&said["kind"], &said["title"], said["validUntil"].as_str().unwrap()),
        (&json!("estate"), &json!("These are all: cloud accounts, servers"), until.as_str())
    );
    let open = || {
        let all = read(&posture, "/api/conditions?limit=100");
        all.as_array().unwrap().iter().filter(|it| it["type"] == "evidence_expiring").count()
    };
    say_all(&posture, &client, "servers");
    assert_eq!(open(), 1, "the other one still ends");
    say_all(&posture, &client, "cloud_accounts");
    assert_eq!(open(), 0);
    assert_eq!(super::told(&posture, "evidence_expiring").len(), 1);
}

#[test]
fn a_phone_is_a_member_and_a_domain_that_is_read_no_more_must_be_retired() {
    let posture = Posture::start();
    let client = posture.client("A");
    let facts = |body: &Value| {
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let phone = json!({"externalId": "p1", "name": "Phone 1", "assetType": "mobile"});
    facts(&json!({"source": "mdm", "assets": [phone]}));
    let said = say_all(&posture, &client, "phones");
    assert_eq!(kind(&said, "phones")["known"], 1);
    assert_eq!(kind(&said, "computers")["known"], 0);

    let published = json!([{"control": "EML-01", "status": "compliant"}]);
    let read_dns =
        |domain: &str| facts(&json!({"source": "dns", "scope": domain, "observations": published}));
    for domain in ["a.example", "b.example", "a.onmicrosoft.com"] {
        read_dns(domain);
    }
    let eml = || control(&posture, &client, "EML-01");
    assert_eq!(eml()["status"], "compliant");
    let known = estate(&posture, &client);
    assert_eq!(kind(&known, "domains")["known"], 2);
    assert_eq!(member(&known, "b.example")["kind"], "domains");
    for _ in 0..4 {
        posture.pass_days(20);
        read_dns("a.example");
    }
    let why = eml()["findings"].as_str().unwrap().to_owned();
    assert_eq!(
        (&eml()["status"], why.ends_with("Not seen: b.example.")),
        (&json!("partial"), true),
        "{why}"
    );
    decide(&posture, &client, "b.example", "retired");
    assert_eq!(eml()["status"], "compliant");
}

/// What a source counts, or names one by one, is no more than it counts.
#[test]
fn a_computer_of_many_is_not_all_of_them_however_it_is_told() {
    let posture = Posture::start();
    let told = |observation: Value| {
        let client = posture.client("A");
        let names: Vec<String> = (0..20).map(|it| format!("pc{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        list(&posture, &client, &names, true);
        let body = json!({"source": "rmm", "observations": [observation]});
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        posture.pass_s(60);
        let it = of_computers(&posture, &client);
        (it["status"].clone(), it["findings"].clone(), it["score"].clone())
    };
    let one = json!([{"id": "pc0", "outcome": "passed"}]);
    let few = told(json!({"control": "END-05", "subjects": one}));
    assert_eq!((&few.0, &few.2), (&json!("partial"), &json!(50)));
    assert_eq!(few.1, "1 of 1 passes. Not seen: 19 of 20 computers.");
    let counted = told(json!({"control": "END-05", "passed": 18, "failed": 0}));
    assert_eq!(counted.1, "18 of 18 pass. Not seen: 2 of 20 computers.");
    assert_eq!(told(json!({"control": "END-05", "passed": 19, "failed": 0})).0, "compliant");
}

#[test]
fn a_list_of_computers_alone_is_assessed() {
    let posture = Posture::start();
    let client = posture.client("A");
    look_at(&posture, &client, &["pc0"], "compliant");
    say_all(&posture, &client, "computers");
    let names: Vec<String> = (0..20).map(|it| format!("pc{it}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    list(&posture, &client, &names, true);
    posture.pass_s(60);
    let it = of_computers(&posture, &client);
    assert_eq!((&it["status"], &it["score"]), (&json!("partial"), &json!(50)), "{it}");
}
