//! What a backup costs those who write meanwhile, and how long it, a drill and a restore take. `POSTURE_LOAD=backup` runs it
//! alone; `POSTURE_ASSETS` names how large the database is.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use posture::store::EngineOptions;
use serde_json::json;

use super::figure::{Report, memory_kib};
use super::fill;
use super::harness::process::{Folder, Line};

const N_ASSETS: u32 = 500_000;
const WRITES_PER_S: u32 = 500;
const N_WRITERS: u32 = 10;
/// Before the backup.
const CALM: Duration = Duration::from_secs(20);

/// Pushes assets at a fixed rate until `done`. How long each took from when it was due, in microseconds.
fn push(
    address: SocketAddr,
    key: &str,
    client: &str,
    n: u32,
    done: &AtomicBool,
) -> Vec<(Instant, u64)> {
    let mut line = Line::to(address).unwrap();
    let gap = Duration::from_secs(1) * N_WRITERS / WRITES_PER_S;
    let mut due = Instant::now() + gap * n / N_WRITERS;
    let mut all = Vec::new();
    while !done.load(Ordering::Relaxed) {
        sleep(due.saturating_duration_since(Instant::now()));
        let name = format!("w{n}-{}", all.len());
        let asset =
            json!({"clientId": client, "name": name, "externalId": name, "assetType": "server"});
        let (status, body) = line.push(key, &asset).unwrap();
        assert_eq!(status, 201, "{body}");
        all.push((due, u64::try_from(due.elapsed().as_micros()).unwrap()));
        due += gap;
    }
    all
}

fn note(name: &str, mut micros: Vec<u64>) {
    micros.sort_unstable();
    let at = |per_mille: usize| micros[(micros.len() - 1) * per_mille / 1_000];
    let text = format!(
        "{} writes; p50 {} us, p99 {} us, p99.9 {} us, worst {} us",
        micros.len(),
        at(500),
        at(990),
        at(999),
        at(1_000)
    );
    Report::note(name, text);
}

pub(crate) fn measure() {
    Report::section("Backup");
    let named = std::env::var_os("POSTURE_ASSETS");
    let n_assets = named.map_or(N_ASSETS, |it| it.to_str().unwrap().parse().unwrap());
    let folder = Folder::new();
    let client = fill::client(&folder.path().join("data"), EngineOptions::File, n_assets);
    let key = folder.key("100000000");
    let database = folder.path().join("data/posture.redb");
    let mib = |it: &std::path::Path| format!("{} MiB", it.metadata().unwrap().len() >> 20);
    Report::note("database", mib(&database));
    let server = folder.serve();
    let (done, all) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let (mut began, mut ended) = (Instant::now(), Instant::now());
    std::thread::scope(|scope| {
        for n in 0..N_WRITERS {
            let (done, all, key, client, address) = (&done, &all, &key, &client, server.address);
            scope.spawn(move || {
                let pushed = push(address, key, client, n, done);
                all.lock().unwrap().extend(pushed);
            });
        }
        sleep(CALM);
        began = Instant::now();
        let said = folder.ok(&["backup", "one.redb"]);
        ended = Instant::now();
        Report::note("backup among writes", said.lines().nth(1).unwrap_or_default().trim());
        sleep(CALM);
        done.store(true, Ordering::Relaxed);
    });
    let all = all.into_inner().unwrap();
    let of = |keep: &dyn Fn(Instant) -> bool| {
        all.iter().filter(|it| keep(it.0)).map(|it| it.1).collect::<Vec<_>>()
    };
    note("writers before", of(&|it| it < began));
    note("writers during the backup", of(&|it| began <= it && it < ended));
    note("writers after", of(&|it| ended <= it));
    let kib = memory_kib(server.id(), "VmRSS");
    Report::note("resident memory of the server then", format!("{} MiB", kib / 1024));
    Report::note("backup file", mib(&folder.path().join("one.redb")));
    Report::note("database after", mib(&database));
    let drill = folder.ok(&["backup", "drill", "one.redb"]);
    Report::note("drill", drill.lines().nth(1).unwrap_or_default().trim());
    assert!(server.stop().success(), "it stops in order");
    for (name, args) in [
        ("backup without a server", &["backup", "two.redb"][..]),
        ("restore", &["restore", "one.redb", "--replace"]),
        ("check", &["check"]),
        ("compact", &["compact"]),
    ] {
        let start = Instant::now();
        let said = folder.ok(args);
        Report::note(
            name,
            format!("{:.1?}: {}", start.elapsed(), said.lines().next().unwrap_or_default()),
        );
    }
}
