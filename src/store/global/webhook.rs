//! Webhooks.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::{ClientId, WebhookId};
use crate::store::Batch;
use crate::store::global::audit::{self, Act, AuditOutcome, SERVICE};
use crate::store::kernel::transaction::{Rows, Transaction, Writing};
use crate::store::table::{Span, WEBHOOKS};

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

impl Webhook {
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        matches!(self.state, WebhookState::Enabled { .. })
    }

    #[must_use]
    pub fn wants(&self, kind: &str, client: ClientId) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|it| it == kind))
            && (self.clients.is_empty() || self.clients.contains(&client))
    }
}

impl<R: Rows> Transaction<R> {
    pub fn find_webhook(&self, id: WebhookId) -> Result<Option<Webhook>> {
        self.rows.find_row(WEBHOOKS, id.as_bytes())
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
}
