//! Files of evidence: bring one, get it back.

use std::sync::Arc;

use futures_util::{TryStreamExt, stream};
use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};

use super::evidence::EvidenceView;
use crate::api::edge::caller::By;
use crate::api::edge::right::{Decide, ViewCompliance};
use crate::api::wire::file::Attachment;
use crate::api::wire::param::{Id, Needed, Raw, Text, no_moment};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::Made;
use crate::api::wire::upload::FileBody;
use crate::api::{Group, Web};
use crate::app::assessment::evidence::NewEvidence;
use crate::app::decision::evidence::Entered;
use crate::app::decision::evidence_file::{EVIDENCE_FILE_BYTES_MAX, NewFile};
use crate::clock::zone::Deadline;
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::ClientSnapshot;

pub struct EvidenceFiles;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl EvidenceFiles {
    /// Add evidence with its file
    ///
    /// The body is the file itself, up to 20 MiB, of any kind. It is kept in the database as it is, with its SHA-256, and
    /// backups contain it; the files of one client may have 1 GiB together. The same file for the same control and reference
    /// renews its entry. Scope: `manage:decisions`.
    #[oai(
        path = "/clients/:clientId/evidence/files",
        method = "post",
        operation_id = "add_evidence_file"
    )]
    async fn add_evidence_file(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Decide>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// The code of a control in the catalog.
        #[oai(name = "controlCode")]
        control_code: Query<Needed<Text>>,
        /// What the file is called, up to 200 characters, without a folder.
        #[oai(name = "fileName")]
        file_name: Query<Needed<Text>>,
        /// What the evidence is. Default: the file's name.
        title: Query<Option<Raw<Text>>>,
        /// Where else it is kept. Default: the file's name.
        reference: Query<Option<Raw<Text>>>,
        /// When it expires: a date-time, or a date, which means the end of that day in the client's time zone. Default: it does not expire.
        #[oai(name = "validUntil")]
        valid_until: Query<Option<Raw<Text>>>,
        /// Who adds it. Default: the caller. If a user or key names another person, both are recorded. The operator must send
        /// it.
        #[oai(name = "by")]
        signed: Query<Option<Raw<Text>>>,
        file: FileBody,
    ) -> Result<Made<EvidenceView>, Failure> {
        let text = |it: Option<Raw<Text>>| it.map(|it| it.text);
        let required = |name: &'static str, it: Option<String>| {
            it.ok_or_else(|| Error::invalid_field(name, "is required"))
        };
        let name = required("fileName", text(file_name.0.0))?;
        let control = required("controlCode", text(control_code.0.0))?;
        let until = text(valid_until.0).map(|it| end("validUntil", &it)).transpose()?;
        let new = NewEvidence {
            control: control.to_ascii_uppercase(),
            title: text(title.0).unwrap_or_else(|| name.clone()),
            reference: text(reference.0).unwrap_or_else(|| name.clone()),
            sha256: None,
            valid_until: None,
            by: required("by", by.0.signature(text(signed.0))?)?,
        };
        let (client, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let zone = web.app.time_zone_of(client.id);
        let new = NewEvidence { valid_until: until.map(|it| it.at(&zone)), ..new };
        let upload = file.receive(&web.app, &by.0, EVIDENCE_FILE_BYTES_MAX).await?;
        let file = NewFile { name, content: upload.reader()?, n_bytes: upload.n_bytes() };
        Ok(match web.app.add_evidence_file(&rows, new, file).await? {
            Entered::Added(it) => Made::Added(EvidenceView::of(it)),
            Entered::Renewed(it) => Made::Known(EvidenceView::of(it)),
        })
    }

    /// Get the file of evidence
    ///
    /// Always sent to be saved, whatever kind of file it is. Scope: `read:compliance`.
    #[oai(
        path = "/clients/:clientId/evidence/:evidenceId/file",
        method = "get",
        operation_id = "get_evidence_file"
    )]
    async fn get_evidence_file(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        #[oai(name = "evidenceId")] evidence_id: Path<Raw<Id>>,
    ) -> Result<Attachment, Failure> {
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let id = evidence_id.read::<EvidenceId>()?;
        let found = rows.read(move |it: &ClientSnapshot| it.find_evidence_file(id)).await?;
        let file = found.ok_or_else(|| Error::not_found("evidence file not found"))?;
        let parts = stream::iter((0..file.n_parts()).map(Ok)).and_then(move |number| {
            let rows = rows.clone();
            async move {
                let part = rows.read(move |it| it.evidence_part(id, number)).await;
                part.map(Into::into).map_err(std::io::Error::other)
            }
        });
        Ok(Attachment::of(&file.name, file.n_bytes, parts))
    }
}

fn end(field: &str, text: &str) -> Result<Deadline> {
    text.parse().map_err(|_| {
        let rule = "must be a date such as 2026-12-31, or a date-time such as 2026-12-31T17:00:00Z";
        no_moment(field, text, rule)
    })
}
