//! Reports about a framework that people read: requirements, the statement of applicability, the SPRS worksheet.

use posture::app::report::question::{QUESTIONS, Question};
use posture::catalog::{PLATFORM_QUESTIONS, ROW_QUESTIONS};
use posture::paper::signature::verify;
use serde_json::{Value, json};

use super::documents::{busy, key, named, texts};
use super::read;
use crate::harness::{Answer, Posture, catalog};

fn of_framework(posture: &Posture, client: &str, id: &str, query: &str) -> Answer {
    let path = format!("/api/clients/{client}/reports/{id}?{query}");
    let answer = posture.operator("GET", &path, &Value::Null);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer
}

fn decide(posture: &Posture, client: &str, row: &str, body: &Value) {
    let path = format!("/api/clients/{client}/compliance/{row}");
    let answer = posture.operator("PUT", &path, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn a_report_about_a_framework_says_of_each_requirement_what_the_api_says() {
    let posture = named("Northwind");
    let client = busy(&posture, "Acme Ltd");
    let out = json!({"decision": "out_of_scope", "reason": "<b>no offices</b>", "by": "Ada"});
    decide(&posture, &client, "SOC2/CC6.4", &out);
    let answer = of_framework(&posture, &client, "soc2", "format=html");
    let name = Some("attachment; filename=\"Acme-Ltd-SOC2-en.html\"");
    assert_eq!(answer.header("content-disposition"), name);
    assert_eq!(verify(&answer.body).unwrap().key, key(&posture));
    let shown = texts(&answer.text());
    let detail = read(&posture, &format!("/api/clients/{client}/compliance/SOC2"));
    let requirements = detail["requirements"].as_array().unwrap();
    assert!(30 < requirements.len());
    for it in requirements {
        let reference = it["requirement"].as_str().unwrap();
        let at = shown.iter().position(|it| it == reference).unwrap();
        assert_eq!(shown[at + 1], it["title"].as_str().unwrap());
        for because in it["because"].as_array().unwrap() {
            let because = because.as_str().unwrap().replace("non_compliant", "not compliant");
            let because = because.replace(": partial,", ": partly met,");
            let asked =
                |it: &&Question| because.starts_with(&format!("{}: used or not? ", it.name));
            let because = match QUESTIONS.iter().find(asked) {
                Some(it) => because.replacen(it.name, it.english, 1),
                None => because,
            };
            assert!(shown[at + 4].contains(&because), "{}", shown[at + 4]);
        }
        let score = match it["overallStatus"].as_str().unwrap() {
            "not_assessed" | "not_applicable" => "–".to_owned(),
            _ => it["complianceScore"].to_string(),
        };
        assert_eq!(shown[at + 3], score, "{reference}");
    }
    assert!(shown.iter().any(|it| it == "Last reported"), "where it comes from");
    let out = "Out of scope, says Ada on March 13, 2026: <b>no offices</b>";
    assert!(shown.iter().any(|it| it == out), "{shown:?}");
    let french = of_framework(&posture, &client, "soc2", "format=html&language=fr").text();
    for wanted in
        ["Hors de portée, selon Ada le 13 mars 2026", "non conforme, pointage de ", "non évalué"]
    {
        assert!(french.contains(wanted), "{wanted}");
    }
    for left in
        ["not assessed", "used or not", "a person must", "score 0", "Because", "Requirement"]
    {
        assert!(!french.contains(left), "{left}");
    }
    let pdf = of_framework(&posture, &client, "soc2", "format=pdf&language=fr").body;
    assert!(verify(&pdf).is_ok() && pdf.starts_with(b"%PDF-1.7"));
}

#[test]
fn iso_27001_gets_its_statement_of_applicability() {
    let posture = named("Northwind");
    let client = busy(&posture, "Acme");
    let out = json!({"decision": "out_of_scope", "reason": "no development", "by": "Ada"});
    decide(&posture, &client, "ISO_27001/A.8.28", &out);
    let page = of_framework(&posture, &client, "ISO_27001", "format=html").text();
    assert!(page.contains("<h1>Statement of applicability</h1>"));
    let shown = texts(&page);
    let at = |reference: &str| shown.iter().position(|it| it == reference).unwrap();
    let excluded = at("A.8.28");
    assert_eq!(shown[excluded + 2], "No");
    assert_eq!(shown[excluded + 3], "Out of scope, says Ada on March 13, 2026: no development");
    assert_eq!(shown[excluded + 4], "Not applicable");
    let included = at("A.5.1");
    assert_eq!(shown[included + 2], "Yes");
    assert!(shown[included + 3].starts_with("Applies by default: nobody decided otherwise. GOV-"));
    let iso = catalog().frameworks.iter().find(|it| it.id.as_str() == "ISO_27001").unwrap();
    assert_eq!(iso.rows.iter().filter(|it| shown.contains(&it.reference)).count(), 93);
    let french = of_framework(&posture, &client, "ISO_27001", "format=html&language=fr").text();
    assert!(french.contains("<h1>Déclaration d’applicabilité</h1>"));
}

#[test]
fn the_points_of_the_sprs_worksheet_add_up() {
    let posture = named("Northwind");
    let client = posture.client("Acme");
    let sheet = |posture: &Posture| {
        let page = of_framework(posture, &client, "CMMC_L2", "format=html").text();
        let sheet = page.split_once("SPRS worksheet</h2>").unwrap().1.to_owned();
        texts(&format!("<body>{sheet}"))
    };
    let lost = |shown: &[String]| {
        let rows = shown.iter().enumerate().filter(|(_, it)| it.contains(".L2-3."));
        let rows: Vec<usize> =
            rows.map(|it| it.0).filter(|at| shown[at + 2] != "Practice").collect();
        let rows = rows
            .into_iter()
            .filter(|at| shown.get(at + 4).is_some_and(|it| it.parse::<u32>().is_ok()));
        rows.map(|at| shown[at + 4].parse::<u32>().unwrap()).sum::<u32>()
    };
    let shown = sheet(&posture);
    assert_eq!(lost(&shown), 313, "nothing is assessed");
    assert!(shown[0].starts_with("313 points are lost. There is no SPRS score"), "{}", shown[0]);
    let path = format!("/api/clients/{client}/controls/GOV-16");
    let body = json!({"status": "compliant", "reason": "seen", "by": "Ada", "evidence": "plan"});
    assert_eq!(posture.operator("PUT", &path, &body).status, 200);
    let sprs = read(&posture, &format!("/api/clients/{client}/posture"))["sprs"].as_i64().unwrap();
    let shown = sheet(&posture);
    assert!(shown[0].ends_with(&format!("make the SPRS score: {sprs}.")), "{}", shown[0]);
    assert_eq!(110 - i64::from(lost(&shown)), sprs);
}

#[test]
fn a_report_has_words_for_each_question_of_the_catalog() {
    let mut named = QUESTIONS.each_ref().map(|it| it.name);
    let mut asked = [&PLATFORM_QUESTIONS[..], &ROW_QUESTIONS[..]].concat();
    named.sort_unstable();
    asked.sort_unstable();
    assert_eq!(named[..], asked);
}
