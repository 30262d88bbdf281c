//! The layout of a stored record, by which a type that a later release extended knows what there is to read.

/// Which members a record has. Most types are the same in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Of releases up to 0.1.
    First,
    /// With the members that came after them.
    Second,
}

impl Layout {
    /// How a record says it.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::First => 1,
            Self::Second => 2,
        }
    }

    /// `None`: it is of a later release.
    #[must_use]
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::First),
            2 => Some(Self::Second),
            _ => None,
        }
    }
}
