//! One framework over all clients.

use serde_json::{Value, json};

use super::{GOOD, MIXED, import, patched, read, refused_field};
use crate::harness::Posture;

const PATH: &str = "/api/portfolio/compliance";

fn lines(posture: &Posture, query: &str) -> Vec<Value> {
    read(posture, &format!("{PATH}?{query}")).as_array().unwrap().clone()
}

fn names(all: &[Value]) -> Vec<&str> {
    all.iter().map(|it| it["clientName"].as_str().unwrap()).collect()
}

/// Three clients: one well, one not, one of whom nothing is known. And one that is not active.
fn portfolio() -> (Posture, [String; 4]) {
    let posture = Posture::start();
    let clients = ["Good", "Mixed", "Unknown", "Inactive"].map(|it| {
        posture.pass_s(1); // The next one's id is behind this one's.
        posture.client(it)
    });
    import(&posture, &clients[0], "", GOOD);
    import(&posture, &clients[1], "", MIXED);
    patched(&posture, &format!("/api/clients/{}", clients[3]), &json!({ "active": false }));
    (posture, clients)
}

#[test]
fn a_framework_has_a_row_for_each_active_client() {
    let (posture, clients) = portfolio();
    let all = lines(&posture, "framework=cjis");
    assert_eq!(names(&all), ["Good", "Mixed", "Unknown"]);
    let key = posture.key();
    for (line, client) in all.iter().zip(&clients) {
        let rollup = posture.read(&key, &format!("/clients/{client}/compliance"));
        let rollup = rollup["data"].as_array().unwrap();
        let summary = rollup.iter().find(|it| it["framework"] == "CJIS").unwrap();
        for (member, value) in summary.as_object().unwrap() {
            assert_eq!(line[member], *value, "{member}");
        }
        assert_eq!(line["clientId"], *client);
        assert_eq!((&line["requirement"], &line["overallStatus"]), (&Value::Null, &Value::Null));
    }
}

#[test]
fn a_requirement_shows_how_each_client_does_there_and_status_keeps_those_that_stand_so() {
    let (posture, clients) = portfolio();
    let key = posture.key();
    let [good, mixed] = [0, 1].map(|it: usize| {
        let path = format!("/clients/{}/compliance/SOC2", clients[it]);
        posture.read(&key, &path)["data"]["requirements"].as_array().unwrap().clone()
    });
    let is_assessed =
        |it: &Value| it["overallStatus"] == "partial" || it["overallStatus"] == "non_compliant";
    let mut both =
        good.iter().zip(&mixed).filter(|(good, mixed)| is_assessed(good) && is_assessed(mixed));
    let (_, row) = both.next().expect("a row that neither meets");
    let reference = row["requirement"].as_str().unwrap();
    let query = format!("framework=SOC2&requirement={}", reference.replace(' ', "%20"));
    let all = lines(&posture, &query);
    assert_eq!(names(&all), ["Good", "Mixed", "Unknown"]);
    assert_eq!(all[1]["requirement"], *reference);
    assert_eq!(all[1]["overallStatus"], row["overallStatus"]);
    assert_eq!(all[1]["complianceScore"], row["complianceScore"]);
    let of = |status: &str| lines(&posture, &format!("{query}&status={status}"));
    assert_eq!(names(&of("not_assessed")), ["Unknown"]);
    let status = row["overallStatus"].as_str().unwrap();
    assert!(names(&of(status)).contains(&"Mixed"));
    let statuses = ["compliant", "partial", "non_compliant", "not_assessed", "not_applicable"];
    let n: usize = statuses.iter().map(|it| of(it).len()).sum();
    assert_eq!(n, 3, "each client stands one way");
    let page = posture.operator("GET", &format!("{PATH}?{query}&limit=1&offset=1"), &Value::Null);
    assert_eq!(page.json()["pagination"], json!({ "total": 3, "limit": 1, "offset": 1 }));
    assert_eq!(page.json()["data"], json!([all[1]]));
}

#[test]
fn each_parameter_tells_its_rule() {
    let (posture, _) = portfolio();
    for (query, field) in [
        ("", "framework"),
        ("framework=x", "framework"),
        ("framework=SOC2&requirement=x", "requirement"),
        ("framework=SOC2&requirement=CC6.1&status=x", "status"),
        ("framework=SOC2&status=partial", "status"),
        ("framework=SOC2&limit=0", "limit"),
    ] {
        let answer = posture.operator("GET", &format!("{PATH}?{query}"), &Value::Null);
        assert_eq!(refused_field(&answer).0, field, "{query}");
    }
}
