//! What guessing passwords and keys costs everybody else.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::json;

use crate::figure::{Report, memory_kib, time};
use crate::harness::http;
use crate::harness::process::{Line, Server};
use crate::measure::pace;
use crate::mib;

/// Wrong passwords tried at once, again and again.
const N_AT_ONCE: usize = 200;
const N_GUESSERS: u64 = 8;

/// Asks for a page at 1,000 requests/s while others guess.
pub(crate) fn measure(server: &Server, key: &str, path: &str, seconds: u64, report: &mut Report) {
    Report::section("While others guess (a page at 1,000 requests/s)");
    let address = server.address;
    let quiet = pace(address, key, &|_| path.to_owned(), (16, 16), seconds);
    Report::note("p99 alone", time(quiet));
    let before_kib = memory_kib(server.id(), "VmHWM");
    let (stop, n_looked_at, n_refused) = (AtomicBool::new(false), counter(), counter());
    let p99 = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                log_in(address, &n_looked_at, &n_refused);
            }
        });
        let p99 = pace(address, key, &|_| path.to_owned(), (16, 16), seconds);
        stop.store(true, Ordering::Relaxed);
        p99
    });
    let [looked_at, refused] = [&n_looked_at, &n_refused].map(|it| it.load(Ordering::Relaxed));
    Report::note("passwords looked at / refused unseen", format!("{looked_at} / {refused}"));
    let name = format!("p99 while {N_AT_ONCE} at once try wrong passwords");
    report.goal(&name, time(p99), "< 100 ms", p99 < 100_000);
    let more_kib = memory_kib(server.id(), "VmHWM") - before_kib;
    let is_met = more_kib < 4 * 19 * 1024 + 16 * 1024;
    report.goal("memory at most, beyond before", mib(more_kib), "< 92 MiB", is_met);
    stop.store(false, Ordering::Relaxed);
    let n_guesses = counter();
    let p99 = std::thread::scope(|scope| {
        for _ in 0..N_GUESSERS {
            scope.spawn(|| {
                let mut line = Line::to(address).expect("the server listens");
                while !stop.load(Ordering::Relaxed) {
                    let (status, _) = line.send("GET", path, "garbage", "").expect("an answer");
                    assert_eq!(status, 401);
                    n_guesses.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let p99 = pace(address, key, &|_| path.to_owned(), (16, 16), seconds);
        stop.store(true, Ordering::Relaxed);
        p99
    });
    let per_s = n_guesses.load(Ordering::Relaxed) / seconds;
    let name = format!("p99 beside {per_s} wrong keys a second");
    report.goal(&name, time(p99), "< 100 ms", p99 < 100_000);
}

const fn counter() -> AtomicU64 {
    AtomicU64::new(0)
}

/// [`N_AT_ONCE`] tries of one name at once.
fn log_in(address: SocketAddr, n_looked_at: &AtomicU64, n_refused: &AtomicU64) {
    let body =
        json!({"username_or_email": "admin", "password": "wrong, and long enough"}).to_string();
    std::thread::scope(|scope| {
        for _ in 0..N_AT_ONCE {
            scope.spawn(|| {
                let headers = [("Content-Type", "application/json")];
                let answer = http::send(address, "POST", "/auth/login", &headers, body.as_bytes());
                let counter = match answer.status {
                    401 => n_looked_at,
                    429 => n_refused,
                    other => panic!("{other}: {}", answer.text()),
                };
                counter.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
}
