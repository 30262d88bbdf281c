//! The language of a report, as it is typed.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Language {
    /// English.
    En,
    /// French.
    Fr,
}

impl Language {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Fr => "fr",
        }
    }
}
