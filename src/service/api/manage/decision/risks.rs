//! Open risks and their acceptances: list, accept, revoke.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewRisks};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::param::{self, Id, Limit, Offset, Raw, YesOrNo, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reference::ReferenceView;
use crate::api::wire::reply;
use crate::api::wire::reply::{Data, Null, Rendered};
use crate::api::wire::view::{End, RiskOrderView, SeverityView, SourceTypeView, Uid, When};
use crate::api::{Group, Web};
use crate::app::decision::Said;
use crate::app::decision::risk::{NewAcceptance, RiskChange};
use crate::app::report::posture::{RiskOrder, page_open_risks};
use crate::auth::caller::Caller;
use crate::clock::zone::Zone;
use crate::error::{Error, Result};
use crate::id::RiskId;
use crate::page::Page;
use crate::store::ClientSnapshot;
use crate::store::per_client::posture::{Acceptance, OpenRisk};
use crate::store::per_client::reference::{ExternalReference, Referenced};

/// An open risk, with what only the management API shows.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ManagedRisk")]
#[serde(rename_all = "camelCase")]
pub struct ManagedRiskView {
    id: Uid,
    title: String,
    description: String,
    category: String,
    severity: SeverityView,
    dollar_impact: Null<u64>,
    /// 0 to 100.
    risk_score: u8,
    source_type: SourceTypeView,
    /// The control that fails. Null: it is a finding that no control is mapped to.
    control_code: Null<String>,
    created_at: When,
    /// How often the risk was announced as open, from 1: when it was opened, and when an acceptance ended.
    occurrence: u32,
    /// Since when it is open. Neither an acceptance nor its end changes that.
    opened_at: When,
    /// False if the evidence for it has expired.
    verified: bool,
    /// Null: nobody accepted the risk as it is.
    acceptance: Null<AcceptanceView>,
    /// An acceptance that does not cover the risk, because it is clearly worse than what was accepted. It counts again if the risk is
    /// no worse than that before it expires. Null: there is none.
    exceeded_acceptance: Null<AcceptanceView>,
    /// Everything that fails is muted at its source, such as an assessor's list of exceptions: the risk counts as accepted.
    muted: bool,
    /// What the risk is called in other systems, for example its ticket.
    external_references: Vec<ReferenceView>,
}

/// A decision to accept a risk until a point in time.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RiskAcceptance")]
#[serde(rename_all = "camelCase")]
pub struct AcceptanceView {
    until: When,
    reason: String,
    by: String,
    at: When,
}

impl AcceptanceView {
    fn of(it: Acceptance) -> Self {
        Self { until: When(it.until), reason: it.reason, by: it.by, at: When(it.at) }
    }
}

impl ManagedRiskView {
    pub fn of(open: OpenRisk, references: Vec<ExternalReference>) -> Self {
        let covers = open.acceptance().is_some();
        let OpenRisk { id, risk, created_at, closed: _, occurrence, opened_at, accepted } = open;
        let said = |is_wanted: bool| accepted.clone().filter(|_| is_wanted).map(AcceptanceView::of);
        Self {
            id: Uid::of(id.as_bytes()),
            control_code: risk.control_code().map(str::to_owned).into(),
            title: risk.title,
            description: risk.description,
            category: risk.category,
            severity: SeverityView(risk.severity),
            dollar_impact: risk.dollar_impact.into(),
            risk_score: risk.score,
            source_type: SourceTypeView(risk.source_type),
            created_at: When(created_at),
            occurrence,
            opened_at: When(opened_at),
            verified: risk.verified,
            acceptance: said(covers).into(),
            exceeded_acceptance: said(!covers).into(),
            muted: risk.is_muted,
            external_references: ReferenceView::all(references),
        }
    }
}

/// Whether a risk is accepted, and what it is called in other systems. `until` and `reason` are required to accept it; to
/// end an acceptance, a `reason` may be given.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "RiskChange")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct RiskBody {
    /// Absent: stays as it is.
    #[serde(default, deserialize_with = "present")]
    accepted: Option<bool>,
    /// When the acceptance expires, at most two years from now. The risk is shown again from then on.
    #[serde(default, deserialize_with = "present")]
    until: Option<End>,
    #[schemars(length(min = 1, max = 500))]
    #[serde(default, deserialize_with = "present")]
    reason: Option<String>,
    /// Who decided. Default: the caller.
    #[schemars(length(min = 1, max = 255))]
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
    /// What the risk is called in other systems, at most 10. They replace all that it has.
    #[schemars(length(max = 10))]
    #[serde(default, deserialize_with = "present")]
    external_references: Option<Vec<ReferenceView>>,
}

example!(RiskBody, {
    "accepted": true,
    "until": "2027-03-31T00:00:00Z",
    "reason": "The server is replaced in March",
});

impl RiskBody {
    fn change(self, caller: &Caller, zone: &Zone) -> Result<RiskChange> {
        let Self { accepted, until, reason, by, external_references } = self;
        let references = ReferenceView::read(external_references);
        if accepted.is_none() && references.is_none() {
            return Err(Error::invalid_field("accepted", "is required"));
        }
        if accepted != Some(true) {
            let is_left = accepted.is_none() && reason.is_some();
            let given = [("until", until.is_some()), ("reason", is_left), ("by", by.is_some())];
            if let Some((field, _)) = given.into_iter().find(|it| it.1) {
                return Err(Error::invalid_field(field, "must be absent unless accepted is true"));
            }
            let reason = reason.unwrap_or_default();
            return Ok(RiskChange {
                acceptance: accepted.map(|_| Said::Withdrawn { reason }),
                references,
            });
        }
        let required = |field| move || Error::invalid_field(field, "is required");
        let until = until.ok_or_else(required("until"))?.0.at(zone);
        let reason = reason.ok_or_else(required("reason"))?;
        let by = caller.author(caller.signature(by)?.unwrap_or_else(|| caller.name()));
        let new = NewAcceptance { until, reason, by };
        Ok(RiskChange { acceptance: Some(Said::Stated(new)), references })
    }
}

pub struct ManagedRisks;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ManagedRisks {
    /// List a client's open risks
    ///
    /// Includes accepted risks and risks whose evidence has expired. Scope: `read:risks`.
    #[oai(path = "/clients/:clientId/risks", method = "get", operation_id = "list_open_risks")]
    async fn list_open_risks(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewRisks>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// Only those of this severity. Can be repeated.
        severity: Query<Option<Vec<Raw<SeverityView>>>>,
        /// Only accepted ones, or only those that are not accepted. Default: both.
        accepted: Query<Option<Raw<YesOrNo>>>,
        /// Default: `score`.
        order: Query<Option<Raw<RiskOrderView>>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::PageReply<ManagedRiskView>, Failure> {
        let severities: Vec<SeverityView> = param::words("severity", severity.0.as_ref())?;
        let accepted = param::yes_or_no("accepted", accepted.0.as_ref())?;
        let order =
            param::word("order", order.0.as_ref())?.map_or_else(RiskOrder::default, |it| it.0);
        let is_wanted = move |it: &OpenRisk| {
            param::is_asked(&severities, &SeverityView(it.risk.severity))
                && accepted.is_none_or(|wanted| wanted == it.is_accepted())
        };
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let page = move |it: &ClientSnapshot| {
            let Page { items, total, cut } = page_open_risks(it, cut, order, is_wanted)?;
            let view = |risk: OpenRisk| {
                let references = it.list_references(Referenced::Risk(risk.id))?;
                Ok(ManagedRiskView::of(risk, references))
            };
            let items = items.into_iter().map(view).collect::<Result<Vec<_>>>()?;
            Ok(Page { items, total, cut })
        };
        Ok(reply::PageReply::rendered(Rendered::page(&rows.read(page).await?)))
    }

    /// Get an open risk
    ///
    /// Accepted or not. A risk that was resolved is not found. Scope: `read:risks`.
    #[oai(path = "/clients/:clientId/risks/:riskId", method = "get", operation_id = "get_risk")]
    async fn get_risk(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewRisks>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "riskId")] risk_id: Path<Raw<Id>>,
    ) -> Result<Data<ManagedRiskView>, Failure> {
        let (client, id) = (client_id.read()?, risk_id.read::<RiskId>()?);
        let risk = web.app.get_risk(&by.0, client, id).await?;
        let references = web.app.references(&by.0, client, Referenced::Risk(id)).await?;
        Ok(Data::of(&ManagedRiskView::of(risk, references)))
    }

    /// Accept a risk, revoke the acceptance, or set its external references
    ///
    /// An accepted risk is announced as resolved. The versioned interface does not list it until the acceptance expires, is
    /// revoked, or the risk is clearly worse than what was accepted. It is then announced as created again. Scores do not
    /// change.
    /// Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/risks/:riskId",
        method = "patch",
        operation_id = "change_risk"
    )]
    async fn change_risk(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "riskId")] risk_id: Path<Raw<Id>>,
        body: Body<RiskBody>,
    ) -> Result<Data<ManagedRiskView>, Failure> {
        let (client, id) = (client_id.read()?, risk_id.read::<RiskId>()?);
        let change = || body.read()?.change(&by.0, &web.app.time_zone_of(client));
        let risk = web.app.change_risk(&by.0, client, id, change).await?;
        let references = web.app.references(&by.0, client, Referenced::Risk(id)).await?;
        Ok(Data::of(&ManagedRiskView::of(risk, references)))
    }
}
