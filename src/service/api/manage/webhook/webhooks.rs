//! Webhooks: register, change, rotate, test, list deliveries, recover.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::manage::webhook::delivery_view::DeliveryView;
use crate::api::manage::webhook::header_body::HeaderBody;
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::framework::FrameworkWord;
use crate::api::wire::input::{ClientIds, TextOf, Url, Words};
use crate::api::wire::param;
use crate::api::wire::param::{Cursor, Id, Limit, Raw, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, Null, StretchReply};
use crate::api::wire::view::{DisabledReasonView, EventChoice, EventTypeView, Uid, When};
use crate::api::{Group, Web};
use crate::app::webhook::endpoint::{
    NewWebhook, OVERLAP_S, Recovery, RecoveryResult, WebhookChange, WebhookWithHealth,
};
use crate::app::webhook::test_delivery::Tested;
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::error::{Error, Result};
use crate::id::WebhookId;
use crate::page::Stretch;
use crate::store::global::webhook::WebhookState;
use crate::webhook::sign::SigningSecret;

/// An endpoint that events are sent to, and the state of its deliveries.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Webhook")]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    id: Uid,
    url: String,
    description: String,
    /// Event types that are sent, or only `all`.
    events: Vec<TextOf<EventChoice>>,
    /// Only events of these clients are sent. Empty: of all clients.
    client_ids: Vec<Uid>,
    /// Only `contract`: events about frameworks of the contract are sent. Only `all`: about all frameworks. Otherwise about
    /// these. Events that are about no framework are always sent.
    frameworks: Vec<TextOf<FrameworkWord>>,
    /// The names of the headers that are sent besides those of the service. Their values are never shown.
    headers: Vec<String>,
    enabled: bool,
    /// Null while it is enabled.
    disabled_because: Null<DisabledReasonView>,
    disabled_at: Null<When>,
    /// The secret or the headers were encrypted with a key that is not available on this server. Nothing is sent until the
    /// secret is rotated and the headers are set again.
    needs_secret: bool,
    /// Until when deliveries are or were also signed with the secret before the last rotation. Null: it was never
    /// rotated.
    previous_until: Null<When>,
    /// Deliveries that are queued or in progress.
    waiting: u32,
    /// Failed attempts since the last successful one.
    failures: u32,
    failing_since: Null<When>,
    last_success_at: Null<When>,
    last_failure_at: Null<When>,
    created_at: When,
    updated_at: When,
    /// The signing secret. It is shown only in this response.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl WebhookView {
    fn of(shown: &WebhookWithHealth, secret: Option<&SigningSecret>) -> Self {
        let WebhookWithHealth { webhook, frameworks, headers, queue, needs_secret } = shown;
        let (disabled_because, disabled_at) = match webhook.state {
            WebhookState::Disabled { at, why } => (Some(DisabledReasonView(why)), Some(When(at))),
            WebhookState::Enabled { .. } | WebhookState::Removing => (None, None),
        };
        Self {
            id: Uid::of(webhook.id.as_bytes()),
            url: webhook.url.clone(),
            description: webhook.description.clone(),
            events: events(&webhook.kinds),
            client_ids: webhook.clients.iter().map(|it| Uid::of(it.as_bytes())).collect(),
            frameworks: FrameworkWord::all_of(frameworks),
            headers: headers.clone(),
            enabled: webhook.is_enabled(),
            disabled_because: disabled_because.into(),
            disabled_at: disabled_at.into(),
            needs_secret: *needs_secret,
            previous_until: webhook.previous.as_ref().map(|it| When(it.until)).into(),
            waiting: queue.n_waiting,
            failures: queue.n_failures,
            failing_since: queue.failing_since.map(When).into(),
            last_success_at: queue.last_success_at.map(When).into(),
            last_failure_at: queue.last_failure_at.map(When).into(),
            created_at: When(webhook.created_at),
            updated_at: When(webhook.updated_at),
            secret: secret.map(|it| it.reveal().to_owned()),
        }
    }
}

/// A webhook to register.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "WebhookCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewWebhookBody {
    /// Where to send events. It must begin with `https:` unless the configuration allows `http:` for its network.
    url: Url,
    #[schemars(length(max = 200))]
    #[serde(default, deserialize_with = "present")]
    description: Option<String>,
    /// Event types to send, or only `all`.
    events: Words<EventChoice>,
    /// Send only events of these clients. Empty or absent: of all clients.
    #[serde(default, deserialize_with = "present")]
    client_ids: Option<ClientIds>,
    /// Send only events about these frameworks, or `all`. Default: `contract`, those of the contract. Events that are about
    /// no framework are always sent.
    #[serde(default, deserialize_with = "present")]
    frameworks: Option<Words<FrameworkWord>>,
    /// Headers to send besides those of the service, for receivers that cannot verify a signature.
    #[schemars(length(max = 5))]
    #[serde(default, deserialize_with = "present")]
    headers: Option<Vec<HeaderBody>>,
    /// Must be true if present: a new webhook is enabled.
    #[serde(default, deserialize_with = "present")]
    enabled: Option<bool>,
}

example!(NewWebhookBody, {
    "url": "https://hooks.example.com/posture",
    "events": ["risk_item_created", "risk_item_resolved"],
});

impl NewWebhookBody {
    fn new_webhook(self) -> Result<NewWebhook> {
        if self.enabled == Some(false) {
            let rule = "must be true; disable the webhook after it was registered";
            return Err(Error::invalid_field("enabled", rule));
        }
        Ok(NewWebhook {
            url: self.url.0,
            description: self.description.unwrap_or_default(),
            kinds: kinds(&self.events)?,
            clients: self.client_ids.map(|it| it.0).unwrap_or_default(),
            frameworks: self
                .frameworks
                .as_ref()
                .map(FrameworkWord::choice)
                .transpose()?
                .unwrap_or_default(),
            headers: self.headers.map(HeaderBody::all).unwrap_or_default(),
        })
    }
}

/// What to change of a webhook. Absent fields stay as they are.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "WebhookChange")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub struct WebhookBody {
    /// Where to send events. It must begin with `https:` unless the configuration allows `http:` for its network.
    #[serde(deserialize_with = "present")]
    url: Option<Url>,
    #[schemars(length(max = 200))]
    #[serde(deserialize_with = "present")]
    description: Option<String>,
    /// Event types to send, or only `all`.
    #[serde(deserialize_with = "present")]
    events: Option<Words<EventChoice>>,
    /// Send only events of these clients. Empty: of all clients.
    #[serde(deserialize_with = "present")]
    client_ids: Option<ClientIds>,
    /// Send only events about these frameworks, or only `contract` or `all`.
    #[serde(deserialize_with = "present")]
    frameworks: Option<Words<FrameworkWord>>,
    /// Headers to send besides those of the service, for receivers that cannot verify a signature. They replace all that
    /// were set before.
    #[schemars(length(max = 5))]
    #[serde(deserialize_with = "present")]
    headers: Option<Vec<HeaderBody>>,
    /// Events that occur while it is disabled are not sent when it is enabled again. Recover them.
    #[serde(deserialize_with = "present")]
    enabled: Option<bool>,
}

example!(WebhookBody, {"enabled": true});

impl WebhookBody {
    fn change(self) -> Result<WebhookChange> {
        Ok(WebhookChange {
            url: self.url.map(|it| it.0),
            description: self.description,
            kinds: self.events.as_ref().map(kinds).transpose()?,
            clients: self.client_ids.map(|it| it.0),
            frameworks: self.frameworks.as_ref().map(FrameworkWord::choice).transpose()?,
            headers: self.headers.map(HeaderBody::all),
            enabled: self.enabled,
        })
    }
}

/// As a request names them: `all` where the webhook has no list.
fn events(kinds: &[String]) -> Vec<TextOf<EventChoice>> {
    if kinds.is_empty() {
        return vec![TextOf::of(EventChoice::ALL)];
    }
    kinds.iter().map(|it| TextOf::of(it)).collect()
}

/// Empty for `all`.
fn kinds(words: &Words<EventChoice>) -> Result<Vec<EventKind>> {
    let refused = |rule| Error::invalid_field("events", rule);
    match words.0.as_slice() {
        [] => Err(refused("must name at least one event type, or `all`")),
        [EventChoice(None)] => Ok(Vec::new()),
        all => {
            let kinds = all.iter().map(|it| it.0).collect::<Option<Vec<_>>>();
            kinds.ok_or_else(|| refused("must not name event types besides `all`"))
        }
    }
}

/// How to rotate a webhook's secret.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "WebhookRotation")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct WebhookRotationBody {
    /// For how many seconds deliveries are signed with the old secret too. 0: only with the new one. Default: 86400, one
    /// day.
    #[schemars(range(min = 0, max = 2_592_000))]
    #[serde(default, deserialize_with = "present")]
    overlap_s: Option<u32>,
}

example!(WebhookRotationBody, {"overlapS": 3600});

/// Which event to send as a test.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "WebhookTest")]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub struct TestBody {
    /// An event type that the webhook subscribes to. Default: the first of them.
    #[serde(rename = "type", default, deserialize_with = "present")]
    kind: Option<EventTypeView>,
}

example!(TestBody, {"type": "risk_item_created"});

/// What the endpoint answered to a test delivery.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "WebhookTested")]
#[serde(rename_all = "camelCase")]
pub struct TestedView {
    event_id: String,
    #[serde(rename = "type")]
    kind: EventTypeView,
    /// The endpoint answered with a 2xx status.
    delivered: bool,
    /// The HTTP status; null if there was no answer.
    status: Null<u16>,
    /// How long the request took, in milliseconds.
    ms: u32,
    /// The beginning of the answer, or what went wrong.
    answer: String,
}

impl TestedView {
    fn of(tested: Tested) -> Self {
        let (status, answer) = tested.posted.summary();
        Self {
            event_id: tested.event_id,
            kind: EventTypeView(tested.kind),
            delivered: status.is_some_and(|it| (200..300).contains(&it)),
            status: status.into(),
            ms: tested.posted.ms,
            answer,
        }
    }
}

/// Which events to send again: one event by its `sequence`, or those since a point in time that the endpoint did not
/// get.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "WebhookRecovery")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub struct RecoveryBody {
    /// The sequence of one event. Not together with `since`.
    #[serde(deserialize_with = "present")]
    sequence: Option<u64>,
    /// The start of the range. Required without `sequence`.
    #[serde(deserialize_with = "present")]
    since: Option<When>,
    /// The end of the range, exclusive. Default: now.
    #[serde(deserialize_with = "present")]
    until: Option<When>,
    /// Continue after this sequence: `next` of the previous response.
    #[serde(deserialize_with = "present")]
    after: Option<u64>,
}

example!(RecoveryBody, {"since": "2026-11-20T00:00:00Z"});

impl RecoveryBody {
    fn resolve(self, now: Time) -> Result<Recovery> {
        match (self.sequence, self.since) {
            (Some(sequence), None) => Ok(Recovery::One(sequence)),
            (None, Some(When(since))) => Ok(Recovery::Range {
                since,
                until: self.until.map_or(now, |it| it.0),
                after: self.after.unwrap_or(0),
            }),
            _ => Err(Error::invalid_field("since", "send either sequence or since")),
        }
    }
}

/// The result of a recovery.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "WebhookRecovered")]
pub struct RecoveredView {
    /// Deliveries that were queued.
    queued: u32,
    /// Send the request again with this as `after`. Null: the whole range was processed.
    next: Null<u64>,
}

pub struct ManagedWebhooks;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ManagedWebhooks {
    /// List webhooks
    ///
    /// Oldest first, with the state of their deliveries.
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
    /// The response contains the signing secret. It is not shown again.
    #[oai(path = "/webhooks", method = "post", operation_id = "add_webhook")]
    async fn add_webhook(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<NewWebhookBody>,
    ) -> Result<Made<WebhookView>, Failure> {
        let new = body.read()?.new_webhook()?;
        let (shown, secret) = web.app.add_webhook(&by.0, new).await?;
        Ok(Made::Added(WebhookView::of(&shown, Some(&secret))))
    }

    /// Change a webhook
    ///
    /// Applies to events from now on.
    #[oai(path = "/webhooks/:webhookId", method = "patch", operation_id = "change_webhook")]
    async fn change_webhook(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
        body: Body<WebhookBody>,
    ) -> Result<Data<WebhookView>, Failure> {
        let (id, change) = (webhook_id.read::<WebhookId>()?, || body.read()?.change());
        Ok(Data::of(&WebhookView::of(&web.app.change_webhook(&by.0, id, change).await?, None)))
    }

    /// Remove a webhook
    ///
    /// Its deliveries are deleted too. Events stay in the log.
    #[oai(path = "/webhooks/:webhookId", method = "delete", operation_id = "remove_webhook")]
    async fn remove_webhook(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        web.app.remove_webhook(&by.0, webhook_id.read()?).await?;
        Ok(Gone)
    }

    /// Rotate a webhook's secret
    ///
    /// The response contains the new secret. It is not shown again. Until the overlap ends, deliveries are signed with
    /// both secrets.
    #[oai(
        path = "/webhooks/:webhookId/rotate-secret",
        method = "post",
        operation_id = "rotate_webhook"
    )]
    async fn rotate_webhook(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
        body: Body<WebhookRotationBody>,
    ) -> Result<Made<WebhookView>, Failure> {
        let overlap_s = || Ok(body.read()?.overlap_s.unwrap_or(OVERLAP_S));
        let (shown, secret) = web.app.rotate_webhook(&by.0, webhook_id.read()?, overlap_s).await?;
        Ok(Made::Known(WebhookView::of(&shown, Some(&secret))))
    }

    /// Send a test delivery
    ///
    /// Sends one event at once, with `object.test` true. Nothing about it is stored.
    #[oai(path = "/webhooks/:webhookId/test", method = "post", operation_id = "test_webhook")]
    async fn test_webhook(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
        body: Body<TestBody>,
    ) -> Result<Data<TestedView>, Failure> {
        let kind = || Ok(body.read()?.kind.map(|it| it.0));
        Ok(Data::of(&TestedView::of(web.app.test_webhook(webhook_id.read()?, kind).await?)))
    }

    /// List a webhook's deliveries
    ///
    /// In the order of their events, with the attempts that were made.
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
        /// List deliveries after this sequence: `next` of the previous page. Default: 0, from the start.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<Limit>>>,
    ) -> Result<StretchReply<DeliveryView>, Failure> {
        let after = param::after(after.0.as_ref())?;
        let limit = cut(limit.0.as_ref(), None)?.limit;
        let list = web.app.list_deliveries(webhook_id.read()?, after, limit + 1).await?;
        let list = Stretch::of(list, limit, |it| it.sequence.to_string());
        Ok(StretchReply::of(&list.map(DeliveryView::of)))
    }

    /// Send events again
    ///
    /// Sends one event again, or the events of a time range that the endpoint did not get. Ids and bodies are the same as
    /// before.
    #[oai(
        path = "/webhooks/:webhookId/recover",
        method = "post",
        operation_id = "recover_deliveries"
    )]
    async fn recover_deliveries(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "webhookId")] webhook_id: Path<Raw<Id>>,
        body: Body<RecoveryBody>,
    ) -> Result<Data<RecoveredView>, Failure> {
        let wanted = || body.read()?.resolve(web.app.clock.now());
        let recovered = web.app.recover_deliveries(&by.0, webhook_id.read()?, wanted).await?;
        let RecoveryResult { n_queued, next } = recovered;
        Ok(Data::of(&RecoveredView { queued: n_queued, next: next.into() }))
    }
}
