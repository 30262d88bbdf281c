//! One client's compliance with every framework, and why.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewCompliance;
use crate::api::manage::decision::row_decision::DecisionView;
use crate::api::v1::compliance::require_rows;
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::param;
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{LevelView, MappingRoleView, PartialBecauseView, StatusView, When};
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::report::because::ReasonInput;
use crate::app::report::client::ClientReport;
use crate::engine::framework::{Framework, FrameworkId, Level, Mapping};
use crate::engine::posture::{ControlOutcome, FrameworkOutcome, RowOutcome};
use crate::engine::readiness::{GroupReadiness, of_groups};
use crate::error::Result;
use crate::paper::Language;
use crate::store::ClientSnapshot;

/// One framework for one client.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ClientFrameworkSummary")]
#[serde(rename_all = "camelCase")]
pub struct ClientFrameworkSummaryView {
    framework_id: FrameworkName,
    framework_name: String,
    framework_version: String,
    /// True if the client must meet it: `settings.frameworks` names it.
    in_scope: bool,
    /// Applicable requirements. Those that are not passed, partial or failed are not assessed yet.
    total_controls: u32,
    passed_controls: u32,
    partial_controls: u32,
    failed_controls: u32,
    /// 0 to 100.
    readiness_score: u8,
    groups: Vec<GroupView>,
}

/// One group of a framework's requirements, such as a level of maturity.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RequirementGroup")]
#[serde(rename_all = "camelCase")]
pub struct GroupView {
    group: String,
    /// Applicable requirements of the group.
    total_controls: u32,
    passed_controls: u32,
    /// The mean score of the applicable requirements that have none below them, 0 to 100.
    readiness_score: u8,
}

/// A client's compliance with any framework, with the reasons.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ClientFramework")]
#[serde(rename_all = "camelCase")]
pub struct ClientFrameworkView {
    framework_id: FrameworkName,
    framework_name: String,
    framework_version: String,
    /// 0 to 100.
    readiness_score: u8,
    groups: Vec<GroupView>,
    requirements: Vec<ClientRequirementDetailView>,
}

/// One requirement and what keeps it from being compliant.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ClientRequirementDetail")]
#[serde(rename_all = "camelCase")]
pub struct ClientRequirementDetailView {
    requirement: String,
    title: String,
    description: String,
    /// The groups that ask for it.
    groups: Vec<String>,
    overall_status: StatusView,
    /// Null: it is not partial.
    partial_because: Null<PartialBecauseView>,
    /// 0 to 100.
    compliance_score: u8,
    /// One sentence for each thing that keeps it from being compliant. Empty: it is compliant, or does not apply.
    because: Vec<String>,
    decision: Null<DecisionView>,
    controls: Vec<RequirementControlView>,
}

/// A control that counts for a requirement, and its result. Findings and remediation: `GET
/// /api/clients/{clientId}/controls`.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RequirementControl")]
#[serde(rename_all = "camelCase")]
pub struct RequirementControlView {
    control_code: String,
    title: String,
    role: MappingRoleView,
    status: StatusView,
    /// Null: it is not partial.
    partial_because: Null<PartialBecauseView>,
    /// 0 to 100. Null: not assessed.
    score: Null<u8>,
    assessed_at: Null<When>,
}

impl GroupView {
    fn all(framework: &Framework, outcome: &FrameworkOutcome) -> Vec<Self> {
        let all = framework.groups.iter().zip(of_groups(framework, &outcome.rows));
        let view = |(group, of): (&String, GroupReadiness)| Self {
            group: group.clone(),
            total_controls: of.n_total,
            passed_controls: of.n_compliant,
            readiness_score: of.readiness,
        };
        all.map(view).collect()
    }
}

impl ClientFrameworkView {
    /// The requirements of one level.
    pub fn of(
        report: &ClientReport,
        framework: &Framework,
        outcome: &FrameworkOutcome,
        level: Level,
    ) -> Self {
        Self::of_rows(report, framework, outcome, |row| framework.rows[row].level == level)
    }

    /// The requirements that are wanted, by their index.
    fn of_rows(
        report: &ClientReport,
        framework: &Framework,
        outcome: &FrameworkOutcome,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Self {
        let input = report.reasons();
        let rows = framework.mappings().into_iter().enumerate();
        let rows = rows.filter(|(row, _)| is_wanted(*row));
        let view = |row: (usize, Vec<&Mapping>)| {
            ClientRequirementDetailView::of(report, &input, framework, outcome, row)
        };
        Self {
            framework_id: FrameworkName(framework.id),
            framework_name: framework.name.clone(),
            framework_version: framework.version.clone(),
            readiness_score: outcome.summary.readiness,
            groups: GroupView::all(framework, outcome),
            requirements: rows.map(view).collect(),
        }
    }
}

impl ClientRequirementDetailView {
    /// A row of a framework, by its reference.
    pub fn read(
        app: &App,
        snapshot: &ClientSnapshot,
        framework: FrameworkId,
        reference: &str,
    ) -> Result<Self> {
        let report = app.client_report(snapshot)?;
        let framework = report.catalog.get_framework(framework)?;
        let row = framework.get_row(reference)?;
        let outcome = snapshot.framework_outcome(framework)?;
        let mappings = framework.mappings().swap_remove(row);
        Ok(Self::of(&report, &report.reasons(), framework, &outcome, (row, mappings)))
    }

    fn of(
        report: &ClientReport,
        input: &ReasonInput<'_>,
        framework: &Framework,
        outcome: &FrameworkOutcome,
        (index, mappings): (usize, Vec<&Mapping>),
    ) -> Self {
        let row = &framework.rows[index];
        let RowOutcome { status, score } = outcome.rows[index];
        let decision = report.find_decision(framework.id, &row.reference);
        let because = input.because(&mappings, outcome.rows[index], decision);
        let why = input.partial_because(&mappings, outcome.rows[index]);
        let because = because.iter().map(|it| it.text(Language::English)).collect();
        let control = |mapping: &Mapping| {
            let ControlOutcome { code, status, score, assessed_at, partial_because, .. } =
                &report.controls[mapping.control];
            RequirementControlView {
                control_code: code.clone(),
                title: report.catalog.controls[mapping.control].title.clone(),
                role: MappingRoleView(mapping.role),
                status: StatusView(*status),
                partial_because: partial_because.map(PartialBecauseView).into(),
                score: (*score).into(),
                assessed_at: assessed_at.map(When).into(),
            }
        };
        Self {
            requirement: row.reference.clone(),
            title: row.title.clone(),
            description: row.description.clone(),
            groups: row.groups.iter().map(|it| framework.groups[*it].clone()).collect(),
            overall_status: StatusView(status),
            partial_because: why.map(PartialBecauseView).into(),
            compliance_score: score,
            because,
            decision: decision.cloned().map(DecisionView::of).into(),
            controls: mappings.into_iter().map(control).collect(),
        }
    }
}

fn summaries(app: &App, rows: &ClientSnapshot) -> Result<Vec<ClientFrameworkSummaryView>> {
    let report = app.client_report(rows)?;
    let view = |framework: &Framework| {
        let outcome = rows.framework_outcome(framework)?;
        let summary = outcome.summary;
        Ok(ClientFrameworkSummaryView {
            framework_id: FrameworkName(framework.id),
            framework_name: framework.name.clone(),
            framework_version: framework.version.clone(),
            in_scope: report.frameworks.contains(&framework.id),
            total_controls: summary.total,
            passed_controls: summary.passed,
            partial_controls: summary.partial,
            failed_controls: summary.failed,
            readiness_score: summary.readiness,
            groups: GroupView::all(framework, &outcome),
        })
    };
    report.catalog.frameworks.iter().map(view).collect()
}

pub struct ClientCompliance;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ClientCompliance {
    /// List a client's compliance with every framework
    ///
    /// Those of the contract first, then the others, each with its groups. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/compliance",
        method = "get",
        operation_id = "list_client_frameworks"
    )]
    async fn list_client_frameworks(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Data<Vec<ClientFrameworkSummaryView>>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let app = Arc::clone(&web.app);
        Ok(Data::kept(&rows.read(move |snapshot| summaries(&app, snapshot)).await?))
    }

    /// Explain a client's compliance with a framework
    ///
    /// Every requirement with its decision, its controls, and what keeps it from being compliant. With `level=detail`,
    /// the framework's detail rows instead, if it has any. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/compliance/:frameworkId",
        method = "get",
        operation_id = "get_client_framework"
    )]
    async fn get_client_framework(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
        level: Query<Option<Raw<LevelView>>>,
        /// Only requirements with this status. Can be repeated.
        status: Query<Option<Vec<Raw<StatusView>>>>,
    ) -> Result<Data<ClientFrameworkView>, Failure> {
        let statuses: Vec<StatusView> = param::words("status", status.0.as_ref())?;
        let level = param::word("level", level.0.as_ref())?;
        let level = level.map_or(Level::Requirement, |it: LevelView| it.0);
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let id = web.app.catalog().framework_named(&framework_id.text)?.id;
        require_rows(web.app.catalog().get_framework(id)?, level)?;
        let app = Arc::clone(&web.app);
        let read = move |snapshot: &ClientSnapshot| {
            let report = app.client_report(snapshot)?;
            let framework = report.catalog.get_framework(id)?;
            let outcome = snapshot.framework_outcome(framework)?;
            let is_wanted = |row: usize| {
                framework.rows[row].level == level
                    && param::is_asked(&statuses, &StatusView(outcome.rows[row].status))
            };
            Ok(ClientFrameworkView::of_rows(&report, framework, &outcome, is_wanted))
        };
        Ok(Data::kept(&rows.read(read).await?))
    }
}
