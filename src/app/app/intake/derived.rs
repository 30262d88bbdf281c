//! Observations about controls that are derived from lists of accounts and from scans of systems.

use super::list::{AccountJudge, Lists};
use crate::engine::catalog::Catalog;
use crate::engine::fact::{ControlVerdict, DERIVED_CHECK, Observation, Subject, failing_line};
use crate::engine::identity::leaver::{self, DEPROVISIONED};
use crate::engine::identity::{self, Identity};
use crate::engine::severity::Severity;
use crate::id::ImportId;
use crate::store::per_client::fact::ObservationKey;

/// Returns what an accepted, complete list of accounts shows about controls.
pub(in crate::app) fn observations(
    (source, import): (&str, ImportId),
    lists: &Lists,
    identities: &[Identity],
    judge: &AccountJudge<'_>,
) -> Vec<Observation> {
    let (rules, leavers) = (judge.rules, judge.leavers);
    let verdicts = identity::verdicts(identities, lists.at, rules.dormant_after_days);
    let of_leavers = leaver::verdict(identities, leavers, lists.at);
    let verdicts = verdicts.into_iter().chain(of_leavers).filter_map(|shown| {
        let key = ObservationKey {
            subject: Subject::Control(shown.code.to_owned()),
            source: source.to_owned(),
            scope: lists.scope.clone(),
            check: DERIVED_CHECK.to_owned(),
            observed_at: lists.at,
            import,
        };
        let of = observation(judge.catalog, key, &shown)?;
        let of = Observation { findings: findings(&shown), ..of };
        Some(if shown.code == DEPROVISIONED { until_leavers_age(of, judge) } else { of })
    });
    verdicts.collect()
}

/// Who left since the lists of them were read is not known: what passes does so as long as they are recent.
fn until_leavers_age(of: Observation, judge: &AccountJudge<'_>) -> Observation {
    let control = judge.catalog.find_control(DEPROVISIONED);
    let days = control.map(|it| judge.catalog.controls[it].max_age_days);
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
    })
}

/// Names failing accounts on the first line, then says how many are unknown.
pub(in crate::app) fn findings(shown: &ControlVerdict<'_>) -> Option<String> {
    let ControlVerdict { failing, n_unknown, .. } = shown;
    let mut lines = Vec::new();
    if !failing.is_empty() {
        lines.push(failing_line(failing, failing.len()));
    }
    let (one, many) =
        if shown.code == DEPROVISIONED { ("person", "people") } else { ("account", "accounts") };
    match n_unknown {
        0 => (),
        1 => lines.push(format!("Unknown for 1 {one}.")),
        n => lines.push(format!("Unknown for {n} {many}.")),
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}
