//! Made-up objects of events, for deliveries that test a receiver: each has what the schema of its type requires, because
//! a receiver may refuse what does not.

use serde_json::{Map, Value, json};

use super::schema;
use crate::clock::Time;
use crate::engine::event::EventKind;

/// A text of no special format.
const TEXT: &str = "test";
/// An id that nothing has.
const ID: &str = "00000000-0000-4000-8000-000000000000";

/// A made-up object of a type, without the members that the objects of all types have.
#[must_use]
pub fn object(kind: EventKind, now: Time) -> Map<String, Value> {
    let described = schema::all().into_iter().find(|it| it.kind == kind);
    let body = described.map(|it| it.body).unwrap_or_default();
    let object = value(&body["properties"]["data"]["properties"]["object"], now);
    let Value::Object(members) = object else { unreachable!("an event is about an object") };
    members
}

/// A value that a schema allows.
fn value(schema: &Value, now: Time) -> Value {
    let alternatives = ["anyOf", "oneOf", "allOf"].into_iter().find_map(|it| schema[it].as_array());
    if let Some(first) = alternatives.and_then(|it| it.first()) {
        return value(first, now);
    }
    let words = schema["enum"].as_array().into_iter().flatten();
    if let Some(word) = schema.get("example").or_else(|| words.into_iter().next()) {
        return word.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten();
            let member = |name: &str| (name.to_owned(), value(&schema["properties"][name], now));
            Value::Object(required.filter_map(Value::as_str).map(member).collect())
        }
        Some("array") => json!([value(&schema["items"], now)]),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(0)),
        Some("boolean") => json!(false),
        Some(_) | None => match schema["format"].as_str() {
            Some("date-time") => json!(now.to_string()),
            Some("uuid") => json!(ID),
            Some("uri") => json!("https://posture.example.com/"),
            Some(_) | None => json!(TEXT),
        },
    }
}
