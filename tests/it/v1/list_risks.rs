//! Operation 7.

use serde_json::{Value, json};

use super::{assert_invalid, assert_shape, column, import_sample, rows};
use crate::harness::Posture;

const RISK: &[(&str, &str)] = &[
    ("id", "uuid"),
    ("title", "string"),
    ("description", "string"),
    ("category", "string"),
    ("severity", "string"),
    ("dollarImpact", "number?"),
    ("riskScore", "number"),
    ("sourceType", "string"),
    ("createdAt", "date-time"),
];

const MANY: &str = "prowler/aws.csv";

/// A client with what a real file tells of it.
fn imported(posture: &Posture, body: &Value) -> String {
    let client = posture.client_with(body);
    import_sample(posture, &client, MANY);
    client
}

fn order(risk: &Value) -> (std::cmp::Reverse<u64>, String) {
    let score = risk["riskScore"].as_u64().unwrap();
    (std::cmp::Reverse(score), risk["id"].as_str().unwrap().to_owned())
}

#[test]
fn a_new_client_has_no_risks() {
    let posture = Posture::start();
    let client = posture.client("New");
    let body = posture.read(&posture.key(), &format!("/clients/{client}/risks"));
    let none = json!({"data": [], "pagination": {"total": 0, "limit": 50, "offset": 0}});
    assert_eq!(body, none);
}

#[test]
fn a_risk_has_the_contracts_fields_and_no_others() {
    let posture = Posture::start();
    let client = imported(&posture, &json!({"name": "Shown"}));
    let body = posture.read(&posture.key(), &format!("/clients/{client}/risks?limit=100"));
    assert_eq!(body.as_object().unwrap().len(), 2, "data and pagination");
    for risk in rows(&body) {
        assert_shape(risk, RISK);
        let severity = risk["severity"].as_str().unwrap();
        assert!(["critical", "high", "medium", "low"].contains(&severity), "{severity}");
        let source = risk["sourceType"].as_str().unwrap();
        assert!(["control", "finding", "scan", "manual"].contains(&source), "{source}");
        assert!(risk["riskScore"].as_u64().is_some_and(|it| it <= 100));
        assert!(!risk["title"].as_str().unwrap().is_empty());
        assert_eq!(risk["createdAt"], "2026-03-10T09:00:00.000Z");
    }
}

#[test]
fn risks_are_ordered_by_falling_score_then_by_id_across_pages() {
    let posture = Posture::start();
    let key = posture.key();
    let client = imported(&posture, &json!({"name": "Ordered"}));
    let path = format!("/clients/{client}/risks");
    let whole = posture.read(&key, &format!("{path}?limit=100"));
    let all = rows(&whole);
    assert!(10 < all.len() && all.len() < 100, "{}", all.len());
    let orders: Vec<_> = all.iter().map(order).collect();
    assert!(orders.is_sorted_by(|a, b| a < b), "{orders:?}");
    let has_tie = orders.windows(2).any(|it| it[0].0 == it[1].0);
    assert!(has_tie, "the sample has risks of one score");
    let mut joined = Vec::new();
    while joined.len() < all.len() {
        let page = posture.read(&key, &format!("{path}?limit=7&offset={}", joined.len()));
        assert_eq!(page["pagination"]["total"], all.len());
        assert_eq!(page["pagination"]["limit"], 7);
        assert!(!rows(&page).is_empty());
        joined.extend(rows(&page).iter().cloned());
    }
    assert!(joined == *all, "pages join up to the whole list");
}

#[test]
fn the_severity_filter_takes_the_contracts_four_words_alone() {
    let posture = Posture::start();
    let key = posture.key();
    let client = imported(&posture, &json!({"name": "Filtered"}));
    let path = format!("/clients/{client}/risks");
    let whole = posture.read(&key, &format!("{path}?limit=100"));
    let mut n_found = 0;
    for severity in ["critical", "high", "medium", "low"] {
        let body = posture.read(&key, &format!("{path}?limit=100&severity={severity}"));
        let of_it = rows(&whole).iter().filter(|it| it["severity"] == severity);
        let wanted: Vec<&Value> = of_it.collect();
        assert!(rows(&body).iter().collect::<Vec<_>>() == wanted, "{severity}");
        assert_eq!(body["pagination"]["total"], wanted.len());
        n_found += wanted.len();
    }
    assert_eq!(n_found, rows(&whole).len());
    for severity in ["CRITICAL", "", "info", "none", "high,low", "high%20", "1"] {
        let answer = posture.get(&key, &format!("{path}?severity={severity}"));
        let rule = assert_invalid(&answer, "severity");
        assert!(rule.contains("critical, high, medium, low"), "{rule}");
    }
}

#[test]
fn the_dollar_impact_is_null_until_the_clients_size_is_known() {
    let posture = Posture::start();
    let key = posture.key();
    let unknown = imported(&posture, &json!({"name": "Unknown", "industry": "Legal"}));
    let [legal, other, none] = ["LEGAL", "Beekeeping", ""].map(|industry| {
        let industry = Some(industry).filter(|it| !it.is_empty());
        let name = format!("Known {industry:?}");
        imported(&posture, &json!({"name": name, "industry": industry, "employeeCount": 40}))
    });
    let impacts = |client: &str| {
        let body = posture.read(&key, &format!("/clients/{client}/risks?limit=100"));
        rows(&body).iter().map(|it| it["dollarImpact"].clone()).collect::<Vec<_>>()
    };
    assert!(impacts(&unknown).iter().all(Value::is_null));
    // 50 records for each of 40 people, and 72 hours for two fifths of the cost.
    let incident = 40 * 50 * 160 + 72 * 5_000 * 40 / 100;
    for (client, per_1000) in [(&legal, 6), (&other, 5), (&none, 5)] {
        let shown =
            posture.operator("GET", &format!("/api/clients/{client}/posture"), &Value::Null);
        let loss = shown.json()["data"]["expectedLoss"].clone();
        let [base, now, exposure] =
            ["base", "now", "exposure"].map(|it| loss[it].as_u64().unwrap());
        assert_eq!(base, incident * per_1000 / 1_000);
        assert_eq!(exposure, now - base);
        let dollars = impacts(client).iter().filter_map(Value::as_u64).sum::<u64>();
        assert!(0 < dollars && dollars <= exposure, "{dollars} of {exposure}");
    }
}

#[test]
fn a_risk_keeps_its_id_when_its_file_comes_again_and_when_its_evidence_lapses() {
    let posture = Posture::start();
    let key = posture.key();
    let client = imported(&posture, &json!({"name": "Kept"}));
    let path = format!("/clients/{client}/risks?limit=100");
    let ids = || {
        let mut ids = column(&posture.read(&key, &path), "id");
        ids.sort_unstable();
        ids
    };
    let first = ids();
    posture.pass_days(1);
    let file = crate::harness::sample::own(MANY);
    let answer = posture.import(&client, "observedAt=now&again=true", &file);
    assert_eq!(answer.status, 200);
    assert_eq!(ids(), first);
    posture.pass_days(40);
    assert_eq!(ids(), first, "silence never heals");
}

#[test]
fn risks_leave_when_the_import_behind_them_is_undone() {
    let posture = Posture::start();
    let key = posture.key();
    let client = imported(&posture, &json!({"name": "Undone"}));
    let imports = format!("/api/clients/{client}/imports");
    let import = posture.operator("GET", &imports, &Value::Null).json()["data"][0]["id"].clone();
    let path = format!("{imports}/{}", import.as_str().unwrap());
    assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 200);
    let body = posture.read(&key, &format!("/clients/{client}/risks"));
    assert_eq!(body["pagination"]["total"], 0);
}
