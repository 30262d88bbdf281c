//! Rows of frameworks: attesting one with evidence, or taking it out of scope.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::Path;
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::Work;
use crate::api::manage::decision::controls::require_alone;
use crate::api::wire::body::{Body, nullable, present, time};
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{StatusView, When};
use crate::api::{Group, Web};
use crate::app::decision::requirement::{NewDecision, RowState};
use crate::auth::caller::Caller;
use crate::engine::catalog::{Framework, FrameworkId};
use crate::engine::fact::{RowDecision, RowDecisionKind};
use crate::error::{Error, Result};
use crate::store::ClientSnapshot;

const ATTESTED: &str = "attested";
const OUT_OF_SCOPE: &str = "out_of_scope";

/// A row of a framework: what it came to for one client, and what was decided about it.
#[derive(Object, Serialize)]
#[oai(rename = "ClientRequirement", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct ClientRequirementView {
    framework_id: String,
    requirement: String,
    description: String,
    overall_status: StatusView,
    /// 0 to 100.
    compliance_score: u8,
    decision: Null<DecisionView>,
}

/// What a person decided about a row.
#[derive(Object, Serialize)]
#[oai(rename = "RequirementDecision", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct DecisionView {
    /// `attested` or `out_of_scope`.
    decision: String,
    reason: String,
    /// Where the evidence is.
    evidence: Null<String>,
    by: String,
    at: When,
    /// From then on it does not count. Null: without end.
    until: Null<When>,
}

impl DecisionView {
    fn of(it: RowDecision) -> Self {
        let (decision, evidence) = match it.kind {
            RowDecisionKind::OutOfScope => (OUT_OF_SCOPE, None),
            RowDecisionKind::Attested { evidence } => (ATTESTED, Some(evidence)),
        };
        Self {
            decision: decision.to_owned(),
            reason: it.reason,
            evidence: evidence.into(),
            by: it.by,
            at: When(it.at),
            until: it.until.map(When).into(),
        }
    }
}

impl ClientRequirementView {
    fn of(state: RowState, framework: &Framework) -> Self {
        let row = &framework.rows[state.row];
        Self {
            framework_id: framework.id.as_str().to_owned(),
            requirement: row.reference.clone(),
            description: row.description.clone(),
            overall_status: StatusView(state.outcome.status),
            compliance_score: state.outcome.score,
            decision: state.decision.map(DecisionView::of).into(),
        }
    }
}

/// What a person decides about a row. To withdraw it send `decision` null and nothing else.
#[derive(Object)]
#[oai(rename = "RequirementStatement", rename_all = "camelCase")]
pub struct StatementDoc {
    /// `attested`: what its controls only support is met as they show it. `out_of_scope`: it does not apply to the
    /// client. Null withdraws what was decided.
    decision: Null<String>,
    /// Required, unless it is withdrawn.
    #[oai(validator(min_length = 1, max_length = 1000))]
    reason: Option<String>,
    /// Where the evidence is. Required for `attested`.
    #[oai(validator(min_length = 1, max_length = 1000))]
    evidence: Option<String>,
    /// RFC 3339, at most three years from now. Default: a year for `attested`, without end for `out_of_scope`.
    until: Option<String>,
    /// Who decided. Of a user: the user, beside whoever is named here; the operator has to name somebody.
    #[oai(validator(min_length = 1, max_length = 200))]
    by: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
struct StatementBody {
    #[serde(default, deserialize_with = "nullable")]
    decision: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    reason: Option<String>,
    #[serde(default, deserialize_with = "present")]
    evidence: Option<String>,
    #[serde(default, deserialize_with = "present")]
    until: Option<String>,
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

impl StatementBody {
    /// `None`: what was decided is withdrawn.
    fn decision(self, caller: &Caller) -> Result<Option<NewDecision>> {
        let Self { decision, reason, evidence, until, by } = self;
        let required = |field| move || Error::invalid_field(field, "is required");
        let Some(word) = decision.ok_or_else(required("decision"))? else {
            require_alone(&[
                ("reason", reason.is_some()),
                ("evidence", evidence.is_some()),
                ("until", until.is_some()),
                ("by", by.is_some()),
            ])?;
            return Ok(None);
        };
        let kind = match (word.as_str(), evidence) {
            (ATTESTED, Some(evidence)) => RowDecisionKind::Attested { evidence },
            (ATTESTED, None) => return Err(required("evidence")()),
            (OUT_OF_SCOPE, None) => RowDecisionKind::OutOfScope,
            (OUT_OF_SCOPE, Some(_)) => {
                let rule = "goes with attested; say in the reason why it is out of scope";
                return Err(Error::invalid_field("evidence", rule));
            }
            _ => {
                let rule = format!("must be one of {ATTESTED}, {OUT_OF_SCOPE}, or null");
                return Err(Error::invalid_field("decision", rule));
            }
        };
        Ok(Some(NewDecision {
            kind,
            reason: reason.ok_or_else(required("reason"))?,
            until: until.map(|it| time("until", &it)).transpose()?,
            by: caller.signature(by).ok_or_else(required("by"))?,
        }))
    }
}

pub struct Requirements;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Requirements {
    /// Decide about a requirement
    ///
    /// Attests a row with evidence, or takes it out of scope, and reassesses the client with that. It takes the place of
    /// what was decided before.
    #[oai(
        path = "/clients/:clientId/compliance/:frameworkId/:requirement",
        method = "put",
        operation_id = "decide_requirement"
    )]
    async fn decide_requirement(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// A framework identifier, without regard to case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
        /// The framework's own reference, as the contract's operation 9 shows it; of either level.
        requirement: Path<Raw<Text>>,
        body: Body<StatementDoc>,
    ) -> Result<Data<ClientRequirementView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let id: FrameworkId = framework_id.text.parse()?;
        let reference = &requirement.text;
        let row = web.app.row(id, reference)?;
        match body.read::<StatementBody>()?.decision(&by.0)? {
            Some(new) => web.app.decide_row(&rows, id, reference, new).await?,
            None => web.app.withdraw_decision(&rows, id, reference).await?,
        }
        let app = Arc::clone(&web.app);
        let read = move |snapshot: &ClientSnapshot| {
            let state = app.row_state(snapshot, id, row)?;
            Ok(ClientRequirementView::of(state, app.catalog.framework(id)))
        };
        Ok(Data::of(&rows.read(read).await?))
    }
}
