//! Runs connections when they are due.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;
use crate::app::connect::registry::N_AT_ONCE_MAX;
use crate::background::{FailureLog, drive};

/// How often notices about connections are opened and closed.
const NOTE_EVERY: Duration = Duration::from_secs(10);
/// How often due connections are looked for. A new one wakes the task at once.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Runs due connections and keeps notices about them until the stop.
pub(super) async fn run(app: Arc<App>, stop: watch::Receiver<bool>) {
    tokio::join!(
        run_due(&app, stop.clone()),
        drive("note-connections", NOTE_EVERY, stop, async || {
            app.note_connections().await.map(|()| false)
        }),
    );
}

/// Runs due connections until the stop, which ends those that run: the next start repeats them.
async fn run_due(app: &Arc<App>, mut stop: watch::Receiver<bool>) {
    let mut running = JoinSet::new();
    let mut failures = FailureLog::default();
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => break,
            Some(ended) = running.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a run of a connection panicked");
                }
            }
            () = app.connect_wake().notified() => (),
            _ = ticks.tick() => (),
        }
        if !app.believes_clock().await || N_AT_ONCE_MAX <= running.len() {
            continue;
        }
        match app.list_due_connections().await {
            Ok(due) => {
                failures.succeeded();
                for id in due.into_iter().take(N_AT_ONCE_MAX - running.len()) {
                    let app = Arc::clone(app);
                    running.spawn(async move { app.run_connection(id).await });
                }
            }
            Err(error) => failures.failed("due connections cannot be listed", &error),
        }
    }
    running.shutdown().await;
}
