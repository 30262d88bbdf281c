//! API keys: list, issue, change, rotate, revoke.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::Path;
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::wire::body::{Body, client_ids, nullable, present, time};
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, Null};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::access::key::{GRACE_S, KeyChange, NewKey};
use crate::auth::key::KeyText;
use crate::auth::keyring::Held as HeldKey;
use crate::error::{Error, Result};
use crate::id::KeyId;
use crate::store::global::key::Scope;

/// An API key without its secret.
#[derive(Object, Serialize)]
#[oai(rename = "ApiKey", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    id: Uid,
    name: String,
    /// The second part of the key's text, by which it is told from others.
    prefix: String,
    scopes: Vec<String>,
    /// Empty: all clients.
    client_ids: Vec<Uid>,
    /// Networks in CIDR notation from which it may be used. Empty: all.
    networks: Vec<String>,
    per_minute: u32,
    per_hour: u32,
    per_day: u32,
    /// The source under which its assets and facts are kept.
    source: String,
    expires_at: Null<When>,
    created_at: When,
    last_used_at: Null<When>,
    revoked_at: Null<When>,
    /// Until when the secret before the last rotation works.
    previous_until: Null<When>,
    /// The whole key. Shown this once.
    #[oai(skip_serializing_if_is_none)]
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
            scopes: key.scopes.iter().map(|it| it.as_str().to_owned()).collect(),
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

/// What a key may do. For a new key `name` and `scopes` are required; for a change absent fields stay.
#[derive(Object)]
#[oai(rename = "ApiKeyChange", rename_all = "camelCase")]
pub struct KeyDoc {
    #[oai(validator(max_length = 200))]
    name: Option<String>,
    scopes: Option<Vec<String>>,
    client_ids: Option<Vec<Uid>>,
    networks: Option<Vec<String>>,
    per_minute: Option<u32>,
    per_hour: Option<u32>,
    per_day: Option<u32>,
    /// RFC 3339; null: never.
    #[oai(nullable)]
    expires_at: Option<String>,
    /// Only for a new key. Default: its name.
    source: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
struct KeyBody {
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    #[serde(deserialize_with = "present")]
    scopes: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    client_ids: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    networks: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    per_minute: Option<u32>,
    #[serde(deserialize_with = "present")]
    per_hour: Option<u32>,
    #[serde(deserialize_with = "present")]
    per_day: Option<u32>,
    #[serde(deserialize_with = "nullable")]
    expires_at: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    source: Option<String>,
}

impl KeyBody {
    fn change(&self) -> Result<KeyChange> {
        let scope = |it: &String| it.parse::<Scope>().map_err(|error| error.about("scopes"));
        let expires_at = match &self.expires_at {
            None => None,
            Some(None) => Some(None),
            Some(Some(text)) => Some(Some(time("expiresAt", text)?)),
        };
        let all = |it: &Vec<String>| it.iter().map(scope).collect::<Result<Vec<_>>>();
        Ok(KeyChange {
            name: self.name.clone(),
            scopes: self.scopes.as_ref().map(all).transpose()?,
            clients: self.client_ids.as_deref().map(client_ids).transpose()?,
            networks: self.networks.clone(),
            quota: [self.per_minute, self.per_hour, self.per_day],
            expires_at,
        })
    }

    fn new_key(self) -> Result<NewKey> {
        let change = self.change()?;
        let required = |field| move || Error::invalid_field(field, "is required");
        Ok(NewKey {
            name: change.name.ok_or_else(required("name"))?,
            scopes: change.scopes.ok_or_else(required("scopes"))?,
            clients: change.clients.unwrap_or_default(),
            networks: change.networks.unwrap_or_default(),
            quota: change.quota,
            expires_at: change.expires_at.flatten(),
            source: self.source,
        })
    }
}

/// How to rotate a key.
#[derive(Object)]
#[oai(rename = "ApiKeyRotation", rename_all = "camelCase")]
pub struct RotationDoc {
    /// Seconds for which the old secret goes on working; 0: it stops now.
    #[oai(default = "grace_default")]
    grace_s: u32,
}

const fn grace_default() -> u32 {
    GRACE_S
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
struct RotationBody {
    #[serde(default = "grace_default")]
    grace_s: u32,
}

pub struct Keys;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Keys {
    /// List API keys
    ///
    /// Revoked and expired ones too, oldest first.
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
    /// The answer shows the whole key this once.
    #[oai(path = "/keys", method = "post", operation_id = "issue_key")]
    async fn issue_key(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        body: Body<KeyDoc>,
    ) -> Result<Made<KeyView>, Failure> {
        let new = body.read::<KeyBody>()?.new_key()?;
        let (held, text) = web.app.issue_key(new).await?;
        Ok(Made::Added(KeyView::of(&web.app, &held, Some(&text))))
    }

    /// Change an API key
    #[oai(path = "/keys/:keyId", method = "patch", operation_id = "change_key")]
    async fn change_key(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "keyId")] key_id: Path<Raw<Id>>,
        body: Body<KeyDoc>,
    ) -> Result<Data<KeyView>, Failure> {
        let id = web.app.get_key(key_id.read()?)?.key.id;
        let body = body.read::<KeyBody>()?;
        if body.source.is_some() {
            let rule = "stays for ever: assets are kept under it; issue another key";
            return Err(Error::invalid_field("source", rule).into());
        }
        let held = web.app.change_key(id, body.change()?).await?;
        Ok(Data::of(&KeyView::of(&web.app, &held, None)))
    }

    /// Rotate an API key
    ///
    /// Gives it a new secret, shown this once; id, scopes and limits stay.
    #[oai(path = "/keys/:keyId/rotate", method = "post", operation_id = "rotate_key")]
    async fn rotate_key(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "keyId")] key_id: Path<Raw<Id>>,
        body: Body<RotationDoc>,
    ) -> Result<Made<KeyView>, Failure> {
        let id = web.app.get_key(key_id.read()?)?.key.id;
        let RotationBody { grace_s } = body.read()?;
        let (held, text) = web.app.rotate_key(id, grace_s).await?;
        Ok(Made::Known(KeyView::of(&web.app, &held, Some(&text))))
    }

    /// Revoke an API key
    ///
    /// Acts on the next request. The key stays listed.
    #[oai(path = "/keys/:keyId", method = "delete", operation_id = "revoke_key")]
    async fn revoke_key(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "keyId")] key_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        web.app.revoke_key(key_id.read::<KeyId>()?).await?;
        Ok(Gone)
    }
}
