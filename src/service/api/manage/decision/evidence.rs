//! The evidence register: list, add, remove.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewCompliance};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::input::Sha256Text;
use crate::api::wire::param::{Id, Limit, Offset, Raw, Text, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply;
use crate::api::wire::reply::{Gone, Made, Null, Rendered};
use crate::api::wire::view::{End, Uid, When};
use crate::api::{Group, Web};
use crate::app::assessment::evidence::{NewEvidence, register};
use crate::app::decision::evidence::Entered;
use crate::auth::caller::Caller;
use crate::clock::zone::Zone;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::page::Page;
use crate::store::ClientSnapshot;
use crate::store::per_client::evidence::RegisteredEvidence;

/// An entry of a client's evidence register.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Evidence")]
#[serde(rename_all = "camelCase")]
pub struct EvidenceView {
    id: Uid,
    control_code: String,
    title: String,
    /// Where the evidence is kept.
    reference: String,
    sha256: Null<Sha256Text>,
    /// When it expires. Null: it does not expire.
    valid_until: Null<When>,
    /// When it was added or renewed.
    added_at: When,
    by: String,
    /// The source that reports it. Null: a person added it.
    source: Null<String>,
    /// The file that is kept. Null: only the reference is.
    file: Null<EvidenceFileView>,
}

/// A file of evidence.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "EvidenceFile")]
#[serde(rename_all = "camelCase")]
pub struct EvidenceFileView {
    name: String,
    size_bytes: u64,
}

impl EvidenceView {
    pub fn of(it: RegisteredEvidence) -> Self {
        let RegisteredEvidence { evidence: it, source, file } = it;
        let file = file.map(|it| EvidenceFileView { name: it.name, size_bytes: it.n_bytes });
        Self {
            id: Uid::of(it.id.as_bytes()),
            control_code: it.control,
            title: it.title,
            reference: it.reference,
            sha256: it.sha256.map(Sha256Text).into(),
            valid_until: it.valid_until.map(When).into(),
            added_at: When(it.added_at),
            by: it.by,
            source: source.into(),
            file: file.into(),
        }
    }
}

/// Evidence to add to the register.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "EvidenceCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct EvidenceBody {
    /// The code of a control in the catalog.
    control_code: String,
    #[schemars(length(min = 1, max = 200))]
    title: String,
    /// Where the evidence is kept. If a person already added an entry with this reference for the control, that entry is
    /// renewed and keeps its id.
    #[schemars(length(min = 1, max = 1000))]
    reference: String,
    #[serde(default, deserialize_with = "present")]
    sha256: Option<Sha256Text>,
    /// When it expires. Default: it does not expire.
    #[serde(default, deserialize_with = "present")]
    valid_until: Option<End>,
    /// Who adds it. Default: the caller. If a user or key names another person, both are recorded. The operator
    /// must send it.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

example!(EvidenceBody, {
    "controlCode": "GOV-14",
    "title": "Incident response plan 2026",
    "reference": "SharePoint: Policies/incident-response.docx",
    "validUntil": "2027-06-30T00:00:00Z",
    "by": "Ada Lovelace",
});

impl EvidenceBody {
    fn new_evidence(self, caller: &Caller, zone: &Zone) -> Result<NewEvidence> {
        let required = || Error::invalid_field("by", "is required");
        Ok(NewEvidence {
            control: self.control_code.to_ascii_uppercase(),
            title: self.title,
            reference: self.reference,
            sha256: self.sha256.map(|it| it.0),
            valid_until: self.valid_until.map(|it| it.0.at(zone)),
            by: caller.signature(self.by)?.ok_or_else(required)?,
        })
    }
}

pub struct Register;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Register {
    /// List a client's evidence
    ///
    /// Includes expired evidence, in the order in which it was first added. Scope: `read:compliance`.
    #[oai(path = "/clients/:clientId/evidence", method = "get", operation_id = "list_evidence")]
    async fn list_evidence(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// Only evidence for this control.
        #[oai(name = "controlCode")]
        control_code: Query<Option<Raw<Text>>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::PageReply<EvidenceView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let control = control_code.0.map(|it| it.text.to_ascii_uppercase());
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let catalog = web.app.catalog();
        let mut evidence = rows.read(move |it: &ClientSnapshot| register(it, &catalog)).await?;
        if let Some(control) = control {
            evidence.retain(|it| it.evidence.control == control);
        }
        let page = Page::of(evidence.into_iter(), cut).map(EvidenceView::of);
        Ok(reply::PageReply::rendered(Rendered::page(&page)))
    }

    /// Add evidence
    ///
    /// Adds an entry to the register, which an attestation can refer to. If a person already added an entry with this
    /// reference for the control, that entry is renewed. Entries that a source reports stay as they are.
    /// Scope: `manage:decisions`.
    #[oai(path = "/clients/:clientId/evidence", method = "post", operation_id = "add_evidence")]
    async fn add_evidence(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        body: Body<EvidenceBody>,
    ) -> Result<Made<EvidenceView>, Failure> {
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let new = body.read()?.new_evidence(&by.0, &web.app.time_zone_of(client.id))?;
        Ok(match web.app.add_evidence(&rows, new).await? {
            Entered::Added(it) => Made::Added(EvidenceView::of(it)),
            Entered::Renewed(it) => Made::Known(EvidenceView::of(it)),
        })
    }

    /// Remove evidence
    ///
    /// Attestations that refer to it count as attestations without evidence from then on.
    /// Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/evidence/:evidenceId",
        method = "delete",
        operation_id = "remove_evidence"
    )]
    async fn remove_evidence(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "evidenceId")] evidence_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        web.app.remove_evidence(&rows, evidence_id.read::<EvidenceId>()?).await?;
        Ok(Gone)
    }
}
