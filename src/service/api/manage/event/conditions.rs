//! What is open now, and alerts.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Query;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::{ViewConditions, ViewRisks};
use crate::api::wire::input::TextOf;
use crate::api::wire::param;
use crate::api::wire::param::{Cursor, Id, Raw, UpTo, limit_up_to};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Null, StretchReply};
use crate::api::wire::view::{EventTypeView, Free, Uid, When};
use crate::api::{Group, Web};
use crate::app::report::condition::{Alert, Open};
use crate::app::report::walk::Mark;
use crate::error::{Error, Result};
use crate::page::{PULL_LIMIT_MAX, Stretch};

/// A condition that is open: something that is wrong now.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Condition")]
#[serde(rename_all = "camelCase")]
pub struct ConditionView {
    /// The same in all events about this condition. Unique over all clients.
    dedup_key: String,
    /// The type of the event that announced it.
    #[serde(rename = "type")]
    kind: TextOf<EventTypeView>,
    client_id: Uid,
    opened_at: When,
    /// How often it was opened, from 1.
    occurrence: u32,
    /// The same object as in its event, with external references as they are now.
    object: Free,
    /// The `dedupKey` of the event that announced this condition together with many others. Null if an event of its own
    /// did.
    summary_key: Null<String>,
}

impl ConditionView {
    fn of(it: Open) -> Self {
        let Open { client, dedup_key, kind, opened_at, occurrence, object, summary_key } = it;
        let (client_id, opened_at) = (Uid::of(client.as_bytes()), When(opened_at));
        let kind = TextOf::of(&kind);
        let object = Free(object);
        Self {
            dedup_key,
            kind,
            client_id,
            opened_at,
            occurrence,
            object,
            summary_key: summary_key.into(),
        }
    }
}

/// An alert that is open or closed recently.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Alert")]
#[serde(rename_all = "camelCase")]
pub struct AlertView {
    dedup_key: String,
    client_id: Uid,
    opened_at: When,
    /// Null while the alert is open.
    closed_at: Null<When>,
    /// How often it was opened, from 1.
    occurrence: u32,
    /// The same object as in its event: the rule, its condition, and the value when the alert was triggered.
    object: Free,
}

impl AlertView {
    fn of(Alert { open, closed_at }: Alert) -> Self {
        Self {
            dedup_key: open.dedup_key,
            client_id: Uid::of(open.client.as_bytes()),
            opened_at: When(open.opened_at),
            closed_at: closed_at.map(When).into(),
            occurrence: open.occurrence,
            object: Free(open.object),
        }
    }
}

/// Reads `<clientId>/<dedupKey>` of the last row of the previous page.
fn mark(given: Option<&Raw<Cursor>>) -> Result<Option<Mark>> {
    let Some(Raw { text, .. }) = given else { return Ok(None) };
    let bad = || Error::invalid_field("after", "must be <clientId>/<dedupKey> of a row");
    let (client, key) = text.split_once('/').ok_or_else(bad)?;
    // A key names its client too, unless its condition was opened by a release before such keys.
    let key = key.strip_prefix(&format!("{client}/")).unwrap_or(key).to_owned();
    let client = client.parse().map_err(|_| bad())?;
    Ok(Some(Mark { client, key }))
}

/// What [`mark`] reads.
fn cursor(it: &Open) -> String {
    format!("{}/{}", it.client, it.dedup_key)
}

pub struct Conditions;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Conditions {
    /// List open conditions
    ///
    /// Open risks that are not accepted, overdue tasks, open alerts, and every other announced condition that still holds.
    /// Ordered by client, then by `dedupKey`. Scope: `read:events` or `read:risks`.
    #[oai(path = "/conditions", method = "get", operation_id = "list_conditions")]
    async fn list_conditions(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewConditions>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        /// Continue after this row: `<clientId>/<dedupKey>` of the last row of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<ConditionView>, Failure> {
        let limit = limit_up_to(limit.0.as_ref())?;
        let after = mark(after.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let open = web.app.list_conditions(&by.0, client, after, limit + 1).await?;
        Ok(StretchReply::of(&Stretch::of(open, limit, cursor).map(ConditionView::of)))
    }

    /// List alerts
    ///
    /// Open alerts, and alerts that closed in the last seven days. Ordered by client, then by `dedupKey`. Scope: `read:risks`.
    #[oai(path = "/alerts", method = "get", operation_id = "list_alerts")]
    async fn list_alerts(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewRisks>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        /// Continue after this row: `<clientId>/<dedupKey>` of the last row of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<AlertView>, Failure> {
        let limit = limit_up_to(limit.0.as_ref())?;
        let after = mark(after.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let alerts = web.app.list_alerts(&by.0, client, after, limit + 1).await?;
        let alerts = Stretch::of(alerts, limit, |it| cursor(&it.open));
        Ok(StretchReply::of(&alerts.map(AlertView::of)))
    }
}
