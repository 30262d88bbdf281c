//! Five plain clients, with all things truly fine: what their connections show, and what is left for people to say.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::controls::{attest, controls};
use super::{import, patched};
use crate::harness::{Posture, catalog};

/// What each source speaks of, beside what follows from its list of accounts.
const SOURCES: [(&str, &str); 9] = [
    (
        "m365",
        "APP-01 APP-02 APP-03 APP-04 DAT-04 EML-04 EML-05 EML-07 END-02 END-03 END-04 END-09 END-11 ID-01 ID-04 ID-05 ID-06 \
         ID-07 ID-08 ID-09 ID-13 ID-14 ID-15 ID-16 ID-17 ID-18 ID-19 ID-39 LOG-01 LOG-03",
    ),
    (
        "google",
        "APP-01 APP-02 APP-03 DAT-04 DAT-05 EML-04 EML-05 ID-01 ID-04 ID-05 ID-06 ID-07 ID-08 ID-14 ID-15 ID-22 LOG-01",
    ),
    ("aws", "CLD-01 CLD-02 CLD-03 CLD-04 CLD-05 CLD-06 CLD-07 CLD-10 CLD-12 CLD-24 CLD-25"),
    ("ad", "ID-07 ID-15 ID-25 ID-28 ID-35"),
    ("dns", "EML-01 EML-02 EML-03"),
    ("ninjaone", "DAT-01 END-02 END-04 END-05 END-06 END-07 END-08 END-09 END-10 ID-21"),
    ("datto", "END-02 END-05 END-07 END-09 END-10"),
    ("scan", "NET-01 NET-02 NET-03"),
    ("github", "DEV-02 DEV-03 DEV-05 DEV-07 DEV-08"),
];
/// What sources that are no connections show of controls with several facets.
const SHOWN: [(&str, &[&str]); 4] = [
    ("NET-01", &["lan"]),
    ("NET-03", &["lifetime", "tls"]),
    ("DEV-02", &["gate", "attacks"]),
    ("DEV-05", &["monitored", "updated"]),
];
const CLIENTS: [(&str, &[&str]); 5] = [
    ("dentist", &["m365", "ninjaone", "dns"]),
    ("law firm", &["google", "datto", "dns"]),
    ("machine shop", &["ad", "m365", "dns", "scan"]),
    ("start-up", &["aws", "prowler", "github"]),
    ("school", &["google", "m365", "ad", "ninjaone", "dns"]),
];
/// The checks of Prowler 5.46 that look at AWS.
const AWS_CHECKS: &str = include_str!("../../data/prowler/checks_aws.txt");
/// A client answers at most so many questions.
const N_ANSWERS_MAX: usize = 10;

/// What a source says of a control, all of it fine: once for each facet that it shows.
fn fine(source: &str, code: &str) -> Vec<Value> {
    let catalog = catalog();
    let index = catalog.find_control(code).unwrap();
    let facets = &catalog.controls[index].facets;
    let sources = &catalog.shown_by_sources;
    let is_mapped = matches!(source, "ninjaone" | "datto");
    let listed = sources.get(if is_mapped { "mapping" } else { source });
    let listed = listed.and_then(|it| it.get(&index));
    let named = SHOWN.iter().find(|it| it.0 == code && listed.is_none()).map(|it| it.1.to_vec());
    let shown = listed.filter(|_| is_mapped);
    let mapped = shown.map(|it| it.iter().map(|it| facets[it].name.as_str()).collect::<Vec<_>>());
    let of = |facet: &str| json!({"control": code, "check": facet, "facet": facet, "status": "compliant"});
    match named.or(mapped) {
        Some(facets) => facets.into_iter().map(of).collect(),
        None => vec![
            json!({"control": code, "check": "as the connection calls it", "status": "compliant"}),
        ],
    }
}

fn accounts() -> Value {
    let account = |it: u32| {
        json!({
            "user": format!("user{it}"), "admin": it < 2, "enabled": true, "userType": "member", "mfa": true, "mfaEnforced": true,
            "lastSignIn": "2026-03-09T00:00:00Z", "createdAt": "2020-01-01T00:00:00Z",
        })
    };
    (0..10).map(account).collect()
}

/// Has a source say that all is fine.
fn look(posture: &Posture, client: &str, source: &str) {
    if source == "prowler" {
        let passing = AWS_CHECKS.lines().map(|it| (it, "PASS", "high", "everything"));
        import(posture, client, "", &passing.collect::<Vec<_>>());
        return;
    }
    let (_, codes) = SOURCES.iter().find(|it| it.0 == source).unwrap();
    let observations: Vec<Value> =
        codes.split_whitespace().flat_map(|code| fine(source, code)).collect();
    let scope = if source == "aws" { "aws/111122223333" } else { "all" };
    let mut body =
        json!({"source": source, "scope": scope, "complete": true, "observations": observations});
    if matches!(source, "m365" | "google" | "ad") {
        body["identities"] = accounts();
    }
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{source}: {}", answer.text());
}

/// Status and why of each control of which enough was seen to say something.
fn seen(posture: &Posture, client: &str) -> BTreeMap<String, (String, Value)> {
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let all = controls(posture, client).into_iter().filter(|it| !it["findings"].is_null());
    let all =
        all.filter(|it| !matches!(it["status"].as_str(), Some("not_applicable" | "not_assessed")));
    all.map(|it| (text(&it["controlCode"]), (text(&it["status"]), it["findings"].clone())))
        .collect()
}

fn line(posture: &Posture, (name, sources): (&str, &[&str])) -> String {
    let client = posture.client(name);
    let profile: BTreeMap<&str, &str> = sources
        .iter()
        .filter(|it| matches!(**it, "m365" | "google" | "aws"))
        .map(|it| (*it, "used"))
        .collect();
    patched(posture, &format!("/api/clients/{client}"), &json!({"settings": {"profile": profile}}));
    for source in sources {
        look(posture, &client, source);
        posture.pass_s(60);
    }
    let said = json!({"all": true, "reason": "Confirmed", "by": "Ada"});
    let answer =
        posture.operator("PUT", &format!("/api/clients/{client}/estate/cloud_accounts"), &said);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let before = seen(posture, &client);
    let is_met = |it: &&(String, Value)| it.0 == "compliant";
    let n_met = before.values().filter(is_met).count();
    let left: Vec<&str> =
        before.iter().filter(|it| it.1.0 != "compliant").map(|it| it.0.as_str()).collect();
    for code in &left {
        let (status, why) = &before[*code];
        assert_eq!(status, "partial", "{name}: {code} {why}");
    }
    let risks = super::read(posture, &format!("/api/clients/{client}/risks"));
    assert_eq!(risks, json!([]), "{name}: nothing is wrong");
    for code in left.iter().take(N_ANSWERS_MAX) {
        let body = json!({"status": "compliant", "evidence": "Screenshot", "reason": "Looked at", "by": "Ada"});
        attest(posture, &client, code, &body);
    }
    let after = seen(posture, &client);
    let n_after = after.values().filter(is_met).count();
    assert_eq!((after.len(), n_after), (before.len(), before.len()), "{name}: {left:?}");
    let mut line = String::new();
    let _ = write!(line, "| {name} | {} | {n_met} | {} |", before.len(), left.join(", "));
    line
}

#[test]
fn the_guide_says_what_five_plain_clients_come_to() {
    let posture = Posture::start();
    let lines: Vec<String> = CLIENTS.iter().map(|it| line(&posture, *it)).collect();
    let table = lines.join("\n");
    let guide = include_str!("../../../assets/docs/assessment.md");
    assert!(guide.contains(&table), "{table}");
}
