//! Time zones: what a clock shows there, and when a day ends.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::clock::Time;
use crate::error::{Error, Result};

/// Longer names are refused.
pub const ZONE_CHARS_MAX: usize = 64;
/// What an error says about a name that is none.
pub const ZONE_RULE: &str = "must be a time zone of the IANA database, such as Europe/Paris or UTC";
const DAY_CHARS: usize = "2026-12-31".len();
const YEAR_MIN: i16 = 1970;

/// A time zone of the IANA database: of the host, or else of the copy that this executable carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

impl Zone {
    pub const UTC: Self = Self(TimeZone::UTC);

    /// In upper or lower case. `None`: there is no such zone.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let may_be = name.len() <= ZONE_CHARS_MAX;
        let found = may_be.then(|| TimeZone::get(name).ok()).flatten();
        found.filter(|it| !it.is_unknown()).map(Self)
    }

    #[must_use]
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// What calendars and clocks show there.
    #[must_use]
    pub fn local(&self, at: Time) -> Local {
        let moment = Timestamp::from_microsecond(at.micros()).unwrap_or(Timestamp::UNIX_EPOCH);
        Local(moment.to_zoned(self.0.clone()))
    }

    /// The last second of a day there, or the last moment that there is.
    #[must_use]
    pub fn end_of(&self, day: Date) -> Time {
        let next = day.tomorrow().and_then(|it| it.to_zoned(self.0.clone()));
        let next = next.and_then(|it| it.start_of_day());
        next.map_or(Time::MAX, |it| Time::from_micros(it.timestamp().as_microsecond()).plus_s(-1))
    }

    /// The moment at which clocks there show this. Of an hour that the clock skips, the one after; of one that comes twice,
    /// the first.
    ///
    /// # Errors
    /// `Internal` at the end of time.
    pub fn moment(&self, shown: DateTime) -> Result<Time> {
        let at = self.0.to_ambiguous_timestamp(shown).compatible().map_err(Error::internal)?;
        Ok(Time::from_micros(at.as_microsecond()))
    }
}

/// What calendars and clocks show in a zone at a moment.
#[derive(Clone, Debug)]
pub struct Local(Zoned);

impl Local {
    #[must_use]
    pub fn day(&self) -> Date {
        self.0.date()
    }

    #[must_use]
    pub fn hours_and_minutes(&self) -> (i8, i8) {
        (self.0.hour(), self.0.minute())
    }

    /// How far its clocks are from UTC: `UTC`, `UTC+1`, `UTC-3:30`.
    #[must_use]
    pub fn offset(&self) -> String {
        let minutes = self.0.offset().seconds() / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        match (minutes.abs() / 60, minutes.abs() % 60) {
            (0, 0) => "UTC".to_owned(),
            (hours, 0) => format!("UTC{sign}{hours}"),
            (hours, minutes) => format!("UTC{sign}{hours}:{minutes:02}"),
        }
    }
}

/// When something ends: at a moment, or with a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    At(Time),
    EndOf(Date),
}

impl Deadline {
    /// The moment. A day ends when it does in the zone.
    #[must_use]
    pub fn at(self, zone: &Zone) -> Time {
        match self {
            Self::At(at) => at,
            Self::EndOf(day) => zone.end_of(day),
        }
    }
}

/// As requests have it. The moment is in UTC.
impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(at) => at.fmt(f),
            Self::EndOf(day) => day.fmt(f),
        }
    }
}

/// Takes a date, or RFC 3339 with an offset or `Z`.
impl FromStr for Deadline {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let day = || text.parse::<Date>().ok().filter(|it| YEAR_MIN <= it.year());
        if let Some(day) = (text.len() == DAY_CHARS).then(day).flatten() {
            return Ok(Self::EndOf(day));
        }
        text.parse().map(Self::At).map_err(|_: Error| {
            Error::invalid(
                "not a date such as 2026-12-31 or a date-time such as 2026-12-31T17:00:00Z, in the years 1970 to 9999",
            )
        })
    }
}
