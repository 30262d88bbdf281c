//! The event log, in commit order.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Query;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewEvents;
use crate::api::wire::input::TextOf;
use crate::api::wire::param;
use crate::api::wire::param::{Cursor, Id, Moment, Raw, TrueWord, UpTo, limit_up_to};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::StretchReply;
use crate::api::wire::view::{EventTypeView, Free, Uid, When};
use crate::api::{Group, Web};
use crate::app::report::log::{EventQuery, LogPart};
use crate::error::{Error, Result};
use crate::page::{PULL_LIMIT_MAX, Stretch};
use crate::store::global::event::Event;

/// One event, exactly as a webhook delivery contains it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Event")]
pub struct EventView {
    /// Begins with `evt_`.
    id: String,
    #[serde(rename = "type")]
    kind: TextOf<EventTypeView>,
    created: When,
    data: EventDataView,
}

/// What happened, and to which client.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "EventData")]
#[serde(rename_all = "camelCase")]
pub struct EventDataView {
    msp_id: String,
    client_id: Uid,
    /// The state after the event. Its `sequence` rises in commit order; pass it as `after` to get later events. The guide at
    /// `/docs/events` describes the object of each event type.
    object: Free,
    /// The previous values of what changed. Absent if there was no earlier state.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<Free>,
}

impl EventView {
    /// The same body that a delivery of the event contains.
    fn of(event: &Event) -> Result<Self> {
        let mut body: Value = serde_json::from_str(&event.body).map_err(Error::internal)?;
        let data = &mut body["data"];
        let previous = data.get_mut("previous").map(Value::take);
        Ok(Self {
            id: event.id.wire(),
            kind: TextOf::of(&event.kind),
            created: When(event.created),
            data: EventDataView {
                msp_id: data["mspId"].as_str().unwrap_or_default().to_owned(),
                client_id: Uid::of(event.client.as_bytes()),
                object: Free(data["object"].take()),
                previous: previous.map(Free),
            },
        })
    }
}

pub struct Events;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Events {
    /// Pull events
    ///
    /// In commit order. A caller who always asks for events after the last sequence it received misses none.
    /// Scope: `read:events`.
    #[oai(path = "/events", method = "get", operation_id = "list_events")]
    async fn list_events(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewEvents>,
        /// Return events after this sequence: `next` of the previous page, or that of any event. Default: 0, from the start.
        after: Query<Option<Raw<Cursor>>>,
        /// Return only those of this client. Default: all that the caller may access.
        #[oai(name = "clientId")]
        client_id: Query<Option<Raw<Id>>>,
        /// Return only those of this type. Can be repeated. A request looks at 100,000 events at most: a page may have fewer
        /// rows than `limit`, or none, although `next` is not null, and `newest` may miss older ones.
        #[oai(name = "type")]
        kind: Query<Option<Vec<Raw<EventTypeView>>>>,
        /// Return only those about this risk, and about tasks for it. A request looks at 100,000 events at most, as with `type`.
        #[oai(name = "riskId")]
        risk_id: Query<Option<Raw<Id>>>,
        /// Return `risk_assessment_completed` only of the first run of a source. Events of other types are returned as always.
        #[oai(name = "firstRun")]
        first_run: Query<Option<Raw<TrueWord>>>,
        /// Return the last events instead of the first, also in commit order. Not with `after`.
        newest: Query<Option<Raw<TrueWord>>>,
        /// With `newest`: return the last events before this sequence.
        before: Query<Option<Raw<Cursor>>>,
        /// With `newest`: only those from this moment on, a date-time or a day in UTC.
        since: Query<Option<Raw<Moment>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<EventView>, Failure> {
        let part = param::log_part(after.0.as_ref(), newest.0.as_ref())?;
        let before = param::before(before.0.as_ref())?;
        if before.is_some() && part != LogPart::Newest {
            return Err(Error::invalid_field("before", "requires the parameter newest").into());
        }
        let since = param::from("since", since.0.as_ref())?;
        if since.is_some() && part != LogPart::Newest {
            return Err(Error::invalid_field("since", "requires the parameter newest").into());
        }
        let client = param::id("clientId", client_id.0.as_ref())?;
        let kinds: Vec<EventTypeView> = param::words("type", kind.0.as_ref())?;
        let kinds = kinds.into_iter().map(|it| it.0).collect();
        let risk = param::id("riskId", risk_id.0.as_ref())?;
        let only_first_runs = param::only_true("firstRun", first_run.0.as_ref())?;
        let limit = limit_up_to(limit.0.as_ref())?;
        let query = EventQuery { client, kinds, risk, only_first_runs, part, before, since, limit };
        let (events, next) = web.app.list_events(&by.0, query).await?;
        let items = events.iter().map(EventView::of).collect::<Result<_>>()?;
        Ok(StretchReply::of(&Stretch { items, next: next.map(|it| it.to_string()) }))
    }
}
