//! Events about risks.

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{EventBody, Link, NewEvent, NoPrevious};
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::engine::severity::Severity;
use crate::id::RiskId;
use crate::store::per_client::posture::{OpenRisk, Resolution};

/// What every event about a risk says of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskFields<'a> {
    #[schemars(extend("format" = "uuid"))]
    pub id: String,
    pub title: &'a str,
    pub description: &'a str,
    pub category: &'a str,
    #[schemars(extend("enum" = ["critical", "high", "medium", "low"]))]
    pub severity: &'static str,
    #[schemars(range(max = 100))]
    pub risk_score: u8,
    /// Estimated dollars a year that fixing this risk alone saves. Null when it cannot be estimated.
    pub dollar_impact: Option<u64>,
    #[schemars(extend("enum" = ["control", "finding", "scan", "manual"]))]
    pub source_type: &'static str,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    /// Counts the openings of the risk, from 1.
    pub occurrence: u32,
    #[serde(skip)]
    risk_id: RiskId,
}

impl<'a> RiskFields<'a> {
    fn of(open: &'a OpenRisk) -> Self {
        let risk = &open.risk;
        Self {
            id: open.id.to_string(),
            title: &risk.title,
            description: &risk.description,
            category: &risk.category,
            severity: risk.severity.as_str(),
            risk_score: risk.score,
            dollar_impact: risk.dollar_impact,
            source_type: risk.source_type.as_str(),
            created_at: open.created_at.to_string(),
            occurrence: open.occurrence,
            risk_id: open.id,
        }
    }

    fn key(&self) -> String {
        key(self.risk_id)
    }
}

/// The key of all events about a risk, within its client.
#[must_use]
pub fn key(id: RiskId) -> String {
    format!("risk/{id}")
}

/// A risk was opened, or is listed again.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskItemCreated<'a> {
    #[serde(flatten)]
    risk: RiskFields<'a>,
    /// Who ended its acceptance before its time. Absent if nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_ended_by: Option<&'a str>,
    /// `acceptance_exceeded`: it got clearly worse than what was accepted. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["acceptance_exceeded"]))]
    pub cause: Option<&'static str>,
}

/// Why a risk is shown again.
#[derive(Clone, Copy, Debug)]
pub enum Return<'a> {
    /// What kept it from being shown is over.
    Ended,
    /// Somebody ended its acceptance.
    EndedBy(&'a str),
    /// It got worse than what was accepted.
    Exceeded,
}

impl EventBody for RiskItemCreated<'_> {
    const KIND: EventKind = EventKind::RiskItemCreated;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        self.risk.key()
    }

    fn link(&self) -> Link {
        Link::Risk(self.risk.risk_id)
    }
}

/// A critical risk was opened, or an open risk became critical.
#[derive(Serialize, JsonSchema)]
pub struct CriticalRiskDetected<'a>(RiskFields<'a>);

impl EventBody for CriticalRiskDetected<'_> {
    const KIND: EventKind = EventKind::CriticalRiskDetected;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        self.0.key()
    }

    fn link(&self) -> Link {
        Link::Risk(self.0.risk_id)
    }
}

/// A risk was fixed, accepted, scoped out, overridden, or is gone.
#[derive(Serialize, JsonSchema)]
pub struct RiskItemResolved<'a> {
    #[serde(flatten)]
    risk: RiskFields<'a>,
    #[schemars(extend("enum" = ["fixed", "accepted", "scoped_out", "overridden", "gone"]))]
    pub resolution: &'static str,
    /// Present when a person accepted the risk. What is muted at its source is accepted there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<AcceptanceFields<'a>>,
}

/// Who accepted a risk, why, and until when.
#[derive(Serialize, JsonSchema)]
pub struct AcceptanceFields<'a> {
    #[schemars(extend("format" = "date-time"))]
    pub until: String,
    pub reason: &'a str,
    pub by: &'a str,
}

impl EventBody for RiskItemResolved<'_> {
    const KIND: EventKind = EventKind::RiskItemResolved;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        self.risk.key()
    }

    fn link(&self) -> Link {
        Link::Risk(self.risk.risk_id)
    }
}

#[must_use]
pub fn created(open: &OpenRisk, now: Time) -> NewEvent {
    created_again(open, Return::Ended, now)
}

fn created_again(open: &OpenRisk, why: Return<'_>, now: Time) -> NewEvent {
    let (acceptance_ended_by, cause) = match why {
        Return::Ended => (None, None),
        Return::EndedBy(by) => (Some(by), None),
        Return::Exceeded => (None, Some("acceptance_exceeded")),
    };
    let body = RiskItemCreated { risk: RiskFields::of(open), acceptance_ended_by, cause };
    NewEvent::new(&body, now).opened_at(open.opened_at)
}

#[must_use]
pub fn critical(open: &OpenRisk, now: Time) -> NewEvent {
    NewEvent::new(&CriticalRiskDetected(RiskFields::of(open)), now).opened_at(open.opened_at)
}

/// The event type that announced the open risk.
#[must_use]
pub fn current(open: &OpenRisk, now: Time) -> NewEvent {
    if open.risk.severity == Severity::Critical { critical(open, now) } else { created(open, now) }
}

/// `None` for a risk that is open.
#[must_use]
pub fn resolved(open: &OpenRisk, now: Time) -> Option<NewEvent> {
    let resolution = match &open.closed {
        Some(closed) => closed.resolution,
        None if open.is_accepted() => Resolution::Accepted,
        None => return None,
    };
    let acceptance = open.acceptance().filter(|_| open.closed.is_none());
    let body = RiskItemResolved {
        risk: RiskFields::of(open),
        resolution: resolution.as_str(),
        acceptance: acceptance.map(|it| AcceptanceFields {
            until: it.until.to_string(),
            reason: &it.reason,
            by: &it.by,
        }),
    };
    Some(NewEvent::new(&body, now).opened_at(open.opened_at))
}

/// What is announced of a risk that is shown again: that it is there, and that it is critical, if it is.
#[must_use]
pub fn shown_again(open: &OpenRisk, why: Return<'_>, now: Time) -> Vec<NewEvent> {
    let mut events = vec![created_again(open, why, now)];
    if open.risk.severity == Severity::Critical {
        events.push(critical(open, now));
    }
    events
}
