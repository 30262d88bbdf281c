//! Background tasks.

mod backup;
mod connect;
mod deliver;
mod ingest;
mod report;
mod scan;
mod sweep;
mod watch;

use std::sync::Arc;

use tokio::sync::watch::Receiver;

use crate::app::App;

/// Runs all background tasks until the stop.
pub async fn run(app: &Arc<App>, stop: &Receiver<bool>) {
    let work = async {
        tokio::join!(
            sweep::run(Arc::clone(app), stop.clone()),
            deliver::run(Arc::clone(app), stop.clone()),
            scan::run(Arc::clone(app), stop.clone()),
            backup::run(Arc::clone(app), stop.clone()),
            connect::run(Arc::clone(app), stop.clone()),
            watch::run(Arc::clone(app), stop.clone()),
            ingest::run(Arc::clone(app), stop.clone()),
            report::run(Arc::clone(app), stop.clone()),
        )
    };
    app.polls.watch(|| "background work".to_owned(), work).await;
}
