//! What is known where something is missing: reading less is never more.

use std::collections::BTreeSet;

use posture::connect::device::Fact;
use posture::connect::mapping::Mapped;
use serde_json::{Value, json};

use super::{mapped, with};

const LINES: &str = r#"last_seen = { at = "/seen", time = "s" }
hostname = { at = "/host", optional = true }
firewall = { stream = "more", at = "/on" }
encrypted = "/enc"
join = [{ stream = "more", device = "/device" }]
[user]
stream = "orgs"
id = "/id"
name = "/id"
enabled = "/enabled"
mfa = "/mfa""#;

fn device() -> Value {
    json!({ "id": "a", "seen": 1000, "enc": true })
}

fn read(answers: &[(&str, Value)]) -> Mapped {
    mapped(&with(LINES), answers)
}

fn facts(mapped: &Mapped) -> Vec<Fact> {
    mapped.known.iter().copied().collect()
}

#[test]
fn with_everything_read_everything_is_known() {
    let more = json!([{ "device": "a", "on": true }]);
    let users = json!([{ "id": 1, "enabled": true, "mfa": false }]);
    let mapped = read(&[("devices", json!([device()])), ("more", more), ("orgs", users)]);
    assert_eq!(facts(&mapped), [Fact::LastSeen, Fact::Encryption, Fact::Firewall]);
    assert!(mapped.partial.is_empty() && mapped.unmapped.is_empty());
    assert_eq!(mapped.users.unwrap().len(), 1);
    assert_eq!(mapped.organizations, None, "this mapping has none");
}

#[test]
fn a_stream_that_was_not_read_takes_its_facts_with_it() {
    let mapped = read(&[("devices", json!([device()]))]);
    assert_eq!(facts(&mapped), [Fact::LastSeen, Fact::Encryption]);
    assert_eq!(mapped.devices.unwrap()[0].firewall, None);
    assert_eq!(mapped.users, None);
    let mapped = read(&[("more", json!([]))]);
    assert_eq!((mapped.devices, mapped.known), (None, BTreeSet::new()));
}

#[test]
fn a_field_that_no_row_has_makes_its_stream_partial() {
    let devices = json!([{ "id": "a", "seen": 1 }, { "id": "b", "seen": 2, "encrypted": true }]);
    let mapped = read(&[("devices", devices), ("more", json!([]))]);
    assert_eq!(mapped.partial["devices"], "field enc absent from 2 of 2 rows");
    assert_eq!(
        facts(&mapped),
        [Fact::LastSeen, Fact::Firewall],
        "an empty list has no field to miss"
    );
    let there = json!([{ "id": "a", "seen": 1 }, { "id": "b", "seen": 2, "enc": null }]);
    let mapped = read(&[("devices", there)]);
    assert!(mapped.partial.is_empty(), "null is a value");
}

#[test]
fn without_the_field_that_bounds_the_scope_nothing_is_known() {
    let mapped = read(&[("devices", json!([{ "id": "a", "enc": true }])), ("more", json!([]))]);
    assert_eq!(mapped.partial["devices"], "field seen absent from 1 of 1 rows");
    assert_eq!(facts(&mapped), []);
}

#[test]
fn rows_that_cannot_be_read_are_counted_and_nothing_is_known_by_their_stream() {
    let devices =
        json!([device(), { "id": null, "seen": 1, "enc": true }, "text", 5, null, { "id": "" }]);
    let mapped = read(&[("devices", devices), ("more", json!([]))]);
    assert_eq!(mapped.partial["devices"], "5 of 6 rows could not be read");
    assert_eq!(facts(&mapped), []);
    assert_eq!(mapped.devices.unwrap().len(), 1);
    let more = json!([{ "device": "a", "on": true }, { "on": false }]);
    let mapped = read(&[("devices", json!([device()])), ("more", more)]);
    assert_eq!(mapped.partial["more"], "1 of 2 rows could not be read");
    assert_eq!(facts(&mapped), [Fact::LastSeen, Fact::Encryption]);
}

#[test]
fn people_are_known_only_from_a_whole_list() {
    let users = |rows| read(&[("orgs", rows)]).users.map(|it| it.len());
    assert_eq!(users(json!([{ "id": 1, "enabled": true, "mfa": true }])), Some(1));
    assert_eq!(users(json!([{ "id": 1, "enabled": true, "mfa": true }, {}])), None);
    assert_eq!(users(json!([{ "id": 1, "enabled": true, "hasMfa": true }])), None);
    assert_eq!(users(json!([])), Some(0));
}

#[test]
fn many_different_words_are_counted_without_being_kept() {
    let lines = "firewall = { at = \"/a\", words = { on = true } }";
    let rows: Vec<Value> = (0..1_000).map(|n| json!({ "id": n, "a": format!("w{n}") })).collect();
    let mapped = mapped(&with(lines), &[("devices", Value::Array(rows))]);
    assert!(mapped.unmapped.len() <= 201, "{}", mapped.unmapped.len());
    assert_eq!(mapped.unmapped.values().sum::<u64>(), 1_000);
}
