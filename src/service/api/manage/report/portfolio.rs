//! Frameworks, scores and risks over all clients.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Query;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::{CompareClients, ViewPortfolio};
use crate::api::manage::decision::risks::ManagedRiskView;
use crate::api::manage::report::kpis::{ExposureView, RisksView};
use crate::api::v1::scores::SecurityScoreView;
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::param::{Cursor, Limit, Needed, Offset, Raw, Text, UpTo, cut, limit_up_to};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Null, Rendered, StretchReply};
use crate::api::wire::view::{ClientOrderView, SeverityView, StatusView, Uid};
use crate::api::wire::{param, reply};
use crate::api::{Group, Web};
use crate::app::report::portfolio::{
    ClientRisk, ClientStanding, PortfolioQuery, PortfolioRow, StandingList,
};
use crate::app::report::posture::COVERAGE_MIN;
use crate::engine::framework::{Framework, FrameworkId};
use crate::engine::posture::FrameworkSummary;
use crate::error::{Error, Result};
use crate::id::{ClientId, RiskId};
use crate::page::{PULL_LIMIT_MAX, Page, SMALL_PULL_LIMIT_MAX, Stretch};
use crate::text::name_key;

/// The compliance of one client with a framework.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "PortfolioLine")]
#[serde(rename_all = "camelCase")]
pub struct LineView {
    client_id: Uid,
    client_name: String,
    framework: FrameworkName,
    /// 0 to 100.
    readiness_score: u8,
    /// Applicable requirements. Those that are not passed, partial or failed are not assessed yet.
    total_controls: u32,
    passed_controls: u32,
    partial_controls: u32,
    failed_controls: u32,
    /// The requirement of the request. Null if the request had none, like the next two fields.
    requirement: Null<String>,
    overall_status: Null<StatusView>,
    /// 0 to 100.
    compliance_score: Null<u8>,
}

impl LineView {
    fn of(line: PortfolioRow, framework: FrameworkId, requirement: Option<&str>) -> Self {
        let PortfolioRow { client, summary, row } = line;
        Self {
            client_id: Uid::of(client.id.as_bytes()),
            client_name: client.name.clone(),
            framework: FrameworkName(framework),
            readiness_score: summary.readiness,
            total_controls: summary.total,
            passed_controls: summary.passed,
            partial_controls: summary.partial,
            failed_controls: summary.failed,
            requirement: requirement.map(str::to_owned).into(),
            overall_status: row.map(|it| StatusView(it.status)).into(),
            compliance_score: row.map(|it| it.score).into(),
        }
    }
}

/// A client's score, and its summary in every framework.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "PortfolioScore")]
#[serde(rename_all = "camelCase")]
pub struct StandingView {
    client_id: Uid,
    client_name: String,
    /// `settings.tags`.
    tags: Vec<String>,
    /// Null until the client's first valid observation or attestation.
    score: Null<SecurityScoreView>,
    /// The overall score 30 days ago, or of the last day before that has one. Null: there was none, or
    /// the rules of assessment changed since then, so that it cannot be compared.
    score30_days_ago: Null<u8>,
    /// The share of the applicable controls, by weight, that is assessed, in percent.
    coverage: u8,
    /// The coverage is below 40.
    provisional: bool,
    /// What the open risks cost in an average year.
    exposure: ExposureView,
    /// Open risks that are not accepted, by severity.
    risks: RisksView,
    /// How many decisions of people are contradicted by what was seen: `contradictions` in
    /// `GET /api/clients/{clientId}/posture`.
    contradictions: u32,
    /// Why the client needs attention, in words, most important first. Empty: it does not.
    attention: Vec<String>,
    frameworks: Vec<FrameworkStandingView>,
}

/// How far a client is in a framework.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "PortfolioFramework")]
#[serde(rename_all = "camelCase")]
pub struct FrameworkStandingView {
    framework: FrameworkName,
    /// True if the client must meet it: `settings.frameworks` names it.
    in_scope: bool,
    /// 0 to 100.
    readiness_score: u8,
    /// Applicable requirements. Those that are not passed, partial or failed are not assessed yet.
    total_controls: u32,
    passed_controls: u32,
    partial_controls: u32,
    failed_controls: u32,
}

impl StandingView {
    fn of(it: ClientStanding) -> Self {
        let ClientStanding { client, score, coverage, n_risks, attention, frameworks, .. } = it;
        Self {
            client_id: Uid::of(client.id.as_bytes()),
            client_name: client.name.clone(),
            tags: it.tags,
            score30_days_ago: it.score_before.into(),
            exposure: ExposureView::of(it.exposure, it.n_unpriced_risks.into()),
            score: score.map(SecurityScoreView::of).into(),
            coverage,
            provisional: coverage < COVERAGE_MIN,
            risks: RisksView::of(n_risks),
            contradictions: it.n_contradictions,
            attention,
            frameworks: frameworks.into_iter().map(FrameworkStandingView::of).collect(),
        }
    }
}

impl FrameworkStandingView {
    fn of((id, in_scope, summary): (FrameworkId, bool, FrameworkSummary)) -> Self {
        Self {
            framework: FrameworkName(id),
            in_scope,
            readiness_score: summary.readiness,
            total_controls: summary.total,
            passed_controls: summary.passed,
            partial_controls: summary.partial,
            failed_controls: summary.failed,
        }
    }
}

/// An open risk of one of the clients.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "PortfolioRisk")]
#[serde(rename_all = "camelCase")]
pub struct ClientRiskView {
    client_id: Uid,
    client_name: String,
    #[serde(flatten)]
    risk: ManagedRiskView,
}

impl ClientRiskView {
    fn of(ClientRisk { client, risk, references }: ClientRisk) -> Self {
        Self {
            client_id: Uid::of(client.id.as_bytes()),
            client_name: client.name.clone(),
            risk: ManagedRiskView::of(risk, references),
        }
    }
}

/// Reads `<clientId>/<riskId>` of the last row of the previous page.
fn risk_mark(given: Option<&Raw<Cursor>>) -> Result<Option<(ClientId, RiskId)>> {
    let Some(Raw { text, .. }) = given else { return Ok(None) };
    let read = |(client, risk): (&str, &str)| Some((client.parse().ok()?, risk.parse().ok()?));
    let mark = text.split_once('/').and_then(read);
    mark.map(Some)
        .ok_or_else(|| Error::invalid_field("after", "must be <clientId>/<riskId> of a row"))
}

/// Finds the row of a requirement.
fn row(framework: &Framework, requirement: Option<&str>) -> Result<Option<usize>> {
    let Some(reference) = requirement else { return Ok(None) };
    let row = framework.find_row_in_any_case(reference);
    let rule = || format!("must be a requirement of {}", framework.id.as_str());
    row.map(Some).ok_or_else(|| Error::invalid_field("requirement", rule()))
}

pub struct Portfolio;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Portfolio {
    /// Compare clients in a framework
    ///
    /// Returns one row per active client. With `requirement`, each row also has the client's status there, and `status`
    /// filters by it. Scope: `read:portfolio` or `read:compliance`.
    #[oai(path = "/portfolio/compliance", method = "get", operation_id = "list_portfolio")]
    async fn list_portfolio(
        &self,
        web: Held<&Arc<Web>>,
        by: By<CompareClients>,
        /// A framework identifier, in upper or lower case.
        framework: Query<Needed<FrameworkName>>,
        /// A reference of the framework, in upper or lower case, for example `CC6.1`.
        requirement: Query<Option<Raw<Text>>>,
        /// Only clients with this status. Requires `requirement`.
        status: Query<Option<Raw<StatusView>>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::PageReply<LineView>, Failure> {
        let catalog = web.app.catalog();
        let framework = param::framework(&catalog, framework.0.0.as_ref())?;
        let row = row(framework, requirement.0.as_ref().map(|it| &*it.text))?;
        let requirement = row.map(|it| framework.rows[it].reference.clone());
        let framework = framework.id;
        let status = param::word("status", status.0.as_ref())?.map(|it: StatusView| it.0);
        if status.is_some() && row.is_none() {
            let rule = "requires the parameter requirement";
            return Err(Error::invalid_field("status", rule).into());
        }
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let question = PortfolioQuery { framework, row, status };
        let Page { items, total, cut } = web.app.page_portfolio(&by.0, question, cut).await?;
        let view = |it| LineView::of(it, framework, requirement.as_deref());
        let items = items.into_iter().map(view).collect();
        Ok(reply::PageReply::rendered(Rendered::page(&Page { items, total, cut })))
    }

    /// List the scores of all clients
    ///
    /// Returns one row per active client: the score, and the summary of every framework. Scope: `read:portfolio`.
    #[oai(path = "/portfolio/scores", method = "get", operation_id = "list_portfolio_scores")]
    async fn list_portfolio_scores(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewPortfolio>,
        /// Only those with this in their name, in upper or lower case.
        search: Query<Option<Raw<Text>>>,
        /// Only those of this industry, in upper or lower case.
        industry: Query<Option<Raw<Text>>>,
        /// Only those with this tag in `settings.tags`, in upper or lower case.
        tag: Query<Option<Raw<Text>>>,
        /// Only those that must meet this framework: `settings.frameworks` names it. In upper or lower case.
        framework: Query<Option<Raw<FrameworkName>>>,
        /// Default: `added`.
        order: Query<Option<Raw<ClientOrderView>>>,
        /// Continue after this client: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<StandingView>, Failure> {
        let order = param::word("order", order.0.as_ref())?.map(|it: ClientOrderView| it.0);
        let catalog = web.app.catalog();
        let framework = framework.0.map(|it| param::framework(&catalog, Some(&it))).transpose()?;
        let list = StandingList {
            search: search.0.map(|it| it.text.to_lowercase()).unwrap_or_default(),
            industry: industry.0.map(|it| it.text.to_lowercase()),
            tag: tag.0.map(|it| name_key(&it.text)),
            framework: framework.map(|it| it.id),
            order: order.unwrap_or_default(),
            after: param::id("after", after.0.as_ref())?,
        };
        let limit = limit_up_to(limit.0.as_ref())?;
        let all = web.app.list_standings(&by.0, list, limit + 1).await?;
        let all = Stretch::of(all, limit, |it| it.client.id.to_string());
        Ok(StretchReply::of(&all.map(StandingView::of)))
    }

    /// List the open risks of all clients
    ///
    /// Of active clients, by client and then by id. Includes accepted risks and risks whose evidence has expired.
    /// Scope: `read:portfolio`.
    #[oai(path = "/portfolio/risks", method = "get", operation_id = "list_portfolio_risks")]
    async fn list_portfolio_risks(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewPortfolio>,
        severity: Query<Option<Raw<SeverityView>>>,
        /// Continue after this row: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<SMALL_PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<ClientRiskView>, Failure> {
        let severity = param::word("severity", severity.0.as_ref())?.map(|it: SeverityView| it.0);
        let after = risk_mark(after.0.as_ref())?;
        let limit = limit_up_to(limit.0.as_ref())?;
        let all = web.app.list_risks_of_all(&by.0, severity, after, limit + 1).await?;
        let all = Stretch::of(all, limit, |it| format!("{}/{}", it.client.id, it.risk.id));
        Ok(StretchReply::of(&all.map(ClientRiskView::of)))
    }
}
