//! The first start of a release with another catalog: the database is kept as it was, and every client is assessed again.
//! `POSTURE_LOAD=upgrade` runs it; `POSTURE_CLIENTS` says how many (1,000).

use std::sync::Arc;
use std::time::Instant;

use posture::catalog::embedded;
use posture::clock::{Clock, Time};
use posture::engine::catalog::Catalog;
use posture::id::ClientId;
use posture::store::global::client::Client;
use posture::store::{EngineOptions, Store, StoreOptions};

use crate::figure::Report;
use crate::harness::newer::put_format;
use crate::harness::process::Folder;
use crate::years::{Life, night, number};
use crate::{app, mib, serve};

const GOAL_S: f64 = 60.0;

pub(crate) fn measure(report: &mut Report) {
    let n_clients = number("POSTURE_CLIENTS", 1_000);
    Report::section(&format!("The first start after an upgrade: {n_clients} clients"));
    let folder = Folder::new();
    fill(&folder, n_clients);
    let file = folder.path().join("data/posture.redb");
    put_format(&file, 1);
    Report::note("the database", mib(std::fs::metadata(&file).unwrap().len() / 1024));
    let first_s = start(&folder);
    assert!(folder.path().join("data/posture.redb.format-1").exists());
    let name = "until it is ready, every client assessed again";
    report.goal(name, format!("{first_s:.1} s"), "< 60 s", first_s < GOAL_S);
    Report::note("the next start", format!("{:.2} s", start(&folder)));
}

/// How long a start takes. The service is stopped then.
fn start(folder: &Folder) -> f64 {
    let begun = Instant::now();
    let server = serve(folder);
    let seconds = begun.elapsed().as_secs_f64();
    assert!(server.stop().success());
    seconds
}

/// Clients as another catalog assessed them after a night of their tools, past the service.
fn fill(folder: &Folder, n_clients: u32) {
    let options = StoreOptions {
        dir: folder.path().join("data"),
        cache_bytes: 256 << 20,
        engine: EngineOptions::File,
    };
    // Long enough ago that it is not the night of today.
    let now = Time::EPOCH.plus_days(i64::from(Clock::System.now().day()) - 1);
    let store = Store::open(&options, now).unwrap();
    let ids: Vec<ClientId> = (0..n_clients).map(|_| ClientId::random()).collect();
    let clients: Vec<Client> =
        ids.iter().zip(0..).map(|(id, n)| app::client(*id, n, now)).collect();
    store.write_now(move |it| clients.iter().try_for_each(|one| it.put_client(one))).unwrap();
    let catalog = embedded().unwrap();
    let other = Catalog { digest: !catalog.digest, ..catalog };
    let app = Arc::new(app::open_with(&store, Clock::manual(now), other));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let lives = ids.iter().zip(1..).map(|(id, seed)| Life::of(*id, seed)).collect();
    runtime.block_on(night(&app, &store, lives, 0));
    drop(app);
    store.close();
}
