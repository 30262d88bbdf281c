//! Operation 7: risks.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::page_cache::{PageContent, PageKey};
use crate::api::edge::right::ReadRisks;
use crate::api::wire::param::{Id, Limit, Offset, Raw, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Null, Rendered};
use crate::api::wire::view::{SeverityView, SourceTypeView, Uid, When};
use crate::api::wire::{param, reply};
use crate::api::{Group, Web};
use crate::app::report::posture::page_risks;
use crate::store::per_client::posture::OpenRisk;

/// An open risk of the latest assessment.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RiskItem")]
#[serde(rename_all = "camelCase")]
pub struct RiskItemView {
    /// Stays the same as long as the risk exists.
    id: Uid,
    title: String,
    description: String,
    category: String,
    severity: SeverityView,
    /// Estimated dollars per year that fixing this risk alone saves, rounded down to two significant digits. Null: there is
    /// no estimate, because no control is behind the risk, or the client's number of employees is unknown.
    dollar_impact: Null<u64>,
    /// 0 to 100.
    risk_score: u8,
    source_type: SourceTypeView,
    created_at: When,
}

impl RiskItemView {
    fn of(open: OpenRisk) -> Self {
        Self {
            id: Uid::of(open.id.as_bytes()),
            title: open.risk.title,
            description: open.risk.description,
            category: open.risk.category,
            severity: SeverityView(open.risk.severity),
            dollar_impact: open.risk.dollar_impact.into(),
            risk_score: open.risk.score,
            source_type: SourceTypeView(open.risk.source_type),
            created_at: When(open.created_at),
        }
    }
}

pub struct VersionedRisks;

#[OpenApi(prefix_path = "/api/v1", tag = "Group::Versioned")]
impl VersionedRisks {
    /// List a client's risks
    ///
    /// Items of the latest risk assessment, highest `riskScore` first. Accepted risks are not listed. Scope: `read:risks`.
    #[oai(path = "/clients/:clientId/risks", method = "get", operation_id = "list_risks")]
    async fn list_risks(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ReadRisks>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
        severity: Query<Option<Raw<SeverityView>>>,
    ) -> Result<reply::PageReply<RiskItemView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let severity = param::word("severity", severity.0.as_ref())?.map(|it: SeverityView| it.0);
        let (client, rows) = web.app.reach_active(&by.0, client_id.read()?)?;
        let shown = PageContent::Risks { client: client.id, severity, cut };
        let key = PageKey { shown, versions: [rows.versions().posture, 0] };
        let rendered = web.cached_or_render(key, &rows, move |snapshot| {
            Ok(Rendered::page(&page_risks(snapshot, severity, cut)?.map(RiskItemView::of)))
        });
        Ok(reply::PageReply::rendered(rendered.await?))
    }
}
