//! The share of what a control's checks looked at that passes.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use super::catalog::Control;
use super::current::{CheckKey, EvidenceClaim, rank};
use super::fact::{N_NAMED_MAX, Status};

/// An exact fraction of the whole. Only a mean without a common denominator below 2^64 is rounded down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    part: u64,
    /// Not 0.
    whole: u64,
}

impl Share {
    pub(super) const NONE: Self = Self { part: 0, whole: 1 };
    pub(super) const HALF: Self = Self { part: 1, whole: 2 };
    pub(super) const WHOLE: Self = Self { part: 1, whole: 1 };
    pub(super) const MILLION: u64 = 1_000_000;
    /// The denominator of a mean that has no other.
    const FINEST: u64 = 1 << 62;

    /// Returns the share that `part` is of `whole`. 0 if `whole` is 0.
    pub(super) fn of(part: u64, whole: u64) -> Self {
        assert!(part <= whole, "part {part} of whole {whole}");
        if whole == 0 {
            return Self::NONE;
        }
        let divisor = gcd(part, whole);
        Self { part: part / divisor, whole: whole / divisor }
    }

    /// 0 if there are no shares.
    fn mean(shares: &[Self]) -> Self {
        let n = shares.len() as u64;
        if n == 0 {
            return Self::NONE;
        }
        let sum = |unit: u64| -> u128 {
            let scaled = |it: &Self| u128::from(it.part) * u128::from(unit) / u128::from(it.whole);
            shares.iter().map(scaled).sum()
        };
        let common = shares.iter().try_fold(1, |common, it| lcm(common, it.whole));
        let exact = common.and_then(|common| Some((sum(common), common.checked_mul(n)?)));
        let (part, whole) =
            exact.unwrap_or_else(|| (sum(Self::FINEST) / u128::from(n), Self::FINEST));
        Self::of(u64::try_from(part).expect("a mean is at most the whole"), whole)
    }

    /// This share of an amount, rounded down.
    pub(super) fn times(self, amount: u64) -> u64 {
        let product = u128::from(amount) * u128::from(self.part) / u128::from(self.whole);
        u64::try_from(product).expect("a share of an amount is at most the amount")
    }

    /// The square root of this share, in millionths, rounded down.
    pub(super) fn root_in_millionths(self) -> u64 {
        let million = u128::from(Self::MILLION);
        let square = u128::from(self.part) * million * million / u128::from(self.whole);
        u64::try_from(square.isqrt()).expect("the root of a share is at most the whole")
    }

    /// The larger of two shares.
    fn or_more(self, other: Self) -> Self {
        let across = |a: Self, b: Self| u128::from(a.part) * u128::from(b.whole);
        if across(self, other) < across(other, self) { other } else { self }
    }

    /// What is left of the whole.
    pub(super) fn rest(self) -> Self {
        Self { part: self.whole - self.part, whole: self.whole }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `None`: it is too large.
fn lcm(a: u64, b: u64) -> Option<u64> {
    (a / gcd(a, b)).checked_mul(b)
}

/// Few controls have more checks. Space for this many is reserved at once.
const N_CHECKS_USUAL: usize = 32;

/// How many failing checks have their remediation shown.
const N_REMEDIATIONS: usize = 5;

/// One check of a control over all its scopes.
#[derive(Debug)]
pub(super) struct ShareCounts<'a> {
    /// The result of the scope where it is worst. Its texts are shown for the check.
    pub(super) worst: EvidenceClaim<'a>,
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// Subjects that are known and were not seen.
    pub(super) unseen: u64,
    /// Passed and failed subjects, only of the scopes that counted subjects.
    pub(super) counted: (u64, u64),
    /// The claims that fail, worst first: at most [`N_NAMED_MAX`], as each has at least one subject to name.
    pub(super) failing: Vec<EvidenceClaim<'a>>,
}

/// The combined result of several observations of one control.
#[derive(Debug)]
pub(super) struct Sum<'a> {
    /// The worst status. `Compliant` for no observations at all.
    pub(super) status: Status,
    /// One for each check, worst first.
    pub(super) tallies: Vec<ShareCounts<'a>>,
    pub(super) is_critical: bool,
    /// True if what passes counts for nothing.
    is_thin: bool,
    share: Share,
}

impl<'a> Sum<'a> {
    pub(super) fn of(claims: impl Iterator<Item = EvidenceClaim<'a>>) -> Self {
        let n_claims = claims.size_hint().1.unwrap_or(0);
        let mut tallies: Vec<ShareCounts<'a>> = Vec::with_capacity(n_claims.min(N_CHECKS_USUAL));
        let (mut is_critical, mut is_thin) = (false, true);
        let mut next = 0;
        for claim in claims {
            is_critical |= claim.result.is_critical;
            is_thin &= claim.is_thin();
            let place = find(&tallies, next, claim.current.check);
            match place {
                Ok(index) => tallies[index].add(claim),
                Err(index) => tallies.insert(index, ShareCounts::of(claim)),
            }
            next = place.unwrap_or_else(|it| it) + 1;
        }
        let shares = tallies.iter().map(|it| Share::of(it.passed, it.known()));
        let share = Share::mean(&shares.collect::<Vec<_>>());
        tallies.sort_by_key(|it| (rank(it.status()), Reverse(it.failed)));
        let status = tallies.first().map_or(Status::Compliant, ShareCounts::status);
        // A failure is never better than a pass that decides nothing.
        let is_failing = tallies.iter().any(ShareCounts::is_failing);
        let (status, share) = if is_thin && is_failing {
            (Status::NonCompliant, Share::NONE)
        } else {
            (status, share)
        };
        Self { status, tallies, is_critical, is_thin, share }
    }

    /// A subject was seen to fail.
    pub(super) fn is_failing(&self) -> bool {
        self.tallies.iter().any(ShareCounts::is_failing)
    }

    /// Everything that was seen passes, and not all that is known was seen.
    pub(super) fn is_short(&self) -> bool {
        self.status == Status::Partial && !self.is_failing()
    }

    /// Returns false if nothing was observed, or only what passes and shows too little.
    pub(super) fn decides(&self) -> bool {
        self.is_failing() || !self.is_thin
    }

    /// 0 to 100. A status without counts is one subject, which passes only if it is compliant.
    pub(super) fn score(&self) -> u8 {
        let part = u8::try_from(self.share.times(49)).expect("a share of 49 is at most 49");
        match self.status {
            Status::Compliant => 100,
            Status::Partial => 50 + part,
            Status::NonCompliant | Status::NotAssessed | Status::NotApplicable => part,
        }
    }

    /// Returns true if it decides and is worse than an attested status.
    pub(super) fn is_worse_than(&self, stated: Status) -> bool {
        self.decides()
            && (rank(self.status), self.score()) < (rank(stated), stated_score(stated).unwrap_or(0))
    }

    /// Returns the share that passes. At least half for a partial status without any counts.
    pub(super) fn share(&self) -> Share {
        let is_counted = self.tallies.iter().any(|it| it.counted != (0, 0));
        if self.status == Status::Partial && !is_counted {
            return self.share.or_more(Share::HALF);
        }
        self.share
    }

    /// Returns the remediations of the failing checks, worst first, with the catalog's for those that have none.
    pub(super) fn remediation(&self, control: &Control) -> String {
        let failing = self.tallies.iter().filter(|it| it.is_failing());
        let mut steps: Vec<&str> = Vec::new();
        let mut n_more = 0;
        let mut sources: BTreeSet<&str> = BTreeSet::new();
        for tally in failing {
            let own = tally.worst.current.worst.remediation.as_deref().map_or("", str::trim);
            let step = if own.is_empty() { control.remediation.as_str() } else { own };
            if steps.contains(&step) {
                continue;
            }
            if steps.len() < N_REMEDIATIONS {
                steps.push(step);
            } else {
                n_more += 1;
                sources.insert(tally.worst.place().0);
            }
        }
        let text = if steps.is_empty() { control.remediation.clone() } else { steps.join("\n") };
        let sources = sources.into_iter().collect::<Vec<_>>().join(", ");
        match n_more {
            0 => text,
            1 => format!("{text}\nAnd 1 more check failed: see the report of {sources}."),
            n => format!("{text}\nAnd {n} more checks failed: see the report of {sources}."),
        }
    }
}

/// Returns the index of a check among sorted tallies, or where to insert it. Checks come in order in each scope, so it
/// is usually `next`.
fn find(tallies: &[ShareCounts<'_>], next: usize, wanted: CheckKey<'_>) -> Result<usize, usize> {
    let of = |it: &ShareCounts<'_>| it.worst.current.check.cmp(&wanted);
    match tallies.get(next).map(of) {
        Some(Ordering::Equal) => Ok(next),
        None if tallies.last().is_none_or(|it| of(it) == Ordering::Less) => Err(tallies.len()),
        Some(_) | None => tallies.binary_search_by(of),
    }
}

impl<'a> ShareCounts<'a> {
    fn of(claim: EvidenceClaim<'a>) -> Self {
        let (passed, failed) = (claim.result.passed, claim.result.failed);
        let counted = if claim.result.is_counted { (passed, failed) } else { (0, 0) };
        let failing = if claim.result.is_failing() { vec![claim] } else { Vec::new() };
        Self { worst: claim, passed, failed, unseen: claim.result.unseen, counted, failing }
    }

    /// How many subjects are known.
    fn known(&self) -> u64 {
        self.passed + self.failed + self.unseen
    }

    /// A subject was seen to fail.
    pub(super) fn is_failing(&self) -> bool {
        self.failed != 0
    }

    pub(super) fn status(&self) -> Status {
        self.worst.result.status
    }

    /// Adds the check's claim in another scope or of another source. Of equally bad claims, the first by source and
    /// scope is shown for the check.
    fn add(&mut self, claim: EvidenceClaim<'a>) {
        let order = |it: &EvidenceClaim<'a>| (it.result.badness(), it.place());
        if claim.result.is_failing() {
            let at = self.failing.partition_point(|it| order(it) <= order(&claim));
            if at < N_NAMED_MAX {
                self.failing.truncate(N_NAMED_MAX - 1);
                self.failing.insert(at, claim);
            }
        }
        if order(&claim) < order(&self.worst) {
            self.worst = claim;
        }
        let (passed, failed) = (claim.result.passed, claim.result.failed);
        self.passed += passed;
        self.failed += failed;
        self.unseen += claim.result.unseen;
        if claim.result.is_counted {
            self.counted = (self.counted.0 + passed, self.counted.1 + failed);
        }
    }
}

/// Returns the score of an attested status. `None`: the status has no score.
pub(super) fn stated_score(status: Status) -> Option<u8> {
    match status {
        Status::Compliant => Some(100),
        Status::Partial => Some(50),
        Status::NonCompliant => Some(0),
        Status::NotAssessed | Status::NotApplicable => None,
    }
}
