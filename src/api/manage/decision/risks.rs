//! Open risks with what was decided about them; accepting one for a while, and taking that back.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::{Path, Query};
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{ViewRisks, Work};
use crate::api::wire::body::{Body, present, time};
use crate::api::wire::param::{Id, Limit, Offset, Raw, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply;
use crate::api::wire::reply::{Data, Null, Rendered};
use crate::api::wire::view::{SeverityView, SourceTypeView, Uid, When};
use crate::api::{Group, Web};
use crate::app::decision::risk::NewAcceptance;
use crate::app::report::posture::open_risks;
use crate::auth::caller::Caller;
use crate::error::{Error, Result};
use crate::id::RiskId;
use crate::page::Page;
use crate::store::per_client::posture::{Acceptance, OpenRisk};

/// An open risk as its administrator sees it.
#[derive(Object, Serialize)]
#[oai(rename = "ManagedRisk", rename_all = "camelCase")]
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
    created_at: When,
    /// Counts its openings, from 1.
    occurrence: u32,
    /// When this occurrence began.
    opened_at: When,
    /// False once what it rests on has lapsed.
    verified: bool,
    /// Null while it is shown as an open risk.
    acceptance: Null<AcceptanceView>,
}

/// A decision to live with a risk.
#[derive(Object, Serialize)]
#[oai(rename = "RiskAcceptance", rename_all = "camelCase")]
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
    fn of(open: OpenRisk) -> Self {
        let OpenRisk { id, risk, created_at, closed: _, occurrence, opened_at, accepted } = open;
        Self {
            id: Uid::of(id.as_bytes()),
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
            acceptance: accepted.map(AcceptanceView::of).into(),
        }
    }
}

/// Whether to accept a risk. `until` and `reason` are required to accept it, and are not given to take that back.
#[derive(Object)]
#[oai(rename = "RiskChange", rename_all = "camelCase")]
pub struct RiskDoc {
    accepted: bool,
    /// RFC 3339; at most two years from now. The risk is shown again from then on.
    until: Option<String>,
    #[oai(validator(min_length = 1, max_length = 500))]
    reason: Option<String>,
    /// Who decided. Default: the caller.
    #[oai(validator(max_length = 255))]
    by: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
struct RiskBody {
    accepted: bool,
    #[serde(default, deserialize_with = "present")]
    until: Option<String>,
    #[serde(default, deserialize_with = "present")]
    reason: Option<String>,
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

impl RiskBody {
    /// `None`: it is not accepted any more.
    fn acceptance(self, caller: &Caller) -> Result<Option<NewAcceptance>> {
        let Self { accepted, until, reason, by } = self;
        if !accepted {
            let given =
                [("until", until.is_some()), ("reason", reason.is_some()), ("by", by.is_some())];
            let Some((field, _)) = given.into_iter().find(|it| it.1) else { return Ok(None) };
            return Err(Error::invalid_field(field, "belongs to an acceptance"));
        }
        let required = |field| move || Error::invalid_field(field, "is required");
        let until = until.ok_or_else(required("until"))?;
        let until = time("until", &until)?;
        let reason = reason.ok_or_else(required("reason"))?;
        Ok(Some(NewAcceptance { until, reason, by: caller.signature(by) }))
    }
}

pub struct Risks;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Risks {
    /// List a client's open risks
    ///
    /// Accepted ones too, and those that rest on what has lapsed; highest `riskScore` first. Scope: `read:risks`.
    #[oai(path = "/clients/:clientId/risks", method = "get", operation_id = "list_open_risks")]
    async fn list_open_risks(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewRisks>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::Page<ManagedRiskView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let risks = rows.read(open_risks).await?;
        let page = Page::of(risks.into_iter(), cut).map(ManagedRiskView::of);
        Ok(reply::Page::rendered(Rendered::page(&page)))
    }

    /// Accept a risk, or take that back
    ///
    /// An accepted risk is announced as resolved and not listed until its acceptance ends, is taken back, or no longer
    /// covers it because it got more severe; then it is announced as created again. Scores do not change.
    #[oai(
        path = "/clients/:clientId/risks/:riskId",
        method = "patch",
        operation_id = "change_risk"
    )]
    async fn change_risk(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "riskId")] risk_id: Path<Raw<Id>>,
        body: Body<RiskDoc>,
    ) -> Result<Data<ManagedRiskView>, Failure> {
        let (client, id) = (client_id.read()?, risk_id.read::<RiskId>()?);
        web.app.get_risk(&by.0, client, id).await?;
        let risk = match body.read::<RiskBody>()?.acceptance(&by.0)? {
            Some(new) => web.app.accept_risk(&by.0, client, id, new).await?,
            None => web.app.unaccept_risk(&by.0, client, id).await?,
        };
        Ok(Data::of(&ManagedRiskView::of(risk)))
    }
}
