//! Deliveries to receivers on loopback: how many a second, how soon the first attempt comes, and what a queue costs.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use posture::clock::{Clock, Time};
use posture::engine::event::EventKind;
use posture::id::{ClientId, EventId};
use posture::store::{ClientBatch, EngineOptions, Store, StoreOptions};
use serde_json::json;

use crate::engines::{Database, Engine};
use crate::figure::{Report, memory_kib, quotient, time};
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Line, Server, wait_until};
use crate::measure::{cpu_ms, elapsed_micros, fsync_micros};
use crate::{mib, serve};

/// May send to loopback; everything else is as by default.
const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[webhooks]
allow_http_networks = ["127.0.0.0/8"]
allow_private_networks = ["127.0.0.0/8"]
[data]
dir = "data"
"#;
/// So that memory is the queue's and not that of pages which were read.
const SMALL_CACHE: &str = "cache_mib = 8\n";
const N_ENDPOINTS: [u64; 3] = [1, 10, 50];
/// Of new events, while it is measured how soon they come.
const DELIVERIES_PER_S: u64 = 200;
const N_QUEUED: [u64; 2] = [5_000, 100_000];
/// The most endpoints there can be, so that a queue is made of few events.
const N_ENDPOINTS_OF_QUEUE: u64 = 50;
const N_PER_COMMIT: usize = 500;
const N_RECEIVERS: usize = 4;
const PATIENCE: Duration = Duration::from_mins(2);

/// Answers every delivery alike, whatever its path.
pub(crate) struct Receiver {
    address: String,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    status: AtomicU16,
    n_requests: AtomicUsize,
    /// Of events: when each came first at each endpoint, in microseconds since it was made.
    first: Mutex<(BTreeSet<String>, Vec<u64>)>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Seen::default());
        seen.status.store(200, Ordering::SeqCst);
        for _ in 0..N_RECEIVERS {
            let (listener, seen) = (listener.try_clone().unwrap(), Arc::clone(&seen));
            std::thread::spawn(move || {
                for mut stream in listener.incoming().map_while(Result::ok) {
                    drop(stream.set_read_timeout(Some(Duration::from_secs(5))));
                    seen.take(&mut stream);
                }
            });
        }
        Self { address, seen }
    }

    fn n_requests(&self) -> usize {
        self.seen.n_requests.load(Ordering::SeqCst)
    }

    /// What came first since the last call.
    fn first(&self) -> Vec<u64> {
        let mut micros = std::mem::take(&mut self.seen.first.lock().unwrap().1);
        micros.sort_unstable();
        micros
    }
}

impl Seen {
    fn take(&self, stream: &mut TcpStream) {
        let Some(request) = read(stream) else { return };
        let now = Clock::System.now();
        let between = |start: &str, end: &str| {
            let (_, behind) = request.split_once(start).expect("a delivery has it");
            behind.split_once(end).expect("it ends").0.to_owned()
        };
        let made: Time = between("\"created\":\"", "\"").parse().unwrap();
        let micros = u64::try_from(now.micros() - made.micros()).unwrap_or(0);
        let delivery = format!("{} {}", between("POST ", " "), between("\"id\":\"", "\""));
        let mut first = self.first.lock().unwrap();
        if first.0.insert(delivery) {
            first.1.push(micros);
        }
        drop(first);
        let status = self.status.load(Ordering::SeqCst);
        let answer = format!("HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n\r\n");
        drop(stream.write_all(answer.as_bytes()));
        self.n_requests.fetch_add(1, Ordering::SeqCst);
    }
}

/// Head and body; a delivery has no byte that is not UTF-8.
fn read(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let n = stream.read(&mut piece).ok().filter(|it| 0 < *it)?;
        bytes.extend_from_slice(&piece[..n]);
        let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let (_, length) = head.split_once("content-length: ")?;
        let length: usize = length.split("\r\n").next()?.parse().ok()?;
        if end + 4 + length <= bytes.len() {
            return String::from_utf8(bytes).ok();
        }
    }
}

/// A folder with one client and so many endpoints at the receiver, and more configuration of the data; the client's id.
pub(crate) fn prepare(receiver: &Receiver, n_endpoints: u64, data: &str) -> (Folder, String) {
    let folder = Folder::new();
    folder.write("posture.toml", format!("{CONFIG}{data}").as_bytes());
    let server = serve(&folder);
    let client = folder.client("Acme");
    for n in 0..n_endpoints {
        let url = format!("http://{}/{n}", receiver.address);
        let body = json!({ "url": url, "events": ["all"] }).to_string();
        let headers = [("Content-Type", "application/json")];
        let socket = folder.socket();
        let answer = send_socket(&socket, "POST", "/api/webhooks", &headers, body.as_bytes());
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
    assert!(server.stop().success());
    (folder, client)
}

/// Queues so many events past the service.
fn queue(folder: &Folder, engine: EngineOptions, client: &str, n_events: u64) {
    let now = Clock::System.now();
    let options =
        StoreOptions { dir: folder.path().join("data"), cache_bytes: 256 * 1024 * 1024, engine };
    let store = Store::open(&options, now).expect("the folder is ours");
    let rows = store.client_store(client.parse::<ClientId>().unwrap());
    for start in (0..n_events).step_by(N_PER_COMMIT) {
        let end = (start + N_PER_COMMIT as u64).min(n_events);
        let write = move |batch: &mut ClientBatch<'_>| {
            (start..end).try_for_each(|n| add_event(batch, n, now).map(drop))
        };
        rows.write_now(write).expect("the disk takes it");
    }
    drop(rows);
    store.close();
}

fn add_event(batch: &mut ClientBatch<'_>, n: u64, now: Time) -> posture::error::Result<u64> {
    let object = json!({
        "name": format!("asset-{n:07}"), "assetType": "server", "dedupKey": format!("asset/{n}"),
    });
    let kind = EventKind::AssetDiscovered;
    let id = EventId::random();
    let body = json!({
        "id": id.wire(), "type": kind.as_str(), "created": now.to_string(), "data": {"object": object},
    });
    batch.add_event(id, kind, now, |_| Ok(body.to_string()))
}

/// Pushes so many events a second for so long; each is due at every endpoint at once.
fn pace(server: &Server, key: &str, client: &str, (per_s, seconds): (u64, u64)) {
    let mut line = Line::to(server.address).unwrap();
    let start = Instant::now();
    for n in 0..per_s * seconds {
        let due = start + Duration::from_millis(n * 1_000 / per_s);
        sleep(due.saturating_duration_since(Instant::now()));
        let body = json!({
            "clientId": client, "name": format!("paced-{n}"), "externalId": format!("paced-{n}"),
            "assetType": "server",
        });
        let (status, body) = line.push(key, &body).expect("an answer");
        assert_eq!(status, 201, "{body}");
    }
}

pub(crate) fn rate(database: &Database, n_endpoints: u64, n_deliveries: u64, seconds: u64) {
    let receiver = Receiver::start();
    let data = SMALL_CACHE.to_owned() + &database.section;
    let (folder, client) = prepare(&receiver, n_endpoints, &data);
    queue(&folder, database.options.clone(), &client, n_deliveries / n_endpoints);
    let server = serve(&folder);
    let counters = || {
        (cpu_ms(server.id()), server.metric("posture_store_commits_total"), receiver.n_requests())
    };
    let (since, (cpu_before_ms, commits_before, n_before)) = (Instant::now(), counters());
    let is_drained = || n_deliveries <= receiver.n_requests() as u64;
    assert!(wait_until(PATIENCE, is_drained), "{} came", receiver.n_requests());
    let micros = elapsed_micros(since);
    let (cpu_after_ms, commits, n_after) = counters();
    let n = (n_after - n_before) as u64;
    let name = format!("{n_endpoints} endpoints: deliveries/s from a queue");
    Report::note(&name, n * 1_000_000 / micros);
    let name = format!("{n_endpoints} endpoints: processor time, commits for each");
    let cpu = time((cpu_after_ms - cpu_before_ms) * 1_000 / n.max(1));
    Report::note(&name, format!("{cpu}, {}", quotient(commits - commits_before, n)));
    drop(receiver.first());
    let key = folder.key("100000000");
    pace(&server, &key, &client, (DELIVERIES_PER_S / n_endpoints, seconds));
    let n_wanted = DELIVERIES_PER_S / n_endpoints * seconds * n_endpoints + n_deliveries;
    let is_there = || n_wanted <= receiver.n_requests() as u64;
    assert!(wait_until(PATIENCE, is_there), "{} of {n_wanted} came", receiver.n_requests());
    let micros = receiver.first();
    let [p50, p99] = [50, 99].map(|it| time(micros[micros.len() * it / 100]));
    let name = format!("{n_endpoints} endpoints: event to first attempt, p50 / p99");
    Report::note(&name, format!("{p50} / {p99}"));
    let fsync = time(fsync_micros(folder.path()));
    Report::note("fsync of 4 KiB beside it, median", fsync);
    assert!(server.stop().success());
}

/// The memory of a server with a short and with a long queue that nobody takes.
fn memory(seconds: u64) {
    let receiver = Receiver::start();
    receiver.seen.status.store(503, Ordering::SeqCst);
    let (folder, client) = prepare(&receiver, N_ENDPOINTS_OF_QUEUE, SMALL_CACHE);
    let mut n_before = 0;
    for n_queued in N_QUEUED {
        queue(&folder, EngineOptions::File, &client, (n_queued - n_before) / N_ENDPOINTS_OF_QUEUE);
        n_before = n_queued;
        let server = serve(&folder);
        let kib = [(); 3].map(|()| {
            sleep(Duration::from_millis(seconds * 1_000 / 3));
            mib(memory_kib(server.id(), "VmRSS"))
        });
        let name = format!("resident memory over time, {n_queued} queued, answer 503");
        Report::note(&name, kib.join(", "));
        let waiting = server.metric("posture_webhook_waiting");
        assert_eq!(waiting, n_queued, "nothing is taken, and nothing is lost");
        assert!(server.stop().success());
    }
    Report::note("attempts made meanwhile", receiver.n_requests());
}

/// `n_deliveries`: of each rate. `seconds`: of each other measurement.
pub(crate) fn measure(n_deliveries: u64, seconds: u64) {
    Report::section("Deliveries on loopback");
    for n_endpoints in N_ENDPOINTS {
        rate(&Engine::File.database(), n_endpoints, n_deliveries, seconds.div_ceil(2));
    }
    memory(seconds);
}
