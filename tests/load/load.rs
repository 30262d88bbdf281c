//! The service under load, each rate beside that of a bare poem route in the same run. `tests/load/run` starts it;
//! `POSTURE_LOAD=long` takes a million assets and longer.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement says its figures")]

mod app;
mod backup;
mod bare;
mod connect;
mod console;
mod deliver;
mod engines;
mod figure;
mod fill;
mod findings;
#[allow(dead_code, unreachable_pub, reason = "of the tests' Graph not everything is used")]
#[path = "../it/connect/graph.rs"]
mod graph;
#[allow(
    dead_code,
    unreachable_pub,
    clippy::print_stderr,
    reason = "of the tests' harness only the processes are used"
)]
#[path = "../it/harness/mod.rs"]
mod harness;
mod logins;
mod measure;
mod neighbor;
mod upgrade;
#[allow(dead_code, unreachable_pub, reason = "of the tests' vendor only its answers are used")]
#[path = "../it/connect/vendor.rs"]
mod vendor;
mod years;

use std::path::PathBuf;
use std::time::Duration;

use figure::{Report, median, memory_kib, quotient, time};
use posture::store::EngineOptions;

use harness::process::{Folder, Server, binary};
use measure::{Run, SERVER_CORE, ask, cpu_ms, fsync_micros, memory_parts, on_core, pace, push};

/// How much is measured.
struct Size {
    n_assets: u32,
    /// Of one measurement.
    seconds: u64,
    /// Measurements of each kind, taken in turns.
    n_turns: u32,
    /// From a queue.
    n_deliveries: u64,
    /// Of the largest pushes.
    loud_seconds: u64,
}

const SHORT: Size =
    Size { n_assets: 100_000, seconds: 3, n_turns: 3, n_deliveries: 2_000, loud_seconds: 20 };
const LONG: Size =
    Size { n_assets: 1_000_000, seconds: 8, n_turns: 5, n_deliveries: 20_000, loud_seconds: 300 };
const HOUR_S: u64 = 3_600;

const N_CONNECTIONS: u32 = 64;
/// Of a page that is asked for, in the warm and the cold case.
const PAGE: &str = "limit=50";
/// Offsets near the first or the last row, so that they are distinct and equally near.
const N_NEAR: u32 = 5_000;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|it| it == "bare") {
        bare::serve(&args[2]);
        return Ok(());
    }
    let mut report = Report::default();
    let named = std::env::var_os("POSTURE_LOAD");
    let kind = named.as_ref().and_then(|it| it.to_str()).unwrap_or_default();
    let size = if kind == "long" { LONG } else { SHORT };
    match kind {
        "deliver" => deliver::measure(size.n_deliveries, size.seconds),
        "backup" => backup::measure(),
        "engines" => engines::measure(&size),
        "years" => years::measure(&mut report),
        "upgrade" => upgrade::measure(&mut report),
        "connect" => connect::measure(&mut report),
        "console" => console::measure(&mut report),
        "hour" => neighbor::measure(HOUR_S, &mut report),
        _ => everything(size, &mut report),
    }
    report.finish()
}

/// The service under the requests of each kind.
fn everything(size: Size, report: &mut Report) {
    let folder = Folder::new();
    Report::section("Machine");
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    Report::note("cores (server on one, callers on another)", n_cores);
    Report::note("fsync of 4 KiB, median", time(fsync_micros(folder.path())));
    let server = serve(&folder);
    std::thread::sleep(Duration::from_millis(500));
    let idle_kib = memory_kib(server.id(), "VmRSS");
    let name = "resident memory, idle, no clients";
    report.goal(name, mib(idle_kib), "< 64 MiB", idle_kib < 64 * 1024);
    assert!(server.stop().success());
    let client = fill::client(&folder.path().join("data"), EngineOptions::File, size.n_assets);
    let server = serve(&folder);
    let load = Load { size, key: folder.key("100000000"), client, server, folder };
    load.reads(report);
    load.memory();
    load.pages(report);
    load.memory();
    load.writes(report);
    load.memory();
    load.one_push();
    load.memory();
    let Size { seconds, n_deliveries, loud_seconds, .. } = load.size;
    logins::measure(&load.server, &load.key, &load.path(PAGE), seconds, report);
    assert!(load.server.stop().success(), "it stops in order");
    deliver::measure(n_deliveries, seconds);
    neighbor::measure(loud_seconds, report);
}

fn serve(folder: &Folder) -> Server {
    let mut command = on_core(SERVER_CORE, &binary());
    command.current_dir(folder.path()).env_remove("POSTURE_CONFIG").arg("serve");
    Server::start(&mut command, &folder.path().join("serve.log"))
}

/// Down to a tenth.
fn mib(kib: u64) -> String {
    let tenths = kib * 10 / 1024;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

struct Load {
    size: Size,
    key: String,
    client: String,
    server: Server,
    folder: Folder,
}

impl Load {
    fn path(&self, query: &str) -> String {
        format!("/api/v1/clients/{}/assets?{query}", self.client)
    }

    fn memory(&self) {
        let [now, most] = ["VmRSS", "VmHWM"].map(|it| mib(memory_kib(self.server.id(), it)));
        Report::note("resident memory by now (at most)", format!("{now} ({most})"));
        memory_parts(&self.server);
    }

    /// Starts a bare route that answers what the warm page answers.
    fn bare(&self) -> Server {
        let file = self.folder.path().join("page.json");
        let path = format!("/clients/{}/assets?{PAGE}", self.client);
        let page = self.server.get(&self.key, &path);
        assert_eq!(page.status, 200);
        std::fs::write(&file, page.body).unwrap();
        let mut command = on_core(SERVER_CORE, &std::env::current_exe().unwrap());
        Server::start(command.arg("bare").arg(&file), &self.folder.path().join("bare.log"))
    }

    /// A script that asks for pages at random offsets of a range.
    fn script(&self, name: &str, query: &str, from: u32, n: u32) -> PathBuf {
        let path = self.path(query);
        let text = format!(
            "math.randomseed(os.time())\n\
             request = function()\n\
             \treturn wrk.format(nil, \"{path}&offset=\" .. math.random({from}, {}))\n\
             end\n",
            from + n - 1
        );
        let file = self.folder.path().join(format!("{name}.lua"));
        std::fs::write(&file, text).unwrap();
        file
    }

    fn reads(&self, report: &mut Report) {
        let Size { n_assets, seconds, n_turns, .. } = self.size;
        let bare_server = self.bare();
        let cold_script = self.script("cold", PAGE, 0, n_assets - 50);
        let path = self.path(PAGE);
        let target = (path.as_str(), self.key.as_str());
        let (mut bare, mut same, mut warm, mut cold) = (vec![], vec![], vec![], vec![]);
        for _ in 0..n_turns {
            bare.push(ask(&bare_server, target, None, N_CONNECTIONS, seconds));
            warm.push(ask(&self.server, target, None, N_CONNECTIONS, seconds));
            let script = Some(cold_script.as_path());
            same.push(ask(&bare_server, target, script, N_CONNECTIONS, seconds));
            cold.push(ask(&self.server, target, script, N_CONNECTIONS, seconds));
        }
        drop(bare_server);
        let of = |all: &[Run], it: fn(&Run) -> u64| median(all.iter().map(it).collect());
        let rate = |all: &[Run]| of(all, |it| it.per_s);
        let cpu = |all: &[Run]| of(all, |it| it.cpu_nanos);
        let bytes = std::fs::metadata(self.folder.path().join("page.json")).unwrap().len();
        Report::section("A page of 50 assets over 64 connections (medians of turns)");
        Report::note("bytes of the page", bytes);
        for (name, all, reference, goal) in [("warm", &warm, &bare, 70), ("cold", &cold, &same, 25)]
        {
            let [ours, theirs] = [all, reference].map(|it| rate(it));
            Report::note(&format!("{name}: bare poem route, requests/s"), theirs);
            Report::note(&format!("{name}: the service, requests/s"), ours);
            let (share, wanted) = (percent(ours, theirs), format!(">= {goal} %"));
            let is_met = theirs * goal <= ours * 100;
            report.goal(&format!("{name}: of the bare route's rate"), share, &wanted, is_met);
            let [ours, theirs] = [all, reference].map(|it| cpu(it));
            let value = format!("{} us / {} us", quotient(ours, 1_000), quotient(theirs, 1_000));
            Report::note(&format!("{name}: processor time, the service / bare"), value);
        }
        let p99 = of(&warm, |it| it.p99_micros);
        report.goal("warm: p99, as fast as it goes", time(p99), "< 10 ms", p99 < 10_000);
        let p99 = of(&cold, |it| it.p99_micros);
        Report::note("cold: p99, as fast as it goes", time(p99));
        let start = self.path(PAGE);
        let cold_path = |n: u64| {
            let offset = n * 7_919 % u64::from(n_assets - 50);
            format!("{start}&offset={offset}")
        };
        // 16 callers, each every 16 ms.
        let p99 = pace(self.server.address, &self.key, &cold_path, (16, 16), 2 * seconds);
        report.goal("cold: p99 at 1,000 requests/s", time(p99), "< 10 ms", p99 < 10_000);
    }

    /// One connection, so that the rate is the cost of one page.
    fn pages(&self, report: &mut Report) {
        let Size { n_assets, seconds, n_turns, .. } = self.size;
        Report::section(&format!("Pages of {n_assets} assets of one client, one connection"));
        let n_of_category = n_assets / fill::N_CATEGORIES;
        for (kind, query, n_rows) in [
            ("all", PAGE, n_assets),
            ("of a category", "limit=50&category=CATEGORY-3", n_of_category),
            ("critical of a type", "limit=50&isCritical=true&assetType=server", n_assets / 140),
        ] {
            let near = N_NEAR.min(n_rows / 4);
            let first = self.script("first", query, 0, near);
            let deep = self.script("deep", query, n_rows - near - 50, near);
            let path = self.path(query);
            let cost = |script: &PathBuf| {
                let target = (path.as_str(), self.key.as_str());
                let run = ask(&self.server, target, Some(script), 1, seconds.div_ceil(2));
                1_000_000 / run.per_s.max(1)
            };
            let (mut firsts, mut deeps) = (vec![], vec![]);
            for turn in 0..n_turns {
                // The cache is emptied of both alike.
                self.touch(&format!("{kind}-{turn}"));
                firsts.push(cost(&first));
                deeps.push(cost(&deep));
            }
            let (first, deep) = (median(firsts), median(deeps));
            Report::note(&format!("{kind}: first pages, each"), time(first));
            let name = format!("{kind}: deep pages, each");
            let ratio = format!("{} ({}x)", time(deep), quotient(deep, first));
            report.goal(&name, ratio, "<= 2x", deep <= 2 * first);
        }
    }

    /// Pushes one asset, so that no page in the cache holds any more.
    fn touch(&self, name: &str) {
        let asset = serde_json::json!({
            "clientId": self.client, "name": name, "externalId": name, "assetType": "mailbox",
        });
        assert!(self.server.send("POST", &self.key, "/assets", &asset).status < 300);
    }

    fn writes(&self, report: &mut Report) {
        let seconds = self.size.seconds;
        Report::section("Pushes of new assets to a client of their own");
        let client = self.folder.client("Pushed");
        let counters = || {
            ["posture_store_commits_total", "posture_store_writes_total"]
                .map(|it| self.server.metric(it))
        };
        let mut rates = Vec::new();
        for n in [1, 64] {
            let before = counters();
            let target = (self.key.as_str(), client.as_str(), &*format!("p{n}"));
            let pushed = push(self.server.address, target, n, seconds);
            let [commits, writes] = counters();
            let (commits, writes) = (commits - before[0], writes - before[1]);
            Report::note(&format!("{n} connections, pushes/s"), pushed.per_s);
            let (p99, is_met) = (time(pushed.p99_micros), pushed.p99_micros < 50_000);
            report.goal(&format!("{n} connections, p99"), p99, "< 50 ms", is_met);
            let name = format!("{n} connections, writes for each commit");
            let value = format!("{writes}/{commits} = {}", quotient(writes, commits));
            if n == 1 {
                Report::note(&name, value);
            } else {
                report.goal(&name, value, ">= 10", 10 * commits <= writes);
            }
            rates.push(pushed.per_s);
        }
        Report::note("64 connections' rate to one's", format!("{}x", quotient(rates[1], rates[0])));
        let fsync = time(fsync_micros(self.folder.path()));
        Report::note("fsync of 4 KiB beside it, median", fsync);
    }

    /// What a single push to the large client costs in the seconds behind it.
    fn one_push(&self) {
        Report::section("One asset pushed to the large client");
        std::thread::sleep(Duration::from_secs(8));
        let before = cpu_ms(self.server.id());
        self.touch("alone");
        std::thread::sleep(Duration::from_secs(8));
        let used_ms = cpu_ms(self.server.id()) - before;
        Report::note("processor time of the server in the 8 s behind it", time(used_ms * 1_000));
    }
}

/// A part of a whole in percent, with one decimal.
fn percent(part: u64, whole: u64) -> String {
    let permille = part * 1_000 / whole.max(1);
    format!("{}.{} %", permille / 10, permille % 10)
}
