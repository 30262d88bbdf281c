//! Webhook endpoints: register, change, rotate, test, recover, remove.

use super::header::{self, WebhookHeader};
use crate::app::App;
use crate::app::input::require_length;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::error::{Code, Error, Result};
use crate::id::{ClientId, WebhookId};
use crate::secret::Locked;
use crate::store::global::delivery::Delivery;
use crate::store::global::queue::DeliveryQueue;
use crate::store::global::webhook::{
    Disabling, FrameworkChoice, PreviousSecret, Subscription, Webhook, WebhookState,
};
use crate::webhook::sign::SigningSecret;

pub const N_WEBHOOKS_MAX: usize = 50;
pub const DESCRIPTION_CHARS_MAX: usize = 200;
/// How long deliveries are also signed with the old secret after a rotation, by default.
pub const OVERLAP_S: u32 = 86_400;
/// A longer overlap is refused.
pub const OVERLAP_S_MAX: u32 = 30 * 86_400;
/// How many events one recovery reads. It returns where it stopped.
pub const N_RECOVERED_MAX: usize = 10_000;
/// Deliveries erased in one commit.
const N_ERASED_AT_ONCE: usize = 500;
/// Events recovered in one commit.
const N_RECOVERED_AT_ONCE: usize = 250;

/// An endpoint to register.
#[derive(Clone, Debug)]
pub struct NewWebhook {
    pub url: String,
    pub description: String,
    /// Empty: all.
    pub kinds: Vec<EventKind>,
    /// Empty: all.
    pub clients: Vec<ClientId>,
    pub frameworks: FrameworkChoice,
    pub headers: Vec<WebhookHeader>,
}

/// What to change of an endpoint. `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct WebhookChange {
    pub url: Option<String>,
    pub description: Option<String>,
    pub kinds: Option<Vec<EventKind>>,
    pub clients: Option<Vec<ClientId>>,
    pub frameworks: Option<FrameworkChoice>,
    pub headers: Option<Vec<WebhookHeader>>,
    pub enabled: Option<bool>,
}

/// An endpoint and the state of its deliveries.
#[derive(Clone, Debug)]
pub struct WebhookWithHealth {
    pub webhook: Webhook,
    pub frameworks: FrameworkChoice,
    /// The names of its own headers.
    pub headers: Vec<String>,
    pub queue: DeliveryQueue,
    /// Its secret or its headers were sealed with a key that this server does not have. It needs new ones, and its queue
    /// waits.
    pub needs_secret: bool,
}

/// Which events to send again.
#[derive(Clone, Copy, Debug)]
pub enum Recovery {
    /// One event, by its sequence.
    One(u64),
    /// The events created from `since` up to before `until` that this endpoint did not receive.
    Range { since: Time, until: Time, after: u64 },
}

/// The result of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryResult {
    pub n_queued: u32,
    /// The sequence to continue after. `None`: all events were read.
    pub next: Option<u64>,
}

/// Identifies the sealed secret of an endpoint.
pub(super) fn place(id: WebhookId) -> String {
    format!("webhooks/{id}/secret")
}

impl App {
    /// Registers an endpoint. Its secret is returned only this once.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; `Conflict` if there are too many endpoints.
    pub async fn add_webhook(
        &self,
        by: &Caller,
        new: NewWebhook,
    ) -> Result<(WebhookWithHealth, SigningSecret)> {
        let now = self.clock.now();
        let id = WebhookId::made_at(now);
        let secret = SigningSecret::random();
        let webhook = Webhook {
            id,
            url: new.url,
            description: new.description,
            kinds: words(&new.kinds),
            clients: new.clients,
            secret: self.webhooks.sealer.seal(&place(id), secret.reveal()),
            previous: None,
            state: WebhookState::Enabled { after: 0 },
            created_at: now,
            updated_at: now,
        };
        self.check_webhook(&webhook, None)?;
        self.check_frameworks(&new.frameworks)?;
        header::check(&new.headers)?;
        let sealed = self.seal_headers(id, &new.headers);
        let chosen = new.frameworks.clone();
        let write = move |batch: &mut crate::store::Batch| {
            if N_WEBHOOKS_MAX <= batch.list_webhooks()?.len() {
                let rule = format!("there are already {N_WEBHOOKS_MAX} webhooks; remove one first");
                return Err(Error::conflict(rule));
            }
            let after = batch.last_sequence();
            let webhook = Webhook { state: WebhookState::Enabled { after }, ..webhook.clone() };
            batch.note_object(&webhook.id);
            batch.put_webhook_frameworks(webhook.id, &chosen)?;
            batch.put_webhook_headers(webhook.id, &sealed)?;
            batch.put_webhook(&webhook).map(|()| webhook)
        };
        let webhook = by.acting_on(&self.store).write(write).await?;
        let (frameworks, queue) = (new.frameworks, DeliveryQueue::default());
        let headers = new.headers.into_iter().map(|it| it.name).collect();
        let needs_secret = false;
        Ok((WebhookWithHealth { webhook, frameworks, headers, queue, needs_secret }, secret))
    }

    /// Oldest first.
    pub async fn list_webhooks(&self) -> Result<Vec<WebhookWithHealth>> {
        let list = self.store.read(|snapshot| {
            let all = snapshot.list_webhooks()?.into_iter();
            let all = all.filter(|it| it.state != WebhookState::Removing);
            all.map(|it| snapshot.subscription_of(it)).collect::<Result<Vec<_>>>()
        });
        Ok(list.await?.into_iter().map(|it| self.shown(it)).collect())
    }

    /// # Errors
    /// `NotFound`.
    pub async fn get_webhook(&self, id: WebhookId) -> Result<WebhookWithHealth> {
        Ok(self.shown(self.find_subscription(id).await?))
    }

    /// All of it at one moment.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) async fn find_subscription(&self, id: WebhookId) -> Result<Subscription> {
        let found = self.store.read(move |snapshot| {
            let webhook = snapshot.find_webhook(id)?.filter(is_there).ok_or_else(absent)?;
            snapshot.subscription_of(webhook)
        });
        found.await
    }

    fn shown(&self, stored: Subscription) -> WebhookWithHealth {
        let Subscription { webhook, frameworks, headers, queue } = stored;
        let needs_secret = self.secrets(&webhook, self.clock.now()).is_err()
            || self.open_headers(webhook.id, &headers).is_err();
        let headers = headers.0.into_iter().map(|it| it.0).collect();
        WebhookWithHealth { webhook, frameworks, headers, queue, needs_secret }
    }

    /// # Errors
    /// `NotFound`, or `Invalid` with the field that breaks a rule.
    pub async fn change_webhook(
        &self,
        by: &Caller,
        id: WebhookId,
        change: impl FnOnce() -> Result<WebhookChange>,
    ) -> Result<WebhookWithHealth> {
        let before = self.get_webhook(id).await?.webhook;
        let change = change()?;
        let mut wanted = before.clone();
        apply(&mut wanted, &change, 0, self.clock.now());
        self.check_webhook(&wanted, Some(&before))?;
        change.frameworks.as_ref().map_or(Ok(()), |it| self.check_frameworks(it))?;
        change.headers.as_ref().map_or(Ok(()), |it| header::check(it))?;
        let sealed = change.headers.as_ref().map(|it| self.seal_headers(id, it));
        let now = self.clock.now();
        let write = move |batch: &mut crate::store::Batch| {
            let mut webhook = batch.find_webhook(id)?.filter(is_there).ok_or_else(absent)?;
            let (was_enabled, url) = (webhook.is_enabled(), webhook.url.clone());
            apply(&mut webhook, &change, batch.last_sequence(), now);
            if webhook.url != url && sealed.is_none() {
                header::require_none(&batch.find_webhook_headers(id)?)?;
            }
            batch.put_webhook(&webhook)?;
            if let Some(frameworks) = &change.frameworks {
                batch.put_webhook_frameworks(id, frameworks)?;
            }
            if let Some(sealed) = &sealed {
                batch.put_webhook_headers(id, sealed)?;
            }
            if webhook.is_enabled() && !was_enabled {
                batch.reset_failures(id)?;
            }
            batch.subscription_of(webhook)
        };
        let store = by.acting_on(&self.store).reserved();
        Ok(self.shown(store.write(write).await?))
    }

    /// Gives the endpoint a new secret. Deliveries are signed with both secrets until the overlap ends.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` if the overlap is too long.
    pub async fn rotate_webhook(
        &self,
        by: &Caller,
        id: WebhookId,
        overlap_s: impl FnOnce() -> Result<u32>,
    ) -> Result<(WebhookWithHealth, SigningSecret)> {
        self.get_webhook(id).await?;
        let overlap_s = overlap_s()?;
        if OVERLAP_S_MAX < overlap_s {
            let rule = format!("must be at most {OVERLAP_S_MAX}");
            return Err(Error::invalid_field("overlapS", rule));
        }
        let secret = SigningSecret::random();
        let sealed = self.webhooks.sealer.seal(&place(id), secret.reveal());
        let now = self.clock.now();
        let until = now.plus_s(i64::from(overlap_s));
        let write = move |batch: &mut crate::store::Batch| {
            let mut webhook = batch.find_webhook(id)?.filter(is_there).ok_or_else(absent)?;
            let old = std::mem::replace(&mut webhook.secret, sealed.clone());
            webhook.previous = Some(PreviousSecret { secret: old, until });
            webhook.updated_at = now;
            batch.put_webhook(&webhook)?;
            batch.subscription_of(webhook)
        };
        let stored = by.acting_on(&self.store).write(write).await?;
        Ok((self.shown(stored), secret))
    }

    /// Removes an endpoint. Nothing is sent to it from now on, and its deliveries are erased.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn remove_webhook(&self, by: &Caller, id: WebhookId) -> Result<()> {
        let write = move |batch: &mut crate::store::Batch| {
            let mut webhook = batch.find_webhook(id)?.filter(is_there).ok_or_else(absent)?;
            webhook.state = WebhookState::Removing;
            batch.put_webhook(&webhook)
        };
        by.acting_on(&self.store).reserved().write(write).await?;
        self.erase_webhook(id).await
    }

    async fn erase_webhook(&self, id: WebhookId) -> Result<()> {
        let store = self.store.reserved();
        while store.write(move |batch| batch.erase_webhook(id, N_ERASED_AT_ONCE)).await? {}
        Ok(())
    }

    /// Continues removals that the previous process did not finish.
    pub async fn finish_webhook_removals(&self) -> Result<()> {
        let all = self.store.read(crate::store::Snapshot::list_webhooks).await?;
        for webhook in all.into_iter().filter(|it| !is_there(it)) {
            self.erase_webhook(webhook.id).await?;
        }
        Ok(())
    }

    /// Lists up to `limit` deliveries after a sequence, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn list_deliveries(
        &self,
        id: WebhookId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Delivery>> {
        let limit = limit as usize;
        let list = self.store.read(move |snapshot| {
            snapshot.find_webhook(id)?.filter(is_there).ok_or_else(absent)?;
            snapshot.list_deliveries(id, after, limit)
        });
        list.await
    }

    /// Sends events again, with the same ids and bodies. This includes events from before the endpoint was registered
    /// or while it was disabled. Of a range, only those that the endpoint did not receive.
    ///
    /// # Errors
    /// `NotFound` for the endpoint, or for the one event; `Conflict` if the endpoint is disabled.
    pub async fn recover_deliveries(
        &self,
        by: &Caller,
        id: WebhookId,
        wanted: impl FnOnce() -> Result<Recovery>,
    ) -> Result<RecoveryResult> {
        let webhook = self.get_webhook(id).await?.webhook;
        let wanted = wanted()?;
        if !webhook.is_enabled() {
            return Err(Error::conflict("the webhook is disabled; enable it first"));
        }
        let now = self.clock.now();
        let (since, until, mut after) = match wanted {
            Recovery::One(sequence) => return self.recover_one(by, id, sequence, now).await,
            Recovery::Range { since, until, after } => (since, until, after),
        };
        let mut recovered = RecoveryResult { n_queued: 0, next: None };
        for _ in 0..N_RECOVERED_MAX / N_RECOVERED_AT_ONCE {
            let webhook = webhook.clone();
            let write = move |batch: &mut crate::store::Batch| {
                let mut n_queued = 0;
                let events = batch.list_all_events(after, N_RECOVERED_AT_ONCE)?;
                for event in events.iter().filter(|it| (since..until).contains(&it.created)) {
                    let known = batch.find_delivery(id, event.sequence)?;
                    let got = known.is_some_and(|it| it.is_delivered());
                    if !got && batch.wants_event(&webhook, event)? {
                        n_queued += u32::from(batch.recover_delivery(id, event, now)?);
                    }
                }
                Ok((n_queued, events.last().map(|it| it.sequence), events.len()))
            };
            let written = by.acting_on(&self.store).write(write).await;
            if 0 < recovered.n_queued && written.as_ref().is_err_and(|it| it.code == Code::Conflict)
            {
                break; // The queue is full now.
            }
            let (n_queued, last, n_seen) = written?;
            recovered.n_queued += n_queued;
            after = last.unwrap_or(after);
            if n_seen < N_RECOVERED_AT_ONCE {
                return Ok(recovered);
            }
        }
        Ok(RecoveryResult { next: Some(after), ..recovered })
    }

    async fn recover_one(
        &self,
        by: &Caller,
        id: WebhookId,
        sequence: u64,
        now: Time,
    ) -> Result<RecoveryResult> {
        let write = move |batch: &mut crate::store::Batch| {
            let event = batch.list_all_events(sequence.saturating_sub(1), 1)?;
            let event = event.into_iter().find(|it| it.sequence == sequence);
            let event =
                event.ok_or_else(|| Error::not_found("event not found, or no longer kept"))?;
            let webhook = batch.find_webhook(id)?.filter(is_there).ok_or_else(absent)?;
            if !batch.wants_event(&webhook, &event)? {
                let rule = "the webhook does not subscribe to this type, client or framework; change it first";
                return Err(Error::conflict(rule));
            }
            batch.recover_delivery(id, &event, now)
        };
        let is_queued = by.acting_on(&self.store).write(write).await?;
        Ok(RecoveryResult { n_queued: u32::from(is_queued), next: None })
    }

    /// Returns the signing secrets: the current one, and the previous one during the overlap.
    pub(in crate::app) fn secrets(
        &self,
        webhook: &Webhook,
        now: Time,
    ) -> std::result::Result<(SigningSecret, Option<SigningSecret>), Locked> {
        let open = |sealed: &[u8]| {
            let text = self.webhooks.sealer.open_sealed(&place(webhook.id), sealed)?;
            SigningSecret::parse(&text).map_err(|_| Locked::Damaged)
        };
        let previous = webhook.previous.as_ref().filter(|it| now < it.until);
        // An old secret that cannot be read anymore must not delay deliveries.
        Ok((open(&webhook.secret)?, previous.and_then(|it| open(&it.secret).ok())))
    }

    fn check_frameworks(&self, chosen: &FrameworkChoice) -> Result<()> {
        let FrameworkChoice::These(ids) = chosen else { return Ok(()) };
        let catalog = self.catalog();
        for id in ids {
            let known = catalog.framework_named(id.as_str());
            known.map_err(|it| Error::invalid_field("frameworks", it.message().to_owned()))?;
        }
        Ok(())
    }

    fn check_webhook(&self, webhook: &Webhook, before: Option<&Webhook>) -> Result<()> {
        if before.is_none_or(|it| it.url != webhook.url) {
            self.webhooks.egress.check(&webhook.url)?;
        }
        require_length("description", Some(&webhook.description), DESCRIPTION_CHARS_MAX)?;
        self.require_clients(&webhook.clients, before.map_or(&[], |it| &it.clients))
    }
}

fn words(kinds: &[EventKind]) -> Vec<String> {
    let mut words: Vec<_> = kinds.iter().map(|it| it.as_str().to_owned()).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// `after`: the last event so far. An endpoint that is enabled now begins after it.
fn apply(webhook: &mut Webhook, change: &WebhookChange, after: u64, now: Time) {
    if let Some(url) = &change.url {
        webhook.url.clone_from(url);
    }
    if let Some(description) = &change.description {
        webhook.description.clone_from(description);
    }
    if let Some(kinds) = &change.kinds {
        webhook.kinds = words(kinds);
    }
    if let Some(clients) = &change.clients {
        webhook.clients.clone_from(clients);
    }
    match change.enabled {
        Some(true) if !webhook.is_enabled() => webhook.state = WebhookState::Enabled { after },
        Some(false) if webhook.is_enabled() => {
            webhook.state = WebhookState::Disabled { at: now, why: Disabling::Operator };
        }
        Some(_) | None => (),
    }
    webhook.updated_at = now;
}

fn is_there(webhook: &Webhook) -> bool {
    webhook.state != WebhookState::Removing
}

pub(super) fn absent() -> Error {
    Error::not_found("webhook not found")
}
