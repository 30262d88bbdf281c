//! A client's controls: their results, and attestations.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewCompliance};
use crate::api::v1::compliance::ControlResultView;
use crate::api::wire::body::{Body, example, nullable, present};
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::input::Ref;
use crate::api::wire::param::{self, Id, Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{
    AttestedStatusView, DeciderView, End, PartialBecauseView, SeverityView, StatusView, Uid, When,
};
use crate::api::{Group, Web};
use crate::app::assessment::part::AttestedPart;
use crate::app::decision::Said;
use crate::app::decision::control::{ControlState, NewAttestation};
use crate::auth::caller::Caller;
use crate::clock::zone::Zone;
use crate::engine::ControlPart;
use crate::engine::catalog::{Catalog, Control};
use crate::engine::framework::Framework;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::per_client::fact::Attested;
use crate::store::{ClientSnapshot, ClientStore};

/// The result of a control for one client, and what was attested about it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ClientControl")]
#[serde(rename_all = "camelCase")]
pub struct ClientControlView {
    #[serde(flatten)]
    result: ControlResultView,
    /// Null: it is not partial.
    partial_because: Null<PartialBecauseView>,
    /// What is true if the control is met.
    requires: String,
    category: String,
    severity: SeverityView,
    /// What can decide the control. Any control may also be attested.
    decided_by: Vec<DeciderView>,
    /// Until when the result is valid if nothing newer arrives. Null: unknown, or it does not expire.
    valid_until: Null<When>,
    /// What was attested about all of it.
    attestation: Null<AttestationView>,
    /// What was attested about parts of it.
    parts: Vec<PartAttestationView>,
    /// Entries of the evidence register about the control.
    evidence_count: u32,
}

/// Part of a control.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ControlPart")]
#[serde(rename_all = "camelCase")]
pub struct ControlPartView {
    /// Null: each of them.
    facet: Null<String>,
    /// By the question of the profile. Null: wherever it is asked.
    platform: Null<String>,
    /// One account of the platform. Null: each of them.
    scope: Null<String>,
}

impl ControlPartView {
    pub fn of(it: &ControlPart) -> Self {
        let ControlPart { facet, platform, scope } = it.clone();
        Self { facet: facet.into(), platform: platform.into(), scope: scope.into() }
    }
}

/// What a person attested about part of a control.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "PartAttestation")]
#[serde(rename_all = "camelCase")]
pub struct PartAttestationView {
    #[serde(flatten)]
    part: ControlPartView,
    /// The part in words, such as `"Domains renew by themselves"`.
    name: String,
    /// What was attested. `compliant` without evidence is said, not shown.
    status: StatusView,
    reason: String,
    /// Where the evidence is. Null: there is none, or it was removed or has expired.
    evidence: Null<String>,
    /// The entry of the evidence register that it refers to.
    evidence_id: Null<Uid>,
    by: String,
    at: When,
    /// When it expires.
    until: Null<When>,
    /// It counts even while a source sees the part.
    #[serde(rename = "override")]
    overrides: bool,
}

impl PartAttestationView {
    fn of(
        AttestedPart { part, attested }: AttestedPart,
        evidence: Option<String>,
        control: &Control,
    ) -> Self {
        let Attested { attestation: it, evidence_id } = attested;
        Self {
            name: part.name(control),
            part: ControlPartView::of(&part),
            status: StatusView(it.status),
            reason: it.reason,
            evidence: evidence.into(),
            evidence_id: evidence_id.map(|id| Uid::of(id.as_bytes())).into(),
            by: it.by,
            at: When(it.at),
            until: it.until.map(When).into(),
            overrides: it.overrides,
        }
    }
}

/// What a person attested about a control.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Attestation")]
#[serde(rename_all = "camelCase")]
pub struct AttestationView {
    /// What was attested. `compliant` without evidence counts as `partial`.
    status: StatusView,
    reason: String,
    /// Where the evidence is. Null: there is none, or it was removed or has expired.
    evidence: Null<String>,
    /// The entry of the evidence register that it refers to.
    evidence_id: Null<Uid>,
    by: String,
    at: When,
    /// When it expires. Null: it does not expire.
    until: Null<When>,
    /// It counts even while a technical observation is valid.
    #[serde(rename = "override")]
    overrides: bool,
    /// The control's result is based on it. False: something else decides, or it has expired.
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
        let ControlState { outcome, attested, evidence, parts, n_evidence } = state;
        let parts = parts.into_iter();
        let parts = parts.map(|(it, evidence)| PartAttestationView::of(it, evidence, control));
        let attested = attested.map(|it| AttestationView::of(it, evidence, outcome.attested));
        Self {
            requires: control.requires.clone(),
            category: catalog.categories[control.category].name.clone(),
            severity: SeverityView(control.severity),
            decided_by: control.decided_by.iter().map(|it| DeciderView(*it)).collect(),
            valid_until: outcome.valid_until.map(When).into(),
            attestation: attested.into(),
            parts: parts.collect(),
            evidence_count: n_evidence,
            partial_because: outcome.partial_because.map(PartialBecauseView).into(),
            result: ControlResultView::of(outcome, &control.title),
        }
    }

    async fn read(web: &Web, rows: &ClientStore, code: String) -> Result<Self> {
        let app = Arc::clone(&web.app);
        let read = move |snapshot: &ClientSnapshot| {
            let catalog = app.catalog();
            let state = app.control_state(snapshot, &code)?;
            Ok(Self::of(state, catalog.get_control(&code)?, &catalog))
        };
        rows.read(read).await
    }
}

/// What a person attests about a control. To withdraw an attestation, send `status` null, and a `reason` if you like.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ControlStatement")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct AttestationBody {
    /// Only this facet of the control, by its name in the catalog.
    #[schemars(length(min = 1, max = 60))]
    #[serde(default, deserialize_with = "present")]
    facet: Option<String>,
    /// Only on this platform, by the question of the profile, such as `aws`.
    #[schemars(length(min = 1, max = 60))]
    #[serde(default, deserialize_with = "present")]
    platform: Option<String>,
    /// Only for this account of a platform, as the client's estate lists it, such as `aws/123456789012`.
    #[schemars(length(min = 1, max = 300))]
    #[serde(default, deserialize_with = "present")]
    scope: Option<String>,
    /// Null withdraws the attestation.
    #[serde(deserialize_with = "nullable")]
    status: Null<AttestedStatusView>,
    /// Required with a status. With null: why the attestation is withdrawn.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default, deserialize_with = "present")]
    reason: Option<String>,
    /// Where the evidence is. Without evidence, `compliant` counts as `partial`.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default, deserialize_with = "present")]
    evidence: Option<String>,
    /// An entry of the evidence register about this control, instead of `evidence`.
    #[serde(default, deserialize_with = "present")]
    evidence_id: Option<Ref<EvidenceId>>,
    /// At most three years from now. Default: as long as an observation of the control counts. `not_applicable` does not
    /// expire by default.
    #[serde(default, deserialize_with = "present")]
    until: Option<End>,
    /// The attestation counts even while a technical observation is valid. Requires `until`.
    #[serde(default, rename = "override", deserialize_with = "present")]
    overrides: Option<bool>,
    /// Who attests it. Default: the caller. If a user or key names another person, both are recorded. The operator
    /// must send it.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

example!(AttestationBody, {
    "status": "compliant",
    "reason": "Restore test of 2026-11-12 passed",
    "evidence": "SharePoint: Audits/2026/restore-test.pdf",
    "by": "Ada Lovelace",
});

impl AttestationBody {
    /// Returns the part that it is about, too.
    fn attestation(
        self,
        caller: &Caller,
        zone: &Zone,
    ) -> Result<(ControlPart, Said<NewAttestation>)> {
        let Self {
            facet,
            platform,
            scope,
            status,
            reason,
            evidence,
            evidence_id,
            until,
            overrides,
            by,
        } = self;
        let part = ControlPart { facet, platform, scope };
        let required = |field| move || Error::invalid_field(field, "is required");
        let Some(AttestedStatusView(status)) = status.0 else {
            require_alone(&[
                ("evidence", evidence.is_some()),
                ("evidenceId", evidence_id.is_some()),
                ("until", until.is_some()),
                ("override", overrides.is_some()),
                ("by", by.is_some()),
            ])?;
            return Ok((part, Said::Withdrawn { reason: reason.unwrap_or_default() }));
        };
        let by = caller.signature(by)?.ok_or_else(required("by"))?;
        let new = NewAttestation {
            part: part.clone(),
            status,
            reason: reason.ok_or_else(required("reason"))?,
            evidence,
            evidence_id: evidence_id.map(|it| it.0),
            until: until.map(|it| it.0.at(zone)),
            overrides: overrides.unwrap_or(false),
            by: caller.author(by),
        };
        Ok((part, Said::Stated(new)))
    }
}

/// # Errors
/// `Invalid` when a field was given with a withdrawal.
pub(in crate::api::manage) fn require_alone(given: &[(&str, bool)]) -> Result<()> {
    match given.iter().find(|it| it.1) {
        Some((field, _)) => {
            Err(Error::invalid_field(*field, "must be absent when a statement is withdrawn"))
        }
        None => Ok(()),
    }
}

pub struct ManagedControls;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ManagedControls {
    /// List a client's controls
    ///
    /// All controls, in the order of the catalog. Scope: `read:compliance`.
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
        /// Only those with this status. Can be repeated.
        status: Query<Option<Vec<Raw<StatusView>>>>,
        /// Only those that a requirement of this framework names.
        framework: Query<Option<Raw<FrameworkName>>>,
        /// Only those with this in their code, title or what they require, in upper or lower case.
        search: Query<Option<Raw<Text>>>,
    ) -> Result<Data<Vec<ClientControlView>>, Failure> {
        let statuses: Vec<StatusView> = param::words("status", status.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let app = Arc::clone(&web.app);
        let named = framework
            .0
            .map(|it| param::framework(&app.catalog(), Some(&it)).map(Framework::controls));
        let named = named.transpose()?;
        let search = search.0.map(|it| it.text.to_lowercase());
        let list = move |snapshot: &ClientSnapshot| {
            let catalog = app.catalog();
            let is_wanted = |(index, (it, control)): &(usize, (ControlState, &Control))| {
                param::is_asked(&statuses, &StatusView(it.outcome.status))
                    && named.as_ref().is_none_or(|it| it.contains(index))
                    && search.as_ref().is_none_or(|it| control.says(it))
            };
            let all = app.control_states(snapshot)?.into_iter().zip(&catalog.controls);
            let found = all.enumerate().filter(is_wanted).map(|it| it.1);
            let view = |(it, control)| ClientControlView::of(it, control, &catalog);
            Ok(found.map(view).collect::<Vec<_>>())
        };
        Ok(Data::kept(&rows.read(list).await?))
    }

    /// Get a client's control
    ///
    /// Its result, why, and what was attested about it. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/controls/:controlCode",
        method = "get",
        operation_id = "get_client_control"
    )]
    async fn get_client_control(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// The code of a control in the catalog, in upper or lower case.
        #[oai(name = "controlCode")]
        control_code: Path<Raw<Text>>,
    ) -> Result<Data<ClientControlView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let code = control_code.0.text.to_ascii_uppercase();
        Ok(Data::kept(&ClientControlView::read(&web, &rows, code).await?))
    }

    /// Attest a control
    ///
    /// Records what a person knows about a control, or that it is out of scope, and reassesses the client. The
    /// attestation decides the control while no technical observation is valid; with `override`, or out of scope, it
    /// always does. It replaces an earlier attestation. With `facet`, `platform` or `scope` it is about that part only: it
    /// answers for what no source sees of it, and the rest stays observed.
    /// Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/controls/:controlCode",
        method = "put",
        operation_id = "attest_control"
    )]
    async fn attest_control(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "controlCode")] control_code: Path<Raw<Text>>,
        body: Body<AttestationBody>,
    ) -> Result<Data<ClientControlView>, Failure> {
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let code = control_code.0.text.to_ascii_uppercase();
        web.app.catalog().get_control(&code)?;
        let (part, said) = body.read()?.attestation(&by.0, &web.app.time_zone_of(client.id))?;
        match said {
            Said::Stated(new) => web.app.attest_control(&rows, &code, new).await?,
            Said::Withdrawn { reason } => {
                let author = by.0.own_author();
                web.app.withdraw_attestation(&rows, &code, part, (reason, author)).await?;
            }
        }
        Ok(Data::of(&ClientControlView::read(&web, &rows, code).await?))
    }
}
