//! Runs a scan from its first block to its last.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::device::identify;
use super::life::{self, N_SMALL, Sign};
use super::local::{Own, neighbors};
use super::name::Names;
use super::pace::Pace;
use super::plan::{Block, ScanPlan};
use super::rtt::Rtt;
use super::talk;
use crate::engine::network::scan::{Answers, FoundHost, FoundPort, ProbeCounts};
use crate::error::{Error, Result};
use crate::scan::probe::{Bounds, Goal, ProbedPorts};
use crate::scan::sweep::sweep;

/// Addresses that are looked for together.
const N_LOOKED_FOR: usize = 8_192;
/// Probes between two hand-outs of blocks. A restart loses about as many.
const N_PROBES_AT_ONCE: usize = 200_000;
/// Hosts that are asked what they are at the same time. A hostile host occupies one of these.
const N_TALKERS: usize = 32;
/// Ports of one host that are asked at the same time.
const N_ASKED_AT_ONCE: usize = 8;
const TALKER_STACK_BYTES: usize = 512 * 1024;
/// With more hosts waiting to be asked, the sweep pauses.
const N_WAITING_MAX: usize = 2_048;
/// A wait for answers checks for a stop this often.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The minimum wait for an answer from an address that has not answered yet.
const UNKNOWN_WAIT_MIN_MICROS: u32 = 300_000;
/// If a block has at least this many addresses, at least this percentage of them answers, and at least this percentage of
/// those answers alike, then something else answers for them.
const N_ALIKE_MIN: usize = 64;
const PERCENT_UP: usize = 95;
const PERCENT_ALIKE: usize = 80;

/// How a scan is to proceed.
#[derive(Clone, Debug)]
pub struct ScanSettings {
    /// Simultaneous probes.
    pub n_sockets: u32,
    /// Simultaneous probes of one address.
    pub per_host: u32,
    /// The service's own listeners, which are not probed.
    pub own: Vec<SocketAddr>,
    /// Open ports are asked what they are, and addresses what their names are.
    pub asks: bool,
    /// The name server to ask. `None`: the one that the system is configured to ask.
    pub resolver: Option<SocketAddr>,
}

/// The progress of a scan.
#[derive(Debug, Default)]
pub struct ScanProgress {
    /// Addresses that are finished.
    pub n_done: AtomicU64,
    pub n_up: AtomicU64,
    pub n_open: AtomicU64,
}

/// A block that need not be scanned again.
#[derive(Debug)]
pub struct Done {
    /// Its place in the plan.
    pub index: u32,
    pub hosts: Vec<FoundHost>,
    pub tally: ProbeCounts,
}

/// Scans the blocks of a plan that are not in `done`, and hands out each when it is finished, in any order. After a stop,
/// the other blocks are not handed out.
///
/// Blocks the thread, and uses more threads while it runs.
///
/// # Errors
/// `Unavailable` when the system lacks the resources; whatever `sink` returns.
pub fn run(
    plan: &ScanPlan,
    done: &BTreeSet<u32>,
    settings: &ScanSettings,
    (pace, progress): (&Pace, &ScanProgress),
    stop: &(dyn Fn() -> bool + Sync),
    sink: &mut dyn FnMut(Done) -> Result<()>,
) -> Result<()> {
    let is_over = AtomicBool::new(false);
    let stop: &(dyn Fn() -> bool + Sync) = &|| is_over.load(Ordering::Relaxed) || stop();
    let own = Own::of(&settings.own);
    let names = Names::of(settings.resolver);
    let mut bounds = Bounds {
        pace,
        n_sockets: settings.n_sockets.max(1) as usize,
        per_host: settings.per_host.max(1),
        own: &own,
        rtt: Rtt::at_least(UNKNOWN_WAIT_MIN_MICROS),
        stop,
        n_open: &progress.n_open,
    };
    let (jobs, orders) = channel::<HostJob>();
    let orders = Mutex::new(orders);
    std::thread::scope(|scope| {
        let (talked, answers) = channel();
        let n_talkers = if settings.asks { N_TALKERS.min(bounds.n_sockets) } else { 0 };
        for _ in 0..n_talkers {
            let (talked, orders, names) = (talked.clone(), &orders, &names);
            let n_at_once = N_ASKED_AT_ONCE.min(bounds.per_host as usize);
            let thread = Builder::new().name("scan-talk".to_owned()).stack_size(TALKER_STACK_BYTES);
            let work = move || talk_all(orders, &talked, (names, n_at_once, pace), stop);
            thread.spawn_scoped(scope, work).map_err(Error::internal)?;
        }
        drop(talked);
        let pending = BTreeMap::new();
        let mut scan = ScanInProgress {
            plan,
            bounds: &mut bounds,
            asks: settings.asks,
            progress,
            jobs,
            answers,
            pending,
            sink,
        };
        let ended = scan.all(done);
        is_over.store(true, Ordering::Relaxed); // The result of a talk that goes on is not needed.
        ended
    })
}

/// A host whose open ports are to be asked what they are.
struct HostJob {
    block: u32,
    host: usize,
    address: IpAddr,
    open: Vec<u16>,
}

struct Talked {
    block: u32,
    host: usize,
    ports: Vec<FoundPort>,
    hostname: Option<String>,
}

fn talk_all(
    orders: &Mutex<Receiver<HostJob>>,
    talked: &Sender<Talked>,
    (names, n_at_once, pace): (&Names, usize, &Pace),
    stop: &dyn Fn() -> bool,
) {
    loop {
        let order = orders.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(HostJob { block, host, address, open }) = order else { return };
        if stop() {
            return;
        }
        let ports = talk::ask(address, &open, n_at_once, pace, stop);
        let hostname = names.find(address);
        if talked.send(Talked { block, host, ports, hostname }).is_err() {
            return;
        }
    }
}

/// A block with hosts that are still being asked.
struct Pending {
    hosts: Vec<FoundHost>,
    tally: ProbeCounts,
    n_waiting: usize,
}

struct ScanInProgress<'a, 'b> {
    plan: &'a ScanPlan,
    bounds: &'a mut Bounds<'b>,
    asks: bool,
    progress: &'a ScanProgress,
    jobs: Sender<HostJob>,
    answers: Receiver<Talked>,
    pending: BTreeMap<u32, Pending>,
    sink: &'a mut dyn FnMut(Done) -> Result<()>,
}

/// A block whose hosts were looked for.
struct Looked {
    block: Block,
    /// The hosts that answered, and how.
    alive: Vec<(IpAddr, String)>,
    tally: ProbeCounts,
}

impl ScanInProgress<'_, '_> {
    fn is_stopped(&self) -> bool {
        (self.bounds.stop)()
    }

    fn all(&mut self, done: &BTreeSet<u32>) -> Result<()> {
        let mut blocks: Vec<Block> =
            self.plan.blocks().filter(|it| !done.contains(&it.index)).collect();
        let is_small = self.plan.n_hosts <= N_SMALL as u64;
        if !is_small {
            // Blocks with hosts in the sample go first.
            let addresses: Vec<_> = blocks.iter().map(|it| self.plan.addresses(*it)).collect();
            let sampled = life::sample(&addresses, self.plan.ports.as_slice(), self.bounds)?;
            let seen = blocks.iter().zip(sampled).filter(|it| it.1).map(|it| it.0.index);
            let seen: BTreeSet<u32> = seen.collect();
            blocks.sort_by_key(|it| (!seen.contains(&it.index), it.index));
        }
        for some in blocks.chunks(N_LOOKED_FOR >> 8) {
            let mut looked = self.look(some, is_small)?;
            while !looked.is_empty() && !self.is_stopped() {
                let rest = looked.split_off(self.n_at_once(&looked));
                self.probe(&looked)?;
                looked = rest;
            }
            if self.is_stopped() {
                return Ok(());
            }
        }
        self.settle(0)
    }

    fn look(&mut self, blocks: &[Block], is_small: bool) -> Result<Vec<Looked>> {
        let addresses: Vec<_> = blocks.iter().map(|it| self.plan.addresses(*it)).collect();
        let signs = life::look(&addresses, is_small, self.plan.ports.as_slice(), self.bounds)?;
        let mut all = Vec::new();
        for (block, (addresses, signs)) in blocks.iter().zip(addresses.into_iter().zip(signs)) {
            let mut looked =
                Looked { block: *block, alive: Vec::new(), tally: ProbeCounts::default() };
            for (address, sign) in addresses.into_iter().zip(signs) {
                looked.tally.n_addresses += 1;
                match sign {
                    Sign::Alive(evidence) => looked.alive.push((address, evidence)),
                    Sign::Silent => looked.tally.n_silent += 1,
                    Sign::Unreachable => looked.tally.n_unreachable += 1,
                }
            }
            looked.tally.n_up = looked.alive.len() as u64;
            if !self.is_stopped() {
                let n_gone = looked.tally.n_silent + looked.tally.n_unreachable;
                self.progress.n_done.fetch_add(n_gone, Ordering::Relaxed);
                self.progress.n_up.fetch_add(looked.tally.n_up, Ordering::Relaxed);
            }
            all.push(looked);
        }
        Ok(all)
    }

    /// The number of blocks to probe together: at least one.
    fn n_at_once(&self, looked: &[Looked]) -> usize {
        let n_ports = self.plan.ports.as_slice().len();
        let mut n_probes = 0;
        let fits = |it: &&Looked| {
            n_probes += it.alive.len() * n_ports;
            n_probes <= N_PROBES_AT_ONCE
        };
        looked.iter().take_while(fits).count().max(1)
    }

    fn probe(&mut self, looked: &[Looked]) -> Result<()> {
        let alive = || looked.iter().flat_map(|it| &it.alive);
        let addresses: Vec<IpAddr> = alive().map(|it| it.0).collect();
        let macs = neighbors();
        let found = sweep(Goal::Ports, &addresses, self.plan.ports.as_slice(), self.bounds)?;
        if self.is_stopped() {
            return Ok(()); // The results are not complete.
        }
        let mut found = found.into_iter();
        for it in looked {
            let found: Vec<ProbedPorts> = found.by_ref().take(it.alive.len()).collect();
            let answers = answers(it, &found);
            let hosts = it.alive.iter().zip(found).zip(answers);
            let hosts: Vec<FoundHost> = hosts
                .map(|(((address, evidence), found), answers)| {
                    host(*address, evidence, found, answers, macs.get(address))
                })
                .collect();
            self.order(it, hosts);
        }
        self.settle(N_WAITING_MAX)
    }

    /// Queues the hosts of a block to be asked.
    fn order(&mut self, looked: &Looked, hosts: Vec<FoundHost>) {
        let mut tally = looked.tally;
        let mut n_waiting = 0;
        for (index, host) in hosts.iter().enumerate() {
            tally.n_open += u64::from(host.n_open);
            tally.n_closed += u64::from(host.n_closed);
            tally.n_alike += u64::from(host.answers == Answers::OnEveryAddress);
            if self.asks && host.answers != Answers::OnEveryAddress {
                // A host that answers on every port is not asked: its ports say nothing about it.
                let open = if host.answers == Answers::Own {
                    host.ports.iter().map(|it| it.number).collect()
                } else {
                    Vec::new()
                };
                let block = looked.block.index;
                let job = HostJob { block, host: index, address: host.address, open };
                n_waiting += usize::from(self.jobs.send(job).is_ok());
            }
        }
        self.pending.insert(looked.block.index, Pending { hosts, tally, n_waiting });
    }

    /// Hands out blocks that are finished, until at most `n_waiting_max` hosts wait to be asked.
    fn settle(&mut self, n_waiting_max: usize) -> Result<()> {
        loop {
            let finished: Vec<u32> =
                self.pending.iter().filter(|it| it.1.n_waiting == 0).map(|it| *it.0).collect();
            for index in finished {
                let Some(Pending { hosts, tally, .. }) = self.pending.remove(&index) else {
                    continue;
                };
                (self.sink)(Done { index, hosts, tally })?;
                // Counted as done only once the block is kept.
                self.progress.n_done.fetch_add(tally.n_up, Ordering::Relaxed);
            }
            if self.is_stopped() {
                return Ok(());
            }
            let n_waiting: usize = self.pending.values().map(|it| it.n_waiting).sum();
            let must_wait = n_waiting_max < n_waiting;
            let wait = if must_wait { LOOK_EVERY } else { Duration::ZERO };
            let talked = match self.answers.recv_timeout(wait) {
                Ok(talked) => talked,
                Err(RecvTimeoutError::Timeout) if must_wait => continue,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) if n_waiting == 0 => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::internal("the threads that ask hosts have ended"));
                }
            };
            let Some(pending) = self.pending.get_mut(&talked.block) else { continue };
            pending.n_waiting -= 1;
            let host = &mut pending.hosts[talked.host];
            if host.answers == Answers::Own {
                host.ports = talked.ports;
            }
            host.hostname = talked.hostname;
            (host.asset_type, host.because) = identify(&host.ports, host.answers);
        }
    }
}

fn host(
    address: IpAddr,
    evidence: &str,
    mut found: ProbedPorts,
    answers: Answers,
    mac: Option<&String>,
) -> FoundHost {
    found.open.sort_unstable();
    let ports: Vec<FoundPort> = found.open.iter().map(|it| talk::blank(*it)).collect();
    let (asset_type, because) = identify(&ports, answers);
    FoundHost {
        address,
        hostname: None,
        mac: mac.cloned(),
        evidence: evidence.to_owned(),
        ports,
        n_open: found.n_open,
        n_closed: found.n_closed,
        n_silent: found.n_silent,
        asset_type,
        because,
        answers,
    }
}

/// Tells for each host of a block whether its answers are its own.
fn answers(looked: &Looked, found: &[ProbedPorts]) -> Vec<Answers> {
    let open = |it: &ProbedPorts| {
        let mut open = it.open.clone();
        open.sort_unstable();
        open
    };
    let mut n_alike: BTreeMap<Vec<u16>, usize> = BTreeMap::new();
    for it in found {
        *n_alike.entry(open(it)).or_default() += 1;
    }
    let n_addresses = usize::try_from(looked.tally.n_addresses).unwrap_or(usize::MAX);
    let is_full = N_ALIKE_MIN <= n_addresses && PERCENT_UP * n_addresses <= 100 * found.len();
    let common = n_alike.into_iter().max_by_key(|it| it.1);
    let common = common.filter(|it| is_full && PERCENT_ALIKE * found.len() <= 100 * it.1);
    let answers = |it: &ProbedPorts| {
        if common.as_ref().is_some_and(|(ports, _)| *ports == open(it)) {
            Answers::OnEveryAddress
        } else if it.is_open_everywhere {
            Answers::OnEveryPort
        } else {
            Answers::Own
        }
    };
    found.iter().map(answers).collect()
}

/// What people should know about the result: why the scan found nothing, or what was left out. `None`: nothing to add.
#[must_use]
pub fn explain(tally: &ProbeCounts) -> Option<String> {
    let ProbeCounts { n_addresses, n_up, n_silent, n_unreachable, n_open, n_closed, n_alike } =
        *tally;
    if n_up == 0 {
        return Some(format!(
            "no answer from {}: {n_silent} were silent (no host, or a firewall drops the probes), {n_unreachable} cannot \
             be reached from here (no route, or a router rejects the probes)",
            count(n_addresses, "address", "addresses")
        ));
    }
    if n_alike != 0 {
        return Some(format!(
            "{n_alike} of {n_up} addresses answer like almost all others in their block, as if a gateway answered for \
             them; they are listed, but they are not assets"
        ));
    }
    if n_open == 0 {
        return Some(format!(
            "{} answered, without an open port among those scanned: {} refused the connection, the others were silent",
            count(n_up, "host", "hosts"),
            count(n_closed, "port", "ports")
        ));
    }
    None
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
