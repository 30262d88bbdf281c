//! Changes of requirement statuses, in commit order.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Query;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewChanges;
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::param;
use crate::api::wire::param::{Cursor, Id, Raw, TrueWord, UpTo, limit_up_to};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::StretchReply;
use crate::api::wire::view::{LevelView, StatusView, Uid, When};
use crate::api::{Group, Web};
use crate::app::report::log::LogPart;
use crate::page::{SMALL_PULL_LIMIT_MAX, Stretch};
use crate::store::global::change::Placed;

/// A status change of one requirement of one client.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RowChange")]
#[serde(rename_all = "camelCase")]
pub struct RowChangeView {
    /// Rises by one with each change of any client, in commit order. Pass it as `after` to get later changes.
    sequence: u64,
    client_id: Uid,
    framework: FrameworkName,
    /// The framework's own reference.
    requirement: String,
    level: LevelView,
    from: StatusView,
    to: StatusView,
    at: When,
    /// The name of a source, or one of `lapse`, `scope`, `assets`, `attestation`, `catalogue`, `undo`.
    cause: String,
}

impl RowChangeView {
    fn of(it: Placed) -> Self {
        let Placed { sequence, client, framework, at, cause, row } = it;
        Self {
            sequence,
            client_id: Uid::of(client.as_bytes()),
            framework: FrameworkName(framework),
            requirement: row.reference,
            level: LevelView(row.level),
            from: StatusView(row.from),
            to: StatusView(row.to),
            at: When(at),
            cause,
        }
    }
}

pub struct Changes;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Changes {
    /// Pull status changes of requirements
    ///
    /// Every requirement of every client's frameworks whose status changed, in commit order, including the first
    /// assessment. Changes are stored for 90 days. Requirements of two versions of the catalog are not compared.
    /// Scope: `read:events` or `read:compliance`.
    #[oai(path = "/changes", method = "get", operation_id = "list_changes")]
    async fn list_changes(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewChanges>,
        /// Return changes after this sequence: `next` of the previous page, or that of any change. Default: 0, from the start.
        after: Query<Option<Raw<Cursor>>>,
        /// Return only those of this client. Default: all that the caller may access.
        #[oai(name = "clientId")]
        client_id: Query<Option<Raw<Id>>>,
        /// Return the last changes instead of the first, also in commit order. Not with `after`.
        newest: Query<Option<Raw<TrueWord>>>,
        limit: Query<Option<Raw<UpTo<SMALL_PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<RowChangeView>, Failure> {
        let part = param::log_part(after.0.as_ref(), newest.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let limit = limit_up_to(limit.0.as_ref())?;
        let n_read = limit + u32::from(part != LogPart::Newest);
        let changes = web.app.list_changes(&by.0, client, part, n_read).await?;
        let changes = Stretch::of(changes, limit, |it| it.sequence.to_string());
        Ok(StretchReply::of(&changes.map(RowChangeView::of)))
    }
}
