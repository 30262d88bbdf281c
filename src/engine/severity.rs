//! How much a control or finding matters.

use bincode::{Decode, Encode};

/// How much a control or finding matters. Ordered from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];

    /// Weight in every mean (product.md, `SecurityScore`).
    #[must_use]
    pub const fn weight(self) -> u32 {
        match self {
            Self::Critical => 10,
            Self::High => 5,
            Self::Medium => 3,
            Self::Low => 1,
        }
    }

    /// The contract's word.
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
