//! Answers about what the managed service provider writes itself, against the document.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::{check, document};
use crate::harness::Posture;
use crate::strangers::world::{self, PASSWORD};

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
fn answers_about_second_factors_are_as_documented() {
    let (document, posture) = (document(), Posture::start());
    let user = world::user("ada@example.com", "viewer");
    let id = posture.operator("POST", "/api/users", &user).json()["data"]["id"].clone();
    let token = RefCell::new(posture.log_in("ada@example.com", PASSWORD));
    let ask = |id: &str, path: &str, body: &Value, status: u16| {
        posture.pass_s(30);
        let answer = posture.as_user(&token.borrow(), "POST", path, body);
        assert_eq!(answer.status, status, "{id}: {}", answer.text());
        check(&document, id, &answer);
        let told = answer.json()["data"].clone();
        for session in [&told, &told["session"]] {
            if let Some(new) = session["token"].as_str() {
                token.replace(new.to_owned());
            }
        }
        told
    };
    let password = json!({"currentPassword": PASSWORD});
    let made = ask("enroll_mfa", "/api/me/mfa", &password, 200);
    let code = || crate::mfa::code(made["secret"].as_str().unwrap(), posture.now().plus_s(30));
    ask("confirm_mfa", "/api/me/mfa/confirm", &json!({"otp": "1"}), 400);
    ask("confirm_mfa", "/api/me/mfa/confirm", &json!({"otp": code()}), 200);
    let me = posture.as_user(&token.borrow(), "GET", "/api/me", &Value::Null);
    check(&document, "get_me", &me);
    let body = json!({"username_or_email": "ada@example.com", "password": PASSWORD});
    check(&document, "log_in", &posture.try_log_in_with(&body));
    let proof = || json!({"currentPassword": PASSWORD, "otp": code()});
    ask("enroll_mfa", "/api/me/mfa", &password, 409);
    ask("replace_recovery_codes", "/api/me/mfa/recovery-codes", &proof(), 200);
    ask("remove_mfa", "/api/me/mfa/remove", &proof(), 200);
    ask("remove_mfa", "/api/me/mfa/remove", &proof(), 409);
    let path = format!("/api/users/{}/mfa", id.as_str().unwrap());
    check(&document, "reset_mfa", &posture.operator("DELETE", &path, &Value::Null));
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
