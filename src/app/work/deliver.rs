//! Sends due webhook deliveries. Each webhook has a queue of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::watch;
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::app::App;
use crate::app::webhook::delivery::{N_SHARED_MAX, Ready};
use crate::background::FailureLog;
use crate::id::WebhookId;

/// Concurrent attempts at a webhook whose last attempt succeeded. Any other webhook has one at a time.
const N_PER_WEBHOOK_MAX: usize = 4;
/// How often retries are looked for. New deliveries wake the task at once.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long to wait before the result of an attempt is stored again.
const SETTLE_AGAIN: Duration = Duration::from_secs(1);
/// Why an attempt has no result.
const STOPPED: &str = "the service stopped before the attempt ended";
const LOST: &str = "the attempt was counted, but its outcome is not known";
/// How long a stop waits for attempts in progress. The others are retried after the next start.
const STOP_WAIT: Duration = Duration::from_secs(3);

#[derive(Default)]
struct EndpointSlots {
    n_under_way: usize,
    /// The last attempt succeeded.
    is_well: bool,
}

#[derive(Default)]
struct AllSlots {
    webhooks: BTreeMap<WebhookId, EndpointSlots>,
    n_shared: usize,
}

impl AllSlots {
    /// How many more attempts may be started at a webhook now.
    fn n_free(&self, id: WebhookId) -> usize {
        let shared = N_SHARED_MAX.saturating_sub(self.n_shared);
        match self.webhooks.get(&id) {
            None => 1,
            Some(webhook) if webhook.is_well => {
                let own = usize::from(webhook.n_under_way == 0);
                (N_PER_WEBHOOK_MAX - webhook.n_under_way).min(own + shared)
            }
            Some(webhook) => usize::from(webhook.n_under_way == 0),
        }
    }

    fn begin(&mut self, id: WebhookId) {
        let webhook = self.webhooks.entry(id).or_default();
        self.n_shared += usize::from(0 < webhook.n_under_way);
        webhook.n_under_way += 1;
    }

    fn end(&mut self, id: WebhookId, is_delivered: bool) {
        let Some(webhook) = self.webhooks.get_mut(&id) else { return };
        if webhook.n_under_way == 0 {
            return; // A delivery that arrived and panicked afterwards ends twice.
        }
        webhook.n_under_way -= 1;
        webhook.is_well = is_delivered;
        self.n_shared -= usize::from(0 < webhook.n_under_way);
        if webhook.n_under_way == 0 && !webhook.is_well {
            self.webhooks.remove(&id);
        }
    }
}

/// Delivers until the stop.
pub(super) async fn run(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    let mut slots = AllSlots::default();
    let mut sending = JoinSet::new();
    let mut under_way = HashMap::new();
    let mut failures = FailureLog::default();
    // Why there may be claims that are not under way.
    let mut lost = Some(STOPPED);
    // Holds at most as many items as there are attempts in progress.
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => break,
            Some(ended) = sending.join_next_with_id() => {
                end(&mut slots, &mut under_way, ended, &mut lost);
            }
            Some(id) = arrivals.recv() => slots.end(id, true),
            () = app.outbox().notified() => (),
            _ = ticks.tick() => if let Some(why) = lost {
                let known = under_way.values().copied().collect();
                match app.release_claims(&known, why).await {
                    Ok(()) => lost = None,
                    Err(error) => failures.failed("deliveries cannot be resumed", &error),
                }
            },
        }
        while let Some(ended) = sending.try_join_next_with_id() {
            end(&mut slots, &mut under_way, ended, &mut lost);
        }
        while let Ok(id) = arrivals.try_recv() {
            slots.end(id, true);
        }
        match app.claim_due(|id| slots.n_free(id)).await {
            Ok(ready) => {
                failures.succeeded();
                for it in ready {
                    slots.begin(it.webhook);
                    let key = it.key();
                    let task = sending.spawn(deliver(Arc::clone(&app), it, arrived.clone()));
                    under_way.insert(task.id(), key);
                }
            }
            Err(error) => {
                // The commit may be durable all the same.
                lost.get_or_insert(LOST);
                failures.failed("due deliveries cannot be started", &error);
            }
        }
    }
    drop(timeout(STOP_WAIT, async { while sending.join_next().await.is_some() {} }).await);
}

/// Deliveries that this process has under way, by the task of the attempt.
type UnderWay = HashMap<task::Id, (WebhookId, u64)>;

/// Makes one attempt and stores its result, again and again until the database accepts it. A success is reported at once,
/// so that the next delivery need not wait until it is stored. A failure may have disabled the webhook, and keeps its place
/// until that is known; its webhook is returned.
async fn deliver(
    app: Arc<App>,
    ready: Ready,
    arrived: UnboundedSender<WebhookId>,
) -> Option<WebhookId> {
    let id = ready.webhook;
    let sent = app.send(ready).await;
    let failed = (!sent.is_delivered()).then_some(id);
    if failed.is_none() {
        let _ = arrived.send(id); // Fails when the task is stopping.
    }
    let mut failures = FailureLog::default();
    while let Err(error) = app.settle(&sent).await {
        failures.failed("the result of a delivery attempt cannot be stored yet", &error);
        sleep(SETTLE_AGAIN).await;
    }
    failed
}

fn end(
    slots: &mut AllSlots,
    under_way: &mut UnderWay,
    ended: Result<(task::Id, Option<WebhookId>), JoinError>,
    lost: &mut Option<&'static str>,
) {
    match ended {
        Ok((task, failed)) => {
            under_way.remove(&task);
            if let Some(id) = failed {
                slots.end(id, false);
            }
        }
        Err(error) => {
            tracing::error!(%error, "a delivery panicked");
            lost.get_or_insert(LOST);
            if let Some((webhook, _)) = under_way.remove(&error.id()) {
                slots.end(webhook, false);
            }
        }
    }
}
