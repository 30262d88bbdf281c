//! Periodic maintenance: due reassessments, counters, retention, unfinished runs and erasures.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::app::App;
use crate::background::drive;

/// How often due clients are looked for. A pushed asset's reassessment follows within this and its delay.
const SWEEP_EVERY: Duration = Duration::from_secs(2);
/// How often request counters are stored. A crash loses at most this much of them.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(10);
/// How often expired events, answers, audit entries, revoked keys and deliveries are looked for.
const FORGET_EVERY: Duration = Duration::from_mins(10);

/// Runs the maintenance tasks until the stop.
pub async fn run(app: Arc<App>, stop: watch::Receiver<bool>) {
    tokio::join!(
        drive("sweep", SWEEP_EVERY, stop.clone(), async || app.sweep().await),
        drive("checkpoint", CHECKPOINT_EVERY, stop.clone(), async || {
            app.checkpoint_audit().await?;
            app.checkpoint_limits().await.map(|()| false)
        }),
        drive("forget-events", FORGET_EVERY, stop.clone(), async || {
            app.checkpoint_unauthenticated().await?;
            app.log_audit_head().await?;
            Ok(app.forget_events().await?
                | app.forget_answers().await?
                | app.forget_audit().await?
                | app.forget_keys().await?)
        }),
        drive("resume", FORGET_EVERY, stop.clone(), async || {
            app.settle_all_runs().await;
            app.finish_erasures().await?;
            app.finish_webhook_removals().await.map(|()| false)
        }),
        drive("forget-deliveries", FORGET_EVERY, stop, async || app.forget_deliveries().await),
    );
}
