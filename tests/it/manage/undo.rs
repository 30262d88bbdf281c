//! What is undone is as if it had never been said or seen, for everybody who reads.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::controls::try_attest;
use super::{GOOD, MIXED, prowler, read};
use crate::harness::Posture;
use crate::harness::backend::Random;
use crate::harness::long::is_long;

const CODES: [&str; 5] = ["ID-01", "DAT-01", "CLD-02", "GOV-02", "GOV-14"];
const ROWS: [&str; 3] = ["HIPAA/164.308(a)(2)", "SOC2/CC6.1", "CMMC_L2/AC.L2-3.1.1"];
const SOURCES: [&str; 2] = ["rmm", "idp"];
const SCOPES: [&str; 2] = ["main", "branch"];

/// Something that is entered, and can be undone.
#[derive(Clone, Debug)]
enum Entry {
    Facts(Value),
    /// Of Prowler: whether all is well.
    File(bool),
    Attest(&'static str, Value),
    Decide(&'static str, Value),
    /// Whether the client uses AWS.
    Answer(&'static str),
    /// The first open risk.
    Accept,
}

/// How an entry is undone.
enum Trace {
    Import(String),
    Statement(u64),
    /// Nothing was recorded, because it says what was so before.
    Nothing,
}

/// What a tool pushes.
fn facts(random: &mut Random) -> Value {
    let mut observations = Vec::new();
    for code in &CODES[..3] {
        if random.below(2) == 0 {
            let status = random.pick(&["compliant", "partial", "non_compliant"]);
            observations.push(json!({"control": code, "status": status}));
        }
    }
    let mut body = json!({
        "source": random.pick(&SOURCES), "scope": random.pick(&SCOPES),
        "complete": random.below(3) == 0, "observations": observations,
    });
    if random.below(2) == 0 {
        let mut accounts = Vec::new();
        for n in 0..=random.below(3) {
            let (mfa, admin) = (random.below(2) == 0, random.below(2) == 0);
            let user = format!("user-{}-{n}", random.below(2));
            accounts.push(json!({"user": user, "mfa": mfa, "admin": admin, "enabled": true}));
        }
        body["identities"] = json!(accounts);
    }
    if random.below(3) == 0 {
        let app = random.pick(&["Dropbox", "Slack"]);
        body["apps"] = json!([{"name": app, "users": random.below(9)}]);
    }
    body
}

fn entry(random: &mut Random) -> Entry {
    match random.below(8) {
        0 | 1 => Entry::Facts(facts(random)),
        2 => Entry::File(random.below(2) == 0),
        3 => {
            let usage = random.pick(&["out_of_scope", "attested"]);
            let body = json!({"decision": usage, "reason": "So it is", "by": "Ada",
                "evidence": "dms://9"});
            let body = if usage == "attested" { body } else { without(body, "evidence") };
            Entry::Decide(random.pick(&ROWS), body)
        }
        4 => Entry::Answer(random.pick(&["used", "unused"])),
        5 => Entry::Accept,
        _ => {
            let status = random.pick(&["compliant", "non_compliant", "not_applicable"]);
            let body = json!({"status": status, "reason": "seen", "by": "Ada"});
            Entry::Attest(random.pick(&CODES), body)
        }
    }
}

fn without(mut body: Value, name: &str) -> Value {
    body.as_object_mut().unwrap().remove(name);
    body
}

/// How many statements there are.
fn n_statements(posture: &Posture, client: &str) -> u64 {
    let newest = read(posture, &format!("/api/clients/{client}/statements?limit=1"));
    newest[0]["number"].as_u64().unwrap_or(0)
}

fn enter(posture: &Posture, client: &str, entry: &Entry) -> Trace {
    let n_before = n_statements(posture, client);
    let answer = match entry {
        Entry::Facts(body) => {
            posture.operator("POST", &format!("/api/clients/{client}/facts"), body)
        }
        Entry::File(is_well) => {
            let file = prowler(if *is_well { GOOD } else { MIXED });
            posture.import(client, "observedAt=now&again=true", &file)
        }
        Entry::Attest(code, body) => try_attest(posture, client, code, body),
        Entry::Decide(row, body) => {
            posture.operator("PUT", &format!("/api/clients/{client}/compliance/{row}"), body)
        }
        Entry::Answer(usage) => {
            let body = json!({"settings": {"profile": {"aws": usage}}});
            posture.operator("PATCH", &format!("/api/clients/{client}"), &body)
        }
        Entry::Accept => {
            let risks = read(posture, &format!("/api/clients/{client}/risks"));
            let Some(risk) = first_by_title(&risks) else { return Trace::Nothing };
            let path = format!("/api/clients/{client}/risks/{risk}");
            let until = super::controls::in_days(posture, 90);
            let body = json!({"accepted": true, "reason": "Known", "by": "Ada", "until": until});
            posture.operator("PATCH", &path, &body)
        }
    };
    assert_eq!(answer.status / 100, 2, "{entry:?}: {}", answer.text());
    match entry {
        Entry::Facts(_) => {
            Trace::Import(answer.json()["data"]["importId"].as_str().unwrap().to_owned())
        }
        Entry::File(..) => {
            Trace::Import(answer.json()["data"]["import"]["id"].as_str().unwrap().to_owned())
        }
        Entry::Attest(..) | Entry::Decide(..) | Entry::Answer(_) | Entry::Accept => {
            let n = n_statements(posture, client);
            if n == n_before { Trace::Nothing } else { Trace::Statement(n) }
        }
    }
}

fn first_by_title(risks: &Value) -> Option<String> {
    let all = risks.as_array().unwrap().iter();
    let first = all.min_by_key(|it| it["title"].to_string())?;
    Some(first["id"].as_str().unwrap().to_owned())
}

fn undo(posture: &Posture, client: &str, trace: &Trace) {
    match trace {
        Trace::Import(id) => super::undo(posture, client, id),
        Trace::Nothing => {}
        Trace::Statement(number) => {
            let path = format!("/api/clients/{client}/statements/{number}/undo");
            let answer = posture.operator("POST", &path, &json!({"reason": "a mistake"}));
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    }
}

/// Everything that people and programs read of a client, without names that are made at random and without the trace.
pub(super) fn shown(posture: &Posture, key: &str, client: &str) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let rows = ROWS.map(|it| format!("compliance/{it}"));
    let managed = ["controls", "compliance", "observations", "accounts", "risks", "evidence"];
    for it in managed.iter().map(|it| (*it).to_owned()).chain(rows) {
        all.insert(it.clone(), read(posture, &format!("/api/clients/{client}/{it}")));
    }
    let summary = without(read(posture, &format!("/api/clients/{client}/posture")), "moves");
    all.insert("posture".to_owned(), summary);
    for it in ["scores", "risks", "compliance", "compliance/SOC2", "compliance/CMMC_L2"] {
        let answer = posture.get(key, &format!("/clients/{client}/{it}"));
        all.insert(format!("v1/{it}"), answer.json());
    }
    for it in all.values_mut() {
        forget_ids(it);
    }
    all
}

/// Ids are made at random.
fn forget_ids(value: &mut Value) {
    match value {
        Value::String(text) if text.parse::<uuid::Uuid>().is_ok() => "an id".clone_into(text),
        Value::Array(all) => all.iter_mut().for_each(forget_ids),
        Value::Object(all) => all.values_mut().for_each(forget_ids),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Where one is not as the other.
pub(super) fn differences(
    with: &BTreeMap<String, Value>,
    without: &BTreeMap<String, Value>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (name, it) in with {
        diff(it, &without[name], name, &mut found);
    }
    found
}

fn diff(a: &Value, b: &Value, path: &str, found: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let names: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
            // When it was calculated last, what the score was on the days before, and how often a risk was announced, is so
            // whatever is undone since.
            let trace = ["calculatedAt", "history", "occurrence"];
            let is_told = |it: &&String| !trace.contains(&it.as_str());
            for name in names.into_iter().filter(is_told) {
                let null = Value::Null;
                let (x, y) = (x.get(name).unwrap_or(&null), y.get(name).unwrap_or(&null));
                diff(x, y, &format!("{path}.{name}"), found);
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            // Risks of the same score come in the order of their ids.
            let (mut x, mut y) = (x.clone(), y.clone());
            for all in [&mut x, &mut y] {
                all.sort_by_key(|it| it["title"].to_string() + &it["user"].to_string());
            }
            for (n, (x, y)) in x.into_iter().zip(y).enumerate() {
                diff(&x, &y, &format!("{path}[{n}]"), found);
            }
        }
        _ if a == b => {}
        _ => found.push(format!("{path}: {a} in place of {b}")),
    }
}

#[test]
fn what_is_undone_is_as_if_it_had_never_been() {
    let n = if is_long() { 300 } else { 20 };
    let mut wrong = Vec::new();
    let (mut posture, mut key) = (Posture::start(), String::new());
    for seed in 1..=n {
        if seed % 20 == 1 {
            posture = Posture::start();
            key = posture.key();
        }
        let mut random = Random::from_seed(seed);
        let clients =
            [posture.client(&format!("With {seed}")), posture.client(&format!("Without {seed}"))];
        let n_before = random.below(4);
        let story: Vec<Entry> = (0..=n_before).map(|_| entry(&mut random)).collect();
        let (mistake, before) = story.split_last().unwrap();
        for it in before {
            for client in &clients {
                enter(&posture, client, it);
            }
            posture.pass_s(3_600);
        }
        let trace = enter(&posture, &clients[0], mistake);
        posture.pass_s(3_600);
        undo(&posture, &clients[0], &trace);
        posture.sweep();
        let (with, without) =
            (shown(&posture, &key, &clients[0]), shown(&posture, &key, &clients[1]));
        let found = differences(&with, &without);
        if !found.is_empty() {
            wrong.push(format!(
                "seed {seed}: {mistake:?} after {before:?}\n  {}",
                found.join("\n  ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {n}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_new_source_has_the_name_of_another_cause() {
    let posture = Posture::start();
    let client = posture.client("A");
    for name in ["undo", "lapse", "first_look", "upgrade"] {
        let body = json!({"source": name, "scope": "all", "observations": []});
        let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        let (field, rule) = super::refused_field(&answer);
        assert_eq!(field, "source");
        assert!(rule.contains(name) && rule.contains("why something changed"), "{rule}");
        let file = posture.import(&client, &format!("source={name}"), &prowler(GOOD));
        assert_eq!(super::refused_field(&file).0, "source");
    }
    // One that an earlier release let in.
    let id = client.parse::<posture::id::ClientId>().unwrap();
    let now = posture.now();
    let posture = posture.restart_after(
        |dir| {
            let source = posture::store::per_client::import::SourceScope {
                source: "undo".to_owned(),
                scope: "all".to_owned(),
                first_seen_at: now,
                last_seen_at: now,
                last_complete_at: None,
            };
            let rows = crate::harness::open_store(dir, now).client_store(id);
            rows.write_now(move |batch| batch.put_source(&source)).unwrap();
        },
        |_| (),
    );
    let seen = json!([{"control": "ID-01", "status": "compliant"}]);
    let body = json!({"source": "undo", "scope": "all", "observations": seen});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let history = read(&posture, &format!("/api/clients/{client}/controls/ID-01/history"));
    assert_eq!(history[0]["cause"], "source:undo", "{history}");
}

#[test]
fn what_newer_runs_took_the_place_of_weeks_ago_counts_again() {
    let posture = Posture::start();
    let client = posture.client("A");
    let path = format!("/api/clients/{client}/facts");
    let status = |night: usize| ["compliant", "compliant", "non_compliant"][night % 3];
    let mut imports = Vec::new();
    for night in 0..30 {
        let seen = json!([{"control": "DAT-01", "status": status(night)}]);
        let body = json!({"source": "rmm", "scope": "all", "observations": seen});
        let answer = posture.operator("POST", &path, &body);
        imports.push(answer.json()["data"]["importId"].as_str().unwrap().to_owned());
        posture.pass_days(1);
    }
    let shown = || super::controls::control(&posture, &client, "DAT-01")["status"].clone();
    super::undo(&posture, &client, &imports.remove(3));
    assert_eq!(shown(), status(29), "an old one");
    let nights: Vec<usize> = (0..30).filter(|it| *it != 3).collect();
    for (night, import) in nights.iter().zip(&imports).rev() {
        assert_eq!(shown(), status(*night), "{night}");
        super::undo(&posture, &client, import);
        posture.pass_s(60);
    }
    assert_eq!(shown(), "not_assessed");
    let id = client.parse::<posture::id::ClientId>().unwrap();
    let now = posture.now();
    posture.restart_after(
        |dir| {
            let rows = crate::harness::open_store(dir, now).client_store(id);
            assert_eq!(rows.snapshot().unwrap().list_all_observations().unwrap(), []);
        },
        |_| (),
    );
}

#[test]
fn a_large_run_brings_back_what_it_took_the_place_of_weeks_ago() {
    const N: usize = 2_100; // More than one commit takes.
    let posture = Posture::start();
    let client = posture.client("A");
    let path = format!("/api/clients/{client}/facts");
    let push = |status: &str| {
        let seen =
            |n: usize| json!({"control": "DAT-01", "check": format!("c{n}"), "status": status});
        let seen: Vec<Value> = (0..N).map(seen).collect();
        let body = json!({"source": "rmm", "scope": "all", "observations": seen});
        let answer = posture.operator("POST", &path, &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"]["importId"].as_str().unwrap().to_owned()
    };
    push("compliant");
    let mistakes: Vec<String> = (0..9)
        .map(|_| {
            posture.pass_days(1);
            push("non_compliant")
        })
        .collect();
    posture.pass_days(1); // All but the newest are folded.
    let shown = || super::controls::control(&posture, &client, "DAT-01")["status"].clone();
    for import in mistakes.iter().rev() {
        assert_eq!(shown(), "non_compliant");
        super::undo(&posture, &client, import);
        posture.pass_days(1); // It is assessed again.
    }
    assert_eq!(shown(), "compliant");
    let all = read(&posture, &format!("/api/clients/{client}/observations?limit=1000"));
    let all = all.as_array().unwrap();
    assert!(all.len() == 1_000 && all.iter().all(|it| it["status"] == "compliant"), "{all:?}");
}

/// The only open risk of a client.
fn risk(posture: &Posture, client: &str) -> Value {
    let mut all = read(posture, &format!("/api/clients/{client}/risks"));
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    all[0].take()
}

/// Pushes what a source says of DAT-01 in an hour. Returns the import.
fn push(posture: &Posture, client: &str, source: &str, status: &str) -> String {
    posture.pass_s(3_600);
    let seen = json!([{"control": "DAT-01", "status": status}]);
    let body = json!({"source": source, "scope": "all", "observations": seen});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    answer.json()["data"]["importId"].as_str().unwrap().to_owned()
}

#[test]
fn an_acceptance_that_a_mistake_exceeded_counts_again() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, "rmm", "partial");
    enter(&posture, &client, &Entry::Accept);
    let accepted = risk(&posture, &client);
    let mistake = push(&posture, &client, "idp", "non_compliant");
    let exceeded = risk(&posture, &client);
    assert_eq!((&exceeded["acceptance"], &exceeded["occurrence"]), (&Value::Null, &json!(2)));
    assert_eq!(exceeded["exceededAcceptance"], accepted["acceptance"]);
    super::undo(&posture, &client, &mistake);
    let restored = risk(&posture, &client);
    assert_eq!(restored["acceptance"], accepted["acceptance"]);
    let resolved = super::told(&posture, "risk_item_resolved").pop().unwrap();
    assert_eq!(resolved["object"]["resolution"], "accepted");
    // What was accepted in place of it was a mistake: as much is covered as before.
    push(&posture, &client, "idp", "non_compliant");
    let second = enter(&posture, &client, &Entry::Accept);
    assert!(!risk(&posture, &client)["acceptance"].is_null());
    undo(&posture, &client, &second);
    let shown = risk(&posture, &client);
    assert_eq!(shown["acceptance"], Value::Null, "it is worse than what was accepted first");
    assert_eq!(shown["exceededAcceptance"], accepted["acceptance"]);
}

#[test]
fn a_risk_that_a_mistake_closed_weeks_ago_is_the_same_risk() {
    let posture = Posture::start();
    let client = posture.client("A");
    push(&posture, &client, "rmm", "partial");
    enter(&posture, &client, &Entry::Accept);
    let before = risk(&posture, &client);
    let mistake = push(&posture, &client, "rmm", "compliant");
    assert_eq!(read(&posture, &format!("/api/clients/{client}/risks")), json!([]));
    posture.pass_days(20);
    super::undo(&posture, &client, &mistake);
    assert_eq!(risk(&posture, &client), before);
}
