//! When a failed delivery is tried again.

/// A gap is longer or shorter by at most this share, so that receivers are not hit by everybody at once.
pub const JITTER_PERCENT: i64 = 20;
/// After an answer or a silence that says the receiver is overloaded.
const OVERLOADED_GAP_S: i64 = 60;

/// How an attempt failed, as far as the schedule minds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Timeout, 429, 502 or 504.
    Overloaded,
    Other,
}

/// Milliseconds until the next attempt; `None` when it was the last.
///
/// `gaps_s`: before each attempt, the first included. `n_failures`: attempts that failed so far. `retry_after_s`: what
/// the receiver asked for, honoured up to twice the gap. `chance`: any number, from which the jitter is taken.
#[must_use]
pub fn next_ms(
    gaps_s: &[u32],
    n_failures: u32,
    failure: Failure,
    retry_after_s: Option<u32>,
    chance: u32,
) -> Option<i64> {
    let wait_s = i64::from(*gaps_s.get(usize::try_from(n_failures).ok()?)?);
    let least_s = if failure == Failure::Overloaded { OVERLOADED_GAP_S } else { 0 };
    let asked_s = retry_after_s.map_or(0, |it| i64::from(it).min(2 * wait_s));
    let span_ms = wait_s * 1_000 * JITTER_PERCENT / 100;
    let jitter_ms = i64::from(chance) % (2 * span_ms + 1) - span_ms;
    let delay_ms = wait_s * 1_000 + jitter_ms;
    Some(delay_ms.max(asked_s * 1_000).max(least_s * 1_000))
}
