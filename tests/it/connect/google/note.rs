//! What is shown and decides nothing.

use posture::connect::google::{Snapshot, notes};
use serde_json::{Value, json};

use super::workspace::{changed, event};

fn note(snapshot: &Snapshot, name: &str) -> Option<String> {
    notes(snapshot).into_iter().find(|it| it.0 == name).map(|it| it.1)
}

#[test]
fn the_organization_its_domains_and_removed_factors_are_shown() {
    let removed =
        |who: &str, time: &str| event("user_accounts", "2sv_disable", who, time, json!([]));
    let snapshot = changed(|wire| {
        let domain = json!({"domainName": "example.net", "verified": false});
        wire["domains"].as_array_mut().unwrap().push(domain);
        wire["two_step_removals"] =
            json!([removed("ben", "2026-11-01T08:00:00Z"), removed("cat", "2026-11-02T08:00:00Z")]);
    });
    assert_eq!(note(&snapshot, "customer").unwrap(), "example.com (C0123)");
    assert_eq!(note(&snapshot, "domains").unwrap(), "example.com, example.net (not verified)");
    let expected =
        "cat@example.com at 2026-11-02T08:00:00.000Z, ben@example.com at 2026-11-01T08:00:00.000Z";
    assert_eq!(note(&snapshot, "two_step_removed").unwrap(), expected);
    assert_eq!(note(&changed(|_| ()), "two_step_removed"), None);
    let odd = changed(|wire| {
        wire["customer"] = json!({"customerDomain": "a\u{202e}b"});
        wire["domains"] = Value::Null;
    });
    assert_eq!(note(&odd, "customer").unwrap(), "a\\u{202e}b (unknown)");
    assert_eq!(notes(&Snapshot::default()), []);
    assert_eq!(note(&odd, "domains"), None);
}
