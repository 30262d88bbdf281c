//! How lists are read: pages, refusals that pass, and what is asked for.

use std::time::Duration;

use posture::connect::google::StreamKind::{self, AuditEvents, Customer, Domains, Users};
use posture::connect::reading::StreamState::{self, Complete, Denied};
use posture::connect::reading::{Group, Reading, Stream};
use serde_json::{Value, json};

use super::server::{Google, answer, error};
use super::workspace::user;

fn group<'a>(reading: &'a Reading, name: &str) -> &'a Group {
    reading.groups.iter().find(|it| it.scope == name).unwrap()
}

fn stream(reading: &Reading, kind: StreamKind) -> Stream {
    let mut all = reading.groups.iter().flat_map(|it| &it.streams);
    all.find(|it| it.name == kind.as_str()).unwrap().clone()
}

fn is_complete(reading: &Reading) -> bool {
    reading.groups.iter().flat_map(|it| &it.streams).all(|it| it.state == Complete)
}

fn wholes(reading: &Reading) -> Vec<&str> {
    reading.groups.iter().filter(|it| it.is_whole).map(|it| it.scope.as_str()).collect()
}

#[test]
fn every_user_is_read_to_the_last_page() {
    for n in [500, 501, 1_001] {
        let google = Google::start();
        let users: Vec<Value> = (0..n).map(|it| user(&it.to_string(), "/Staff")).collect();
        google.script.change(|wire| wire["users"] = json!(users));
        let read = google.read();
        assert!(is_complete(&read));
        assert_eq!(stream(&read, Users).n_rows, n);
        assert_eq!(group(&read, "directory").accounts.as_ref().unwrap().len() as u64, n);
        let pages = google.asked().iter().filter(|it| it.line.contains("/users?")).count();
        assert_eq!(pages as u64, n.div_ceil(500), "{n}");
    }
}

#[test]
fn what_passes_is_asked_again() {
    let soon = jiff::Timestamp::now() + Duration::from_secs(3);
    let date = soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let users: Vec<Value> = (0..501).map(|it| user(&it.to_string(), "/Staff")).collect();
    for (page, told) in [
        ("", answer(429, &[("Retry-After", "1")], "{}")),
        ("", answer(429, &[("Retry-After", &date)], "{}")),
        ("", answer(429, &[], "{}")),
        ("p500", error(403, "rateLimitExceeded", "x")),
        ("p500", error(403, "userRateLimitExceeded", "x")),
        ("", error(403, "quotaExceeded", "x")),
        ("p500", answer(503, &[("Retry-After", "1")], "")),
        ("p500", answer(401, &[], "{}")),
        ("", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{".to_vec()),
    ] {
        let google = Google::start();
        google.script.change(|wire| wire["users"] = json!(users));
        google.script.fail(Users, page, 1, told.clone());
        let read = google.read();
        assert_eq!((stream(&read, Users).state, stream(&read, Users).n_rows), (Complete, 501));
        let is_401 = told.starts_with(b"HTTP/1.1 401");
        let n_scopes = StreamKind::oauth_scopes().len();
        assert_eq!(google.n_tokens(), n_scopes + usize::from(is_401));
    }
}

#[test]
fn an_empty_page_of_a_log_is_not_its_end() {
    let google = Google::start();
    google.script.fail(AuditEvents, "", 1, answer(200, &[], r#"{"nextPageToken":"p0"}"#));
    let read = google.read();
    assert_eq!(stream(&read, AuditEvents).state, Complete);
    let judged = &group(&read, "logs").observations;
    assert!(judged.iter().any(|it| it.control == "LOG-01"), "{judged:?}");
}

#[test]
fn parts_that_lack_a_list_replace_nothing() {
    let google = Google::start();
    let all = ["directory", "settings", "apps", "logs", "devices"];
    assert_eq!(wholes(&google.read()), all);
    for (kind, missing) in [
        (StreamKind::Users, &["directory", "settings", "logs"][..]),
        (StreamKind::Policies, &["settings"]),
        (StreamKind::SsoAssignments, &["directory", "settings"]),
        (StreamKind::RoleAssignments, &["directory"]),
        (StreamKind::TokenEvents, &["apps"]),
        (StreamKind::AuditEvents, &["logs"]),
        (StreamKind::MobileDevices, &["devices"]),
        (StreamKind::ChromeDevices, &["devices"]),
        (StreamKind::TwoStepRemovals, &[]),
    ] {
        google.script.fail(kind, "*", usize::MAX, error(403, "forbidden", "x"));
        let read = google.read();
        let left: Vec<&str> = all.into_iter().filter(|it| !missing.contains(it)).collect();
        assert_eq!(wholes(&read), left, "{}", kind.as_str());
        let devices = group(&read, "devices");
        assert_eq!(devices.assets.is_none(), missing.contains(&"devices"));
        assert_eq!(group(&read, "directory").accounts.is_none(), missing.contains(&"directory"));
        google.script.mend();
    }
    google.script.change(|wire| wire["token_events"][0]["id"]["time"] = Value::Null);
    assert_eq!(wholes(&google.read()), ["directory", "settings", "logs", "devices"]);
}

#[test]
fn whose_organization_it_is_is_known_before_anything_is_read() {
    let states = |reading: &Reading| -> Vec<(String, StreamState)> {
        let all = reading.groups.iter().flat_map(|it| &it.streams);
        all.map(|it| (it.name.clone(), it.state)).collect()
    };
    let denied = || error(403, "forbidden", "x");
    // Without both, the address of the administrator says it.
    for (kinds, n_denied) in [(&[Customer][..], 1), (&[Domains], 1), (&[Customer, Domains], 2)] {
        let google = Google::start();
        for kind in kinds {
            google.script.fail(*kind, "*", usize::MAX, denied());
        }
        let read = states(&google.read());
        assert_eq!(read.iter().filter(|it| it.1 == Denied).count(), n_denied);
        assert_eq!(read.len(), StreamKind::ALL.len());
    }
    let google = Google::start();
    google.script.change(|wire| {
        wire["customer"]["customerDomain"] = "stranger.example".into();
        wire["domains"][0]["domainName"] = "stranger.example".into();
    });
    for (kind, words) in [
        (
            None,
            "root@example.com is of the organization stranger.example, which does not have the domain example.com",
        ),
        (
            Some(Customer),
            "root@example.com is of an organization, which does not have the domain example.com",
        ),
    ] {
        if let Some(kind) = kind {
            google.script.fail(kind, "*", usize::MAX, denied());
        }
        let read = google.read();
        assert_eq!(states(&read), [("sign_in".to_owned(), StreamState::Failed)]);
        let reason = &read.groups[0].streams[0].reason;
        assert!(reason.contains(words), "{reason}");
    }
    let lines: Vec<String> = google.asked().into_iter().map(|it| it.line).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
}

#[test]
fn nothing_but_what_is_used_is_asked_of_people() {
    let google = Google::start();
    google.read();
    let asked = google.asked();
    let lines: Vec<&str> = asked.iter().map(|it| it.line.as_str()).collect();
    assert!(lines.iter().all(|it| it.starts_with("GET /")), "{lines:?}");
    let users = lines.iter().find(|it| it.contains("/users?")).unwrap();
    for name in ["recovery", "phones", "addresses", "birth", "gender", "thumbnail"] {
        assert!(!users.contains(name), "{users}");
    }
    for part in ["/users?", "/roles?", "/roleassignments?", "/devices/", "/activity/", "/domains?"]
    {
        let of = lines.iter().filter(|it| it.contains(part));
        assert!(of.clone().count() > 0 && of.clone().all(|it| it.contains("fields=")), "{part}");
    }
    assert!(lines.iter().any(|it| it.contains("/orgunits?type=allIncludingParent")), "{lines:?}");
}
