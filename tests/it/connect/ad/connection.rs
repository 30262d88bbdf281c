//! Active Directory through the front door.

use std::time::Duration;

use serde_json::Value;

use super::domain::World;
use super::server::Server;
use crate::harness::process::{Folder, wait_until};

const WAIT: Duration = Duration::from_mins(1);

fn configure(folder: &Folder, networks: &str) {
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[connect]\nallow_private_networks = [{networks}]\n"
    );
    folder.write("posture.toml", text.as_bytes());
}

/// A folder whose configuration allows loopback.
pub fn folder(password: &str) -> Folder {
    let folder = Folder::new();
    configure(&folder, "\"127.0.0.0/8\"");
    folder.write("password", password.as_bytes());
    folder
}

/// The id, once the first run has ended.
pub fn add(folder: &Folder, port: u16, user: &str) -> String {
    let (port, user) = (format!("port={port}"), format!("user={user}"));
    let add = [
        "connect",
        "add",
        "--no-wait",
        "ad",
        "--client",
        "Acme",
        "--set",
        "host=127.0.0.1",
        "--set",
        &port,
    ];
    let secret = ["--set", &user, "--set-file", "password=password"];
    let id = folder.ok(&[&add[..], &secret[..]].concat()).trim_end().to_owned();
    let mut now = Value::Null;
    let ran = || {
        now = shown(folder, &id);
        !now["lastRunAt"].is_null()
    };
    assert!(wait_until(WAIT, ran), "{now}");
    id
}

pub(super) fn shown(folder: &Folder, id: &str) -> Value {
    folder.ask(&format!("/api/connections/{id}"))["data"].clone()
}

pub(super) fn status(folder: &Folder, client: &str, code: &str) -> String {
    let posture = folder.ask(&format!("/api/clients/{client}/posture"));
    let all = posture["data"]["controls"].as_array().unwrap().clone();
    let found = all.into_iter().find(|it| it["controlCode"] == code).unwrap();
    found["status"].as_str().unwrap().to_owned()
}

/// Why the first stream was not read.
pub(super) fn reason(folder: &Folder, id: &str) -> String {
    let stream = shown(folder, id)["parts"][0]["streams"][0].clone();
    stream["reason"].as_str().unwrap_or_else(|| panic!("{stream}")).to_owned()
}

#[test]
fn a_domain_is_read_once_its_address_and_its_certificate_are_accepted() {
    let world = World::new();
    let server = Server::start(move |asked| world.answer(asked));
    let folder = folder("secret");
    configure(&folder, "");
    let serving = folder.serve();
    let client = folder.client("Acme");
    let id = add(&folder, server.address.port(), "reader@acme.test");
    let why = reason(&folder, &id);
    assert!(why.contains("`connect.allow_private_networks`") && why.contains("127.0.0.1"), "{why}");
    assert_eq!(shown(&folder, &id)["health"], "failing");
    assert!(serving.stop().success());

    configure(&folder, "\"127.0.0.0/8\"");
    let _serving = folder.serve();
    assert_eq!(folder.run(&["connect", "sync", &id]).code, 1);
    let why = reason(&folder, &id);
    assert!(
        why.contains("no trusted authority issued it") && why.contains("`fingerprint`"),
        "{why}"
    );
    assert!(server.asked().is_empty(), "no password was sent");
    let shown_there = why.split("SHA-256 fingerprint ").nth(1).unwrap().split('.').next().unwrap();
    folder.write("ca", server.pem.as_bytes());
    for trust in [["--set", &format!("fingerprint={shown_there}")], ["--set-file", "ca=ca"]] {
        let change = [&["connect", "set", &id], &trust[..]].concat();
        let refused = folder.run(&change);
        assert!(refused.err.contains("settings.password: is required again"), "{refused:?}");
        folder.ok(&[&change[..], &["--set", "password=secret"]].concat());
        folder.ok(&["connect", "sync", &id]);
    }
    let now = shown(&folder, &id);
    assert_eq!(now["health"], "healthy", "{now}");
    for (code, expected) in
        [("ID-07", "compliant"), ("ID-15", "non_compliant"), ("ID-25", "non_compliant")]
    {
        assert_eq!(status(&folder, &client, code), expected, "{code}");
    }
    let assets = folder.ask(&format!("/api/clients/{client}/posture"))["data"].clone();
    assert!(!assets.is_null());
    for elsewhere in ["host=evil.example", "port=6360"] {
        let trust = format!("fingerprint={shown_there}");
        let moved = folder.run(&["connect", "set", &id, "--set", elsewhere, "--set", &trust]);
        let rule = "settings.password: is required again";
        assert!(moved.code == 1 && moved.err.contains(rule), "{elsewhere}: {moved:?}");
    }
    let computers = folder.json(&["show", "Acme"]);
    assert!(computers.to_string().contains("\"ad\""), "{computers}");
    assert!(!(now.to_string() + &computers.to_string()).contains("\"secret\""));
}

#[test]
fn settings_that_cannot_be_right_are_refused() {
    let folder = folder("secret");
    let _server = folder.serve();
    folder.client("Acme");
    let good = ["host=dc1.acme.test", "user=reader@acme.test", "password=secret"];
    for (wrong, words) in [
        ("host=ldaps://dc1", "must be a host name or an IP address"),
        ("host=dc1:636", "must be a host name or an IP address"),
        ("port=0", "must be a port from 1 to 65535"),
        ("ca=none", "holds 0 certificates"),
        ("fingerprint=00:11", "must be a SHA-256 fingerprint"),
    ] {
        let mut args = vec!["connect", "add", "--no-wait", "ad", "--client", "Acme"];
        for it in good.iter().chain([&wrong]) {
            args.extend(["--set", it]);
        }
        let refused = folder.run(&args);
        let name = wrong.split('=').next().unwrap();
        assert!(refused.err.contains(&format!("settings.{name}")), "{}", refused.err);
        assert!(refused.err.contains(words), "{}", refused.err);
    }
}
