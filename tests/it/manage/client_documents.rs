//! What the report about a client says of accepted risks, of findings without a control, and of frameworks in scope.

use serde_json::json;

use super::documents::{ask, busy, named, texts};
use super::{GOOD, MIXED, import, patched, read, told};
use crate::harness::catalog;

#[test]
fn a_report_says_who_accepted_what_and_what_a_tool_advises() {
    let posture = named("Northwind");
    let client = busy(&posture, "Acme Ltd");
    let scope = json!({"settings": {"frameworks": ["HIPAA"]}});
    patched(&posture, &format!("/api/clients/{client}"), &scope);
    let risks = read(&posture, &format!("/api/clients/{client}/risks?limit=100"));
    let risk = &risks[0];
    let path = format!("/api/clients/{client}/risks/{}", risk["id"].as_str().unwrap());
    let unmapped = "PROVIDER;ACCOUNT_UID;CHECK_ID;CHECK_TITLE;STATUS;SEVERITY;RESOURCE_UID;TIMESTAMP;\
                    REMEDIATION_RECOMMENDATION_TEXT\n\
                    aws;111122223333;of_no_control;The moon is full;FAIL;critical;arn:moon;\
                    2026-03-10 08:00:00;Wait for two weeks.\n";
    let query = "source=astronomer&observedAt=now";
    assert_eq!(posture.import(&client, query, unmapped.as_bytes()).status, 200);
    let until = posture.now().plus_days(30).to_string();
    let body = json!({"accepted": true, "until": until, "reason": "no budget", "by": "Ada"});
    patched(&posture, &path, &body);
    for (language, intro, framework, asked, why) in [
        (
            "en",
            "1 risk is accepted for a time",
            " is in scope. Its readiness is ",
            "Controls that a framework in scope asks for:",
            ["Ada: no budget", "The moon is full\": Wait for two weeks."],
        ),
        (
            "fr",
            "1 risque est accepté pour un temps",
            " est visé. Sa préparation est de ",
            "Contrôles demandés par un référentiel visé",
            ["Ada\u{a0}: no budget", "The moon is full\u{a0}»\u{a0}: Wait for two weeks."],
        ),
    ] {
        let page = ask(&posture, &client, &format!("language={language}")).text();
        let texts = texts(&page);
        let has = |wanted: &str| {
            assert!(texts.iter().any(|it| it.contains(wanted)), "no {wanted:?} in {texts:?}");
        };
        for it in [intro, framework, asked].into_iter().chain(why) {
            has(it);
        }
        assert!(!page.contains("SPRS"), "it is of CMMC");
        // The controls of HIPAA come first.
        let at = |code: &str| texts.iter().rposition(|it| it == code).unwrap();
        let path = format!("/api/clients/{client}/controls?framework=HIPAA");
        let of_framework = read(&posture, &path);
        let last = of_framework.as_array().unwrap().last().unwrap();
        let last = at(last["controlCode"].as_str().unwrap());
        let catalog = catalog();
        let asked: Vec<_> = of_framework.as_array().unwrap().iter().collect();
        let is_other = |code: &str| asked.iter().all(|it| it["controlCode"] != code);
        for control in catalog.controls.iter().filter(|it| is_other(&it.code)) {
            assert!(last < at(&control.code), "{}", control.code);
        }
    }
}

#[test]
fn a_report_lists_decisions_about_single_subjects() {
    let posture = named("Northwind");
    let client = busy(&posture, "Acme Ltd");
    let path = format!("/api/clients/{client}/controls/CLD-03/subjects");
    for body in [
        json!({"decision": "accepted", "ids": ["a", "b", "c", "d", "e"], "reason": "soon", "by": "Ada"}),
        json!({"decision": "intended", "pattern": "breakglass-*", "reason": "kept", "by": "Bob"}),
    ] {
        assert_eq!(posture.operator("POST", &path, &body).status, 201);
    }
    for (language, wanted) in [
        (
            "en",
            [
                "2 decisions count about single subjects of controls.",
                "a, b, c and 2 more",
                "Meant to be so",
            ],
        ),
        (
            "fr",
            ["2 décisions comptent au sujet d’éléments précis", "a, b, c et 2 de plus", "Voulu"],
        ),
    ] {
        let texts = texts(&ask(&posture, &client, &format!("language={language}")).text());
        for it in wanted.into_iter().chain(["breakglass-*"]) {
            assert!(texts.iter().any(|text| text.contains(it)), "no {it:?} in {texts:?}");
        }
    }
}

#[test]
fn a_risk_that_was_fixed_weeks_ago_counts_until_the_quarter_is_over() {
    let posture = named("Northwind");
    let client = posture.client("Acme Ltd");
    import(&posture, &client, "", MIXED);
    posture.pass_s(60);
    import(&posture, &client, "", GOOD);
    let fixed = told(&posture, "risk_item_resolved").len();
    assert!(1 < fixed);
    let says = |wanted: &str| {
        let texts = texts(&ask(&posture, &client, "").text());
        assert!(texts.iter().any(|it| it == wanted), "no {wanted:?} in {texts:?}");
    };
    let pass_weeks = |n: i64| {
        posture.pass_days(7 * n);
        import(&posture, &client, "again=true", GOOD);
    };
    for _ in 0..4 {
        pass_weeks(3);
        says(&format!("{fixed} risks were fixed."));
        says(&format!("{fixed} risks appeared."));
    }
    pass_weeks(1);
    says("No risk was fixed.");
    says("No risk appeared.");
}
