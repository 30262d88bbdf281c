//! The contract's operations, one file each, and what they have in common.

mod conventions;
mod create_asset;
mod get_client;
mod get_compliance;
mod get_scores;
mod list_assets;
mod list_clients;
mod list_compliance;
mod list_risks;
mod update_asset;

use serde_json::{Value, json};

use crate::harness::{Answer, Posture, sample};
use posture::clock::Time;

const ASSET: &[(&str, &str)] = &[
    ("id", "uuid"),
    ("name", "string"),
    ("displayName", "string?"),
    ("category", "string?"),
    ("assetType", "string"),
    ("status", "string"),
    ("isCritical", "boolean"),
    ("isManaged", "boolean"),
    ("owner", "string?"),
    ("riskScore", "number?"),
    ("firstDiscoveredAt", "date-time"),
    ("lastUpdatedAt", "date-time"),
];

/// An id that nothing has.
const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

/// The contract's order.
const FRAMEWORKS: [&str; 11] = [
    "SOC2",
    "HIPAA",
    "PCI_DSS",
    "NIST_CSF",
    "ISO_27001",
    "CJIS",
    "CMMC_L1",
    "CMMC_L2",
    "FERPA",
    "PIPEDA",
    "LOI_25",
];

/// Fails unless the object has exactly these members, of these types; `?` allows null.
fn assert_shape(value: &Value, shape: &[(&str, &str)]) {
    let object = value.as_object().unwrap_or_else(|| panic!("an object: {value}"));
    let mut wanted: Vec<&str> = shape.iter().map(|(name, _)| *name).collect();
    wanted.sort_unstable();
    let mut found: Vec<&str> = object.keys().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, wanted);
    for (name, kind) in shape {
        let member = &value[*name];
        let is_null = kind.ends_with('?') && member.is_null();
        assert!(is_null || is_a(member, kind.trim_end_matches('?')), "{name}: {member}: {kind}");
    }
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "uuid" => value.as_str().is_some_and(is_uuid),
        "date-time" => value.as_str().is_some_and(is_moment),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "percent" => value.as_u64().is_some_and(|it| it <= 100),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => panic!("no type {kind}"),
    }
}

/// Lower case with hyphens.
fn is_uuid(text: &str) -> bool {
    let is_hex = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
    text.len() == 36
        && text.bytes().enumerate().all(|(at, it)| match at {
            8 | 13 | 18 | 23 => it == b'-',
            _ => is_hex(it),
        })
}

/// UTC, `Z`, milliseconds.
fn is_moment(text: &str) -> bool {
    text.len() == 24 && text.parse::<Time>().is_ok_and(|it| it.to_string() == text)
}

/// Fails unless the answer is a refusal with this status and code; its message.
fn assert_problem(answer: &Answer, status: u16, code: &str) -> String {
    let text = answer.text();
    let shown: String = text.chars().take(300).collect();
    assert_eq!(answer.status, status, "{shown}");
    let (found, message) = answer.problem();
    assert_eq!(found, code, "{shown}");
    assert!(!message.is_empty());
    message
}

/// Fails unless the answer is a 400 whose message and details name the field; what it says of it.
fn assert_invalid(answer: &Answer, field: &str) -> String {
    let message = assert_problem(answer, 400, "VALIDATION_ERROR");
    assert!(message.contains(field), "`{field}` in {message}");
    let body = answer.json();
    let details = body["error"]["details"].as_array();
    let details = details.unwrap_or_else(|| panic!("details about {field}: {body}"));
    let about = |it: &&Value| it["field"] == field;
    let found = details.iter().find(about).unwrap_or_else(|| panic!("no {field} in {body}"));
    found["message"].as_str().unwrap().to_owned()
}

/// The rows of a page.
fn rows(body: &Value) -> &Vec<Value> {
    body["data"].as_array().unwrap()
}

/// One member of every row, as text.
fn column(body: &Value, name: &str) -> Vec<String> {
    let text = |it: &Value| it[name].as_str().map_or_else(|| it[name].to_string(), str::to_owned);
    rows(body).iter().map(text).collect()
}

fn new_asset(client: &str, external_id: &str) -> Value {
    json!({
        "clientId": client, "name": external_id, "externalId": external_id, "assetType": "server",
    })
}

/// Pushes a new asset with some more members; what was answered.
fn push(posture: &Posture, key: &str, client: &str, external_id: &str, more: &Value) -> Value {
    let mut body = new_asset(client, external_id);
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = posture.send("POST", key, "/assets", &body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["data"].clone()
}

/// Imports one of our own samples as of now.
fn import_sample(posture: &Posture, client: &str, path: &str) {
    let answer = posture.import(client, "observedAt=now", &sample::own(path));
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
}

fn deactivate(posture: &Posture, client: &str) {
    let path = format!("/api/clients/{client}");
    let answer = posture.operator("PATCH", &path, &json!({"active": false}));
    assert_eq!(answer.status, 200, "{}", answer.text());
}
