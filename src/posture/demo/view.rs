//! What there is to see of a control at a client: whether it is met, and which of its subjects fail.

use super::portfolio::DemoClient;
use super::story::Story;
use crate::engine::catalog::Control;
use crate::engine::fact::Status;
use crate::engine::severity::Severity;

/// Controls that are not met by less than this are partly met.
const NEARLY: u64 = 120;
/// Out of a thousand controls, how many fail for a few weeks.
const SLIPS: u64 = 14;
/// How long such a failure lasts, in weeks.
const SLIP_WEEKS: u64 = 3;

/// A control that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// How many of a thousand subjects fail.
    pub(super) failing: u64,
}

impl Gap {
    /// Returns `None` if the control is met. What matters most is fixed first.
    pub(super) fn of(client: &DemoClient, control: &Control, week: u64) -> Option<Self> {
        let rank = client.chance(&control.code, 1_000);
        let needs = match control.severity {
            Severity::Critical => rank * 60 / 100,
            Severity::High => rank * 90 / 100,
            Severity::Medium | Severity::Low => rank,
        };
        let level = client.story.level(week) * 10;
        if let Some(missing) = needs.checked_sub(level).filter(|it| 0 < *it) {
            let failing =
                if missing < NEARLY { 60 + missing } else { 520 + (missing - NEARLY) / 2 };
            return Some(Self { failing: failing.min(950) });
        }
        let slip = format!("{}/slip/{}", control.code, (week + rank) / SLIP_WEEKS);
        let slips = client.story != Story::Model && client.chance(&slip, 1_000) < SLIPS;
        slips.then_some(Self { failing: 80 })
    }

    /// The status of a control that is reported without counts.
    pub(super) const fn status(self) -> Status {
        if self.failing < 500 { Status::Partial } else { Status::NonCompliant }
    }

    /// How many of `n` subjects fail: at least one.
    pub(super) fn count(self, n: usize) -> usize {
        let n_failing = n * usize::try_from(self.failing).unwrap_or(0) / 1_000;
        n_failing.clamp(1.min(n), n)
    }
}

/// Returns the indices of the subjects that fail, in order. While a gap shrinks, the others stay.
pub(super) fn failing(client: &DemoClient, key: &str, gap: Option<Gap>, n: usize) -> Vec<usize> {
    let Some(gap) = gap else { return Vec::new() };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_cached_key(|it| client.chance(&format!("{key}/{it}"), u64::MAX));
    order.truncate(gap.count(n));
    order.sort_unstable();
    order
}
