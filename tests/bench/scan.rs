//! The scan beside nmap on the same targets in the same run: `tests/bench/scan` starts it. Wall times, and whether both
//! found the same open ports.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a measurement says its figures"
)]

#[path = "../load/figure.rs"]
mod figure;
#[allow(dead_code, unreachable_pub, reason = "of the tests' worlds not all is used")]
#[path = "../it/scan/world.rs"]
mod world;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use figure::{Report, median, memory_kib, quotient, time};
use posture::error::Error;
use posture::scan::plan::{ScanPlan, ScanPolicy, ScanRequest};
use posture::scan::{Done, Pace, ScanProgress, ScanSettings, run};
use world::World;

const PORTS: &str = "1-1000";
/// Measurements of each on loopback, in turns. One of the large network is enough: nmap takes minutes.
const N_TURNS: usize = 3;
/// Probes a second: what the configuration may ask for at most.
const PER_S: u32 = 1_000_000;
const N_SOCKETS: u32 = 1_024;
/// One in a hundred of a /16.
const N_ALIVE: u32 = 655;

type Open = BTreeSet<SocketAddr>;

fn main() -> Result<(), String> {
    let mut report = Report::default();
    let nmap = Command::new("nmap").arg("--version").output().map_err(|it| it.to_string())?;
    let version = String::from_utf8_lossy(&nmap.stdout);
    Report::section("Machine");
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    Report::note("cores", n_cores);
    Report::note("nmap", version.lines().next().unwrap_or_default());

    Report::section("127.0.0.0/24, 1,000 ports");
    let listeners: Vec<TcpListener> = (0..40_u16)
        .filter_map(|it| {
            let at = Ipv4Addr::new(127, 0, 0, u8::try_from(it % 8 * 31 + 1).unwrap());
            TcpListener::bind((at, it * 23 + 11)).ok()
        })
        .collect();
    beside(&mut report, N_TURNS, "127.0.0.0/24", &[]);
    drop(listeners);

    let world = World::make();
    Report::section("A routed /16 with 1 % alive, 1,000 ports");
    let alive: Vec<String> =
        (0..N_ALIVE).map(|it| Ipv4Addr::from(0x0a4d_0007 + it * 100).to_string()).collect();
    world.have(&alive);
    world.listen("0.0.0.0:22");
    for (index, address) in alive.iter().enumerate().step_by(13) {
        world.listen(&format!("{address}:{}", 100 + index));
    }
    world.enter_scanner(|| {
        beside(&mut report, 1, "10.77.0.0/16", &["ip", "netns", "exec", &world.scanner]);
    });
    report.finish()
}

/// Both in turns, and the medians.
fn beside(report: &mut Report, n_turns: usize, target: &str, within: &[&str]) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for turn in 0..n_turns {
        let (micros, open, n_files) = scan(target);
        ours.push(micros);
        let (micros, other) = nmap(target, within);
        theirs.push(micros);
        let name = format!("turn {}: ours, nmap", turn + 1);
        Report::note(&name, format!("{}, {}", time(ours[turn]), time(theirs[turn])));
        let value = format!("{} and {}", open.len(), other.len());
        report.goal("open ports found by each", value, "the same ones", open == other);
        for it in open.symmetric_difference(&other).take(5) {
            println!("  only {}: {it}", if open.contains(it) { "ours" } else { "nmap" });
        }
        report.goal("files open at most", n_files, "< 1,100", n_files < 1_100);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let value = format!("{}x ({} and {})", quotient(theirs, ours), time(ours), time(theirs));
    report.goal("faster than nmap -sT -T5 -n", value, ">= 2x", 2 * ours <= theirs);
    let kib = memory_kib(std::process::id(), "VmHWM");
    Report::note("resident memory at most", format!("{} MiB", kib / 1024));
}

/// Wall time, open ports, and the files that were open at most.
fn scan(target: &str) -> (u64, Open, usize) {
    let policy = ScanPolicy { allowed: vec![target.parse().unwrap()], ..ScanPolicy::default() };
    let order = ScanRequest {
        targets: vec![target.to_owned()],
        exclude: Vec::new(),
        ports: Some(PORTS.to_owned()),
    };
    let plan = ScanPlan::of(&order, &policy).unwrap();
    // As nmap is asked here: the states of ports, not what they say; no names.
    let settings = ScanSettings {
        n_sockets: N_SOCKETS,
        per_host: 256,
        own: Vec::new(),
        asks: false,
        resolver: None,
    };
    let mut open = Open::new();
    let mut sink = |done: Done| -> Result<(), Error> {
        for host in done.hosts {
            open.extend(host.ports.iter().map(|it| SocketAddr::new(host.address, it.number)));
        }
        Ok(())
    };
    let (n_files, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    let micros = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let n = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
                n_files.fetch_max(n, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let how = (&Pace::of(PER_S), &ScanProgress::default());
        run(&plan, &BTreeSet::new(), &settings, how, &|| false, &mut sink).unwrap();
        is_over.store(true, Ordering::Relaxed);
        begun.elapsed().as_micros()
    });
    (u64::try_from(micros).unwrap(), open, n_files.into_inner())
}

fn nmap(target: &str, within: &[&str]) -> (u64, Open) {
    let words = [within, &["nmap", "-sT", "-T5", "-n", "-p", PORTS, "-oX", "-", target]].concat();
    let begun = Instant::now();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    let micros = u64::try_from(begun.elapsed().as_micros()).unwrap();
    (micros, open_of(&String::from_utf8_lossy(&output.stdout)))
}

fn open_of(xml: &str) -> Open {
    let value = |text: &str, name: &str| -> Option<String> {
        let (_, rest) = text.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let mut open = Open::new();
    for host in xml.split("<host ").skip(1) {
        let address = host.split_once("<address ").and_then(|it| value(it.1, "addr"));
        let Some(address) = address.and_then(|it| it.parse::<IpAddr>().ok()) else { continue };
        for port in host.split("<port ").skip(1).filter(|it| it.contains("state=\"open\"")) {
            let number = value(port, "portid").and_then(|it| it.parse().ok());
            open.extend(number.map(|it: u16| SocketAddr::new(address, it)));
        }
    }
    open
}
