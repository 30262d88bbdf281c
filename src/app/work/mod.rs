//! Background tasks.

mod backup;
mod batch;
mod connect;
mod deliver;
mod ingest;
mod report;
mod scan;
mod sweep;
mod watch;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tokio::sync::watch::Receiver;

use crate::app::App;

/// Runs all background tasks until the stop. Boxed, so that they are compiled with this package.
pub fn run<'a>(app: &'a Arc<App>, stop: &'a Receiver<bool>) -> LocalBoxFuture<'a, ()> {
    let work = async {
        tokio::join!(
            sweep::run(Arc::clone(app), stop.clone()),
            deliver::run(Arc::clone(app), stop.clone()),
            scan::run(Arc::clone(app), stop.clone()),
            backup::run(Arc::clone(app), stop.clone()),
            batch::run(Arc::clone(app), stop.clone()),
            connect::run(Arc::clone(app), stop.clone()),
            watch::run(Arc::clone(app), stop.clone()),
            ingest::run(Arc::clone(app), stop.clone()),
            report::run(Arc::clone(app), stop.clone()),
        );
    };
    app.polls.watch(|| "background work".to_owned(), work).boxed_local()
}
