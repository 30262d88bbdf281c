//! Scheduled backups.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::app::App;
use crate::background::drive;

/// How often the schedule is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Makes due backups and runs the operator's command after them, until the stop. That ends the backup in progress, which the
/// next start makes, and the command in progress, which the next start runs again for the newest backup.
pub(super) async fn run(app: Arc<App>, mut stop: watch::Receiver<bool>) {
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
