//! Runs blocking work off the async threads, and tells it when its result is no longer wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::error::{Error, Result};

/// Whether work should give up: its caller is gone, its time is up, or the service stops. Long work checks it between records.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    is_caller_gone: Arc<AtomicBool>,
    is_stopping: Arc<AtomicBool>,
    /// `None`: it may take as long as it does.
    end: Option<End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    at: Instant,
    after: Duration,
}

impl Cancellation {
    /// Of one piece of work of this service.
    #[must_use]
    pub fn within(service: &Self) -> Self {
        let is_stopping = Arc::clone(&service.is_stopping);
        Self { is_caller_gone: Arc::default(), is_stopping, end: None }
    }

    /// The same, but the work may only take so long.
    #[must_use]
    pub fn within_time(self, longest: Duration) -> Self {
        Self { end: Some(End { at: Instant::now() + longest, after: longest }), ..self }
    }

    /// Cancels all work of this service.
    pub fn cancel_all(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// `Unavailable` when the work is canceled; `TooLarge` when its time is up.
    pub fn check(&self) -> Result<()> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err(Error::unavailable("the service is stopping; send the request again"));
        }
        if self.is_caller_gone.load(Ordering::Relaxed) {
            return Err(Error::unavailable("the caller disconnected; nothing was changed"));
        }
        if let Some(End { after, .. }) = self.end.filter(|it| it.at <= Instant::now()) {
            let seconds = after.as_secs();
            return Err(Error::too_large(format!(
                "reading it took more than {seconds} s, which is the limit; send it in parts"
            )));
        }
        Ok(())
    }
}

/// Cancels the work when its caller is dropped.
struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.is_caller_gone.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` on a thread that may block. `held` is dropped when the work ends, which may be after the caller is dropped.
///
/// # Errors
/// Those of `work`; `Internal` if it panics; `Unavailable` if the process is stopping.
pub async fn run<H, T>(held: H, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T>
where
    H: Send + 'static,
    T: Send + 'static,
{
    let (answer, answered) = oneshot::channel();
    let ran = start(Box::new(move || {
        let outcome = work();
        drop(held);
        drop(answer.send(outcome)); // Fails if the caller was dropped.
    }));
    match answered.await {
        Ok(outcome) => outcome,
        Err(_) if ran.await.is_err_and(|it| it.is_panic()) => {
            Err(Error::internal("blocking work panicked"))
        }
        Err(_) => Err(Error::unavailable("the service is stopping")),
    }
}

/// Not generic, so that tokio's task is compiled once and not for each piece of work.
fn start(work: Box<dyn FnOnce() + Send>) -> JoinHandle<()> {
    #[expect(clippy::disallowed_methods, reason = "this is the one way off the async threads")]
    tokio::task::spawn_blocking(work)
}

/// [`run`] for long work, which is canceled when the caller is dropped.
///
/// # Errors
/// As [`run`].
pub async fn run_cancelable<H, T>(
    held: H,
    cancellation: Cancellation,
    work: impl FnOnce(&Cancellation) -> Result<T> + Send + 'static,
) -> Result<T>
where
    H: Send + 'static,
    T: Send + 'static,
{
    let _on_drop = CancelOnDrop(cancellation.clone());
    run(held, move || work(&cancellation)).await
}
