//! What a year is expected to cost a client, and what fixing one risk saves.
//!
//! The expected loss is `base x (1 + 5 S / (S + 4))`, where S is the sum of the points of the open risks of controls.

use crate::engine::evidence::fraction::Share;
use crate::engine::posture::ExpectedLoss;
use crate::engine::severity::Severity;

/// One point: a critical control of which nothing passes.
const POINT: u64 = 100 * Share::MILLION;
/// However much fails, the loss grows by less than this many times the base.
const GROWTH_MAX: u128 = 5;
/// At this many points it has grown by half of that.
const HALFWAY: u128 = 4 * POINT as u128;
/// A base above this is taken as this, so that every loss fits into 64 bits.
const BASE_MAX: u64 = u64::MAX / 6;

/// How much one open risk of a control adds to S.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Points(u64);

impl Points {
    /// `passing`: the share that passes. If a critical subject fails, it counts as none.
    pub(super) fn of(severity: Severity, passing: Share, is_critical: bool) -> Self {
        let hundredths = match severity {
            Severity::Critical => 100,
            Severity::High => 40,
            Severity::Medium => 15,
            Severity::Low => 5,
        };
        let gap = if is_critical { Share::MILLION } else { passing.rest().root_in_millionths() };
        Self(hundredths * gap)
    }
}

/// The expected loss with all open risks of controls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    base: u128,
    points: u128,
}

impl Loss {
    /// `base`: the loss of a client that meets everything.
    pub(super) fn of(base: u64, risks: impl Iterator<Item = Points>) -> Self {
        let points = risks.map(|it| u128::from(it.0)).sum();
        Self { base: base.min(BASE_MAX).into(), points }
    }

    /// In whole dollars, rounded down.
    pub(super) fn expected(&self) -> ExpectedLoss {
        let growth = GROWTH_MAX * self.base * self.points / (self.points + HALFWAY);
        ExpectedLoss { base: dollars(self.base), now: dollars(self.base + growth) }
    }

    /// Returns what fixing this one of the risks saves, rounded down to two significant digits.
    ///
    /// Each risk adds less than the ones before it would alone, and all rounding is down, so the savings of all risks
    /// never sum above what they add together.
    pub(super) fn saved_by(&self, risk: Points) -> u64 {
        let risk = u128::from(risk.0);
        let (with, without) = (self.points + HALFWAY, self.points - risk + HALFWAY);
        // The difference of the two losses as one fraction: the difference of rounded losses could be a dollar too much.
        rounded(dollars(GROWTH_MAX * self.base * risk * HALFWAY / (with * without)))
    }
}

fn dollars(amount: u128) -> u64 {
    u64::try_from(amount).expect("six times the largest base fits")
}

/// Rounds down to two significant digits: an estimate is no better.
#[must_use]
pub fn rounded(dollars: u64) -> u64 {
    let n_dropped = dollars.checked_ilog10().unwrap_or(0).saturating_sub(1);
    let unit = 10_u64.pow(n_dropped);
    dollars / unit * unit
}
