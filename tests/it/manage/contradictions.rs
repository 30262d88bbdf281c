//! Decisions of people that are contradicted by what was seen: an alert of the built-in rule about each.

use posture::engine::catalog::Catalog;
use posture::engine::framework::{ControlRole, FrameworkId, Mapping};
use serde_json::{Value, json};

use super::controls::{attest, in_days};
use super::documents::{ask, texts};
use super::{GOOD, import, patched, posted, read, told};
use crate::harness::{Posture, catalog};

const RULES: &str = "/api/alert-rules";

/// Pushes what a script sees of END-04, as it does every day.
fn push(posture: &Posture, client: &str, passed: u32, failed: u32) {
    posture.pass_s(60);
    let seen = json!([{"control": "END-04", "passed": passed, "failed": failed}]);
    let body = json!({"source": "script", "observations": seen});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn withdraw(posture: &Posture, client: &str, code: &str) {
    let path = format!("/api/clients/{client}/controls/{code}");
    assert_eq!(posture.operator("PUT", &path, &json!({"status": null})).status, 200);
}

fn override_of(posture: &Posture, client: &str) {
    let more = json!({"evidence": "dms://1", "override": true, "until": in_days(posture, 300)});
    attest(posture, client, "END-04", &more);
}

fn triggered(posture: &Posture) -> Vec<Value> {
    told(posture, "alert_triggered").into_iter().map(|it| it["object"].clone()).collect()
}

/// The keys of open alerts, after the id of the client and the rule.
fn open(posture: &Posture) -> Vec<String> {
    let all = read(posture, "/api/alerts").as_array().unwrap().clone();
    let open = all.iter().filter(|it| it["closedAt"].is_null());
    let key = |it: &Value| it["dedupKey"].as_str().unwrap().to_owned();
    open.map(|it| key(it).splitn(4, '/').nth(3).unwrap_or_default().to_owned()).collect()
}

fn built_in(posture: &Posture) -> Value {
    let all = read(posture, RULES).as_array().unwrap().clone();
    let built_in: Vec<_> = all.into_iter().filter(|it| it["builtIn"] == true).collect();
    assert_eq!(built_in.len(), 1, "{built_in:?}");
    built_in[0].clone()
}

#[test]
fn an_override_over_a_failure_is_told_once_and_ends_when_it_is_withdrawn() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 3, 2);
    assert!(triggered(&posture).is_empty() && open(&posture).is_empty());
    override_of(&posture, &client);
    let decided_at = posture.now().to_string();
    let [first] = &triggered(&posture)[..] else { panic!("one event") };
    assert_eq!(first["condition"], json!({"type": "decision_contradicted"}));
    assert_eq!((&first["value"], &first["occurrence"]), (&json!(2), &json!(1)));
    let contradiction = &first["contradiction"];
    assert_eq!(contradiction["decision"], "override");
    assert_eq!(contradiction["controlCode"], "END-04");
    assert_eq!(
        (&contradiction["by"], &contradiction["reason"]),
        (&json!("Ada"), &json!("seen by me"))
    );
    assert_eq!((&contradiction["at"], &contradiction["failing"]), (&json!(decided_at), &json!(2)));
    assert_eq!(contradiction["sources"], json!(["script"]));
    let rule = built_in(&posture);
    let rule = rule["id"].as_str().unwrap();
    assert_eq!(first["dedupKey"], format!("{client}/alert/{rule}/control/END-04"));
    push(&posture, &client, 3, 2);
    posture.pass_days(1);
    let posture = posture.restart();
    push(&posture, &client, 2, 3);
    assert_eq!((triggered(&posture).len(), open(&posture)), (1, vec!["control/END-04".into()]));
    withdraw(&posture, &client, "END-04");
    assert_eq!((triggered(&posture).len(), open(&posture).len()), (1, 0), "the end is no event");
    override_of(&posture, &client);
    assert_eq!(triggered(&posture)[1]["occurrence"], 2);
    push(&posture, &client, 5, 0);
    assert_eq!((triggered(&posture).len(), open(&posture).len()), (2, 0), "what failed passes");
}

#[test]
fn time_alone_ends_no_alert_about_a_decision() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 3, 2);
    attest(&posture, &client, "END-04", &json!({"status": "not_applicable"}));
    assert_eq!(triggered(&posture)[0]["contradiction"]["decision"], "out_of_scope");
    posture.pass_days(60);
    assert_eq!((triggered(&posture).len(), open(&posture)), (1, vec!["control/END-04".into()]));
}

/// A requirement of SOC2 that END-04 decides.
fn decided_row() -> String {
    let catalog = catalog();
    let control = catalog.find_control("END-04").unwrap();
    let soc2 = catalog.frameworks.iter().find(|it| it.id == FrameworkId::Soc2).unwrap();
    let decides = |it: &Mapping| it.control == control && it.role == ControlRole::Decides;
    soc2.rows.iter().find(|it| it.controls.iter().any(decides)).unwrap().reference.clone()
}

fn scope_out(posture: &Posture, client: &str, row: &str) {
    let path = format!("/api/clients/{client}/compliance/SOC2/{row}");
    let body = json!({"decision": "out_of_scope", "reason": "not asked", "by": "Ada"});
    assert_eq!(posture.operator("PUT", &path, &body).status, 200);
}

#[test]
fn a_requirement_out_of_scope_is_contradicted_by_a_control_that_decides_it() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 5, 0);
    let row = decided_row();
    scope_out(&posture, &client, &row);
    assert!(triggered(&posture).is_empty());
    push(&posture, &client, 3, 2);
    let told = triggered(&posture);
    assert_eq!(told.len(), 1, "{told:?}");
    let it = &told[0]["contradiction"];
    assert_eq!((&it["framework"], &it["requirement"]), (&json!("SOC2"), &json!(row)));
    assert_eq!((&it["controls"], &it["failing"]), (&json!(["END-04"]), &json!(2)));
    assert_eq!(open(&posture), [format!("requirement/SOC2/{row}")]);
}

#[test]
fn what_a_first_look_contradicts_is_open_and_not_told() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "END-04", &json!({"status": "not_applicable"}));
    let profile = json!({"settings": {"profile": {"aws": "unused"}}});
    patched(&posture, &format!("/api/clients/{client}"), &profile);
    posture.pass_s(60);
    import(&posture, &client, "", GOOD);
    push(&posture, &client, 3, 2);
    assert!(triggered(&posture).is_empty(), "{:?}", triggered(&posture));
    assert_eq!(open(&posture), ["control/END-04", "platform/aws"]);
    push(&posture, &client, 2, 3);
    assert!(triggered(&posture).is_empty());
    // That it is used after all settles it.
    let profile = json!({"settings": {"profile": {"aws": "used"}}});
    patched(&posture, &format!("/api/clients/{client}"), &profile);
    assert_eq!(open(&posture), ["control/END-04"]);
}

#[test]
fn a_platform_that_is_seen_after_it_was_said_to_be_unused_is_told() {
    let posture = Posture::start();
    let client = posture.client("A");
    let push = || {
        posture.pass_s(60);
        let seen = json!([{"control": "CLD-01", "status": "compliant", "platform": "aws"}]);
        let body = json!({"source": "script", "scope": "aws/1", "observations": seen});
        let path = format!("/api/clients/{client}/facts");
        assert_eq!(posture.operator("POST", &path, &body).status, 200);
    };
    push();
    posture.pass_s(60);
    let profile = json!({"settings": {"profile": {"aws": "unused"}}});
    patched(&posture, &format!("/api/clients/{client}"), &profile);
    posture.pass_days(1);
    assert!(triggered(&posture).is_empty() && open(&posture).is_empty(), "not seen since");
    push();
    let [told] = &triggered(&posture)[..] else { panic!("one event") };
    let it = &told["contradiction"];
    assert_eq!((&it["platform"], &it["decision"]), (&json!("aws"), &json!("unused")));
    assert_eq!((&told["value"], &it["sources"]), (&json!(0), &json!(["script"])));
    assert_eq!(it.get("reason"), None);
}

#[test]
fn the_built_in_rule_can_be_muted_and_not_removed() {
    let posture = Posture::start();
    let client = posture.client("A");
    let rule = built_in(&posture);
    assert_eq!((&rule["enabled"], &rule["createdAt"]), (&json!(true), &Value::Null));
    let path = format!("{RULES}/{}", rule["id"].as_str().unwrap());
    for change in [
        json!({"name": "Other"}),
        json!({"clientIds": [client]}),
        json!({"condition": {"type": "score_below", "value": 5}}),
    ] {
        assert_eq!(posture.operator("PATCH", &path, &change).problem().0, "CONFLICT");
    }
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).problem().0, "CONFLICT");
    assert_eq!(built_in(&posture), rule, "nothing was done");

    let muted = patched(&posture, &path, &json!({"enabled": false}));
    assert_eq!((&muted["enabled"], &muted["builtIn"]), (&json!(false), &json!(true)));
    push(&posture, &client, 3, 2);
    override_of(&posture, &client);
    posture.sweep();
    assert!(triggered(&posture).is_empty() && open(&posture).is_empty());
    let posture = posture.restart();
    assert_eq!(built_in(&posture), muted);

    patched(&posture, &path, &json!({"enabled": true}));
    posture.sweep();
    assert_eq!((triggered(&posture).len(), open(&posture).len()), (1, 1));
    patched(&posture, &path, &json!({"enabled": false}));
    posture.sweep();
    assert_eq!((triggered(&posture).len(), open(&posture).len()), (1, 0));

    // Another rule watches the same for some clients.
    let condition = json!({"type": "decision_contradicted"});
    let body = json!({"name": "Ours", "clientIds": [client], "condition": condition});
    assert_eq!(posted(&posture, RULES, &body)["builtIn"], false);
    posture.sweep();
    assert_eq!(triggered(&posture)[1]["name"], "Ours");
}

/// The next release: END-04 decides all rows of SOC2.
fn next_catalog() -> Catalog {
    let mut next = catalog().clone();
    let control = next.find_control("END-04").unwrap();
    let soc2 = next.frameworks.iter_mut().find(|it| it.id == FrameworkId::Soc2).unwrap();
    for row in &mut soc2.rows {
        row.controls.retain(|it| it.control != control);
        row.controls.push(Mapping {
            control,
            role: ControlRole::Decides,
            why: "as of this release".to_owned(),
            earns_partial: false,
            within_days: None,
            alone: false,
        });
    }
    next.seal();
    next
}

#[test]
fn what_an_upgrade_contradicts_is_open_and_not_told() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, 3, 2);
    let catalog = catalog();
    let control = catalog.find_control("END-04").unwrap();
    let soc2 = catalog.frameworks.iter().find(|it| it.id == FrameworkId::Soc2).unwrap();
    let other = soc2.rows.iter().find(|it| {
        it.controls.iter().all(|it| it.control != control)
            && soc2
                .rows
                .iter()
                .all(|row| row.parent.is_none_or(|at| soc2.rows[at].reference != it.reference))
    });
    let other = other.unwrap().reference.clone();
    scope_out(&posture, &client, &other);
    posture.pass_days(1);
    assert!(triggered(&posture).is_empty() && open(&posture).is_empty());
    let posture = posture.restart_with(next_catalog());
    assert_eq!(open(&posture), [format!("requirement/SOC2/{other}")]);
    posture.pass_days(3);
    assert!(triggered(&posture).is_empty());
    // What is new after it is told, once the quiet day is over.
    override_of(&posture, &client);
    assert_eq!(triggered(&posture).len(), 1);
}

/// An override and a requirement out of scope, both over the same failure.
fn contradicted(posture: &Posture) -> (String, String) {
    let client = posture.client("A");
    push(posture, &client, 3, 2);
    override_of(posture, &client);
    let row = decided_row();
    scope_out(posture, &client, &row);
    (client, row)
}

#[test]
fn a_posture_and_the_portfolio_say_which_decisions_are_contradicted() {
    let posture = Posture::start();
    let (client, row) = contradicted(&posture);
    posture.client("B");
    let shown = read(&posture, &format!("/api/clients/{client}/posture"));
    assert_eq!(shown["contradictionCount"], 2);
    let [control, requirement] = shown["contradictions"].as_array().unwrap().as_slice() else {
        panic!("{shown}")
    };
    let now = posture.now().to_string();
    let title = catalog().controls[catalog().find_control("END-04").unwrap()].title.as_str();
    let expected = json!({
        "decision": "override", "controlCode": "END-04", "frameworkId": null, "requirement": null,
        "platform": null, "title": title, "by": "Ada", "at": now, "until": in_days(&posture, 300),
        "reason": "seen by me", "controls": ["END-04"], "failing": 2, "sources": ["script"],
        "sourceCount": 1, "lastSeenAt": now,
    });
    assert_eq!(*control, expected);
    assert_eq!(
        (&requirement["frameworkId"], &requirement["requirement"], &requirement["decision"]),
        (&json!("SOC2"), &json!(row), &json!("out_of_scope"))
    );
    assert_eq!((&requirement["until"], &requirement["controlCode"]), (&Value::Null, &Value::Null));
    let all = read(&posture, "/api/portfolio/scores");
    let counts: Vec<_> = all.as_array().unwrap().iter().map(|it| &it["contradictions"]).collect();
    assert_eq!(counts, [2, 0]);
    withdraw(&posture, &client, "END-04");
    let shown = read(&posture, &format!("/api/clients/{client}/posture"));
    assert_eq!(
        (&shown["contradictionCount"], shown["contradictions"].as_array().unwrap().len()),
        (&json!(1), 1)
    );
}

#[test]
fn reports_name_who_decided_what_although_it_fails() {
    let posture = Posture::start();
    let (client, row) = contradicted(&posture);
    let of_client = ask(&posture, &client, "language=en").text();
    let of_client = texts(&of_client);
    let has = |wanted: &str| of_client.iter().any(|it| it.contains(wanted));
    for wanted in [
        "2 decisions are contradicted by what was seen.",
        "END-04 ",
        "Said to be met, by Ada on ",
        ": seen by me",
        "Out of scope, by Ada on ",
        ": not asked",
        "2 failing of END-04, by script, last on ",
        &format!(" {row} "),
    ] {
        assert!(has(wanted), "{wanted}: {of_client:?}");
    }
    let french = ask(&posture, &client, "language=fr").text();
    assert!(french.contains("2 décisions sont contredites par ce qui a été constaté."), "{french}");
    let path = format!("/api/clients/{client}/reports/SOC2");
    let of = |query: &str| posture.operator("GET", &format!("{path}?{query}"), &Value::Null).text();
    let framework = of("format=html&language=en");
    assert!(framework.contains("2 decisions are contradicted by what was seen."), "{framework}");
    let csv = of("format=csv");
    assert!(csv.contains("override by Ada: 2 failing of END-04 (script "), "{csv}");
    assert!(csv.contains("out_of_scope by Ada: 2 failing of END-04 (script "), "{csv}");
    // Nothing is contradicted: nothing is said.
    push(&posture, &client, 5, 0);
    let quiet = ask(&posture, &client, "language=en").text();
    assert!(!quiet.contains("contradicted"), "{quiet}");
}

#[test]
fn what_is_out_of_scope_although_it_fails_is_counted_and_named_the_most_severe_first() {
    let posture = Posture::start();
    let client = posture.client("A");
    let all = catalog().controls.iter().filter(|it| it.is_automatic());
    let codes: Vec<&str> = all.map(|it| it.code.as_str()).take(60).collect();
    let fails = |it: &&str| json!({"control": it, "passed": 0, "failed": 2});
    let failing: Vec<Value> = codes.iter().map(fails).collect();
    let body = json!({"source": "script", "observations": failing});
    let path = format!("/api/clients/{client}/facts");
    assert_eq!(posture.operator("POST", &path, &body).status, 200);
    posture.pass_s(60);
    for code in &codes {
        let body = json!({"status": "not_applicable", "reason": "not wanted", "by": "Ada"});
        let path = format!("/api/clients/{client}/controls/{code}");
        assert_eq!(posture.operator("PUT", &path, &body).status, 200, "{code}");
    }
    assert_eq!(read(&posture, "/api/portfolio/scores")[0]["contradictions"], 60);
    let report = ask(&posture, &client, "language=en").text();
    let report = texts(&report);
    let at = |wanted: &str| report.iter().position(|it| it.contains(wanted));
    let start = at("60 decisions are contradicted by what was seen.").unwrap();
    let end = at("And 10 more.").unwrap();
    let named = &report[start..end];
    let order =
        |it: &String| ["Critical", "High", "Medium", "Low"].iter().position(|word| it == word);
    let severities: Vec<usize> = named.iter().filter_map(order).collect();
    assert_eq!(severities.len(), 50, "{named:?}");
    assert!(severities.is_sorted() && severities[0] < severities[49], "{severities:?}");
    let n_who = named.iter().filter(|it| it.contains("Out of scope, by Ada on ")).count();
    assert_eq!(n_who, 50);
}

#[test]
fn a_report_names_what_is_muted_in_a_tool_apart_from_what_people_accept() {
    let posture = Posture::start();
    let client = posture.client("A");
    let subjects =
        json!([{"id": "pc-1", "outcome": "passed"}, {"id": "pc-2", "outcome": "accepted"}]);
    let body =
        json!({"source": "script", "observations": [{"control": "END-04", "subjects": subjects}]});
    let path = format!("/api/clients/{client}/facts");
    assert_eq!(posture.operator("POST", &path, &body).status, 200);
    let english = ask(&posture, &client, "language=en").text();
    assert!(english.contains("1 risk is muted in the tool that sees what fails"), "{english}");
    assert!(
        english.contains("Disk encryption is off or not required on some devices"),
        "{english}"
    );
    assert!(!english.contains("accepted for a time"), "{english}");
    let french = ask(&posture, &client, "language=fr").text();
    assert!(french.contains("1 risque est masqué dans l’outil qui voit l’échec"), "{french}");
}
