//! `posture user` and `posture audit`, with and without a server.

use serde_json::json;

use super::refusal;
use crate::harness::http::{self, Answer};
use crate::harness::process::{Folder, Server};

const PASSWORD: &str = "ochre kettle, nine moths";
const ADD: [&str; 7] =
    ["user", "add", "--email", "ada@example.com", "--role", "analyst", "--password-stdin"];

fn log_in(server: &Server, name: &str, password: &str) -> Answer {
    let body = json!({"username_or_email": name, "password": password}).to_string();
    let headers = [("Content-Type", "application/json")];
    http::send(server.address, "POST", "/auth/login", &headers, body.as_bytes())
}

#[test]
fn a_user_that_was_added_logs_in_and_one_that_was_disabled_does_not() {
    let folder = Folder::new();
    let added = folder.feed(&ADD, &format!("{PASSWORD}\nmore\n"));
    assert_eq!((added.code, &*added.err), (0, ""), "{}", added.out);
    assert!(!added.out.contains(PASSWORD) && added.out.contains("ada@example.com"));
    let server = folder.serve();
    let answer = log_in(&server, "ada@example.com", PASSWORD);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["data"]["user"]["mustChangePassword"], false);
    let client = folder.client("Acme");
    let set = ["user", "set", "ADA@example.com", "--username", "ada", "--client", &client];
    assert!(folder.ok(&set).contains(&*client));
    assert_eq!(log_in(&server, "ada", PASSWORD).json()["data"]["user"]["clientIds"][0], *client);
    folder.ok(&["user", "set", "ada", "--all-clients", "--disable"]);
    assert_eq!(log_in(&server, "ada", PASSWORD).status, 401);
    folder.ok(&["user", "set", "ada", "--enable"]);
    let made = folder.ok(&["user", "password", "ada"]);
    let password = made.lines().find(|it| it.matches('-').count() == 4 && it.len() == 24).unwrap();
    assert_eq!(log_in(&server, "ada", PASSWORD).status, 401, "the old password is over");
    assert_eq!(log_in(&server, "ada", password).json()["data"]["user"]["mustChangePassword"], true);
    let list = folder.ok(&["user", "list"]);
    assert!(list.contains("ada@example.com") && list.contains("analyst"), "{list}");
}

#[test]
fn what_is_wrong_with_a_user_is_said_in_a_line() {
    let folder = Folder::new();
    assert!(refusal(&folder.feed(&ADD, "")).contains("standard input contains no password"));
    assert!(refusal(&folder.feed(&ADD, "short\n")).contains("at least 12 characters"));
    let weak = folder.feed(&ADD, "password1234\n");
    assert!(refusal(&weak).contains("is too easy to guess"), "{}", weak.err);
    let absent = folder.run(&["user", "set", "bob", "--enable"]);
    assert!(refusal(&absent).contains("unknown user `bob`; `posture user list` shows all users"));
    let role = folder.run(&["user", "add", "--email", "a@b", "--role", "root"]);
    assert!(refusal(&role).contains("must be one of viewer, analyst, admin"));
}

#[test]
fn a_first_start_says_how_to_log_in_and_a_second_does_not() {
    let folder = Folder::new();
    let server = folder.serve();
    let line = std::iter::repeat_with(|| server.line()).find(|it| it.contains("/auth/login"));
    let line = line.unwrap();
    let (_, behind) = line.split_once("-d '").unwrap();
    let (body, _) = behind.split_once('\'').unwrap();
    let headers = [("Content-Type", "application/json")];
    let answer = http::send(server.address, "POST", "/auth/login", &headers, body.as_bytes());
    assert_eq!(answer.status, 200, "the line works as it is: {line}");
    assert!(server.stop().success());
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    let password: serde_json::Value = serde_json::from_str(body).unwrap();
    assert!(!log.contains(password["password"].as_str().unwrap()), "the log is not the place");
    let server = folder.serve();
    assert!(server.stop().success());
    assert_eq!(folder.json(&["user", "list"])["data"].as_array().unwrap().len(), 1);
}

#[test]
fn the_audit_log_is_shown_and_verified() {
    let folder = Folder::new();
    folder.client("Acme");
    let list = folder.ok(&["audit", "list", "--limit", "5"]);
    assert!(list.contains("POST /api/clients") && list.contains("operator uid"), "{list}");
    assert!(folder.ok(&["audit", "verify"]).ends_with("the audit log is intact\n"));
    assert_eq!(folder.json(&["audit", "verify"])["data"]["entries"], 1);
    assert!(refusal(&folder.run(&["audit", "list", "--limit", "101"])).contains("limit"));
}
