//! Callers behind a load balancer: they push to the node whose `/readyz` answers 200, without an end.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use serde_json::json;

use super::nodes::{HANGS_AFTER, Nodes, status};
use crate::harness::process::{Line, wait_until};

const N_WRITERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(15);
/// What was acknowledged before an event has arrived so long after it.
pub(super) const AT_ONCE: Duration = Duration::from_millis(300);
/// A node that does not answer a push for longer is left for another.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// An asset that was answered with 201.
pub(super) struct Acknowledged {
    pub(super) name: String,
    pub(super) node: usize,
    pub(super) at: Instant,
}

pub(super) struct Writers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    addresses: [SocketAddr; 2],
    key: String,
    client: String,
    is_over: AtomicBool,
    acknowledged: Mutex<Vec<Acknowledged>>,
}

impl Writers {
    pub(super) fn start(nodes: &Nodes) -> Self {
        let shared = Arc::new(Shared {
            addresses: nodes.all.each_ref().map(|it| it.address),
            key: nodes.key.clone(),
            client: nodes.client.clone(),
            is_over: AtomicBool::new(false),
            acknowledged: Mutex::default(),
        });
        let start = |index| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.write(index))
        };
        let threads = (0..N_WRITERS).map(start).collect();
        Self { shared, threads }
    }

    /// Waits until this node has acknowledged so many more.
    pub(super) fn wait(&self, node: usize, n: usize) {
        let before = self.n(node);
        let is_served = wait_until(HANGS_AFTER, || before + n <= self.n(node));
        assert!(is_served, "node {node} acknowledges nothing");
    }

    /// Waits until so many are acknowledged that came after a point in time: which node acknowledged the last one.
    pub(super) fn wait_since(&self, since: Instant, n: usize) -> usize {
        let mut last = 0;
        let is_served = wait_until(HANGS_AFTER, || {
            let acknowledged = self.acknowledged();
            let from = acknowledged.partition_point(|it| it.at < since);
            last = acknowledged.last().map_or(0, |it| it.node);
            n <= acknowledged.len() - from
        });
        assert!(is_served, "no node acknowledges anything");
        last
    }

    fn n(&self, node: usize) -> usize {
        self.acknowledged().iter().filter(|it| it.node == node).count()
    }

    /// The longest time without an acknowledged write since then.
    pub(super) fn pause_since(&self, since: Instant) -> Duration {
        let acknowledged = self.acknowledged();
        let from = acknowledged.partition_point(|it| it.at < since).saturating_sub(1);
        let pauses = acknowledged[from..].windows(2).map(|it| it[1].at - it[0].at);
        pauses.max().unwrap()
    }

    pub(super) fn acknowledged(&self) -> MutexGuard<'_, Vec<Acknowledged>> {
        self.shared.acknowledged()
    }

    /// The names of all that was acknowledged.
    pub(super) fn stop(mut self) -> Vec<String> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
        self.acknowledged().iter().map(|it| it.name.clone()).collect()
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn acknowledged(&self) -> MutexGuard<'_, Vec<Acknowledged>> {
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, writer: usize) {
        let mut n_tried = 0;
        while !self.is_over() {
            for (node, address) in self.addresses.into_iter().enumerate() {
                if status(address, "/readyz", "") == Some(200) {
                    self.write_to(node, writer, &mut n_tried);
                }
            }
            sleep(PAUSE);
        }
    }

    /// Pushes until the node does not acknowledge one.
    fn write_to(&self, node: usize, writer: usize, n_tried: &mut u32) {
        let Ok(mut line) = Line::within(self.addresses[node], ANSWER_MAX) else { return };
        while !self.is_over() {
            *n_tried += 1;
            let name = format!("{node}-{writer}-{n_tried}");
            let body = json!({
                "clientId": self.client, "name": name, "externalId": name, "assetType": "server",
            });
            match line.push(&self.key, &body) {
                Some((201, _)) => {
                    let mut all = self.acknowledged();
                    all.push(Acknowledged { name, node, at: Instant::now() });
                }
                Some((503, _)) | None => return,
                Some((status, body)) => panic!("{status}: {body}"),
            }
            sleep(PAUSE);
        }
    }
}

/// Prints the shortest, the middle and the longest of some times.
pub(super) fn print_times(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let n = times.len();
    if 0 < n {
        let [first, middle, last] = [0, n / 2, n - 1].map(|it| times[it].as_secs_f64());
        eprintln!("{what}, {n} times: {first:.1}, {middle:.1}, {last:.1} s without service");
    }
}
