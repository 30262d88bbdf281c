//! Deliveries of events to webhooks: waiting, delivered or failed.
//!
//! A delivery is created in the commit of its event. The number of an attempt is durable before the attempt: it is claimed,
//! sent, settled. A claim that was not settled because the service stopped is released at the next start.

mod row;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::{ClientId, EventId, WebhookId};
use crate::store::global::event::Event;
use crate::store::global::queue::{self, DeliveryQueue, N_WAITING_DISABLES, N_WAITING_MAX};
use crate::store::global::webhook::{self, Disabling, Webhook, WebhookState};
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{Span, rising};
use crate::store::table::{
    CLAIMS, DELIVERIES, EVENTS, FINISHED, OUTBOX, WEBHOOK_FRAMEWORKS, WEBHOOK_HEADERS, WEBHOOKS,
};
use crate::store::{Batch, ClientBatch};
use row::{leave, outbox_key, put_delivery, sequence_of};

pub(in crate::store) use row::delivery_key;

/// How many attempts the log of a delivery keeps: the last ones.
pub const N_ATTEMPTS_KEPT: usize = 20;

/// The delivery of one event to one webhook.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Delivery {
    pub webhook: WebhookId,
    /// The sequence of the event.
    pub sequence: u64,
    pub event: EventId,
    pub kind: String,
    pub client: ClientId,
    pub created_at: Time,
    pub state: DeliveryState,
    /// Attempts that were started: the number of the last one.
    pub n_attempts: u32,
    /// Attempts that the retry schedule counts, since the delivery was created or recovered.
    pub n_failures: u32,
    /// The last recovery.
    pub recovered: Option<Recovered>,
    /// Oldest first, at most [`N_ATTEMPTS_KEPT`].
    pub attempts: Vec<Attempt>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum DeliveryState {
    Waiting {
        due: Time,
    },
    /// An attempt is in progress.
    Claimed {
        at: Time,
    },
    Delivered {
        at: Time,
    },
    /// All attempts failed.
    Exhausted {
        at: Time,
    },
    /// The queue was full of its client's events, the webhook was disabled or no longer wants the event, or the event is no
    /// longer stored.
    Skipped {
        at: Time,
    },
}

impl Delivery {
    /// Whose queue it is in, and whose share.
    const fn of(&self) -> (WebhookId, ClientId) {
        (self.webhook, self.client)
    }

    #[must_use]
    pub const fn is_delivered(&self) -> bool {
        matches!(self.state, DeliveryState::Delivered { .. })
    }
}

impl DeliveryState {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting { .. } => "waiting",
            Self::Claimed { .. } => "sending",
            Self::Delivered { .. } => "delivered",
            Self::Exhausted { .. } => "exhausted",
            Self::Skipped { .. } => "skipped",
        }
    }

    /// When it was delivered, exhausted or skipped.
    #[must_use]
    pub const fn finished_at(self) -> Option<Time> {
        match self {
            Self::Delivered { at } | Self::Exhausted { at } | Self::Skipped { at } => Some(at),
            Self::Waiting { .. } | Self::Claimed { .. } => None,
        }
    }
}

/// When a delivery was recovered, and which event was the last one then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Recovered {
    pub at: Time,
    pub after: u64,
}

/// One attempt at a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    pub at: Time,
    pub ms: u32,
    /// The HTTP status of the answer. `None`: there was none.
    pub status: Option<u16>,
    /// The beginning of the answer, or what went wrong.
    pub answer: String,
}

/// A delivery whose attempt may start, because it is counted and durable.
#[derive(Clone, Debug)]
pub struct Claim {
    pub delivery: Delivery,
    pub body: String,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Delivered,
    Retry { due: Time },
    Exhausted,
}

fn fresh(webhook: WebhookId, event: &Event, due: Time) -> Delivery {
    Delivery {
        webhook,
        sequence: event.sequence,
        event: event.id,
        kind: event.kind.clone(),
        client: event.client,
        created_at: event.created,
        state: DeliveryState::Waiting { due },
        n_attempts: 0,
        n_failures: 0,
        recovered: None,
        attempts: Vec::new(),
    }
}

/// Adds an attempt to the delivery's log.
fn note(delivery: &mut Delivery, attempt: Attempt) {
    delivery.attempts.push(attempt);
    let n_over = delivery.attempts.len().saturating_sub(N_ATTEMPTS_KEPT);
    delivery.attempts.drain(..n_over);
}

impl<R: Rows> Transaction<R> {
    pub fn find_delivery(&self, webhook: WebhookId, sequence: u64) -> Result<Option<Delivery>> {
        self.rows.find_row(DELIVERIES, delivery_key(webhook, sequence).as_slice())
    }

    /// Up to `limit` deliveries after a sequence, oldest first.
    pub fn list_deliveries(
        &self,
        webhook: WebhookId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        let span = Span::prefix(webhook.as_bytes()).after(delivery_key(webhook, after).as_slice());
        self.rows.list_rows(DELIVERIES, &span, limit)
    }

    /// The deliveries whose attempt is in progress.
    pub fn list_claims(&self) -> Result<Vec<(WebhookId, u64)>> {
        let keys = self.rows.list_keys_of(CLAIMS, &Span::all(), usize::MAX)?;
        let claim = |key: &Vec<u8>| {
            let (webhook, _) = key.split_first_chunk().expect("the key begins with a webhook");
            (WebhookId::from_bytes(*webhook), sequence_of(key))
        };
        Ok(keys.iter().map(claim).collect())
    }

    /// Since when a delivery to the webhook is due, if one is.
    pub fn due_since(&self, webhook: WebhookId, now: Time) -> Result<Option<Time>> {
        let key = self.list_due_keys(webhook, now, 1)?.pop();
        let due = |key: Vec<u8>| {
            let (_, rest) = key.split_first_chunk::<16>().expect("the key begins with a webhook");
            let micros = rest.first_chunk().expect("the time follows");
            Time::from_micros(i64::from_be_bytes(*micros))
        };
        Ok(key.map(due))
    }

    fn list_due_keys(&self, webhook: WebhookId, now: Time, n_max: usize) -> Result<Vec<Vec<u8>>> {
        let until = outbox_key(webhook, now, u64::MAX).as_slice().to_vec();
        let span = Span { until: Some(until), ..Span::prefix(webhook.as_bytes()) };
        self.rows.list_keys_of(OUTBOX, &span, n_max)
    }
}

impl Batch {
    /// The sequence of the last event.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.rows.counts.event
    }

    /// Starts attempts at up to `n_max` due deliveries of an enabled webhook. Deliveries from before it was enabled, that it no
    /// longer wants, or whose event was removed, are skipped instead.
    pub fn claim_deliveries(
        &mut self,
        webhook: &Webhook,
        now: Time,
        n_max: usize,
    ) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        let WebhookState::Enabled { after } = webhook.state else { return Ok(claims) };
        let keys = self.list_due_keys(webhook.id, now, n_max)?;
        let mut queue = self.find_delivery_queue(webhook.id)?;
        for key in &keys {
            let Some(before) = self.find_delivery(webhook.id, sequence_of(key))? else {
                self.rows.remove_row(OUTBOX, key)?;
                continue;
            };
            let event: Option<Event> =
                self.rows.find_row(EVENTS, &before.sequence.to_be_bytes())?;
            // By the order of commits, because the clock may be set back.
            let is_new =
                after < before.sequence || before.recovered.is_some_and(|it| after <= it.after);
            // The webhook may have been limited to other clients, types or frameworks since.
            let wanted = match event {
                Some(event) if is_new && webhook::wants(&self.rows, webhook, &event)? => {
                    Some(event)
                }
                Some(_) | None => None,
            };
            let mut delivery = before.clone();
            if let Some(event) = wanted {
                delivery.state = DeliveryState::Claimed { at: now };
                delivery.n_attempts += 1;
                claims.push(Claim { delivery: delivery.clone(), body: event.body });
            } else {
                delivery.state = DeliveryState::Skipped { at: now };
                queue::count_out(&mut self.rows, &mut queue, delivery.of())?;
            }
            put_delivery(&mut self.rows, Some(&before), &delivery)?;
        }
        if claims.len() < keys.len() {
            queue::put(&mut self.rows, webhook.id, &queue)?;
        }
        self.rows.effects.has_deliveries |= keys.len() == n_max; // More may be due.
        Ok(claims)
    }

    /// Ends an attempt. Does nothing if the webhook was removed meanwhile.
    pub fn settle_delivery(
        &mut self,
        (webhook, sequence): (WebhookId, u64),
        attempt: Attempt,
        settled: Settled,
    ) -> Result<Option<DeliveryQueue>> {
        let Some(before) = self.find_delivery(webhook, sequence)? else { return Ok(None) };
        let at = attempt.at;
        let mut queue = self.find_delivery_queue(webhook)?;
        let mut after = before.clone();
        if settled == Settled::Delivered {
            queue = DeliveryQueue {
                last_success_at: Some(at),
                failing_since: None,
                n_failures: 0,
                ..queue
            };
        } else {
            after.n_failures += 1;
            queue.n_failures += 1;
            queue.last_failure_at = Some(at);
            queue.failing_since.get_or_insert(at);
        }
        after.state = match settled {
            Settled::Delivered => DeliveryState::Delivered { at },
            Settled::Retry { due } => DeliveryState::Waiting { due },
            Settled::Exhausted => DeliveryState::Exhausted { at },
        };
        if after.state.finished_at().is_some() {
            queue::count_out(&mut self.rows, &mut queue, after.of())?;
        }
        note(&mut after, attempt);
        put_delivery(&mut self.rows, Some(&before), &after)?;
        queue::put(&mut self.rows, webhook, &queue)?;
        Ok(Some(queue))
    }

    /// Makes deliveries due again whose attempt is not in progress any more. The attempt has a number, but the retry schedule
    /// does not count it. `why` stands in its log.
    pub fn release_claims(
        &mut self,
        claims: &[(WebhookId, u64)],
        why: &str,
        now: Time,
    ) -> Result<()> {
        for (webhook, sequence) in claims {
            let before = self.find_delivery(*webhook, *sequence)?;
            let claimed = before.and_then(|it| match it.state {
                DeliveryState::Claimed { at } => Some((it, at)),
                DeliveryState::Waiting { .. }
                | DeliveryState::Delivered { .. }
                | DeliveryState::Exhausted { .. }
                | DeliveryState::Skipped { .. } => None,
            });
            let Some((before, at)) = claimed else {
                self.rows.remove_row(CLAIMS, delivery_key(*webhook, *sequence).as_slice())?;
                continue;
            };
            let mut after = before.clone();
            let (number, answer) = (before.n_attempts, why.to_owned());
            note(&mut after, Attempt { number, at, ms: 0, status: None, answer });
            after.state = DeliveryState::Waiting { due: now };
            put_delivery(&mut self.rows, Some(&before), &after)?;
        }
        Ok(())
    }

    /// Makes up to `n_max` deliveries due now that wait for a time after `after`. Returns true if more may do so.
    pub fn hasten_deliveries(
        &mut self,
        webhook: WebhookId,
        after: Time,
        now: Time,
        n_max: usize,
    ) -> Result<bool> {
        let from = outbox_key(webhook, after, u64::MAX).as_slice().to_vec();
        let span = Span { from, ..Span::prefix(webhook.as_bytes()) };
        let keys = self.rows.list_keys_of(OUTBOX, &span, n_max)?;
        for key in &keys {
            let Some(before) = self.find_delivery(webhook, sequence_of(key))? else {
                self.rows.remove_row(OUTBOX, key)?;
                continue;
            };
            let mut after = before.clone();
            after.state = DeliveryState::Waiting { due: now };
            put_delivery(&mut self.rows, Some(&before), &after)?;
        }
        Ok(keys.len() == n_max)
    }

    /// Queues an event for a webhook again, or for the first time. Returns false if it is already queued.
    ///
    /// # Errors
    /// `Conflict` if the queue is full.
    pub fn recover_delivery(
        &mut self,
        webhook: WebhookId,
        event: &Event,
        now: Time,
    ) -> Result<bool> {
        let before = self.find_delivery(webhook, event.sequence)?;
        let is_new = before.as_ref().is_none_or(|it| it.state.finished_at().is_some());
        let mut after = before.clone().unwrap_or_else(|| fresh(webhook, event, now));
        after.recovered = Some(Recovered { at: now, after: self.rows.counts.event });
        if is_new {
            after.state = DeliveryState::Waiting { due: now };
            after.n_failures = 0;
            let mut queue = queue::find(&self.rows, webhook)?;
            if N_WAITING_MAX <= queue.n_waiting {
                let rule =
                    "the queue of the webhook is full; repeat this when fewer deliveries wait";
                return Err(Error::conflict(rule));
            }
            queue::count_in(&mut self.rows, &mut queue, after.of())?;
            queue::put(&mut self.rows, webhook, &queue)?;
        }
        put_delivery(&mut self.rows, before.as_ref(), &after)?;
        Ok(is_new)
    }

    /// Removes up to `n_max` deliveries that ended before `time`. Returns true if more may remain.
    pub fn remove_finished_before(&mut self, time: Time, n_max: usize) -> Result<bool> {
        let until = rising(time).to_be_bytes().to_vec();
        let span = Span { from: Vec::new(), until: Some(until) };
        let keys = self.rows.list_keys_of(FINISHED, &span, n_max)?;
        for key in &keys {
            self.rows.remove_row(DELIVERIES, &key[size_of::<u64>()..])?;
            self.rows.remove_row(FINISHED, key)?;
        }
        Ok(keys.len() == n_max)
    }

    /// Removes a delivery, if it is there.
    pub(in crate::store) fn erase_delivery(
        &mut self,
        webhook: WebhookId,
        sequence: u64,
    ) -> Result<()> {
        let Some(delivery) = self.find_delivery(webhook, sequence)? else { return Ok(()) };
        leave(&mut self.rows, &delivery)?;
        self.rows.remove_row(DELIVERIES, delivery_key(webhook, sequence).as_slice())?;
        if delivery.state.finished_at().is_none() {
            let mut queue = queue::find(&self.rows, webhook)?;
            queue::count_out(&mut self.rows, &mut queue, delivery.of())?;
            queue::put(&mut self.rows, webhook, &queue)?;
        }
        Ok(())
    }

    /// Removes up to `n_max` deliveries of a webhook, and the webhook with the last one. Returns true if more remain.
    pub fn erase_webhook(&mut self, id: WebhookId, n_max: usize) -> Result<bool> {
        let keys = self.rows.list_keys_of(DELIVERIES, &Span::prefix(id.as_bytes()), n_max)?;
        for key in &keys {
            if let Some(delivery) = self.rows.find_row::<Delivery>(DELIVERIES, key)? {
                leave(&mut self.rows, &delivery)?;
            }
            self.rows.remove_row(DELIVERIES, key)?;
        }
        if keys.len() == n_max {
            return Ok(true);
        }
        queue::remove(&mut self.rows, id)?;
        self.rows.remove_row(WEBHOOK_FRAMEWORKS, id.as_bytes())?;
        self.rows.remove_row(WEBHOOK_HEADERS, id.as_bytes())?;
        self.rows.remove_row(WEBHOOKS, id.as_bytes())?;
        Ok(false)
    }
}

impl ClientBatch<'_> {
    /// Creates the deliveries of an event that was just stored, one per webhook that subscribes to it.
    pub(in crate::store) fn add_deliveries(&mut self, event: &Event) -> Result<()> {
        let webhooks: Vec<Webhook> = self.rows.list_rows(WEBHOOKS, &Span::all(), usize::MAX)?;
        for webhook in webhooks {
            if !webhook.is_enabled() || !webhook::wants(self.rows, &webhook, event)? {
                continue;
            }
            let mut queue = queue::find(self.rows, webhook.id)?;
            if N_WAITING_DISABLES <= queue.n_waiting {
                webhook::disable(self.rows, webhook, Disabling::QueueFull, event.created)?;
                continue;
            }
            let mut delivery = fresh(webhook.id, event, event.created);
            let share = queue::find_share(self.rows, webhook.id, event.client)?;
            if queue::has_place(&queue, share) {
                queue::count_in(self.rows, &mut queue, delivery.of())?;
                queue::put(self.rows, webhook.id, &queue)?;
            } else {
                delivery.state = DeliveryState::Skipped { at: event.created };
                queue::skip(self.rows, delivery.of(), share)?;
            }
            put_delivery(self.rows, None, &delivery)?;
        }
        Ok(())
    }
}
