//! Scans that run now, and the pace that they share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::engine::network::scan::ProbeCounts;
use crate::id::ScanId;
use crate::scan::{Pace, ScanProgress};

/// Scans that run now, and the pace that they share.
#[derive(Debug)]
pub struct ScanRegistry {
    pub(super) wake: Notify,
    pub(super) pace: Pace,
    running: Mutex<BTreeMap<ScanId, Arc<RunningScan>>>,
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
        Self { wake: Notify::new(), pace, running: Mutex::default() }
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ScanId, Arc<RunningScan>>> {
        self.running.lock().expect("no holder of this lock panics")
    }
}
