//! From the changes of an assessment to its events.

use std::collections::HashMap;

use super::cause::{Cause, FirstLook, NewPart};
use super::envelope::NewEvent;
use super::posture::{
    ComplianceDriftDetected, ComplianceStatusChanged, OverallScoreBefore, ReadinessBefore,
    RiskAssessmentCompleted, ScoreBefore, SecurityScoreChanged, SecurityScoreThresholdCrossed,
};
use super::risk;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::change::Change;
use crate::engine::fact::Status;
use crate::engine::framework::FrameworkId;
use crate::engine::posture::{Posture, Risk};
use crate::store::per_client::import::PostureChange;
use crate::store::per_client::posture::OpenRisk;

/// Returns the events that an assessment announces. Of frameworks outside `frameworks`, the client's own, none.
pub fn events(
    (catalog, frameworks): (&Catalog, &[FrameworkId]),
    changes: &[Change],
    risks: &[OpenRisk],
    posture: &Posture,
    cause: &Cause,
    now: Time,
) -> (PostureChange, Vec<NewEvent>) {
    // Nothing more is announced of an accepted risk.
    let shown = risks.iter().filter(|it| !it.is_accepted());
    let risks: HashMap<&str, &OpenRisk> =
        shown.map(|it| (it.risk.condition.as_str(), it)).collect();
    let mut moved = PostureChange::default();
    let mut events = Vec::new();
    for change in changes {
        count(&mut moved, change);
        let is_announced = match cause {
            Cause::Source { first_look: FirstLook::Run, .. } => {
                matches!(change, Change::RiskCritical { .. } | Change::RiskClosed { .. })
            }
            Cause::Source { first_look: FirstLook::Part(part), .. } => {
                is_told_beside(change, part, changes)
            }
            Cause::Release => is_told_of_release(change, posture),
            // That nobody looked at it yet is no news.
            Cause::Due => false,
            Cause::Source { .. }
            | Cause::Lapse
            | Cause::Scope
            | Cause::Estate
            | Cause::Attestation
            | Cause::Assets
            | Cause::Catalogue
            | Cause::Undo(_) => true,
        };
        let in_scope = change.framework().is_none_or(|it| frameworks.contains(&it));
        if is_announced && in_scope {
            events.extend(event_of(catalog, change, &risks, posture, cause, now));
        }
    }
    let is_told = !changes.is_empty() && *cause != Cause::Due;
    if is_told || matches!(cause, Cause::Source { quiet: false, .. }) {
        events.push(NewEvent::new(&RiskAssessmentCompleted::of(posture, cause, &moved), now));
    }
    (moved, events)
}

/// What follows from a part of a run that is new is no news; what follows from the others is.
fn is_told_beside(change: &Change, part: &NewPart, all: &[Change]) -> bool {
    let is_other = |code: &str| !part.controls.contains(code);
    match change {
        Change::RiskCritical { .. } | Change::RiskClosed { .. } => true,
        Change::RiskOpened { risk } => risk.control_code().map_or(!part.has_checks, is_other),
        Change::Control { code, .. } => is_other(code),
        Change::Row { .. }
        | Change::Readiness { .. }
        | Change::Drift { .. }
        | Change::Score { .. }
        | Change::Threshold { .. } => {
            let moved = all.iter().filter_map(|it| {
                let Change::Score { controls, .. } = it else { return None };
                Some(controls)
            });
            moved.flatten().any(|it| is_other(it))
        }
    }
}

/// What other rules make of the same facts is no news about the client: its score and its readiness are told once, because
/// whoever follows them counts on it, and what fails critically now.
fn is_told_of_release(change: &Change, posture: &Posture) -> bool {
    let fails = |risk: &Risk| {
        let control =
            posture.controls.iter().find(|it| Some(it.code.as_str()) == risk.control_code());
        risk.verified && control.is_none_or(|it| it.status == Status::NonCompliant)
    };
    match change {
        Change::Score { .. } | Change::Readiness { .. } => true,
        Change::RiskCritical { risk } => fails(risk),
        Change::Control { .. }
        | Change::Row { .. }
        | Change::Drift { .. }
        | Change::Threshold { .. }
        | Change::RiskOpened { .. }
        | Change::RiskClosed { .. } => false,
    }
}

fn count(moved: &mut PostureChange, change: &Change) {
    match change {
        Change::Control { code, from, to } => {
            moved.controls.push((code.clone(), *from, *to));
        }
        Change::Readiness { .. } => moved.n_frameworks += 1,
        Change::RiskOpened { .. } => moved.n_risks_opened += 1,
        Change::RiskClosed { .. } => moved.n_risks_closed += 1,
        Change::Score { from, to, .. } => {
            moved.score_before = *from;
            moved.score_after = Some(*to);
        }
        Change::Row { .. }
        | Change::Drift { .. }
        | Change::Threshold { .. }
        | Change::RiskCritical { .. } => (),
    }
}

fn event_of(
    catalog: &Catalog,
    change: &Change,
    risks: &HashMap<&str, &OpenRisk>,
    posture: &Posture,
    cause: &Cause,
    now: Time,
) -> Option<NewEvent> {
    let find = |risk: &Risk| risks.get(risk.condition.as_str()).copied();
    let cause = &*cause.as_str();
    match change {
        Change::Control { .. } | Change::Row { .. } => None,
        Change::Readiness { framework, from, to } => {
            let body = ComplianceStatusChanged::of(framework, *to, cause);
            let before = ReadinessBefore { readiness_score: *from };
            Some(NewEvent::after(&body, Some(&before), now))
        }
        Change::Drift { framework, rows, because } => {
            let framework = catalog.find_framework(*framework)?;
            let body = ComplianceDriftDetected::of(framework, rows, because);
            Some(NewEvent::new(&body, now))
        }
        Change::Score { from, to, controls } => {
            let grade = posture.score.grade();
            let body = SecurityScoreChanged { overall_score: *to, grade, cause, controls };
            Some(NewEvent::after(&body, from.map(ScoreBefore::of).as_ref(), now))
        }
        Change::Threshold { threshold, direction, from, to } => {
            let body = SecurityScoreThresholdCrossed::of(*threshold, *direction, *to, cause);
            let before = OverallScoreBefore { overall_score: *from };
            Some(NewEvent::after(&body, Some(&before), now))
        }
        Change::RiskOpened { risk } => Some(risk::created(find(risk)?, now)),
        Change::RiskCritical { risk } => Some(risk::critical(find(risk)?, now)),
        Change::RiskClosed { risk, .. } => risk::resolved(find(risk)?, now),
    }
}
