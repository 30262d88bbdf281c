//! Points in time as tools write them.

use crate::clock::Time;

/// 1973 in milliseconds, the year 5138 in seconds: from here on a number is milliseconds.
const MS_FROM: i64 = 100_000_000_000;
/// 1973 in microseconds: from here on a number is microseconds.
const MICROS_FROM: i64 = MS_FROM * 1_000;

/// Seconds, milliseconds or microseconds since 1970, distinguished by magnitude.
///
/// `None` for zero and less, which tools write for "unknown".
pub(super) fn of_number(number: i64) -> Option<Time> {
    match number {
        ..=0 => None,
        1..MS_FROM => Some(Time::from_s(number)),
        MS_FROM..MICROS_FROM => Some(Time::from_micros(number.saturating_mul(1_000))),
        MICROS_FROM.. => Some(Time::from_micros(number)),
    }
}

/// A number as in [`of_number`], or an ISO date-time; one without an offset is taken as UTC.
///
/// `None` when it is neither.
pub(super) fn of_text(text: &str) -> Option<Time> {
    let text = text.trim();
    // As Windows PowerShell writes it.
    let text = text.strip_prefix("/Date(").and_then(|it| it.strip_suffix(")/")).unwrap_or(text);
    if let Ok(number) = text.parse() {
        return of_number(number);
    }
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

/// The beginning of a day in UTC, such as `2026-11-20` or `2026/11/20`, or a point in time as in [`of_text`].
///
/// `None` when it is neither.
pub(super) fn of_day(text: &str) -> Option<Time> {
    let text = text.trim().replace('/', "-");
    of_text(&text).or_else(|| of_text(&format!("{text}T00:00:00Z")))
}
