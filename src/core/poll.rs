//! How long async work holds its thread. What holds one keeps all other requests waiting that the thread has.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::thread_time;

/// A poll that takes more of the processor's time belongs on a thread that may block.
pub const LONG_POLL: Duration = Duration::from_millis(50);

/// Measures the polls of async work. Time in which the thread does not run does not count.
#[derive(Debug, Default)]
pub struct PollWatch {
    n_long: AtomicU64,
    longest_us: AtomicU64,
}

impl PollWatch {
    /// Runs the work to its end. `what`: what it is, for the log line about a long poll.
    pub fn watch<'a, F: Future + 'a>(
        &'a self,
        what: impl Fn() -> String + 'a,
        work: F,
    ) -> impl Future<Output = F::Output> + 'a {
        let mut work = Box::pin(work);
        poll_fn(move |context| {
            let began = thread_time();
            let polled = work.as_mut().poll(context);
            self.note(thread_time().saturating_sub(began), &what);
            polled
        })
    }

    fn note(&self, took: Duration, what: impl Fn() -> String) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.longest_us.fetch_max(took_us, Ordering::Relaxed);
        if LONG_POLL < took {
            self.n_long.fetch_add(1, Ordering::Relaxed);
            let (what, duration_ms) = (what(), took.as_millis());
            tracing::warn!(duration_ms, "{what} held an async thread for {duration_ms} ms");
        }
    }

    /// Polls of more than [`LONG_POLL`] since the start.
    #[must_use]
    pub fn n_long(&self) -> u64 {
        self.n_long.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn longest(&self) -> Duration {
        Duration::from_micros(self.longest_us.load(Ordering::Relaxed))
    }
}
