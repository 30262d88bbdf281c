//! What measures: wrk for reads, our own connections for pushes, a file for the disk.

use std::fs::File;
use std::io::{Seek, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::figure::{Report, median};
use crate::harness::process::{Line, Server};
use crate::mib;

/// Cores, where there are two to divide: one for the server, one for what asks it.
pub(crate) const SERVER_CORE: &str = "0";
pub(crate) const CALLER_CORE: &str = "1";

/// A command on one core; on any where there is only one, or no `taskset`.
pub(crate) fn on_core(core: &str, program: &Path) -> Command {
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let has_tool = Command::new("taskset").arg("--version").stdout(Stdio::null()).status();
    if n_cores < 2 || has_tool.is_err() {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["-c", core]).arg(program);
    command
}

/// What one run of wrk came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) per_s: u64,
    pub(crate) p99_micros: u64,
    /// Processor time of the server for each request, in nanoseconds: steady where other processes
    /// take their part of the machine.
    pub(crate) cpu_nanos: u64,
}

/// User and system time of a process, in milliseconds; it moves in steps of ten.
pub(crate) fn cpu_ms(id: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("it runs");
    let (_, behind) = text.rsplit_once(')').expect("the name is in brackets");
    let ticks = behind.split_whitespace().skip(11).take(2);
    10 * ticks.map(|it| it.parse::<u64>().expect("a number")).sum::<u64>()
}

/// Asks for `path` over and over; `script` is a file of Lua that changes the path.
///
/// Panics when an answer was no success, because its rate would mean nothing.
pub(crate) fn ask(
    server: &Server,
    (path, key): (&str, &str),
    script: Option<&Path>,
    n_connections: u32,
    seconds: u64,
) -> Run {
    let mut wrk = on_core(CALLER_CORE, Path::new("wrk"));
    wrk.args(["-t1", "--latency", "--timeout", "10s"]);
    wrk.args([format!("-c{n_connections}"), format!("-d{seconds}s")]);
    wrk.args(["-H", &format!("X-API-Key: {key}")]);
    if let Some(script) = script {
        wrk.arg("-s").arg(script);
    }
    let before_ms = cpu_ms(server.id());
    let out = wrk.arg(format!("http://{}{path}", server.address)).output().expect("wrk runs");
    let used_ms = cpu_ms(server.id()) - before_ms;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let bad = ["Non-2xx", "Socket errors"].iter().any(|it| text.contains(it));
    assert!(out.status.success() && !bad, "{text}{}", String::from_utf8_lossy(&out.stderr));
    let field = |name: &str| {
        let found = text.lines().find_map(|it| it.trim().strip_prefix(name));
        found.unwrap_or_else(|| panic!("no {name}: {text}")).trim().to_owned()
    };
    let per_s = field("Requests/sec:").split('.').next().expect("digits").parse();
    let per_s: u64 = per_s.expect("a rate");
    let cpu_nanos = used_ms * 1_000_000 / (per_s * seconds).max(1);
    Run { per_s, p99_micros: micros(&field("99%")), cpu_nanos }
}

/// Reads wrk's `1.52ms`, `730.00us` or `1.20s`.
fn micros(text: &str) -> u64 {
    let split = text.find(|it: char| it.is_ascii_alphabetic()).expect("a unit");
    let (number, unit) = text.split_at(split);
    let (whole, hundredths) = number.split_once('.').unwrap_or((number, "0"));
    let unit = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        other => panic!("wrk's unit {other}"),
    };
    let parse = |it: &str| it.parse::<u64>().expect("digits");
    parse(whole) * unit + parse(hundredths) * unit / 100
}

/// Asks at a fixed rate, whatever the answers take: each caller once in so many milliseconds. The
/// 99th of a hundred times from when a request was due to its whole answer, in microseconds.
pub(crate) fn pace(
    address: SocketAddr,
    key: &str,
    paths: &(dyn Fn(u64) -> String + Sync),
    (n_callers, every_ms): (u64, u64),
    seconds: u64,
) -> u64 {
    let start = Instant::now() + Duration::from_millis(100);
    let mut micros: Vec<u64> = std::thread::scope(|scope| {
        let caller = |caller: u64| {
            move || {
                let mut line = Line::to(address).expect("the server listens");
                let ask = |turn: u64| {
                    let due_ms = turn * every_ms + caller * every_ms / n_callers;
                    let due = start + Duration::from_millis(due_ms);
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    let path = paths(turn * n_callers + caller);
                    let (status, _) = line.send("GET", &path, key, "").expect("an answer");
                    assert_eq!(status, 200);
                    elapsed_micros(due)
                };
                (0..seconds * 1_000 / every_ms).map(ask).collect::<Vec<_>>()
            }
        };
        let callers: Vec<_> = (0..n_callers).map(|it| scope.spawn(caller(it))).collect();
        callers.into_iter().flat_map(|it| it.join().expect("no caller panics")).collect()
    });
    micros.sort_unstable();
    micros[micros.len() * 99 / 100]
}

/// Says what the resident memory of a server is made of, as far as it counts that.
pub(crate) fn memory_parts(server: &Server) {
    for part in ["database_cache", "asset_index", "answers"] {
        let n_bytes = server.metric(&format!("posture_memory_bytes{{part=\"{part}\"}}"));
        Report::note(&format!("of it {part}"), mib(n_bytes / 1024));
    }
}

/// What pushing came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pushed {
    pub(crate) per_s: u64,
    pub(crate) p99_micros: u64,
}

/// Pushes new assets over `n_connections` for so long; the prefix keeps runs apart.
pub(crate) fn push(
    address: SocketAddr,
    (key, client, prefix): (&str, &str, &str),
    n_connections: u64,
    seconds: u64,
) -> Pushed {
    let (stop, n_pushed) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    let mut micros: Vec<u64> = std::thread::scope(|scope| {
        let pusher = |connection: u64| {
            let (stop, n_pushed) = (&stop, &n_pushed);
            move || {
                let mut line = Line::to(address).expect("the server listens");
                let mut micros = Vec::new();
                for n in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let name = format!("{prefix}-{connection}-{n}");
                    let asset = json!({
                        "clientId": client, "name": name, "externalId": name,
                        "assetType": "server", "category": "pushed",
                    });
                    let before = Instant::now();
                    let (status, body) = line.push(key, &asset).expect("an answer");
                    assert_eq!(status, 201, "{body}");
                    micros.push(elapsed_micros(before));
                    n_pushed.fetch_add(1, Ordering::Relaxed);
                }
                micros
            }
        };
        let pushers: Vec<_> = (0..n_connections).map(|it| scope.spawn(pusher(it))).collect();
        std::thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
        pushers.into_iter().flat_map(|it| it.join().expect("no pusher panics")).collect()
    });
    micros.sort_unstable();
    let per_s = n_pushed.load(Ordering::Relaxed) * 1_000_000 / elapsed_micros(start);
    Pushed { per_s, p99_micros: micros[micros.len() * 99 / 100] }
}

pub(crate) fn elapsed_micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// What it takes this folder's disk to keep 4 KiB: the median of many, in microseconds.
pub(crate) fn fsync_micros(folder: &Path) -> u64 {
    let path = folder.join("fsync");
    let mut file = File::create(&path).expect("the folder takes files");
    let all = (0..201).map(|n: u8| {
        let before = Instant::now();
        file.rewind().and_then(|()| file.write_all(&[n; 4096])).expect("there is room");
        file.sync_data().expect("the disk takes it");
        elapsed_micros(before)
    });
    let all = all.collect();
    std::fs::remove_file(path).expect("it is ours");
    median(all)
}
