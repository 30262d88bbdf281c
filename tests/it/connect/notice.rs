//! Notices about what the managed service provider itself must mend.

use serde_json::Value;

use crate::harness::Posture;

/// The notices about credentials, as the system shows them.
fn notices(posture: &Posture) -> Vec<(String, String)> {
    posture.block_on(posture.app.note_connections()).unwrap();
    let system = posture.operator("GET", "/api/system", &Value::Null).json();
    let all = system["data"]["notices"].as_array().unwrap().iter();
    let all = all.filter(|it| it["kind"] == "credential_expiring");
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    all.map(|it| (text(&it["at"]), text(&it["message"]))).collect()
}

#[test]
fn a_credential_is_warned_about_from_thirty_days_before_its_end_until_it_is_renewed() {
    let posture = Posture::start(); // It is 2026-03-10T09:00:00Z.
    posture.set_microsoft_app("2026-04-10T09:00:00Z");
    assert_eq!(notices(&posture), []);
    posture.pass_days(1);
    let (at, message) = notices(&posture).remove(0);
    assert_eq!(at, "2026-03-11T09:00:00.000Z");
    let said = "the credential of the Microsoft app expires on 2026-04-10";
    assert!(message.starts_with(said) && message.contains("m365 renew"), "{message}");
    posture.pass_days(30);
    let (at, message) = notices(&posture).remove(0);
    assert_eq!(at, "2026-03-11T09:00:00.000Z");
    assert!(message.contains("app expired on 2026-04-10"), "{message}");
    posture.set_microsoft_app("2027-04-10T09:00:00Z");
    assert_eq!(notices(&posture), []);
}
