//! Operations 8 and 9: compliance.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::page_cache::{PageContent, PageKey};
use crate::api::edge::right::ReadCompliance;
use crate::api::wire::param;
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null, Rendered};
use crate::api::wire::view::{FrameworkIdView, LevelView, StatusView, When};
use crate::api::{Group, Web};
use crate::engine::framework::{Framework, FrameworkId, FrameworkRow, Level, Mapping};
use crate::engine::posture::{ControlOutcome, FrameworkOutcome, FrameworkSummary, RowOutcome};
use crate::error::{Error, Result};

/// One framework in the rollup.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ComplianceSummary")]
#[serde(rename_all = "camelCase")]
pub struct ComplianceSummaryView {
    framework: FrameworkIdView,
    /// Applicable requirements. Those that are not passed, partial or failed are not assessed yet.
    total_controls: u32,
    passed_controls: u32,
    partial_controls: u32,
    failed_controls: u32,
    /// 0 to 100.
    readiness_score: u8,
}

impl ComplianceSummaryView {
    fn of((id, summary): (FrameworkId, FrameworkSummary)) -> Self {
        Self {
            framework: FrameworkIdView(id),
            total_controls: summary.total,
            passed_controls: summary.passed,
            partial_controls: summary.partial,
            failed_controls: summary.failed,
            readiness_score: summary.readiness,
        }
    }
}

/// The result of a technical control.
#[derive(Clone, JsonSchema, Serialize)]
#[schemars(rename = "ControlResult")]
#[serde(rename_all = "camelCase")]
pub struct ControlResultView {
    control_code: String,
    title: String,
    status: StatusView,
    /// 0 to 100. Null: not assessed.
    score: Null<u8>,
    /// What was found, as text.
    findings: Null<String>,
    /// How to meet the control.
    remediation: Null<String>,
    assessed_at: Null<When>,
}

impl ControlResultView {
    pub fn of(outcome: ControlOutcome, title: &str) -> Self {
        Self {
            control_code: outcome.code,
            title: title.to_owned(),
            status: StatusView(outcome.status),
            score: outcome.score.into(),
            findings: outcome.findings.into(),
            remediation: outcome.remediation.into(),
            assessed_at: outcome.assessed_at.map(When).into(),
        }
    }
}

/// One requirement, by the framework's own reference.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RequirementStatus")]
#[serde(rename_all = "camelCase")]
pub struct RequirementStatusView {
    requirement: String,
    description: String,
    overall_status: StatusView,
    /// 0 to 100.
    compliance_score: u8,
    controls: Vec<ControlResultView>,
}

/// A client's compliance with a framework, requirement by requirement.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ComplianceDetail")]
#[serde(rename_all = "camelCase")]
pub struct ComplianceDetailView {
    framework_id: FrameworkIdView,
    framework_name: String,
    framework_version: String,
    requirements: Vec<RequirementStatusView>,
}

impl ComplianceDetailView {
    pub fn of(
        framework: &Framework,
        level: Level,
        outcome: &FrameworkOutcome,
        controls: &[ControlResultView],
    ) -> Self {
        let rows = framework.rows.iter().zip(&outcome.rows).zip(framework.mappings());
        let rows = rows.filter(|((row, _), _)| row.level == level);
        let requirement =
            |((row, outcome), mappings): ((&FrameworkRow, &RowOutcome), Vec<&Mapping>)| {
                RequirementStatusView {
                    requirement: row.reference.clone(),
                    description: row.description.clone(),
                    overall_status: StatusView(outcome.status),
                    compliance_score: outcome.score,
                    controls: mappings.iter().map(|it| controls[it.control].clone()).collect(),
                }
            };
        Self {
            framework_id: FrameworkIdView(framework.id),
            framework_name: framework.name.clone(),
            framework_version: framework.version.clone(),
            requirements: rows.map(requirement).collect(),
        }
    }
}

pub struct Compliance;

#[OpenApi(prefix_path = "/api/v1", tag = "Group::Versioned")]
impl Compliance {
    /// List a client's compliance by framework
    ///
    /// One summary per framework. Scope: `read:compliance`.
    #[oai(path = "/clients/:clientId/compliance", method = "get", operation_id = "list_compliance")]
    async fn list_compliance(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ReadCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Data<Vec<ComplianceSummaryView>>, Failure> {
        let (client, rows) = web.app.reach_active(&by.0, client_id.read()?)?;
        let shown = PageContent::Compliance(client.id);
        let key = PageKey { shown, versions: [rows.versions().posture, 0] };
        let app = Arc::clone(&web.app);
        let rendered = web.cached_or_render(key, &rows, move |snapshot| {
            let all = app.contract_summaries(snapshot)?.into_iter().map(ComplianceSummaryView::of);
            Ok(Rendered::data(&all.collect::<Vec<_>>()))
        });
        Ok(Data::rendered(rendered.await?))
    }

    /// Get a client's compliance with one framework
    ///
    /// All requirements in the framework's order. With `level=detail`, the framework's detail rows instead, if it has any.
    /// Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/compliance/:frameworkId",
        method = "get",
        operation_id = "get_compliance"
    )]
    async fn get_compliance(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ReadCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
        level: Query<Option<Raw<LevelView>>>,
    ) -> Result<Data<ComplianceDetailView>, Failure> {
        let level = param::word("level", level.0.as_ref())?;
        let level = level.map_or(Level::Requirement, |it: LevelView| it.0);
        let (client, rows) = web.app.reach_active(&by.0, client_id.read()?)?;
        let catalog = web.app.catalog();
        let framework = catalog.contract_framework(&framework_id.text)?;
        require_rows(framework, level)?;
        let id = framework.id;
        let shown = PageContent::Framework { client: client.id, id, level: level.into() };
        let key = PageKey { shown, versions: [rows.versions().posture, 0] };
        let app = Arc::clone(&web.app);
        let rendered = web.cached_or_render(key, &rows, move |snapshot| {
            let framework = catalog.get_framework(id)?;
            let outcome = snapshot.framework_outcome(framework)?;
            let outcomes = app.control_outcomes(snapshot)?.into_iter().zip(&catalog.controls);
            let controls: Vec<_> =
                outcomes.map(|(it, control)| ControlResultView::of(it, &control.title)).collect();
            Ok(Rendered::data(&ComplianceDetailView::of(framework, level, &outcome, &controls)))
        });
        Ok(Data::rendered(rendered.await?))
    }
}

pub fn require_rows(framework: &Framework, level: Level) -> Result<()> {
    if framework.rows.iter().any(|it| it.level == level) {
        return Ok(());
    }
    let rule = format!("{} has no detail rows", framework.id.as_str());
    Err(Error::invalid_field("level", rule))
}
