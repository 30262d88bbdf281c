//! Periodic maintenance: due reassessments, counters, retention, unfinished runs and erasures.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;
use crate::background::{FailureLog, drive};
use crate::id::ClientId;

/// How often due clients are looked for. A pushed asset's reassessment follows within this and its delay.
const SWEEP_EVERY: Duration = Duration::from_secs(2);
/// Clients that are assessed at the same time. One that takes long does not keep the others waiting.
const N_AT_ONCE_MAX: usize = 3;
/// How often request counters are stored. A crash loses at most this much of them.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(10);
/// How often expired events, answers, audit entries, revoked keys and deliveries are looked for.
const FORGET_EVERY: Duration = Duration::from_mins(10);

/// Runs the maintenance tasks until the stop.
pub(super) async fn run(app: Arc<App>, stop: watch::Receiver<bool>) {
    tokio::join!(
        sweep(&app, stop.clone()),
        drive("checkpoint", CHECKPOINT_EVERY, stop.clone(), async || {
            app.checkpoint_audit().await?;
            app.checkpoint_limits().await.map(|()| false)
        }),
        drive("forget-events", FORGET_EVERY, stop.clone(), async || {
            app.checkpoint_unauthenticated().await?;
            app.log_audit_head().await?;
            if !app.believes_clock().await {
                return Ok(false);
            }
            Ok(app.forget_events().await?
                | app.forget_answers().await?
                | app.forget_audit().await?
                | app.forget_keys().await?)
        }),
        drive("resume", FORGET_EVERY, stop.clone(), async || {
            app.settle_all_runs().await?;
            app.finish_erasures().await?;
            app.note_exploited_list().await?;
            app.note_release().await?;
            app.finish_webhook_removals().await.map(|()| false)
        }),
        drive("forget-deliveries", FORGET_EVERY, stop, async || {
            Ok(app.believes_clock().await && app.forget_deliveries().await?)
        }),
    );
}

/// Assesses due clients until the stop. Assessments in progress are finished.
async fn sweep(app: &Arc<App>, mut stop: watch::Receiver<bool>) {
    let mut running = JoinSet::new();
    let mut under_way: HashMap<task::Id, ClientId> = HashMap::new();
    let mut waiting = VecDeque::new();
    let mut failures = FailureLog::default();
    let mut ticks = interval(SWEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => break,
            Some(ended) = running.join_next_with_id() => {
                under_way.remove(&ended.as_ref().map_or_else(JoinError::id, |it| it.0));
                match ended {
                    Ok((_, Ok(()))) => failures.succeeded(),
                    Ok((_, Err(error))) => failures.failed("due clients cannot be assessed", &error),
                    Err(error) => tracing::error!(%error, "an assessment panicked"),
                }
            }
            _ = ticks.tick() => {
                let busy: Vec<ClientId> = under_way.values().copied().collect();
                match app.list_due(&busy).await {
                    Ok(due) => waiting = VecDeque::from(due),
                    Err(error) => failures.failed("due clients cannot be listed", &error),
                }
            }
        }
        if !app.believes_clock().await {
            waiting.clear();
        }
        while under_way.len() < N_AT_ONCE_MAX
            && let Some(client) = waiting.pop_front()
        {
            let app = Arc::clone(app);
            let started = running.spawn(async move {
                let what = || format!("the sweep of client {client}");
                app.polls.watch(what, app.sweep(client)).await
            });
            under_way.insert(started.id(), client);
        }
    }
    while running.join_next().await.is_some() {}
}
