//! Runs blocking work off the async threads.

use crate::error::{Error, Result};

/// Runs `work` on a thread that may block. `held` is dropped when the work ends, which may be after the caller is dropped.
///
/// # Errors
/// Those of `work`; `Internal` if it panics; `Unavailable` if the process is stopping.
pub async fn run<H, T>(held: H, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T>
where
    H: Send + 'static,
    T: Send + 'static,
{
    #[expect(clippy::disallowed_methods, reason = "this is the one way off the async threads")]
    let ran = tokio::task::spawn_blocking(move || {
        let _held = held;
        work()
    });
    match ran.await {
        Ok(answer) => answer,
        Err(error) if error.is_panic() => Err(Error::internal("blocking work panicked")),
        Err(_) => Err(Error::unavailable("the service is stopping")),
    }
}
