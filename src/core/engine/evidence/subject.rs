//! What people decided about the failing subjects of a control, applied to what was observed of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Facts, N_FAILING_MAX, Observation, Verdict, anywhere, subject_hash};
use crate::engine::horizon::Horizon;
use crate::engine::memory::NamedSubject;
use crate::engine::subject::{DecidedSubjects, SubjectDecision, SubjectRuling, matches};

/// What counts now of the decisions about the subjects of one control. Of several about one subject the newest counts.
#[derive(Debug)]
pub(in crate::engine) struct SubjectRulings<'a> {
    /// By [`anywhere`] of its hash.
    by_hash: BTreeMap<u64, Said>,
    /// Newest first.
    patterns: Vec<(Said, &'a str)>,
    /// The hashes of the client's critical assets, sorted.
    pub(in crate::engine) critical: &'a [u64],
}

type Said = (Time, SubjectRuling);

/// What is left of an observation.
pub(in crate::engine) struct Ruled {
    pub(in crate::engine) verdict: Verdict,
    /// How many of those that fail are muted at the source or accepted by a person: at least so many different ones.
    pub(in crate::engine) accepted: u32,
    /// How many failing ones are no members.
    pub(in crate::engine) n_intended: u32,
    /// A critical asset is among those that fail.
    pub(in crate::engine) is_critical: bool,
}

/// Returns what people decided about the subjects of each control, in the catalog's order. Empty: nothing.
pub(in crate::engine) fn by_control<'a>(
    catalog: &Catalog,
    facts: &Facts<'a>,
    horizon: &mut Horizon,
) -> Vec<Option<SubjectRulings<'a>>> {
    let mut all: Vec<Option<SubjectRulings<'_>>> = Vec::new();
    for it in facts.subjects.iter().filter(|it| facts.now < it.until) {
        horizon.see(it.until);
        all.resize_with(catalog.controls.len(), || None);
        for control in catalog.controls_named(&it.control) {
            let none = || SubjectRulings {
                by_hash: BTreeMap::new(),
                patterns: Vec::new(),
                critical: facts.critical_subjects,
            };
            let rulings = all[control].get_or_insert_with(none);
            let said = (it.at, it.ruling);
            match &it.subjects {
                DecidedSubjects::Named(hashes) => hashes.iter().for_each(|hash| {
                    let kept = rulings.by_hash.entry(anywhere(*hash)).or_insert(said);
                    *kept = said.max(*kept);
                }),
                DecidedSubjects::Matching(pattern) => rulings.patterns.push((said, pattern)),
            }
        }
    }
    for rulings in all.iter_mut().flatten() {
        rulings.patterns.sort_unstable_by(|a, b| b.cmp(a));
    }
    all
}

/// Adds to the findings of a control how many subjects people decided about.
pub(in crate::engine) fn with_decided(
    findings: Option<String>,
    n_intended: u64,
    n_accepted: u64,
) -> Option<String> {
    let accepted = format!("Accepted of those that fail: {n_accepted}.");
    let intended = format!("Not counted, because they are meant to be so: {n_intended}.");
    let accepted = (n_accepted != 0).then_some(accepted);
    let intended = (n_intended != 0).then_some(intended);
    [findings, accepted, intended].into_iter().flatten().reduce(|all, it| format!("{all} {it}"))
}

impl SubjectRulings<'_> {
    /// `name`: by which it is known, if it is.
    fn find(&self, hash: u64, name: Option<&str>) -> Option<SubjectRuling> {
        // Who names an identifier means it in all regions.
        let by = |hash: u64| self.by_hash.get(&anywhere(hash)).copied();
        let (by_id, by_name) = (by(hash), name.and_then(|it| by(subject_hash(it))));
        let is_match = |it: &&(Said, &str)| name.is_some_and(|name| matches(it.1, name));
        let by_pattern = self.patterns.iter().find(is_match).map(|it| it.0);
        [by_id, by_name, by_pattern].into_iter().flatten().max().map(|it| it.1)
    }

    /// The failing subjects of an observation that somebody decided about, by their hashes.
    fn of(&self, observation: &Observation) -> BTreeMap<u64, SubjectRuling> {
        let known = known_failing(observation);
        known.into_iter().filter_map(|(hash, name)| Some((hash, self.find(hash, name)?))).collect()
    }

    /// The hashes of those failing subjects of an observation that are no members.
    pub(in crate::engine) fn intended(&self, observation: &Observation) -> BTreeSet<u64> {
        let all = self.of(observation).into_iter();
        all.filter(|it| it.1 == SubjectRuling::Intended).map(|it| it.0).collect()
    }

    /// Applies them to an observation. What is not known one by one is not decided about.
    pub(in crate::engine) fn apply(&self, it: &Observation) -> Ruled {
        let found = self.of(it);
        let is_ruled = |hash: &u64, ruling| found.get(hash) == Some(&ruling);
        let count = |ruling| found.values().filter(|it| **it == ruling).count();
        let n_failed = match it.verdict {
            Verdict::Counted { failed, .. } | Verdict::Seen { failed, .. } => failed,
            Verdict::Stated(_) | Verdict::Gone => 0,
        };
        let n_intended = as_u32(count(SubjectRuling::Intended)).min(n_failed);
        let verdict = match it.verdict {
            _ if n_intended == 0 => it.verdict,
            Verdict::Counted { passed, failed } => {
                Verdict::Counted { passed, failed: failed - n_intended }
            }
            Verdict::Seen { passed, failed, unseen } => {
                Verdict::of_population(passed, failed - n_intended, unseen)
            }
            Verdict::Stated(_) | Verdict::Gone => it.verdict,
        };
        let muted = &it.memory.muted;
        let n_muted_intended = muted.iter().filter(|it| is_ruled(it, SubjectRuling::Intended));
        let n_muted_intended = as_u32(n_muted_intended.count());
        let n_muted_accepted = muted.iter().filter(|it| is_ruled(it, SubjectRuling::Accepted));
        let n_accepted = as_u32(count(SubjectRuling::Accepted) - n_muted_accepted.count());
        let n_known = as_u32(muted.len()) - n_muted_intended + n_accepted;
        // Those that are muted and not known one by one may be the ones that are no members, or that a person accepted.
        let n_unknown = it.accepted.saturating_sub(as_u32(muted.len()));
        let n_other = n_unknown.min(n_intended.saturating_sub(n_muted_intended));
        let n_at_least = it.accepted.saturating_sub(n_muted_intended).saturating_sub(n_other);
        let is_counted = !matches!(it.verdict, Verdict::Stated(_) | Verdict::Gone);
        let is_critical = |hash: &&u64| {
            self.critical.binary_search(hash).is_ok() && !is_ruled(hash, SubjectRuling::Intended)
        };
        Ruled {
            verdict,
            accepted: if is_counted { n_known.max(n_at_least) } else { it.accepted },
            n_intended,
            is_critical: verdict.is_failing() && it.failing.iter().any(|it| is_critical(&it)),
        }
    }
}

/// The failing subjects of an observation that are known one by one, by their hashes, with the names of those that have one.
/// Empty for a status without counts, which stands whoever is decided about.
#[must_use]
pub fn known_failing(it: &Observation) -> BTreeMap<u64, Option<&str>> {
    if matches!(it.verdict, Verdict::Stated(_) | Verdict::Gone) || !it.verdict.is_failing() {
        return BTreeMap::new();
    }
    let hashes: &[u64] = if are_named_apart(it) { &[] } else { &it.failing };
    let mut known: BTreeMap<_, _> = hashes.iter().map(|it| (*it, None)).collect();
    known.extend(names(it).map(|(hash, name)| (hash, Some(name))));
    known
}

/// Returns true if a decision is about a failing subject. `name`: by which it is known, if it is.
#[must_use]
pub fn covers(decision: &SubjectDecision, hash: u64, name: Option<&str>) -> bool {
    match &decision.subjects {
        DecidedSubjects::Matching(pattern) => name.is_some_and(|it| matches(pattern, it)),
        DecidedSubjects::Named(hashes) => {
            let has = |hash: u64| hashes.binary_search(&anywhere(hash)).is_ok();
            has(hash) || name.is_some_and(|it| has(subject_hash(it)))
        }
    }
}

/// The failing subjects that are known by name, with their hashes.
fn names(it: &Observation) -> impl Iterator<Item = (u64, &str)> {
    let names = it.memory.names.iter().filter(|it| !it.name.is_empty());
    names.map(|NamedSubject { hash, name }| (*hash, name.as_str()))
}

/// Returns true if the names stand for subjects, and the hashes for what links them to assets: one subject may have none or
/// several.
fn are_named_apart(it: &Observation) -> bool {
    let is_failing = |hash: u64| it.failing.binary_search(&hash).is_ok();
    let mut names = names(it).map(|it| it.0).peekable();
    it.failing.len() < N_FAILING_MAX && names.peek().is_some() && !names.any(is_failing)
}

fn as_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
