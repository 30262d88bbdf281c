//! What the largest pushes that the limits let through, again and again with one key, cost other clients.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::deliver::{Receiver, prepare};
use crate::figure::{Report, memory_kib, time};
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Line, Server};
use crate::measure::{elapsed_micros, memory_parts};
use crate::{PAGE, mib, serve};

const N_ENDPOINTS: u64 = 3;
/// The most that one run may have.
const N_OBSERVATIONS: usize = 50_000;
const N_IDENTITIES: usize = 50_000;
const N_APPS: usize = 20_000;
/// Between two requests of a caller.
const GAP: Duration = Duration::from_millis(20);
/// Requests on one connection, which the server closes after ten minutes.
const N_OF_CONNECTION: u64 = 1_000;
/// A push is in progress by then.
const IN_PROGRESS: Duration = Duration::from_secs(1);
const NO_LIMIT: &str = "100000000";
/// The label of the harness's keys.
const SOURCE: &str = "test";

/// The other client's callers, while one client pushes for so long.
pub(crate) fn measure(seconds: u64, report: &mut Report) {
    Report::section("The largest push, again and again with the key of one client");
    let receiver = Receiver::start();
    let (folder, client) = prepare(&receiver, N_ENDPOINTS, "");
    let other = folder.client("Other");
    let server = serve(&folder);
    let loud = folder.key(NO_LIMIT);
    let loud_id = folder.json(&["key", "list"])["data"][0]["id"].as_str().unwrap().to_owned();
    let quiet = folder.key(NO_LIMIT);
    let path = format!("/api/clients/{client}/facts");
    let before_kib = memory_kib(server.id(), "VmRSS");
    let stop = AtomicBool::new(false);
    let n_pushes = AtomicU64::new(0);
    let address = server.address;
    let (mut writes, mut pages, mut health, revoked_micros) = scope(|scope| {
        let again = |ask: &'static str| {
            let (stop, quiet, other) = (&stop, &quiet, &other);
            scope.spawn(move || callers(address, ask, (quiet, other), stop))
        };
        let [writes, pages, health] = ["write", "page", "health"].map(again);
        let push = || {
            let body = body();
            let end = Instant::now() + Duration::from_secs(seconds);
            while Instant::now() < end {
                let mut line = Line::to(address).unwrap();
                let (status, text) = line.send("POST", &path, &loud, &body).expect("an answer");
                assert_eq!(status, 200, "{}", String::from_utf8_lossy(&text));
                n_pushes.fetch_add(1, Ordering::Relaxed);
            }
            // This one is refused when its key is gone before its body is read.
            drop(Line::to(address).unwrap().send("POST", &path, &loud, &body));
        };
        let pusher = scope.spawn(push);
        sleep(Duration::from_secs(seconds) + IN_PROGRESS);
        let revoked_micros = revoke(&folder, &loud_id);
        pusher.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        let [writes, pages, health] = [writes, pages, health].map(|it| it.join().unwrap());
        (writes, pages, health, revoked_micros)
    });
    Report::note("largest pushes meanwhile", n_pushes.load(Ordering::Relaxed));
    let p99 = p99(&mut writes);
    let n = writes.len();
    report.goal(
        &format!("{n} writes of another client, p99"),
        time(p99),
        "< 250 ms",
        p99 < 250_000,
    );
    Report::note("the slowest of these", time(writes[n - 1]));
    for (name, all) in [("pages", &mut pages), ("/healthz", &mut health)] {
        Report::note(&format!("{name} of another, p99"), time(self::p99(all)));
    }
    Report::note("revoking its key meanwhile took", time(revoked_micros));
    let disabled = server.metric("posture_webhook_disabled");
    report.goal("endpoints that were disabled", disabled, "0", disabled == 0);
    memory(&server, before_kib, report);
    assert!(server.stop().success());
}

fn memory(server: &Server, before_kib: u64, report: &mut Report) {
    let [now_kib, most_kib] = ["VmRSS", "VmHWM"].map(|it| memory_kib(server.id(), it));
    let growth_kib = now_kib.saturating_sub(before_kib);
    let name = "resident memory, growth";
    report.goal(name, mib(growth_kib), "< 200 MiB", growth_kib < 200 * 1024);
    let name = "resident memory behind it (at most)";
    Report::note(name, format!("{} ({})", mib(now_kib), mib(most_kib)));
    memory_parts(server);
}

fn body() -> String {
    let all = |n: usize, of: fn(usize) -> Value| (0..n).map(of).collect::<Vec<_>>();
    let observations = all(
        N_OBSERVATIONS,
        |it| json!({"control": "ID-01", "check": format!("c{it}"), "status": "compliant"}),
    );
    let identities = all(
        N_IDENTITIES,
        |it| json!({"user": format!("u{it}"), "admin": true, "mfa": false, "enabled": true}),
    );
    let apps = all(N_APPS, |it| json!({"name": format!("a{it}"), "users": 1}));
    json!({
        "source": SOURCE, "observations": observations, "identities": identities, "apps": apps,
    })
    .to_string()
}

/// Asks again and again; what each answer took, in microseconds.
fn callers(
    address: SocketAddr,
    what: &str,
    (key, client): (&str, &str),
    stop: &AtomicBool,
) -> Vec<u64> {
    let mut line = Line::to(address).unwrap();
    let mut micros = Vec::new();
    for n in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if n % N_OF_CONNECTION == 0 {
            line = Line::to(address).unwrap();
        }
        let (method, path, body) = match what {
            "write" => {
                let name = format!("asset-{n}");
                let asset = json!({
                    "clientId": client, "name": name, "externalId": name, "assetType": "server",
                });
                ("POST", "/api/v1/assets".to_owned(), asset.to_string())
            }
            "page" => ("GET", format!("/api/v1/clients/{client}/assets?{PAGE}"), String::new()),
            _ => ("GET", "/healthz".to_owned(), String::new()),
        };
        let before = Instant::now();
        let (status, text) = line.send(method, &path, key, &body).expect("an answer");
        assert!(status < 300, "{}", String::from_utf8_lossy(&text));
        micros.push(elapsed_micros(before));
        sleep(GAP);
    }
    micros
}

/// How long revoking a key took, in microseconds.
fn revoke(folder: &Folder, id: &str) -> u64 {
    let before = Instant::now();
    let answer = send_socket(&folder.socket(), "DELETE", &format!("/api/keys/{id}"), &[], b"");
    assert_eq!(answer.status, 204, "{}", answer.text());
    elapsed_micros(before)
}

fn p99(micros: &mut [u64]) -> u64 {
    micros.sort_unstable();
    micros[micros.len() * 99 / 100]
}
