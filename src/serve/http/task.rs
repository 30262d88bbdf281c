//! How the tasks of connections and requests end.

use tokio::task::JoinError;

/// Logs a panic. Panics of handlers are caught before; this one came from the body of an answer.
pub(super) fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection panicked: {error}");
    }
}
