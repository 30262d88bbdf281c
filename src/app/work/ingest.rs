//! Imports findings that were pushed, a few files at a time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;
use crate::app::ingestion::N_IMPORTED_AT_ONCE;
use crate::background::FailureLog;

/// How often a file is tried again that could not be imported. A new one wakes the task at once.
const TRY_EVERY: Duration = Duration::from_secs(5);

/// Runs until the stop. A file whose import is canceled by it is imported after the next start.
pub(super) async fn run(app: Arc<App>, stop: watch::Receiver<bool>) {
    let mut failures = FailureLog::default();
    if let Err(error) = app.remove_lost_ingestion_files().await {
        failures.failed("files of findings cannot be removed", &error);
    }
    join_all((0..N_IMPORTED_AT_ONCE).map(|_| import_files(&app, stop.clone()))).await;
}

async fn import_files(app: &App, mut stop: watch::Receiver<bool>) {
    let mut failures = FailureLog::default();
    let mut ticks = interval(TRY_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => return,
            () = app.ingestion_wake().notified() => (),
            _ = ticks.tick() => (),
        }
        loop {
            let ingested = tokio::select! {
                biased;
                _ = stop.wait_for(|stopping| *stopping) => return,
                ingested = app.ingest_next() => ingested,
            };
            match ingested {
                Ok(true) => failures.succeeded(),
                Ok(false) => break,
                Err(error) => {
                    failures.failed("pushed findings cannot be imported", &error);
                    break;
                }
            }
        }
    }
}
