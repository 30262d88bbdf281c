//! The API document as it is published: the operations, and the events as webhooks.

use poem_openapi::{OpenApi, OpenApiService};
use serde_json::{Map, Value, json};

use crate::app::event::schema;

/// The OpenAPI document as JSON, with a schema for each event type and what is sent for it under `x-webhooks`.
pub(super) fn of<T: OpenApi>(service: &OpenApiService<T, ()>) -> String {
    let mut document: Value = serde_json::from_str(&service.spec()).expect("the document is JSON");
    let mut webhooks = Map::new();
    for event in schema::all() {
        let name = format!("{}Event", type_name(event.kind.as_str()));
        webhooks.insert(event.kind.as_str().to_owned(), webhook(&name, &event));
        document["components"]["schemas"][&name] = event.body;
    }
    document["x-webhooks"] = Value::Object(webhooks);
    serde_json::to_string_pretty(&document).expect("the document is JSON")
}

/// `risk_item_created` -> `RiskItemCreated`.
fn type_name(kind: &str) -> String {
    let capitalized = |word: &str| word[..1].to_uppercase() + &word[1..];
    kind.split('_').map(capitalized).collect()
}

fn webhook(schema: &str, event: &schema::EventSchema) -> Value {
    let header = |name: &str, kind: &str, description: &str| {
        json!({
            "name": name,
            "in": "header",
            "required": true,
            "description": description,
            "schema": {"type": kind},
        })
    };
    let signature = "HMAC-SHA256 of the raw body with the webhook's secret, in lower-case hex.";
    json!({
        "post": {
            "summary": event.summary,
            "parameters": [
                header("X-Service-Signature", "string", signature),
                header("X-Service-Event-Id", "string", "The same in every attempt."),
                header("X-Service-Event-Type", "string", "The event type."),
                header("X-Service-Delivery-Attempt", "integer", "From 1."),
            ],
            "requestBody": {
                "required": true,
                "content": {
                    "application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}},
                },
            },
            "responses": {
                "2XX": {"description": "The event was received. Any other answer is retried."},
            },
        },
    })
}
