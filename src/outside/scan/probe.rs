//! A probe: its purpose, its bounds, how it ended, and the results of the ports of an address.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::local::Own;
use super::pace::Pace;
use super::rtt::Rtt;

/// The purpose of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Whether the address answers: the first answer ends its probing.
    Life,
    /// The state of every port.
    Ports,
}

/// What bounds a sweep.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'a> {
    pub(super) pace: &'a Pace,
    /// Sockets that are open at the same time.
    pub(super) n_sockets: usize,
    /// Connections under way to one address.
    pub(super) per_host: u32,
    /// Not probed.
    pub(super) own: &'a Own,
    /// Of the answers so far.
    pub(super) rtt: Rtt,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
    /// The open ports found so far.
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

/// The results of the ports of one address.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbedPorts {
    /// In the order in which they were found, at most [`N_OPEN_KEPT`].
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

/// Open ports of one address that are listed.
pub(super) const N_OPEN_KEPT: usize = 256;
/// With at least this many open ports, and at least this share of the probed ones, the ports are not those of a host.
const N_OPEN_SUSPECT: u32 = 200;
const PERCENT_OPEN_SUSPECT: u32 = 95;

impl ProbedPorts {
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

impl Bounds<'_> {
    pub(super) fn is_own(&self, address: IpAddr, port: u16) -> bool {
        self.own.has(address, port)
    }

    pub(super) fn count_open(&self) {
        self.n_open.fetch_add(1, Ordering::Relaxed);
    }
}
