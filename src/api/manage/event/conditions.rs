//! What is open now, and alerts.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::Query;
use poem_openapi::{Object, OpenApi};
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewRisks;
use crate::api::wire::param;
use crate::api::wire::param::{Id, Limit, Raw, Text, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{Free, Uid, When};
use crate::api::{Group, Web};
use crate::app::report::condition::{Alert, Mark, Open};
use crate::error::{Error, Result};

/// Something that is wrong now.
#[derive(Object, Serialize)]
#[oai(rename = "Condition", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct ConditionView {
    /// The same in every event about it.
    dedup_key: String,
    /// The event type that announces it.
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: String,
    client_id: Uid,
    opened_at: When,
    /// Counts its openings, from 1.
    occurrence: u32,
    /// As its event shows it.
    object: Free,
}

impl ConditionView {
    fn of(it: Open) -> Self {
        let Open { client, dedup_key, kind, opened_at, occurrence, object } = it;
        let (client_id, opened_at) = (Uid::of(client.as_bytes()), When(opened_at));
        Self { dedup_key, kind, client_id, opened_at, occurrence, object: Free(object) }
    }
}

/// An alert that is open or was lately.
#[derive(Object, Serialize)]
#[oai(rename = "Alert", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct AlertView {
    dedup_key: String,
    client_id: Uid,
    opened_at: When,
    /// Null while it is open.
    closed_at: Null<When>,
    /// Counts its openings, from 1.
    occurrence: u32,
    /// As its event shows it: the rule, its condition, and the value seen when it opened.
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

/// `<clientId>/<dedupKey>` of the last one that was seen.
fn mark(given: Option<&Raw<Text>>) -> Result<Option<Mark>> {
    let Some(Raw { text, .. }) = given else { return Ok(None) };
    let bad = || Error::invalid_field("after", "must be <clientId>/<dedupKey> of a row");
    let (client, key) = text.split_once('/').ok_or_else(bad)?;
    // A key names its client too, unless its condition was opened by a release before such keys.
    let key = key.strip_prefix(&format!("{client}/")).unwrap_or(key).to_owned();
    let client = client.parse().map_err(|_| bad())?;
    Ok(Some(Mark { client, key }))
}

pub struct Conditions;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Conditions {
    /// List what is open now
    ///
    /// Risks that nobody has accepted, overdue tasks, alerts, and whatever else was announced and is not over; by client,
    /// then by `dedupKey`. Scope: `read:risks`.
    #[oai(path = "/conditions", method = "get", operation_id = "list_conditions")]
    async fn list_conditions(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewRisks>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        /// `<clientId>/<dedupKey>` of the last one that was seen. Default: from the first on.
        after: Query<Option<Raw<Text>>>,
        limit: Query<Option<Raw<Limit>>>,
    ) -> Result<Data<Vec<ConditionView>>, Failure> {
        let limit = cut(limit.0.as_ref(), None)?.limit;
        let after = mark(after.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let open = web.app.list_conditions(&by.0, client, after, limit).await?;
        Ok(Data::of(&open.into_iter().map(ConditionView::of).collect::<Vec<_>>()))
    }

    /// List alerts
    ///
    /// Open ones, and those that closed in the last seven days; by client, then by `dedupKey`. Scope: `read:risks`.
    #[oai(path = "/alerts", method = "get", operation_id = "list_alerts")]
    async fn list_alerts(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewRisks>,
        #[oai(name = "clientId")] client_id: Query<Option<Raw<Id>>>,
        /// `<clientId>/<dedupKey>` of the last one that was seen. Default: from the first on.
        after: Query<Option<Raw<Text>>>,
        limit: Query<Option<Raw<Limit>>>,
    ) -> Result<Data<Vec<AlertView>>, Failure> {
        let limit = cut(limit.0.as_ref(), None)?.limit;
        let after = mark(after.0.as_ref())?;
        let client = param::id("clientId", client_id.0.as_ref())?;
        let alerts = web.app.list_alerts(&by.0, client, after, limit).await?;
        Ok(Data::of(&alerts.into_iter().map(AlertView::of).collect::<Vec<_>>()))
    }
}
