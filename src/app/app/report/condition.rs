//! Lists of open conditions, and of alerts.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::known::Nothing;
use super::walk::{First, Mark, Part};
use crate::app::App;
use crate::app::event;
use crate::app::event::envelope::{Link, NewEvent, add_references, complete, dedup_key};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::global::client::Client;
use crate::store::per_client::condition::Condition;
use crate::store::per_client::reference::{ExternalReference, Referenced};
use crate::store::per_client::summary_event::SummaryEvent;
use crate::store::{ClientSnapshot, Installation};

/// One open condition.
#[derive(Clone, Debug)]
pub struct Open {
    pub client: ClientId,
    /// The same in every event about it.
    pub dedup_key: String,
    /// The event type that announces it.
    pub kind: String,
    pub opened_at: Time,
    pub occurrence: u32,
    /// As it was announced.
    pub object: Value,
    /// The key of the event that announced it together with many others. `None`: an event of its own did.
    pub summary_key: Option<String>,
}

/// An alert that is open or was open recently.
#[derive(Clone, Debug)]
pub struct Alert {
    pub open: Open,
    /// `None`: it is open.
    pub closed_at: Option<Time>,
}

impl App {
    /// Lists the open conditions of one client or all, by client and then by `dedupKey`.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the one client.
    pub async fn list_conditions(
        self: &Arc<Self>,
        caller: &Caller,
        client: Option<ClientId>,
        after: Option<Mark>,
        limit: u32,
    ) -> Result<Vec<Open>> {
        self.walk(caller, (client, |_| true), None, after, limit, open).await
    }

    /// Lists alerts that are open or were open recently, in the same order.
    ///
    /// # Errors
    /// As [`App::list_conditions`].
    pub async fn list_alerts(
        self: &Arc<Self>,
        caller: &Caller,
        client: Option<ClientId>,
        after: Option<Mark>,
        limit: u32,
    ) -> Result<Vec<Alert>> {
        self.walk(caller, (client, |_| true), Some(Nothing::Alert), after, limit, alerts).await
    }
}

/// Returns a part of what is open at one client.
fn open(rows: &ClientSnapshot, part: Part<'_>) -> Result<Vec<Open>> {
    let Some(profile) = rows.find_profile()? else { return Ok(Vec::new()) };
    let installation = rows.installation()?;
    let client = rows.id();
    let mut first = First::of(part);
    let of_event = |event: &NewEvent, opened_at: Time, occurrence: u32| {
        let dedup_key = dedup_key(client, event.key(), opened_at, &installation);
        let object = event.object(client, &profile.name, &installation);
        let kind = event.kind().as_str().to_owned();
        let open =
            Open { client, dedup_key, kind, opened_at, occurrence, object, summary_key: None };
        (open, event.referenced())
    };
    rows.visit_risks(|it| {
        if it.is_shown() {
            first.offer(&event::risk::key(it.id), || {
                of_event(&event::risk::current(&it, it.opened_at), it.opened_at, it.occurrence)
            });
        }
    })?;
    for it in rows.list_open_tasks()? {
        if let Some(missed) = it.missed.filter(|at| it.due_at == Some(*at)) {
            let event = event::task::overdue(&it, missed);
            first.offer(event.key(), || of_event(&event, missed, it.n_missed));
        }
    }
    let is_open = |it: &Condition| it.closed_at.is_none();
    for it in rows.list_conditions_after("", part.after, part.limit, is_open)? {
        first.offer(&it.key, || (of_condition(&it, &profile, &installation), None));
    }
    for it in rows.list_summary_events()? {
        first.offer(&it.key, || (of_summary(&it, &profile, &installation), None));
    }
    let mut all = Vec::with_capacity(first.items.len());
    let list = references_at(rows)?;
    for (mut it, about) in first.items.into_values() {
        refer(&mut it, about, &list)?;
        let key = it.dedup_key.strip_prefix(&format!("{client}/")).unwrap_or(&it.dedup_key);
        let mark = rows.find_summary_mark(key)?.filter(|it| !it.is_announced);
        let summary = mark.and_then(|it| it.summaries.into_iter().next());
        it.summary_key = summary.map(|summary| format!("{client}/{summary}"));
        all.push(it);
    }
    Ok(all)
}

fn alerts(rows: &ClientSnapshot, part: Part<'_>) -> Result<Vec<Alert>> {
    let Some(profile) = rows.find_profile()? else { return Ok(Vec::new()) };
    let installation = rows.installation()?;
    let all =
        rows.list_conditions_after(event::alert::KEY_START, part.after, part.limit, |_| true)?;
    let list = references_at(rows)?;
    let alert = |it: Condition| {
        let mut open = of_condition(&it, &profile, &installation);
        refer(&mut open, None, &list)?;
        Ok(Alert { open, closed_at: it.closed_at })
    };
    all.into_iter().map(alert).collect()
}

/// Finds what other systems call the client, which is read once, and its risks and tasks.
fn references_at(
    rows: &ClientSnapshot,
) -> Result<impl Fn(Referenced) -> Result<Vec<ExternalReference>>> {
    let of_client = rows.list_references(Referenced::Client)?;
    Ok(move |about| match about {
        Referenced::Client => Ok(of_client.clone()),
        Referenced::Risk(_) | Referenced::Task(_) => rows.list_references(about),
    })
}

/// Adds the same references as the condition's event has, as they are now.
fn refer(
    open: &mut Open,
    about: Option<Referenced>,
    list: impl Fn(Referenced) -> Result<Vec<ExternalReference>>,
) -> Result<()> {
    let Value::Object(object) = &mut open.object else { return Ok(()) };
    add_references(object, about, list)
}

fn of_summary(it: &SummaryEvent, profile: &Client, installation: &Installation) -> Open {
    let SummaryEvent { key, kind, object, opened_at, n_open } = it.clone();
    let closed_at = None;
    let condition = Condition { key, kind, object, opened_at, closed_at, occurrence: 1 };
    let mut open = of_condition(&condition, profile, installation);
    if let Value::Object(object) = &mut open.object {
        object.insert("openCount".to_owned(), n_open.into());
    }
    open
}

fn of_condition(it: &Condition, profile: &Client, installation: &Installation) -> Open {
    let mut object: Map<String, Value> = serde_json::from_str(&it.object).unwrap_or_default();
    let key = (it.key.as_str(), it.opened_at);
    complete(&mut object, profile.id, &profile.name, installation, key, &Link::Client);
    Open {
        client: profile.id,
        dedup_key: dedup_key(profile.id, &it.key, it.opened_at, installation),
        kind: it.kind.clone(),
        opened_at: it.opened_at,
        occurrence: it.occurrence,
        object: Value::Object(object),
        summary_key: None,
    }
}
