//! Scans that run now, and the pace that they share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::app::App;
use crate::engine::network::scan::ProbeCounts;
use crate::id::ScanId;
use crate::scan::{Pace, ScanProgress};
use crate::store::global::scan::ScanStatus;

/// Scans that run now, and the pace that they share.
#[derive(Debug)]
pub struct ScanRegistry {
    pub(super) wake: Notify,
    pub(super) pace: Pace,
    running: Mutex<BTreeMap<ScanId, Arc<RunningScan>>>,
    ended: EndedScans,
}

/// Scans that ended since the start.
#[derive(Debug, Default)]
struct EndedScans {
    completed: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
}

/// The state of scans, for metrics.
#[derive(Clone, Copy, Debug)]
pub struct ScanFigures {
    pub n_running: u64,
    /// Scans that ended since the start, by their status.
    pub ended: [(&'static str, u64); 3],
}

/// A scan that runs now.
#[derive(Debug, Default)]
pub(super) struct RunningScan {
    pub(super) progress: ScanProgress,
    pub(super) is_cancelled: AtomicBool,
    /// The service stops. The scan continues after the next start.
    pub(super) is_stopped: AtomicBool,
}

impl ScanRegistry {
    pub fn new(pace: Pace) -> Self {
        Self { wake: Notify::new(), pace, running: Mutex::default(), ended: EndedScans::default() }
    }

    pub(super) fn begin(&self, id: ScanId, tally: &ProbeCounts) -> Arc<RunningScan> {
        let scan = Arc::new(RunningScan::default());
        scan.progress.n_done.store(tally.n_addresses, Ordering::Relaxed);
        scan.progress.n_up.store(tally.n_up, Ordering::Relaxed);
        scan.progress.n_open.store(tally.n_open, Ordering::Relaxed);
        self.lock().insert(id, Arc::clone(&scan));
        scan
    }

    pub(super) fn end(&self, id: ScanId) {
        self.lock().remove(&id);
    }

    pub(super) fn find(&self, id: ScanId) -> Option<Arc<RunningScan>> {
        self.lock().get(&id).cloned()
    }

    /// Counts a scan that ended with this status, once that is durable.
    pub(super) fn count_end(&self, status: ScanStatus) {
        let count = match status {
            ScanStatus::Completed => &self.ended.completed,
            ScanStatus::Failed => &self.ended.failed,
            ScanStatus::Cancelled => &self.ended.cancelled,
            ScanStatus::Queued | ScanStatus::Running => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ScanId, Arc<RunningScan>>> {
        self.running.lock().expect("no holder of this lock panics")
    }
}

impl App {
    pub fn scan_figures(&self) -> ScanFigures {
        let EndedScans { completed, failed, cancelled } = &self.scans.ended;
        let of = |status: ScanStatus, count: &AtomicU64| {
            (status.as_str(), count.load(Ordering::Relaxed))
        };
        ScanFigures {
            n_running: self.scans.lock().len() as u64,
            ended: [
                of(ScanStatus::Completed, completed),
                of(ScanStatus::Failed, failed),
                of(ScanStatus::Cancelled, cancelled),
            ],
        }
    }
}
