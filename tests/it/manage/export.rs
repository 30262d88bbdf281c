//! The export of a client.

use serde_json::{Value, json};

use crate::harness::Posture;

/// Each line's kind and data.
fn lines(text: &str) -> Vec<(String, Value)> {
    let line = |it: &str| {
        let mut line: Value = serde_json::from_str(it).unwrap();
        (line["kind"].as_str().unwrap().to_owned(), line["data"].take())
    };
    text.lines().map(line).collect()
}

#[test]
fn an_export_has_everything_once_and_says_where_it_ends() {
    let posture = Posture::start();
    let (client, other) = (posture.client("Canary"), posture.client("Other"));
    let key =
        posture.key_with(&json!({"perMinute": 100_000, "perHour": 100_000, "perDay": 100_000}));
    let file = crate::manage::prowler(crate::manage::MIXED);
    assert_eq!(posture.import(&client, "observedAt=now", &file).status, 200);
    let push = |client: &str, name: &str| {
        let body =
            json!({"clientId": client, "name": name, "externalId": name, "assetType": "server"});
        assert_eq!(posture.send("POST", &key, "/assets", &body).status, 201);
    };
    (0..1_010).for_each(|it| push(&client, &format!("host-{it}")));
    push(&other, "Foreign-7f3a");
    let path = format!("/api/clients/{client}/export");
    let answer = posture.operator("GET", &path, &Value::Null);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    assert!(!answer.text().contains("Foreign-7f3a"));
    let lines = lines(&answer.text());
    let of_kind = |kind: &str| -> Vec<&Value> {
        lines.iter().filter(|it| it.0 == kind).map(|it| &it.1).collect()
    };
    let (last, before) = lines.split_last().unwrap();
    assert_eq!(*last, ("end".to_owned(), json!({"lines": before.len()})));
    assert_eq!(of_kind("client")[0]["name"], "Canary");
    let read = |rest: &str| posture.read(&key, &format!("/clients/{client}{rest}"));
    let assets = read("/assets?limit=1");
    assert_eq!(json!(of_kind("asset").len()), assets["pagination"]["total"]);
    assert_eq!(*of_kind("asset")[0], assets["data"][0]);
    let mut ids: Vec<_> = of_kind("asset").iter().map(|it| it["id"].to_string()).collect();
    ids.dedup();
    assert_eq!(ids.len(), of_kind("asset").len(), "no page came twice");
    let risks = read("/risks?limit=100");
    assert_eq!(json!(of_kind("risk"))[0], risks["data"][0]);
    assert_eq!(json!(of_kind("risk").len()), risks["pagination"]["total"]);
    let frameworks = of_kind("framework");
    assert_eq!(frameworks.len(), 18);
    let soc2 = read("/compliance/SOC2")["data"].clone();
    for (ours, versioned) in [
        (&frameworks[0]["frameworkId"], &soc2["frameworkId"]),
        (
            &frameworks[0]["requirements"][0]["overallStatus"],
            &soc2["requirements"][0]["overallStatus"],
        ),
    ] {
        assert_eq!(ours, versioned);
    }
    assert_eq!(of_kind("control").len(), posture.app.catalog().controls.len());
    assert_eq!((of_kind("import").len(), of_kind("score").len()), (1, 1));
}
