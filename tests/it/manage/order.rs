//! The laws of facts, over runs in any order: what counts depends on what was seen and when, and not on when it arrived.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{TestCaseResult, TestRunner};
use serde_json::{Value, json};

use super::controls::control;
use super::{read, undo};
use crate::harness::Posture;
use crate::harness::long::is_long;

/// What runs report on.
const CODE: &str = "ID-05";
/// And what lists of accounts show something about.
const CODES: [&str; 4] = [CODE, "ID-02", "ID-03", "ID-10"];

/// One run of the only source. A minute has at most one run.
#[derive(Clone, Debug)]
struct Run {
    complete: bool,
    observations: Vec<Value>,
    /// Some runs list no accounts.
    identities: Option<Vec<Value>>,
}

fn any_result() -> impl Strategy<Value = Value> {
    let statuses = vec!["compliant", "partial", "non_compliant"];
    prop_oneof![
        2 => select(statuses).prop_map(|it| json!({"status": it})),
        2 => (0..3u32, 0..3u32).prop_map(|(passed, failed)| json!({"passed": passed, "failed": failed})),
        1 => (1..3u32, 0..4u32).prop_map(|(n, more)| json!({"passed": n, "failed": 0, "of": n + more})),
        2 => vec(select(vec!["passed", "failed", ""]), 2).prop_map(|all| subjects(&all)),
        1 => Just(Value::Null),
    ]
}

/// Empty: it is not looked at.
fn subjects(outcomes: &[&str]) -> Value {
    let all = ["one", "two"].into_iter().zip(outcomes).filter(|it| !it.1.is_empty());
    let all: Value = all.map(|(id, it)| json!({"id": id, "outcome": it})).collect();
    json!({ "subjects": all })
}

/// Null: the account is not listed.
fn any_account() -> impl Strategy<Value = Value> {
    let some = (any::<bool>(), prop::option::of(any::<bool>()), prop::bool::weighted(0.8));
    let some = some
        .prop_map(|(admin, mfa, enabled)| json!({"admin": admin, "mfa": mfa, "enabled": enabled}));
    prop_oneof![4 => some, 1 => Just(Value::Null)]
}

fn any_run() -> impl Strategy<Value = Run> {
    let identities = prop::option::of(vec(any_account(), 2));
    (any::<bool>(), vec(any_result(), 3), identities).prop_map(|(complete, results, identities)| {
        let named = ["a", "b", "c"].into_iter().zip(results);
        let seen = named.filter(|(_, it)| !it.is_null()).map(|(check, mut it)| {
            it["control"] = json!(CODE);
            it["check"] = json!(check);
            it
        });
        let identities = identities.map(|all| {
            let named = ["ann", "bob"].into_iter().zip(all);
            let listed = named.filter(|(_, it)| !it.is_null()).map(|(user, mut it)| {
                it["user"] = json!(user);
                it
            });
            listed.collect()
        });
        Run { complete, observations: seen.collect(), identities }
    })
}

/// Runs by minute, and the order in which they arrive.
fn any_story() -> impl Strategy<Value = (Vec<Run>, Vec<usize>)> {
    vec(any_run(), 1..6).prop_flat_map(|runs| {
        let order: Vec<usize> = (0..runs.len()).collect();
        (Just(runs), Just(order).prop_shuffle())
    })
}

/// Returns the id of the import.
fn push(posture: &Posture, client: &str, minute: usize, run: &Run) -> String {
    let at = posture.now().plus_s(60 * i64::try_from(minute).unwrap() - 3_600);
    let body = json!({
        "source": "s", "scope": "x", "observedAt": at.to_string(), "complete": run.complete,
        "observations": run.observations, "identities": run.identities,
    });
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"]["importId"].as_str().unwrap().to_owned()
}

/// What stands of a client: controls, risks, scores, and administrators without a second factor.
fn standing(posture: &Posture, client: &str) -> String {
    let all = CODES.map(|code| control(posture, client, code));
    let mut it = json!({"controls": all});
    let open = read(posture, &format!("/api/conditions?clientId={client}&limit=100"));
    let missing = open.as_array().unwrap().iter().filter(|it| it["type"] == "admin_mfa_missing");
    it["missing"] = missing.map(|it| it["object"]["user"].clone()).collect();
    let shown = read(posture, &format!("/api/clients/{client}/posture"));
    let risks = read(posture, &format!("/api/clients/{client}/risks"));
    let risks: Vec<_> = risks.as_array().unwrap().iter().map(|it| &it["title"]).collect();
    it["coverage"] = shown["coverage"].clone();
    it["overall"] = shown["score"]["overallScore"].clone();
    format!("{it:#} {risks:?}")
}

/// Runs by minute, the order in which they arrive, and another run with its minute.
type Story = ((Vec<Run>, Vec<usize>), Run, usize);

fn hold_to_the_law(posture: &Posture, story: Story) -> TestCaseResult {
    let ((runs, order), other, minute) = story;
    let [client, shuffled] = ["A", "B"].map(|it| posture.client(it));
    for (minute, run) in runs.iter().enumerate() {
        push(posture, &client, minute, run);
    }
    for minute in &order {
        push(posture, &shuffled, *minute, &runs[*minute]);
    }
    let before = standing(posture, &client);
    prop_assert_eq!(&before, &standing(posture, &shuffled), "in another order");
    let again = order[0];
    let import = push(posture, &client, again, &runs[again]);
    prop_assert_eq!(&before, &standing(posture, &client), "twice");
    undo(posture, &client, &import);
    prop_assert_eq!(&before, &standing(posture, &client), "once of twice undone");
    let import = push(posture, &client, minute, &other);
    undo(posture, &client, &import);
    prop_assert_eq!(&before, &standing(posture, &client), "another one undone");
    for client in [client, shuffled] {
        let path = format!("/api/clients/{client}");
        prop_assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    }
    Ok(())
}

#[test]
fn neither_order_nor_repetition_matters_and_undoing_restores() {
    let posture = Posture::start();
    let cases = if is_long() { 200 } else { 24 };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let story = (any_story(), any_run(), 0..6usize);
    let law = TestRunner::new(config).run(&story, |it| hold_to_the_law(&posture, it));
    law.unwrap();
}

/// A client whose only run showed nothing has no score, and has none again when what gave it one is undone.
#[test]
fn a_score_that_is_undone_is_none() {
    let posture = Posture::start();
    let nothing = |observations| Run { complete: false, observations, identities: None };
    let none = nothing(Vec::new());
    let empty = nothing(vec![json!({"control": CODE, "check": "a", "passed": 0, "failed": 0})]);
    let seen = json!({"control": CODE, "check": "a", "status": "compliant"});
    let other = Run { observations: vec![seen], ..none.clone() };
    for only in [none, empty] {
        for minute in 0..3 {
            let story = ((vec![only.clone()], vec![0]), other.clone(), minute);
            hold_to_the_law(&posture, story).unwrap();
        }
    }
}

/// Without it nothing passes by lists of some accounts.
#[test]
fn a_complete_list_that_arrives_late_is_the_base_of_those_after_it() {
    let posture = Posture::start();
    let list = |complete, mfa| {
        let bob = json!({"user": "bob", "admin": false, "enabled": true, "mfa": mfa});
        Run { complete, observations: Vec::new(), identities: Some(vec![bob]) }
    };
    let runs = vec![list(true, false), list(false, true), list(false, true)];
    let other = Run { identities: None, ..runs[0].clone() };
    hold_to_the_law(&posture, ((runs, vec![1, 0, 2]), other, 2)).unwrap();
}
