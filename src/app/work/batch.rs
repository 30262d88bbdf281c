//! Makes batches of statements.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::app::App;
use crate::background::drive;

/// How often new batches are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Makes and undoes batches until the stop.
pub(super) async fn run(app: Arc<App>, stop: watch::Receiver<bool>) {
    drive("batches", LOOK_EVERY, stop, async || app.advance_batches().await).await;
}
