//! Selects the observations that count: the newest effective one of each key, and the worst if several have the same
//! time.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Time;
use crate::engine::catalog::facet::FacetSet;
use crate::engine::evidence::place::Place;
use crate::engine::evidence::subject::{Ruled, SubjectRulings};
use crate::engine::fact::{Absences, Facts, Observation, Status, Subject, Verdict};

/// The current result of one check of one source in one scope.
///
/// Several observations of a key with the same time count as one that is as bad as the worst of them in every respect,
/// so that making one of them worse never improves the result.
#[derive(Debug)]
pub(in crate::engine) struct Current<'a> {
    /// The worst of them. Its texts are shown for all.
    pub(in crate::engine) worst: &'a Observation,
    /// All of them. None if the check is gone.
    pub(in crate::engine) ties: &'a [KeyedObservation<'a>],
    /// `None`: the check is missing from a complete read.
    pub(in crate::engine) result: Option<CheckResult>,
    pub(in crate::engine) check: CheckKey<'a>,
    pub(in crate::engine) place: Place<'a>,
    /// Those of one source and place that follow one another have the same number.
    pub(in crate::engine) run: u32,
    /// The observations before them, which are among the facts only while they are being replaced.
    replaced: &'a [KeyedObservation<'a>],
}

/// An observation with its key in a form that compares fast: long texts that many observations share are replaced by
/// numbers in the same order.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct KeyedObservation<'a> {
    /// Source and subject.
    origin: u32,
    scope: u32,
    check: &'a str,
    pub(in crate::engine) observation: &'a Observation,
}

impl KeyedObservation<'_> {
    fn key(&self) -> (u32, u32, &str) {
        (self.origin, self.scope, self.check)
    }
}

/// The combined result of the observations of a key.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct CheckResult {
    /// `Compliant`, `Partial` or `NonCompliant`.
    pub(in crate::engine) status: Status,
    /// Without counts: one subject, which passes only if the status is compliant.
    pub(in crate::engine) passed: u64,
    pub(in crate::engine) failed: u64,
    /// Subjects that are known and were not seen, or say nothing.
    pub(in crate::engine) unseen: u64,
    /// How many of those that fail are muted at the source, or accepted by a person.
    pub(in crate::engine) muted: u64,
    /// How many failing subjects are no members, as a person says. They are not among those that fail.
    pub(in crate::engine) intended: u64,
    pub(in crate::engine) is_counted: bool,
    /// A failing subject is a critical asset of the client.
    pub(in crate::engine) is_critical: bool,
}

impl CheckResult {
    /// Returns true if a subject was seen to fail.
    pub(in crate::engine) fn is_failing(&self) -> bool {
        self.failed != 0
    }

    /// Everything that fails is muted at the source, or accepted by a person.
    pub(in crate::engine) fn is_muted(&self) -> bool {
        self.is_failing() && self.failed == self.muted
    }

    /// Everything that was seen fails.
    pub(in crate::engine) fn is_all_failing(&self) -> bool {
        self.is_failing() && self.passed == 0 && self.status == Status::NonCompliant
    }

    /// Returns a sort key from worst to best.
    pub(in crate::engine) fn badness(&self) -> (u8, Reverse<u64>, Reverse<u64>, u64) {
        (rank(self.status), Reverse(self.failed), Reverse(self.unseen), self.passed)
    }
}

/// A [`Current`] as evidence about one control.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct EvidenceClaim<'a> {
    pub(in crate::engine) current: &'a Current<'a>,
    pub(in crate::engine) result: CheckResult,
    /// When it expires.
    pub(in crate::engine) until: Time,
    /// The facets of the control that it looks at. None: the check shows only gaps, and what passes decides the control only
    /// beside evidence that shows more.
    pub(in crate::engine) shows: FacetSet,
    /// The same, for now: too few different checks were seen.
    pub(in crate::engine) is_narrow: bool,
    /// Too few different checks pass in any part.
    pub(in crate::engine) is_hollow: bool,
    /// The facets of which its failure is one.
    pub(in crate::engine) fails: FacetSet,
    /// What people decided about subjects of the control.
    pub(in crate::engine) rulings: Option<&'a SubjectRulings<'a>>,
}

impl<'a> EvidenceClaim<'a> {
    /// Returns it as evidence of a check that looks at these facets. Of one that shows only gaps, nothing counts but what fails.
    pub(in crate::engine) fn showing(self, shows: FacetSet) -> Self {
        let mut result = self.result;
        if shows.is_empty() && !result.is_failing() {
            (result.status, result.unseen) = (Status::Compliant, 0);
        }
        Self { result, shows, ..self }
    }

    pub(in crate::engine) fn shows_only_gaps(&self) -> bool {
        self.shows.is_empty()
    }

    /// Returns true if what passes decides nothing by itself.
    pub(in crate::engine) fn is_thin(&self) -> bool {
        self.shows_only_gaps() || self.is_narrow
    }

    /// It passes in no part that counts.
    pub(in crate::engine) fn shows_nothing_met(&self) -> bool {
        self.is_thin() || self.is_hollow || self.result.is_all_failing()
    }

    /// It passes, and the observation before it failed.
    pub(in crate::engine) fn replaces_failure(&self) -> bool {
        let failed = |it: &KeyedObservation<'_>| match self.rulings {
            None => it.observation.verdict.is_failing(),
            Some(rulings) => rulings.apply(it.observation).verdict.is_failing(),
        };
        !self.result.is_failing() && self.current.replaced.iter().any(failed)
    }

    /// Returns the failing subjects of one of its observations that are no members, by their hashes.
    pub(in crate::engine) fn intended(&self, observation: &Observation) -> BTreeSet<u64> {
        let rulings = self.rulings.filter(|_| self.result.intended != 0);
        rulings.map_or_else(BTreeSet::new, |it| it.intended(observation))
    }

    /// Source and scope.
    pub(in crate::engine) fn place(&self) -> (&'a str, &'a str) {
        let current: &'a Current<'a> = self.current;
        (&current.worst.source, &current.worst.scope)
    }
}

impl<'a> Current<'a> {
    /// Returns it as evidence that expires after `max_age_days` unless the source set another time. `None`: the check
    /// is gone, or what people decided about subjects leaves nothing of it.
    pub(in crate::engine) fn claim(
        &'a self,
        max_age_days: u16,
        rulings: Option<&'a SubjectRulings<'a>>,
    ) -> Option<EvidenceClaim<'a>> {
        let present = self.ties.iter().map(|it| it.observation);
        let present = present.filter(|it| it.verdict != Verdict::Gone);
        let each = present.map(|it| lapse(it, max_age_days));
        let until = each.min().unwrap_or(self.worst.observed_at);
        let result = rulings.map_or(self.result, |rulings| {
            self.ties.iter().filter_map(|it| ruled(it.observation, rulings)).reduce(worst_of)
        });
        result.map(|result| EvidenceClaim {
            current: self,
            result,
            until,
            shows: FacetSet::WHOLE,
            is_narrow: false,
            is_hollow: false,
            fails: FacetSet::WHOLE,
            rulings,
        })
    }

    /// How many of its failing subjects are no members by these rulings.
    pub(in crate::engine) fn n_intended(&self, rulings: &SubjectRulings<'_>) -> u64 {
        let ties = self.ties.iter().map(|it| rulings.apply(it.observation).n_intended);
        self.result.and(ties.max()).unwrap_or(0).into()
    }

    /// Returns the observations in which subjects fail.
    pub(in crate::engine) fn failing(&self) -> impl Iterator<Item = &Observation> {
        self.ties.iter().map(|it| it.observation).filter(|it| it.verdict.is_failing())
    }

    /// Returns true if a tool's check was seen, and not a source's own report about a control.
    pub(in crate::engine) fn is_of_check(&self) -> bool {
        !self.check.0
    }

    /// Returns the name of the tool that the checks belong to, or of the source if the source did the mapping itself.
    pub(in crate::engine) fn tool(&self) -> &'a str {
        self.check.1
    }
}

/// Identifies a check of a control: by tool if it is a check of a tool, whichever source ran it; by source if the
/// source did the mapping itself.
pub(in crate::engine) type CheckKey<'a> = (bool, &'a str, &'a str);

fn check(observation: &Observation) -> CheckKey<'_> {
    match &observation.subject {
        Subject::Check { tool } => (false, tool, &observation.check),
        Subject::Control(_) => (true, &observation.source, &observation.check),
    }
}

/// Returns when one observation expires.
pub(in crate::engine) fn lapse(observation: &Observation, max_age_days: u16) -> Time {
    let default = || observation.observed_at.plus_days(i64::from(max_age_days));
    observation.valid_until.unwrap_or_else(default)
}

/// Returns the observations that may count, by key, newest first.
///
/// `said`: what people attest about parts.
pub(in crate::engine) fn sorted<'a>(
    facts: &Facts<'a>,
    said: &'a [Observation],
) -> Vec<KeyedObservation<'a>> {
    let all = facts.observations.iter().chain(said);
    let effective: Vec<_> = all.filter(|it| it.is_effective()).collect();
    let origins = numbered(effective.iter().map(|it| origin(it)));
    let scopes = numbered(effective.iter().map(|it| &it.scope));
    let marks = effective.into_iter().zip(origins.into_iter().zip(scopes));
    let marked = marks.map(|(observation, (origin, scope))| KeyedObservation {
        origin,
        scope,
        check: &observation.check,
        observation,
    });
    let mut sorted: Vec<_> = marked.collect();
    sorted.sort_by(|a, b| {
        let by_key = a.key().cmp(&b.key());
        by_key.then_with(|| by_age_and_content(a.observation, b.observation))
    });
    sorted
}

fn origin(observation: &Observation) -> (&str, &Subject) {
    (&observation.source, &observation.subject)
}

/// Returns the rank of each value among the distinct values. A run of equal values, which is common, takes one look-up.
fn numbered<T: Ord + Copy>(values: impl Iterator<Item = T> + Clone) -> Vec<u32> {
    let mut ranks: BTreeMap<T, u32> = BTreeMap::new();
    let mut last = None;
    for value in values.clone().filter(|it| last.replace(*it) != Some(*it)) {
        ranks.insert(value, 0);
    }
    for (rank, number) in ranks.values_mut().zip(0..) {
        *rank = number;
    }
    let mut last: Option<(T, u32)> = None;
    let rank = |value: T| match last {
        Some((same, rank)) if same == value => rank,
        _ => last.insert((value, ranks[&value])).1,
    };
    values.map(rank).collect()
}

/// Returns one [`Current`] for each key. The observations must be [`sorted`].
pub(in crate::engine) fn of_each_key<'a>(
    sorted: &'a [KeyedObservation<'a>],
    facts: &Facts<'_>,
) -> Vec<Current<'a>> {
    let keys = sorted.chunk_by(|a, b| a.key() == b.key());
    let absences = Absences::of(facts.reads, facts.observations);
    let mut runs = Runs::default();
    let newest = keys.map(|all| {
        let (ties, older) = split_newest(all);
        let (replaced, _) = split_newest(older);
        let newest = ties[0].observation;
        if absences.include(newest) {
            return gone(newest, runs.of(&ties[0]));
        }
        let next = Some(newest.observed_at);
        let is_gone = |it: &KeyedObservation<'_>| absences.include_between(it.observation, next);
        let replaced =
            if replaced.first().is_some_and(is_gone) { &replaced[..0] } else { replaced };
        current(ties, replaced, runs.of(&ties[0]), facts.critical_subjects)
    });
    newest.collect()
}

/// The places of observations, each of which is read once where it follows itself.
#[derive(Default)]
struct Runs<'a> {
    last: Option<(KeyedObservation<'a>, Place<'a>)>,
    n: u32,
}

impl<'a> Runs<'a> {
    fn of(&mut self, it: &KeyedObservation<'a>) -> (u32, Place<'a>) {
        let is_same = |last: &KeyedObservation<'_>| {
            (last.origin, last.scope) == (it.origin, it.scope)
                && last.observation.platform == it.observation.platform
        };
        match self.last {
            Some((last, place)) if is_same(&last) => (self.n, place),
            _ => {
                let place = Place::of(it.observation);
                self.last = Some((*it, place));
                self.n += 1;
                (self.n, place)
            }
        }
    }
}

/// Splits off the observations that have the time of the first one.
fn split_newest<'s, 'a>(
    sorted: &'s [KeyedObservation<'a>],
) -> (&'s [KeyedObservation<'a>], &'s [KeyedObservation<'a>]) {
    let newest_at = sorted.first().map(|it| it.observation.observed_at);
    let is_newest = |it: &&KeyedObservation<'_>| Some(it.observation.observed_at) == newest_at;
    sorted.split_at(sorted.iter().take_while(is_newest).count())
}

/// Compares everything that the outcome can show, so that the order of the facts does not matter.
fn by_age_and_content(a: &Observation, b: &Observation) -> Ordering {
    let content = |it: &Observation| {
        let verdict = match it.verdict {
            Verdict::Counted { passed, failed } => (0, passed, failed, 0),
            Verdict::Stated(status) => (1, u32::from(rank(status)), 0, 0),
            Verdict::Gone => (2, 0, 0, 0),
            Verdict::Seen { passed, failed, unseen } => (3, passed, failed, unseen),
        };
        (verdict, Reverse(it.severity), it.valid_until)
    };
    b.observed_at
        .cmp(&a.observed_at)
        .then_with(|| content(a).cmp(&content(b)))
        .then_with(|| a.title.cmp(&b.title))
        .then_with(|| a.findings.cmp(&b.findings))
        .then_with(|| a.remediation.cmp(&b.remediation))
        .then_with(|| a.failing.cmp(&b.failing))
}

/// `newest`: one of the newest observations of something that a later complete read lacks.
fn gone<'a>(newest: &'a Observation, (run, place): (u32, Place<'a>)) -> Current<'a> {
    let check = check(newest);
    Current { worst: newest, ties: &[], result: None, check, place, run, replaced: &[] }
}

fn current<'a>(
    ties: &'a [KeyedObservation<'a>],
    replaced: &'a [KeyedObservation<'a>],
    (run, place): (u32, Place<'a>),
    critical: &[u64],
) -> Current<'a> {
    let mut worst = (ties[0].observation, None);
    let mut whole: Option<CheckResult> = None;
    for observation in ties.iter().map(|it| it.observation) {
        let Some(result) = result(observation, critical) else { continue };
        let is_worse = worst.1.is_none_or(|it: CheckResult| result.badness() < it.badness());
        if is_worse {
            worst = (observation, Some(result));
        }
        whole = Some(whole.map_or(result, |it| worst_of(it, result)));
    }
    let check = check(worst.0);
    Current { worst: worst.0, ties, result: whole, check, place, run, replaced }
}

fn worst_of(a: CheckResult, b: CheckResult) -> CheckResult {
    CheckResult {
        status: worse(a.status, b.status),
        passed: a.passed.min(b.passed),
        failed: a.failed.max(b.failed),
        unseen: a.unseen.max(b.unseen),
        muted: a.muted.min(b.muted),
        intended: a.intended.max(b.intended),
        is_counted: a.is_counted || b.is_counted,
        is_critical: a.is_critical || b.is_critical,
    }
}

/// Ranks statuses from worst to best. Observations have only the first three.
pub(in crate::engine) const fn rank(status: Status) -> u8 {
    match status {
        Status::NonCompliant => 0,
        Status::Partial => 1,
        Status::Compliant => 2,
        Status::NotAssessed => 3,
        Status::NotApplicable => 4,
    }
}

pub(in crate::engine) const fn worse(a: Status, b: Status) -> Status {
    if rank(a) <= rank(b) { a } else { b }
}

/// Returns `None` if the check is gone.
fn result(observation: &Observation, critical: &[u64]) -> Option<CheckResult> {
    let is_critical = observation.verdict.is_failing() && touches(&observation.failing, critical);
    counted(observation.verdict, observation.accepted, is_critical)
}

/// Returns `None` if the check is gone, or if nothing is left of it.
fn ruled(observation: &Observation, rulings: &SubjectRulings<'_>) -> Option<CheckResult> {
    let Ruled { verdict, accepted, n_intended, is_critical } = rulings.apply(observation);
    let result = counted(verdict, accepted, is_critical).filter(|_| verdict.is_effective())?;
    Some(CheckResult { intended: n_intended.into(), ..result })
}

fn counted(verdict: Verdict, accepted: u32, is_critical: bool) -> Option<CheckResult> {
    let (passed, failed, unseen) = match verdict {
        Verdict::Counted { passed, failed } => (passed, failed, 0),
        Verdict::Seen { passed, failed, unseen } => (passed, failed, unseen),
        Verdict::Stated(Status::Compliant) => (1, 0, 0),
        Verdict::Stated(_) => (0, 1, 0),
        Verdict::Gone => return None,
    };
    Some(CheckResult {
        status: verdict.status(is_critical)?,
        passed: passed.into(),
        failed: failed.into(),
        unseen: unseen.into(),
        muted: accepted.min(failed).into(),
        intended: 0,
        is_counted: !matches!(verdict, Verdict::Stated(_)),
        is_critical,
    })
}

/// Returns true if two sorted lists share a value. Looks up each value of the shorter list in the longer one.
fn touches(a: &[u64], b: &[u64]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    short.iter().any(|it| long.binary_search(it).is_ok())
}
