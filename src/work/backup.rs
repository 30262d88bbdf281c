//! Scheduled backups.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::app::App;
use crate::background::drive;

/// How often the schedule is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Makes due backups until the stop, which ends the one in progress: the next start makes it.
pub async fn run(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    let backups = drive("backup", LOOK_EVERY, stop.clone(), async || {
        if app.believes_clock().await {
            app.run_due_backup().await?;
        }
        Ok(false)
    });
    tokio::select! {
        () = backups => (),
        _ = stop.wait_for(|stopping| *stopping) => (),
    }
}
