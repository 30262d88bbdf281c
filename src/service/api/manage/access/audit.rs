//! The audit log.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Query;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::wire::param;
use crate::api::wire::param::{Cursor, Id, Limit, Moment, Raw, Text, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null, StretchReply};
use crate::api::wire::view::When;
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::access::audit::{Audit, AuditFilter};
use crate::page::Stretch;
use crate::store::global::audit::AuditEntry;

/// Who did what, or was denied.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "AuditEntry")]
#[serde(rename_all = "camelCase")]
pub struct AuditView {
    sequence: u64,
    at: When,
    /// Who did it, for example `user ada@example.com`, `key <prefix>`, `operator uid 0` or `service`; `nobody` for a caller
    /// without a valid credential.
    by: String,
    /// The name of the API key that did it. Null: it was not a key, or none is known by this prefix any more.
    key_name: Null<String>,
    /// The address of the caller. Null: the control socket of this machine. `unreadable`: a trusted proxy
    /// forwarded something that is not an address.
    address: Null<String>,
    /// The operation, for example `PATCH /api/keys/{keyId}`.
    action: String,
    /// The path of the request, or the user who was to log in.
    about: String,
    /// The id of what was added or changed.
    object: Null<String>,
    /// The names of the fields in the request body, without their values.
    fields: Vec<String>,
    /// `done`, or `refused` with the HTTP status.
    outcome: String,
    /// How many equal events the entry stands for.
    count: u32,
    /// SHA-256, in hexadecimal, of the previous entry's hash followed by a JSON array of this entry's sequence, at, by,
    /// address, action, about, object, fields (joined with commas), outcome and count, all as strings.
    hash: String,
}

impl AuditView {
    fn of(app: &App, entry: AuditEntry) -> Self {
        Self {
            sequence: entry.sequence,
            at: When(entry.at),
            key_name: app.key_name(&entry.by).into(),
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

/// Whether the audit log was changed after it was written.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "AuditVerdict")]
#[serde(rename_all = "camelCase")]
pub struct VerdictView {
    /// The hash of every entry matches its content and the entry before it.
    whole: bool,
    entries: u64,
    first_sequence: Null<u64>,
    last_sequence: u64,
    /// The hash of the last matching entry. Compare it with a hash from the service's log, because a log whose last entries
    /// were removed also verifies.
    last_hash: String,
    /// The sequence of the first entry that does not match. Null: all entries match.
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
    /// Newest first. Every change by a user, an API key or the operator is recorded in the commit that made it. Denied
    /// requests and pushed assets are counted and recorded every ten seconds; denied requests without a valid credential
    /// every ten minutes. Entries are kept for 13 months. A request for filtered entries looks at 20,000 at most: a page may have
    /// fewer rows than `limit`, or none, although `next` is not null.
    #[oai(path = "/audit", method = "get", operation_id = "list_audit")]
    async fn list_audit(
        &self,
        web: Held<&Arc<Web>>,
        _caller: By<Administer>,
        /// Only entries before this sequence: `next` of the previous page. Default: from the newest entry.
        before: Query<Option<Raw<Cursor>>>,
        /// Only those with this in `by`, in upper or lower case.
        by: Query<Option<Raw<Text>>>,
        /// Only those of this operation, as `action` has it.
        action: Query<Option<Raw<Text>>>,
        /// Only those whose path or object names this client.
        #[oai(name = "clientId")]
        client_id: Query<Option<Raw<Id>>>,
        /// Only those from this moment on, a date-time or a day in UTC.
        from: Query<Option<Raw<Moment>>>,
        /// Only those before this moment, or until the end of this day in UTC.
        until: Query<Option<Raw<Moment>>>,
        limit: Query<Option<Raw<Limit>>>,
    ) -> Result<StretchReply<AuditView>, Failure> {
        let before = param::before(before.0.as_ref())?;
        let limit = cut(limit.0.as_ref(), None)?.limit;
        let filter = AuditFilter {
            by: by.0.map(|it| it.text.to_lowercase()),
            action: action.0.map(|it| it.text),
            client: param::id("clientId", client_id.0.as_ref())?,
            from: param::from("from", from.0.as_ref())?,
            until: param::until("until", until.0.as_ref())?,
        };
        let (entries, next) = web.app.list_audit(filter, before, limit).await?;
        let items = entries.into_iter().map(|it| AuditView::of(&web.app, it)).collect();
        Ok(StretchReply::of(&Stretch { items, next: next.map(|it| it.to_string()) }))
    }

    /// Verify the audit log
    ///
    /// Recomputes the hashes of all entries.
    #[oai(path = "/audit/verify", method = "get", operation_id = "verify_audit")]
    async fn verify_audit(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Data<VerdictView>, Failure> {
        Ok(Data::of(&VerdictView::of(web.app.verify_audit().await?)))
    }
}
