//! One thread of a sweep: addresses in turn, sockets in slots, and what is waited for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::rtt::Rtt;
use super::socket::{ConnectState, Socket, attempt};
use crate::error::{Error, Result};
use crate::scan::probe::{Bounds, Ending, Goal, ProbedPorts};

/// Probes that are begun before ended ones are processed.
const N_LAUNCHED_AT_ONCE: u32 = 256;
/// The minimum wait for an answer from a host that has answered before.
const WAIT_MIN_MICROS: u32 = 100_000;
/// Silent ports of a host that are retried before the host counts as one that drops unwanted packets.
const N_RETRIES_ON_TRIAL: u32 = 16;
/// One address gets at most this many probes per second for each simultaneous connection that it may have.
const PROBES_PER_S_PER_CONNECTION: u32 = 64;
const WINDOWS_PER_S: u32 = 10;
/// How long no probe is begun when the system lacks the resources.
const HOLD: Duration = Duration::from_millis(20);
/// A host counts as unreachable after this many probes for which the system lacked the resources.
const N_PUT_OFF_MAX: u32 = 250;
/// The longest wait, so that a stop and new resources are noticed.
const WAIT_MAX: Duration = Duration::from_millis(50);

pub(super) struct Worker<'a> {
    goal: Goal,
    ports: &'a [u16],
    bounds: &'a Bounds<'a>,
    hosts: Vec<ScannedHost>,
    /// Hosts with ports to probe that may be probed now.
    ready: VecDeque<usize>,
    /// Hosts that have used their share of the current time window.
    resting: BinaryHeap<Reverse<(Instant, usize)>>,
    slots: Vec<ProbeSlot>,
    free: Vec<usize>,
    n_under_way: usize,
    deadlines: BinaryHeap<Reverse<(Instant, usize, u64)>>,
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    /// The estimate over all addresses, for those that have not answered.
    rtt: Rtt,
    n_places: u32,
    held_until: Option<Instant>,
    /// The time of the current round.
    now: Instant,
    n_probes: u64,
    /// The share of probes that were answered at once, in 256ths.
    n_eager: u32,
}

struct ScannedHost {
    address: IpAddr,
    /// Index of the next port.
    next: usize,
    again: Vec<u16>,
    n_under_way: u32,
    rtt: Rtt,
    /// The start of the window in which its probes are counted.
    window_from: Instant,
    n_in_window: u32,
    n_put_off: u32,
    n_retries: u32,
    n_retries_answered: u32,
    is_over: bool,
    /// Is in `ready` or `resting`.
    is_queued: bool,
    found: ProbedPorts,
}

#[derive(Default)]
struct ProbeSlot {
    socket: Option<Socket>,
    probe: Option<Probe>,
}

#[derive(Clone, Copy)]
struct Probe {
    /// Distinguishes it from earlier probes in its slot.
    number: u64,
    host: usize,
    port: u16,
    is_retry: bool,
    sent_at: Instant,
}

/// Whether more may be begun.
enum Launched {
    Some,
    /// Not before this time, or not before a probe ends.
    Nothing(Option<Instant>),
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        goal: Goal,
        addresses: Vec<IpAddr>,
        ports: &'a [u16],
        bounds: &'a Bounds<'a>,
        n_sockets: usize,
    ) -> Result<Self> {
        let hosts: Vec<ScannedHost> = addresses.into_iter().map(ScannedHost::new).collect();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(no_room)?;
        Ok(Self {
            goal,
            ports,
            bounds,
            ready: (0..hosts.len()).collect(),
            hosts,
            resting: BinaryHeap::new(),
            slots: std::iter::repeat_with(ProbeSlot::default).take(n_sockets).collect(),
            free: (0..n_sockets).rev().collect(),
            n_under_way: 0,
            deadlines: BinaryHeap::new(),
            epoll,
            events: Vec::with_capacity(256),
            rtt: bounds.rtt,
            n_places: 0,
            held_until: None,
            now: Instant::now(),
            n_probes: 0,
            n_eager: 256,
        })
    }

    /// Runs to the end. Returns the results of each address, in their order.
    pub(super) fn run(mut self) -> Result<Vec<ProbedPorts>> {
        while !(self.bounds.stop)() {
            let now = Instant::now();
            self.now = now;
            self.expire(now);
            while self.resting.peek().is_some_and(|Reverse((at, _))| *at <= now) {
                let Reverse((_, host)) = self.resting.pop().expect("it was just there");
                self.ready.push_back(host);
            }
            let launched = self.launch(now)?;
            let is_over = self.n_under_way == 0 && self.ready.is_empty() && self.resting.is_empty();
            if is_over {
                break;
            }
            match launched {
                Launched::Some if self.n_under_way == 0 => {}
                Launched::Some => self.wait(Duration::ZERO)?,
                Launched::Nothing(until) => self.wait(self.idle(now, until))?,
            }
        }
        Ok(self.hosts.into_iter().map(|it| it.found).collect())
    }

    /// The time until the next deadline.
    fn idle(&self, now: Instant, until: Option<Instant>) -> Duration {
        let deadline = self.deadlines.peek().map(|Reverse((at, ..))| *at);
        let rested = self.resting.peek().map(|Reverse((at, _))| *at);
        let next = [until, deadline, rested].into_iter().flatten().min();
        next.map_or(WAIT_MAX, |at| at.saturating_duration_since(now).min(WAIT_MAX))
    }

    fn launch(&mut self, now: Instant) -> Result<Launched> {
        if self.held_until.is_some_and(|it| now < it) {
            return Ok(Launched::Nothing(self.held_until));
        }
        self.held_until = None;
        let mut n_launched = 0;
        while n_launched < N_LAUNCHED_AT_ONCE {
            let (Some(slot), Some(host)) = (self.free.last().copied(), self.ready.front().copied())
            else {
                break;
            };
            if self.n_places == 0 {
                let n = self.bounds.pace.n_at_once();
                match self.bounds.pace.take(n) {
                    Ok(()) => self.n_places = n,
                    Err(until) if n_launched == 0 => return Ok(Launched::Nothing(Some(until))),
                    Err(_) => break,
                }
            }
            self.ready.pop_front();
            self.hosts[host].is_queued = false;
            let next = self.hosts[host].next_port(self.ports, self.bounds);
            if let Some((port, is_retry)) = next {
                self.n_places -= 1;
                n_launched += 1;
                self.free.pop();
                self.probe(slot, host, port, is_retry)?;
                if self.held_until.is_some() {
                    self.queue(host, now);
                    break;
                }
            }
            self.queue(host, now);
        }
        Ok(if n_launched == 0 { Launched::Nothing(None) } else { Launched::Some })
    }

    /// Lets a host be probed again, if it has anything left and may.
    fn queue(&mut self, index: usize, now: Instant) {
        let host = &mut self.hosts[index];
        let is_full = self.bounds.per_host <= host.n_under_way;
        if host.is_queued || is_full || !host.has_more(self.ports) {
            return;
        }
        host.is_queued = true;
        match host.rest(now, self.bounds.per_host) {
            None => self.ready.push_back(index),
            Some(until) => self.resting.push(Reverse((until, index))),
        }
    }

    fn probe(&mut self, slot: usize, host: usize, port: u16, is_retry: bool) -> Result<()> {
        let address = SocketAddr::new(self.hosts[host].address, port);
        let is_known = self.slots[slot].socket.as_ref().is_some_and(|it| it.fits(address.ip()));
        if !is_known {
            match Socket::open(address.ip()) {
                Ok(socket) => self.slots[slot].socket = Some(socket),
                Err(errno) => {
                    self.give_up_socket(slot, host, port, errno);
                    return Ok(());
                }
            }
        }
        self.n_probes += 1;
        // Where answers never come at once, a second connect is wasted. It is tried again now and then.
        let is_eager = 16 < self.n_eager || self.n_probes.is_multiple_of(64);
        let socket = self.slots[slot].socket.as_ref().expect("it was just put there");
        let ended = attempt(socket, address, is_eager);
        if is_eager {
            let weight = if matches!(ended, ConnectState::UnderWay) { 0 } else { 16 };
            self.n_eager = self.n_eager - self.n_eager / 16 + weight;
        }
        let probe = Probe { number: self.n_probes, host, port, is_retry, sent_at: self.now };
        self.hosts[host].n_under_way += 1;
        self.n_under_way += 1;
        self.slots[slot].probe = Some(probe);
        match ended {
            ConnectState::UnderWay => {
                let probe = Probe { sent_at: Instant::now(), ..probe };
                self.slots[slot].probe = Some(probe);
                self.await_answer(slot, probe)
            }
            ConnectState::Ended(ending) => {
                self.end(slot, ending, Some(Duration::ZERO));
                Ok(())
            }
            ConnectState::NoRoom => {
                self.take_back(slot, probe);
                Ok(())
            }
        }
    }

    fn await_answer(&mut self, index: usize, probe: Probe) -> Result<()> {
        let slot = &mut self.slots[index];
        let socket = slot.socket.as_mut().expect("a probe has a socket");
        if !socket.is_awaited {
            let data = epoll::EventData::new_u64(index as u64);
            let flags = epoll::EventFlags::OUT | epoll::EventFlags::ET;
            epoll::add(&self.epoll, &socket.fd, data, flags).map_err(no_room)?;
            socket.is_awaited = true;
        }
        let timeout = match self.goal {
            Goal::Ports if self.hosts[probe.host].rtt.is_learned() => {
                self.hosts[probe.host].rtt.timeout()
            }
            Goal::Ports | Goal::Life => self.rtt.timeout(),
        };
        self.deadlines.push(Reverse((probe.sent_at + timeout, index, probe.number)));
        Ok(())
    }

    fn wait(&mut self, at_most: Duration) -> Result<()> {
        let timeout = Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(0),
            tv_nsec: at_most.subsec_nanos().into(),
        };
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => (),
            Err(errno) => return Err(no_room(errno)),
        }
        for event in &events {
            let index = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
            let Some(ProbeSlot { socket: Some(socket), probe: Some(probe) }) =
                self.slots.get(index)
            else {
                continue; // The probe of this event has ended.
            };
            let address = SocketAddr::new(self.hosts[probe.host].address, probe.port);
            let took = probe.sent_at.elapsed();
            match attempt(socket, address, false) {
                ConnectState::Ended(ending) => self.end(index, ending, Some(took)),
                ConnectState::UnderWay | ConnectState::NoRoom => (),
            }
        }
        self.events = events;
        Ok(())
    }

    /// Ends the probes that were not answered in time.
    fn expire(&mut self, now: Instant) {
        while let Some(Reverse((at, index, number))) = self.deadlines.peek().copied() {
            if now < at {
                return;
            }
            self.deadlines.pop();
            if self.slots[index].probe.is_some_and(|it| it.number == number) {
                self.end(index, Ending::Silent, None);
            }
        }
    }

    /// `took`: how long the answer took.
    fn end(&mut self, index: usize, ending: Ending, took: Option<Duration>) {
        let slot = &mut self.slots[index];
        let Some(probe) = slot.probe.take() else { return };
        if ending != Ending::Closed {
            slot.socket = None; // Resets the connection. A refused socket is reused.
        }
        self.free.push(index);
        self.n_under_way -= 1;
        let host = &mut self.hosts[probe.host];
        host.n_under_way -= 1;
        if let (Some(took), Ending::Open | Ending::Closed) = (took, ending) {
            if !took.is_zero() || !host.rtt.is_learned() {
                host.rtt.learn(took);
                self.rtt.learn(took);
            }
            host.n_retries_answered += u32::from(probe.is_retry);
        }
        if ending == Ending::Silent && !probe.is_retry && host.may_retry(self.goal) {
            host.n_retries += 1;
            host.again.push(probe.port);
        } else {
            host.found.take(probe.port, ending);
            if ending == Ending::Open && self.goal == Goal::Ports {
                self.bounds.count_open();
            }
        }
        let is_alive = host.found.first.is_some();
        host.is_over |= host.found.is_open_everywhere || (self.goal == Goal::Life && is_alive);
        self.queue(probe.host, self.now);
    }

    /// The system lacks the resources for this probe: it is tried again later.
    fn take_back(&mut self, index: usize, probe: Probe) {
        self.slots[index] = ProbeSlot::default();
        self.free.push(index);
        self.n_under_way -= 1;
        let host = &mut self.hosts[probe.host];
        host.n_under_way -= 1;
        host.n_put_off += 1;
        if N_PUT_OFF_MAX < host.n_put_off {
            host.found.take(probe.port, Ending::Unreachable);
            return;
        }
        host.again.push(probe.port);
        self.held_until = Some(Instant::now() + HOLD);
    }

    /// Without a new socket, probing goes on with the existing ones.
    fn give_up_socket(&mut self, slot: usize, host: usize, port: u16, errno: Errno) {
        let is_alone = self.slots.iter().all(|it| it.socket.is_none());
        let is_full = matches!(errno, Errno::NOBUFS | Errno::NOMEM | Errno::MFILE | Errno::NFILE);
        if !is_full {
            self.hosts[host].found.take(port, Ending::Unreachable); // Such as IPv6 on a host without IPv6.
            self.free.push(slot);
            return;
        }
        self.hosts[host].again.push(port);
        self.held_until = Some(Instant::now() + HOLD);
        if is_alone {
            self.free.push(slot);
        }
    }
}

impl ScannedHost {
    fn new(address: IpAddr) -> Self {
        Self {
            address,
            next: 0,
            again: Vec::new(),
            n_under_way: 0,
            rtt: Rtt::at_least(WAIT_MIN_MICROS),
            window_from: Instant::now(),
            n_in_window: 0,
            n_put_off: 0,
            n_retries: 0,
            n_retries_answered: 0,
            is_over: false,
            is_queued: true,
            found: ProbedPorts::default(),
        }
    }

    fn has_more(&self, ports: &[u16]) -> bool {
        !self.is_over && (self.next < ports.len() || !self.again.is_empty())
    }

    /// The next port, and whether it was probed before.
    fn next_port(&mut self, ports: &[u16], bounds: &Bounds<'_>) -> Option<(u16, bool)> {
        while !self.is_over && self.next < ports.len() {
            let port = ports[self.next];
            self.next += 1;
            if !bounds.is_own(self.address, port) {
                return Some((port, false));
            }
        }
        if self.is_over { None } else { self.again.pop().map(|it| (it, true)) }
    }

    /// Returns true if a silent port is to be probed again: a packet may be lost. A host that drops unwanted packets is not
    /// probed again.
    fn may_retry(&self, goal: Goal) -> bool {
        goal == Goal::Ports && (self.n_retries < N_RETRIES_ON_TRIAL || 0 < self.n_retries_answered)
    }

    /// The time until which the host must not be probed. `None`: it may be probed now.
    fn rest(&mut self, now: Instant, per_host: u32) -> Option<Instant> {
        let n_max = (per_host * PROBES_PER_S_PER_CONNECTION / WINDOWS_PER_S).max(1);
        let length = Duration::from_secs(1) / WINDOWS_PER_S;
        if self.window_from + length <= now {
            (self.window_from, self.n_in_window) = (now, 0);
        }
        self.n_in_window += 1;
        (n_max <= self.n_in_window).then(|| self.window_from + length)
    }
}

fn no_room(errno: Errno) -> Error {
    Error::unavailable("the system has no sockets left for the scan").caused_by(errno)
}
