//! Answers about what the managed service provider writes itself, against the document.

use serde_json::{Value, json};

use super::{check, document};
use crate::harness::Posture;

#[test]
fn answers_about_own_frameworks_are_as_documented() {
    let (document, posture) = (document(), Posture::start());
    let ask = |id: &str, method: &str, path: &str, body: &Value, status: u16| {
        let answer = posture.operator(method, path, body);
        assert_eq!(answer.status, status, "{id}: {}", answer.text());
        check(&document, id, &answer);
    };
    let (all, one) = ("/api/own-frameworks", "/api/own-frameworks/ours");
    let toml = "id = 'OURS'\nname = 'Ours'\n[[row]]\nreference = '1'\ntitle = 'A first row'\n";
    ask("add_own_framework", "POST", all, &json!({"toml": toml}), 201);
    ask("add_own_framework", "POST", all, &json!({"toml": toml}), 409);
    ask("add_own_framework", "POST", all, &json!({"toml": toml, "replace": true}), 200);
    ask("add_own_framework", "POST", all, &json!({"toml": "id = 1"}), 400);
    ask("list_own_frameworks", "GET", all, &Value::Null, 200);
    ask("get_own_framework", "GET", one, &Value::Null, 200);
    ask("get_own_framework", "GET", "/api/own-frameworks/SOC2", &Value::Null, 404);
    ask("remove_own_framework", "DELETE", one, &Value::Null, 204);
    ask("remove_own_framework", "DELETE", one, &Value::Null, 404);
}

#[test]
fn answers_about_connection_mappings_are_as_documented() {
    let (document, posture) = (document(), Posture::start());
    let ask = |id: &str, method: &str, path: &str, body: &Value, status: u16| {
        let answer = posture.operator(method, path, body);
        assert_eq!(answer.status, status, "{id}: {}", answer.text());
        check(&document, id, &answer);
    };
    let (all, one) = ("/api/connection-mappings", "/api/connection-mappings/example_rmm");
    let toml = include_str!("../../../assets/connect/example.toml");
    ask("put_connection_mapping", "PUT", one, &json!({ "toml": toml }), 201);
    ask("put_connection_mapping", "PUT", one, &json!({ "toml": toml }), 200);
    ask("put_connection_mapping", "PUT", one, &json!({"toml": "kind = 1"}), 400);
    ask("list_connection_mappings", "GET", all, &Value::Null, 200);
    ask("list_connection_kinds", "GET", "/api/connection-kinds", &Value::Null, 200);
    ask("remove_connection_mapping", "DELETE", one, &Value::Null, 204);
    ask("remove_connection_mapping", "DELETE", one, &Value::Null, 404);
}
