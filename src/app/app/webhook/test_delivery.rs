//! Test deliveries: a made-up event, sent at once.

use super::endpoint::absent;
use super::header;
use crate::app::App;
use crate::app::event::envelope::NewEvent;
use crate::app::event::sample;
use crate::egress::Posted;
use crate::engine::event::EventKind;
use crate::error::{Error, Result};
use crate::id::{ClientId, WebhookId};
use crate::store::global::webhook::Subscription;
use crate::webhook::sign::{self, Sending};

/// The answer to a test delivery.
#[derive(Clone, Debug)]
pub struct Tested {
    pub event_id: String,
    pub kind: EventKind,
    pub posted: Posted,
}

impl App {
    /// Sends a made-up event at once, whose object has what its type requires, and says `test`. Nothing of it is stored.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` if the endpoint does not subscribe to `kind`; `Conflict` if it needs a new secret.
    pub async fn test_webhook(
        &self,
        id: WebhookId,
        kind: impl FnOnce() -> Result<Option<EventKind>>,
    ) -> Result<Tested> {
        let Subscription { webhook, headers, .. } = self.find_subscription(id).await?;
        let kind = kind()?;
        let subscribed = |it: &EventKind| {
            webhook.kinds.is_empty() || webhook.kinds.iter().any(|word| word == it.as_str())
        };
        let kind = match kind {
            Some(kind) if subscribed(&kind) => kind,
            Some(_) => {
                let rule = "must be an event type that the webhook subscribes to";
                return Err(Error::invalid_field("type", rule));
            }
            None => EventKind::ALL.into_iter().find(subscribed).ok_or_else(absent)?,
        };
        let now = self.clock.now();
        let (secret, previous) = self.secrets(&webhook, now).map_err(|_| needs_secret())?;
        let own = self.open_headers(id, &headers).map_err(|_| needs_secret())?;
        let client = webhook.clients.first().copied().unwrap_or(ClientId::from_bytes([0; 16]));
        let name = self
            .clients
            .directory
            .find(client)
            .map_or_else(|| "Test".to_owned(), |it| it.name.clone());
        let installation = self.store.read(crate::store::Snapshot::installation).await?;
        let new = NewEvent::test(kind, &id.to_string(), sample::object(kind, now), now);
        let body = new.body(client, &name, &installation, 0)?;
        let event_id = new.id().wire();
        let sending = Sending {
            event_id: &event_id,
            kind: kind.as_str(),
            sequence: 0,
            attempt: 1,
            at: now,
            body: &body,
        };
        let headers = header::with(own, sign::headers(&sending, &secret, previous.as_ref()));
        let posted = self.webhooks.egress.post(webhook.url.clone(), headers, body.into()).await;
        Ok(Tested { event_id, kind, posted })
    }
}

fn needs_secret() -> Error {
    Error::conflict(
        "the webhook's secret or headers were sealed with a key that this server does not have; rotate the secret, and set \
         the headers again",
    )
}
