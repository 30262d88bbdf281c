//! Observations about controls that are derived from lists of accounts and from scans of systems.

use super::list::{Lists, Rules};
use crate::engine::catalog::Catalog;
use crate::engine::fact::{ControlVerdict, DERIVED_CHECK, Observation, Subject, failing_line};
use crate::engine::identity::{self, Identity};
use crate::engine::severity::Severity;
use crate::id::ImportId;
use crate::store::per_client::fact::ObservationKey;

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
        let key = ObservationKey {
            subject: Subject::Control(shown.code.to_owned()),
            source: source.to_owned(),
            scope: lists.scope.clone(),
            check: DERIVED_CHECK.to_owned(),
            observed_at: lists.at,
            import,
        };
        let of = observation(catalog, key, &shown)?;
        Some(Observation { findings: findings(&shown), ..of })
    });
    verdicts.collect()
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
    })
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
