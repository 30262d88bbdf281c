//! The apps that users gave access.

use posture::connect::google::{Snapshot, apps};
use posture::connect::reading::JudgedStatus::{NonCompliant, Partial};
use serde_json::{Value, json};

use super::workspace::{changed, check, status, token};

const MAIL: &str = "https://www.googleapis.com/auth/gmail.readonly";
const LOGIN: &str = "https://www.googleapis.com/auth/userinfo.email";

fn log(events: Vec<Value>) -> Snapshot {
    changed(|wire| wire["token_events"] = events.into())
}

fn granted(app: &str, who: &str, scopes: &[&str]) -> Value {
    token("authorize", app, who, "2026-11-01T08:00:00Z", scopes)
}

#[test]
fn apps_are_counted_by_user_until_they_are_revoked() {
    let revoked = |app: &str, who: &str, time: &str| token("revoke", app, who, time, &[]);
    let read = apps(&log(vec![
        revoked("Drawer", "ben", "2026-11-02T08:00:00Z"),
        granted("Drawer", "ben", &[LOGIN]),
        granted("Drawer", "cat", &[LOGIN]),
        granted("Drawer", "cat", &[MAIL]),
        granted("Notes", "ben", &[LOGIN]),
        revoked("Notes", "ben", "2026-11-01T08:00:00Z"),
        granted("Again", "ben", &[LOGIN]),
        revoked("Again", "ben", "2026-10-01T08:00:00Z"),
        token("activity", "Other", "ben", "2026-10-01T08:00:00Z", &[]),
    ]))
    .unwrap();
    let read: Vec<_> = read.iter().map(|it| (it.name.as_str(), it.n_users)).collect();
    assert_eq!(read, [("Again", 1), ("Drawer", 1)]);
    assert_eq!(apps(&log(vec![])), Some(vec![]));
    assert_eq!(apps(&Snapshot::default()), None);
}

#[test]
fn an_event_that_is_not_readable_leaves_nothing_known() {
    for (place, value) in [
        ("/id/time", json!("yesterday")),
        ("/actor/email", Value::Null),
        ("/events", json!("x")),
        ("/events/0/name", Value::Null),
        ("/events/0/parameters/0/name", json!("other")),
    ] {
        let mut event = granted("Drawer", "ben", &[LOGIN]);
        *event.pointer_mut(place).unwrap() = value;
        let snapshot = log(vec![granted("Notes", "ben", &[LOGIN]), event]);
        assert_eq!(apps(&snapshot), None, "{place}");
        assert_eq!(status(&snapshot, "connected_apps"), None, "{place}");
        assert_eq!(status(&snapshot, "high_risk_apps"), None, "{place}");
    }
}

#[test]
fn an_app_that_is_not_approved_fails() {
    let snapshot =
        log(vec![granted("some crm", "ben", &[MAIL]), granted("Drawer", "cat", &[LOGIN])]);
    check(&snapshot, "connected_apps", NonCompliant, "Drawer\n1 of 2 fail");
    check(
        &snapshot,
        "high_risk_apps",
        Partial,
        "every app with high-risk permissions that users connected is on the list",
    );
    let risky = log(vec![
        granted("SOME CRM", "ben", &[MAIL]),
        granted("Drawer\u{202e}", "cat", &[LOGIN, MAIL]),
    ]);
    check(&risky, "high_risk_apps", NonCompliant, "Drawer\\u{202e}\n1 of 2 fail");
    check(
        &log(vec![]),
        "connected_apps",
        Partial,
        "No third-party app that users connected is in Google's log",
    );
    check(&log(vec![]), "high_risk_apps", Partial, "goes back 180 days");
}

#[test]
fn what_an_app_may_do_is_told_by_its_scopes() {
    for (scope, is_high) in [
        ("https://mail.google.com/", true),
        ("https://www.googleapis.com/auth/drive", true),
        ("https://www.googleapis.com/auth/drive.file", false),
        ("https://www.googleapis.com/auth/drive.readonly", true),
        ("https://www.googleapis.com/auth/admin.directory.user", true),
        ("https://www.googleapis.com/auth/gmail.send", false),
        ("https://www.googleapis.com/auth/gmail.settings.basic", true),
        ("https://www.googleapis.com/auth/cloud-platform", true),
        ("openid", false),
    ] {
        let expected = if is_high { NonCompliant } else { Partial };
        let snapshot = log(vec![granted("Drawer", "ben", &[LOGIN, scope])]);
        assert_eq!(status(&snapshot, "high_risk_apps"), Some(expected), "{scope}");
    }
    let mut unknown = granted("Drawer", "ben", &[]);
    unknown["events"][0]["parameters"].as_array_mut().unwrap().pop();
    assert_eq!(status(&log(vec![unknown.clone()]), "high_risk_apps"), None);
    let both = log(vec![unknown, granted("some crm", "ben", &[MAIL])]);
    check(&both, "high_risk_apps", Partial, "Unknown for 1 more.");
}
