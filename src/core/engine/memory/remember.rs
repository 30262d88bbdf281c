//! What an observation remembers of those before it. A subject that failed fails until it was seen to pass, or is gone.

use std::collections::BTreeSet;

use super::{CarriedSubject, Extent, Memory, N_NAMES_MAX, NarrowCount, find_carried};
use crate::clock::Time;
use crate::engine::fact::{
    FINDINGS_CHARS_MAX, N_FAILING_MAX, Observation, Subject, Verdict, failing_line,
};

/// A failing subject that nobody named for so long is forgotten.
pub const FORGET_AFTER_DAYS: u32 = 180;
/// A run that speaks of all subjects and lost more than this share of them, and at least [`N_LOST_MIN`], is believed once a
/// second one agrees, [`AGREES_AFTER_S`] later.
const LOST_PERCENT_MAX: u64 = 30;
const N_LOST_MIN: u64 = 2;
const AGREES_AFTER_S: i64 = 6 * 3_600;

impl Observation {
    /// Returns it without what it remembers of earlier ones.
    fn alone(&self) -> Self {
        let is_carried = |hash: u64| self.memory.find_carried(hash).is_some();
        let mut alone = self.clone();
        alone.failing.retain(|it| !is_carried(*it));
        alone.verdict = with_failed(self.verdict, |it| it.saturating_sub(self.memory.n_carried));
        if let Some(narrow) = alone.memory.narrow.take() {
            alone.verdict = with_passed(alone.verdict, narrow.n_passed);
        }
        let memory = &mut alone.memory;
        memory.names.retain(|it| !is_carried(it.hash));
        let n_muted = memory.muted.len();
        memory.muted.retain(|it| !is_carried(*it));
        let n_carried_muted = u32::try_from(n_muted - memory.muted.len()).unwrap_or(u32::MAX);
        alone.accepted = self.accepted.saturating_sub(n_carried_muted);
        (memory.carried, memory.n_carried) = (Vec::new(), 0);
        alone.findings = if self.memory.n_carried == 0 {
            alone.findings
        } else {
            alone.findings_with_line(self.names_itself_failing())
        };
        alone
    }

    /// Returns it with what it remembers of the one before it, of the same check, source and scope.
    ///
    /// `passes`: whether it names a subject as passing.
    #[must_use]
    pub fn remembering(self, before: &Self, passes: impl Fn(u64) -> bool) -> Self {
        let (Some(new), Some(old)) = (Counts::of(self.verdict), Counts::of(before.verdict)) else {
            return self; // A status speaks of all.
        };
        if !self.is_effective() {
            return self; // What was before counts as it is.
        }
        let n_known = before.memory.narrow.map_or(0, |it| it.n_known).max(before.n_looked_at(&old));
        let speaks_of_all = match self.memory.extent {
            Extent::All => true,
            Extent::Complete => {
                let known = before.n_looked_at(&old);
                let agrees_at = before.observed_at.plus_s(AGREES_AFTER_S);
                let is_early = before.memory.n_carried != 0 && self.observed_at < agrees_at;
                !shrank(known, new.looked_at()) && !is_early
            }
            Extent::Counted => n_known <= new.looked_at(),
            Extent::Named => false,
        };
        if old.failed == 0 && before.memory.healed.is_empty() {
            return self;
        }
        let extent = self.memory.extent;
        let is_named = extent != Extent::Counted;
        let passes = |hash: u64| is_named && passes(hash);
        let ever = before.failing.iter().chain(&before.memory.healed).copied();
        let ever: BTreeSet<u64> =
            ever.filter(|it| self.failing.binary_search(it).is_err()).collect();
        let healed = ever.iter().copied().filter(|it| passes(*it)).take(N_FAILING_MAX).collect();
        if speaks_of_all {
            return Self { memory: Memory { healed, ..self.memory.clone() }, ..self };
        }
        let is_left = |it: &&u64| ever.contains(it) && !passes(**it);
        let failed_on = |hash: u64| {
            let known = before.memory.find_carried(hash).map(|it| it.failed_on);
            known.unwrap_or_else(|| before.observed_at.day())
        };
        let left = before.failing.iter().filter(is_left);
        let mut carried: Vec<_> =
            left.map(|hash| CarriedSubject { hash: *hash, failed_on: failed_on(*hash) }).collect();
        let today = self.observed_at.day();
        carried.retain(|it| today < it.failed_on.saturating_add(FORGET_AFTER_DAYS));
        let n_left = carried.len();
        carried.truncate(N_FAILING_MAX.saturating_sub(self.failing.len()));
        let n_cut = (n_left - carried.len()) as u64;
        // Of those that are not known one by one, fewer subjects than before heal none.
        let n_nameless = old.failed.saturating_sub(before.failing.len() as u64);
        let is_narrower = new.looked_at() < n_known;
        let is_beyond = extent == Extent::Named && before.failing.len() == N_FAILING_MAX;
        let n_nameless = match (is_beyond, is_narrower) {
            (true, _) => n_nameless,
            (false, true) => n_nameless.saturating_sub(new.failed),
            (false, false) => 0,
        };
        let n_carried = (carried.len() as u64).saturating_add(n_nameless).saturating_add(n_cut);
        let mut remembering =
            self.carry(before, carried, u32::try_from(n_carried).unwrap_or(u32::MAX));
        remembering.memory.healed = healed;
        let n_failed = new.failed.saturating_add(n_carried);
        if n_carried != 0 && extent != Extent::Named && is_narrower {
            // Those that failed may be among those that it says pass.
            let n_passed = u32::try_from(new.passed).unwrap_or(u32::MAX);
            let can_pass = u32::try_from(n_known.saturating_sub(n_failed)).unwrap_or(u32::MAX);
            remembering.verdict = with_passed(remembering.verdict, n_passed.min(can_pass));
            remembering.memory.narrow = Some(NarrowCount { n_known, n_passed });
        }
        remembering
    }

    /// How many subjects it looked at itself.
    fn n_looked_at(&self, counts: &Counts) -> u64 {
        let n_failed = counts.failed.saturating_sub(self.memory.n_carried.into());
        let n_passed = self.memory.narrow.map_or(counts.passed, |it| it.n_passed.into());
        n_passed + n_failed + counts.unseen
    }

    fn carry(mut self, before: &Self, carried: Vec<CarriedSubject>, n_carried: u32) -> Self {
        if n_carried == 0 {
            return self;
        }
        let had_line = self.names_itself_failing();
        let is_carried = |hash: u64| find_carried(&carried, hash).is_some();
        let muted: Vec<u64> =
            before.memory.muted.iter().copied().filter(|it| is_carried(*it)).collect();
        self.accepted =
            self.accepted.saturating_add(u32::try_from(muted.len()).unwrap_or(u32::MAX));
        self.failing.extend(carried.iter().map(|it| it.hash));
        self.failing.sort_unstable();
        self.verdict = with_failed(self.verdict, |it| it.saturating_add(n_carried));
        let memory = &mut self.memory;
        memory.muted.extend(muted);
        memory.muted.sort_unstable();
        memory.names.extend(before.memory.names.iter().filter(|it| is_carried(it.hash)).cloned());
        memory.names.truncate(N_NAMES_MAX);
        (memory.carried, memory.n_carried) = (carried, n_carried);
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

/// Returns the last of these observations of one check, source and scope with what it remembers of the others. Oldest first.
///
/// `is_gone`: whether a complete read after one, and before this time, lacks it.
pub fn replay(
    log: &[&Observation],
    is_gone: impl Fn(&Observation, Time) -> bool,
) -> Option<Observation> {
    let mut before: Option<Observation> = None;
    for it in log {
        let healed = &it.memory.healed;
        let passes = |hash: u64| healed.binary_search(&hash).is_ok();
        let counts = |before: &Observation| {
            before.observed_at < it.observed_at && !is_gone(before, it.observed_at)
        };
        before = Some(match before.filter(counts) {
            Some(before) => it.alone().remembering(&before, passes),
            None => it.alone(),
        });
    }
    before
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
