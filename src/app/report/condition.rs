//! Lists of open conditions, and of alerts.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::app::App;
use crate::app::event;
use crate::app::event::envelope::{Link, NewEvent, complete, dedup_key};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::global::client::{Client, ClientState};
use crate::store::per_client::condition::{Condition, order};
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

/// Where a list over all clients continues: after this condition of this client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub client: ClientId,
    /// Its key within the client.
    pub key: String,
}

impl App {
    /// Lists the open conditions of one client or all, by client and then by `dedupKey`.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the one client.
    pub async fn list_conditions(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        after: Option<Mark>,
        limit: u32,
    ) -> Result<Vec<Open>> {
        self.list_over_clients(caller, client, after, limit, open).await
    }

    /// Lists alerts that are open or were open recently, in the same order.
    ///
    /// # Errors
    /// As [`App::list_conditions`].
    pub async fn list_alerts(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        after: Option<Mark>,
        limit: u32,
    ) -> Result<Vec<Alert>> {
        self.list_over_clients(caller, client, after, limit, alerts).await
    }

    /// Lists up to `limit` items after `after`, of each client in turn.
    async fn list_over_clients<T: Send + 'static>(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        after: Option<Mark>,
        limit: u32,
        of_client: impl Fn(&ClientSnapshot, Part<'_>) -> Result<Vec<T>> + Send + 'static,
    ) -> Result<Vec<T>> {
        let mut clients: Vec<ClientId> = if let Some(id) = client {
            vec![self.reach_any(caller, id)?.0.id]
        } else {
            let all = self.clients.directory.list();
            let there = all.iter().filter(|it| it.state != ClientState::Erasing);
            there.map(|it| it.id).filter(|it| caller.may_reach(*it)).collect()
        };
        clients.retain(|it| after.as_ref().is_none_or(|mark| mark.client <= *it));
        let limit = limit as usize;
        let store = caller.acting_on(&self.store);
        let list = store.read(move |snapshot| {
            let mut found = Vec::new();
            for id in clients {
                let left = limit - found.len();
                if left == 0 {
                    break;
                }
                let mark = after.as_ref().filter(|it| it.client == id);
                let part = Part { after: mark.map(|it| it.key.as_str()), limit: left };
                found.extend(of_client(&snapshot.client(id), part)?);
            }
            Ok(found)
        });
        list.await
    }
}

/// Which part of a client's list is wanted.
#[derive(Clone, Copy)]
struct Part<'a> {
    after: Option<&'a str>,
    limit: usize,
}

/// The first items of a part, in the order of their keys, from any number in any order.
struct First<T> {
    after: Option<Vec<u8>>,
    limit: usize,
    items: BTreeMap<Vec<u8>, T>,
}

impl<T> First<T> {
    fn of(part: Part<'_>) -> Self {
        let after = part.after.map(order);
        Self { after, limit: part.limit, items: BTreeMap::new() }
    }

    /// Makes the item only if it is among the first.
    fn offer(&mut self, key: &str, item: impl FnOnce() -> T) {
        let key = order(key);
        let is_full = self.items.len() == self.limit;
        let is_late = is_full && self.items.last_key_value().is_some_and(|(last, _)| *last < key);
        if is_late || self.after.as_ref().is_some_and(|after| key <= *after) {
            return;
        }
        self.items.insert(key, item());
        if self.limit < self.items.len() {
            self.items.pop_last();
        }
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
        Open { client, dedup_key, kind, opened_at, occurrence, object, summary_key: None }
    };
    rows.visit_risks(|it| {
        if it.closed.is_none() && it.accepted.is_none() {
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
        first.offer(&it.key, || of_condition(&it, &profile, &installation));
    }
    for it in rows.list_summary_events()? {
        first.offer(&it.key, || of_summary(&it, &profile, &installation));
    }
    let mut all = Vec::with_capacity(first.items.len());
    for mut it in first.items.into_values() {
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
    let alert = |it: Condition| {
        let open = of_condition(&it, &profile, &installation);
        Alert { open, closed_at: it.closed_at }
    };
    Ok(all.into_iter().map(alert).collect())
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
