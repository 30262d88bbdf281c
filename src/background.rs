//! The loop that runs a background task until the service stops.

use std::future::ready;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::error::{Chain, Result};

/// Runs `task` now and then every `period`, until the stop. A dropped sender is a stop too.
///
/// `task` does a bounded amount of the work that is due and returns true if more remains; it then runs again at once. It
/// may run twice. A failed run is logged, and the next run is its retry. A run in progress is finished first.
pub async fn drive(
    name: &'static str,
    period: Duration,
    mut stop: watch::Receiver<bool>,
    task: impl AsyncFn() -> Result<bool>,
) {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut more = false;
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => return,
            () = ready(()), if more => (),
            _ = ticks.tick() => (),
        }
        more = match task().await {
            Ok(more) => more,
            Err(error) => {
                tracing::error!(task = name, error = %Chain(&error), "task `{name}` failed: {}", Chain(&error));
                false
            }
        };
    }
}
