//! Webhooks.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::framework::FrameworkId;
use crate::error::Result;
use crate::id::{ClientId, WebhookId};
use crate::store::Batch;
use crate::store::global::audit::{self, Act, AuditOutcome, SERVICE};
use crate::store::global::event::Event;
use crate::store::global::queue::DeliveryQueue;
use crate::store::kernel::transaction::{Rows, Transaction, Writing};
use crate::store::row_key::Span;
use crate::store::table::{WEBHOOK_FRAMEWORKS, WEBHOOK_HEADERS, WEBHOOKS};

/// An endpoint that events are sent to.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Webhook {
    pub id: WebhookId,
    pub url: String,
    /// For people.
    pub description: String,
    /// The contract's event types. Empty: all.
    pub kinds: Vec<String>,
    /// Empty: all clients.
    pub clients: Vec<ClientId>,
    /// Encrypted.
    pub secret: Vec<u8>,
    pub previous: Option<PreviousSecret>,
    pub state: WebhookState,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A secret that was rotated out.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PreviousSecret {
    /// Encrypted.
    pub secret: Vec<u8>,
    /// Deliveries before this time are also signed with it.
    pub until: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum WebhookState {
    /// Deliveries up to the event `after` are not sent unless they are recovered.
    Enabled {
        after: u64,
    },
    Disabled {
        at: Time,
        why: Disabling,
    },
    /// No longer visible; its deliveries are being removed.
    Removing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Disabling {
    Operator,
    /// The endpoint answered 410.
    Gone,
    /// All attempts failed for days.
    Failing,
    /// Too many deliveries were waiting.
    QueueFull,
}

impl Disabling {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Gone => "gone",
            Self::Failing => "failing",
            Self::QueueFull => "queue_full",
        }
    }
}

/// Of which frameworks events are sent. Events that are about no framework are always sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum FrameworkChoice {
    /// Those of the contract.
    #[default]
    Contract,
    All,
    These(Vec<FrameworkId>),
}

impl FrameworkChoice {
    fn includes(&self, id: FrameworkId) -> bool {
        match self {
            Self::Contract => id.is_of_contract(),
            Self::All => true,
            Self::These(ids) => ids.contains(&id),
        }
    }
}

/// Headers that a webhook sends besides those of the service: names, and encrypted values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct WebhookHeaders(pub Vec<(String, Vec<u8>)>);

/// A webhook with the rest of what is stored about it.
#[derive(Clone, Debug)]
pub struct Subscription {
    pub webhook: Webhook,
    pub frameworks: FrameworkChoice,
    pub headers: WebhookHeaders,
    pub queue: DeliveryQueue,
}

/// Returns true if the webhook subscribes to this event.
pub(in crate::store) fn wants(rows: &impl Rows, webhook: &Webhook, event: &Event) -> Result<bool> {
    if !webhook.subscribes(&event.kind, event.client) {
        return Ok(false);
    }
    let Some(framework) = event.framework() else { return Ok(true) };
    Ok(find_frameworks(rows, webhook.id)?.includes(framework))
}

fn find_frameworks(rows: &impl Rows, id: WebhookId) -> Result<FrameworkChoice> {
    Ok(rows.find_row(WEBHOOK_FRAMEWORKS, id.as_bytes())?.unwrap_or_default())
}

impl Webhook {
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        matches!(self.state, WebhookState::Enabled { .. })
    }

    fn subscribes(&self, kind: &str, client: ClientId) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|it| it == kind))
            && (self.clients.is_empty() || self.clients.contains(&client))
    }
}

impl<R: Rows> Transaction<R> {
    pub fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>> {
        self.rows.find_row(WEBHOOKS, id.as_bytes())
    }

    pub fn subscription_of(&self, webhook: Webhook) -> Result<Subscription> {
        let frameworks = find_frameworks(&self.rows, webhook.id)?;
        let headers = self.find_webhook_headers(webhook.id)?;
        let queue = self.find_delivery_queue(webhook.id)?;
        Ok(Subscription { webhook, frameworks, headers, queue })
    }

    pub fn find_webhook_headers(&self, id: WebhookId) -> Result<WebhookHeaders> {
        Ok(self.rows.find_row(WEBHOOK_HEADERS, id.as_bytes())?.unwrap_or_default())
    }

    /// Returns true if the webhook subscribes to this event.
    pub fn wants_event(&self, webhook: &Webhook, event: &Event) -> Result<bool> {
        wants(&self.rows, webhook, event)
    }

    /// All webhooks in id order, including disabled ones and those being removed.
    pub fn list_webhooks(&self) -> Result<Vec<Webhook>> {
        self.rows.list_rows(WEBHOOKS, &Span::all(), usize::MAX)
    }
}

/// Disables a webhook by decision of the service, and records that in the audit log.
pub(in crate::store) fn disable(
    rows: &mut Writing,
    webhook: Webhook,
    why: Disabling,
    at: Time,
) -> Result<()> {
    let (id, state) = (webhook.id, WebhookState::Disabled { at, why });
    rows.put_row(WEBHOOKS, id.as_bytes(), &Webhook { state, ..webhook })?;
    let (by, action) = (SERVICE.to_owned(), "disable webhook".to_owned());
    let act = Act { at, by, action, about: why.as_str().to_owned(), ..Act::default() };
    audit::add(rows, &act, Some(id.to_string()), AuditOutcome::Done, 1)?;
    tracing::warn!(webhook = %id, why = why.as_str(), "webhook {id} was disabled: {}", why.as_str());
    Ok(())
}

impl Batch {
    /// Disables a webhook by decision of the service.
    pub fn disable_webhook(&mut self, webhook: Webhook, why: Disabling, at: Time) -> Result<()> {
        disable(&mut self.rows, webhook, why, at)
    }

    pub fn put_webhook(&mut self, webhook: &Webhook) -> Result<()> {
        self.rows.put_row(WEBHOOKS, webhook.id.as_bytes(), webhook)
    }

    pub fn put_webhook_frameworks(
        &mut self,
        id: WebhookId,
        frameworks: &FrameworkChoice,
    ) -> Result<()> {
        self.rows.put_row(WEBHOOK_FRAMEWORKS, id.as_bytes(), frameworks)
    }

    pub fn put_webhook_headers(&mut self, id: WebhookId, headers: &WebhookHeaders) -> Result<()> {
        if headers.0.is_empty() {
            return self.rows.remove_row(WEBHOOK_HEADERS, id.as_bytes()).map(|_| ());
        }
        self.rows.put_row(WEBHOOK_HEADERS, id.as_bytes(), headers)
    }
}
