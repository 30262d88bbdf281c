//! Reports to hand on: one client's compliance with a framework, and the whole portfolio, as files.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};

use super::{portfolio_table, requirement_table};
use crate::api::edge::caller::By;
use crate::api::edge::right::{ViewCompliance, ViewPortfolio};
use crate::api::wire::file::{AnyFormat, FileFormat, FileReply, TableFormat};
use crate::api::wire::param::{self, Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::view::{ReportFormatView, TableFormatView};
use crate::api::{Group, Web};
use crate::app::report::framework::FrameworkReport;
use crate::app::report::oscal;
use crate::error::{Error, Result};
use crate::store::ClientSnapshot;

fn content(report: &FrameworkReport, format: FileFormat) -> Result<Vec<u8>> {
    match format {
        FileFormat::Csv | FileFormat::Xlsx => requirement_table::table(report, format),
        FileFormat::Oscal => serde_json::to_vec(&oscal::document(report)).map_err(Error::internal),
    }
}

pub struct Reports;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Reports {
    /// Report a client's compliance with a framework
    ///
    /// A file with each requirement: its status, why it is not compliant, its controls, when they were last seen and by
    /// which source, and what people decided and attested. In OSCAL, only `compliant` is `satisfied`.
    /// Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/reports/:frameworkId",
        method = "get",
        operation_id = "get_client_report"
    )]
    async fn get_client_report(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
        /// Default: `csv`.
        format: Query<Option<Raw<ReportFormatView>>>,
    ) -> Result<FileReply<AnyFormat>, Failure> {
        let format = param::word("format", format.0.as_ref())?;
        let format = format.map_or(FileFormat::Csv, |it: ReportFormatView| it.0);
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let id = web.app.catalog().framework_named(&framework_id.text)?.id;
        let (app, name) = (Arc::clone(&web.app), client.name.clone());
        let read = move |snapshot: &ClientSnapshot| {
            content(&app.framework_report(snapshot, client, id)?, format)
        };
        let content = rows.read(read).await?;
        Ok(FileReply::of(&[&name, id.as_str()], format, content))
    }

    /// Report the scores of all clients
    ///
    /// A table with one row per active client: score, grade, coverage, open risks, what needs attention, and the figures
    /// of each framework that is in scope for the client. At most 10,000 clients.
    /// Scope: `read:portfolio`.
    #[oai(path = "/portfolio/report", method = "get", operation_id = "get_portfolio_report")]
    async fn get_portfolio_report(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewPortfolio>,
        /// Default: `csv`.
        format: Query<Option<Raw<TableFormatView>>>,
    ) -> Result<FileReply<TableFormat>, Failure> {
        let format = param::word("format", format.0.as_ref())?;
        let format = format.map_or(FileFormat::Csv, |it: TableFormatView| it.0);
        let content = portfolio_table::table(&web, &by.0, format).await?;
        Ok(FileReply::of(&["portfolio"], format, content))
    }
}
