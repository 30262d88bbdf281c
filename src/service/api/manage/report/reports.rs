//! Reports to hand on: one client's compliance with a framework, and the whole portfolio, as files.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};

use super::{portfolio_table, requirement_table};
use crate::api::edge::caller::{By, Origin};
use crate::api::edge::right::{ViewCompliance, ViewExport, ViewPortfolio};
use crate::api::manage::client::export::tally;
use crate::api::wire::file::{
    FileFormat, FileReply, FrameworkFormat, PortfolioFormat, ReadableFormat,
};
use crate::api::wire::param::{self, Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::view::{
    DocumentFormatView, LanguageView, PortfolioFormatView, ReportFormatView,
};
use crate::api::{Group, Web};
use crate::app::report::document::DocumentFormat;
use crate::app::report::framework::FrameworkReport;
use crate::app::report::oscal;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::ClientSnapshot;

fn content(report: &FrameworkReport, format: FileFormat) -> Result<Vec<u8>> {
    match format {
        FileFormat::Csv | FileFormat::Xlsx => requirement_table::table(report, format),
        FileFormat::Oscal => serde_json::to_vec(&oscal::document(report)).map_err(Error::internal),
        FileFormat::Html | FileFormat::Pdf => Err(Error::internal("no table")),
    }
}

/// `None`: people do not read the format.
fn readable(format: FileFormat) -> Option<DocumentFormat> {
    match format {
        FileFormat::Html => Some(DocumentFormat::Html),
        FileFormat::Pdf => Some(DocumentFormat::Pdf),
        FileFormat::Csv | FileFormat::Xlsx | FileFormat::Oscal => None,
    }
}

pub struct Reports;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Reports {
    /// Report a client's compliance with a framework
    ///
    /// A file with each requirement: its status, why it is not compliant, its controls, when they were last seen and by
    /// which source, and what people decided and attested. In OSCAL, only `compliant` is `satisfied`. As HTML or PDF, that of
    /// ISO 27001 is the statement of applicability, and that of CMMC Level 2 has the worksheet of the SPRS score.
    /// Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/reports/:frameworkId",
        method = "get",
        operation_id = "get_client_report"
    )]
    async fn get_client_report(
        &self,
        web: Held<&Arc<Web>>,
        origin: Origin,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
        /// Default: `csv`.
        format: Query<Option<Raw<ReportFormatView>>>,
        /// Of `html` and `pdf`. Default: `msp.language` of the configuration.
        language: Query<Option<Raw<LanguageView>>>,
    ) -> Result<FileReply<FrameworkFormat>, Failure> {
        let format = param::word("format", format.0.as_ref())?;
        let format = format.map_or(FileFormat::Csv, |it: ReportFormatView| it.0);
        let language = param::word("language", language.0.as_ref())?;
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let id = web.app.catalog().framework_named(&framework_id.text)?.id;
        if let Some(document) = readable(format) {
            let language = language.map(|it: LanguageView| it.0);
            let about = (client.id, id);
            let written = web.app.framework_document(&by.0, about, document, language).await?;
            tally(
                &web.app,
                (&by.0, &origin),
                "GET /api/clients/{clientId}/reports/{frameworkId}",
                format!("client {} {}", client.id, id.as_str()),
            );
            let language = language.unwrap_or(web.app.letterhead().language);
            let words = [&client.name, id.as_str(), language.as_str()];
            return Ok(FileReply::of(&words, format, written.content));
        }
        let (app, name) = (Arc::clone(&web.app), client.name.clone());
        let read = move |snapshot: &ClientSnapshot| {
            content(&app.framework_report(snapshot, client, id)?, format)
        };
        let content = rows.read(read).await?;
        Ok(FileReply::of(&[&name, id.as_str()], format, content))
    }

    /// Report a client's posture
    ///
    /// A document for people, in English or in French: summary, score over time, frameworks, what changed in the last
    /// quarter, risks with what they cost, what to do next, what is not assessed, sources, and every control. It ends with
    /// a signature that `posture report verify` checks with a key of `reportKeys` in `GET /api/system`.
    /// Scope: `read:export`.
    #[oai(
        path = "/clients/:clientId/reports/posture",
        method = "get",
        operation_id = "get_posture_report"
    )]
    async fn get_posture_report(
        &self,
        web: Held<&Arc<Web>>,
        origin: Origin,
        by: By<ViewExport>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// Default: `html`.
        format: Query<Option<Raw<DocumentFormatView>>>,
        /// Default: `msp.language` of the configuration.
        language: Query<Option<Raw<LanguageView>>>,
    ) -> Result<FileReply<ReadableFormat>, Failure> {
        let format = param::word("format", format.0.as_ref())?;
        let format = format.map_or(FileFormat::Html, |it: DocumentFormatView| it.0);
        let language = param::word("language", language.0.as_ref())?;
        let language = language.map(|it: LanguageView| it.0);
        let document = readable(format).ok_or_else(|| Error::internal("no document"))?;
        let id = client_id.read::<ClientId>()?;
        let written = web.app.posture_document(&by.0, id, document, language).await?;
        let about = format!("client {id}");
        tally(&web.app, (&by.0, &origin), "GET /api/clients/{clientId}/reports/posture", about);
        let language = language.unwrap_or(web.app.letterhead().language);
        let words = [&written.subject, "report", language.as_str()];
        Ok(FileReply::of(&words, format, written.content))
    }

    /// Report on all clients
    ///
    /// Of the active clients that the caller may access, at most 10,000. As `csv` or `xlsx`, a table with one row per
    /// client: score, grade, coverage, open risks, what needs attention, and the figures of each framework that is in scope
    /// for the client. As `html` or `pdf`, a document for people, in English or in French: one line per client, what changed
    /// in the last quarter, who needs attention and why, and what to do next; signed as the reports about one client.
    /// Scope: `read:portfolio`.
    #[oai(path = "/portfolio/report", method = "get", operation_id = "get_portfolio_report")]
    async fn get_portfolio_report(
        &self,
        web: Held<&Arc<Web>>,
        origin: Origin,
        by: By<ViewPortfolio>,
        /// Default: `csv`.
        format: Query<Option<Raw<PortfolioFormatView>>>,
        /// Of `html` and `pdf`. Default: `msp.language` of the configuration.
        language: Query<Option<Raw<LanguageView>>>,
    ) -> Result<FileReply<PortfolioFormat>, Failure> {
        let format = param::word("format", format.0.as_ref())?;
        let format = format.map_or(FileFormat::Csv, |it: PortfolioFormatView| it.0);
        let language = param::word("language", language.0.as_ref())?;
        let language = language.map(|it: LanguageView| it.0);
        let Some(document) = readable(format) else {
            let content = portfolio_table::table(&web, &by.0, format).await?;
            return Ok(FileReply::of(&["portfolio"], format, content));
        };
        let written = web.app.portfolio_document(&by.0, document, language).await?;
        let about = "all clients".to_owned();
        tally(&web.app, (&by.0, &origin), "GET /api/portfolio/report", about);
        let language = language.unwrap_or(web.app.letterhead().language);
        Ok(FileReply::of(&["portfolio", language.as_str()], format, written.content))
    }
}
