//! A client's controls: what each came to, and attesting one.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::Path;
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{ViewCompliance, Work};
use crate::api::v1::compliance::ControlResultView;
use crate::api::wire::body::{Body, nullable, present, time};
use crate::api::wire::param::{Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{SeverityView, StatusView, Uid, When};
use crate::api::{Group, Web};
use crate::app::decision::control::{ControlState, NewAttestation};
use crate::auth::caller::Caller;
use crate::engine::catalog::{Catalog, Control};
use crate::engine::fact::Status;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::per_client::fact::Attested;
use crate::store::{ClientSnapshot, ClientStore};

/// A control of one client: what it came to, and what was attested about it.
#[derive(Object, Serialize)]
#[oai(rename = "ClientControl", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct ClientControlView {
    #[oai(flatten)]
    #[serde(flatten)]
    result: ControlResultView,
    category: String,
    severity: SeverityView,
    /// What can decide it: assessor, connector, scan, dns, push, attestation or derived. Any control may be attested.
    decided_by: Vec<String>,
    /// Until when this stands if nothing newer comes. Null: not known, or without end.
    valid_until: Null<When>,
    attestation: Null<AttestationView>,
    /// Entries of the evidence register about it.
    evidence_count: u32,
}

/// What a person said about a control.
#[derive(Object, Serialize)]
#[oai(rename = "Attestation", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct AttestationView {
    /// As it was said. `compliant` without evidence counts as `partial`.
    status: StatusView,
    reason: String,
    /// Where the evidence is; null: there is none, or it is no longer there or valid.
    evidence: Null<String>,
    /// The entry of the evidence register that it names.
    evidence_id: Null<Uid>,
    by: String,
    at: When,
    /// From then on it does not count. Null: without end.
    until: Null<When>,
    /// It counts even where a technical observation is valid.
    #[oai(rename = "override")]
    #[serde(rename = "override")]
    overrides: bool,
    /// The control's result rests on it. Otherwise something else decides, or it has expired.
    decides: bool,
}

impl AttestationView {
    fn of(attested: Attested, evidence: Option<String>, decides: bool) -> Self {
        let Attested { attestation: it, evidence_id } = attested;
        Self {
            status: StatusView(it.status),
            reason: it.reason,
            evidence: evidence.into(),
            evidence_id: evidence_id.map(|id| Uid::of(id.as_bytes())).into(),
            by: it.by,
            at: When(it.at),
            until: it.until.map(When).into(),
            overrides: it.overrides,
            decides,
        }
    }
}

impl ClientControlView {
    pub fn of(state: ControlState, control: &Control, catalog: &Catalog) -> Self {
        let ControlState { outcome, attested, evidence, n_evidence } = state;
        let attested = attested.map(|it| AttestationView::of(it, evidence, outcome.attested));
        Self {
            category: catalog.categories[control.category].name.clone(),
            severity: SeverityView(control.severity),
            decided_by: control.decided_by.iter().map(|it| it.as_str().to_owned()).collect(),
            valid_until: outcome.valid_until.map(When).into(),
            attestation: attested.into(),
            evidence_count: n_evidence,
            result: ControlResultView::of(outcome, &control.title),
        }
    }

    async fn read(web: &Web, rows: &ClientStore, code: String) -> Result<Self> {
        let app = Arc::clone(&web.app);
        let read = move |snapshot: &ClientSnapshot| {
            let state = app.control_state(snapshot, &code)?;
            Ok(Self::of(state, app.control(&code)?, &app.catalog))
        };
        rows.read(read).await
    }
}

/// What a person says about a control. To withdraw it send `status` null and nothing else.
#[derive(Object)]
#[oai(rename = "ControlStatement", rename_all = "camelCase")]
pub struct StatementDoc {
    /// `compliant`, `partial`, `non_compliant`, or `not_applicable`: out of scope. Null withdraws what was said.
    status: Null<String>,
    /// Required, unless it is withdrawn.
    #[oai(validator(min_length = 1, max_length = 1000))]
    reason: Option<String>,
    /// Where the evidence is. Without any, `compliant` counts as `partial`.
    #[oai(validator(min_length = 1, max_length = 1000))]
    evidence: Option<String>,
    /// An entry of the evidence register about this control, instead of `evidence`.
    evidence_id: Option<Uid>,
    /// RFC 3339, at most three years from now. Default: as long as an observation of the control counts; out of scope
    /// without end.
    until: Option<String>,
    /// Let it count even where a technical observation is valid. `until` is required then.
    #[oai(rename = "override")]
    overrides: Option<bool>,
    /// Who says so. Of a user: the user, beside whoever is named here; the operator has to name somebody.
    #[oai(validator(min_length = 1, max_length = 200))]
    by: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
struct StatementBody {
    #[serde(default, deserialize_with = "nullable")]
    status: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    reason: Option<String>,
    #[serde(default, deserialize_with = "present")]
    evidence: Option<String>,
    #[serde(default, deserialize_with = "present")]
    evidence_id: Option<String>,
    #[serde(default, deserialize_with = "present")]
    until: Option<String>,
    #[serde(default, rename = "override", deserialize_with = "present")]
    overrides: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

/// What may be attested.
const STATUSES: [Status; 4] =
    [Status::Compliant, Status::Partial, Status::NonCompliant, Status::NotApplicable];

impl StatementBody {
    /// `None`: what was said is withdrawn.
    fn attestation(self, caller: &Caller) -> Result<Option<NewAttestation>> {
        let Self { status, reason, evidence, evidence_id, until, overrides, by } = self;
        let required = |field| move || Error::invalid_field(field, "is required");
        let Some(word) = status.ok_or_else(required("status"))? else {
            require_alone(&[
                ("reason", reason.is_some()),
                ("evidence", evidence.is_some()),
                ("evidenceId", evidence_id.is_some()),
                ("until", until.is_some()),
                ("override", overrides.is_some()),
                ("by", by.is_some()),
            ])?;
            return Ok(None);
        };
        let status = STATUSES.into_iter().find(|it| it.as_str() == word).ok_or_else(|| {
            let rule =
                format!("must be one of {}, or null", STATUSES.map(Status::as_str).join(", "));
            Error::invalid_field("status", rule)
        })?;
        let bad_id = |_| Error::invalid_field("evidenceId", "must be a UUID");
        let evidence_id = evidence_id.map(|it| it.parse::<EvidenceId>().map_err(bad_id));
        Ok(Some(NewAttestation {
            status,
            reason: reason.ok_or_else(required("reason"))?,
            evidence,
            evidence_id: evidence_id.transpose()?,
            until: until.map(|it| time("until", &it)).transpose()?,
            overrides: overrides.unwrap_or(false),
            by: caller.signature(by).ok_or_else(required("by"))?,
        }))
    }
}

/// # Errors
/// `Invalid` when a field was given with a withdrawal.
pub(in crate::api::manage) fn require_alone(given: &[(&str, bool)]) -> Result<()> {
    match given.iter().find(|it| it.1) {
        Some((field, _)) => Err(Error::invalid_field(*field, "does not go with a withdrawal")),
        None => Ok(()),
    }
}

pub struct Controls;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Controls {
    /// List a client's controls
    ///
    /// Every control of the catalogue, in its order. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/controls",
        method = "get",
        operation_id = "list_client_controls"
    )]
    async fn list_client_controls(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
    ) -> Result<Data<Vec<ClientControlView>>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let app = Arc::clone(&web.app);
        let list = move |snapshot: &ClientSnapshot| {
            let states = app.control_states(snapshot)?.into_iter().zip(&app.catalog.controls);
            let view = |(it, control)| ClientControlView::of(it, control, &app.catalog);
            Ok(states.map(view).collect::<Vec<_>>())
        };
        Ok(Data::of(&rows.read(list).await?))
    }

    /// Attest a control
    ///
    /// Says what a person knows of a control, or that it is out of scope, and reassesses the client with it. It decides
    /// where no technical observation is valid, or everywhere with `override`. It takes the place of what was said
    /// before.
    #[oai(
        path = "/clients/:clientId/controls/:controlCode",
        method = "put",
        operation_id = "attest_control"
    )]
    async fn attest_control(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "controlCode")] control_code: Path<Raw<Text>>,
        body: Body<StatementDoc>,
    ) -> Result<Data<ClientControlView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let code = control_code.0.text;
        web.app.control(&code)?;
        match body.read::<StatementBody>()?.attestation(&by.0)? {
            Some(new) => web.app.attest_control(&rows, &code, new).await?,
            None => web.app.withdraw_attestation(&rows, &code).await?,
        }
        Ok(Data::of(&ClientControlView::read(&web, &rows, code).await?))
    }
}
