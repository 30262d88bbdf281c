//! The OpenAPI document: what poem-openapi writes of the operations, in the order in which people read it, and the events
//! as webhooks. What poem-openapi says of all operations alike is taken from those of which it is not true.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::wire::kind::{TOO_LARGE, UNSUPPORTED_MEDIA_TYPE};
use super::{Group, service, wire};
use crate::app::event::schema;

/// The parts of the document. Each is passed through as poem-openapi wrote it, except for what is said here.
#[derive(Deserialize, Serialize)]
struct OpenApiDocument<'a> {
    #[serde(borrow)]
    openapi: &'a RawValue,
    info: &'a RawValue,
    /// The first is where programs that import the document send requests.
    servers: Vec<Server>,
    /// An operation without a requirement of its own, which is the login, needs no credential.
    #[serde(default)]
    security: [(); 0],
    /// In the order of [`Group`]; poem-openapi sorts them by name.
    tags: Vec<Tag>,
    /// The operations of each path, by method.
    #[serde(borrow)]
    paths: IndexMap<&'a str, IndexMap<&'a str, Operation<'a>>>,
    /// What is sent to a webhook, by event type.
    #[serde(default, rename = "x-webhooks")]
    webhooks: Map<String, Value>,
    /// With a schema for the body of each event type.
    components: Value,
}

#[derive(Deserialize, Serialize)]
struct Tag {
    name: String,
    description: String,
}

#[derive(Deserialize, Serialize)]
struct Server {
    url: String,
    description: String,
}

/// What poem-openapi writes of an operation, in its order.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Operation<'a> {
    #[serde(borrow)]
    tags: &'a RawValue,
    summary: &'a RawValue,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    description: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    request_body: Option<&'a RawValue>,
    /// By status.
    #[serde(borrow)]
    responses: IndexMap<&'a str, &'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    security: Option<&'a RawValue>,
    #[serde(rename = "operationId")]
    id: &'a RawValue,
}

impl Operation<'_> {
    /// Takes the answers about a body from an operation that has none.
    fn drop_answers_about_bodies(&mut self) {
        let about_bodies = [TOO_LARGE, UNSUPPORTED_MEDIA_TYPE];
        self.responses.retain(|status, _| {
            let is_about_bodies = about_bodies.iter().any(|it| it.status.as_str() == *status);
            self.request_body.is_some() || !is_about_bodies
        });
    }
}

/// The document as JSON. `public_url`: where the service is, without a slash at its end.
#[must_use]
pub fn write(public_url: Option<&str>) -> String {
    let written = service().spec();
    let mut document: OpenApiDocument<'_> =
        serde_json::from_str(&written).expect("poem-openapi writes these parts");
    if let Some(url) = public_url {
        let description = "server.public_url of the configuration".to_owned();
        document.servers.insert(0, Server { url: url.to_owned(), description });
    }
    let operations = document.paths.values_mut().flat_map(IndexMap::values_mut);
    operations.for_each(Operation::drop_answers_about_bodies);
    document.tags.sort_by_key(|it| Group::ORDER.iter().position(|name| *name == it.name));
    wire::schema::unpack(&mut document.components);
    for event in schema::all() {
        let name = format!("{}Event", type_name(event.kind.as_str()));
        let kind = event.kind.as_str().to_owned();
        document.webhooks.insert(kind, webhook(&name, &event.summary));
        document.components["schemas"][&name] = event.body;
    }
    drop_descriptions(&mut document.components);
    serde_json::to_string_pretty(&document).expect("the parts are JSON")
}

/// poem-openapi repeats the description of a member beside the reference to its type, as if it were a type too. Generators
/// of clients cannot join the two.
fn drop_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Array(parts)) = members.get_mut("allOf") {
                let is_text = |it: &Map<String, Value>| it.keys().all(|name| name == "description");
                parts.retain(|it| !it.as_object().is_some_and(is_text));
            }
            members.values_mut().for_each(drop_descriptions);
        }
        Value::Array(parts) => parts.iter_mut().for_each(drop_descriptions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

/// `risk_item_created` -> `RiskItemCreated`.
fn type_name(kind: &str) -> String {
    let capitalized = |word: &str| word[..1].to_uppercase() + &word[1..];
    kind.split('_').map(capitalized).collect()
}

fn webhook(schema: &str, summary: &str) -> Value {
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
            "summary": summary,
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
