//! What an observation of a facts body says: a status, counts, or its subjects one by one.

use super::body::{FactsBody, ObservationBody, SubjectBody};
use super::field::{TEXT_CHARS_MAX, bad, optional, text};
use crate::engine::ControlPart;
use crate::engine::catalog::Control;
use crate::engine::fact::{
    N_FAILING_MAX, Observation, Status, UNNAMED_CHECK, Verdict, subject_hash,
};
use crate::engine::memory::remember::of_nameless;
use crate::engine::memory::{Extent, N_NAMES_MAX, N_PASSING_MAX, NamedSubject};
use crate::error::Result;
use crate::import::CheckOutcome;
use crate::import::fold::outcome::SubjectOutcomes;

type FieldName<'a> = &'a dyn Fn(&str) -> String;

/// Writes into an observation what the body says of it.
pub(super) fn tell(
    to: &mut Observation,
    body: &FactsBody,
    it: &ObservationBody,
    outcomes: &mut SubjectOutcomes,
    field: FieldName<'_>,
) -> Result<()> {
    to.verdict = verdict(it, field)?;
    if let Some(subjects) = &it.subjects {
        tell_subjects(to, subjects, outcomes, field)?;
    }
    let is_met = tell_how_many(to, it, field)?;
    let is_named = it.subjects.is_some();
    let is_whole = body.complete || it.whole || is_met && is_named;
    to.memory.extent = match (is_whole, body.confirm_shrink) {
        (true, true) => Extent::All,
        (true, false) => Extent::Complete,
        (false, _) if is_named => Extent::Named,
        (false, _) => of_nameless(to.verdict, is_met),
    };
    Ok(())
}

/// The facet and the platform, and the check where it has no name of its own.
pub(super) fn part(
    control: &Control,
    it: &ObservationBody,
    field: FieldName<'_>,
) -> Result<(Vec<String>, Option<String>, String)> {
    let (facet, platform) = (it.facet.clone(), it.platform.clone());
    if let Some((name, rule)) = (ControlPart { facet, platform, scope: None }).problem(control) {
        return bad(field(name), rule);
    }
    let name = match (&it.facet, &it.platform) {
        (None, None) => UNNAMED_CHECK.to_owned(),
        (Some(one), None) | (None, Some(one)) => one.clone(),
        (Some(facet), Some(platform)) => format!("{facet} on {platform}"),
    };
    // What names a platform alone is about all of the control there.
    let is_whole = it.facet.is_none() && it.check.is_none() && it.platform.is_some();
    let all = control.facets.iter().filter(|_| is_whole && 1 < control.facets.len());
    let facets = it.facet.iter().chain(all.map(|it| &it.name)).cloned().collect();
    Ok((facets, it.platform.clone(), it.check.clone().unwrap_or(name)))
}

fn tell_subjects(
    to: &mut Observation,
    subjects: &[SubjectBody],
    outcomes: &mut SubjectOutcomes,
    field: FieldName<'_>,
) -> Result<()> {
    let (mut passed, mut failed) = (0, 0);
    for (index, it) in subjects.iter().enumerate() {
        let field = |name: &str| field(&format!("subjects[{index}].{name}"));
        let id = text(&field("id"), &it.id, TEXT_CHARS_MAX)?;
        let name = optional(&field("name"), it.name.as_ref())?;
        let outcome = match it.outcome.as_str() {
            "passed" => CheckOutcome::Pass,
            "failed" => CheckOutcome::Fail,
            "accepted" => CheckOutcome::Accepted,
            _ => return bad(field("outcome"), "must be one of passed, failed, accepted"),
        };
        let hash = subject_hash(&id);
        if !outcomes.note(to, hash, outcome) {
            return bad(field("id"), "is a duplicate");
        }
        if outcome == CheckOutcome::Pass {
            passed += 1;
            to.memory.healed.push(hash);
            continue;
        }
        failed += 1;
        to.failing.push(hash);
        if to.memory.names.len() < N_NAMES_MAX {
            to.memory.names.push(NamedSubject { hash, name: name.unwrap_or(id) });
        }
        if outcome == CheckOutcome::Accepted {
            to.accepted += 1;
            to.memory.muted.push(hash);
        }
    }
    to.failing.sort_unstable();
    to.failing.truncate(N_FAILING_MAX);
    to.memory.muted.sort_unstable();
    to.memory.muted.truncate(N_FAILING_MAX);
    to.memory.healed.truncate(N_PASSING_MAX);
    to.memory.healed.sort_unstable();
    to.verdict = Verdict::Counted { passed, failed };
    Ok(())
}

/// Counts as unseen what is missing of how many there are. Returns whether all of them were looked at.
fn tell_how_many(to: &mut Observation, it: &ObservationBody, field: FieldName<'_>) -> Result<bool> {
    let Some(of) = it.of else { return Ok(false) };
    let Verdict::Counted { passed, failed } = to.verdict else {
        return bad(field("of"), "needs passed and failed, or subjects");
    };
    let Some(unseen) = passed.checked_add(failed).and_then(|n| of.checked_sub(n)) else {
        return bad(field("of"), "must be at least the sum of passed and failed");
    };
    if unseen != 0 {
        to.verdict = Verdict::Seen { passed, failed, unseen };
    }
    Ok(unseen == 0)
}

fn verdict(it: &ObservationBody, field: FieldName<'_>) -> Result<Verdict> {
    let counts = (it.passed, it.failed, it.total);
    let status = match it.status.as_deref() {
        None => None,
        Some("compliant") => Some(Status::Compliant),
        Some("partial") => Some(Status::Partial),
        Some("non_compliant") => Some(Status::NonCompliant),
        Some(_) => return bad(field("status"), "must be one of compliant, partial, non_compliant"),
    };
    match (status, counts) {
        (None, (None, None, None)) if it.subjects.is_some() => {
            Ok(Verdict::Counted { passed: 0, failed: 0 })
        }
        (_, _) if it.subjects.is_some() => {
            bad(field("subjects"), "give either subjects, or a status or counts")
        }
        (Some(status), (None, None, None)) => Ok(Verdict::Stated(status)),
        (Some(_), _) => bad(field("status"), "give either status or counts"),
        (None, (Some(passed), Some(failed), total)) => {
            if total.is_some_and(|it| passed.checked_add(failed) != Some(it)) {
                return bad(field("total"), "must be the sum of passed and failed");
            }
            Ok(Verdict::Counted { passed, failed })
        }
        (None, (Some(passed), None, Some(total))) if passed <= total => {
            Ok(Verdict::Counted { passed, failed: total - passed })
        }
        (None, (None, Some(failed), Some(total))) if failed <= total => {
            Ok(Verdict::Counted { passed: total - failed, failed })
        }
        (None, _) => bad(field("status"), "give status, or passed and failed"),
    }
}
