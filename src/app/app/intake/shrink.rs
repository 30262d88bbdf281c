//! Whether a complete read is accepted. A read that lost too much at once is treated as partial first.

use super::list::{Lists, Shrinking};
use crate::store::per_client::roster::Reads;

/// A complete read that shrinks by more than this share, and by more than [`SHRINK_MIN`], is treated as partial until a
/// second one agrees.
const SHRINK_PERCENT: u32 = 30;
const SHRINK_MIN: u32 = 5;
/// A second read agrees if it has at most this much more than the one that was held.
const AGREES_PERCENT: u32 = 10;
/// What kind of read it is, which decides whether absence from it means gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum ReadKind {
    /// The first complete read.
    Baseline,
    Complete,
    /// It shrank too much to be accepted at once.
    Held,
    Partial,
    /// It is older than the stored read and is ignored.
    Late,
}

impl ReadKind {
    pub(in crate::app) const fn means_gone(self) -> bool {
        matches!(self, Self::Baseline | Self::Complete)
    }
}

/// Returns true if a complete read of `n` members lost so many that it is not believed at once.
fn shrank(before: u32, n: u32) -> bool {
    let lost = before.saturating_sub(n);
    SHRINK_MIN < lost && before.saturating_mul(SHRINK_PERCENT) < lost.saturating_mul(100)
}

/// Judges a read of `n` members. Returns what to store about it, if anything.
pub(in crate::app) fn judge(
    before: Option<Reads>,
    n: usize,
    lists: &Lists,
) -> (ReadKind, Option<Reads>) {
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    let fresh = Reads { n, at: lists.at, held: None };
    let Some(before) = before else {
        return if lists.complete {
            (ReadKind::Baseline, Some(fresh))
        } else {
            (ReadKind::Partial, None)
        };
    };
    if lists.at < before.at {
        return (ReadKind::Late, None);
    }
    if !lists.complete {
        return (ReadKind::Partial, Some(Reads { at: lists.at, ..before }));
    }
    let agrees = |held: u32| n <= held.saturating_add(held.saturating_mul(AGREES_PERCENT) / 100);
    let is_doubted = match lists.shrinking {
        Shrinking::Doubted => shrank(before.n, n),
        Shrinking::DoubtedIfEmpty => shrank(before.n, n) || n == 0 && 0 < before.n,
        Shrinking::Confirmed => false,
    };
    if is_doubted && !before.held.is_some_and(agrees) {
        return (ReadKind::Held, Some(Reads { held: Some(n), at: lists.at, ..before }));
    }
    (ReadKind::Complete, Some(fresh))
}
