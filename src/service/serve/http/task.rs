//! How the tasks of connections and requests end, and waits for what lasts too long.

use std::time::Duration;

use tokio::task::JoinError;
use tokio::time::sleep;

/// Completes once something has lasted for this time. `so_far`: how long it has; `None`: it is not so now.
pub(super) async fn lasted(max: Duration, so_far: impl Fn() -> Option<Duration>) {
    loop {
        match so_far() {
            Some(so_far) if max <= so_far => return,
            Some(so_far) => sleep(max.saturating_sub(so_far)).await,
            // It cannot have lasted for that long any sooner.
            None => sleep(max).await,
        }
    }
}

/// Logs a panic. Panics of handlers are caught before; this one came from the body of an answer.
pub(super) fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection panicked: {error}");
    }
}
