//! The report on all clients that people read.

use std::collections::BTreeSet;

use posture::paper::signature::verify;
use serde_json::{Value, json};

use super::documents::{busy, key, named, texts};
use super::{GOOD, import, read};
use crate::harness::{Answer, Posture, catalog};

fn ask(posture: &Posture, query: &str) -> Answer {
    let answer = posture.operator("GET", &format!("/api/portfolio/report?{query}"), &Value::Null);
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer
}

/// A busy client, a better one that was there at the start of the quarter, and one without a score.
fn filled(name: &str) -> Posture {
    let posture = named(name);
    let good = posture.client("Bonté SA");
    import(&posture, &good, "", GOOD);
    posture.pass_days(92);
    posture.sweep();
    import(&posture, &good, "again=true", GOOD);
    busy(&posture, "Acme Ltd");
    posture.client("Zenith");
    posture
}

#[test]
fn the_report_on_all_clients_says_what_the_api_says() {
    let posture = filled("Northwind");
    let answer = ask(&posture, "format=html");
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let name = Some("attachment; filename=\"portfolio-en.html\"");
    assert_eq!(answer.header("content-disposition"), name);
    let signature = verify(&answer.body).unwrap();
    assert_eq!((&*signature.by, signature.key), ("Northwind", key(&posture)));
    let page = answer.text();
    assert!(page.contains("<h1>Portfolio report</h1>\n<p class=\"subject\">3 clients</p>"));
    let shown = texts(&page);
    let scores = read(&posture, "/api/portfolio/scores");
    let scores = scores.as_array().unwrap();
    let at = shown.iter().position(|it| it == "All clients").unwrap();
    for it in scores {
        let name = it["clientName"].as_str().unwrap();
        let row = at + shown[at..].iter().position(|it| it == name).unwrap();
        let score = match it["score"]["overallScore"].as_u64() {
            None => "–".to_owned(),
            Some(score) => {
                let mark = if it["provisional"] == true { "*" } else { "" };
                format!("{score}\u{a0}{}{mark}", it["score"]["grade"].as_str().unwrap())
            }
        };
        assert_eq!(shown[row + 1], score, "{name}");
        assert_eq!(shown[row + 3], format!("{}%", it["coverage"]), "{name}");
        assert_eq!(shown[row + 4], it["risks"]["critical"].to_string(), "{name}");
        let frameworks = it["frameworks"].as_array().unwrap().iter();
        let in_scope = frameworks.filter(|it| it["inScope"] == true);
        let least = in_scope.map(|it| it["readinessScore"].as_u64().unwrap()).min().unwrap();
        assert!(shown[row + 5].ends_with(&format!(" · {least}/100")), "{}", shown[row + 5]);
        let attention = it["attention"].as_array().unwrap();
        let attention: Vec<_> = attention.iter().map(|it| it.as_str().unwrap()).collect();
        if !attention.is_empty() {
            let why = attention.join(", ");
            assert!(shown.windows(2).any(|it| it[0] == name && it[1] == why), "{name}: {why}");
        }
    }
    let order = ["Acme Ltd", "Bonté SA", "Zenith"]
        .map(|name| shown[at..].iter().position(|it| it == name).unwrap());
    assert!(order.is_sorted(), "lowest score first, without one last");
    let good = at + order[1];
    assert_eq!(shown[good + 2], "0", "it was as good at the start of the quarter");
    assert_eq!(shown[at + order[0] + 2], "–", "there was none");
    assert!(page.contains("First score since then: 1 client."));
    assert!(page.contains("Bring in first facts about 1 client without a score."));
    assert!(verify(&ask(&posture, "format=pdf").body).is_ok());
}

#[test]
fn nothing_of_the_french_report_on_all_clients_is_left_in_english() {
    for posture in [filled("Northwind"), named("Northwind")] {
        let [english, french] = ["en", "fr"]
            .map(|it| texts(&ask(&posture, &format!("format=html&language={it}")).text()));
        let english: BTreeSet<&String> = english.iter().collect();
        let names =
            ["Northwind", "Acme Ltd", "Bonté SA", "Zenith", "Client", "Clients", "Signature"];
        let is_same = |it: &str| {
            names.contains(&it)
                || it.ends_with(" clients")
                || it.ends_with(" client")
                || catalog().frameworks.iter().any(|known| it.starts_with(&known.name))
                || !it.contains(char::is_alphabetic)
                || it.chars().filter(|it| it.is_alphabetic()).count() == 1
        };
        let left: Vec<_> =
            french.iter().filter(|it| english.contains(it) && !is_same(it)).collect();
        assert!(left.is_empty(), "{left:?}");
        for it in &french {
            for word in [" the ", " is ", " are ", " of ", " and "] {
                assert!(!it.contains(word), "{it}");
            }
        }
    }
}

#[test]
fn a_caller_gets_a_report_on_the_own_clients_alone() {
    let posture = filled("Northwind");
    let acme = read(&posture, "/api/clients?name=Acme%20Ltd")[0]["id"].clone();
    let key = posture.key_with(&json!({"clientIds": [acme]}));
    let page = posture.fetch(&key, "/api/portfolio/report?format=html").text();
    assert!(page.contains("<p class=\"subject\">1 client</p>") && page.contains("Acme Ltd"));
    assert!(!page.contains("Bonté") && !page.contains("Zenith"));
}
