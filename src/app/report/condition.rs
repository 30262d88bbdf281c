//! Lists of open conditions, and of alerts.

use serde_json::{Map, Value};

use crate::app::App;
use crate::app::event;
use crate::app::event::envelope::{Link, NewEvent, complete, dedup_key};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::global::client::{Client, ClientState};
use crate::store::per_client::condition::Condition;
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

    /// Lists up to `limit` items after `after`, of each client in turn. `of_client` returns each item with its key.
    async fn list_over_clients<T: Send + 'static>(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        after: Option<Mark>,
        limit: u32,
        of_client: impl Fn(&ClientSnapshot) -> Result<Vec<(String, T)>> + Send + 'static,
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
        let list = self.store.read(move |snapshot| {
            let mut found = Vec::new();
            for id in clients {
                if limit <= found.len() {
                    break;
                }
                let mut some = of_client(&snapshot.client(id))?;
                some.sort_by(|a, b| a.0.cmp(&b.0));
                let mark = after.as_ref().filter(|it| it.client == id);
                some.retain(|(key, _)| mark.is_none_or(|it| it.key < *key));
                found.extend(some.into_iter().map(|(_, it)| it));
            }
            found.truncate(limit);
            Ok(found)
        });
        list.await
    }
}

/// Returns everything that is open at one client, in no order.
fn open(rows: &ClientSnapshot) -> Result<Vec<(String, Open)>> {
    let Some(profile) = rows.find_profile()? else { return Ok(Vec::new()) };
    let installation = rows.installation()?;
    let client = rows.id();
    let mut all = Vec::new();
    let mut push = |event: &NewEvent, opened_at: Time, occurrence: u32| {
        let dedup_key = dedup_key(client, event.key(), opened_at, &installation);
        let object = event.object(client, &profile.name, &installation);
        let (key, kind) = (event.key().to_owned(), event.kind().as_str().to_owned());
        all.push((key, Open { client, dedup_key, kind, opened_at, occurrence, object }));
    };
    for it in rows.list_risks()? {
        if it.closed.is_none() && it.accepted.is_none() {
            push(&event::risk::current(&it, it.opened_at), it.opened_at, it.occurrence);
        }
    }
    for it in rows.list_open_tasks()? {
        if let Some(missed) = it.missed.filter(|at| it.due_at == Some(*at)) {
            push(&event::task::overdue(&it, missed), missed, it.n_missed);
        }
    }
    for it in rows.list_conditions()?.into_iter().filter(|it| it.closed_at.is_none()) {
        let open = of_condition(&it, &profile, &installation);
        all.push((it.key, open));
    }
    Ok(all)
}

fn alerts(rows: &ClientSnapshot) -> Result<Vec<(String, Alert)>> {
    let Some(profile) = rows.find_profile()? else { return Ok(Vec::new()) };
    let installation = rows.installation()?;
    let all = rows.list_conditions_of(event::alert::KEY_START)?.into_iter();
    let alert = |it: Condition| {
        let open = of_condition(&it, &profile, &installation);
        (it.key, Alert { open, closed_at: it.closed_at })
    };
    Ok(all.map(alert).collect())
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
    }
}
