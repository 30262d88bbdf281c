//! Runs network scans: queued ones, and those that were running when the service stopped.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;
use crate::background::FailureLog;
use crate::error::{Chain, Result};
use crate::id::ScanId;
use crate::store::global::scan::Scan;

/// How often scans are looked for. A new scan wakes the task at once.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How often old scans to delete are looked for.
const FORGET_EVERY: Duration = Duration::from_mins(10);

/// Runs scans until the stop. Scans in progress continue after the next start.
pub(super) async fn run(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    let mut running = JoinSet::new();
    let mut under_way: HashMap<task::Id, ScanId> = HashMap::new();
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut forget_ticks = interval(FORGET_EVERY);
    let mut failures = FailureLog::default();
    let n_max = app.options.scan.n_concurrent as usize;
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => break,
            Some(ended) = running.join_next_with_id() => {
                let task = ended.as_ref().map_or_else(JoinError::id, |it| it.0);
                match (ended, under_way.remove(&task)) {
                    (Ok((_, Err(error))), Some(id)) => {
                        tracing::error!(scan.id = %id, error = %Chain(&error), "scan `{id}` failed and will be resumed: {}", Chain(&error));
                    }
                    (Err(error), _) => tracing::error!(%error, "a scan panicked"),
                    (Ok(_), _) => (),
                }
            }
            () = app.scan_wake().notified() => (),
            _ = ticks.tick() => (),
            _ = forget_ticks.tick() => {
                match app.forget_scans().await {
                    Ok(true) => forget_ticks.reset_immediately(),
                    Ok(false) => (),
                    Err(error) => failures.failed("old scans cannot be deleted", &error),
                }
            }
        }
        while under_way.len() < n_max {
            match app.claim_scan(under_way.values().copied().collect()).await {
                Ok(Some(scan)) => {
                    let id = scan.id;
                    let task = running.spawn(run_one(Arc::clone(&app), scan, stop.clone()));
                    under_way.insert(task.id(), id);
                }
                Ok(None) => {
                    failures.succeeded();
                    break;
                }
                Err(error) => {
                    failures.failed("queued scans cannot be started", &error);
                    break;
                }
            }
        }
    }
    while running.join_next().await.is_some() {}
}

/// Runs one scan. If it fails, it waits before the scan is claimed again.
async fn run_one(app: Arc<App>, scan: Scan, mut stop: watch::Receiver<bool>) -> Result<()> {
    let settled = app.run_scan(scan, stop.clone()).await;
    if settled.is_err() {
        let stopped = stop.wait_for(|stopping| *stopping);
        let _ = tokio::time::timeout(LOOK_EVERY, stopped).await;
    }
    settled
}
