//! API keys: list, issue, change, rotate, revoke.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::wire::body::{Body, Change, example, present};
use crate::api::wire::input::{ClientIds, Words};
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, Null};
use crate::api::wire::view::{End, ScopeView, Uid, When};
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::access::key::{GRACE_S, KeyChange, NewKey};
use crate::auth::key::KeyText;
use crate::auth::keyring::HeldKey;
use crate::clock::zone::Zone;
use crate::error::{Error, Result};
use crate::id::KeyId;
use crate::store::global::key::Scope;

/// An API key without its secret.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ApiKey")]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    id: Uid,
    name: String,
    /// The second part of the key's text. It identifies the key and is not secret.
    prefix: String,
    scopes: Vec<ScopeView>,
    /// Clients that the key may access. Empty: all clients.
    client_ids: Vec<Uid>,
    /// Networks in CIDR notation that the key may be used from. Empty: any network.
    networks: Vec<String>,
    per_minute: u32,
    per_hour: u32,
    per_day: u32,
    /// The label under which the key's assets and facts are stored.
    source: String,
    /// Null: the key does not expire.
    expires_at: Null<When>,
    created_at: When,
    last_used_at: Null<When>,
    revoked_at: Null<When>,
    /// Until when the secret before the last rotation was or is valid. Null: the key was never rotated.
    previous_until: Null<When>,
    /// The complete key. It is shown only in this response.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl KeyView {
    fn of(app: &App, held: &HeldKey, text: Option<&KeyText>) -> Self {
        let key = &held.key;
        Self {
            id: Uid::of(key.id.as_bytes()),
            name: key.name.clone(),
            prefix: key.prefix.clone(),
            scopes: key.scopes.iter().map(|it| ScopeView(*it)).collect(),
            client_ids: key.clients.iter().map(|it| Uid::of(it.as_bytes())).collect(),
            networks: key.networks.clone(),
            per_minute: key.per_minute,
            per_hour: key.per_hour,
            per_day: key.per_day,
            source: key.source.clone(),
            expires_at: key.expires_at.map(When).into(),
            created_at: When(key.created_at),
            last_used_at: app.access.limiter.last_used_at(key.id).map(When).into(),
            revoked_at: key.revoked_at.map(When).into(),
            previous_until: key.previous.as_ref().map(|it| When(it.until)).into(),
            key: text.map(|it| it.reveal().to_owned()),
        }
    }
}

/// An API key to issue.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ApiKeyCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewKeyBody {
    #[schemars(length(min = 1, max = 200))]
    name: String,
    scopes: Words<ScopeView>,
    /// Clients that the key may access. Empty or absent: all clients.
    #[serde(default, deserialize_with = "present")]
    client_ids: Option<ClientIds>,
    /// Networks in CIDR notation that the key may be used from. Empty or absent: any network.
    #[schemars(length(max = 100))]
    #[serde(default, deserialize_with = "present")]
    networks: Option<Vec<String>>,
    /// Default: `limits.per_minute` in the configuration, or less if a longer window allows less. A longer window must not
    /// allow less than a shorter one.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[serde(default, deserialize_with = "present")]
    per_minute: Option<u32>,
    /// Default: `limits.per_hour` in the configuration, or what the other two windows leave possible.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[serde(default, deserialize_with = "present")]
    per_hour: Option<u32>,
    /// Default: `limits.per_day` in the configuration, or more if a shorter window allows more.
    #[schemars(range(min = 1, max = 100_000_000))]
    #[serde(default, deserialize_with = "present")]
    per_day: Option<u32>,
    /// Null or absent: the key does not expire.
    #[serde(default)]
    expires_at: Null<End>,
    /// The label under which the key's assets and facts are stored. It cannot be changed later. Default: the key's name.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    source: Option<String>,
}

example!(NewKeyBody, {
    "name": "bi-dashboard",
    "scopes": ["read:clients", "read:scores", "read:compliance"],
    "networks": ["198.51.100.0/24"],
});

impl NewKeyBody {
    fn new_key(self, zone: &Zone) -> NewKey {
        NewKey {
            name: self.name,
            scopes: scopes(self.scopes),
            clients: self.client_ids.map(|it| it.0).unwrap_or_default(),
            networks: self.networks.unwrap_or_default(),
            quota: [self.per_minute, self.per_hour, self.per_day],
            expires_at: self.expires_at.0.map(|it| it.0.at(zone)),
            source: self.source,
        }
    }
}

/// Each scope once, in the order of the request.
fn scopes(words: Words<ScopeView>) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for ScopeView(scope) in words.0 {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes
}

/// What to change of an API key. Absent fields stay as they are.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "ApiKeyChange")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub struct KeyBody {
    #[schemars(length(min = 1, max = 200))]
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    #[serde(deserialize_with = "present")]
    scopes: Option<Words<ScopeView>>,
    /// Clients that the key may access. Empty: all clients.
    #[serde(deserialize_with = "present")]
    client_ids: Option<ClientIds>,
    /// Networks in CIDR notation that the key may be used from. Empty: any network.
    #[schemars(length(max = 100))]
    #[serde(deserialize_with = "present")]
    networks: Option<Vec<String>>,
    #[schemars(range(min = 1, max = 100_000_000))]
    #[serde(deserialize_with = "present")]
    per_minute: Option<u32>,
    #[schemars(range(min = 1, max = 100_000_000))]
    #[serde(deserialize_with = "present")]
    per_hour: Option<u32>,
    #[schemars(range(min = 1, max = 100_000_000))]
    #[serde(deserialize_with = "present")]
    per_day: Option<u32>,
    /// Null: the key does not expire.
    expires_at: Change<End>,
    /// Not documented, because it cannot change. It is read so that the error can say why.
    #[schemars(skip)]
    #[serde(deserialize_with = "present")]
    source: Option<String>,
}

example!(KeyBody, {"perMinute": 120, "expiresAt": "2027-01-01T00:00:00Z"});

impl KeyBody {
    fn change(self, zone: &Zone) -> Result<KeyChange> {
        if self.source.is_some() {
            let rule = "cannot be changed, because assets are stored under it; issue another key";
            return Err(Error::invalid_field("source", rule));
        }
        Ok(KeyChange {
            name: self.name,
            scopes: self.scopes.map(scopes),
            clients: self.client_ids.map(|it| it.0),
            networks: self.networks,
            quota: [self.per_minute, self.per_hour, self.per_day],
            expires_at: self.expires_at.0.map(|it| it.map(|it| it.0.at(zone))),
        })
    }
}

/// How to rotate an API key.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ApiKeyRotation")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct KeyRotationBody {
    /// For how many seconds the old secret remains valid. 0: it stops working now. Default: 86400, one day.
    #[schemars(range(min = 0, max = 2_592_000))]
    #[serde(default, deserialize_with = "present")]
    grace_s: Option<u32>,
}

example!(KeyRotationBody, {"graceS": 3600});

pub struct Keys;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Keys {
    /// List API keys
    ///
    /// Includes revoked and expired keys, oldest first.
    #[oai(path = "/keys", method = "get", operation_id = "list_keys")]
    async fn list_keys(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Data<Vec<KeyView>>, Failure> {
        let keys = web.app.access.keyring.list();
        let views: Vec<_> = keys.iter().map(|it| KeyView::of(&web.app, it, None)).collect();
        Ok(Data::of(&views))
    }

    /// Issue an API key
    ///
    /// The response contains the complete key. It is not shown again.
    #[oai(path = "/keys", method = "post", operation_id = "issue_key")]
    async fn issue_key(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<NewKeyBody>,
    ) -> Result<Made<KeyView>, Failure> {
        let new = body.read()?.new_key(&web.app.time_zone());
        let (held, text) = web.app.issue_key(&by.0, new).await?;
        Ok(Made::Added(KeyView::of(&web.app, &held, Some(&text))))
    }

    /// Change an API key
    ///
    /// Takes effect with the next request. The secret stays the same.
    #[oai(path = "/keys/:keyId", method = "patch", operation_id = "change_key")]
    async fn change_key(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "keyId")] key_id: Path<Raw<Id>>,
        body: Body<KeyBody>,
    ) -> Result<Data<KeyView>, Failure> {
        let change = || body.read()?.change(&web.app.time_zone());
        let held = web.app.change_key(&by.0, key_id.read()?, change).await?;
        Ok(Data::of(&KeyView::of(&web.app, &held, None)))
    }

    /// Rotate an API key
    ///
    /// Gives the key a new secret, which is shown only in this response. Id, scopes and limits stay as they are.
    #[oai(path = "/keys/:keyId/rotate", method = "post", operation_id = "rotate_key")]
    async fn rotate_key(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "keyId")] key_id: Path<Raw<Id>>,
        body: Body<KeyRotationBody>,
    ) -> Result<Made<KeyView>, Failure> {
        let grace_s = || Ok(body.read()?.grace_s.unwrap_or(GRACE_S));
        let (held, text) = web.app.rotate_key(&by.0, key_id.read()?, grace_s).await?;
        Ok(Made::Known(KeyView::of(&web.app, &held, Some(&text))))
    }

    /// Revoke an API key
    ///
    /// Takes effect with the next request. The key stays in the list.
    #[oai(path = "/keys/:keyId", method = "delete", operation_id = "revoke_key")]
    async fn revoke_key(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "keyId")] key_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        web.app.revoke_key(&by.0, key_id.read::<KeyId>()?).await?;
        Ok(Gone)
    }
}
