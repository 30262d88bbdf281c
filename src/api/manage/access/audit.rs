//! The audit log.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::Query;
use poem_openapi::{Object, OpenApi};
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::wire::param;
use crate::api::wire::param::{Limit, Raw, Sequence, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::When;
use crate::api::{Group, Web};
use crate::app::access::audit::Audit;
use crate::store::global::audit::AuditEntry;

/// Who did what, or was refused.
#[derive(Object, Serialize)]
#[oai(rename = "AuditEntry", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct AuditView {
    sequence: u64,
    at: When,
    /// Such as `user ada@example.com`, `key <prefix>`, `operator uid 0`, `service`, or `nobody` for who showed nothing.
    by: String,
    /// Where from. Null: this machine's control socket.
    address: Null<String>,
    /// The operation, such as `PATCH /api/keys/{keyId}`.
    action: String,
    /// The path asked for, or who was to log in.
    about: String,
    /// The id of what was made or changed.
    object: Null<String>,
    /// Names of what was sent, without values.
    fields: Vec<String>,
    /// `done`, or `refused` and the status.
    outcome: String,
    /// How often, where many alike stand in one entry.
    count: u32,
    /// SHA-256, in hex, of the hash before it and a JSON array of this entry's sequence, at, by, address, action, about,
    /// object, fields (with commas between), outcome and count, all as texts.
    hash: String,
}

impl AuditView {
    fn of(entry: AuditEntry) -> Self {
        Self {
            sequence: entry.sequence,
            at: When(entry.at),
            by: entry.by,
            address: entry.address.into(),
            action: entry.action,
            about: entry.about,
            object: entry.object.into(),
            fields: entry.fields,
            outcome: entry.outcome.text(),
            count: entry.count,
            hash: hex::encode(entry.hash),
        }
    }
}

/// Whether the log is as it was written.
#[derive(Object, Serialize)]
#[oai(rename = "AuditVerdict", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct VerdictView {
    /// Every entry follows the one before it.
    whole: bool,
    entries: u64,
    first_sequence: Null<u64>,
    last_sequence: u64,
    /// Of the last entry that follows. Compare it with one from the journal: a log cut off at its end is whole too.
    last_hash: String,
    /// The first entry that does not follow the one before it.
    broken_at: Null<u64>,
}

impl VerdictView {
    fn of(audit: Audit) -> Self {
        Self {
            whole: audit.broken_at.is_none(),
            entries: audit.n_entries,
            first_sequence: audit.first.into(),
            last_sequence: audit.head.sequence,
            last_hash: hex::encode(audit.head.hash),
            broken_at: audit.broken_at.into(),
        }
    }
}

pub struct AuditLog;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl AuditLog {
    /// List the audit log
    ///
    /// Newest first: every change by a user, a key or the operator, with the commit that made it; refusals and pushed
    /// assets counted every ten seconds, what was refused to strangers every ten minutes. Kept for 13 months.
    #[oai(path = "/audit", method = "get", operation_id = "list_audit")]
    async fn list_audit(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        /// Only entries before this sequence. Default: from the last one on.
        before: Query<Option<Raw<Sequence>>>,
        limit: Query<Option<Raw<Limit>>>,
    ) -> Result<Data<Vec<AuditView>>, Failure> {
        let before = param::before(before.0.as_ref())?;
        let limit = cut(limit.0.as_ref(), None)?.limit;
        let entries = web.app.list_audit(before, limit).await?;
        Ok(Data::of(&entries.into_iter().map(AuditView::of).collect::<Vec<_>>()))
    }

    /// Verify the audit log
    ///
    /// Walks along all of it.
    #[oai(path = "/audit/verify", method = "get", operation_id = "verify_audit")]
    async fn verify_audit(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Data<VerdictView>, Failure> {
        Ok(Data::of(&VerdictView::of(web.app.verify_audit().await?)))
    }
}
