//! The share of what a control's checks looked at that passes.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use super::current::{CheckKey, EvidenceClaim, rank};
use super::fraction::Share;
use super::part::Parts;
use crate::engine::catalog::Control;
use crate::engine::catalog::facet::FacetSet;
use crate::engine::fact::{N_NAMED_MAX, Status};

/// Few controls have more checks. Space for this many is reserved at once.
const N_CHECKS_USUAL: usize = 32;

/// How many failing checks have their remediation shown.
const N_REMEDIATIONS: usize = 5;

/// One check of a control over all its scopes.
#[derive(Debug)]
pub(in crate::engine) struct ShareCounts<'a> {
    /// The result of the scope where it is worst. Its texts are shown for the check.
    pub(in crate::engine) worst: EvidenceClaim<'a>,
    pub(in crate::engine) passed: u64,
    pub(in crate::engine) failed: u64,
    /// Subjects that are known and were not seen.
    pub(in crate::engine) unseen: u64,
    /// Passed and failed subjects, only of the scopes that counted subjects.
    pub(in crate::engine) counted: (u64, u64),
    /// The claims that fail, worst first: at most [`N_NAMED_MAX`], as each has at least one subject to name.
    pub(in crate::engine) failing: Vec<EvidenceClaim<'a>>,
    /// The facets of which the failures of all claims are.
    failing_facets: FacetSet,
}

/// The combined result of several observations of one control.
#[derive(Debug)]
pub(in crate::engine) struct Sum<'a> {
    /// The worst status. `Compliant` for no observations at all.
    pub(in crate::engine) status: Status,
    /// One for each check, worst first.
    pub(in crate::engine) tallies: Vec<ShareCounts<'a>>,
    pub(in crate::engine) is_critical: bool,
    /// True if what passes counts for nothing.
    is_thin: bool,
    /// A subject fails of a facet of which one is enough.
    pub(in crate::engine) is_fatal: bool,
    share: Share,
    /// What of the control was looked at.
    pub(in crate::engine) parts: Parts<'a>,
}

impl<'a> Sum<'a> {
    pub(in crate::engine) fn of(claims: impl Iterator<Item = EvidenceClaim<'a>>) -> Self {
        let n_claims = claims.size_hint().1.unwrap_or(0);
        let mut tallies: Vec<ShareCounts<'a>> = Vec::with_capacity(n_claims.min(N_CHECKS_USUAL));
        let (mut is_critical, mut is_thin, mut is_hollow) = (false, true, true);
        let mut next = 0;
        for claim in claims {
            is_critical |= claim.result.is_critical;
            is_thin &= claim.is_thin();
            is_hollow &= claim.shows_nothing_met();
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
        // A failure is never better than a pass that decides nothing, and not if more fails beside it.
        let is_failing = tallies.iter().any(ShareCounts::is_failing);
        let (status, share) = if is_hollow && is_failing {
            (Status::NonCompliant, Share::NONE)
        } else {
            (status, share)
        };
        let parts = Parts::default();
        Self { status, tallies, is_critical, is_thin, is_fatal: false, share, parts }
    }

    /// The claims of a control, with the parts of it that were looked at: the others keep it from being met.
    pub(in crate::engine) fn of_control(
        control: &Control,
        claims: impl Iterator<Item = EvidenceClaim<'a>>,
        parts: Parts<'a>,
    ) -> Self {
        let mut sum = Self::of(claims);
        let any = control.any_facets();
        sum.is_fatal = sum.tallies.iter().any(|it| it.failing_facets.shares(any));
        if sum.is_fatal {
            sum.status = Status::NonCompliant;
        }
        if !parts.is_whole() && sum.status == Status::Compliant && !sum.is_thin {
            sum.status = Status::Partial;
        }
        Self { parts, ..sum }
    }

    /// A subject was seen to fail.
    pub(in crate::engine) fn is_failing(&self) -> bool {
        self.tallies.iter().any(ShareCounts::is_failing)
    }

    /// How many subjects were seen to fail.
    pub(in crate::engine) fn n_failing(&self) -> u64 {
        self.tallies.iter().map(|it| it.failed).sum()
    }

    /// Everything that was seen passes, and not all that is known was seen.
    pub(in crate::engine) fn is_short(&self) -> bool {
        self.status == Status::Partial && !self.is_failing()
    }

    /// Everything that was seen passes, and a person calls the rest met, without evidence.
    pub(in crate::engine) fn is_claimed(&self) -> bool {
        !self.is_failing()
            && self.parts.is_claimed()
            && self.tallies.iter().all(|it| it.unseen == 0)
    }

    /// Returns false if nothing was observed, or only what passes and shows too little.
    pub(in crate::engine) fn decides(&self) -> bool {
        self.is_failing() || !self.is_thin
    }

    /// 0 to 100. A status without counts is one subject, which passes only if it is compliant.
    pub(in crate::engine) fn score(&self) -> u8 {
        if self.status == Status::Compliant {
            return 100;
        }
        let looked_at = self.parts.share();
        let passing = (!self.share.is_none()).then(|| self.parts.passing()).flatten();
        let part = passing.unwrap_or(self.share.of_share(looked_at)).times(49);
        let part = u8::try_from(part).expect("a share of 49 is at most 49");
        match self.status {
            // Most was not looked at.
            Status::Partial if looked_at.is_below_half() => 50,
            Status::Partial if !self.is_failing() && self.share.is_below_half() => 50,
            Status::Partial => 50 + part,
            Status::Compliant
            | Status::NonCompliant
            | Status::NotAssessed
            | Status::NotApplicable => part,
        }
    }

    /// Returns true if it decides and is worse than an attested status.
    pub(in crate::engine) fn is_worse_than(&self, stated: Status) -> bool {
        self.decides()
            && (rank(self.status), self.score()) < (rank(stated), stated_score(stated).unwrap_or(0))
    }

    /// Returns the share that passes. At least half for a partial status without any counts.
    pub(in crate::engine) fn share(&self) -> Share {
        let is_counted = self.tallies.iter().any(|it| it.counted != (0, 0));
        if self.status == Status::Partial && !is_counted {
            return self.share.or_more(Share::HALF);
        }
        self.share
    }

    /// Returns the remediations of the failing checks, worst first, with the catalog's for those that have none.
    pub(in crate::engine) fn remediation(&self, control: &Control) -> String {
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
        let failing_facets = if claim.result.is_failing() { claim.fails } else { FacetSet::NONE };
        let unseen = claim.result.unseen;
        Self { worst: claim, passed, failed, unseen, counted, failing, failing_facets }
    }

    /// How many subjects are known.
    pub(in crate::engine) fn known(&self) -> u64 {
        self.passed + self.failed + self.unseen
    }

    /// A subject was seen to fail.
    pub(in crate::engine) fn is_failing(&self) -> bool {
        self.failed != 0
    }

    pub(in crate::engine) fn status(&self) -> Status {
        self.worst.result.status
    }

    /// Adds the check's claim in another scope or of another source. Of equally bad claims, the first by source and
    /// scope is shown for the check.
    fn add(&mut self, claim: EvidenceClaim<'a>) {
        let order = |it: &EvidenceClaim<'a>| (it.result.badness(), it.place());
        if claim.result.is_failing() {
            self.failing_facets = self.failing_facets.with(claim.fails);
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
pub(in crate::engine) fn stated_score(status: Status) -> Option<u8> {
    match status {
        Status::Compliant => Some(100),
        Status::Partial => Some(50),
        Status::NonCompliant => Some(0),
        Status::NotAssessed | Status::NotApplicable => None,
    }
}
