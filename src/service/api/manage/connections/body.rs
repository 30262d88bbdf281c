//! What is entered for connections.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::wire::body::{example, present};
use crate::api::wire::input::Ref;
use crate::app::connect::{ConnectionChange, NewConnection};
use crate::id::ClientId;

/// A connection to add.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ConnectionCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(super) struct NewConnectionBody {
    /// The client whose environment is read. Absent: it is your own tool, which sees many clients.
    #[serde(default, deserialize_with = "present")]
    client_id: Option<Ref<ClientId>>,
    /// A name of `list_connection_kinds`.
    kind: String,
    /// Of kind `dns`, the domains to read.
    #[schemars(length(min = 1, max = 100))]
    #[serde(default, deserialize_with = "present")]
    domains: Option<Vec<String>>,
    /// The fields of the kind, by name. Secret ones are kept sealed and never shown.
    #[serde(default, deserialize_with = "present")]
    settings: Option<BTreeMap<String, String>>,
    /// Default: what it reads.
    #[schemars(length(max = 200))]
    #[serde(default, deserialize_with = "present")]
    name: Option<String>,
}

example!(NewConnectionBody, {
    "clientId": "018f6f2e-7a53-7cc0-9b53-1f2a3c4d5e6f", "kind": "dns", "domains": ["example.com"],
});

impl NewConnectionBody {
    pub(super) fn new_connection(self) -> NewConnection {
        NewConnection {
            client: self.client_id.map(|it| it.0),
            kind: self.kind,
            name: self.name,
            domains: self.domains,
            settings: self.settings.unwrap_or_default(),
        }
    }
}

/// What to change of a connection. Absent fields stay as they are.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "ConnectionChange")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub(super) struct ConnectionBody {
    #[schemars(length(max = 200))]
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    /// All domains to read from now on. What was found of others is retracted.
    #[schemars(length(min = 1, max = 100))]
    #[serde(deserialize_with = "present")]
    domains: Option<Vec<String>>,
    /// Fields of the kind to change. Others stay as they are. An optional one that is blank is removed.
    #[serde(deserialize_with = "present")]
    settings: Option<BTreeMap<String, String>>,
    /// A paused connection does not run. What it found stays until it is too old to count.
    #[serde(deserialize_with = "present")]
    paused: Option<bool>,
}

example!(ConnectionBody, {"paused": true});

impl ConnectionBody {
    pub(super) fn change(self) -> ConnectionChange {
        ConnectionChange {
            name: self.name,
            domains: self.domains,
            settings: self.settings,
            is_paused: self.paused,
        }
    }
}
