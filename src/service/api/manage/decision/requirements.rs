//! Decisions about a framework's requirements: attested with evidence, or out of scope.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewCompliance};
use crate::api::manage::decision::controls::require_alone;
use crate::api::manage::decision::row_decision::DecisionView;
use crate::api::manage::report::compliance::ClientRequirementDetailView;
use crate::api::wire::body::{Body, example, nullable, present};
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{Decision, DecisionWord, End, StatusView};
use crate::api::{Group, Web};
use crate::app::decision::Said;
use crate::app::decision::requirement::{NewDecision, RowState};
use crate::auth::caller::Caller;
use crate::clock::zone::Zone;
use crate::engine::fact::RowDecisionKind;
use crate::engine::framework::Framework;
use crate::error::{Error, Result};
use crate::store::ClientSnapshot;

/// The status of a requirement for one client, and the decision about it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ClientRequirement")]
#[serde(rename_all = "camelCase")]
pub struct ClientRequirementView {
    framework_id: FrameworkName,
    requirement: String,
    description: String,
    overall_status: StatusView,
    /// 0 to 100.
    compliance_score: u8,
    decision: Null<DecisionView>,
}

impl ClientRequirementView {
    fn of(state: RowState, framework: &Framework) -> Self {
        let row = &framework.rows[state.row];
        Self {
            framework_id: FrameworkName(framework.id),
            requirement: row.reference.clone(),
            description: row.description.clone(),
            overall_status: StatusView(state.outcome.status),
            compliance_score: state.outcome.score,
            decision: state.decision.map(DecisionView::of).into(),
        }
    }
}

/// What a person decides about a requirement. To withdraw a decision, send `decision` null and nothing else.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "RequirementStatement")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct DecisionBody {
    /// Null withdraws the decision.
    #[serde(deserialize_with = "nullable")]
    decision: Null<DecisionWord>,
    /// Required with a decision. With null: why the decision is withdrawn.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default, deserialize_with = "present")]
    reason: Option<String>,
    /// Where the evidence is. Required with `attested`.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default, deserialize_with = "present")]
    evidence: Option<String>,
    /// At most three years from now. Default: one year for `attested`; `out_of_scope` does not expire.
    #[serde(default, deserialize_with = "present")]
    until: Option<End>,
    /// Who decided. Default: the caller. If a user or key names another person, both are recorded. The operator
    /// must send it.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

example!(DecisionBody, {
    "decision": "attested",
    "reason": "Security officer appointed by the board",
    "evidence": "Minutes of 2026-10-02",
    "by": "Ada Lovelace",
});

impl DecisionBody {
    fn decision(self, caller: &Caller, zone: &Zone) -> Result<Said<NewDecision>> {
        let Self { decision, reason, evidence, until, by } = self;
        let required = |field| move || Error::invalid_field(field, "is required");
        let Some(DecisionWord(word)) = decision.0 else {
            require_alone(&[
                ("evidence", evidence.is_some()),
                ("until", until.is_some()),
                ("by", by.is_some()),
            ])?;
            return Ok(Said::Withdrawn { reason: reason.unwrap_or_default() });
        };
        let kind = match (word, evidence) {
            (Decision::Attested, Some(evidence)) => RowDecisionKind::Attested { evidence },
            (Decision::Attested, None) => return Err(required("evidence")()),
            (Decision::OutOfScope, None) => RowDecisionKind::OutOfScope,
            (Decision::OutOfScope, Some(_)) => {
                let rule = "must be absent with out_of_scope; explain the decision in the reason";
                return Err(Error::invalid_field("evidence", rule));
            }
        };
        let by = caller.signature(by)?.ok_or_else(required("by"))?;
        Ok(Said::Stated(NewDecision {
            kind,
            reason: reason.ok_or_else(required("reason"))?,
            until: until.map(|it| it.0.at(zone)),
            by: caller.author(by),
        }))
    }
}

pub struct Requirements;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Requirements {
    /// Explain a client's compliance with a requirement
    ///
    /// One requirement of either level, with its decision, its controls, and what keeps it from being compliant.
    /// Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/compliance/:frameworkId/:requirement",
        method = "get",
        operation_id = "get_client_requirement"
    )]
    async fn get_client_requirement(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
        /// The framework's own reference, of either level, in upper or lower case.
        requirement: Path<Raw<Text>>,
    ) -> Result<Data<ClientRequirementDetailView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let id = web.app.catalog().framework_named(&framework_id.text)?.id;
        let (app, reference) = (Arc::clone(&web.app), requirement.0.text);
        let read = move |snapshot: &ClientSnapshot| {
            ClientRequirementDetailView::read(&app, snapshot, id, &reference)
        };
        Ok(Data::kept(&rows.read(read).await?))
    }

    /// Decide about a requirement
    ///
    /// Attests a requirement with evidence, or takes it out of scope, and reassesses the client. It replaces an earlier
    /// decision.
    /// Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/compliance/:frameworkId/:requirement",
        method = "put",
        operation_id = "decide_requirement"
    )]
    async fn decide_requirement(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
        /// The framework's own reference, as `GET /api/v1/clients/{clientId}/compliance/{frameworkId}` shows it, of either
        /// level, in upper or lower case.
        requirement: Path<Raw<Text>>,
        body: Body<DecisionBody>,
    ) -> Result<Data<ClientRequirementView>, Failure> {
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let catalog = web.app.catalog();
        let framework = catalog.framework_named(&framework_id.text)?;
        let (id, row) = (framework.id, framework.get_row(&requirement.text)?);
        let reference = &framework.rows[row].reference;
        match body.read()?.decision(&by.0, &web.app.time_zone_of(client.id))? {
            Said::Stated(new) => web.app.decide_row(&rows, id, reference, new).await?,
            Said::Withdrawn { reason } => {
                let author = by.0.own_author();
                web.app.withdraw_decision(&rows, (id, reference), reason, author).await?;
            }
        }
        let app = Arc::clone(&web.app);
        let read = move |snapshot: &ClientSnapshot| {
            let framework = catalog.get_framework(id)?;
            let state = app.row_state(snapshot, framework, row)?;
            Ok(ClientRequirementView::of(state, framework))
        };
        Ok(Data::of(&rows.read(read).await?))
    }
}
