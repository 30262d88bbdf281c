//! The evidence register: list, add, remove.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::{Path, Query};
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{ViewCompliance, Work};
use crate::api::wire::body::{Body, present, time};
use crate::api::wire::param::{Id, Limit, Offset, Raw, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply;
use crate::api::wire::reply::{Gone, Made, Null, Rendered};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::assessment::evidence::NewEvidence;
use crate::app::assessment::evidence::digest;
use crate::app::decision::evidence::Entered;
use crate::auth::caller::Caller;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::page::Page;
use crate::store::ClientSnapshot;
use crate::store::per_client::evidence::Evidence;

/// What a client can show for a control.
#[derive(Object, Serialize)]
#[oai(rename = "Evidence", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct EvidenceView {
    id: Uid,
    control_code: String,
    title: String,
    /// Where it is kept.
    reference: String,
    /// 64 hexadecimal digits.
    sha256: Null<String>,
    /// From then on it shows nothing. Null: it does not age.
    valid_until: Null<When>,
    /// When it was added or renewed.
    added_at: When,
    by: String,
}

impl EvidenceView {
    pub fn of(it: Evidence) -> Self {
        Self {
            id: Uid::of(it.id.as_bytes()),
            control_code: it.control,
            title: it.title,
            reference: it.reference,
            sha256: it.sha256.map(hex::encode).into(),
            valid_until: it.valid_until.map(When).into(),
            added_at: When(it.added_at),
            by: it.by,
        }
    }
}

/// What a client can show for a control.
#[derive(Object)]
#[oai(rename = "NewEvidence", rename_all = "camelCase")]
pub struct EvidenceDoc {
    control_code: String,
    #[oai(validator(min_length = 1, max_length = 200))]
    title: String,
    /// Where it is kept. The same one for the same control again renews that entry, which keeps its id.
    #[oai(validator(min_length = 1, max_length = 1000))]
    reference: String,
    /// 64 hexadecimal digits.
    #[oai(validator(min_length = 64, max_length = 64))]
    sha256: Option<String>,
    /// RFC 3339. Default: it does not age.
    valid_until: Option<String>,
    /// Who adds it. Of a user: the user, beside whoever is named here; the operator has to name somebody.
    #[oai(validator(min_length = 1, max_length = 200))]
    by: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
struct EvidenceBody {
    control_code: String,
    title: String,
    reference: String,
    #[serde(default, deserialize_with = "present")]
    sha256: Option<String>,
    #[serde(default, deserialize_with = "present")]
    valid_until: Option<String>,
    #[serde(default, deserialize_with = "present")]
    by: Option<String>,
}

impl EvidenceBody {
    fn new_evidence(self, caller: &Caller) -> Result<NewEvidence> {
        let required = || Error::invalid_field("by", "is required");
        Ok(NewEvidence {
            control: self.control_code,
            title: self.title,
            reference: self.reference,
            sha256: self.sha256.map(|it| sha256(&it)).transpose()?,
            valid_until: self.valid_until.map(|it| time("validUntil", &it)).transpose()?,
            by: caller.signature(self.by).ok_or_else(required)?,
        })
    }
}

fn sha256(text: &str) -> Result<[u8; 32]> {
    let bad = || Error::invalid_field("sha256", "must be 64 hexadecimal digits");
    digest(text).ok_or_else(bad)
}

pub struct Register;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Register {
    /// List a client's evidence
    ///
    /// In the order in which it first came, expired too. Scope: `read:compliance`.
    #[oai(path = "/clients/:clientId/evidence", method = "get", operation_id = "list_evidence")]
    async fn list_evidence(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
    ) -> Result<reply::Page<EvidenceView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let evidence = rows.read(ClientSnapshot::list_evidence).await?;
        let page = Page::of(evidence.into_iter(), cut).map(EvidenceView::of);
        Ok(reply::Page::rendered(Rendered::page(&page)))
    }

    /// Add evidence
    ///
    /// To the register; an attestation may name it. The same reference for the same control again renews the entry.
    #[oai(path = "/clients/:clientId/evidence", method = "post", operation_id = "add_evidence")]
    async fn add_evidence(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        body: Body<EvidenceDoc>,
    ) -> Result<Made<EvidenceView>, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let new = body.read::<EvidenceBody>()?.new_evidence(&by.0)?;
        Ok(match web.app.add_evidence(&rows, new).await? {
            Entered::Added(it) => Made::Added(EvidenceView::of(it)),
            Entered::Renewed(it) => Made::Known(EvidenceView::of(it)),
        })
    }

    /// Remove evidence
    ///
    /// From the register. What was attested with it counts as attested without evidence from then on.
    #[oai(
        path = "/clients/:clientId/evidence/:evidenceId",
        method = "delete",
        operation_id = "remove_evidence"
    )]
    async fn remove_evidence(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Work>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "evidenceId")] evidence_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        web.app.remove_evidence(&rows, evidence_id.read::<EvidenceId>()?).await?;
        Ok(Gone)
    }
}
