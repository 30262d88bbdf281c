//! What lists of accounts say of controls.

use super::list::{Lists, Rules};
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Observation, Subject, Verdict};
use crate::engine::identity::{self, Identity};
use crate::engine::severity::Severity;
use crate::id::ImportId;

/// Failing accounts that a finding names.
const N_NAMED: usize = 10;
/// The check of such observations; sources cannot name one of theirs so.
pub(in crate::app) const DERIVED_CHECK: &str = "identities";

/// What a complete list that is believed says.
///
/// `known`: the observations so far.
pub(in crate::app) fn observations(
    catalog: &Catalog,
    (source, import): (&str, ImportId),
    lists: &Lists,
    rules: &Rules,
    identities: &[Identity],
    known: &[Observation],
) -> Vec<Observation> {
    let verdicts = identity::verdicts(identities, lists.at, rules.dormant_after_days);
    let verdicts = verdicts.into_iter().filter_map(|(code, verdict, failing)| {
        let control = &catalog.controls[catalog.find_control(code)?];
        let findings = (!failing.is_empty()).then(|| {
            let named = failing.iter().take(N_NAMED).copied().collect::<Vec<_>>().join(", ");
            let rest = failing.len().saturating_sub(N_NAMED);
            if rest == 0 { named } else { format!("{named} and {rest} more") }
        });
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
    let mut told: Vec<_> = verdicts.collect();
    told.extend(no_longer_told(known, &told, (source, import), lists));
    told
}

/// Whether a list of accounts said it: it stands and falls with that list, not with what else the source sends.
pub(in crate::app) fn is_derived(it: &Observation) -> bool {
    it.check == DERIVED_CHECK && matches!(it.subject, Subject::Control(_))
}

/// What earlier lists said of controls of which this one, complete and believed, says nothing.
fn no_longer_told(
    known: &[Observation],
    told: &[Observation],
    (source, import): (&str, ImportId),
    lists: &Lists,
) -> Vec<Observation> {
    let is_ours = |it: &&Observation| {
        it.source == source
            && it.scope == lists.scope
            && is_derived(it)
            && it.observed_at < lists.at
    };
    let is_over = |it: &&Observation| {
        it.verdict != Verdict::Gone && told.iter().all(|other| other.subject != it.subject)
    };
    let over = known.iter().filter(is_ours).filter(is_over);
    over.map(|it| it.gone(lists.at, import)).collect()
}
