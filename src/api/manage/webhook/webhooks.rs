//! Webhook endpoints: register, change, rotate, test, look at deliveries, recover.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::{Path, Query};
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::manage::webhook::delivery_view::DeliveryView;
use crate::api::wire::body::{Body, client_ids, present, time};
use crate::api::wire::param;
use crate::api::wire::param::{Id, Limit, Raw, Sequence, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, Null};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::webhook::endpoint::{
    NewWebhook, OVERLAP_S, Recovered, Recovery, Shown, Tested, WebhookChange,
};
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::error::{Error, Result};
use crate::id::WebhookId;
use crate::store::global::webhook::WebhookState;
use crate::webhook::sign::SigningSecret;

/// An endpoint that events are sent to.
#[derive(Object, Serialize)]
#[oai(rename = "Webhook", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    id: Uid,
    url: String,
    description: String,
    /// Event types; empty: all.
    events: Vec<String>,
    /// Empty: all clients.
    client_ids: Vec<Uid>,
    enabled: bool,
    /// `operator`, `gone` (it answered 410), `failing` (nothing but failures for five days) or `queue_full`; null while
    /// it is enabled.
    disabled_because: Null<String>,
    disabled_at: Null<When>,
    /// The secret was sealed with a key that is not here: rotate it. Until then its queue waits.
    needs_secret: bool,
    /// Until when deliveries are signed with the secret before the last rotation too.
    previous_until: Null<When>,
    /// Deliveries that wait or are under way.
    waiting: u32,
    /// Failures since the last success.
    failures: u32,
    failing_since: Null<When>,
    last_success_at: Null<When>,
    last_failure_at: Null<When>,
    created_at: When,
    updated_at: When,
    /// The signing secret. Shown this once.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl WebhookView {
    fn of(shown: &Shown, secret: Option<&SigningSecret>) -> Self {
        let Shown { webhook, lane, needs_secret } = shown;
        let (disabled_because, disabled_at) = match webhook.state {
            WebhookState::Disabled { at, why } => (Some(why.as_str().to_owned()), Some(When(at))),
            WebhookState::Enabled { .. } | WebhookState::Removing => (None, None),
        };
        Self {
            id: Uid::of(webhook.id.as_bytes()),
            url: webhook.url.clone(),
            description: webhook.description.clone(),
            events: webhook.kinds.clone(),
            client_ids: webhook.clients.iter().map(|it| Uid::of(it.as_bytes())).collect(),
            enabled: webhook.is_enabled(),
            disabled_because: disabled_because.into(),
            disabled_at: disabled_at.into(),
            needs_secret: *needs_secret,
            previous_until: webhook.previous.as_ref().map(|it| When(it.until)).into(),
            waiting: lane.n_waiting,
            failures: lane.n_failures,
            failing_since: lane.failing_since.map(When).into(),
            last_success_at: lane.last_success_at.map(When).into(),
            last_failure_at: lane.last_failure_at.map(When).into(),
            created_at: When(webhook.created_at),
            updated_at: When(webhook.updated_at),
            secret: secret.map(|it| it.reveal().to_owned()),
        }
    }
}

/// Where to send which events. For a new endpoint `url` and `events` are required; for a change absent fields stay.
#[derive(Object)]
#[oai(rename = "WebhookChange", rename_all = "camelCase")]
pub struct WebhookDoc {
    /// `https:`, unless the configuration allows `http:` for its network.
    #[oai(validator(max_length = 2048))]
    url: Option<String>,
    #[oai(validator(max_length = 200))]
    description: Option<String>,
    /// Event types, or `all` alone.
    events: Option<Vec<String>>,
    /// Only events of these clients. Empty: of all.
    client_ids: Option<Vec<Uid>>,
    /// What waited when it was disabled is not sent on its own when it is enabled: recover it.
    enabled: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
struct WebhookBody {
    #[serde(deserialize_with = "present")]
    url: Option<String>,
    #[serde(deserialize_with = "present")]
    description: Option<String>,
    #[serde(deserialize_with = "present")]
    events: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    client_ids: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    enabled: Option<bool>,
}

impl WebhookBody {
    fn change(self) -> Result<WebhookChange> {
        Ok(WebhookChange {
            url: self.url,
            description: self.description,
            kinds: self.events.map(|it| kinds(&it)).transpose()?,
            clients: self.client_ids.as_deref().map(client_ids).transpose()?,
            enabled: self.enabled,
        })
    }

    fn new_webhook(self) -> Result<NewWebhook> {
        let change = self.change()?;
        let required = |field| move || Error::invalid_field(field, "is required");
        if change.enabled == Some(false) {
            return Err(Error::invalid_field("enabled", "a new webhook is enabled"));
        }
        Ok(NewWebhook {
            url: change.url.ok_or_else(required("url"))?,
            description: change.description.unwrap_or_default(),
            kinds: change.kinds.ok_or_else(required("events"))?,
            clients: change.clients.unwrap_or_default(),
        })
    }
}

/// Empty for `all`.
fn kinds(words: &[String]) -> Result<Vec<EventKind>> {
    if words == ["all"] {
        return Ok(Vec::new());
    }
    if words.is_empty() {
        return Err(Error::invalid_field("events", "name at least one event type, or `all`"));
    }
    let kind = |it: &String| it.parse::<EventKind>().map_err(|error| error.about("events"));
    words.iter().map(kind).collect()
}

/// How to rotate a secret.
#[derive(Object)]
#[oai(rename = "WebhookRotation", rename_all = "camelCase")]
pub struct RotationDoc {
    /// Seconds for which deliveries are signed with the old secret too; 0: no longer.
    #[oai(default = "overlap_default")]
    overlap_s: u32,
}

const fn overlap_default() -> u32 {
    OVERLAP_S
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
struct RotationBody {
    #[serde(default = "overlap_default")]
    overlap_s: u32,
}

/// Which event a test pretends to be.
#[derive(Object)]
#[oai(rename = "WebhookTest")]
pub struct TestDoc {
    /// One that the endpoint subscribes to. Default: its first.
    #[oai(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
struct TestBody {
    #[serde(rename = "type", default, deserialize_with = "present")]
    kind: Option<String>,
}

/// What the endpoint said to a test delivery.
#[derive(Object, Serialize)]
#[oai(rename = "WebhookTested", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct TestedView {
    event_id: String,
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: String,
    /// It answered 2xx.
    delivered: bool,
    status: Null<u16>,
    ms: u32,
    /// The beginning of the answer, or what went wrong.
    answer: String,
}

impl TestedView {
    fn of(tested: Tested) -> Self {
        let (status, answer) = tested.posted.told();
        Self {
            event_id: tested.event_id,
            kind: tested.kind.as_str().to_owned(),
            delivered: status.is_some_and(|it| (200..300).contains(&it)),
            status: status.into(),
            ms: tested.posted.ms,
            answer,
        }
    }
}

/// What to send again: one event by `sequence`, or what this endpoint did not get of a time range.
#[derive(Object)]
#[oai(rename = "WebhookRecovery", rename_all = "camelCase")]
pub struct RecoveryDoc {
    sequence: Option<u64>,
    /// RFC 3339. The first moment of the range.
    since: Option<String>,
    /// RFC 3339. The first moment behind it. Default: now.
    until: Option<String>,
    /// Goes on behind this sequence, as the last answer's `next` said.
    after: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
struct RecoveryBody {
    #[serde(deserialize_with = "present")]
    sequence: Option<u64>,
    #[serde(deserialize_with = "present")]
    since: Option<String>,
    #[serde(deserialize_with = "present")]
    until: Option<String>,
    #[serde(deserialize_with = "present")]
    after: Option<u64>,
}

impl RecoveryBody {
    fn resolve(self, now: Time) -> Result<Recovery> {
        match (self.sequence, self.since) {
            (Some(sequence), None) => Ok(Recovery::One(sequence)),
            (None, Some(since)) => Ok(Recovery::Range {
                since: time("since", &since)?,
                until: self.until.map_or(Ok(now), |it| time("until", &it))?,
                after: self.after.unwrap_or(0),
            }),
            _ => Err(Error::invalid_field("since", "give either sequence or since")),
        }
    }
}

/// What a recovery came to.
#[derive(Object, Serialize)]
#[oai(rename = "WebhookRecovered")]
pub struct RecoveredView {
    queued: u32,
    /// Ask again with this as `after`; null when the whole range was looked at.
    next: Null<u64>,
}

pub struct Webhooks;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Webhooks {
    /// List webhooks
    #[oai(path = "/webhooks", method = "get", operation_id = "list_webhooks")]
    async fn list_webhooks(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Data<Vec<WebhookView>>, Failure> {
        let all = web.app.list_webhooks().await?;
        Ok(Data::of(&all.iter().map(|it| WebhookView::of(it, None)).collect::<Vec<_>>()))
    }

    /// Register a webhook
    ///
    /// The answer shows the signing secret this once.
    #[oai(path = "/webhooks", method = "post", operation_id = "add_webhook")]
    async fn add_webhook(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        body: Body<WebhookDoc>,
    ) -> Result<Made<WebhookView>, Failure> {
        let new = body.read::<WebhookBody>()?.new_webhook()?;
        let (shown, secret) = web.app.add_webhook(new).await?;
        Ok(Made::Added(WebhookView::of(&shown, Some(&secret))))
    }

    /// Change a webhook
    #[oai(path = "/webhooks/:webhookId", method = "patch", operation_id = "change_webhook")]
    async fn change_webhook(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
        body: Body<WebhookDoc>,
    ) -> Result<Data<WebhookView>, Failure> {
        let id = webhook_id.read::<WebhookId>()?;
        web.app.get_webhook(id).await?;
        let change = body.read::<WebhookBody>()?.change()?;
        Ok(Data::of(&WebhookView::of(&web.app.change_webhook(id, change).await?, None)))
    }

    /// Remove a webhook
    ///
    /// Its deliveries go with it; events stay in the log.
    #[oai(path = "/webhooks/:webhookId", method = "delete", operation_id = "remove_webhook")]
    async fn remove_webhook(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        web.app.remove_webhook(webhook_id.read()?).await?;
        Ok(Gone)
    }

    /// Rotate a webhook's secret
    ///
    /// The answer shows the new secret this once. Until the overlap ends deliveries carry signatures of both.
    #[oai(
        path = "/webhooks/:webhookId/rotate-secret",
        method = "post",
        operation_id = "rotate_webhook"
    )]
    async fn rotate_webhook(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
        body: Body<RotationDoc>,
    ) -> Result<Made<WebhookView>, Failure> {
        let id = webhook_id.read::<WebhookId>()?;
        web.app.get_webhook(id).await?;
        let RotationBody { overlap_s } = body.read()?;
        let (shown, secret) = web.app.rotate_webhook(id, overlap_s).await?;
        Ok(Made::Known(WebhookView::of(&shown, Some(&secret))))
    }

    /// Send a test delivery
    ///
    /// At once, with `object.test` true; nothing of it is kept.
    #[oai(path = "/webhooks/:webhookId/test", method = "post", operation_id = "test_webhook")]
    async fn test_webhook(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
        body: Body<TestDoc>,
    ) -> Result<Data<TestedView>, Failure> {
        let id = webhook_id.read::<WebhookId>()?;
        web.app.get_webhook(id).await?;
        let kind = body.read::<TestBody>()?.kind;
        let kind = kind.map(|it| it.parse::<EventKind>()).transpose();
        let kind = kind.map_err(|error| error.about("type"))?;
        Ok(Data::of(&TestedView::of(web.app.test_webhook(id, kind).await?)))
    }

    /// List a webhook's deliveries
    ///
    /// In the order of their events, with the attempts made.
    #[oai(
        path = "/webhooks/:webhookId/deliveries",
        method = "get",
        operation_id = "list_deliveries"
    )]
    async fn list_deliveries(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
        /// The last sequence that was seen. Default 0: from the start.
        after: Query<Option<Raw<Sequence>>>,
        limit: Query<Option<Raw<Limit>>>,
    ) -> Result<Data<Vec<DeliveryView>>, Failure> {
        let after = param::after(after.0.as_ref())?;
        let limit = cut(limit.0.as_ref(), None)?.limit;
        let list = web.app.list_deliveries(webhook_id.read()?, after, limit).await?;
        Ok(Data::of(&list.into_iter().map(DeliveryView::of).collect::<Vec<_>>()))
    }

    /// Send events again
    ///
    /// With the same ids and bodies: one event, or what the endpoint did not get of a time range.
    #[oai(
        path = "/webhooks/:webhookId/recover",
        method = "post",
        operation_id = "recover_deliveries"
    )]
    async fn recover_deliveries(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
        body: Body<RecoveryDoc>,
    ) -> Result<Data<RecoveredView>, Failure> {
        let id = webhook_id.read::<WebhookId>()?;
        web.app.get_webhook(id).await?;
        let wanted = body.read::<RecoveryBody>()?.resolve(web.app.clock.now())?;
        let Recovered { n_queued, next } = web.app.recover_deliveries(id, wanted).await?;
        Ok(Data::of(&RecoveredView { queued: n_queued, next: next.into() }))
    }
}
