//! Whose network may be scanned by whom.

use serde_json::{Value, json};

use super::by_key;
use super::scans::{loopback, start};
use crate::harness::Posture;

#[test]
fn who_is_limited_to_a_client_has_only_its_networks_scanned() {
    let posture = Posture::start_with(loopback);
    let [acme, beta] = ["Acme", "Beta"].map(|it| posture.client(it));
    let key_of = |client: &str| {
        let scopes = json!(["write:assets", "manage:clients", "read:clients"]);
        posture.key_with(&json!({ "clientIds": [client], "scopes": scopes }))
    };
    let (of_acme, of_beta) = (key_of(&acme), key_of(&beta));
    let scan_of = |key: &str, target: &str| {
        let body = json!({"targets": [target], "ports": "80"});
        by_key(&posture, key, "POST", "/api/scan", &body)
    };
    let set = |client: &str, networks: &Value| {
        let body = json!({"settings": {"scanNetworks": networks}});
        posture.operator("PATCH", &format!("/api/clients/{client}"), &body)
    };
    assert_eq!(scan_of(&of_acme, "127.33.10.1").status, 403, "nobody said whose network it is");
    let own = json!({"settings": {"scanNetworks": ["127.33.10.0/24"]}});
    let refused = by_key(&posture, &of_acme, "PATCH", &format!("/api/clients/{acme}"), &own);
    assert!(refused.status == 403 && refused.text().contains("scanNetworks"), "{}", refused.text());
    assert_eq!(set(&acme, &json!(["127.33.10.0/28"])).status, 200);
    // Sending back what is there changes nothing.
    let same = json!({"settings": {"scanNetworks": ["127.33.10.0/28"]}});
    let answer = by_key(&posture, &of_acme, "PATCH", &format!("/api/clients/{acme}"), &same);
    assert_eq!(answer.status, 200, "{}", answer.text());
    for (key, target, status) in [
        (&of_acme, "127.33.10.1", 202),
        (&of_acme, "127.33.10.0/27", 403),
        (&of_acme, "127.33.11.1", 403),
        (&of_beta, "127.33.10.1", 403),
    ] {
        let answer = scan_of(key, target);
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
        assert!(!answer.text().contains("Acme"), "{}", answer.text());
    }
    // Who may reach all clients is not limited, and a network has one client.
    assert_eq!(
        start(&posture, &json!({"clientId": beta, "targets": ["127.33.10.1"], "ports": "80"}))
            .status,
        202
    );
    let taken = set(&beta, &json!(["127.33.0.0/16"]));
    assert!(taken.status == 409 && taken.text().contains("Acme"), "{}", taken.text());
    for (networks, rule) in [
        (json!(["127.33.10.1/24"]), "host bits"),
        (json!(["x"]), "CIDR"),
        (json!("x"), "array"),
        (json!(vec!["127.33.12.0/30"; 51]), "at most 50"),
    ] {
        let answer = set(&beta, &networks);
        assert!(answer.status == 400 && answer.text().contains(rule), "{}", answer.text());
    }
    assert_eq!(set(&beta, &json!(vec!["127.33.12.0/30"; 50])).status, 200);
}
