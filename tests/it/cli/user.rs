//! `posture user` and `posture audit`, with and without a server.

use std::process::Stdio;
use std::time::Duration;

use posture::clock::Clock;
use serde_json::{Value, json};

use super::refusal;
use crate::harness::http::{self, Answer, send_socket};
use crate::harness::process::{Folder, Server, signal, wait_until};

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
fn a_second_factor_that_was_lost_is_reset() {
    let folder = Folder::new();
    folder.feed(&ADD, &format!("{PASSWORD}\n"));
    let server = folder.serve();
    let answer = log_in(&server, "ada@example.com", PASSWORD);
    let bearer = format!("Bearer {}", answer.json()["data"]["token"].as_str().unwrap());
    let post = |path: &str, body: &Value| {
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        http::send(server.address, "POST", path, &headers, body.to_string().as_bytes()).json()
    };
    let made = post("/api/me/mfa", &json!({"currentPassword": PASSWORD}));
    let secret = made["data"]["secret"].as_str().unwrap();
    let code = crate::mfa::code(secret, Clock::System.now());
    let confirmed = post("/api/me/mfa/confirm", &json!({ "otp": code }));
    assert!(confirmed["data"]["recoveryCodes"].is_array(), "{confirmed}");
    assert_eq!(log_in(&server, "ada@example.com", PASSWORD).status, 401);
    assert_eq!(folder.json(&["user", "list"])["data"][0]["mfa"], "on");

    let said = folder.ok(&["user", "reset-mfa", "ADA@example.com"]);
    assert_eq!(said, "removed the second factor and the passkeys of ADA@example.com\n");
    assert_eq!(log_in(&server, "ada@example.com", PASSWORD).status, 200);
    assert_eq!(folder.json(&["user", "list"])["data"][0]["mfa"], "off");
    server.stop();
    folder.ok(&["user", "reset-mfa", "ada@example.com"]);
    let absent = folder.run(&["user", "reset-mfa", "bob"]);
    assert!(refusal(&absent).contains("unknown user `bob`; `posture user list` shows all users"));
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
    let password: Value = serde_json::from_str(body).unwrap();
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
    let entry = list.lines().last().unwrap();
    assert!(list.contains("FIELDS") && entry.ends_with("  name"), "{list}");
    assert!(folder.ok(&["audit", "verify"]).ends_with("the audit log is intact\n"));
    assert_eq!(folder.json(&["audit", "verify"])["data"]["entries"], 1);
    assert!(refusal(&folder.run(&["audit", "list", "--limit", "101"])).contains("limit"));
}

#[test]
fn a_change_of_nothing_is_refused() {
    let folder = Folder::new();
    let added = folder.feed(&ADD, PASSWORD);
    assert_eq!(added.code, 0, "{}", added.err);
    let url = ["--url", "https://hooks.example.com/x", "--event", "all"];
    let webhook = folder.json(&[&["webhook", "add"][..], &url].concat());
    let client = folder.client("A");
    for set in [
        ["user", "set", "ada@example.com"],
        ["webhook", "set", webhook["data"]["id"].as_str().unwrap()],
        ["client", "set", &client],
    ] {
        let done = folder.run(&set);
        assert_eq!(refusal(&done), "nothing to change; pass at least one option", "{set:?}");
    }
}

#[test]
fn a_list_names_what_all_and_any_mean() {
    let folder = Folder::new();
    let client = folder.client("A");
    let issue = ["key", "issue", "--quiet", "--scope", "read:clients", "--name"];
    folder.ok(&[&issue[..], &["free", "--per-minute", "5000"]].concat());
    folder.ok(&[&issue[..], &["bound", "--client", &client, "--ip", "10.0.0.0/8"]].concat());
    let list = folder.ok(&["key", "list"]);
    let row = |name: &str| -> Vec<String> {
        let line = list.lines().find(|it| it.contains(name)).unwrap();
        line.split("  ").filter(|it| !it.is_empty()).map(|it| it.trim().to_owned()).collect()
    };
    assert_eq!(row("free")[4..7], ["all", "any", "5000/5000/10000"], "{list}");
    assert_eq!(row("bound")[4..7], [&*client, "10.0.0.0/8", "60/1000/10000"], "{list}");
    let url = ["webhook", "add", "--url", "https://hooks.example.com/x", "--event", "all"];
    let shown = folder.ok(&url);
    for name in ["events", "clients"] {
        let line = shown.lines().find(|it| it.starts_with(name)).unwrap();
        assert_eq!(line.split_whitespace().last(), Some("all"), "{shown}");
    }
}

#[test]
fn a_check_without_a_configuration_says_so() {
    let folder = Folder::new();
    std::fs::remove_file(folder.path().join("posture.toml")).unwrap();
    let said = folder.ok(&["config", "check"]);
    assert_eq!(said, "no configuration file was found; the defaults apply\n");
}

/// A folder whose server scans itself, one scan at a time, so slowly that no scan ends.
fn scanning() -> Folder {
    let folder = Folder::new();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n\
                [scan]\nallowed_networks = [\"127.0.0.0/8\"]\npackets_per_s = 1\nconcurrent = 1\n";
    folder.write("posture.toml", text.as_bytes());
    folder
}

/// Waits until a process handles Ctrl-C itself.
fn wait_for_handler(id: u32) {
    const SIGINT: u32 = 2;
    let is_handled = || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let caught = status.lines().find_map(|it| it.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (SIGINT - 1)) != 0
    };
    assert!(wait_until(Duration::from_mins(1), is_handled));
}

#[test]
fn waiting_for_a_scan_that_ends_early_names_the_scan() {
    let folder = scanning();
    let server = folder.serve();
    let client = folder.client("A");
    let args = ["scan", "start", "--wait", "--client", &client, "127.9.0.0/24", "--ports", "1-100"];
    let wait_for_scan = |n: usize| {
        let all = || folder.json(&["scan", "list"])["data"].as_array().unwrap().clone();
        let is_there = wait_until(Duration::from_mins(1), || all().len() == n);
        assert!(is_there);
        all()[0]["id"].as_str().unwrap().to_owned()
    };
    let start = || folder.command(&args).stderr(Stdio::piped()).spawn().unwrap();
    let waiting = start();
    let id = wait_for_scan(1);
    wait_for_handler(waiting.id());
    signal(waiting.id(), "-INT");
    let done = waiting.wait_with_output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("scan {id} goes on")), "{said}");
    assert!(said.contains(&format!("posture scan cancel {id}")), "{said}");
    folder.ok(&["scan", "cancel", &id]);

    let waiting = start();
    let id = wait_for_scan(2);
    wait_for_handler(waiting.id());
    server.kill();
    let done = waiting.wait_with_output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!((done.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains(&format!("the server stopped before scan {id} ended")), "{said}");
}

#[test]
fn the_list_of_scans_has_all_of_them_beyond_a_page() {
    let folder = scanning();
    let _server = folder.serve();
    assert_eq!(folder.ok(&["scan", "list"]), "no scans\n");
    let headers = [("Content-Type", "application/json")];
    let send = |path: &str, body: &Value| {
        send_socket(&folder.socket(), "POST", path, &headers, body.to_string().as_bytes())
    };
    let start = |client: &str| {
        let answer = send("/api/scan", &json!({ "clientId": client, "targets": ["127.9.0.0/16"] }));
        assert_eq!(answer.status, 202, "{}", answer.text());
        answer.json()["data"]["id"].as_str().unwrap().to_owned()
    };
    // It has the only place: the others wait, and a scan that waits is canceled at once.
    start(&folder.client("A"));
    for client in [folder.client("B"), folder.client("C"), folder.client("D")] {
        for _ in 0..35 {
            let canceled = send(&format!("/api/scan/{}/cancel", start(&client)), &json!({}));
            assert_eq!(canceled.status, 200, "{}", canceled.text());
        }
    }
    assert_eq!(folder.json(&["scan", "list"])["data"].as_array().unwrap().len(), 106);
    assert_eq!(folder.ok(&["scan", "list"]).lines().count(), 107, "a heading and all");
}

#[test]
fn references_to_other_systems_are_set_and_removed() {
    let folder = Folder::new();
    let add =
        ["client", "add", "--name", "Acme", "--reference", "halo=1", "--reference", "itglue=2"];
    folder.ok(&add);
    let shown = |args: &[&str]| {
        let out = folder.ok(args);
        let line = out.lines().find(|it| it.starts_with("references ")).unwrap();
        line.trim_start_matches("references").trim().to_owned()
    };
    assert_eq!(shown(&["client", "show", "acme"]), "halo=1, itglue=2");
    let out = folder.ok(&["client", "set", "acme", "--profile", "aws=unused,m365=used"]);
    for line in ["uses          m365\n", "does not use  aws\n"] {
        assert!(out.contains(line), "{out}");
    }
    assert_eq!(shown(&["client", "set", "acme", "--reference", "halo=3=x"]), "halo=3=x");
    assert_eq!(shown(&["client", "set", "acme", "--reference", ""]), "-");
}

#[test]
fn headers_of_a_webhook_come_from_the_command_or_from_a_file() {
    let folder = Folder::new();
    let add = ["webhook", "add", "--url", "https://hooks.example.com/x", "--event", "all"];
    let with = |args: &[&str]| folder.json(&[&add[..], args].concat())["data"].clone();
    let made = with(&["--header", "Authorization: Basic cG9z"]);
    assert_eq!(made["headers"], json!(["Authorization"]));
    folder.write("headers.txt", b"X-Tenant: 7\n\nAuthorization:Bearer a:b\n");
    assert_eq!(
        with(&["--header-file", "headers.txt"])["headers"],
        json!(["X-Tenant", "Authorization"])
    );
    let id = made["id"].as_str().unwrap();
    let set =
        |args: &[&str]| folder.json(&[&["webhook", "set", id], args].concat())["data"].clone();
    assert_eq!(set(&["--header", ""])["headers"], json!([]));
    let fed =
        folder.feed(&["webhook", "set", id, "--header-file", "-", "--json"], "X-Key: secret\n");
    assert!(fed.out.contains("X-Key") && !fed.out.contains("secret"), "{}", fed.out);
    let bad = folder.run(&[&add[..], &["--header", "s3cret", "--client", "Nobody"]].concat());
    assert_eq!(refusal(&bad), "a header must have the form NAME:VALUE", "before any request");
    let absent = folder.run(&[&add[..], &["--header-file", "absent"]].concat());
    assert!(refusal(&absent).contains("cannot read absent"));
    let long = format!("X-Key: {}\n", "x".repeat(64 * 1024));
    for (text, says) in [
        ("", "standard input has no header; to remove all headers, pass --header ''"),
        ("\n \n", "standard input has no header; to remove all headers, pass --header ''"),
        (&*long, "standard input: must have at most 65536 bytes"),
    ] {
        let fed = folder.feed(&["webhook", "set", id, "--header-file", "-"], text);
        assert_eq!(refusal(&fed), says);
    }
    folder.write("empty", b"");
    let empty = folder.run(&["webhook", "set", id, "--header-file", "empty"]);
    assert!(refusal(&empty).starts_with("empty has no header"), "{}", empty.err);
    let kept = folder.json(&["webhook", "list"])["data"].clone();
    let kept = kept.as_array().unwrap().iter().find(|it| it["id"] == id).unwrap();
    assert_eq!(kept["headers"], json!(["X-Key"]), "a refusal removes no header");
}

#[test]
fn a_list_of_users_names_what_an_empty_list_of_clients_means() {
    let folder = Folder::new();
    folder.ok(&["user", "add", "--email", "ada@example.com", "--role", "viewer"]);
    for args in [&["user", "list"][..], &["user", "set", "ada@example.com", "--name", "Ada"]] {
        let out = folder.ok(args);
        assert!(out.split_whitespace().any(|it| it == "all"), "{out}");
    }
}
