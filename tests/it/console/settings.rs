//! The settings of the service: what is set in the browser, and what the file alone has.

use std::fs;

use serde_json::{Value, json};

use super::browser::{Browser, PASSWORD};
use crate::harness::Answer;
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Server};

const SVG: &[u8] = b"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"4\" height=\"4\"/>";
const LOGO_BYTES_MAX: usize = 240 * 1024;

/// An installation with a name in its file, and its administrator.
fn start() -> (Folder, Server, Browser) {
    let folder = Folder::new();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[msp]\nname = \"From the file\"\n";
    folder.write("posture.toml", text.as_bytes());
    let server = folder.serve();
    let body = json!({
        "email": "ada@example.com", "username": "ada", "role": "admin", "password": PASSWORD,
        "clientIds": [],
    });
    let json = [("Content-Type", "application/json")];
    let made =
        send_socket(&folder.socket(), "POST", "/api/users", &json, body.to_string().as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    let browser = Browser::signed_in(server.address, "ada");
    (folder, server, browser)
}

fn set(browser: &mut Browser, key: &str, value: &str) -> Answer {
    let token = browser.token("/settings");
    browser.post(&format!("/settings/{key}"), &[("token", &*token), ("value", value)])
}

fn reset(browser: &mut Browser, key: &str) {
    let token = browser.token("/settings");
    let done = browser.post(&format!("/settings/{key}/reset"), &[("token", &*token)]);
    assert_eq!(done.header("location"), Some("/settings?done=remove-setting"), "{}", done.text());
}

/// A setting as the API has it.
fn setting(folder: &Folder, key: &str) -> Value {
    let all = folder.ask("/api/settings")["data"].as_array().unwrap().clone();
    all.into_iter().find(|it| it["key"] == key).unwrap()
}

#[test]
fn a_name_and_a_logo_that_are_set_in_the_browser_are_on_reports() {
    let (folder, server, mut browser) = start();
    let report = |browser: &Browser| browser.get("/files/portfolio?format=html&language=en").text();
    let page = browser.get("/settings").text();
    assert!(page.contains("value=\"From the file\"") && page.contains("posture.toml:"), "{page}");
    assert!(report(&browser).contains("Prepared by From the file"));
    let longest = "ä".repeat(100);
    assert_eq!(set(&mut browser, "msp.name", &longest).status, 303);
    let refused = set(&mut browser, "msp.name", &format!("{longest}x"));
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("one line of 1 to 100 characters"), "{}", refused.text());
    assert_eq!(set(&mut browser, "msp.name", "North \"&\" West").status, 303);
    let page = browser.get("/settings").text();
    assert!(page.contains("value=\"North &quot;&amp;&quot; West\""), "{page}");
    assert!(page.contains("set here by ada@example.com"), "{page}");

    let token = browser.token("/settings");
    let upload = |browser: &Browser, file: &[u8]| {
        browser.upload("/settings/logo", &[("token", &*token)], ("logo", file))
    };
    let mut largest = SVG.to_vec();
    largest.resize(LOGO_BYTES_MAX, b' ');
    let too_large = [&*largest, b" "].concat();
    for (file, said) in [(&b"GIF89a"[..], "must be a PNG or an SVG file"), (&too_large, "240 KiB")]
    {
        let refused = upload(&browser, file);
        assert!(matches!(refused.status, 400 | 413), "{}", refused.text());
        assert!(refused.text().contains(said), "{}", refused.text());
    }
    assert_eq!(browser.get("/files/logo").status, 404);
    for file in [&*largest, SVG] {
        let answer = upload(&browser, file);
        assert_eq!(answer.header("location"), Some("/settings?done=set-logo"), "{}", answer.text());
        let logo = browser.get("/files/logo");
        assert_eq!(logo.header("content-type"), Some("image/svg+xml"));
        assert!(logo.header("content-disposition").unwrap().starts_with("attachment"));
        assert_eq!(logo.body, file);
    }
    assert!(report(&browser).contains("data:image/svg+xml;base64,"));

    // It is kept, and removed again.
    assert!(server.stop().success());
    let server = folder.serve();
    let mut browser = Browser::signed_in(server.address, "ada");
    assert!(report(&browser).contains("Prepared by North &quot;&amp;&quot; West"));
    for key in ["msp.name", "msp.logo"] {
        reset(&mut browser, key);
    }
    let after = report(&browser);
    assert!(after.contains("Prepared by From the file") && !after.contains("data:image"));
    let log = folder.ask("/api/audit?limit=100").to_string();
    for action in ["PUT /api/settings/{key}", "DELETE /api/settings/{key}", "PUT /api/logo"] {
        assert!(log.contains(action), "{action}: {log}");
    }
}

#[test]
fn backups_are_scheduled_in_the_browser() {
    let (folder, _server, mut browser) = start();
    let page = browser.get("/settings").text();
    assert!(page.contains("No backup is made: there is no folder for them."), "{page}");
    let elsewhere = set(&mut browser, "backup.dir", "/tmp");
    assert!(elsewhere.text().contains("must be backups, the folder of this name"));
    for (key, refused, taken) in [
        ("backup.every_h", ["0", "745"], ["1", "744"]),
        ("backup.keep", ["0", "1001"], ["1000", "1"]),
    ] {
        for value in refused {
            let answer = set(&mut browser, key, value);
            assert!(answer.text().contains("must be a whole number from 1 to"), "{key} {value}");
        }
        for value in taken {
            assert_eq!(set(&mut browser, key, value).status, 303, "{key} {value}");
        }
    }
    assert_eq!(set(&mut browser, "backup.dir", "backups").status, 303);
    // Two at least: the schedule may be first with one. One is kept.
    for _ in 0..2 {
        let token = browser.token("/system");
        browser.post("/system/backup", &[("token", &*token)]);
    }
    let dir = folder.path().join("data/backups");
    let names = || fs::read_dir(&dir).unwrap().flatten().count();
    assert!(
        crate::harness::process::wait_until(std::time::Duration::from_secs(30), || names() == 1)
    );
    let state = folder.ask("/api/backups")["data"].clone();
    assert!(state["nextAt"].is_string() && state["lastBackup"].is_object(), "{state}");
    reset(&mut browser, "backup.dir");
    assert_eq!(folder.ask("/api/backups")["data"]["nextAt"], Value::Null);
}

#[test]
fn every_option_is_shown_and_says_why_it_is_in_the_file_alone() {
    let (folder, _server, browser) = start();
    let all = folder.ask("/api/settings")["data"].as_array().unwrap().clone();
    let shown = folder.ok(&["config", "show"]);
    let (mut section, mut keys) = ("", Vec::new());
    for line in shown.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        }
        let key = line.trim_start_matches("# ").split([' ', '=']).next().unwrap();
        let is_key = line.contains(" = ") || line.ends_with(" is not set");
        keys.extend((is_key && !section.is_empty()).then(|| format!("{section}.{key}")));
    }
    let listed: Vec<&str> = all.iter().map(|it| it["key"].as_str().unwrap()).collect();
    assert_eq!(listed, keys);
    let page = browser.get("/settings").text();
    for it in &all {
        let (key, reason) = (it["key"].as_str().unwrap(), &it["reason"]);
        assert!(page.contains(&format!("<code>{key}</code>")), "{key}");
        assert_eq!(it["settable"] == true, reason.is_null(), "{it}");
        assert_ne!(reason, "It is read at the start.", "{key} has no reason of its own");
        let (path, json) = (format!("/api/settings/{key}"), [("Content-Type", "application/json")]);
        let refused = send_socket(&folder.socket(), "PUT", &path, &json, b"{\"value\": \"\"}");
        assert_eq!(refused.status, 400, "{key}: {}", refused.text());
    }
    assert_eq!(setting(&folder, "server.listen")["source"], "file");
    assert_eq!(setting(&folder, "log.level")["source"], "default");
}
