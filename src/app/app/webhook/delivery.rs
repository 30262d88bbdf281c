//! Deliveries: claimed, sent, settled.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use super::AttemptCounts;
use super::header::{self, WebhookHeader};
use crate::app::App;
use crate::clock::Time;
use crate::egress::{EgressPolicy, PostFailure as Unsent, PostOutcome, Posted};
use crate::error::Result;
use crate::id::WebhookId;
use crate::store::global::delivery::{Attempt, Claim, Settled};
use crate::store::global::queue::DeliveryQueue;
use crate::store::global::webhook::{Disabling, Webhook, WebhookHeaders, WebhookState};
use crate::store::{Batch, Snapshot};
use crate::webhook::schedule::{self, DeliveryFailure};
use crate::webhook::sign::{self, Sending, SigningSecret};

/// How many attempts may run at once in addition to one for each endpoint. That one is always available, so that an
/// endpoint that hangs does not delay others.
pub const N_SHARED_MAX: usize = 32;
/// An endpoint is disabled after all of its attempts failed for this many days, and at least [`N_FAILURES_MIN`] times.
const FAILING_DAYS: i64 = 5;
const N_FAILURES_MIN: u32 = 10;
/// Claims released, or finished deliveries forgotten, in one commit.
const N_AT_ONCE: usize = 500;

/// How deliveries go out.
#[derive(Clone, Debug)]
pub struct DeliveryOptions {
    pub timeout_s: u32,
    /// Before each attempt, the first included.
    pub retry_gaps_s: Vec<u32>,
    pub policy: EgressPolicy,
    /// How long finished deliveries stay listed.
    pub retention_days: u32,
}

/// What `posture.toml.example` says.
impl Default for DeliveryOptions {
    fn default() -> Self {
        Self {
            timeout_s: 15,
            retry_gaps_s: vec![0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400],
            policy: EgressPolicy::default(),
            retention_days: 30,
        }
    }
}

/// The state of deliveries, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryHealth {
    /// Attempts since the start that delivered.
    pub n_delivered: u64,
    /// Attempts since the start that did not deliver.
    pub n_failed: u64,
    /// Deliveries to enabled endpoints that wait or are under way.
    pub n_waiting: u64,
    /// Endpoints that are disabled, for any reason.
    pub n_disabled: u64,
    /// How long the delivery to an enabled endpoint has been due that has been for longest. 0: none is due.
    pub due_s: u64,
}

/// An endpoint and its sealed headers, read at one moment.
#[derive(Clone)]
struct Endpoint {
    webhook: Webhook,
    headers: WebhookHeaders,
}

/// An attempt that may begin: it is counted and durable.
pub struct Ready {
    pub webhook: WebhookId,
    url: String,
    claim: Claim,
    secret: SigningSecret,
    previous: Option<SigningSecret>,
    headers: Vec<WebhookHeader>,
}

impl Ready {
    /// The delivery that it is an attempt at.
    pub fn key(&self) -> (WebhookId, u64) {
        (self.webhook, self.claim.delivery.sequence)
    }
}

/// An attempt that ended. Its result must still be stored.
#[derive(Clone)]
pub struct Sent {
    key: (WebhookId, u64),
    attempt: Attempt,
    settled: Settled,
    is_gone: bool,
}

impl Sent {
    pub fn is_delivered(&self) -> bool {
        self.settled == Settled::Delivered
    }
}

impl App {
    /// Makes deliveries due again that are claimed, but not `under_way` in this process: the process before was stopped, or
    /// the answer to a claim was lost. `why` stands in the log of the delivery.
    pub async fn release_claims(
        &self,
        under_way: &HashSet<(WebhookId, u64)>,
        why: &'static str,
    ) -> Result<()> {
        let now = self.clock.now();
        let mut claims = self.store.read(Snapshot::list_claims).await?;
        claims.retain(|it| !under_way.contains(it));
        for some in claims.chunks(N_AT_ONCE) {
            let some = some.to_vec();
            let store = self.store.reserved();
            store.write(move |batch| batch.release_claims(&some, why, now)).await?;
        }
        Ok(())
    }

    /// Notified of each commit that leaves something to deliver.
    pub fn outbox(&self) -> &tokio::sync::Notify {
        self.store.outbox()
    }

    /// Begins attempts at deliveries that are due. `n_free` says how many attempts an endpoint may have now.
    pub async fn claim_due(&self, n_free: impl Fn(WebhookId) -> usize) -> Result<Vec<Ready>> {
        let now = self.clock.now();
        let due = self.store.read(move |snapshot| {
            let mut due = Vec::new();
            for webhook in snapshot.list_webhooks()?.into_iter().filter(Webhook::is_enabled) {
                if snapshot.due_since(webhook.id, now)?.is_some() {
                    let headers = snapshot.find_webhook_headers(webhook.id)?;
                    due.push(Endpoint { webhook, headers });
                }
            }
            Ok(due)
        });
        let mut wanted = Vec::new();
        for endpoint in due.await? {
            let Endpoint { webhook, headers } = &endpoint;
            let n_free = n_free(webhook.id);
            let (secrets, own) =
                (self.secrets(webhook, now), self.open_headers(webhook.id, headers));
            if let (1.., Ok(secrets), Ok(own)) = (n_free, secrets, own) {
                wanted.push((endpoint, n_free, (secrets, own)));
            }
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let queues: Vec<_> = wanted.iter().map(|(it, n_free, _)| (it.clone(), *n_free)).collect();
        let claimed = self.store.write(move |batch| claim(batch, &queues, now)).await?;
        let ready = claimed.into_iter().filter_map(|(webhook, claim)| {
            let (endpoint, _, found) = wanted.iter().find(|it| it.0.webhook.id == webhook)?;
            let ((secret, previous), headers) = found.clone();
            let url = endpoint.webhook.url.clone();
            Some(Ready { webhook, url, claim, secret, previous, headers })
        });
        Ok(ready.collect())
    }

    /// Makes the attempt.
    pub async fn send(&self, ready: Ready) -> Sent {
        let delivery = &ready.claim.delivery;
        let event_id = delivery.event.wire();
        let at = self.clock.now();
        let sending = Sending {
            event_id: &event_id,
            kind: &delivery.kind,
            sequence: delivery.sequence,
            attempt: delivery.n_attempts,
            at,
            body: &ready.claim.body,
        };
        let signed = sign::headers(&sending, &ready.secret, ready.previous.as_ref());
        let headers = header::with(ready.headers, signed);
        let body = ready.claim.body.clone().into();
        let posted = self.webhooks.egress.post(ready.url.clone(), headers, body).await;
        let settled = self.judge(&posted, delivery.n_failures + 1, at);
        let counts = &self.webhooks.attempt_counts;
        let is_delivered = settled == Settled::Delivered;
        let count = if is_delivered { &counts.delivered } else { &counts.failed };
        count.fetch_add(1, Ordering::Relaxed);
        let is_gone = matches!(posted.outcome, PostOutcome::Answered { status: 410, .. });
        let (status, answer) = posted.summary();
        let attempt = Attempt { number: delivery.n_attempts, at, ms: posted.ms, status, answer };
        Sent { key: (ready.webhook, delivery.sequence), attempt, settled, is_gone }
    }

    /// Stores the result of an attempt.
    pub async fn settle(&self, sent: &Sent) -> Result<()> {
        let Sent { key, attempt, settled, is_gone } = sent.clone();
        let at = attempt.at;
        let write = move |batch: &mut Batch| {
            let queue = batch.settle_delivery(key, attempt.clone(), settled)?;
            let why = match queue {
                Some(_) if is_gone => Disabling::Gone,
                Some(queue) if is_failing(&queue, at) => Disabling::Failing,
                Some(_) | None => return Ok(()),
            };
            match batch.find_webhook(key.0)?.filter(Webhook::is_enabled) {
                Some(webhook) => batch.disable_webhook(webhook, why, at),
                None => Ok(()),
            }
        };
        self.store.reserved().write(write).await
    }

    fn judge(&self, posted: &Posted, n_failures: u32, at: Time) -> Settled {
        let (failure, retry_after_s) = match &posted.outcome {
            PostOutcome::Answered { status: 200..=299, .. } => return Settled::Delivered,
            PostOutcome::Answered { status: 429 | 502 | 504, retry_after_s, .. } => {
                (DeliveryFailure::Overloaded, *retry_after_s)
            }
            PostOutcome::Answered { retry_after_s, .. } => (DeliveryFailure::Other, *retry_after_s),
            PostOutcome::Failed(Unsent::TimedOut) => (DeliveryFailure::Overloaded, None),
            PostOutcome::Failed(_) => (DeliveryFailure::Other, None),
        };
        let gaps_s = &self.options.webhooks.retry_gaps_s;
        let chance = u32::from_le_bytes(crate::secret::random());
        let next = schedule::next_ms(gaps_s, n_failures, failure, retry_after_s, chance);
        next.map_or(Settled::Exhausted, |ms| Settled::Retry { due: at.plus_ms(ms) })
    }

    /// # Errors
    /// `Unavailable` or `Internal` if the store cannot be read.
    pub async fn delivery_health(&self) -> Result<DeliveryHealth> {
        let now = self.clock.now();
        let AttemptCounts { delivered, failed } = &self.webhooks.attempt_counts;
        let attempts = DeliveryHealth {
            n_delivered: delivered.load(Ordering::Relaxed),
            n_failed: failed.load(Ordering::Relaxed),
            n_waiting: 0,
            n_disabled: 0,
            due_s: 0,
        };
        let add_queues = move |snapshot: &Snapshot| {
            let mut health = attempts;
            for webhook in snapshot.list_webhooks()? {
                match webhook.state {
                    WebhookState::Enabled { .. } => {
                        let queue = snapshot.find_delivery_queue(webhook.id)?;
                        let due_since = snapshot.due_since(webhook.id, now)?;
                        let due_s = due_since.map_or(0, |it| now.s_since(it));
                        health.n_waiting += u64::from(queue.n_waiting);
                        health.due_s = health.due_s.max(u64::try_from(due_s).unwrap_or(0));
                    }
                    WebhookState::Disabled { .. } => health.n_disabled += 1,
                    WebhookState::Removing => (),
                }
            }
            Ok(health)
        };
        self.store.read(add_queues).await
    }

    /// Removes deliveries that ended before the retention period. Returns true if more may remain.
    pub async fn forget_deliveries(&self) -> Result<bool> {
        let days = i64::from(self.options.webhooks.retention_days);
        let before = self.clock.now().plus_days(-days);
        let store = self.store.reserved();
        store.write(move |batch| batch.remove_finished_before(before, N_AT_ONCE)).await
    }
}

/// Claims only for endpoints that are still as they were read: secrets and headers were opened for that url, and go to no
/// other. One that was changed meanwhile is read again at the next look.
fn claim(
    batch: &mut Batch,
    queues: &[(Endpoint, usize)],
    now: Time,
) -> Result<Vec<(WebhookId, Claim)>> {
    let mut claimed = Vec::new();
    for (Endpoint { webhook, headers }, n_free) in queues {
        let id = webhook.id;
        if batch.find_webhook(id)?.as_ref() != Some(webhook)
            || batch.find_webhook_headers(id)? != *headers
        {
            continue;
        }
        let claims = batch.claim_deliveries(webhook, now, *n_free)?;
        claimed.extend(claims.into_iter().map(|it| (id, it)));
    }
    Ok(claimed)
}

fn is_failing(queue: &DeliveryQueue, now: Time) -> bool {
    N_FAILURES_MIN <= queue.n_failures
        && queue.failing_since.is_some_and(|it| it.plus_days(FAILING_DAYS) <= now)
}
