//! Time as a value. Only this module asks the system what time it is.

pub mod zone;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bincode::{Decode, Encode};
use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

use crate::error::Error;

const MICROS_PER_S: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_S;

/// A moment, in microseconds since 1970-01-01T00:00:00Z, up to [`Time::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Time(i64);

impl Time {
    pub const EPOCH: Self = Self(0);
    /// 9999-12-30T21:59:59.999999Z: what is later cannot be shown in every time zone.
    pub const MAX: Self = Self(253_402_207_199_999_999);

    /// Clamps to what can be shown.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(0, Self::MAX.0))
    }

    #[must_use]
    pub fn from_s(seconds: i64) -> Self {
        Self::from_micros(seconds.saturating_mul(MICROS_PER_S))
    }

    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn s(self) -> i64 {
        self.0 / MICROS_PER_S
    }

    #[must_use]
    pub fn plus_s(self, seconds: i64) -> Self {
        Self::from_micros(self.0.saturating_add(seconds.saturating_mul(MICROS_PER_S)))
    }

    #[must_use]
    pub fn plus_ms(self, ms: i64) -> Self {
        Self::from_micros(self.0.saturating_add(ms.saturating_mul(1_000)))
    }

    #[must_use]
    pub fn plus_days(self, days: i64) -> Self {
        Self::from_micros(self.0.saturating_add(days.saturating_mul(MICROS_PER_DAY)))
    }

    /// Seconds from `earlier` to this moment; negative when it is later.
    #[must_use]
    pub const fn s_since(self, earlier: Self) -> i64 {
        (self.0 - earlier.0) / MICROS_PER_S
    }

    /// To the second, for names of files: `20261123T101500Z`.
    #[must_use]
    pub fn compact(self) -> String {
        let text = self.to_string();
        let seconds = text.split('.').next().unwrap_or_default();
        format!("{}Z", seconds.replace(['-', ':'], ""))
    }

    /// Days since 1970-01-01, in UTC.
    #[must_use]
    pub fn day(self) -> u32 {
        u32::try_from(self.0 / MICROS_PER_DAY).expect("years up to 9999 have fewer than 2^32 days")
    }
}

/// RFC 3339, UTC, `Z`, milliseconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = Timestamp::from_microsecond(self.0).map_err(|_| fmt::Error)?;
        write!(f, "{time:.3}")
    }
}

/// Takes RFC 3339 with an offset or `Z`.
impl FromStr for Time {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::invalid("not a date-time of RFC 3339 in the years 1970 to 9999");
        let time: Timestamp = text.parse().map_err(|_| bad())?;
        let micros = time.as_microsecond();
        if !(0..=Self::MAX.0).contains(&micros) {
            return Err(bad());
        }
        Ok(Self(micros))
    }
}

/// The processor's time that the current thread has used.
#[must_use]
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = |it: i64| u64::try_from(it).unwrap_or_default();
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

/// What the clock shows, and how long the machine has been running: nobody can set that.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub at: Time,
    /// Seconds since the machine started. Time that it slept counts.
    pub uptime_s: i64,
}

/// Where `now` comes from.
#[derive(Clone, Debug)]
pub enum Clock {
    System,
    /// Stands still until it is set: tests and the demonstration move it.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    #[must_use]
    pub fn manual(now: Time) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(now.0)))
    }

    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::System => Time::from_micros(Timestamp::now().as_microsecond()),
            Self::Manual(micros) => Time(micros.load(Ordering::Acquire)),
        }
    }

    /// A manual clock is moved on purpose: the machine then ran for as long.
    #[must_use]
    pub fn read(&self) -> Reading {
        let at = self.now();
        let uptime_s = match self {
            Self::System => clock_gettime(ClockId::Boottime).tv_sec,
            Self::Manual(_) => at.s(),
        };
        Reading { at, uptime_s }
    }

    /// Moves a manual clock; a system clock moves by itself.
    pub fn set(&self, now: Time) {
        if let Self::Manual(micros) = self {
            micros.store(now.0, Ordering::Release);
        }
    }
}
