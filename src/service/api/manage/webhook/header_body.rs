//! A header of an operator's own, as requests name it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::app::webhook::header::WebhookHeader;

/// A header to send with each delivery. The value is stored encrypted and never shown again.
#[derive(JsonSchema, Deserialize)]
#[schemars(
    rename = "WebhookHeader",
    extend("example" = {"name": "Authorization", "value": "Basic cG9zdHVyZTpzZWNyZXQ="})
)]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub struct HeaderBody {
    /// Not `Host`, `Content-...`, `X-Service-...`, `Webhook-...` or a header of the connection.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    #[schemars(length(min = 1, max = 2000))]
    value: String,
}

impl HeaderBody {
    pub fn all(headers: Vec<Self>) -> Vec<WebhookHeader> {
        let header = |it: Self| WebhookHeader { name: it.name, value: it.value };
        headers.into_iter().map(header).collect()
    }
}
