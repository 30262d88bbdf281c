//! The sweep: many TCP connects at once, from few threads.
//!
//! A connect costs little more than the kernel's work for it. A socket whose connect was refused connects to the next port,
//! so that no socket is opened or closed for a closed port. It keeps its local port, so that the kernel need not search for
//! one. The outcome is queried at once with a second connect, because an answer from nearby has arrived by then. Only
//! connects that are still under way are waited for, with epoll; a socket is registered at its first wait. The connection
//! to an open port is reset, never closed normally, and nothing is sent.

use std::net::IpAddr;

use super::probe::{Bounds, Goal, ProbedPorts};
use super::worker::Worker;
use crate::error::{Error, Result};

/// From this many probes per second on, more than one thread pays off.
const THREADS_FROM_PER_S: u32 = 10_000;
const N_THREADS_MAX: usize = 4;

/// Probes the ports of every address. Returns the results in the order of the addresses. A stop leaves the rest unprobed.
///
/// # Errors
/// `Unavailable` when the system has no sockets at all.
pub(super) fn sweep(
    goal: Goal,
    addresses: &[IpAddr],
    ports: &[u16],
    bounds: &Bounds<'_>,
) -> Result<Vec<ProbedPorts>> {
    let n_threads = n_threads(bounds.pace.per_s()).clamp(1, addresses.len().max(1));
    let n_sockets = (bounds.n_sockets / n_threads).max(1);
    let share = |thread: usize| -> Vec<IpAddr> {
        addresses.iter().skip(thread).step_by(n_threads).copied().collect()
    };
    let work = |thread: usize| Worker::new(goal, share(thread), ports, bounds, n_sockets)?.run();
    let shares: Vec<Result<Vec<ProbedPorts>>> = if n_threads == 1 {
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
