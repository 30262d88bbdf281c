//! When a schedule is due next: in its own time zone, over changes of the clock and months of any length.

use jiff::civil::{Date, DateTime};

use crate::clock::Time;
use crate::clock::zone::{ZONE_RULE, Zone};
use crate::error::{Error, Result};
use crate::store::global::report::schedule::{Period, Rhythm};

/// Due times that passed are counted up to this.
pub const N_MISSED_MAX: u32 = 1_000;
/// A quarter has no more days. The day after the last day looked at is due at the latest.
const N_DAYS: i32 = 93;
const N_MONTHS_IN_QUARTER: i8 = 3;

/// # Errors
/// `Invalid` with the field that breaks a rule.
pub(super) fn check(it: &Rhythm) -> Result<()> {
    let days_max = it.every.days_max();
    if !(1..=days_max).contains(&it.day) {
        let rule = format!("must be from 1 to {days_max} for every {}", it.every.as_str());
        return Err(Error::invalid_field("when.day", rule));
    }
    if 23 < it.hour {
        return Err(Error::invalid_field("when.hour", "must be from 0 to 23"));
    }
    zone(it).map(drop)
}

fn zone(it: &Rhythm) -> Result<Zone> {
    Zone::named(&it.zone).ok_or_else(|| Error::invalid_field("when.timeZone", ZONE_RULE))
}

/// The first due time after `after`. An hour that the clock skips is due at the one after; one that comes twice, the first
/// time.
///
/// # Errors
/// `Invalid` if this host does not know the time zone any more; `Internal` at the end of time.
pub(super) fn next(it: &Rhythm, after: Time) -> Result<Time> {
    let zone = zone(it)?;
    let mut day = zone.local(after).day();
    for _ in 0..=N_DAYS {
        if is_due_on(it, day) {
            let hour = i8::try_from(it.hour).unwrap_or(0);
            let at = DateTime::from_parts(day, jiff::civil::time(hour, 0, 0, 0));
            let at = zone.moment(at)?;
            if after < at {
                return Ok(at);
            }
        }
        day = day.tomorrow().map_err(Error::internal)?;
    }
    Err(Error::internal("no day of a quarter is due"))
}

fn is_due_on(it: &Rhythm, day: Date) -> bool {
    let last = day.days_in_month();
    let is_day = i8::try_from(it.day).is_ok_and(|it| it.min(last) == day.day());
    match it.every {
        Period::Week => i8::try_from(it.day) == Ok(day.weekday().to_monday_one_offset()),
        Period::Month => is_day,
        Period::Quarter => is_day && day.month() % N_MONTHS_IN_QUARTER == 1,
    }
}

/// The next due time after `now`, and how many passed after `slot`, up to [`N_MISSED_MAX`].
///
/// # Errors
/// As [`next`].
pub(super) fn skip(it: &Rhythm, slot: Time, now: Time) -> Result<(Time, u32)> {
    let (mut at, mut n_missed) = (next(it, slot)?, 0);
    while at <= now && n_missed < N_MISSED_MAX {
        at = next(it, at)?;
        n_missed += 1;
    }
    if at <= now {
        at = next(it, now)?;
    }
    Ok((at, n_missed))
}
