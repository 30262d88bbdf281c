//! Takes finished files from the watch folder.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::app::App;
use crate::background::drive;

/// How often the folder is looked at. A file is taken when it did not change for some seconds.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Takes one file of each client after the other until the stop, so that a client with many does not keep the others
/// waiting. The file in progress is finished first.
pub(super) async fn run(app: Arc<App>, stop: watch::Receiver<bool>) {
    if app.options.watch.is_none() {
        return;
    }
    drive("watch", LOOK_EVERY, stop.clone(), async || {
        // Facts would be refused as too old.
        if !app.believes_clock().await {
            return Ok(false);
        }
        let round = app.list_finished_files().await?;
        for file in round.files {
            if *stop.borrow() {
                break;
            }
            app.take_finished_file(file).await;
        }
        Ok(round.more)
    })
    .await;
}
