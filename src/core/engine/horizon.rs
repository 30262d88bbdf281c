//! The next time at which a posture may change without new facts.

use crate::clock::Time;

/// The soonest of the times after now that it was shown.
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

    /// Returns true if the time is now or earlier.
    pub(super) fn is_past(self, moment: Time) -> bool {
        moment <= self.now
    }

    pub(super) fn soonest(self) -> Option<Time> {
        self.soonest
    }
}
