//! How severe a control or finding is.

use bincode::{Decode, Encode};

/// How severe a control or finding is. Ordered from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];

    /// The weight in every mean.
    #[must_use]
    pub const fn weight(self) -> u32 {
        match self {
            Self::Critical => 10,
            Self::High => 5,
            Self::Medium => 3,
            Self::Low => 1,
        }
    }

    /// Returns the contract's name of the severity.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}
