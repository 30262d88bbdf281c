//! Observations about controls that are derived from lists of accounts and from scans of systems.

use super::list::{AccountJudge, Lists};
use crate::engine::catalog::Catalog;
use crate::engine::fact::{
    ControlVerdict, DERIVED_CHECK, N_FAILING_MAX, Observation, Subject, Verdict, failing_line,
    subject_hash,
};
use crate::engine::identity::leaver::{self, DEPROVISIONED};
use crate::engine::identity::{self, Identity};
use crate::engine::memory::sparse::SparseMemory;
use crate::engine::memory::{Memory, N_NAMES_MAX, NamedSubject};
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::id::ImportId;
use crate::store::per_client::fact::ObservationKey;

/// The controls that lists of accounts speak of.
const ACCOUNT_CONTROLS: [&str; 5] = ["ID-02", "ID-03", "ID-10", "ID-11", DEPROVISIONED];

/// How far a list of accounts speaks of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Reach {
    /// It names all that there are.
    Whole,
    /// It names some. One before it named all that there were.
    Part,
    /// It names some, and none ever named all: nothing passes by it.
    Unknown,
}

/// Returns what accounts show about controls once a list was read. `known`: all that are known then.
///
/// `was_failing`: whether lists before it showed that a control fails. It is asked only where that is over and nothing passes.
pub(in crate::app) fn observations(
    (source, import): (&str, ImportId),
    lists: &Lists,
    (known, reach): (&[Identity], Reach),
    judge: &AccountJudge<'_>,
    mut was_failing: impl FnMut(&ObservationKey) -> Result<bool>,
) -> Result<Vec<Observation>> {
    let (catalog, leavers) = (judge.catalog, judge.leavers);
    let max_age_days = |code: &str| catalog.find_max_age_days(code).unwrap_or_default();
    let days = judge.rules.dormant_after_days;
    let mut shown = identity::verdicts(known, lists.at, days, max_age_days);
    shown.extend(leaver::verdict(known, leavers, lists.at));
    let mut observations = Vec::new();
    for code in ACCOUNT_CONTROLS {
        let key = ObservationKey {
            subject: Subject::Control(code.to_owned()),
            source: source.to_owned(),
            scope: lists.scope.clone(),
            check: DERIVED_CHECK.to_owned(),
            observed_at: lists.at,
            import,
        };
        let shown = shown.iter().find(|it| it.code == code);
        let shown = shown.filter(|it| reach != Reach::Unknown || it.verdict.is_failing());
        if let Some(shown) = shown {
            observations.extend(of_accounts(key, shown, judge));
        } else if reach == Reach::Unknown && was_failing(&key)? {
            let nothing =
                ControlVerdict { verdict: Verdict::Gone, ..ControlVerdict::counted(code, []) };
            observations.extend(observation(catalog, key, &nothing));
        }
    }
    Ok(observations)
}

fn of_accounts(
    key: ObservationKey,
    shown: &ControlVerdict<'_>,
    judge: &AccountJudge<'_>,
) -> Option<Observation> {
    let of = observation(judge.catalog, key, shown)?;
    let valid_until = shown.passes_until.filter(|_| !shown.verdict.is_failing());
    let (failing, names) = subjects(&shown.failing);
    let memory = Memory { names, ..Memory::default() }.into();
    let of = Observation { findings: findings(shown), valid_until, failing, memory, ..of };
    Some(if shown.code == DEPROVISIONED { until_leavers_age(of, judge) } else { of })
}

/// Who left since the lists of them were read is not known: what passes does so as long as they are recent.
fn until_leavers_age(of: Observation, judge: &AccountJudge<'_>) -> Observation {
    let days = judge.catalog.find_max_age_days(DEPROVISIONED);
    let known_at = judge.leavers.read_at.filter(|_| !of.verdict.is_failing());
    let valid_until = known_at
        .zip(days)
        .map(|(known_at, days)| known_at.min(of.observed_at).plus_days(i64::from(days)));
    Observation { valid_until, ..of }
}

/// Returns what a verdict says about its control, without findings. `None`: the catalog has no such control.
pub(super) fn observation(
    catalog: &Catalog,
    key: ObservationKey,
    shown: &ControlVerdict<'_>,
) -> Option<Observation> {
    let control = &catalog.controls[catalog.find_control(shown.code)?];
    let ObservationKey { subject, source, scope, check, observed_at, import } = key;
    Some(Observation {
        subject,
        source,
        scope,
        check,
        observed_at,
        valid_until: None,
        import,
        verdict: shown.verdict,
        accepted: 0,
        severity: Severity::Medium,
        title: control.title.clone(),
        findings: None,
        remediation: None,
        failing: Vec::new(),
        memory: SparseMemory::default(),
        facets: shown.facets.iter().map(|it| (*it).to_owned()).collect(),
        platform: None,
    })
}

/// Returns what is remembered of failing subjects whose names are their ids: the hashes, and the first names.
pub(in crate::app) fn subjects<S: AsRef<str>>(failing: &[S]) -> (Vec<u64>, Vec<NamedSubject>) {
    let all = failing.iter().map(AsRef::as_ref).filter(|it| !it.is_empty());
    let names = all.clone().take(N_NAMES_MAX);
    let names = names.map(|it| NamedSubject { hash: subject_hash(it), name: it.to_owned() });
    let mut hashes: Vec<u64> = all.map(subject_hash).collect();
    hashes.sort_unstable();
    hashes.truncate(N_FAILING_MAX);
    (hashes, names.collect())
}

/// Names failing accounts.
pub(in crate::app) fn findings(shown: &ControlVerdict<'_>) -> Option<String> {
    let failing = &shown.failing;
    (!failing.is_empty()).then(|| failing_line(failing, failing.len()))
}
