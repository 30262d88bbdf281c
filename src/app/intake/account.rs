//! Observations about controls that are derived from lists of accounts.

use super::list::{Lists, Rules};
use crate::engine::catalog::Catalog;
use crate::engine::fact::{ControlVerdict, DERIVED_CHECK, Observation, Subject, failing_line};
use crate::engine::identity::{self, Identity};
use crate::engine::severity::Severity;
use crate::id::ImportId;

/// Returns what an accepted, complete list of accounts shows about controls.
pub(in crate::app) fn observations(
    catalog: &Catalog,
    (source, import): (&str, ImportId),
    lists: &Lists,
    rules: &Rules,
    identities: &[Identity],
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
    verdicts.collect()
}

/// Names failing accounts on the first line, then says how many are unknown.
pub(in crate::app) fn findings(shown: &ControlVerdict<'_>) -> Option<String> {
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
