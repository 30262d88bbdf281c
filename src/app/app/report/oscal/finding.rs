//! Findings: what each requirement comes to, and what people decided about requirements.

use serde_json::{Value, json};

use super::identifier::{ControlIds, uuid};
use super::{line, observation, party, property, put, put_list};
use crate::app::report::framework::{FrameworkReport, ReportedRequirement};
use crate::engine::fact::{RowDecision, RowDecisionKind, Status};

/// The state and the reason of a finding. `None`: the requirement does not apply, of which the format has no finding.
///
/// Only what is compliant is satisfied.
const fn state(status: Status) -> Option<(&'static str, &'static str)> {
    match status {
        Status::Compliant => Some(("satisfied", "pass")),
        Status::Partial => Some(("not-satisfied", "partial")),
        Status::NonCompliant => Some(("not-satisfied", "fail")),
        Status::NotAssessed => Some(("not-satisfied", "not-assessed")),
        Status::NotApplicable => None,
    }
}

/// The requirements that apply.
pub(super) fn all(report: &FrameworkReport, ids: &ControlIds) -> Vec<Value> {
    report.requirements.iter().filter_map(|it| finding(report, ids, it)).collect()
}

fn finding(
    report: &FrameworkReport,
    ids: &ControlIds,
    requirement: &ReportedRequirement,
) -> Option<Value> {
    let row = report.row(requirement);
    let status = requirement.outcome.status;
    let (state, reason) = state(status)?;
    let client = report.client.id.to_string();
    let mut objective = json!({ "state": state, "reason": reason });
    let why = requirement.sentences().join("\n\n");
    put(&mut objective, "remarks", Some(why).filter(|it| !it.is_empty()));
    let mut finding = json!({
        "uuid": uuid("finding", &[&client, report.framework.id.as_str(), &row.reference]),
        "title": line(&format!("{} {}", row.reference, row.title)),
        "description": line(&row.description),
        "props": [
            property("requirement", &row.reference),
            property("status", status.as_str()),
            property("score", &requirement.outcome.score.to_string()),
        ],
        "target": {
            "type": "statement-id",
            "target-id": ids.of_row(requirement.row).statement,
            "status": objective,
        },
    });
    let seen = report.controls_of(requirement).filter_map(|it| observation::id(report, it.0));
    let seen = seen.map(|it| json!({ "observation-uuid": it })).collect();
    put_list(&mut finding, "related-observations", seen);
    Some(finding)
}

/// The requirements that apply, and those that do not.
pub(super) fn selection(report: &FrameworkReport, ids: &ControlIds) -> Value {
    let (mut included, mut excluded) = (Vec::new(), Vec::new());
    for it in &report.requirements {
        let list = if state(it.outcome.status).is_some() { &mut included } else { &mut excluded };
        list.push(json!({ "control-id": ids.of_row(it.row).control }));
    }
    let mut selection = if included.is_empty() {
        json!({ "include-all": {} }) // But for all that are excluded: the format has no other way to say none.
    } else {
        json!({ "include-controls": included })
    };
    put_list(&mut selection, "exclude-controls", excluded);
    selection
}

/// What people decided about requirements.
pub(super) fn statements(report: &FrameworkReport, ids: &ControlIds) -> Vec<Value> {
    let decided = report.requirements.iter().filter_map(|it| Some((it, it.decision.as_ref()?)));
    decided.map(|(requirement, decision)| statement(report, ids, requirement, decision)).collect()
}

fn statement(
    report: &FrameworkReport,
    ids: &ControlIds,
    requirement: &ReportedRequirement,
    decision: &RowDecision,
) -> Value {
    let RowDecision { reason, by, at, until, .. } = decision;
    let row = report.row(requirement);
    let (name, evidence) = match &decision.kind {
        RowDecisionKind::OutOfScope => ("out-of-scope", None),
        RowDecisionKind::Attested { evidence } => ("attested", Some(evidence)),
    };
    let mut props = vec![
        property("requirement", &row.reference),
        property("control", &ids.of_row(requirement.row).control),
        property("at", &at.to_string()),
    ];
    props.extend(until.map(|it| property("until", &it.to_string())));
    props.extend(evidence.map(|it| property("evidence", it)));
    let id = [&report.client.id.to_string(), report.framework.id.as_str(), &row.reference];
    json!({
        "responsible-parties": [{
            "role-id": party::ATTESTER,
            "party-uuids": [party::person(report, by)],
        }],
        "parts": [{
            "uuid": uuid("statement", &id),
            "name": name,
            "title": line(&format!("{} {}", row.reference, row.title)),
            "props": props,
            "prose": line(reason),
        }],
    })
}
