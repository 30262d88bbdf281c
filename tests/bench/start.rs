//! The start of a server that has much to serve.

use posture::app::event::cause::Cause;
use posture::clock::Clock;
use posture::id::ClientId;
use posture::serve::CONTROL_SOCKET;
use posture::store::global::client::Client;
use posture::store::{EngineOptions, Store, StoreOptions};

use super::app;
use super::figure::{Report, median, memory_kib};
use super::harness::http;
use super::harness::process::Folder;
use super::{Bench, median_micros, micros};

const N_CLIENTS: u32 = 10_000;
const N_STARTS: u32 = 5;

pub(super) fn bench(bench: &mut Bench) {
    Report::section("Start, from the command to the first line");
    let folder = Folder::new();
    let starts = |folder: &Folder| {
        let all = (0..N_STARTS).map(|_| {
            let mut server = None;
            let micros = micros(|| server = Some(folder.serve()));
            let server = server.unwrap();
            let kib = memory_kib(server.id(), "VmRSS");
            assert!(server.stop().success());
            (micros, kib)
        });
        let (times, memory): (Vec<u64>, Vec<u64>) = all.unzip();
        (median(times), median(memory))
    };
    bench.note("without clients", starts(&folder).0);
    let filling = micros(|| fill(&folder));
    bench.note(&format!("(filling in {N_CLIENTS} assessed clients took)"), filling);
    let (starting, kib) = starts(&folder);
    bench.goal(&format!("with {N_CLIENTS} assessed clients"), starting, 1_000_000);
    Report::note("resident memory then", format!("{} MiB", kib / 1024));
    Report::section("Figures over all of them");
    let server = folder.serve();
    let socket = folder.path().join("data").join(CONTROL_SOCKET);
    let get = |path: &str| {
        median_micros(20, || {
            assert_eq!(http::send_socket(&socket, "GET", path, &[], &[]).status, 200);
        })
    };
    bench.goal("key performance indicators", get("/api/dashboard/kpis"), 50_000);
    let portfolio = "/api/portfolio/compliance?framework=SOC2";
    bench.note("portfolio, a page of a framework", get(portfolio));
    let standing = format!("{portfolio}&requirement=CC6.1&status=compliant");
    bench.note("portfolio, who stands so in a requirement", get(&standing));
    assert!(server.stop().success());
}

/// Adds clients, each assessed once, past the service.
fn fill(folder: &Folder) {
    let options = StoreOptions {
        dir: folder.path().join("data"),
        cache_bytes: 256 << 20,
        engine: EngineOptions::File,
    };
    let now = Clock::System.now();
    let store = Store::open(&options, now).unwrap();
    let ids: Vec<ClientId> = (0..N_CLIENTS).map(|_| ClientId::random()).collect();
    let clients: Vec<Client> =
        ids.iter().zip(0..).map(|(id, n)| app::client(*id, n, now)).collect();
    let put_all = move |batch: &mut posture::store::Batch| {
        clients.iter().try_for_each(|it| batch.put_client(it))
    };
    store.write_now(put_all).unwrap();
    let app = app::open(&store, Clock::System);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for id in ids {
            app.reassess(&store.client_store(id), Cause::Scope).await.unwrap();
        }
    });
    drop(app);
    store.close();
}
