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

/// Reads a type whose last members are not in records of the first layout: those have their default there.
#[macro_export]
macro_rules! read_by_layout {
    ($name:ident { $($first:ident),+ $(,)? } and then { $($second:ident),+ $(,)? }) => {
        impl bincode::Decode<$crate::layout::Layout> for $name {
            fn decode<D>(decoder: &mut D) -> Result<Self, bincode::error::DecodeError>
            where
                D: bincode::de::Decoder<Context = $crate::layout::Layout>,
            {
                Ok(Self {
                    $($first: bincode::Decode::decode(decoder)?,)+
                    $($second: match *decoder.context() {
                        $crate::layout::Layout::First => Default::default(),
                        $crate::layout::Layout::Second => bincode::Decode::decode(decoder)?,
                    },)+
                })
            }
        }

        bincode::impl_borrow_decode_with_context!($name, $crate::layout::Layout);
    };
}

pub use read_by_layout;
