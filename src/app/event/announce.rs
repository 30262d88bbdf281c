//! From changes to events: the bodies that integrators act on, stored in the commit that made them true.

use serde_json::{Map, Value, json};

use crate::app::App;
use crate::app::assessment::assess::{Cause, Subject};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::asset::Asset;
use crate::engine::catalog::{Catalog, FrameworkId};
use crate::engine::change::Change;
use crate::engine::event::EventKind;
use crate::engine::fact::Severity;
use crate::engine::posture::{Posture, Risk, Score};
use crate::error::Result;
use crate::id::{EventId, RiskId};
use crate::store::ClientBatch;
use crate::store::Snapshot;
use crate::store::global::change::Placed;
use crate::store::global::event::{Event, NewEvent};
use crate::store::per_client::import::Import;
use crate::store::per_client::posture::OpenRisk;

/// Rows that a drift event names; its `count` tells how many there are.
const N_DRIFTED_SHOWN: usize = 100;

/// How a posture moved, for whoever caused it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    pub n_controls: u32,
    pub n_frameworks: u32,
    pub n_risks_opened: u32,
    pub n_risks_closed: u32,
    pub score_before: Option<u8>,
    pub score_after: Option<u8>,
    pub n_events: u32,
}

impl App {
    /// Rows that changed after a sequence, in commit order.
    /// Those of the clients that the caller may reach.
    pub async fn list_changes(
        &self,
        caller: &Caller,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Placed>> {
        let allowed = caller.allowed_clients().map(<[_]>::to_vec);
        let list = move |snapshot: &Snapshot| {
            snapshot.list_changes(after, limit as usize, allowed.as_deref())
        };
        self.store.read(list).await
    }

    /// Events that came after a sequence, in commit order.
    /// Those of the clients that the caller may reach.
    pub async fn list_events(&self, caller: &Caller, after: u64, limit: u32) -> Result<Vec<Event>> {
        let allowed = caller.allowed_clients().map(<[_]>::to_vec);
        let list = move |snapshot: &Snapshot| {
            snapshot.list_events(after, limit as usize, allowed.as_deref())
        };
        self.store.read(list).await
    }
}

/// An event of JSON objects.
pub(in crate::app) fn event(
    kind: EventKind,
    now: Time,
    object: Value,
    previous: Option<Value>,
) -> NewEvent {
    let map = |it: Value| if let Value::Object(map) = it { map } else { Map::new() };
    let (object, previous) = (map(object), previous.map(map));
    NewEvent { id: EventId::random(), kind, created: now, object, previous }
}

/// What an assessment announces.
pub fn changes(
    subject: &Subject,
    changes: &[Change],
    risks: &[OpenRisk],
    posture: &Posture,
    cause: &Cause,
    now: Time,
) -> (Announced, Vec<NewEvent>) {
    let mut announced = Announced::default();
    let mut events = Vec::new();
    for change in changes {
        count(&mut announced, change);
        let speaks = !cause.is_baseline()
            || matches!(change, Change::RiskCritical { .. } | Change::RiskClosed { .. });
        if speaks && is_in_scope(subject, change) {
            events.extend(of_change(&subject.catalog, change, risks, posture, cause, now));
        }
    }
    if !changes.is_empty() || matches!(cause, Cause::Source { quiet: false, .. }) {
        events.push(event(EventKind::RiskAssessmentCompleted, now, assessed(posture, cause), None));
    }
    announced.n_events = u32::try_from(events.len()).unwrap_or(u32::MAX);
    (announced, events)
}

fn is_in_scope(subject: &Subject, change: &Change) -> bool {
    match change {
        Change::Readiness { framework, .. } | Change::Drift { framework, .. } => {
            subject.frameworks.contains(framework)
        }
        Change::Control { .. }
        | Change::Row { .. }
        | Change::Score { .. }
        | Change::Threshold { .. }
        | Change::RiskOpened { .. }
        | Change::RiskCritical { .. }
        | Change::RiskClosed { .. } => true,
    }
}

fn count(announced: &mut Announced, change: &Change) {
    match change {
        Change::Control { .. } => announced.n_controls += 1,
        Change::Readiness { .. } => announced.n_frameworks += 1,
        Change::RiskOpened { .. } => announced.n_risks_opened += 1,
        Change::RiskClosed { .. } => announced.n_risks_closed += 1,
        Change::Score { from, to, .. } => {
            announced.score_before = *from;
            announced.score_after = Some(*to);
        }
        Change::Row { .. }
        | Change::Drift { .. }
        | Change::Threshold { .. }
        | Change::RiskCritical { .. } => (),
    }
}

fn of_change(
    catalog: &Catalog,
    change: &Change,
    risks: &[OpenRisk],
    posture: &Posture,
    cause: &Cause,
    now: Time,
) -> Option<NewEvent> {
    let cause = cause.as_str();
    Some(match change {
        Change::Control { .. } | Change::Row { .. } => return None,
        Change::Readiness { framework, from, to } => {
            let object = readiness(*framework, *to, cause);
            let previous = json!({ "readinessScore": from });
            event(EventKind::ComplianceStatusChanged, now, object, Some(previous))
        }
        Change::Drift { framework, rows, because } => {
            let object = drift(catalog, *framework, rows, because);
            event(EventKind::ComplianceDriftDetected, now, object, None)
        }
        Change::Score { from, to, controls } => {
            let object = json!({
                "overallScore": to,
                "grade": posture.score.grade(),
                "cause": cause,
                "controls": controls,
                "dedupKey": "security_score",
            });
            let previous =
                from.map(|it| json!({ "overallScore": it, "grade": Score::grade_of(it) }));
            event(EventKind::SecurityScoreChanged, now, object, previous)
        }
        Change::Threshold { threshold, direction, from, to } => {
            let object = json!({
                "threshold": threshold,
                "direction": direction.as_str(),
                "overallScore": to,
                "cause": cause,
                "dedupKey": format!("security_score_threshold/{threshold}"),
            });
            let previous = json!({ "overallScore": from });
            event(EventKind::SecurityScoreThresholdCrossed, now, object, Some(previous))
        }
        Change::RiskOpened { risk } => {
            event(EventKind::RiskItemCreated, now, risk_object(find(risks, risk)?), None)
        }
        Change::RiskCritical { risk } => {
            event(EventKind::CriticalRiskDetected, now, risk_object(find(risks, risk)?), None)
        }
        Change::RiskClosed { risk, .. } => {
            let open = find(risks, risk)?;
            let mut object = risk_object(open);
            let resolution = open.closed.as_ref().map(|it| it.resolution.as_str());
            object["resolution"] = json!(resolution);
            event(EventKind::RiskItemResolved, now, object, None)
        }
    })
}

fn readiness(framework: FrameworkId, to: u8, cause: &str) -> Value {
    json!({
        "framework": framework.as_str(),
        "readinessScore": to,
        "cause": cause,
        "dedupKey": format!("compliance/{}", framework.as_str()),
    })
}

fn drift(catalog: &Catalog, id: FrameworkId, rows: &[usize], because: &[String]) -> Value {
    let framework = catalog.framework(id);
    let shown = rows.iter().take(N_DRIFTED_SHOWN);
    let references: Vec<_> = shown.map(|it| framework.rows[*it].reference.as_str()).collect();
    json!({
        "framework": id.as_str(),
        "requirements": references,
        "count": rows.len(),
        "because": because,
        "dedupKey": format!("compliance_drift/{}", id.as_str()),
    })
}

/// `None` for one that is accepted: nothing more is said of it.
fn find<'a>(risks: &'a [OpenRisk], risk: &Risk) -> Option<&'a OpenRisk> {
    let mut all = risks.iter().filter(|it| it.accepted.is_none());
    all.find(|it| it.risk.condition == risk.condition)
}

/// The same in all events about a risk.
pub(in crate::app) fn risk_key(id: RiskId) -> String {
    format!("risk/{id}")
}

/// A risk as events show it.
pub(in crate::app) fn risk_object(open: &OpenRisk) -> Value {
    let risk = &open.risk;
    json!({
        "id": open.id.to_string(),
        "title": risk.title,
        "description": risk.description,
        "category": risk.category,
        "severity": risk.severity.as_str(),
        "riskScore": risk.score,
        "dollarImpact": risk.dollar_impact,
        "sourceType": risk.source_type.as_str(),
        "createdAt": open.created_at.to_string(),
        "occurrence": open.occurrence,
        "dedupKey": risk_key(open.id),
    })
}

fn assessed(posture: &Posture, cause: &Cause) -> Value {
    let count =
        |severity: Severity| posture.risks.iter().filter(|it| it.severity == severity).count();
    json!({
        "cause": cause.as_str(),
        "baseline": cause.is_baseline(),
        "dedupKey": "risk_assessment",
        "openRisks": posture.risks.len(),
        "critical": count(Severity::Critical),
        "high": count(Severity::High),
        "medium": count(Severity::Medium),
        "low": count(Severity::Low),
        "controlsTotal": posture.score.n_total,
        "controlsCompliant": posture.score.n_compliant,
        "controlsPartial": posture.score.n_partial,
        "controlsNonCompliant": posture.score.n_non_compliant,
    })
}

/// Announces a new asset in the transaction that adds it.
pub fn asset_discovered(batch: &mut ClientBatch<'_>, asset: &Asset, now: Time) -> Result<()> {
    let object = json!({
        "id": asset.id.to_string(),
        "name": asset.name,
        "assetType": asset.asset_type.as_str(),
        "category": asset.category,
        "source": asset.source,
        "externalId": asset.external_id,
        "isCritical": asset.is_critical,
        "isManaged": asset.is_managed,
        "firstDiscoveredAt": asset.first_discovered_at.to_string(),
        "dedupKey": format!("asset/{}", asset.id),
    });
    batch.add_event(event(EventKind::AssetDiscovered, now, object, None)).map(|_| ())
}

/// Announces a run of a source in the transaction that takes it in.
pub fn sync_completed(batch: &mut ClientBatch<'_>, import: &Import) -> Result<()> {
    let object = json!({
        "source": import.source,
        "format": import.format,
        "scopes": import.scopes,
        "scopeCount": import.n_scopes,
        "importId": import.id.to_string(),
        "records": import.n_records,
        "facts": import.n_facts,
        "assetsAdded": import.n_assets_new,
        "assetsUpdated": import.n_assets_updated,
        "complete": import.complete,
        "dedupKey": format!("integration_sync/{}", import.source),
    });
    batch.add_event(event(EventKind::IntegrationSyncCompleted, import.at, object, None)).map(|_| ())
}
