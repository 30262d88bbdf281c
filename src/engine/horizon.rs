//! When time alone may change a posture next.

use crate::clock::Time;

/// The soonest of the moments after now that it was shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Horizon {
    now: Time,
    soonest: Option<Time>,
}

impl Horizon {
    pub(super) fn after(now: Time) -> Self {
        Self { now, soonest: None }
    }

    pub(super) fn see(&mut self, moment: Time) {
        if self.now < moment && self.soonest.is_none_or(|it| moment < it) {
            self.soonest = Some(moment);
        }
    }

    /// Whether it is now or was before.
    pub(super) fn is_past(self, moment: Time) -> bool {
        moment <= self.now
    }

    pub(super) fn soonest(self) -> Option<Time> {
        self.soonest
    }
}
