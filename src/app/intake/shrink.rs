//! Whether a complete read is believed: one that lost too much at once is taken as partial first.

use super::list::Lists;
use crate::store::per_client::roster::Reads;

/// A complete read that shrinks by more than this share, and by more than [`SHRINK_MIN`], is taken as partial until a
/// second one agrees.
const SHRINK_PERCENT: u32 = 30;
const SHRINK_MIN: u32 = 5;
/// A second read agrees when it has at most this much more than the one that was held.
const AGREES_PERCENT: u32 = 10;
/// Whether absence from a read means gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Belief {
    /// The first complete one.
    Baseline,
    Complete,
    /// It shrank too much to be believed at once.
    Held,
    Partial,
    /// It is older than what is known: it tells nothing new.
    Late,
}

impl Belief {
    pub(in crate::app) const fn tells_gone(self) -> bool {
        matches!(self, Self::Baseline | Self::Complete)
    }
}

/// Judges a read of `n` members; what to keep of it, if anything.
pub(in crate::app) fn judge(
    before: Option<Reads>,
    n: usize,
    lists: &Lists,
) -> (Belief, Option<Reads>) {
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    let fresh = Reads { n, at: lists.at, held: None };
    let Some(before) = before else {
        return if lists.complete {
            (Belief::Baseline, Some(fresh))
        } else {
            (Belief::Partial, None)
        };
    };
    if lists.at < before.at {
        return (Belief::Late, None);
    }
    if !lists.complete {
        return (Belief::Partial, Some(Reads { at: lists.at, ..before }));
    }
    let lost = before.n.saturating_sub(n);
    let shrank =
        SHRINK_MIN < lost && before.n.saturating_mul(SHRINK_PERCENT) < lost.saturating_mul(100);
    let agrees = |held: u32| n <= held.saturating_add(held.saturating_mul(AGREES_PERCENT) / 100);
    if shrank && !lists.confirm_shrink && !before.held.is_some_and(agrees) {
        return (Belief::Held, Some(Reads { held: Some(n), at: lists.at, ..before }));
    }
    (Belief::Complete, Some(fresh))
}
