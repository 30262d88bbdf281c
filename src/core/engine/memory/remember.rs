//! What an observation remembers of those before it. A subject that failed fails until it was seen to pass, or is gone.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::{CarriedSubject, Extent, Memory, N_NAMES_MAX, NamelessSubjects, Word};
use crate::clock::Time;
use crate::engine::fact::{
    FINDINGS_CHARS_MAX, N_FAILING_MAX, Observation, Status, Subject, Verdict, failing_line,
};

/// A failing subject that nobody named for so long is forgotten.
pub const FORGET_AFTER_DAYS: u32 = 180;
/// A run that speaks of all subjects and lost more than this share of them, and at least [`N_LOST_MIN`], is believed once a
/// second one agrees, [`AGREES_AFTER_S`] later.
const LOST_PERCENT_MAX: u64 = 30;
const N_LOST_MIN: u64 = 2;
const AGREES_AFTER_S: i64 = 6 * 3_600;

impl Observation {
    /// Orders observations of one time: that of which most fails is the last one, which the next one remembers.
    #[must_use]
    pub fn worst_last(&self, other: &Self) -> Ordering {
        let n_failed = |it: &Self| Counts::of(it.verdict).map_or(0, |it| it.failed);
        let by_number = n_failed(self).cmp(&n_failed(other));
        by_number.then_with(|| self.failing.cmp(&other.failing))
    }

    /// Returns it without what it remembers of earlier ones.
    fn alone(&self) -> Self {
        let is_carried = |hash: u64| self.memory.find_carried(hash).is_some();
        let n_carried = self.memory.n_carried();
        let mut alone = self.clone();
        alone.failing.retain(|it| !is_carried(*it));
        alone.verdict = with_failed(self.verdict, |it| it.saturating_sub(n_carried));
        if let Some(n_passed) = self.memory.n_said_to_pass {
            alone.verdict = with_passed(alone.verdict, n_passed);
        }
        if let Some(n_failed) = self.memory.extent.said_to_fail() {
            alone.verdict = with_failed(alone.verdict, |_| n_failed);
        }
        if let Extent::Said(word) = self.memory.extent {
            alone.verdict = Verdict::Stated(status_of(word));
        }
        let Memory { extent, names, muted, healed, .. } = std::mem::take(&mut alone.memory).into();
        let names = names.into_iter().filter(|it| !is_carried(it.hash)).collect();
        let (carried, own): (Vec<u64>, _) = muted.into_iter().partition(|it| is_carried(*it));
        let n_carried_muted = u32::try_from(carried.len()).unwrap_or(u32::MAX);
        alone.accepted = self.accepted.saturating_sub(n_carried_muted);
        alone.memory = Memory { extent, names, muted: own, healed, ..Memory::default() }.into();
        if n_carried != 0 {
            alone.findings = alone.findings_with_line(self.names_itself_failing());
        }
        alone
    }

    /// Returns it with what it remembers of the one before it, of the same check, source and scope.
    ///
    /// `passes`: whether it names a subject as passing.
    #[must_use]
    pub fn remembering(self, before: &Self, passes: impl Fn(u64) -> bool) -> Self {
        let Some(old) = Counts::of(before.verdict) else {
            return self; // What was only said is replaced.
        };
        let Some(new) = Counts::of(self.verdict) else {
            return self.saying(before, &old);
        };
        if !self.is_effective() {
            return self; // What was before counts as it is.
        }
        if old.failed == 0 && before.memory.healed.is_empty() {
            return self;
        }
        let extent = self.memory.extent;
        let n_known = before.memory.n_known.max(before.n_looked_at(&old));
        let shrank_at = self.shrank_at(before, (n_known, &new));
        let speaks_of_all = match extent {
            Extent::All => true,
            Extent::Complete => shrank_at.is_none(),
            Extent::Counted => n_known <= new.looked_at(),
            Extent::Named | Extent::Numbers { .. } | Extent::Said(_) => false,
        };
        // Those that are only counted.
        let speaks_of_nameless =
            n_known <= new.looked_at() || extent.are_all_numbers() && shrank_at.is_none();
        let passes = |hash: u64| extent != Extent::Counted && passes(hash);
        let ever = before.failing.iter().chain(&before.memory.healed).copied();
        let ever: BTreeSet<u64> =
            ever.filter(|it| self.failing.binary_search(it).is_err()).collect();
        let healed = self.passing(ever.iter().copied().filter(|it| passes(*it)));
        if speaks_of_all {
            let memory = Memory { healed, ..self.memory.clone().into() };
            return Self { memory: memory.into(), ..self };
        }
        let is_left = |it: &u64| ever.contains(it) && !passes(*it);
        let (carried, n_cut) = before.left(is_left, &self);
        let mut nameless = self.nameless(before, (&old, &new), speaks_of_nameless);
        nameless.add(n_cut, before);
        let mut remembering =
            self.absorb(&old, before, carried.len()).carry(before, carried, nameless);
        let n_carried = u64::from(remembering.memory.n_carried());
        remembering.memory.healed = healed;
        remembering.memory.shrank_at = shrank_at;
        if n_carried == 0 {
            return remembering;
        }
        remembering.memory.n_known = n_known.max(new.looked_at());
        if extent != Extent::Named {
            // Those that failed may be among those that it says pass.
            let n_passed = u32::try_from(new.passed).unwrap_or(u32::MAX);
            let n_failed = Counts::of(remembering.verdict).map_or(0, |it| it.failed);
            let n_known = remembering.memory.n_known;
            let can_pass = u32::try_from(n_known.saturating_sub(n_failed)).unwrap_or(u32::MAX);
            remembering.verdict = with_passed(remembering.verdict, n_passed.min(can_pass));
            remembering.memory.n_said_to_pass = Some(n_passed);
        }
        remembering
    }

    /// Since when a run that speaks of all subjects is not believed. `None`: it is.
    fn shrank_at(&self, before: &Self, (n_known, new): (u64, &Counts)) -> Option<Time> {
        let extent = self.memory.extent;
        if extent != Extent::Complete && !extent.are_all_numbers() {
            return before.memory.shrank_at;
        }
        if !shrank(n_known, new.looked_at()) {
            return None;
        }
        let is_agreed = |at: Time| at.plus_s(AGREES_AFTER_S) <= self.observed_at;
        match before.memory.shrank_at {
            // The one before lost them, too.
            Some(at) if !shrank(before.n_looked_at_itself(), new.looked_at()) => {
                Some(at).filter(|at| !is_agreed(*at))
            }
            Some(_) | None => Some(self.observed_at),
        }
    }

    /// How many subjects it looked at itself.
    fn n_looked_at(&self, counts: &Counts) -> u64 {
        let n_itself = counts.failed.saturating_sub(self.memory.n_carried().into());
        let n_failed = self.memory.extent.said_to_fail().map_or(n_itself, u64::from);
        let n_passed = self.memory.n_said_to_pass.map_or(counts.passed, u64::from);
        n_passed + n_failed + counts.unseen
    }

    fn n_looked_at_itself(&self) -> u64 {
        Counts::of(self.verdict).map_or(0, |it| self.n_looked_at(&it))
    }

    /// Its failing subjects that still fail after a newer observation, and how many more there are than one keeps.
    fn left(&self, is_left: impl Fn(&u64) -> bool, newer: &Self) -> (Vec<CarriedSubject>, u64) {
        let failed_on = |hash: u64| {
            let known = self.memory.find_carried(hash).map(|it| it.failed_on);
            known.unwrap_or_else(|| self.observed_at.day())
        };
        let left = self.failing.iter().filter(|it| is_left(it));
        let left = left.map(|hash| CarriedSubject { hash: *hash, failed_on: failed_on(*hash) });
        let mut left: Vec<_> = left.filter(|it| newer.remembers(it.failed_on)).collect();
        let n_all = left.len();
        left.truncate(N_FAILING_MAX.saturating_sub(newer.failing.len()));
        let n_cut = n_all - left.len();
        (left, n_cut as u64)
    }

    /// What failed last on this day is not forgotten yet.
    fn remembers(&self, failed_on: u32) -> bool {
        self.observed_at.day() < failed_on.saturating_add(FORGET_AFTER_DAYS)
    }

    /// Those that are not known one by one. Fewer subjects than before heal none of them.
    ///
    /// `speaks_of_them`: it looked at as many as before.
    fn nameless(
        &self,
        before: &Self,
        (old, new): (&Counts, &Counts),
        speaks_of_them: bool,
    ) -> NamelessSubjects {
        let n_before = before.n_nameless(old);
        let is_beyond =
            self.memory.extent == Extent::Named && before.failing.len() == N_FAILING_MAX;
        let n = match (speaks_of_them, is_beyond) {
            (true, _) => 0,
            (false, true) => n_before,
            (false, false) => n_before.saturating_sub(new.failed),
        };
        let known = before.memory.nameless;
        let are_known = n_before <= known.n.into();
        let failed_on = if are_known { known.failed_on } else { before.observed_at.day() };
        let n = if self.remembers(failed_on) { n } else { 0 };
        NamelessSubjects::new(n, failed_on)
    }

    /// How many of its failing subjects are only counted.
    fn n_nameless(&self, counts: &Counts) -> u64 {
        counts.failed.saturating_sub(self.failing.len() as u64)
    }

    /// Of those that it says fail and does not name, those beyond the ones that were only counted before are taken for the ones
    /// that are carried by name.
    fn absorb(mut self, old: &Counts, before: &Self, n_carried: usize) -> Self {
        if let Some(failed) = self.memory.extent.said_to_fail() {
            let n_nameless = u32::try_from(before.n_nameless(old)).unwrap_or(u32::MAX);
            let n_carried = u32::try_from(n_carried).unwrap_or(u32::MAX);
            let n_same = failed.saturating_sub(n_nameless).min(n_carried);
            self.verdict = with_failed(self.verdict, |it| it.saturating_sub(n_same));
        }
        self
    }

    /// Returns a status beside what was counted before, which stands unless it speaks of all.
    fn saying(self, before: &Self, old: &Counts) -> Self {
        let Extent::Said(word) = self.memory.extent else { return self };
        let (carried, n_cut) = before.left(|_| true, &self);
        let none = Counts { passed: 0, failed: 0, unseen: 0 };
        let mut nameless = self.nameless(before, (old, &none), false);
        nameless.add(n_cut, before);
        if carried.is_empty() && nameless.n == 0 || !self.is_effective() {
            return self;
        }
        let passed = if word == Word::NonCompliant { 0 } else { old.passed };
        let passed = u32::try_from(passed).unwrap_or(u32::MAX);
        let verdict = with_passed(with_failed(before.verdict, |_| 0), passed);
        let mut saying = Self { verdict, ..self }.carry(before, carried, nameless);
        saying.memory.n_known = before.memory.n_known.max(before.n_looked_at(old));
        saying.memory.shrank_at = before.memory.shrank_at;
        saying
    }

    /// The subjects that it saw passing, with these.
    fn passing(&self, more: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut all: Vec<u64> = self.memory.healed.iter().copied().chain(more).collect();
        all.sort_unstable();
        all.dedup();
        all.truncate(N_FAILING_MAX);
        all
    }

    fn carry(
        mut self,
        before: &Self,
        carried: Vec<CarriedSubject>,
        nameless: NamelessSubjects,
    ) -> Self {
        if carried.is_empty() && nameless.n == 0 {
            return self;
        }
        let had_line = self.names_itself_failing();
        let n_itself = self.memory.names.len();
        (self.memory.carried, self.memory.nameless) = (carried, nameless);
        let is_carried = |hash: u64| self.memory.find_carried(hash).is_some();
        let muted: Vec<u64> =
            before.memory.muted.iter().copied().filter(|it| is_carried(*it)).collect();
        let names = before.memory.names.iter().filter(|it| is_carried(it.hash));
        let names: Vec<_> = names.take(N_NAMES_MAX.saturating_sub(n_itself)).cloned().collect();
        self.accepted =
            self.accepted.saturating_add(u32::try_from(muted.len()).unwrap_or(u32::MAX));
        self.failing.extend(self.memory.carried.iter().map(|it| it.hash));
        self.failing.sort_unstable();
        let n_carried = self.memory.n_carried();
        self.verdict = with_failed(self.verdict, |it| it.saturating_add(n_carried));
        self.memory.muted.extend(muted);
        self.memory.muted.sort_unstable();
        self.memory.names.extend(names);
        self.findings = self.findings_with_line(had_line);
        self
    }

    /// Its findings begin with a line of names.
    fn names_itself_failing(&self) -> bool {
        matches!(self.subject, Subject::Check { .. }) && self.verdict.is_failing()
    }

    /// Its findings with the names of its failing subjects on the first line.
    ///
    /// `had_line`: they began with such a line.
    fn findings_with_line(&self, had_line: bool) -> Option<String> {
        if matches!(self.subject, Subject::Control(_)) {
            return self.findings.clone();
        }
        let text = self.findings.as_deref().unwrap_or_default();
        let rest = match text.split_once('\n') {
            Some((_, rest)) if had_line => rest,
            None if had_line => "",
            Some(_) | None => text,
        };
        let names: Vec<&str> = self.memory.names.iter().map(|it| it.name.as_str()).collect();
        let n_failed = Counts::of(self.verdict).map_or(0, |it| it.failed);
        let all = match (n_failed, rest) {
            (0, "") => return None,
            (0, rest) => rest.to_owned(),
            // The first line would be taken for names.
            (_, _) if names.is_empty() => return None,
            (n, rest) => {
                let line = failing_line(&names, usize::try_from(n).unwrap_or(usize::MAX));
                if rest.is_empty() { line } else { format!("{line}\n{rest}") }
            }
        };
        Some(all.chars().take(FINDINGS_CHARS_MAX).collect())
    }
}

/// Returns the extent of what says either how many pass and fail, or only a status. `are_all`: there are no more.
#[must_use]
pub const fn of_nameless(verdict: Verdict, are_all: bool) -> Extent {
    let failed = match verdict {
        Verdict::Stated(Status::Compliant) => return Extent::Said(Word::Compliant),
        Verdict::Stated(Status::NonCompliant) => return Extent::Said(Word::NonCompliant),
        Verdict::Stated(_) => return Extent::Said(Word::Partial),
        Verdict::Counted { failed, .. } | Verdict::Seen { failed, .. } => failed,
        Verdict::Gone => 0,
    };
    Extent::Numbers { failed, are_all }
}

const fn status_of(word: Word) -> Status {
    match word {
        Word::Compliant => Status::Compliant,
        Word::Partial => Status::Partial,
        Word::NonCompliant => Status::NonCompliant,
    }
}

/// Returns the last of these observations of one check, source and scope with what it remembers of the others. Oldest first.
/// What was before the first is what the first remembers.
///
/// `is_gone`: whether a complete read after one, and before this time, lacks it. `is_undone`: it counts as if it had never been.
pub fn replay(
    log: &[&Observation],
    is_gone: impl Fn(&Observation, Time) -> bool,
    is_undone: impl Fn(&Observation) -> bool,
) -> Option<Observation> {
    let mut before: Option<Observation> = None;
    let mut is_first = true;
    for ties in log.chunk_by(|a, b| a.observed_at == b.observed_at) {
        let after = |it: &&Observation| {
            let healed = &it.memory.healed;
            let passes = |hash: u64| healed.binary_search(&hash).is_ok();
            match before.as_ref().filter(|before| !is_gone(before, it.observed_at)) {
                Some(before) => it.alone().remembering(before, passes),
                None if is_first => (*it).clone(),
                None => it.alone(),
            }
        };
        let each = ties.iter().filter(|it| !is_undone(it)).map(after);
        let worst = each.max_by(Observation::worst_last);
        (before, is_first) = (worst.or(before), false);
    }
    before
}

impl NamelessSubjects {
    fn new(n: u64, failed_on: u32) -> Self {
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        Self { n, failed_on: if n == 0 { 0 } else { failed_on } }
    }

    /// Adds those of an observation that are too many to be known one by one any more.
    fn add(&mut self, n_cut: u64, of: &Observation) {
        if n_cut != 0 {
            *self = Self::new(n_cut.saturating_add(self.n.into()), of.observed_at.day());
        }
    }
}

/// Returns true if so many of `n_before` subjects are missing that it is not believed at once.
fn shrank(n_before: u64, n: u64) -> bool {
    let n_lost = n_before.saturating_sub(n);
    N_LOST_MIN <= n_lost && n_before.saturating_mul(LOST_PERCENT_MAX) < n_lost.saturating_mul(100)
}

struct Counts {
    passed: u64,
    failed: u64,
    unseen: u64,
}

impl Counts {
    /// `None`: it is a status.
    fn of(verdict: Verdict) -> Option<Self> {
        let (passed, failed, unseen) = match verdict {
            Verdict::Counted { passed, failed } => (passed, failed, 0),
            Verdict::Seen { passed, failed, unseen } => (passed, failed, unseen),
            Verdict::Stated(_) | Verdict::Gone => return None,
        };
        Some(Self { passed: passed.into(), failed: failed.into(), unseen: unseen.into() })
    }

    /// Without those of which it says nothing: they may be the ones that failed.
    const fn looked_at(&self) -> u64 {
        self.passed + self.failed
    }
}

fn with_passed(verdict: Verdict, passed: u32) -> Verdict {
    match verdict {
        Verdict::Counted { failed, .. } => Verdict::Counted { passed, failed },
        Verdict::Seen { failed, unseen, .. } => Verdict::Seen { passed, failed, unseen },
        Verdict::Stated(_) | Verdict::Gone => verdict,
    }
}

fn with_failed(verdict: Verdict, change: impl Fn(u32) -> u32) -> Verdict {
    match verdict {
        Verdict::Counted { passed, failed } => Verdict::Counted { passed, failed: change(failed) },
        Verdict::Seen { passed, failed, unseen } => {
            Verdict::Seen { passed, failed: change(failed), unseen }
        }
        Verdict::Stated(_) | Verdict::Gone => verdict,
    }
}
