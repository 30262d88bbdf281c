//! Sends scheduled reports when they are due.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::app::App;
use crate::app::report::schedule::send::N_AT_ONCE_MAX;
use crate::background::drive;

/// How often due reports are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often the notice about reports that were not sent is opened or closed.
const NOTE_EVERY: Duration = Duration::from_mins(1);
/// How long a stop waits for reports that are being sent. The others are sent again after the next start.
const STOP_WAIT: Duration = Duration::from_secs(3);

/// Sends due reports until the stop.
pub(super) async fn run(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    let sending = drive("send-reports", LOOK_EVERY, stop.clone(), async || {
        if !app.believes_clock().await {
            return Ok(false);
        }
        let claimed = app.claim_reports().await?;
        let n = claimed.len();
        let sent = join_all(claimed.into_iter().map(|it| app.send_report(it))).await;
        if n != 0 {
            app.note_reports().await?;
        }
        sent.into_iter().collect::<Result<Vec<()>, _>>()?;
        Ok(n == N_AT_ONCE_MAX)
    });
    let noting = drive("note-reports", NOTE_EVERY, stop.clone(), async || {
        app.note_reports().await.map(|()| false)
    });
    tokio::select! {
        _ = async { tokio::join!(sending, noting) } => (),
        () = async {
            let _ = stop.wait_for(|stopping| *stopping).await;
            sleep(STOP_WAIT).await;
        } => (),
    }
}
