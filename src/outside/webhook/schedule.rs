//! When a failed delivery is retried.

/// A gap is longer or shorter by at most this share, so that retries do not arrive all at once.
pub const JITTER_PERCENT: i64 = 20;
/// The shortest gap after an answer or a timeout that means the receiver is overloaded.
const OVERLOADED_GAP_S: i64 = 60;

/// How an attempt failed, as far as it matters for the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryFailure {
    /// Timeout, 429, 502 or 504.
    Overloaded,
    Other,
}

/// Returns the milliseconds until the next attempt, or `None` after the last attempt.
///
/// `gaps_s`: the gap before each attempt, including the first. `n_failures`: attempts that failed so far. `retry_after_s`:
/// what the receiver asked for, respected up to twice the gap. `chance`: any number, from which the jitter is derived.
#[must_use]
pub fn next_ms(
    gaps_s: &[u32],
    n_failures: u32,
    failure: DeliveryFailure,
    retry_after_s: Option<u32>,
    chance: u32,
) -> Option<i64> {
    let wait_s = i64::from(*gaps_s.get(usize::try_from(n_failures).ok()?)?);
    let least_s = if failure == DeliveryFailure::Overloaded { OVERLOADED_GAP_S } else { 0 };
    let asked_s = retry_after_s.map_or(0, |it| i64::from(it).min(2 * wait_s));
    let span_ms = wait_s * 1_000 * JITTER_PERCENT / 100;
    let jitter_ms = i64::from(chance) % (2 * span_ms + 1) - span_ms;
    let delay_ms = wait_s * 1_000 + jitter_ms;
    Some(delay_ms.max(asked_s * 1_000).max(least_s * 1_000))
}
