//! The task driver: run on a tick or a wake, until the stop.

use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::error::{Chain, Result};

/// Runs `task` now, every `period`, and whenever it is woken, until the stop; a dropped sender is a stop too.
///
/// `task` does a bounded amount of what is due and says whether more waits. It may be run twice; a failed run is
/// logged, and the next run is its retry. A run under way is finished first.
pub async fn drive(
    name: &'static str,
    period: Duration,
    wake: &Notify,
    mut stop: watch::Receiver<bool>,
    task: impl AsyncFn() -> Result<bool>,
) {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => return,
            _ = ticks.tick() => (),
            () = wake.notified() => (),
        }
        match task().await {
            Ok(true) => wake.notify_one(),
            Ok(false) => (),
            Err(error) => {
                tracing::error!(task = name, error = %Chain(&error), "task `{name}` failed: {}", Chain(&error));
            }
        }
    }
}
