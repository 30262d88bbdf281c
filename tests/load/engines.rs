//! The service on each engine, in one run: the file, a PostgreSQL server on this machine, and the same one at the distance of
//! another room. `POSTURE_LOAD=engines` runs it; `POSTURE_ASSETS` names how many assets the large client has.

use std::time::{Duration, Instant};

use posture::store::EngineOptions;
use tempfile::TempDir;

use crate::figure::{Report, memory_kib, quotient, time};
use crate::findings::{REAL_FINDING_BYTES, write};
use crate::harness::postgres::{Cluster, options};
use crate::harness::process::Folder;
use crate::harness::wire::Wire;
use crate::measure::{ask, cpu_ms, elapsed_micros, fsync_micros, push};
use crate::{Load, PAGE, Size, deliver, fill, mib, serve};

const N_ASSETS: u32 = 1_000_000;
const MIB: u64 = 1024 * 1024;
/// There and back it is twice as far.
const ONE_WAY: Duration = Duration::from_micros(350);
/// As on a server whose commits survive a loss of power, which those of the tests need not.
pub(crate) const SETTINGS: [&str; 3] = ["fsync=on", "full_page_writes=on", "shared_buffers=1GB"];

/// What keeps the rows.
pub(crate) enum Engine<'a> {
    File,
    /// Reached over this port.
    Server(&'a Cluster, u16),
}

/// A new database.
pub(crate) struct Database {
    /// Of the configuration.
    pub(crate) section: String,
    pub(crate) options: EngineOptions,
    name: Option<String>,
    /// Has the file with the URL.
    _dir: Option<TempDir>,
}

impl Engine<'_> {
    pub(crate) fn database(&self) -> Database {
        match self {
            Self::File => Database {
                section: String::new(),
                options: EngineOptions::File,
                name: None,
                _dir: None,
            },
            Self::Server(cluster, port) => {
                let near = cluster.new_database();
                let url = near.replace(&format!(":{}/", cluster.port), &format!(":{port}/"));
                let dir = TempDir::new().unwrap();
                let file = dir.path().join("database.url");
                std::fs::write(&file, &url).unwrap();
                let name = near.rsplit('/').next().unwrap().split('?').next().unwrap();
                Database {
                    section: format!(
                        "[database]\nengine = \"postgres\"\nurl_file = \"{}\"\n",
                        file.display()
                    ),
                    options: EngineOptions::Postgres(Box::new(options(&url))),
                    name: Some(name.to_owned()),
                    _dir: Some(dir),
                }
            }
        }
    }

    /// What the database takes once free space is given back. Nothing writes meanwhile.
    pub(crate) fn settled_bytes(&self, database: &Database, folder: &Folder) -> u64 {
        match self {
            Self::File => {
                let copy = database.folder();
                let to = copy.path().join("data");
                std::fs::create_dir_all(&to).unwrap();
                let file = "posture.redb";
                std::fs::copy(folder.path().join("data").join(file), to.join(file)).unwrap();
                copy.ok(&["compact"]);
                self.bytes(database, &copy)
            }
            Self::Server(cluster, _) => {
                cluster.sql(database.name.as_deref().unwrap(), "VACUUM FULL");
                self.bytes(database, folder)
            }
        }
    }

    pub(crate) fn bytes(&self, database: &Database, folder: &Folder) -> u64 {
        match self {
            Self::File => folder.path().join("data/posture.redb").metadata().unwrap().len(),
            Self::Server(cluster, _) => {
                let name = database.name.as_deref().unwrap();
                let sql = format!("SELECT pg_database_size('{name}')");
                cluster.sql("postgres", &sql).trim().parse().unwrap()
            }
        }
    }
}

impl Database {
    pub(crate) fn folder(&self) -> Folder {
        let folder = Folder::new();
        let config = "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n";
        folder.write("posture.toml", (config.to_owned() + &self.section).as_bytes());
        folder
    }
}

/// PostgreSQL runs on whichever core has room, the service on one.
pub(crate) fn measure(size: &Size) {
    let cluster = Cluster::start(&SETTINGS);
    let distant = Wire::to_distant(cluster.port, ONE_WAY);
    for (name, engine) in [
        ("The file", Engine::File),
        ("PostgreSQL on this machine", Engine::Server(&cluster, cluster.port)),
        ("PostgreSQL, 0.7 ms there and back", Engine::Server(&cluster, distant.port)),
    ] {
        Report::section(name);
        large_client(&engine, size);
        import(&engine);
        for n_endpoints in [1, 10] {
            deliver::rate(&engine.database(), n_endpoints, size.n_deliveries, size.seconds);
        }
    }
}

/// Pages of a large client, and pushes to another one.
fn large_client(engine: &Engine<'_>, size: &Size) {
    let named = std::env::var_os("POSTURE_ASSETS");
    let n_assets = named.map_or(N_ASSETS, |it| it.to_str().unwrap().parse().unwrap());
    let database = engine.database();
    let folder = database.folder();
    let start = Instant::now();
    let data = folder.path().join("data");
    let client = fill::client(&data, database.options.clone(), n_assets);
    Report::note(&format!("{n_assets} assets written"), time(elapsed_micros(start)));
    let bytes = engine.bytes(&database, &folder) / 1024;
    Report::note("size of the database", mib(bytes));
    let start = Instant::now();
    let server = serve(&folder);
    Report::note("start, until it says where it listens", time(elapsed_micros(start)));
    let size = Size { n_assets, ..*size };
    let load = Load { size, key: folder.key("100000000"), client, server, folder };
    let path = load.path(PAGE);
    let start = Instant::now();
    assert_eq!(load.server.get(&load.key, path.trim_start_matches("/api/v1")).status, 200);
    Report::note("first page of all", time(elapsed_micros(start)));
    pages(&load);
    let pushed = load.folder.client("Pushed");
    for n in [1, 8, 64] {
        let counters = || {
            let server = &load.server;
            let metric = |it| server.metric(it);
            (metric("posture_store_commits_total"), metric("posture_store_writes_total"))
        };
        let before = counters();
        let target = (load.key.as_str(), pushed.as_str(), &*format!("p{n}"));
        let run = push(load.server.address, target, n, load.size.seconds);
        let after = counters();
        let each = quotient(after.1 - before.1, after.0 - before.0);
        let value = format!("{}, p99 {}, {each} per commit", run.per_s, time(run.p99_micros));
        Report::note(&format!("{n} connections: pushes/s"), value);
    }
    Report::note("fsync of 4 KiB beside it, median", time(fsync_micros(load.folder.path())));
    let most = mib(memory_kib(load.server.id(), "VmHWM"));
    Report::note("resident memory of the service at most", most);
    assert!(load.server.stop().success());
}

fn pages(load: &Load) {
    let Size { n_assets, seconds, .. } = load.size;
    let path = load.path(PAGE);
    let target = (path.as_str(), load.key.as_str());
    let cold = load.script("cold", PAGE, 0, n_assets - 50);
    for (name, script) in [("warm", None), ("cold", Some(cold.as_path()))] {
        for n_connections in [1, 64] {
            let run = ask(&load.server, target, script, n_connections, seconds);
            let value = format!("{}, p99 {}", run.per_s, time(run.p99_micros));
            let name = format!("{name} pages/s, {n_connections} connections");
            Report::note(&name, value);
        }
    }
}

/// A large file of findings.
fn import(engine: &Engine<'_>) {
    let database = engine.database();
    let folder = database.folder();
    let server = folder.serve();
    let client = folder.client("Acme");
    let n_findings = 100 * MIB / REAL_FINDING_BYTES as u64;
    let n_bytes = write(&folder, "large.json", n_findings, REAL_FINDING_BYTES);
    let (before, cpu_before_ms) = (engine.bytes(&database, &folder), cpu_ms(server.id()));
    let start = Instant::now();
    folder.ok(&["import", "--client", &client, "large.json"]);
    let name = format!("import of {} MiB, {n_findings} findings", n_bytes / MIB);
    let cpu = time((cpu_ms(server.id()) - cpu_before_ms) * 1_000);
    let value = format!("{}, processor {cpu}", time(elapsed_micros(start)));
    Report::note(&name, value);
    let most = mib(memory_kib(server.id(), "VmHWM"));
    let grown = mib(engine.bytes(&database, &folder).saturating_sub(before) / 1024);
    Report::note("resident memory at most, growth of the database", format!("{most}, {grown}"));
    assert!(server.stop().success());
}
