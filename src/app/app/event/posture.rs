//! Events about readiness, score and the assessment itself.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::cause::Cause;
use super::envelope::{EventBody, Link, NoPrevious};
use crate::engine::change::Direction;
use crate::engine::event::EventKind;
use crate::engine::framework::{Framework, FrameworkId};
use crate::engine::posture::{Posture, Score};
use crate::engine::severity::Severity;
use crate::store::per_client::import::PostureChange;

/// Requirements that a drift event names; its `count` says how many there are.
const N_DRIFTED_SHOWN: usize = 100;

/// The readiness score of a framework changed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComplianceStatusChanged<'a> {
    /// The framework identifier.
    pub framework: &'a str,
    #[schemars(range(max = 100))]
    pub readiness_score: u8,
    /// A source's name, or `lapse`, `scope`, `attestation`, `assets`, `catalogue`.
    pub cause: &'a str,
    #[serde(skip)]
    pub id: FrameworkId,
}

impl<'a> ComplianceStatusChanged<'a> {
    #[must_use]
    pub fn of(id: &'a FrameworkId, readiness_score: u8, cause: &'a str) -> Self {
        Self { framework: id.as_str(), readiness_score, cause, id: *id }
    }
}

/// The readiness score before.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadinessBefore {
    #[schemars(range(max = 100))]
    pub readiness_score: u8,
}

impl EventBody for ComplianceStatusChanged<'_> {
    const KIND: EventKind = EventKind::ComplianceStatusChanged;
    type Previous = ReadinessBefore;

    fn key(&self) -> String {
        format!("compliance/{}", self.framework)
    }

    fn link(&self) -> Link {
        Link::Requirements(self.id)
    }
}

/// Requirements of a framework are no longer compliant.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComplianceDriftDetected<'a> {
    /// The framework identifier.
    pub framework: &'a str,
    /// The framework's own references of the first 100 requirements.
    #[schemars(length(max = 100))]
    pub requirements: Vec<&'a str>,
    /// How many requirements left `compliant`.
    pub count: usize,
    /// Codes of the controls that caused it.
    pub because: &'a [String],
    #[serde(skip)]
    pub id: FrameworkId,
}

impl<'a> ComplianceDriftDetected<'a> {
    #[must_use]
    pub fn of(framework: &'a Framework, rows: &[usize], because: &'a [String]) -> Self {
        let shown = rows.iter().take(N_DRIFTED_SHOWN);
        let requirements = shown.map(|it| framework.rows[*it].reference.as_str()).collect();
        let id = framework.id;
        let name = framework.id.as_str();
        Self { framework: name, requirements, count: rows.len(), because, id }
    }
}

impl EventBody for ComplianceDriftDetected<'_> {
    const KIND: EventKind = EventKind::ComplianceDriftDetected;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        format!("compliance_drift/{}", self.framework)
    }

    fn link(&self) -> Link {
        Link::Requirements(self.id)
    }
}

/// The client's overall security score changed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityScoreChanged<'a> {
    #[schemars(range(max = 100))]
    pub overall_score: u8,
    #[schemars(extend("enum" = ["A", "B", "C", "D", "F"]))]
    pub grade: &'static str,
    /// A source's name, or `lapse`, `scope`, `attestation`, `assets`, `catalogue`.
    pub cause: &'a str,
    /// Codes of the controls that moved.
    pub controls: &'a [String],
}

/// The score before.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoreBefore {
    #[schemars(range(max = 100))]
    pub overall_score: u8,
    #[schemars(extend("enum" = ["A", "B", "C", "D", "F"]))]
    pub grade: &'static str,
}

impl ScoreBefore {
    #[must_use]
    pub fn of(overall_score: u8) -> Self {
        Self { overall_score, grade: Score::grade_of(overall_score) }
    }
}

impl EventBody for SecurityScoreChanged<'_> {
    const KIND: EventKind = EventKind::SecurityScoreChanged;
    type Previous = ScoreBefore;

    fn key(&self) -> String {
        "security_score".to_owned()
    }
}

/// The overall score crossed one of the client's thresholds.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityScoreThresholdCrossed<'a> {
    #[schemars(range(max = 100))]
    pub threshold: u8,
    #[schemars(extend("enum" = ["up", "down"]))]
    pub direction: &'static str,
    #[schemars(range(max = 100))]
    pub overall_score: u8,
    /// A source's name, or `lapse`, `scope`, `attestation`, `assets`, `catalogue`.
    pub cause: &'a str,
}

impl<'a> SecurityScoreThresholdCrossed<'a> {
    #[must_use]
    pub fn of(threshold: u8, direction: Direction, overall_score: u8, cause: &'a str) -> Self {
        Self { threshold, direction: direction.as_str(), overall_score, cause }
    }
}

/// The overall score before.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverallScoreBefore {
    #[schemars(range(max = 100))]
    pub overall_score: u8,
}

impl EventBody for SecurityScoreThresholdCrossed<'_> {
    const KIND: EventKind = EventKind::SecurityScoreThresholdCrossed;
    type Previous = OverallScoreBefore;

    fn key(&self) -> String {
        format!("security_score_threshold/{}", self.threshold)
    }
}

/// A client was assessed after a run of a source, or with a result that changed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskAssessmentCompleted<'a> {
    /// A source's name, or `lapse`, `scope`, `attestation`, `assets`, `catalogue`.
    pub cause: Cow<'a, str>,
    /// The run is the source's first read of these scopes, or of a part of them; what it shows for the first time was not announced.
    pub baseline: bool,
    /// It is the first run of the source.
    pub first_run: bool,
    /// Risks that were opened, whatever else is open.
    pub risks_opened: u32,
    pub risks_closed: u32,
    /// Codes of the controls whose status changed.
    pub controls: Vec<&'a str>,
    /// All risks of the client that are open.
    pub open_risks: usize,
    pub critical: usize,
    pub high: usize,
    pub medium: usize,
    pub low: usize,
    pub controls_total: u32,
    pub controls_compliant: u32,
    pub controls_partial: u32,
    pub controls_non_compliant: u32,
}

impl<'a> RiskAssessmentCompleted<'a> {
    #[must_use]
    pub fn of(posture: &Posture, cause: &'a Cause, moved: &'a PostureChange) -> Self {
        let count =
            |severity: Severity| posture.risks.iter().filter(|it| it.severity == severity).count();
        Self {
            cause: cause.as_str(),
            baseline: cause.is_baseline(),
            first_run: cause.is_of_new_source(),
            risks_opened: moved.n_risks_opened,
            risks_closed: moved.n_risks_closed,
            controls: moved.controls.iter().map(|it| it.0.as_str()).collect(),
            open_risks: posture.risks.len(),
            critical: count(Severity::Critical),
            high: count(Severity::High),
            medium: count(Severity::Medium),
            low: count(Severity::Low),
            controls_total: posture.score.n_total,
            controls_compliant: posture.score.n_compliant,
            controls_partial: posture.score.n_partial,
            controls_non_compliant: posture.score.n_non_compliant,
        }
    }
}

impl EventBody for RiskAssessmentCompleted<'_> {
    const KIND: EventKind = EventKind::RiskAssessmentCompleted;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        "risk_assessment".to_owned()
    }
}
