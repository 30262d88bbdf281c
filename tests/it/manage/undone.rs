//! What undone imports showed.

use serde_json::{Value, json};

use super::{MIXED, import, read};
use crate::harness::Posture;

/// Check, passed and failed of each observation, in order.
fn seen(posture: &Posture, path: &str) -> Vec<(String, Value, Value)> {
    let all = read(posture, &format!("{path}?limit=100"));
    let of = |it: &Value| {
        let check = it["check"].as_str().unwrap().to_owned();
        (check, it["passed"].clone(), it["failed"].clone())
    };
    let mut all: Vec<_> = all.as_array().unwrap().iter().map(of).collect();
    all.sort_by_key(|it| it.0.clone());
    all
}

#[test]
fn what_an_undone_import_showed_is_readable_as_long_as_observations_are_kept() {
    let posture = Posture::start();
    let client = posture.client("A");
    let path = format!("/api/clients/{client}");
    let own = json!({"settings": {"retention": {"observationsDays": 30}}});
    assert_eq!(posture.operator("PATCH", &path, &own).status, 200);
    let small = import(&posture, &client, "", MIXED)["import"]["id"].clone();
    let before = seen(&posture, &format!("{path}/observations"));
    // One that takes more than one commit to undo.
    let many: Vec<Value> = (0..3_000)
        .map(|it| json!({"control": "END-04", "check": format!("check {it:05}"), "passed": 1, "failed": 1}))
        .collect();
    let body = json!({"source": "script", "observations": many});
    let pushed = posture.operator("POST", &format!("{path}/facts"), &body);
    assert_eq!(pushed.status, 200, "{}", pushed.text());
    let large = pushed.json()["data"]["importId"].clone();
    let kept = |id: &Value| format!("{path}/imports/{}/observations", id.as_str().unwrap());
    assert_eq!(seen(&posture, &kept(&small)), [], "it counts");
    for id in [&small, &large] {
        super::undo(&posture, &client, id.as_str().unwrap());
    }
    assert_eq!(seen(&posture, &format!("{path}/observations")), []);
    let of_small = seen(&posture, &kept(&small));
    assert!(!of_small.is_empty() && of_small.iter().all(|it| before.contains(it)), "{of_small:?}");
    let answer =
        posture.operator("GET", &format!("{}?limit=2&offset=2999", kept(&large)), &Value::Null);
    let answer = answer.json();
    assert_eq!(answer["pagination"]["total"], 3_000);
    assert_eq!(answer["data"].as_array().unwrap().len(), 1);
    assert_eq!(answer["data"][0]["check"], "check 02999");
    let posture = posture.restart();
    assert_eq!(seen(&posture, &kept(&small)), of_small);
    posture.pass_days(30);
    assert_eq!(seen(&posture, &kept(&small)), of_small);
    posture.pass_days(1);
    let gone = posture.operator("GET", &kept(&small), &Value::Null);
    assert_eq!(gone.status, 404, "{}", gone.text());
}
