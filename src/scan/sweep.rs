//! The sweep: many TCP connects at once, from few threads.
//!
//! What a connect costs is the kernel's work for it, so everything else is avoided. A socket whose connect was refused
//! connects to the next port: no socket is made or closed for a closed port. It keeps its local port, so that none is
//! searched for. The outcome is asked for at once, by connecting once more, as an answer from nearby is there already;
//! only what is still under way is waited for, on an epoll that knows the socket from its first wait on. An open port's
//! connection is reset, never finished: nothing is sent to it.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::local::Own;
use super::pace::Pace;
use super::rtt::Rtt;
use super::worker::Worker;
use crate::error::{Error, Result};

/// From this many probes a second on, more threads than one are worth it.
const THREADS_FROM_PER_S: u32 = 10_000;
const N_THREADS_MAX: usize = 4;

/// What a sweep is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Whether there is anything: the first answer of an address ends its probing.
    Life,
    /// The state of every port.
    Ports,
}

/// What bounds a sweep.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'a> {
    pub(super) pace: &'a Pace,
    /// Sockets at once.
    pub(super) n_sockets: usize,
    /// Connections under way to one address.
    pub(super) per_host: u32,
    /// Not probed.
    pub(super) own: &'a Own,
    /// Of what answered so far.
    pub(super) rtt: Rtt,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
    /// Open ports found, as they are found.
    pub(super) n_open: &'a AtomicU64,
}

/// How a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Open,
    Closed,
    Silent,
    Unreachable,
}

/// What the ports of one address came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// In the order of finding, at most [`N_OPEN_KEPT`].
    pub(super) open: Vec<u16>,
    pub(super) n_open: u32,
    pub(super) n_closed: u32,
    pub(super) n_silent: u32,
    pub(super) n_unreachable: u32,
    /// The first port that answered, and how.
    pub(super) first: Option<(u16, Ending)>,
    /// Probing was given up: almost every port was open.
    pub(super) is_open_everywhere: bool,
}

/// Open ports that are told one by one.
pub(super) const N_OPEN_KEPT: usize = 256;
/// So many open ports of so many in a hundred are not a host's own.
const N_OPEN_SUSPECT: u32 = 200;
const PERCENT_OPEN_SUSPECT: u32 = 95;

impl Found {
    pub(super) fn take(&mut self, port: u16, ending: Ending) {
        match ending {
            Ending::Open => {
                self.n_open += 1;
                if self.open.len() < N_OPEN_KEPT {
                    self.open.push(port);
                }
            }
            Ending::Closed => self.n_closed += 1,
            Ending::Silent => self.n_silent += 1,
            Ending::Unreachable => self.n_unreachable += 1,
        }
        if self.first.is_none() && matches!(ending, Ending::Open | Ending::Closed) {
            self.first = Some((port, ending));
        }
        let n_probed = self.n_open + self.n_closed + self.n_silent;
        self.is_open_everywhere |=
            N_OPEN_SUSPECT <= self.n_open && PERCENT_OPEN_SUSPECT * n_probed <= 100 * self.n_open;
    }
}

/// Probes the ports of every address; what each came to, in the same order. A stop leaves the rest unprobed.
///
/// # Errors
/// `Unavailable` when the system gives no sockets at all.
pub(super) fn sweep(
    goal: Goal,
    addresses: &[IpAddr],
    ports: &[u16],
    bounds: &Bounds<'_>,
) -> Result<Vec<Found>> {
    let n_threads = n_threads(bounds.pace.per_s()).clamp(1, addresses.len().max(1));
    let n_sockets = (bounds.n_sockets / n_threads).max(1);
    let share = |thread: usize| -> Vec<IpAddr> {
        addresses.iter().skip(thread).step_by(n_threads).copied().collect()
    };
    let work = |thread: usize| Worker::new(goal, share(thread), ports, bounds, n_sockets)?.run();
    let shares: Vec<Result<Vec<Found>>> = if n_threads == 1 {
        vec![work(0)]
    } else {
        std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..n_threads).map(|it| scope.spawn(move || work(it))).collect();
            let lost = |_| Err(Error::internal("a thread of the sweep panicked"));
            threads.into_iter().map(|it| it.join().unwrap_or_else(lost)).collect()
        })
    };
    let shares = shares.into_iter().collect::<Result<Vec<_>>>()?;
    let mut found: Vec<_> = shares.into_iter().map(Vec::into_iter).collect();
    let next = |index: usize| found[index % n_threads].next().unwrap_or_default();
    Ok((0..addresses.len()).map(next).collect())
}

fn n_threads(per_s: u32) -> usize {
    if per_s < THREADS_FROM_PER_S {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, usize::from).min(N_THREADS_MAX)
}

impl Bounds<'_> {
    pub(super) fn is_own(&self, address: IpAddr, port: u16) -> bool {
        self.own.has(address, port)
    }

    pub(super) fn count_open(&self) {
        self.n_open.fetch_add(1, Ordering::Relaxed);
    }
}
