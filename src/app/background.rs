//! The loop that runs a background task until the service stops.

use std::future::ready;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::error::{Chain, Error, Result};

/// Logs the failures of repeated work: each once, until the work succeeds or fails for another reason.
#[derive(Debug, Default)]
pub struct FailureLog {
    last: Option<String>,
}

impl FailureLog {
    /// `what`: the sentence before the error, for example "queued scans cannot be started".
    pub fn failed(&mut self, what: &str, error: &Error) {
        let text = format!("{what}: {}", Chain(error));
        if self.last.as_ref() != Some(&text) {
            tracing::error!("{text}");
            self.last = Some(text);
        }
    }

    pub fn succeeded(&mut self) {
        self.last = None;
    }
}

/// Runs `task` now and then every `period`, until the stop. A dropped sender is a stop too.
///
/// `task` does a bounded amount of the work that is due and returns true if more remains; it then runs again at once. It
/// may run twice. A failed run is logged ([`FailureLog`]), and the next run is its retry. A run in progress is finished first.
pub async fn drive(
    name: &'static str,
    period: Duration,
    mut stop: watch::Receiver<bool>,
    task: impl AsyncFn() -> Result<bool>,
) {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut more = false;
    let mut failures = FailureLog::default();
    loop {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => return,
            () = ready(()), if more => (),
            _ = ticks.tick() => (),
        }
        more = match task().await {
            Ok(more) => {
                failures.succeeded();
                more
            }
            Err(error) => {
                failures.failed(&format!("task `{name}` failed"), &error);
                false
            }
        };
    }
}
