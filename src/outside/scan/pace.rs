//! Limits the probes per second, all scans together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const NS_PER_S: u64 = 1_000_000_000;
/// After a pause, probes for this much time may be sent at once.
const BURST_NS: u64 = 5_000_000;

/// Shared by all threads that probe. Each probe takes a place in time.
#[derive(Debug)]
pub struct Pace {
    start: Instant,
    per_s: u32,
    gap_ns: u64,
    /// The time of the next place, in nanoseconds since the start.
    next_ns: AtomicU64,
}

impl Pace {
    #[must_use]
    pub fn of(per_s: u32) -> Self {
        let gap_ns = NS_PER_S / u64::from(per_s.max(1));
        Self { start: Instant::now(), per_s, gap_ns, next_ns: AtomicU64::new(0) }
    }

    pub(super) const fn per_s(&self) -> u32 {
        self.per_s
    }

    /// The number of places to take together, so that threads seldom contend: those of a millisecond.
    pub(super) const fn n_at_once(&self) -> u32 {
        let n = self.per_s / 1_000;
        if n == 0 { 1 } else { n }
    }

    /// Takes the next place and returns its time. Later calls get later places.
    pub(super) fn reserve(&self) -> Instant {
        let now_ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let from_ns = |next_ns: u64| next_ns.max(now_ns.saturating_sub(BURST_NS));
        let claim = |next_ns| Some(from_ns(next_ns) + self.gap_ns);
        let next_ns = self.next_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim);
        self.start + Duration::from_nanos(from_ns(next_ns.unwrap_or_default()))
    }

    /// Takes `n` places.
    ///
    /// # Errors
    /// The time to try again. Nothing is taken then.
    pub(super) fn take(&self, n: u32) -> Result<(), Instant> {
        let now_ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let claim = |next_ns: u64| {
            let from_ns = next_ns.max(now_ns.saturating_sub(BURST_NS));
            (from_ns <= now_ns).then(|| from_ns + self.gap_ns * u64::from(n))
        };
        match self.next_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim) {
            Ok(_) => Ok(()),
            Err(next_ns) => Err(self.start + Duration::from_nanos(next_ns)),
        }
    }
}
