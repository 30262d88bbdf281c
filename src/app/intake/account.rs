//! Observations about controls that are derived from lists of accounts.

use super::list::{Lists, Rules};
use crate::engine::catalog::Catalog;
use crate::engine::fact::{DERIVED_CHECK, Observation, Subject, Verdict, failing_line};
use crate::engine::identity::{self, ControlVerdict, Identity};
use crate::engine::severity::Severity;
use crate::id::ImportId;

/// Returns what an accepted, complete list of accounts shows about controls.
///
/// `known`: the stored observations.
pub(in crate::app) fn observations(
    catalog: &Catalog,
    (source, import): (&str, ImportId),
    lists: &Lists,
    rules: &Rules,
    identities: &[Identity],
    known: &[Observation],
) -> Vec<Observation> {
    let verdicts = identity::verdicts(identities, lists.at, rules.dormant_after_days);
    let verdicts = verdicts.into_iter().filter_map(|shown| {
        let ControlVerdict { code, verdict, .. } = shown;
        let control = &catalog.controls[catalog.find_control(code)?];
        let findings = findings(&shown);
        Some(Observation {
            subject: Subject::Control(code.to_owned()),
            source: source.to_owned(),
            scope: lists.scope.clone(),
            check: DERIVED_CHECK.to_owned(),
            observed_at: lists.at,
            valid_until: None,
            import,
            verdict,
            accepted: 0,
            severity: Severity::Medium,
            title: control.title.clone(),
            findings,
            remediation: None,
            failing: Vec::new(),
        })
    });
    let mut derived: Vec<_> = verdicts.collect();
    derived.extend(no_longer_derived(known, &derived, (source, import), lists));
    derived
}

/// Names failing accounts on the first line, then says how many are unknown.
fn findings(shown: &ControlVerdict<'_>) -> Option<String> {
    let ControlVerdict { failing, n_unknown, .. } = shown;
    let mut lines = Vec::new();
    if !failing.is_empty() {
        lines.push(failing_line(failing, failing.len()));
    }
    match n_unknown {
        0 => (),
        1 => lines.push("Unknown for 1 account.".to_owned()),
        n => lines.push(format!("Unknown for {n} accounts.")),
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns true if it was derived from a list of accounts. Only a newer list replaces it, and not the source's other
/// facts.
pub(in crate::app) fn is_derived(it: &Observation) -> bool {
    it.check == DERIVED_CHECK && matches!(it.subject, Subject::Control(_))
}

/// Returns what marks earlier derived observations as gone: this list, complete and accepted, shows nothing about their
/// controls.
fn no_longer_derived(
    known: &[Observation],
    derived: &[Observation],
    (source, import): (&str, ImportId),
    lists: &Lists,
) -> Vec<Observation> {
    let is_ours = |it: &&Observation| {
        it.source == source
            && it.scope == lists.scope
            && is_derived(it)
            && it.observed_at < lists.at
    };
    let is_outdated = |it: &&Observation| {
        it.verdict != Verdict::Gone && derived.iter().all(|other| other.subject != it.subject)
    };
    let outdated = known.iter().filter(is_ours).filter(is_outdated);
    outdated.map(|it| it.gone(lists.at, import)).collect()
}
