//! What a person decided about a requirement, as answers show it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::wire::reply::Null;
use crate::api::wire::view::{Decision, DecisionWord, When};
use crate::engine::fact::{RowDecision, RowDecisionKind};

/// What a person decided about a requirement.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RequirementDecision")]
#[serde(rename_all = "camelCase")]
pub struct DecisionView {
    decision: DecisionWord,
    reason: String,
    /// Where the evidence is.
    evidence: Null<String>,
    by: String,
    at: When,
    /// When it expires. Null: it does not expire.
    until: Null<When>,
}

impl DecisionView {
    pub fn of(it: RowDecision) -> Self {
        let (decision, evidence) = match it.kind {
            RowDecisionKind::OutOfScope => (Decision::OutOfScope, None),
            RowDecisionKind::Attested { evidence } => (Decision::Attested, Some(evidence)),
        };
        Self {
            decision: DecisionWord(decision),
            reason: it.reason,
            evidence: evidence.into(),
            by: it.by,
            at: When(it.at),
            until: it.until.map(When).into(),
        }
    }
}
