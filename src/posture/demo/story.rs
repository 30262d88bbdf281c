//! How the posture of a made-up client moves over half a year.

/// How many weeks of history the portfolio has.
pub const N_WEEKS: u64 = 26;
/// How much better a client gets in each week after an incident, in percent.
const RECOVERY_PER_WEEK: u64 = 6;

/// What happens to a client. Levels are the share of controls that are in order, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Story {
    /// The MSP's model client: nearly everything is in order and attested with evidence.
    Model,
    Steady(u64),
    Improves {
        from: u64,
        to: u64,
    },
    Decays {
        from: u64,
        to: u64,
    },
    /// An incident, from which the client has not recovered yet.
    Falls {
        from: u64,
        to: u64,
        week: u64,
    },
    /// An incident, and the way back.
    Recovers {
        from: u64,
        low: u64,
        to: u64,
        week: u64,
    },
    /// Its sources stop reporting, so that results expire.
    Silent {
        level: u64,
        week: u64,
    },
    /// A client since last week.
    Onboarded(u64),
    /// A client since yesterday, of which nothing is known.
    New,
}

impl Story {
    /// The share of controls that are in order in a week, in percent.
    pub(super) fn level(self, week: u64) -> u64 {
        match self {
            Self::Model => 98,
            Self::Steady(level) | Self::Silent { level, .. } | Self::Onboarded(level) => level,
            Self::Improves { from, to } => from + (to - from) * week / N_WEEKS,
            Self::Decays { from, to } => from - (from - to) * week / N_WEEKS,
            Self::Falls { from, to, week: fall } => {
                if week < fall {
                    from
                } else {
                    to
                }
            }
            Self::Recovers { from, week: fall, .. } if week < fall => from,
            Self::Recovers { low, to, week: fall, .. } => {
                to.min(low + (week - fall) * RECOVERY_PER_WEEK)
            }
            Self::New => 0,
        }
    }

    /// The first week as a client.
    pub(super) const fn starts_in(self) -> u64 {
        match self {
            Self::Onboarded(_) | Self::New => N_WEEKS,
            Self::Model
            | Self::Steady(_)
            | Self::Improves { .. }
            | Self::Decays { .. }
            | Self::Falls { .. }
            | Self::Recovers { .. }
            | Self::Silent { .. } => 1,
        }
    }

    /// Returns true if the client's sources report in a week.
    pub(super) fn is_reported(self, week: u64) -> bool {
        match self {
            Self::New => false,
            Self::Silent { week: last, .. } => week <= last,
            Self::Model
            | Self::Steady(_)
            | Self::Improves { .. }
            | Self::Decays { .. }
            | Self::Falls { .. }
            | Self::Recovers { .. }
            | Self::Onboarded(_) => self.starts_in() <= week,
        }
    }
}
