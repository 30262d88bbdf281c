//! One framework, or one requirement of it, over all clients.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::Query;
use poem_openapi::{Object, OpenApi};
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::CompareClients;
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::param::{Limit, Offset, Raw, Text, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Null, Rendered};
use crate::api::wire::view::{StatusView, Uid};
use crate::api::wire::{param, reply};
use crate::api::{Group, Web};
use crate::app::report::portfolio::{PortfolioQuery, PortfolioRow};
use crate::engine::framework::{Framework, FrameworkId};
use crate::error::{Error, Result};
use crate::page::Page;

/// The compliance of one client with a framework.
#[derive(Object, Serialize)]
#[oai(rename = "PortfolioLine", rename_all = "camelCase")]
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

/// Finds the row of a requirement.
fn row(framework: &Framework, requirement: Option<&str>) -> Result<Option<usize>> {
    let Some(reference) = requirement else { return Ok(None) };
    let row = framework.find_row(reference);
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
        /// A framework identifier, in upper or lower case. Required.
        framework: Query<Option<Raw<FrameworkName>>>,
        /// A reference of the framework, for example `CC6.1`.
        requirement: Query<Option<Raw<Text>>>,
        /// Only clients with this status. Requires `requirement`.
        status: Query<Option<Raw<StatusView>>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::PageReply<LineView>, Failure> {
        let catalog = web.app.catalog();
        let framework = param::framework(&catalog, framework.0.as_ref())?;
        let requirement = requirement.0.map(|it| it.text);
        let row = row(framework, requirement.as_deref())?;
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
}
