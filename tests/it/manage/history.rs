//! What every verdict was, and when.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::controls::{attest, controls, try_attest};
use super::estate::say_all;
use super::own_frameworks::{add_kept, framework};
use super::{Finding, GOOD, MIXED, import, patched, read, undo};
use crate::harness::backend::Random;
use crate::harness::{Posture, catalog};

const CODES: [&str; 6] = ["ID-01", "ID-02", "CLD-01", "GOV-02", "GOV-08", "GOV-14"];
const ROWS: [(&str, &str); 4] = [
    ("HIPAA", "164.308(a)(2)"),
    ("HIPAA", "164.312(a)(1)"),
    ("SOC2", "CC6.1"),
    ("CMMC_L2", "AC.L2-3.1.1"),
];

/// What a verdict says to people: status and score.
type Shown = (Value, Value);

fn history(posture: &Posture, client: &str, path: &str) -> Vec<Value> {
    let path = format!("/api/clients/{client}/{path}/history?limit=1000");
    read(posture, &path).as_array().unwrap().clone()
}

fn control_history(posture: &Posture, client: &str, code: &str) -> Vec<Value> {
    history(posture, client, &format!("controls/{code}"))
}

fn days(posture: &Posture, client: &str) -> Vec<Value> {
    read(posture, &format!("/api/clients/{client}/days?limit=1000")).as_array().unwrap().clone()
}

/// Status, basis, sources and cause.
fn brief(it: &Value) -> (&str, &str, Vec<&str>, &str) {
    let text = |name: &str| it[name].as_str().unwrap();
    let sources = it["sources"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    (text("status"), text("restsOn"), sources.collect(), text("cause"))
}

#[test]
fn a_control_has_its_history() {
    let posture = Posture::start();
    let client = posture.client("A");
    posture.pass_days(1);
    attest(&posture, &client, "GOV-14", &json!({"evidence": "dms://14", "by": "Ada"}));
    let attested = posture.now();
    posture.pass_days(1);
    attest(&posture, &client, "GOV-14", &json!({"status": "non_compliant"}));
    posture.pass_days(1);
    let answer =
        try_attest(&posture, &client, "GOV-14", &json!({"status": null, "reason": "Nobody knows"}));
    assert_eq!(answer.status, 200);

    let all = control_history(&posture, &client, "gov-14");
    let briefs: Vec<_> = all.iter().map(brief).collect();
    assert_eq!(
        briefs,
        [
            ("not_assessed", "nothing", vec![], "attestation"),
            ("non_compliant", "attested", vec![], "attestation"),
            ("compliant", "attested_with_evidence", vec![], "attestation"),
        ]
    );
    let statements: Vec<_> = all.iter().map(|it| it["statement"].clone()).collect();
    assert_eq!(statements, [json!(3), json!(2), json!(1)]);
    assert_eq!(all[2]["from"], json!(attested.to_string()));
    assert_eq!(all[0]["to"], Value::Null);
    assert_eq!(all[0]["rules"], json!(2));
    for pair in all.windows(2) {
        assert_eq!(pair[0]["from"], pair[1]["to"], "no time is left out");
    }
    let first = read(&posture, &format!("/api/clients/{client}/controls/GOV-14/history?limit=2"));
    assert_eq!(first.as_array().unwrap(), &all[..2]);
}

#[test]
fn pages_of_a_history_follow_each_other() {
    let posture = Posture::start();
    let client = posture.client("A");
    for status in ["compliant", "partial", "non_compliant", "not_applicable"] {
        attest(&posture, &client, "GOV-14", &json!({ "status": status }));
        posture.pass_days(1);
    }
    let all = control_history(&posture, &client, "GOV-14");
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/clients/{client}/controls/GOV-14/history?limit=1{after}");
        let page = posture.operator("GET", &path, &Value::Null).json();
        paged.extend(page["data"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(paged, all);
    assert_eq!(all.len(), 3, "without evidence, compliant counts as partial: {all:?}");
    let path = format!("/api/clients/{client}/controls/GOV-14/history?after=x");
    let refused = super::refused_field(&posture.operator("GET", &path, &Value::Null));
    assert_eq!(refused.0, "after");
}

#[test]
fn what_was_observed_names_its_sources_and_runs() {
    let posture = Posture::start();
    let client = posture.client("A");
    let bad = import(&posture, &client, "", MIXED)["import"]["id"].clone();
    say_all(&posture, &client, "cloud_accounts");
    posture.pass_days(1);
    let good = import(&posture, &client, "", GOOD)["import"]["id"].clone();
    let failing = controls(&posture, &client);
    let code =
        failing.iter().find(|it| it["status"] == "compliant").unwrap()["controlCode"].clone();
    let all = control_history(&posture, &client, code.as_str().unwrap());
    let briefs: Vec<_> = all.iter().map(brief).collect();
    assert_eq!(
        briefs[..2],
        [
            ("compliant", "observed", vec!["prowler"], "prowler"),
            ("non_compliant", "observed", vec!["prowler"], "prowler"),
        ]
    );
    assert_eq!((&all[0]["importId"], &all[1]["importId"]), (&good, &bad));
    undo(&posture, &client, good.as_str().unwrap());
    let again = control_history(&posture, &client, code.as_str().unwrap());
    assert_eq!(again[0]["status"], "non_compliant", "{again:?}");
}

/// Everything that a client's verdicts come to now.
fn shown(posture: &Posture, client: &str) -> BTreeMap<String, Shown> {
    let mut all = BTreeMap::new();
    for it in controls(posture, client) {
        let code = it["controlCode"].as_str().unwrap();
        if CODES.contains(&code) {
            all.insert(format!("controls/{code}"), (it["status"].clone(), it["score"].clone()));
        }
    }
    for (framework, reference) in ROWS {
        let path = format!("compliance/{framework}/{reference}");
        let it = read(posture, &format!("/api/clients/{client}/{path}"));
        all.insert(path, (it["overallStatus"].clone(), it["complianceScore"].clone()));
    }
    all
}

/// Score, SPRS, and readiness by framework.
fn figures(posture: &Posture, client: &str) -> (Value, Value, BTreeMap<String, Value>) {
    let it = read(posture, &format!("/api/clients/{client}/posture"));
    let (score, sprs) = (it["score"]["overallScore"].clone(), it["sprs"].clone());
    let readiness = ["HIPAA", "SOC2", "CMMC_L2"].map(|id| {
        let it = read(posture, &format!("/api/clients/{client}/compliance/{id}"));
        (id.to_owned(), it["readinessScore"].clone())
    });
    (score, sprs, readiness.into_iter().collect())
}

fn at<'a>(spans: &'a [Value], time: &str) -> &'a Value {
    let begun = spans.iter().find(|it| it["from"].as_str().is_none_or(|from| from <= time));
    begun.unwrap_or_else(|| panic!("nothing at {time}: {spans:?}"))
}

fn random_deed(posture: &Posture, client: &str, random: &mut Random, imports: &mut Vec<String>) {
    let code = random.pick(&CODES);
    match random.below(8) {
        0 => {
            let findings: &[Finding<'_>] = if random.below(2) == 0 { GOOD } else { MIXED };
            let run = import(posture, client, "", findings)["import"]["id"].clone();
            imports.retain(|it| *it != run); // The same file on the same day is the same import.
            imports.push(run.as_str().unwrap().to_owned());
        }
        1 if !imports.is_empty() => undo(posture, client, &imports.pop().unwrap()),
        2 => {
            let usage = if random.below(2) == 0 { "used" } else { "unused" };
            let body = json!({"settings": {"profile": {"aws": {"usage": usage}}}});
            patched(posture, &format!("/api/clients/{client}"), &body);
        }
        3 => {
            let (framework, reference) = random.pick(&ROWS);
            let path = format!("/api/clients/{client}/compliance/{framework}/{reference}");
            let body = json!({"decision": "out_of_scope", "reason": "Not here", "by": "Ada"});
            assert_eq!(posture.operator("PUT", &path, &body).status, 200);
        }
        4 => {
            let answer = try_attest(posture, client, code, &json!({"status": null}));
            assert_eq!(answer.status, 200);
        }
        _ => {
            let status = random.pick(&["compliant", "partial", "non_compliant"]);
            attest(posture, client, code, &json!({"status": status, "evidence": "dms://1"}));
        }
    }
}

#[test]
fn the_history_says_of_each_time_what_was_answered_then() {
    for seed in 1..=3 {
        let posture = Posture::start();
        let client = posture.client("A");
        let mut random = Random::from_seed(seed);
        let (mut answered, mut ends, mut imports) = (Vec::new(), BTreeMap::new(), Vec::new());
        for _ in 0..40 {
            posture.pass_s(3_600 * (1 + i64::try_from(random.below(60)).unwrap()));
            posture.sweep();
            if random.below(4) != 0 {
                random_deed(&posture, &client, &mut random, &mut imports);
            }
            let now = posture.now().to_string();
            answered.push((now.clone(), shown(&posture, &client)));
            ends.insert(now[..10].to_owned(), figures(&posture, &client));
        }
        let subjects: Vec<String> = answered[0].1.keys().cloned().collect();
        for subject in subjects {
            let spans = history(&posture, &client, &subject);
            for pair in spans.windows(2) {
                assert_eq!(pair[0]["from"], pair[1]["to"], "{subject}: no time is left out");
            }
            for (time, all) in &answered {
                let it = at(&spans, time);
                // The contract has 0 for a requirement without a score.
                let is_blank = it["score"].is_null() && subject.starts_with("compliance");
                let score = if is_blank { json!(0) } else { it["score"].clone() };
                let said = (it["status"].clone(), score);
                assert_eq!(said, all[&subject], "seed {seed}: {subject} at {time}");
            }
        }
        let days = days(&posture, &client);
        for (day, (score, sprs, readiness)) in ends {
            let it = days.iter().find(|it| it["day"] == day.as_str()).expect("every day is there");
            assert_eq!(it["score"], score, "seed {seed}: {day}");
            for framework in it["frameworks"].as_array().unwrap() {
                let id = framework["frameworkId"].as_str().unwrap();
                if let Some(shown) = readiness.get(id) {
                    assert_eq!(framework["readinessScore"], *shown, "seed {seed}: {id} on {day}");
                }
                if id == "CMMC_L2" {
                    assert_eq!(framework["sprsScore"], sprs, "seed {seed}: {day}");
                }
            }
        }
    }
}

#[test]
fn a_requirement_keeps_its_history_where_its_framework_changes() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "GOV-14", &json!({"evidence": "dms://14"}));
    add_kept(&posture, &framework("OURS", &[("A", "GOV-14"), ("B", "GOV-02")]));
    posture.sweep();
    posture.pass_days(1);
    add_kept(&posture, &framework("OURS", &[("0", "GOV-08"), ("A", "GOV-14")]));
    posture.sweep();
    posture.pass_days(1);
    attest(&posture, &client, "GOV-14", &json!({"status": "non_compliant"}));
    let all = history(&posture, &client, "compliance/OURS/A");
    let statuses: Vec<_> = all.iter().map(|it| it["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["non_compliant", "compliant"], "{all:?}");
    let new = history(&posture, &client, "compliance/OURS/0");
    assert_eq!(new.len(), 1, "{new:?}");
}

#[test]
fn a_control_that_got_another_code_keeps_its_history() {
    let posture = Posture::start();
    let client = posture.client("A");
    attest(&posture, &client, "GOV-14", &json!({"evidence": "dms://14"}));
    posture.pass_days(1);
    let mut next = catalog().clone();
    let index = next.find_control("GOV-14").unwrap();
    next.controls[index].formerly.push("GOV-14".to_owned());
    "GOV-99".clone_into(&mut next.controls[index].code);
    next.seal();
    let posture = posture.restart_with(next);
    posture.sweep();
    let all = control_history(&posture, &client, "GOV-99");
    let statuses: Vec<_> = all.iter().map(|it| it["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["compliant"], "{all:?}");
}
