//! What programs read with a key of their own: of its clients, and of no others.

use serde_json::{Value, json};

use super::{MIXED, import};
use crate::harness::{Answer, Posture, send};

/// Reads with a key.
fn with(posture: &Posture, key: &str, path: &str) -> Answer {
    let answer = send(posture.address, "GET", path, &[("X-API-Key", key)], b"");
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer
}

#[test]
fn a_key_reads_events_key_figures_and_the_export_of_its_clients_alone() {
    let posture = Posture::start();
    let (own, other) = (posture.client("Own"), posture.client("Other"));
    import(&posture, &own, "", MIXED);
    import(&posture, &other, "", MIXED);
    let scopes = ["read:events", "read:portfolio", "read:export"];
    let limited = posture.key_with(&json!({"scopes": scopes, "clientIds": [own]}));
    let free = posture.key_with(&json!({"scopes": scopes}));
    for path in [
        "/api/events?limit=100",
        "/api/changes?limit=100",
        "/api/conditions",
        "/api/dashboard/kpis",
        "/api/portfolio/compliance?framework=SOC2",
    ] {
        let seen = with(&posture, &limited, path).text();
        assert!(seen.contains(&own) && !seen.contains(&other), "{path}: {seen:.300}");
        let all = with(&posture, &free, path).text();
        assert!(all.contains(&other), "{path}");
        assert_eq!(all, posture.operator("GET", path, &Value::Null).text(), "{path}");
    }
    let kpis = with(&posture, &limited, "/api/dashboard/kpis").json();
    assert_eq!(kpis["data"]["clients"]["total"], 1);
    let export = |client: &str| format!("/api/clients/{client}/export");
    assert!(with(&posture, &limited, &export(&own)).text().ends_with("}\n"));
    let foreign = send(posture.address, "GET", &export(&other), &[("X-API-Key", &limited)], b"");
    assert_eq!(foreign.status, 403);
}
