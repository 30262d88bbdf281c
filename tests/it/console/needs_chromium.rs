//! The tests that need Chromium and selenium: every page of the demonstration in a browser, at two widths (with axe-core), and
//! passkeys of a virtual authenticator.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use posture::store::global::user::Role;
use serde_json::Value;

use super::browser::{Browser, PASSWORD, add_user};
use super::pages::demonstration;
use crate::harness::long::is_long;
use crate::harness::{Posture, tool};

#[test]
#[ignore = "needs Chromium"]
fn a_browser_finds_nothing_wrong_with_any_page() {
    let (_folder, server, mut users) = demonstration();
    // The others see a part of the pages of an administrator.
    if !is_long() {
        users.retain(|it| it["role"] == "admin");
    }
    assert!(!users.is_empty());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/browser/walk.py");
    let axe = tool::npm().join("node_modules/axe-core/axe.min.js");
    let names: Vec<_> = users.iter().map(|it| it["username"].as_str().unwrap()).collect();
    let done = Command::new(tool::selenium())
        .arg(script)
        .arg(format!("http://{}", server.address))
        .arg(axe)
        .args([names.join(",").as_str(), PASSWORD])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(said.matches(" kinds of pages").count(), users.len(), "{said}");
    assert!(said.contains(" pages of guides"), "{said}");
}

#[test]
#[ignore = "needs Chromium"]
fn forms_say_what_became_of_each_file_and_which_field_is_wrong() {
    let posture = Posture::start();
    add_user(&posture, "ada", "admin", &[]);
    let client = posture.client("Acme");
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("prowler.csv"), folder.path().join("notes.txt"));
    std::fs::write(&good, crate::manage::prowler(crate::manage::MIXED)).unwrap();
    std::fs::write(&bad, "nothing that is known").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/browser/forms.py");
    let address = format!("http://{}", posture.address);
    let done = Command::new(tool::selenium())
        .arg(script)
        .args([&address, "ada", PASSWORD, &client])
        .args([&good, &bad])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(said.matches("ok: ").count(), 8, "{said}");
}

/// Lets a browser try passkeys of this user; what it says.
fn try_passkeys(posture: &Posture, what: &str, user: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/browser/passkey.py");
    let address = format!("http://localhost:{}", posture.address.port());
    let mut child = Command::new(tool::selenium())
        .arg(script)
        .args([what, &address, "ada", PASSWORD])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut said = String::new();
    for line in BufReader::new(output).lines().map(Result::unwrap) {
        match line.split_once(' ').map_or((line.as_str(), ""), |it| it) {
            ("pass", seconds) => posture.pass_s(seconds.parse().unwrap()),
            ("log", _) => {
                let refused = posture.try_log_in("ada", PASSWORD);
                assert_eq!(refused.status, 401, "{}", refused.text());
                assert!(refused.text().contains("sign in to the console"), "{}", refused.text());
            }
            ("reset", _) => {
                let path = format!("/api/users/{user}/mfa");
                assert_eq!(posture.operator("DELETE", &path, &Value::Null).status, 204);
            }
            _ => {
                said += &line;
                said.push('\n');
                continue;
            }
        }
        input.write_all(b"\n").unwrap();
    }
    assert!(child.wait().unwrap().success(), "{said}");
    said
}

#[test]
#[ignore = "needs Chromium"]
fn a_passkey_signs_in_and_confirms_once_for_each_question() {
    let posture = Posture::start();
    let ada = add_user(&posture, "ada", "admin", &[]);
    let said = try_passkeys(&posture, "all", &ada);
    assert_eq!(said.matches("ok: ").count(), 20, "{said}");
    posture.block_on(posture.app.checkpoint_unauthenticated()).unwrap();
    let log = posture.operator("GET", "/api/audit?limit=100", &Value::Null).json();
    let entries = log["data"].as_array().unwrap();
    let about = |action: &str, about: &str| {
        entries.iter().any(|it| it["action"] == action && it["about"] == about)
    };
    assert!(about("POST /sign-in/passkey", "user ada@example.com, passkey Laptop"), "{log}");
    assert!(about("POST /confirm/passkey", "user ada@example.com, passkey Laptop"), "{log}");
    for why in [
        "an older question",
        "the challenge sent to the client does not match the challenge sent back",
        "the origin sent from the client is not an allowed origin",
        "user was not verified despite being required to",
        "the signature counter sent back is not strictly greater than the previous counter",
    ] {
        let why = format!("user ada@example.com, passkey Laptop: {why}");
        assert!(about("POST /sign-in/passkey", &why), "{why}: {log}");
    }
    assert!(about("POST /sign-in/passkey", "unknown passkey"), "{log}");
    assert!(about("POST /me/passkeys/add", "passkey Device 10"), "{log}");
    assert!(about("POST /me/passkeys/remove", "passkey Laptop"), "{log}");
    // They are in the database, and removed from it over the API as well.
    let posture = posture.restart();
    let token = posture.log_in("ada", PASSWORD);
    let list = |token: &str| posture.as_user(token, "GET", "/api/me/passkeys", &Value::Null);
    let all = list(&token).json()["data"].clone();
    assert_eq!(all.as_array().unwrap().len(), 9, "{all}");
    let first = &all[0];
    let shown = (&first["name"], &first["domain"], &first["lastUsedAt"]);
    assert_eq!(shown, (&"Device 2".into(), &"localhost".into(), &Value::Null));
    let path = format!("/api/me/passkeys/{}/remove", first["id"].as_str().unwrap());
    let body = |password: &str| serde_json::json!({ "currentPassword": password });
    assert_eq!(posture.as_user(&token, "POST", &path, &body("wrong")).status, 400);
    let removed = posture.as_user(&token, "POST", &path, &body(PASSWORD));
    assert_eq!(removed.status, 200, "{}", removed.text());
    assert_eq!(list(&token).status, 401, "the session of before is over");
    let log = posture.operator("GET", "/api/audit?limit=1", &Value::Null).json();
    assert_eq!(log["data"][0]["action"], "POST /api/me/passkeys/{passkeyId}/remove");
    let token = removed.json()["data"]["token"].as_str().unwrap().to_owned();
    assert_eq!(list(&token).json()["data"].as_array().unwrap().len(), 8);
    assert_eq!(posture.as_user(&token, "POST", &path, &body(PASSWORD)).status, 404);
    let left = list(&token).json()["data"][0].clone();
    the_password_is_no_longer_enough(posture, &token, &left);
}

/// Once the role requires a second factor, and the user's is a passkey.
fn the_password_is_no_longer_enough(posture: Posture, token: &str, passkey: &Value) {
    let browser = Browser::signed_in(posture.address, "ada");
    let posture = posture.restart_after(|_| (), |it| it.app.require_mfa = vec![Role::Admin]);
    let mut browser = browser.at(&posture);
    let id = passkey["id"].as_str().unwrap();
    let body = serde_json::json!({ "currentPassword": PASSWORD });
    for path in ["/api/me/mfa", &format!("/api/me/passkeys/{id}/remove")] {
        let answer = posture.as_user(token, "POST", path, &body);
        assert_eq!(answer.status, 403, "{path}: {}", answer.text());
        assert!(answer.text().contains("sign in to the console with it first"), "{path}");
    }
    assert_eq!(posture.as_user(token, "GET", "/api/clients", &Value::Null).status, 403);
    assert_eq!(posture.try_log_in("ada", PASSWORD).status, 401);
    let led = browser.get("/clients");
    assert_eq!(led.header("location"), Some("/confirm?next=%2Fclients"));
    let page = browser.get("/confirm?next=%2Fclients").text();
    assert!(!page.contains("name=\"password\""), "{page}");
    let form_token = browser.token("/me/passkeys");
    let form = |name: &'static str, value| [("token", form_token.clone()), (name, value)];
    for (path, form, status) in [
        ("/confirm", form("password", PASSWORD.to_owned()), 401),
        ("/me/passkeys/remove", form("passkey", id.to_owned()), 403),
        ("/me/mfa/enroll", form("currentPassword", PASSWORD.to_owned()), 403),
    ] {
        let form = form.each_ref().map(|it| (it.0, it.1.as_str()));
        assert_eq!(browser.post(path, &form).status, status, "{path}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn a_passkey_is_the_second_factor_that_a_role_requires() {
    let posture = Posture::start_with(|it| it.app.require_mfa = vec![Role::Admin]);
    let ada = add_user(&posture, "ada", "admin", &[]);
    let said = try_passkeys(&posture, "required", &ada);
    assert_eq!(said.matches("ok: ").count(), 9, "{said}");
}
