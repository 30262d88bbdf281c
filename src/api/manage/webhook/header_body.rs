//! A header of an operator's own, as requests name it.

use poem_openapi::Object;
use serde::Deserialize;

use crate::api::wire::body::example;
use crate::app::webhook::header::WebhookHeader;

/// A header to send with each delivery. The value is stored encrypted and never shown again.
#[derive(Object, Deserialize)]
#[oai(rename = "WebhookHeader", example)]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub struct HeaderBody {
    /// Not `Host`, `Content-...`, `X-Service-...`, `Webhook-...` or a header of the connection.
    #[oai(validator(min_length = 1, max_length = 100))]
    name: String,
    #[oai(validator(min_length = 1, max_length = 2000))]
    value: String,
}

example!(HeaderBody, {"name": "Authorization", "value": "Basic cG9zdHVyZTpzZWNyZXQ="});

impl HeaderBody {
    pub fn all(headers: Vec<Self>) -> Vec<WebhookHeader> {
        let header = |it: Self| WebhookHeader { name: it.name, value: it.value };
        headers.into_iter().map(header).collect()
    }
}
