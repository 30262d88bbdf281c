//! How much of what a control's checks looked at passes.

use std::cmp::{Ordering, Reverse};

use super::catalog::Control;
use super::current::{Check, EvidenceClaim, rank};
use super::fact::Status;

/// A part of a whole in millionths, rounded down, so that only a whole whole is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Share(u32);

impl Share {
    const MILLION: u32 = 1_000_000;
    pub(super) const NONE: Self = Self(0);
    pub(super) const HALF: Self = Self(Self::MILLION / 2);
    pub(super) const WHOLE: Self = Self(Self::MILLION);

    /// `part` of `whole`. Nothing of nothing is nothing.
    pub(super) fn of(part: u64, whole: u64) -> Self {
        assert!(part <= whole, "part {part} of whole {whole}");
        if whole == 0 {
            return Self::NONE;
        }
        let millionths = u128::from(part) * u128::from(Self::MILLION) / u128::from(whole);
        Self(u32::try_from(millionths).expect("a part is at most its whole"))
    }

    /// Rounded down. Nothing for no shares at all.
    fn mean(shares: impl ExactSizeIterator<Item = Self>) -> Self {
        let n = shares.len() as u64;
        let sum: u64 = shares.map(|it| u64::from(it.0)).sum();
        let mean = sum.checked_div(n).unwrap_or(0);
        Self(u32::try_from(mean).expect("a mean is at most its greatest"))
    }

    /// This share of an amount, rounded down.
    pub(super) fn times(self, amount: u64) -> u64 {
        let product = u128::from(amount) * u128::from(self.0) / u128::from(Self::MILLION);
        u64::try_from(product).expect("a share of an amount is at most the amount")
    }

    /// This share of so many parts of an amount, rounded down once: `(1, 3)` is a third.
    pub(super) fn times_part(self, amount: u64, (n, of): (u64, u64)) -> u64 {
        assert!(n <= of && 0 < of, "{n} parts of {of}");
        let whole = u128::from(of) * u128::from(Self::MILLION);
        let product = u128::from(amount) * u128::from(n) * u128::from(self.0) / whole;
        u64::try_from(product).expect("a part of an amount is at most the amount")
    }

    /// What is left of the whole.
    pub(super) fn rest(self) -> Self {
        Self(Self::MILLION - self.0)
    }
}

/// Checks that a control seldom has more of: room for so many is made at once.
const N_CHECKS_USUAL: usize = 32;

/// One check of a control over all its scopes.
#[derive(Debug)]
pub(super) struct ShareCounts<'a> {
    /// The scope where it is worst; its texts speak for the check.
    pub(super) worst: EvidenceClaim<'a>,
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// Passed and failed, of those scopes alone that counted subjects.
    pub(super) counted: (u64, u64),
    pub(super) n_scopes: usize,
}

/// What several observations of one control come to together.
#[derive(Debug)]
pub(super) struct Sum<'a> {
    /// The worst status. `Compliant` for no observations at all.
    pub(super) status: Status,
    /// One for each check, worst first.
    pub(super) tallies: Vec<ShareCounts<'a>>,
    pub(super) is_counted: bool,
    pub(super) is_critical: bool,
    share: Share,
}

impl<'a> Sum<'a> {
    pub(super) fn of(voices: impl Iterator<Item = EvidenceClaim<'a>>) -> Self {
        let n_voices = voices.size_hint().1.unwrap_or(0);
        let mut tallies: Vec<ShareCounts<'a>> = Vec::with_capacity(n_voices.min(N_CHECKS_USUAL));
        let mut is_critical = false;
        let mut next = 0;
        for voice in voices {
            is_critical |= voice.word.is_critical;
            let place = find(&tallies, next, voice.current.check);
            match place {
                Ok(index) => tallies[index].add(voice),
                Err(index) => tallies.insert(index, ShareCounts::of(voice)),
            }
            next = place.unwrap_or_else(|it| it) + 1;
        }
        let shares = tallies.iter().map(|it| Share::of(it.passed, it.passed + it.failed));
        let share = Share::mean(shares);
        tallies.sort_by_key(|it| (rank(it.status()), Reverse(it.failed)));
        Self {
            status: tallies.first().map_or(Status::Compliant, ShareCounts::status),
            is_counted: tallies.iter().any(|it| it.counted != (0, 0)),
            is_critical,
            share,
            tallies,
        }
    }

    /// 0 to 100. Without any count a partial one is 50 and a non-compliant one 0.
    pub(super) fn score(&self) -> u8 {
        let share = if self.is_counted { self.share } else { Share::NONE };
        let part = u8::try_from(share.times(49)).expect("a share of 49 is at most 49");
        match self.status {
            Status::Compliant => 100,
            Status::Partial => 50 + part,
            Status::NonCompliant | Status::NotAssessed | Status::NotApplicable => part,
        }
    }

    /// Whether it is worse than a person's word; never where nothing was seen.
    pub(super) fn is_worse_than(&self, stated: Status) -> bool {
        !self.tallies.is_empty()
            && (rank(self.status), self.score()) < (rank(stated), stated_score(stated).unwrap_or(0))
    }

    /// How much passes; a half where a partial status came without any count.
    pub(super) fn share(&self) -> Share {
        if self.status == Status::Partial && !self.is_counted { Share::HALF } else { self.share }
    }

    /// What to do first: the worst check's own advice, else the catalogue's.
    pub(super) fn remediation(&self, control: &Control) -> String {
        let worst = self.tallies.first().filter(|it| it.worst.word.is_failing());
        let own = worst.and_then(|it| it.worst.current.worst.remediation.as_ref());
        own.unwrap_or(&control.remediation).clone()
    }
}

/// Where a check is among tallies in order, or belongs. In each scope checks come in order, so it is mostly `next`.
fn find(tallies: &[ShareCounts<'_>], next: usize, wanted: Check<'_>) -> Result<usize, usize> {
    let of = |it: &ShareCounts<'_>| it.worst.current.check.cmp(&wanted);
    match tallies.get(next).map(of) {
        Some(Ordering::Equal) => Ok(next),
        None if tallies.last().is_none_or(|it| of(it) == Ordering::Less) => Err(tallies.len()),
        Some(_) | None => tallies.binary_search_by(of),
    }
}

impl<'a> ShareCounts<'a> {
    fn of(voice: EvidenceClaim<'a>) -> Self {
        let (passed, failed) = (voice.word.passed, voice.word.failed);
        let counted = if voice.word.is_counted { (passed, failed) } else { (0, 0) };
        Self { worst: voice, passed, failed, counted, n_scopes: 1 }
    }

    pub(super) fn status(&self) -> Status {
        self.worst.word.status
    }

    /// Adds the check's voice in another scope, or of another source. Of voices that are alike the
    /// first by source and scope speaks for the check.
    fn add(&mut self, voice: EvidenceClaim<'a>) {
        let order = |it: &EvidenceClaim<'a>| (it.word.badness(), it.place());
        if order(&voice) < order(&self.worst) {
            self.worst = voice;
        }
        let other = Self::of(voice);
        self.passed += other.passed;
        self.failed += other.failed;
        self.counted = (self.counted.0 + other.counted.0, self.counted.1 + other.counted.1);
        self.n_scopes += other.n_scopes;
    }
}

/// The score of a person's word. `None` for one that gives none.
pub(super) fn stated_score(status: Status) -> Option<u8> {
    match status {
        Status::Compliant => Some(100),
        Status::Partial => Some(50),
        Status::NonCompliant => Some(0),
        Status::NotAssessed | Status::NotApplicable => None,
    }
}
